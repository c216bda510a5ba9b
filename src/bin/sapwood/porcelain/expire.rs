//! `sapwood expire`

use sapwood::codec::Value;
use sapwood::ops::{self, ExpireOptions, Expiry, Kept};
use sapwood::time;

use crate::args::Listing;
use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::shown;
use crate::when;

/// Remove sessions in which nothing was said for long
///
/// Says which, and does nothing unless --yes is given. Removed sessions can be
/// brought back with 'undo' or 'session restore' until gc finds them too old.
/// The current session stays, and so does one that is written to meanwhile.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood expire --older-than '90 days ago'
  sapwood expire --older-than 26w --keep-last 50 --yes
  sapwood expire --older-than 2026-01-01 --keep-labelled=false --json")]
pub(crate) struct Args {
    /// Only sessions in which nothing was said since then
    #[arg(long, value_name = "TIME", value_parser = when::parse)]
    older_than: i64,
    /// Keep so many of the latest, however old
    #[arg(long, value_name = "N", default_value_t = 0)]
    keep_last: usize,
    /// Keep sessions that have labels
    #[arg(
        long,
        value_name = "BOOL",
        default_value_t = true,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        action = clap::ArgAction::Set
    )]
    keep_labelled: bool,
    /// Do it
    #[arg(short, long, visible_alias = "force")]
    yes: bool,
    #[command(flatten)]
    listing: Listing,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let opened = match args.yes {
        true => context.open_for_writing()?,
        false => context.open()?,
    };
    context.output.list(args.listing);
    let options = ExpireOptions {
        older_than: args.older_than,
        keep_last: args.keep_last,
        keep_labelled: args.keep_labelled,
    };
    let snapshot = opened.repo.snapshot()?;
    let mut summaries = opened.summaries();
    let plan = ops::plan_expire(&*snapshot, &options, &mut summaries)?;
    let mut expired = 0;
    for expiry in &plan {
        let mut moved = None;
        if expiry.kept.is_none() && args.yes {
            let sid = &expiry.session.meta.sid;
            let operation = context.operation(None, &["expire", sid]);
            moved = ops::expire(&opened.repo, &*snapshot, sid, &operation)?;
        }
        let is_done = moved.is_some() || expiry.kept.is_none() && !args.yes;
        expired += usize::from(is_done);
        if context.output.json {
            print_json(context, expiry, moved.map(|moved| moved.to), args.yes)?;
        } else if is_done && !(args.yes && context.output.is_quiet()) {
            context.output.item(line(expiry))?;
        }
    }
    let did = match args.yes {
        true => "removed; 'sapwood session restore' brings one back until gc",
        false => "would be removed; --yes does it",
    };
    context.output.note(format_args!("{expired} of {} sessions {did}", plan.len()));
    Ok(Answer::Yes)
}

/// Gives a session on one line; the id is whole, so that it can be copied.
fn line(expiry: &Expiry) -> String {
    let meta = &expiry.session.meta;
    let name = shown::line(meta.name.as_deref().unwrap_or_default());
    let line = format!("{}  {}", meta.sid, time::format(expiry.session.updated));
    match shown::COLUMNS.saturating_sub(shown::width(&line) + 2) {
        0 => line,
        _ if name.is_empty() => line,
        left => format!("{line}  {}", shown::clipped(&name, left)),
    }
}

fn print_json(
    context: &mut Context,
    expiry: &Expiry,
    to: Option<String>,
    done: bool,
) -> Result<(), Failure> {
    let kept = expiry.kept.map(|kept| match kept {
        Kept::Current => "current",
        Kept::Recent => "recent",
        Kept::Last => "last",
        Kept::Labelled => "labelled",
    });
    let kept = if done && to.is_none() { kept.or(Some("changed")) } else { kept };
    context.output.record([
        ("session", expiry.session.meta.sid.as_str().into()),
        ("name", expiry.session.meta.name.clone().into()),
        ("updated", time::format(expiry.session.updated).into()),
        ("kept", kept.map(str::to_owned).into()),
        ("expired", Value::Bool(kept.is_none())),
        ("to", to.into()),
    ])
}
