//! `sapwood diff`

use sapwood::codec::{Value, json};
use sapwood::ops::{self, Diff, DiffItem, DiffPair, DiffSide, DiffWords};

use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::output;
use crate::plumbing::{SHORT_DIGITS, short};
use crate::porcelain::branch::plural;
use crate::shown;
use crate::style;
use crate::target::Within;

/// Show where two paths part and how they differ
///
/// What each has since, changes of model and configuration, and the messages
/// that differ: word by word where they are alike.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood diff approach-a approach-b
  sapwood diff main~4 main")]
pub(crate) struct Args {
    #[command(flatten)]
    within: Within,
    /// One branch, or any revision
    #[arg(value_name = "A")]
    one: String,
    /// The other
    #[arg(value_name = "B")]
    other: String,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let opened = context.open()?;
    let snapshot = opened.repo.snapshot()?;
    let target = args.within.target(&opened);
    let found = ops::diff(&*snapshot, &target, &args.one, &args.other)?;
    if context.output.json {
        record(context, &args, &found)?;
        return Ok(Answer::Yes);
    }
    let point = match &found.fork_point {
        Some(point) => {
            let point = short(&*snapshot, point, SHORT_DIGITS)?;
            format!("fork point {}", context.output.paint(style::ID, point))
        }
        None => "no fork point: they share nothing".to_owned(),
    };
    context.output.item(point)?;
    for (sign, name, side) in
        [("---", &args.one, &found.sides[0]), ("+++", &args.other, &found.sides[1])]
    {
        let count = plural(side.own.len() as u64, "entry", "entries");
        let text = format!("{sign} {name}  {count}{}", state(side));
        context.output.item(painted(context, sign, &text))?;
    }
    for (at, pair) in found.pairs.iter().enumerate() {
        print_pair(context, &found, at, pair)?;
    }
    for (at, sign) in ["-", "+"].into_iter().enumerate() {
        for (place, item) in found.sides[at].own.iter().enumerate() {
            let is_paired = found.pairs.iter().any(|pair| places(pair)[at] == place);
            if !is_paired {
                print_item(context, sign, item)?;
            }
        }
    }
    Ok(Answer::Yes)
}

fn places(pair: &DiffPair) -> [usize; 2] {
    [pair.places.0, pair.places.1]
}

/// Says which model is in force at the end of a side.
fn state(side: &DiffSide) -> String {
    let parts = [&side.model, &side.provider, &side.thinking];
    let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
    if parts.is_empty() { String::new() } else { format!("  ({})", shown::line(&parts.join(", "))) }
}

fn painted(context: &Context, sign: &str, text: &str) -> String {
    let style = if sign.starts_with('-') { style::ERROR } else { style::REF };
    context.output.paint(style, text)
}

fn print_pair(
    context: &mut Context,
    found: &Diff,
    at: usize,
    pair: &DiffPair,
) -> Result<(), Failure> {
    let (one, other) = (&found.sides[0].own[pair.places.0], &found.sides[1].own[pair.places.1]);
    let role = shown::line(one.role.as_deref().unwrap_or_default());
    if one.text == other.text {
        return context.output.item(format_args!("@@ message {} {role}: the same @@", at + 1));
    }
    context.output.item(format_args!("@@ message {} {role} @@", at + 1))?;
    if pair.words.is_empty() {
        print_item(context, "-", one)?;
        return print_item(context, "+", other);
    }
    let mut text = String::new();
    for (change, words) in &pair.words {
        text.push_str(&match change {
            DiffWords::Both => words.clone(),
            DiffWords::First => painted(context, "-", &format!("[-{words}-]")),
            DiffWords::Second => painted(context, "+", &format!("{{+{words}+}}")),
        });
    }
    context.output.item(text)
}

fn print_item(context: &mut Context, sign: &str, item: &DiffItem) -> Result<(), Failure> {
    let who = shown::line(item.role.as_deref().unwrap_or(&item.label));
    let config = item.config.iter();
    let config = config.map(|(key, value)| format!("{key}={}", json::to_string(value)));
    let config = config.collect::<Vec<_>>().join(" ");
    let said = if config.is_empty() { &item.text } else { &config };
    for (place, line) in format!("{who}: {said}").lines().enumerate() {
        let indent = if place == 0 { "" } else { "  " };
        let line = painted(context, sign, &format!("{sign} {indent}{line}"));
        context.output.item(line)?;
    }
    Ok(())
}

fn record(context: &mut Context, args: &Args, found: &Diff) -> Result<(), Failure> {
    let side = |name: &str, side: &DiffSide| {
        let own = side.own.iter().map(|item| {
            output::object([
                ("entry", item.id.to_string().into()),
                ("type", item.label.as_str().into()),
                ("role", item.role.clone().into()),
                ("text", item.text.as_str().into()),
                ("config", Value::Map(item.config.clone())),
            ])
        });
        output::object([
            ("name", name.into()),
            ("entry", side.end.to_string().into()),
            ("model", side.model.clone().into()),
            ("provider", side.provider.clone().into()),
            ("thinking", side.thinking.clone().into()),
            ("entries", Value::List(own.collect())),
        ])
    };
    let sides = vec![side(&args.one, &found.sides[0]), side(&args.other, &found.sides[1])];
    let pairs = found.pairs.iter().map(|pair| {
        let (one, other) = (&found.sides[0].own[pair.places.0], &found.sides[1].own[pair.places.1]);
        let words = pair.words.iter().map(|(change, words)| {
            let change = match change {
                DiffWords::Both => "both",
                DiffWords::First => "a",
                DiffWords::Second => "b",
            };
            output::object([("in", change.into()), ("text", words.as_str().into())])
        });
        output::object([
            ("a", one.id.to_string().into()),
            ("b", other.id.to_string().into()),
            ("same", (one.text == other.text).into()),
            ("words", Value::List(words.collect())),
        ])
    });
    let pairs = Value::List(pairs.collect());
    context.output.record([
        ("forkPoint", output::text(found.fork_point)),
        ("sides", Value::List(sides)),
        ("messages", pairs),
    ])
}
