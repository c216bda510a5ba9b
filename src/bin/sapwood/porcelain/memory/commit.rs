//! `sapwood memory commit`

use std::io::{self, BufRead};

use sapwood::codec::{Value, json};
use sapwood::memory::{fact_from_json, fact_from_text};
use sapwood::object::Fact;
use sapwood::ops::{self, MemoryCommitOptions};

use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::target::WriteTo;

/// Commit facts, notes and a card to the memory of a branch
///
/// A fact is a text, KEY=VALUE (the key has no blanks), or a JSON string or
/// object, whose field "key" is the key. A later fact with the same key
/// supersedes an earlier one for 'resolve --latest'.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood memory commit --fact 'user has a startup idea'
  sapwood memory commit -b architect --fact optimizes=ambition --source msg:2
  sapwood memory commit --fact-json '{\"key\":\"age\",\"value\":41}'
  echo '\"likes tea\"' | sapwood memory commit --stdin")]
pub(super) struct Args {
    /// Something learned; may be given more than once
    #[arg(long = "fact", value_name = "FACT")]
    facts: Vec<String>,
    /// Something learned, as a JSON string or object
    #[arg(long = "fact-json", value_name = "JSON")]
    json_facts: Vec<String>,
    /// A remark
    #[arg(long = "note", value_name = "TEXT")]
    notes: Vec<String>,
    /// Who or what this branch is about; else the branch's card
    #[arg(long, value_name = "JSON")]
    card: Option<String>,
    /// What the facts were learned from; else the branch's last message
    #[arg(long, value_name = "REV")]
    source: Option<String>,
    /// Read more facts from standard input, JSON, one a line
    #[arg(long)]
    stdin: bool,
    /// When it was learned: RFC 3339, or milliseconds since 1970
    #[arg(long, value_name = "TIME", value_parser = time)]
    time: Option<i64>,
    #[command(flatten)]
    to: WriteTo,
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let mut facts: Vec<Fact> = args.facts.iter().map(|text| fact_from_text(text)).collect();
    for text in &args.json_facts {
        facts.push(fact_from_json(parse("--fact-json", text)?)?);
    }
    if args.stdin {
        read(&mut facts)?;
    }
    if facts.iter().any(is_empty) || args.notes.iter().any(|note| note.trim().is_empty()) {
        return Err(Failure::request("a fact or note says nothing; nothing was changed"));
    }
    let card = args.card.as_deref().map(|text| parse("--card", text)).transpose()?;
    let opened = context.open_for_writing()?;
    let options = MemoryCommitOptions {
        target: args.to.target(&opened),
        facts,
        notes: args.notes,
        card: card.unwrap_or(Value::Null),
        source: args.source,
        time: args.time,
    };
    let operation = context.operation(None, &["memory", "commit"]);
    let outcome = ops::memory_commit(&opened.repo, &options, &operation)?;
    if context.output.json {
        context.output.record([
            ("session", outcome.session.into()),
            ("branch", outcome.branch.into()),
            ("node", outcome.node.to_string().into()),
            ("entry", outcome.entry.to_string().into()),
        ])?;
    } else {
        context.output.item(outcome.node)?;
    }
    Ok(Answer::Yes)
}

/// Says whether a fact has neither a key nor anything to say.
fn is_empty(fact: &Fact) -> bool {
    fact.key.is_none()
        && match &fact.value {
            Value::Text(text) => text.trim().is_empty(),
            value => value.as_map().is_some_and(<[_]>::is_empty),
        }
}

/// Reads facts from standard input, one a line.
fn read(facts: &mut Vec<Fact>) -> Result<(), Failure> {
    for (line, number) in io::stdin().lock().lines().zip(1..) {
        let line = line.map_err(Failure::Input)?;
        if line.trim().is_empty() {
            continue;
        }
        let fact = json::parse(line.as_bytes()).and_then(fact_from_json);
        facts.push(fact.map_err(|error| Failure::from(error).on_line(number))?);
    }
    Ok(())
}

fn parse(flag: &str, text: &str) -> Result<Value, Failure> {
    json::parse(text.as_bytes()).map_err(|error| Failure::request(format!("{flag}: {error}")))
}

fn time(text: &str) -> Result<i64, String> {
    let time = text.parse().ok().or_else(|| sapwood::time::parse(text));
    time.ok_or_else(|| "expected a time such as 2026-01-31T09:30:00Z".to_owned())
}
