//! `sapwood status`

use sapwood::codec::Value;
use sapwood::ops;
use sapwood::session::Dangling;

use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::output;
use crate::plumbing::{SHORT_DIGITS, short};
use crate::shown;
use crate::style;
use crate::target::Within;

/// Say where you are: store, session, branch, and what is open there
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood status
  sapwood status -s 'fix the parser' --json")]
pub(crate) struct Args {
    #[command(flatten)]
    within: Within,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let opened = context.open()?;
    let store = opened.local().map_or("memory".to_owned(), |at| at.path().display().to_string());
    let snapshot = opened.repo.snapshot()?;
    let status = ops::status(&*snapshot, &args.within.target(&opened).place())?;
    if context.output.json {
        context.output.record([
            ("store", store.into()),
            ("session", output::text(status.session)),
            ("name", output::text(status.name)),
            ("branch", output::text(status.branch)),
            ("entry", output::text(status.end)),
            ("entries", output::count(status.entries)),
            ("tip", output::text(status.tip)),
            ("memory", output::text(status.memory)),
            ("unanswered", Value::List(status.unanswered.iter().map(shape).collect())),
        ])?;
        return Ok(Answer::Yes);
    }
    context.output.item(format_args!("Store    {store}"))?;
    let Some(session) = status.session else {
        context.output.item("No current session; make one with 'sapwood new'")?;
        return Ok(Answer::Yes);
    };
    let name = status.name.map_or(String::new(), |name| format!(" ({})", shown::line(&name)));
    context.output.item(format_args!("Session  {session}{name}"))?;
    let branch = status.branch.unwrap_or_else(|| "none".to_owned());
    let branch = context.output.paint(style::REF, branch);
    let at = match status.end {
        Some(end) => {
            let id = context.output.paint(style::ID, short(&*snapshot, &end, SHORT_DIGITS)?);
            let plural = if status.entries == 1 { "entry" } else { "entries" };
            format!("at {id}, {} {plural}", status.entries)
        }
        None => "nothing said yet".to_owned(),
    };
    context.output.item(format_args!("Branch   {branch} {at}"))?;
    for (what, id) in [("Tip", status.tip), ("Memory", status.memory)] {
        // A tip at the end of the branch says nothing new.
        if let Some(id) = id.filter(|id| Some(*id) != status.end) {
            let id = context.output.paint(style::ID, short(&*snapshot, &id, SHORT_DIGITS)?);
            context.output.item(format_args!("{what:<8} {id}"))?;
        }
    }
    for open in &status.unanswered {
        let id = context.output.paint(style::ID, short(&*snapshot, &open.entry, SHORT_DIGITS)?);
        let call = format!("{} ({})", open.call.name, open.call.id);
        let call = shown::line(&call);
        context.output.item(format_args!("Waiting  {call} at {id} has no result yet"))?;
    }
    Ok(Answer::Yes)
}

fn shape(open: &Dangling) -> Value {
    output::object([
        ("entry", open.entry.to_string().into()),
        ("call", open.call.id.as_str().into()),
        ("name", open.call.name.as_str().into()),
    ])
}
