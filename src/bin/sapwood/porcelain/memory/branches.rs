//! `sapwood memory branches`

use sapwood::memory;
use sapwood::session::View;

use crate::args::Listing;
use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::output;
use crate::plumbing::{SHORT_DIGITS, short};
use crate::style;
use crate::target::Within;

/// List the branches with the node that is known at the end of each
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood memory branches
  sapwood memory branches --json")]
pub(super) struct Args {
    #[command(flatten)]
    within: Within,
    #[command(flatten)]
    listing: Listing,
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    context.output.list(args.listing);
    let opened = context.open()?;
    let snapshot = opened.repo.snapshot()?;
    let session = args.within.target(&opened).session(&*snapshot)?;
    for branch in memory::branches(&View::of(&*snapshot, &session)?)? {
        let facts = memory::resolve(&*snapshot, branch.head)?;
        if context.output.json {
            context.output.record([
                ("name", branch.name.into()),
                ("headNodeId", output::text(branch.head)),
                ("parentBranchName", output::text(branch.parent)),
                ("active", branch.is_active.into()),
                ("facts", output::count(facts.len())),
            ])?;
            continue;
        }
        let mark = if branch.is_active { '*' } else { ' ' };
        let head = branch.head.map(|id| short(&*snapshot, &id, SHORT_DIGITS)).transpose()?;
        let head = format!("{:SHORT_DIGITS$}", head.unwrap_or_else(|| "-".to_owned()));
        let head = context.output.paint(style::ID, head);
        let name = context.output.paint(style::REF, &branch.name);
        let count = match facts.len() {
            1 => "1 fact".to_owned(),
            count => format!("{count} facts"),
        };
        let from = branch.parent.map_or(String::new(), |parent| format!(", from {parent}"));
        context.output.item(format_args!("{mark} {head} {name} ({count}{from})"))?;
    }
    Ok(Answer::Yes)
}
