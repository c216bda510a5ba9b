//! `sapwood rev-parse`

use crate::args::Listing;
use crate::failure::{Answer, Failure};
use sapwood::error::Error;
use sapwood::id::Id;
use sapwood::store::Snapshot;

use crate::open::{Context, Opened};
use crate::plumbing::{SHORT_DIGITS, is_missing, short};
use crate::range::Range;

/// Print the full ids that revisions name
///
/// A..B prints B and then ^A; ^A prints ^A. A name that is not there is exit
/// code 1, and with --verify --quiet nothing is printed about it.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood rev-parse HEAD
  sapwood rev-parse --short main~3
  sapwood rev-parse main..topic
  sapwood rev-parse --verify -q maybe || echo 'not there'")]
pub(crate) struct Args {
    /// Shorten ids to N digits, or more where that would be ambiguous
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "8")]
    short: Option<usize>,
    /// Insist on exactly one revision that names an object of the store
    #[arg(long)]
    verify: bool,
    #[command(flatten)]
    listing: Listing,
    /// What to look up
    #[arg(value_name = "REV", required = true)]
    revisions: Vec<String>,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    if args.verify && args.revisions.len() != 1 {
        return Err(Failure::Usage("--verify takes exactly one revision".to_owned()));
    }
    context.output.list(args.listing);
    let opened = context.open()?;
    let snapshot = opened.repo.snapshot()?;
    let digits = args.short.unwrap_or(SHORT_DIGITS);
    for revision in &args.revisions {
        let found = look_up(snapshot.as_ref(), &opened, revision, args.verify);
        let ids = match found {
            Err(Failure::Library(error))
                if args.verify && context.output.is_quiet() && is_missing(&error) =>
            {
                return Ok(Answer::No);
            }
            ids => ids?,
        };
        for (id, is_excluded) in ids {
            let text = match args.short {
                Some(_) => short(snapshot.as_ref(), &id, digits)?,
                None => id.to_string(),
            };
            if context.output.json {
                context.output.record([
                    ("revision", revision.as_str().into()),
                    ("id", text.into()),
                    ("excluded", is_excluded.into()),
                ])?;
            } else {
                let mark = if is_excluded { "^" } else { "" };
                context.output.item(format_args!("{mark}{text}"))?;
            }
        }
    }
    Ok(Answer::Yes)
}

/// Finds what one argument names, and whether it is left out or shown.
fn look_up(
    snapshot: &dyn Snapshot,
    opened: &Opened,
    revision: &str,
    is_verified: bool,
) -> Result<Vec<(Id, bool)>, Failure> {
    let range = Range::find(snapshot, opened, revision)?;
    if is_verified {
        let (Some(id), None) = (range.include, range.exclude) else {
            return Err(Failure::request(format!("'{revision}' is not a single revision")));
        };
        if snapshot.kinds(&[id])?[0].is_none() {
            return Err(Failure::Library(Error::ObjectMissing { id }));
        }
    }
    let include = range.include.map(|id| (id, false));
    Ok(include.into_iter().chain(range.exclude.map(|id| (id, true))).collect())
}
