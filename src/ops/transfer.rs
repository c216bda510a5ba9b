//! Moving sessions between two stores: only what is missing, and nothing half visible.
//!
//! What is handed over of a session is a [`Parcel`]: its refs. The objects behind them come first,
//! each after those it links, so whatever was moved when a transfer is cut off is whole and is not
//! moved again; then all refs of a session move in one transaction. A store never has an object
//! without what it links, so "the receiver has it" is said of everything behind it, too.
//!
//! What becomes of a session that both stores have is decided in [`land`]. Bundles use the same
//! halves with a file between them: see `bundle`.

mod both;
mod fate;
mod intake;
mod land;
mod missing;
mod select;

use crate::error::{Error, Result};
use crate::id::Id;
use crate::repo::Repo;
use crate::store::{Operation, Snapshot};

use both::Both;
pub use fate::{Fate, Landed, RefFate, SessionChange};
pub(super) use intake::{Intake, mismatch, read_object};
pub(super) use land::{Rules, land};
pub(super) use missing::{Given, Missing};
pub(super) use select::check_parcel;
pub use select::{Parcel, Prerequisite, Selection, select};

/// How often a session is tried again whose objects vanished while they were relied on.
const TRIES_MAX: usize = 3;

/// The longest name of where sessions come from.
const FROM_CHARACTERS_MAX: usize = 64;

/// How sessions are taken in.
#[derive(Clone, Debug, Default)]
pub struct TransferOptions {
    /// Where they come from: a branch that went another way here comes in as `<branch>@<from>`.
    pub from: String,
    /// Whether branches, labels and attachments that differ are replaced.
    pub force: bool,
    /// Whether a session that went another way at the receiver is left as it is there.
    pub refuse_apart: bool,
    /// Whether nothing is written.
    pub dry_run: bool,
    /// Whether to go on with the other sessions when one fails.
    pub keep_going: bool,
}

/// What is told while it goes on.
#[derive(Debug)]
pub enum TransferNote<'a> {
    /// So many objects and bytes of content were moved.
    Progress(u64, u64),
    /// A session has landed.
    Session(&'a Landed),
    /// A session has failed.
    Failed(&'a str, &'a Error),
}

/// Who is told.
pub type Tell<'a> = &'a mut dyn FnMut(TransferNote<'_>);

/// What was moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransferOutcome {
    /// How many sessions were looked at.
    pub sessions: u64,
    /// How many of them were new or changed.
    pub changed: u64,
    /// How many were refused.
    pub refused: u64,
    /// How many failed.
    pub failed: u64,
    /// How many objects were moved.
    pub objects: u64,
    /// How many bytes of content they have.
    pub bytes: u64,
    /// How many objects were met that the receiver has; what lies behind them is not counted.
    pub shared: u64,
}

impl TransferOutcome {
    pub(super) fn count(&mut self, landed: &Landed) {
        self.sessions += 1;
        match landed.change {
            SessionChange::Unchanged => {}
            SessionChange::Refused => self.refused += 1,
            _ => self.changed += 1,
        }
    }
}

/// Moves sessions from a snapshot of one store to another store.
pub fn transfer(
    source: &dyn Snapshot,
    target: &Repo,
    parcels: &[Parcel],
    options: &TransferOptions,
    operation: &Operation,
    tell: Tell<'_>,
) -> Result<TransferOutcome> {
    let mut outcome = TransferOutcome::default();
    let mut work = Work { source, target, options, operation, missing: Missing::of(source) };
    for parcel in parcels {
        match work.session(parcel, &mut outcome, tell) {
            Ok(landed) => {
                outcome.count(&landed);
                tell(TransferNote::Session(&landed));
            }
            Err(error) if options.keep_going && is_about_a_session(&error) => {
                outcome.sessions += 1;
                outcome.failed += 1;
                work.missing.restart();
                tell(TransferNote::Failed(&parcel.session, &error));
            }
            Err(error) => return Err(error),
        }
    }
    target.store().sync()?;
    Ok(outcome)
}

struct Work<'a> {
    source: &'a dyn Snapshot,
    target: &'a Repo,
    options: &'a TransferOptions,
    operation: &'a Operation,
    missing: Missing<'a>,
}

impl Work<'_> {
    /// Moves one session. Where a collection took away what was relied on, it is done again.
    fn session(
        &mut self,
        parcel: &Parcel,
        outcome: &mut TransferOutcome,
        tell: Tell<'_>,
    ) -> Result<Landed> {
        check_parcel(parcel)?;
        for _ in 1..TRIES_MAX {
            match self.once(parcel, outcome, tell) {
                Err(Error::Dangling { .. }) => self.missing.restart(),
                done => return done,
            }
        }
        self.once(parcel, outcome, tell)
    }

    fn once(
        &mut self,
        parcel: &Parcel,
        outcome: &mut TransferOutcome,
        tell: Tell<'_>,
    ) -> Result<Landed> {
        let here = self.target.snapshot()?;
        let mut intake = Intake::of(self.target, self.options.dry_run)?;
        self.missing.add(&parcel.roots());
        let has = &mut |id: &Id| here.holds(id);
        while let Some(given) = self.missing.next(has)? {
            if self.missing.is_first(&given) {
                outcome.objects += 1;
                outcome.bytes += given.bytes();
            }
            intake.put(given)?;
            tell(TransferNote::Progress(outcome.objects, outcome.bytes));
        }
        outcome.shared += std::mem::take(&mut self.missing.met);
        intake.flush()?;
        let rules = Rules::new(self.options, self.operation);
        match self.options.dry_run {
            true => Ok(land::plan(&Both::of(&*here, self.source), parcel, &rules)?.1),
            false => land(self.target, parcel, &rules),
        }
    }
}

/// Says whether a failure is of what a session holds, so that another may well succeed.
pub(super) fn is_about_a_session(error: &Error) -> bool {
    !matches!(
        error,
        Error::Io { .. }
            | Error::LockTimeout { .. }
            | Error::OutcomeUnknown { .. }
            | Error::HandleDead { .. }
            | Error::ReadOnly { .. }
            | Error::NetworkFilesystem { .. }
            | Error::UnsupportedFormat { .. }
    )
}

/// Makes a name of where sessions come from that can stand behind a branch's: `main@laptop`.
pub fn source_name(text: &str) -> String {
    let sign = |sign: char| if sign.is_alphanumeric() || sign == '_' { sign } else { '-' };
    let name: String = text.chars().take(FROM_CHARACTERS_MAX).map(sign).collect();
    match name.trim_matches('-') {
        "" => "elsewhere".to_owned(),
        name => name.to_owned(),
    }
}
