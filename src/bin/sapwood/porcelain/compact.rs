//! `sapwood compact`

use sapwood::ops::{self, Keep};
use sapwood::session::Message;

use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::output;
use crate::target::WriteTo;
use crate::with::{Feed, Setting};

/// How many messages are kept where nothing else is said.
const KEEP: usize = 10;

/// Put a summary in the place of the older part of a conversation
///
/// Appends a marker; from then on a context is the summary and what comes after
/// the cut. Nothing is deleted: 'sapwood uncompact' makes the context whole
/// again. A tool call is never parted from its result: the cut moves back to
/// before the call.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood compact --summary 'We chose Rust, and wrote the parser'
  sapwood compact --keep 4 --with 'llm -s \"Summarise this\"' --timeout 120
  sapwood compact --first-kept msg:6 --summary 'Setup is done'")]
pub(crate) struct Args {
    /// Keep the last N messages; 10 unless given
    #[arg(long, value_name = "N", conflicts_with = "first_kept")]
    keep: Option<usize>,
    /// Keep everything from this entry on
    #[arg(long, value_name = "REV")]
    first_kept: Option<String>,
    /// The summary
    #[arg(long, value_name = "TEXT", conflicts_with = "with")]
    summary: Option<String>,
    #[command(flatten)]
    feed: Feed,
    #[command(flatten)]
    to: WriteTo,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    if args.summary.is_none() && args.feed.with.with.is_none() {
        return Err(Failure::Usage("no summary: give --summary TEXT or --with CMD".to_owned()));
    }
    let keep = match args.first_kept {
        Some(first) => Keep::From(first),
        None => Keep::Last(args.keep.unwrap_or(KEEP)),
    };
    let opened = context.open_for_writing()?;
    let snapshot = opened.repo.snapshot()?;
    let plan = ops::plan_compact(&*snapshot, &args.to.target(&opened), &keep)?;
    let seen = &plan.seen;
    let setting = Setting::new(&opened, "compact", &seen.session, &seen.branch);
    let messages: Vec<Message> = plan.replaced.iter().map(|shown| shown.message.clone()).collect();
    let made = args.feed.run(setting, &messages)?;
    let summary = made.or(args.summary).filter(|summary| !summary.trim().is_empty());
    let summary = summary.ok_or_else(|| Failure::request("the summary is empty"))?;
    let operation = context.operation(None, &["compact"]);
    let marker = ops::compact(&opened.repo, &plan, &summary, &operation)?;
    if !context.output.json {
        context.output.item(marker)?;
        return Ok(Answer::Yes);
    }
    context.output.record([
        ("id", marker.to_string().into()),
        ("session", seen.session.as_str().into()),
        ("branch", seen.branch.as_str().into()),
        ("summary", summary.into()),
        ("firstKept", output::text(plan.first_kept)),
        ("tokensBefore", plan.tokens_before.into()),
        ("replaced", output::count(plan.replaced.len())),
        ("kept", output::count(plan.kept)),
    ])?;
    Ok(Answer::Yes)
}
