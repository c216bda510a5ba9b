//! `sapwood pop`

use sapwood::ops::{self, SummaryKind};
use sapwood::session::Message;

use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::output;
use crate::target::WriteTo;
use crate::with::{Feed, Setting};

/// Go back on a branch, and say what was tried meanwhile
///
/// Back to before the user's last message, or to REV. Prints the first thing
/// the user said after it, to be edited and said again. The summary is appended
/// there, so that the next answer knows of it. What is left behind stays in the
/// transcript and is linked from the summary.
#[derive(clap::Args)]
#[command(visible_alias = "rewind")]
#[command(after_help = "\
Examples:
  sapwood pop
  sapwood pop --summary 'Tried Node.js, with a --verbose flag'
  sapwood pop main~4 --with 'llm -s \"Summarise this in two sentences\"'
  sapwood pop > prompt.md && vi prompt.md && sapwood append -F prompt.md")]
pub(crate) struct Args {
    /// What was tried
    #[arg(long, value_name = "TEXT", conflicts_with = "with")]
    summary: Option<String>,
    #[command(flatten)]
    feed: Feed,
    /// Make the summary an entry of type stack_summary
    #[arg(long)]
    stack: bool,
    /// Even where a tool call has no result yet
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    to: WriteTo,
    /// The entry to go back to
    #[arg(value_name = "REV")]
    revision: Option<String>,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let summary = args.summary.filter(|summary| !summary.trim().is_empty());
    let kind = if args.stack { SummaryKind::Stack } else { SummaryKind::Branch };
    let opened = context.open_for_writing()?;
    let snapshot = opened.repo.snapshot()?;
    let target = args.to.target(&opened);
    let plan = ops::plan_pop(&*snapshot, &target, args.revision.as_deref(), args.force)?;
    let summary = match args.feed.with.with {
        None => summary,
        Some(_) => {
            let messages = plan.messages(&*snapshot)?.into_iter();
            let messages: Vec<Message> = messages.map(|shown| shown.message).collect();
            let seen = &plan.seen;
            let setting = Setting::new(&opened, "pop", &seen.session, &seen.branch);
            args.feed.run(setting, &messages)?
        }
    };
    let mut words = vec!["pop"];
    words.extend(args.revision.as_deref());
    let operation = context.operation(None, &words);
    let done = ops::pop(&opened.repo, &plan, summary.as_deref(), kind, &operation)?;
    if context.output.json {
        context.output.record([
            ("session", plan.seen.session.into()),
            ("branch", plan.seen.branch.into()),
            ("from", plan.seen.end.to_string().into()),
            ("to", output::text(plan.at)),
            ("end", output::text(done.end)),
            ("summary", output::text(done.summary)),
            ("selectedText", output::text(plan.text)),
        ])?;
    } else if let Some(text) = plan.text {
        context.output.item(text)?;
    }
    Ok(Answer::Yes)
}
