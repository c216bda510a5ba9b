//! `sapwood grep`

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use regex::{Regex, RegexBuilder};
use sapwood::codec::Value;
use sapwood::ops::{self, Filter, GrepOptions, Match};

use crate::args::Listing;
use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::output;
use crate::reader::Reader;
use crate::shown;
use crate::style;
use crate::target::Within;
use crate::when;

/// Search what was said
///
/// PATTERN is a regular expression. All branches of the session are searched,
/// oldest first, what they share once; calls and results of tools too. Exit
/// code 1 if nothing matches.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood grep 'panicked at'
  sapwood grep -i -C 2 todo --role assistant
  sapwood grep -F 'a+b' --all-sessions --since '2 weeks ago'
  sapwood grep -c --all-sessions error")]
pub(crate) struct Args {
    /// Search all sessions of the store
    #[arg(long, conflicts_with = "session")]
    all_sessions: bool,
    /// Ignore case
    #[arg(short, long)]
    ignore_case: bool,
    /// PATTERN is plain text
    #[arg(short = 'F', long)]
    fixed_strings: bool,
    /// Print only session and id of entries that match
    #[arg(short = 'l', long, conflicts_with = "count")]
    entries_with_matches: bool,
    /// Print only how many lines match, for each session
    #[arg(short, long)]
    count: bool,
    /// Only what this role says, or entries of this type
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,
    /// Only from this time on
    #[arg(long, value_name = "TIME", value_parser = when::parse)]
    since: Option<i64>,
    /// Show so many lines before and after each match
    #[arg(short = 'C', long, value_name = "N", default_value_t = 0)]
    context: usize,
    #[command(flatten)]
    within: Within,
    #[command(flatten)]
    listing: Listing,
    /// What to search for
    #[arg(value_name = "PATTERN")]
    pattern: String,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let pattern = match args.fixed_strings {
        true => regex::escape(&args.pattern),
        false => args.pattern.clone(),
    };
    let literals = ops::required_texts(&pattern, args.ignore_case);
    let pattern = RegexBuilder::new(&pattern).case_insensitive(args.ignore_case).build();
    let pattern = pattern.map_err(|error| Failure::Request {
        message: error.to_string(),
        hint: Some("-F takes the pattern as plain text".to_owned()),
    })?;
    let reader = Reader::open(context, &args.within)?;
    let sessions = match args.all_sessions {
        true => ops::session_ids(&*reader.snapshot)?,
        false => vec![reader.session()?],
    };
    let filter = Filter { role: args.role.clone(), since: args.since, ..Filter::default() };
    let ignores_case = args.ignore_case;
    let options = GrepOptions { sessions, pattern, literals, ignores_case, filter };
    context.output.page();
    context.output.list(args.listing);
    let mut counts: Vec<(String, u64)> = Vec::new();
    let mut failure = None;
    ops::grep(&*reader.snapshot, &options, &mut |found| {
        match counts.last_mut() {
            Some((session, count)) if *session == found.session => {
                *count += found.lines.len() as u64
            }
            _ => counts.push((found.session.clone(), found.lines.len() as u64)),
        }
        if !args.count
            && let Err(error) = print(context, &reader, &args, &options.pattern, &found)
        {
            failure = Some(error);
            return Ok(ControlFlow::Break(()));
        }
        Ok(ControlFlow::Continue(()))
    })?;
    if let Some(failure) = failure {
        return Err(failure);
    }
    for (session, count) in counts.iter().filter(|_| args.count) {
        if context.output.json {
            let count = output::count(*count);
            context.output.record([("session", session.as_str().into()), ("count", count)])?;
        } else {
            context.output.item(format_args!("{session}:{count}"))?;
        }
    }
    Ok(if counts.is_empty() { Answer::No } else { Answer::Yes })
}

fn print(
    context: &mut Context,
    reader: &Reader,
    args: &Args,
    pattern: &Regex,
    found: &Match,
) -> Result<(), Failure> {
    let Match { session, logged, lines } = found;
    if context.output.json {
        let all: Vec<&str> = logged.words.text.lines().collect();
        let matching = lines.iter().map(|line| {
            let text = all.get(*line).copied().unwrap_or_default();
            output::object([("line", output::count(line + 1)), ("text", text.into())])
        });
        return context.output.record([
            ("session", session.as_str().into()),
            ("id", logged.id.to_string().into()),
            ("role", logged.words.who.as_str().into()),
            ("timestamp", sapwood::time::format(logged.entry.time).into()),
            ("matches", Value::List(matching.collect())),
        ]);
    }
    let id = reader.short(&logged.id)?;
    let who = shown::line(&logged.words.who);
    let used = shown::width(&format!("{session} {id} {who}: "));
    let id = context.output.paint(style::ID, id);
    let session = context.output.paint(style::REF, session);
    if args.entries_with_matches {
        return context.output.item(format_args!("{session} {id}"));
    }
    let shown: BTreeSet<usize> = lines
        .iter()
        .flat_map(|line| line.saturating_sub(args.context)..=line.saturating_add(args.context))
        .collect();
    let mut last = None;
    for (place, text) in logged.words.text.lines().enumerate() {
        if !shown.contains(&place) {
            continue;
        }
        if last.is_some_and(|last| last + 1 != place) && args.context > 0 {
            context.output.item("--")?;
        }
        last = Some(place);
        let mark = if lines.contains(&place) { ':' } else { '-' };
        let text = match context.output.is_terminal() {
            true => around(text, pattern, shown::COLUMNS.saturating_sub(used).max(20)),
            false => shown::line(text).into_owned(),
        };
        context.output.item(format_args!("{session} {id} {who}{mark} {text}"))?;
    }
    Ok(())
}

/// Cuts a line to so many columns, so that what matches is seen.
fn around(line: &str, pattern: &Regex, columns: usize) -> String {
    let Some(found) = pattern.find(line).filter(|_| shown::width(line) > columns) else {
        return shown::clipped(line, columns);
    };
    if shown::width(&line[..found.end()]) < columns {
        return shown::clipped(line, columns);
    }
    let before = line[..found.start()].char_indices().rev().nth(columns / 4);
    let start = before.map_or(found.start(), |(start, _)| start);
    format!("…{}", shown::clipped(&line[start..], columns - 1))
}
