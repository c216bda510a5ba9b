//! What the commands share that move sessions: how they are told, and where stores are.

use std::path::{Path, PathBuf};

use clap::Args;
use sapwood::codec::Value;
use sapwood::error::Error;
use sapwood::ops::{
    self, Fate, Landed, SessionChange, TransferNote, TransferOptions, TransferOutcome,
};
use sapwood::store::Snapshot;
use sapwood::store::local::STORE_DIR_NAME;

use crate::failure::{Answer, Failure};
use crate::open::{self, Context, Opened};
use crate::output::{self, Output};
use crate::plumbing::{counted, human};
use crate::progress::Progress;
use crate::shown;
use crate::style;

/// How sessions are taken in.
#[derive(Args, Clone, Debug)]
pub(super) struct Taking {
    /// Replace branches, labels and attachments that went another way
    #[arg(short, long)]
    pub(super) force: bool,
    /// Write nothing, and say what would be moved
    #[arg(short = 'n', long)]
    pub(super) dry_run: bool,
    /// Go on with other sessions after one that fails
    #[arg(short, long)]
    pub(super) keep_going: bool,
}

impl Taking {
    /// Opens the store that sessions come to; where they only would, it may be read-only, or none.
    pub(super) fn open(&self, context: &Context) -> Result<Opened, Failure> {
        match self.dry_run {
            true => context.open_or_empty(),
            false => context.open_or_create(),
        }
    }

    /// Gives the options for sessions from a place of this name.
    pub(super) fn options(&self, from: &str) -> TransferOptions {
        TransferOptions {
            from: ops::source_name(from),
            force: self.force,
            refuse_apart: false,
            dry_run: self.dry_run,
            keep_going: self.keep_going,
        }
    }
}

/// Finds the store at a path: the path itself, or what stands below it.
pub(super) fn store_at(path: &Path) -> PathBuf {
    match open::is_store(path) {
        true => path.to_owned(),
        false => path.join(STORE_DIR_NAME),
    }
}

/// Names a store by the directory it is for.
pub(super) fn name_of(path: &Path) -> String {
    let full = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let full = match full.file_name().is_some_and(|name| name == STORE_DIR_NAME) {
        true => full.parent().map(Path::to_owned).unwrap_or_default(),
        false => full,
    };
    full.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Says of an object that the store lacks which it should come from that this is damage.
pub(super) fn of_source(error: Error, snapshot: &dyn Snapshot, store: &Path) -> Failure {
    match error {
        Error::ObjectMissing { id } if snapshot.kinds(&[id]).is_ok_and(|kinds| kinds == [None]) => {
            let why = format!("object {id} is missing, and something leads to it");
            Failure::DamagedInput {
                message: Error::corrupt(store, None, why).to_string(),
                hint: "'sapwood fsck' there lists all damage, 'sapwood fsck --fix' mends it",
            }
        }
        error => error.into(),
    }
}

/// What is told while sessions are moved.
pub(super) struct Telling {
    progress: Progress,
    landed: Vec<Landed>,
    failed: Vec<(String, Failure)>,
}

impl Telling {
    pub(super) fn new(what: &'static str, quiet: bool) -> Telling {
        Telling { progress: Progress::new(what, quiet), landed: Vec::new(), failed: Vec::new() }
    }

    /// Takes a note.
    pub(super) fn note(&mut self, note: TransferNote<'_>) {
        match note {
            TransferNote::Progress(objects, bytes) => self.progress.tell_moved(objects, bytes),
            TransferNote::Session(landed) => self.landed.push(landed.clone()),
            TransferNote::Failed(session, error) => {
                let why = Failure::request(error.to_string());
                self.failed.push((session.to_owned(), why));
            }
        }
    }

    /// Says what became of each session, and how much was moved.
    pub(super) fn report(
        self,
        verb: (&str, &str),
        outcome: &TransferOutcome,
        is_dry: bool,
        context: &mut Context,
    ) -> Result<Answer, Failure> {
        self.progress.clear();
        let output = &mut context.output;
        for landed in &self.landed {
            match output.json {
                true => print_json(output, landed)?,
                false => print(output, landed)?,
            }
        }
        for (session, why) in &self.failed {
            if output.json {
                output.record([
                    ("type", "session".into()),
                    ("session", session.as_str().into()),
                    ("change", "failed".into()),
                    ("why", why.message().into()),
                ])?;
            } else {
                let text = format!("{session}: {}", why.message());
                output.note(format_args!("failed: {}", shown::line(&text)));
            }
        }
        total(output, verb, outcome, is_dry)?;
        match outcome.failed + outcome.refused {
            0 => Ok(Answer::Yes),
            _ => Ok(Answer::No),
        }
    }
}

fn total(
    output: &mut Output,
    (done, would): (&str, &str),
    outcome: &TransferOutcome,
    is_dry: bool,
) -> Result<(), Failure> {
    let TransferOutcome { sessions, changed, refused, failed, objects, bytes, shared } = *outcome;
    if output.json {
        return output.record([
            ("type", "total".into()),
            ("sessions", output::count(sessions)),
            ("changed", output::count(changed)),
            ("refused", output::count(refused)),
            ("failed", output::count(failed)),
            ("objects", output::count(objects)),
            ("bytes", output::count(bytes)),
            ("shared", output::count(shared)),
            ("dry_run", is_dry.into()),
        ]);
    }
    if refused > 0 {
        output.note("What was refused went another way there: 'sapwood fetch' it, then push again");
    }
    let verb = if is_dry { would } else { done };
    output.item(format_args!(
        "{verb} {changed} of {}: {}, {}; {shared} shared",
        counted(sessions, "session"),
        counted(objects, "object"),
        human(bytes),
    ))
}

fn change(change: SessionChange) -> &'static str {
    match change {
        SessionChange::New => "new",
        SessionChange::Forward => "forward",
        SessionChange::Joined => "joined",
        SessionChange::Refs => "changed",
        SessionChange::Unchanged => "unchanged",
        SessionChange::Refused => "refused",
    }
}

