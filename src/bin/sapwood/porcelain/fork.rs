//! `sapwood fork`

use sapwood::codec::Value;
use sapwood::ops::{self, ForkOptions};

use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::porcelain::branch::json_value;
use crate::target::Within;

/// Begin a new session where another one is
///
/// The new session shares every object of the path to REV, so it costs the same
/// anywhere. It becomes the current one. Prints its id.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood fork
  sapwood fork main~2 --name alternative --reason 'try another model'
  sapwood fork --no-use --meta '{\"agent\":\"b\"}'")]
pub(crate) struct Args {
    /// What to call the new session
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Why it is forked
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Any more about the fork
    #[arg(long, value_name = "JSON", value_parser = json_value)]
    meta: Option<Value>,
    /// Leave the current session as it is
    #[arg(long)]
    no_use: bool,
    /// Fork even though a tool call is not answered
    #[arg(short, long)]
    force: bool,
    #[command(flatten)]
    within: Within,
    /// Where; else the end of the active branch
    #[arg(value_name = "REV")]
    revision: Option<String>,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let opened = context.open_for_writing()?;
    let words = ["fork"].into_iter().chain(args.revision.as_deref());
    let operation = context.operation(None, &words.collect::<Vec<_>>());
    let options = ForkOptions {
        target: args.within.target(&opened),
        at: args.revision.clone(),
        name: args.name.clone(),
        reason: args.reason.clone(),
        metadata: args.meta.clone(),
        use_it: !args.no_use,
        force: args.force,
    };
    let outcome = ops::fork(&opened.repo, &options, &operation)?;
    if context.output.json {
        let file = opened.local().ok().map(|local| local.path().join("refs/sessions"));
        let file = file.map(|dir| dir.join(&outcome.session).display().to_string());
        context.output.record([
            ("newSessionId", outcome.session.into()),
            ("newSessionFile", file.into()),
            ("forkedFromEntryId", outcome.entry.to_string().into()),
            ("parentSessionId", outcome.parent.into()),
            ("branch", outcome.branch.into()),
            ("name", args.name.into()),
            ("reason", args.reason.into()),
        ])?;
    } else {
        context.output.item(outcome.session)?;
    }
    Ok(Answer::Yes)
}
