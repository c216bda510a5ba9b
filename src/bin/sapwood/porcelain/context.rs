//! `sapwood context`

use clap::ValueEnum;
use sapwood::codec::{Value, json};
use sapwood::ops::{self, ContextOptions, ContextOutcome};
use sapwood::store::Snapshot;

use crate::config;
use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::plumbing::{SHORT_DIGITS, short};
use crate::target::Within;

/// Show what a model is shown at an entry
///
/// The path, read by type: messages, with each tool's result behind its call;
/// the last compaction's summary and what it keeps; summaries of branches,
/// stacks and merges. Model and thinking level are those in force there.
///
/// Roles that models do not know speak as a user, with their name before what
/// they say, unless --role-map or the setting context.role-map.ROLE says what
/// they are.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood context
  sapwood context main~4 --memory
  sapwood context --format anthropic --repair
  sapwood context --format openai --role-map interviewer=assistant")]
pub(crate) struct Args {
    /// Put what is known there first: the latest facts
    #[arg(long)]
    memory: bool,
    /// What to print; json if --json is given
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
    /// What a role is: user, assistant or system; may be given more than once
    #[arg(long = "role-map", value_name = "ROLE=ROLE")]
    roles: Vec<String>,
    /// Close tool calls that have no result, in what is printed only
    #[arg(long)]
    repair: bool,
    #[command(flatten)]
    within: Within,
    /// The entry; else HEAD
    #[arg(value_name = "REV")]
    revision: Option<String>,
}

/// What to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Everything that is known of the context
    Json,
    /// For people
    Markdown,
    /// A request of OpenAI's chat completions
    Openai,
    /// A request of Anthropic's messages
    Anthropic,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let roles = config::role_map(&args.roles)?;
    let opened = context.open()?;
    let snapshot = opened.repo.snapshot()?;
    let options = ContextOptions {
        target: args.within.target(&opened),
        revision: args.revision,
        memory: args.memory,
        repair: args.repair,
        roles,
    };
    let outcome = ops::context(&*snapshot, &options)?;
    report(context, &*snapshot, &outcome, args.repair)?;
    let default = if context.output.json { Format::Json } else { Format::Markdown };
    match args.format.unwrap_or(default) {
        Format::Json => context.output.fields(outcome.to_json())?,
        Format::Markdown => context.output.text(&outcome.to_markdown())?,
        Format::Openai => print(context, &outcome.to_openai())?,
        Format::Anthropic => print(context, &outcome.to_anthropic())?,
    }
    Ok(Answer::Yes)
}

/// Says what is missing: what a compaction keeps, and results of calls.
fn report(
    context: &mut Context,
    snapshot: &dyn Snapshot,
    outcome: &ContextOutcome,
    is_repaired: bool,
) -> Result<(), Failure> {
    if let Some(lost) = &outcome.context.lost {
        context.output.note(format_args!(
            "warning: the compaction keeps {lost} first, which is not on this path: only its \
             summary is shown"
        ));
    }
    for open in &outcome.context.dangling {
        let entry = short(snapshot, &open.entry, SHORT_DIGITS)?;
        let call =
            format!("tool call {} ({}) at {entry} has no result", open.call.name, open.call.id);
        let hint = if is_repaired { "closed here" } else { "--repair closes it in the output" };
        context.output.note(format_args!("warning: {call}; {hint}"));
    }
    Ok(())
}

fn print(context: &mut Context, request: &Value) -> Result<(), Failure> {
    let mut line = json::to_string(request).into_bytes();
    line.push(b'\n');
    context.output.bytes(&line)
}
