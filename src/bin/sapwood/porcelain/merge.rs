//! `sapwood merge`

use sapwood::codec::Value;
use sapwood::ops::{self, MergeOptions};
use sapwood::session::{Message, restored_entry};

use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::target::WriteTo;
use crate::with::{Feed, Setting};

/// Bring another branch into this one: an entry with both as parents
///
/// The entry is on the path of this branch and says what the other has in a
/// summary, which is what a context shows of it. Prints the entry's id.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood merge approach-b --summary 'A Map is enough'
  sapwood merge approach-b --with 'summarize --short'")]
pub(crate) struct Args {
    /// What the other branch has to say; else only that it was merged
    #[arg(long, value_name = "TEXT", conflicts_with = "with")]
    summary: Option<String>,
    #[command(flatten)]
    feed: Feed,
    #[command(flatten)]
    to: WriteTo,
    /// The branch, or any revision
    #[arg(value_name = "REV")]
    revision: String,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let opened = context.open_for_writing()?;
    let operation = context.operation(None, &["merge", &args.revision]);
    let mut options = MergeOptions {
        target: args.to.target(&opened),
        other: args.revision.clone(),
        summary: args.summary.clone(),
        seen: None,
    };
    if args.feed.with.with.is_some() {
        let snapshot = opened.repo.snapshot()?;
        let sides = ops::merge_sides(&*snapshot, &options.target, &args.revision)?;
        let mut said = Vec::new();
        for id in &sides.theirs {
            let entry = restored_entry(&*snapshot, id)?;
            said.extend(Message::read(&entry.label, &entry.body));
        }
        let setting = Setting::new(&opened, "merge", &sides.session, &sides.branch);
        options.summary = args.feed.run(setting, &said)?;
        options.seen = Some(sides.ends);
    }
    let outcome = ops::merge(&opened.repo, &options, &operation)?;
    if context.output.json {
        let parents = outcome.parents.iter().map(|id| Value::from(id.to_string()));
        context.output.record([
            ("session", outcome.session.into()),
            ("branch", outcome.branch.into()),
            ("entry", outcome.entry.to_string().into()),
            ("parents", Value::List(parents.collect())),
        ])?;
    } else {
        context.output.item(outcome.entry)?;
    }
    Ok(Answer::Yes)
}
