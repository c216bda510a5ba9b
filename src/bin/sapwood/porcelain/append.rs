//! `sapwood append`

mod entry;
mod stream;

use clap::ValueEnum;
use sapwood::ops::{self, Ground};
use sapwood::store::Durability;

use crate::config;
use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::output;
use crate::target::WriteTo;

/// Add messages and other entries to a branch
///
/// One message, from -m, a file or standard input ('-'); or, with --stdin, one
/// JSON object a line for as long as they come: each line is one transaction,
/// and its id is printed as soon as it is on disk. Session and branch are fixed
/// at the start, and created where there are none. A line that is no JSON object
/// ends the command with exit code 3; what came before it stays.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood append -m 'hello'
  sapwood append -r assistant -m 'hi' --model kimi-k2.5 --cost 0.001 --tokens 150
  git diff | sapwood append -
  sapwood append --type agent_action --data '{\"action\":\"spawn\",\"agentId\":\"a1\"}'
  echo '{\"type\":\"message\",\"text\":\"hello\"}' | sapwood append --stdin
  sapwood append --stdin --durability relaxed --batch 100 < big.jsonl")]
pub(crate) struct Args {
    #[command(flatten)]
    entry: entry::Flags,
    #[command(flatten)]
    to: WriteTo,
    /// Read entries from standard input, one JSON object a line
    #[arg(long, conflicts_with_all = ["message", "file", "dash", "role", "json_content", "call"])]
    #[arg(conflicts_with_all = ["meta", "model", "provider", "cost", "tokens", "phase", "own"])]
    #[arg(conflicts_with_all = ["label", "data", "time"])]
    stdin: bool,
    /// When an id is printed: after the sync, or before it
    #[arg(long, value_name = "WHEN")]
    durability: Option<When>,
    /// Commit up to N lines together, if they have arrived already
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    batch: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum When {
    Full,
    Relaxed,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    if args.stdin {
        let opened = context.open_or_create()?;
        let durability = durability(args.durability);
        let batch = args.batch.unwrap_or(1);
        return stream::run(&args.to.target(&opened), durability, batch, &opened, context);
    }
    if args.batch.is_some() || args.durability.is_some() {
        return Err(Failure::Usage("--batch and --durability need --stdin".to_owned()));
    }
    let draft = args.entry.draft()?;
    draft.check()?;
    let opened = context.open_or_create()?;
    let ground = Ground::find(&*opened.repo.snapshot()?, &args.to.target(&opened))?;
    let operation = context.operation(None, &["append"]);
    let outcome = ops::append(&opened.repo, &ground, &[draft], false, &operation)?;
    for id in outcome.entries {
        match context.output.json {
            false => context.output.item(id)?,
            true => context.output.record([
                ("id", output::text(Some(id))),
                ("session", outcome.session.as_str().into()),
                ("branch", outcome.branch.as_str().into()),
            ])?,
        }
    }
    Ok(Answer::Yes)
}

/// Takes what the flag says, else `core.durability`, else full.
fn durability(flag: Option<When>) -> Durability {
    let setting = || When::from_str(&config::text("core.durability")?, true).ok();
    match flag.or_else(setting) {
        Some(When::Relaxed) => Durability::Relaxed,
        Some(When::Full) | None => Durability::Full,
    }
}
