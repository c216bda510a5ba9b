//! `sapwood label`

use sapwood::ops::{self, LabelOptions};
use sapwood::session::View;

use crate::args::Listing;
use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::output;
use crate::plumbing::{SHORT_DIGITS, short};
use crate::style;
use crate::target::Within;

/// Name entries: list, set, move and delete labels
///
/// A label is free text. Putting one elsewhere moves it; the transcript keeps
/// both places. It stands for its entry wherever a revision is asked for.
#[derive(clap::Args)]
#[command(visible_alias = "tag")]
#[command(after_help = "\
Examples:
  sapwood label
  sapwood label checkpoint-1
  sapwood label 'critical decision' main~2
  sapwood label -d checkpoint-1")]
pub(crate) struct Args {
    /// Delete the label
    #[arg(short, long, requires = "name")]
    delete: bool,
    #[command(flatten)]
    within: Within,
    #[command(flatten)]
    listing: Listing,
    /// The label
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// The entry to put it on
    #[arg(value_name = "REV", default_value = "HEAD", conflicts_with = "delete")]
    revision: String,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let Some(name) = args.name else {
        return list(context, &args.within, args.listing);
    };
    let opened = context.open_for_writing()?;
    let words = match args.delete {
        true => vec!["label", "-d", &name],
        false => vec!["label", &name, &args.revision],
    };
    let operation = context.operation(None, &words);
    let options = LabelOptions {
        target: args.within.target(&opened),
        name: name.clone(),
        at: (!args.delete).then(|| args.revision.clone()),
    };
    let outcome = ops::label(&opened.repo, &options, &operation)?;
    if context.output.json {
        context.output.record([
            ("session", outcome.session.into()),
            ("label", name.into()),
            ("was", output::text(outcome.was)),
            ("entry", output::text(outcome.now)),
        ])?;
    }
    Ok(Answer::Yes)
}

fn list(context: &mut Context, within: &Within, listing: Listing) -> Result<Answer, Failure> {
    context.output.list(listing);
    let opened = context.open()?;
    let snapshot = opened.repo.snapshot()?;
    let session = within.target(&opened).session(&*snapshot)?;
    for (name, entry) in View::of(&*snapshot, &session)?.labels()? {
        if context.output.json {
            context.output.record([("label", name.into()), ("entry", entry.to_string().into())])?;
        } else {
            let id = context.output.paint(style::ID, short(&*snapshot, &entry, SHORT_DIGITS)?);
            context.output.item(format_args!("{id} {name}"))?;
        }
    }
    Ok(Answer::Yes)
}
