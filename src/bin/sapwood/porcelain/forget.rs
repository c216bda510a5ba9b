//! `sapwood forget`

use sapwood::codec::Value;
use sapwood::ops::{self, ForgetOutcome, ForgetWhat, removed_sessions};
use sapwood::repo::find_session;
use sapwood::store::RefName;

use crate::confirm::{can_ask, confirm};
use crate::failure::{Answer, Failure};
use crate::open::{Context, Opened};
use crate::output::{self, Output};
use crate::plumbing::{SHORT_DIGITS, counted};
use crate::porcelain::redact::print_left;
use crate::progress::Progress;

/// Remove a message and all that follows it, or a session, for good
///
/// What hangs on the message goes with it on every branch, in every session that
/// has it, transcripts and memory included; branches end before it then. With
/// --session the whole session goes, a removed one too; what forks have of it
/// stays theirs. Asks first, unless --yes. The bytes are removed from every file
/// of the store, and what was forgotten is refused when it comes back. This can't
/// be undone. Copies that were made of it (cherry-pick, rebase, summaries) stay.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood forget --dry-run main~3
  sapwood forget --yes 3f9a02c1
  sapwood forget --session old-one")]
pub(crate) struct Args {
    /// The first message to go
    #[arg(value_name = "REV", required_unless_present = "session", conflicts_with = "session")]
    revision: Option<String>,
    /// The session to go, by id, name, or the begin of its id
    #[arg(short, long, value_name = "SESSION")]
    session: Option<String>,
    /// Only say what would go
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Do it without asking
    #[arg(short, long)]
    yes: bool,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let opened = match args.dry_run {
        true => context.open()?,
        false => context.open_for_writing()?,
    };
    let what = what(&args, &opened)?;
    let operation = context.operation(None, &["forget"]);
    let local = opened.local()?;
    let had_left = local.has_purge_left()?;
    let progress = Progress::new("Forgetting", context.output.is_quiet());
    let forget = |dry_run| {
        let tell = |done, total| progress.tell(done, total);
        let outcome = ops::forget(local, &what, dry_run, &operation, &tell);
        progress.clear();
        outcome
    };
    if !args.dry_run && !args.yes {
        if !can_ask() {
            return Err(Failure::Request {
                message: "this can't be undone, and there is nobody to ask".to_owned(),
                hint: Some("look with --dry-run, then say --yes".to_owned()),
            });
        }
        let planned = forget(true)?;
        print_left(&mut context.output, had_left, true)?;
        print(context, &planned, true)?;
        context.output.flush()?;
        if !confirm("Forget this for good?")? {
            return Err(Failure::request("nothing was forgotten"));
        }
    }
    let outcome = forget(args.dry_run)?;
    match context.output.json {
        true => print_json(context, &outcome, had_left, args.dry_run)?,
        false => {
            print_left(&mut context.output, had_left, args.dry_run)?;
            print(context, &outcome, args.dry_run)?;
        }
    }
    Ok(Answer::Yes)
}

fn what(args: &Args, opened: &Opened) -> Result<ForgetWhat, Failure> {
    let snapshot = opened.repo.snapshot()?;
    if let Some(revision) = &args.revision {
        return Ok(ForgetWhat::Entry(opened.repo.resolve_at(&opened.place, revision)?));
    }
    let named = args.session.as_deref().unwrap_or_default();
    match find_session(&*snapshot, named) {
        Ok(session) => Ok(ForgetWhat::Session(session)),
        Err(error) => {
            let removed = removed_sessions(&*snapshot)?;
            let is_named =
                |place: &String| place.rsplit_once('/').is_some_and(|(sid, _)| sid == named);
            match removed.iter().any(is_named) {
                true => Ok(ForgetWhat::Session(named.to_owned())),
                false => Err(error.into()),
            }
        }
    }
}

fn print(context: &mut Context, outcome: &ForgetOutcome, dry_run: bool) -> Result<(), Failure> {
    let output = &mut context.output;
    output.item(format_args!(
        "{} {} and other entries, {}, {}, {}; {} rewritten",
        if dry_run { "would forget" } else { "forgot" },
        counted(outcome.entries, "message"),
        counted(outcome.nodes, "memory node"),
        counted(outcome.blobs, "long string"),
        counted(outcome.others, "other object"),
        outcome.rewritten,
    ))?;
    for change in &outcome.refs {
        let now = match &change.now {
            Some(id) => format!("ends at {}", id.short(SHORT_DIGITS)),
            None => "goes".to_owned(),
        };
        output.item(format_args!("  {} {now}", change.name))?;
    }
    note_names(output, &outcome.named);
    Ok(())
}

/// Tells of branches that still have the words of what went in their names.
pub(super) fn note_names(output: &mut Output, named: &[RefName]) {
    for (session, rest) in named.iter().filter_map(|name| name.session()) {
        let branch = rest.strip_prefix("heads/").unwrap_or(rest);
        output.note(format_args!(
            "branch '{branch}' of session '{session}' is named after what went; to remove its \
             name everywhere, give it to 'sapwood redact --pattern-file -'"
        ));
    }
}

fn print_json(
    context: &mut Context,
    outcome: &ForgetOutcome,
    had_left: bool,
    dry_run: bool,
) -> Result<(), Failure> {
    let refs = outcome.refs.iter().map(|change| {
        let now = change.now.map(|id| id.to_string());
        output::object([("name", change.name.as_str().into()), ("now", now.into())])
    });
    let named = outcome.named.iter().map(|name| Value::from(name.as_str()));
    let sessions = outcome.sessions.iter().map(|session| Value::from(session.as_str()));
    context.output.record([
        ("dry_run", Value::Bool(dry_run)),
        ("cut_off", Value::Bool(had_left)),
        ("entries", output::count(outcome.entries)),
        ("nodes", output::count(outcome.nodes)),
        ("blobs", output::count(outcome.blobs)),
        ("others", output::count(outcome.others)),
        ("rewritten", output::count(outcome.rewritten)),
        ("sessions", Value::List(sessions.collect())),
        ("refs", Value::List(refs.collect())),
        ("named", Value::List(named.collect())),
    ])
}