fn fate(fate: &Fate) -> &'static str {
    match fate {
        Fate::New => "new",
        Fate::Forward => "forward",
        Fate::Moved => "moved",
        Fate::Aside(_) => "aside",
    }
}

fn print(output: &mut Output, landed: &Landed) -> Result<(), Failure> {
    if landed.change == SessionChange::Unchanged {
        return Ok(());
    }
    let session = output.paint(style::ID, shown::line(&landed.session));
    output.item(format_args!("{:<9} {session}", change(landed.change)))?;
    for told in landed.refs.iter().filter(|_| landed.change != SessionChange::New) {
        let name = output.paint(style::REF, shown::line(&told.name));
        match &told.fate {
            Fate::Aside(aside) => {
                let aside = output.paint(style::REF, shown::line(aside));
                output.item(format_args!("  {:<7} {name} -> {aside}", "aside"))?;
            }
            other => output.item(format_args!("  {:<7} {name}", fate(other)))?,
        }
    }
    Ok(())
}

fn print_json(output: &mut Output, landed: &Landed) -> Result<(), Failure> {
    let refs = landed.refs.iter().map(|told| {
        let aside = match &told.fate {
            Fate::Aside(aside) => Value::from(aside.as_str()),
            _ => Value::Null,
        };
        output::object([
            ("name", told.name.as_str().into()),
            ("fate", fate(&told.fate).into()),
            ("as", aside),
        ])
    });
    let refs = Value::List(refs.collect());
    output.record([
        ("type", "session".into()),
        ("session", landed.session.as_str().into()),
        ("change", change(landed.change).into()),
        ("refs", refs),
    ])
}

/// Refuses to move sessions from a store to itself.
pub(super) fn refuse_itself(one: &Path, other: &Path) -> Result<(), Failure> {
    let full = |path: &Path| std::fs::canonicalize(path).ok();
    match full(one).is_some() && full(one) == full(other) {
        true => Err(Error::Refused {
            why: format!("{} is this store itself", other.display()),
            hint: "name another one",
        }
        .into()),
        false => Ok(()),
    }
}
