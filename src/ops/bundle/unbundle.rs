//! Taking a bundle in: objects as they come, and at the end all refs of each session together.

use std::io::Read;
use std::path::Path;

use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::object::NewObject;
use crate::ops::bundle::check_prerequisites;
use crate::ops::bundle::frame::FrameReader;
use crate::ops::bundle::head::BundleHead;
use crate::ops::bundle::mark::{Mark, Marks};
use crate::ops::bundle::objects::{Sink, SoFar, read_id, read_objects};
use crate::ops::transfer::{
    Intake, Landed, Parcel, Rules, SessionChange, Tell, TransferNote, TransferOptions,
    TransferOutcome, is_about_a_session, land,
};
use crate::repo::Repo;
use crate::store::{Operation, RefName, Snapshot};

/// After how many bytes of content it is noted how far a bundle was taken in.
const MARK_BYTES: u64 = 8 << 20;

/// How a bundle is taken in.
#[derive(Clone, Debug, Default)]
pub struct UnbundleOptions {
    /// How its sessions land.
    pub transfer: TransferOptions,
    /// The ids of the sessions to take, or how they begin; none takes all.
    pub sessions: Vec<String>,
}

/// Takes in a bundle.
///
/// Cut off, it leaves objects that nothing points to, and a mark from which the next one goes on.
pub fn unbundle(
    repo: &Repo,
    source: &mut dyn Read,
    name: &Path,
    options: &UnbundleOptions,
    marks: &mut dyn Marks,
    operation: &Operation,
    tell: Tell<'_>,
) -> Result<TransferOutcome> {
    let mut frames = FrameReader::begin(source, name)?;
    let (head, first) = BundleHead::read(&mut frames)?;
    let here = repo.snapshot()?;
    check_prerequisites(&head, &*here)?;
    let parcels = wanted(&head, &options.sessions)?;
    let bundle = Id::from_bytes(frames.chain).to_string();
    let is_dry = options.transfer.dry_run;
    let before = if is_dry { None } else { marks.load(&bundle) };
    let before = before.filter(|mark| mark.bundle == bundle).map(|mark| mark.so_far);
    let mut intake = Intake::of(repo, is_dry)?;
    intake.is_lenient = options.transfer.keep_going;
    let (shared, shared_bytes) = (0, 0);
    let mut taking = Taking {
        repo,
        here: &*here,
        intake,
        bundle,
        marks,
        marked: 0,
        is_dry,
        tell,
        shared,
        shared_bytes,
    };
    let read = read_objects(&mut frames, first, before.as_ref(), &mut taking);
    let kept = taking.intake.flush();
    let is_stale = |error: &Error| matches!(error, Error::Refused { .. } | Error::Dangling { .. });
    if before.is_some()
        && (read.as_ref().is_err_and(is_stale) || kept.as_ref().is_err_and(is_stale))
    {
        taking.marks.forget(&taking.bundle);
    }
    let so_far = read?;
    kept?;
    let skipped = before.unwrap_or_default();
    let outcome = TransferOutcome {
        objects: so_far.objects - skipped.objects - taking.shared,
        bytes: so_far.content_bytes - skipped.content_bytes - taking.shared_bytes,
        shared: skipped.objects + taking.shared,
        ..TransferOutcome::default()
    };
    let (bundle, refused) = (taking.bundle.clone(), std::mem::take(&mut taking.intake.refused));
    let landed = match is_dry {
        true => look(&*here, &parcels, outcome, tell),
        false => land_all(repo, &parcels, options, operation, refused, outcome, tell),
    };
    if !is_dry && (landed.is_ok() || before.is_some()) {
        // After a failure, what the mark spoke of may be gone: the next time all is read.
        marks.forget(&bundle);
    }
    landed
}

/// Chooses sessions by the begin of their ids.
fn wanted<'a>(head: &'a BundleHead, words: &[String]) -> Result<Vec<&'a Parcel>> {
    let mut parcels: Vec<&Parcel> = Vec::new();
    for word in words {
        let exact = head.parcels.iter().filter(|parcel| parcel.session == *word);
        let begin = head.parcels.iter().filter(|parcel| parcel.session.starts_with(word.as_str()));
        let mut found: Vec<&Parcel> = exact.collect();
        if found.is_empty() {
            found = begin.collect();
        }
        match found.as_slice() {
            [one] if parcels.contains(one) => {}
            [one] => parcels.push(one),
            [] => {
                return Err(Error::RevisionUnknown {
                    revision: word.clone(),
                    why: "the bundle has no session with this id".to_owned(),
                });
            }
            several => {
                return Err(Error::AmbiguousSession {
                    name: word.clone(),
                    count: several.len(),
                    how: "begin with it",
                    candidates: several.iter().map(|one| one.session.clone()).collect(),
                });
            }
        }
    }
    Ok(if words.is_empty() { head.parcels.iter().collect() } else { parcels })
}

/// Lets all sessions land, one transaction each.
fn land_all(
    repo: &Repo,
    parcels: &[&Parcel],
    options: &UnbundleOptions,
    operation: &Operation,
    refused: Vec<Error>,
    mut outcome: TransferOutcome,
    tell: Tell<'_>,
) -> Result<TransferOutcome> {
    let rules = Rules::new(&options.transfer, operation);
    for parcel in parcels {
        match land(repo, parcel, &rules) {
            Ok(landed) => {
                outcome.count(&landed);
                tell(TransferNote::Session(&landed));
            }
            Err(error) if options.transfer.keep_going && is_about_a_session(&error) => {
                outcome.sessions += 1;
                outcome.failed += 1;
                // What it lacks was refused before, and that is the reason.
                let is_lack = matches!(error, Error::Dangling { .. } | Error::ObjectMissing { .. });
                let reason = refused.first().filter(|_| is_lack).unwrap_or(&error);
                tell(TransferNote::Failed(&parcel.session, reason));
            }
            Err(error) => return Err(error),
        }
    }
    repo.store().sync()?;
    Ok(outcome)
}

/// Says what sessions are here already, and writes nothing.
fn look(
    here: &dyn Snapshot,
    parcels: &[&Parcel],
    mut outcome: TransferOutcome,
    tell: Tell<'_>,
) -> Result<TransferOutcome> {
    for parcel in parcels {
        let mut change = SessionChange::Unchanged;
        for (rest, value) in &parcel.refs {
            if here.reference(&RefName::of_session(&parcel.session, rest)?)?.as_ref() != Some(value)
            {
                change = SessionChange::Refs;
            }
        }
        if here.reference(&RefName::of_session(&parcel.session, "meta")?)?.is_none() {
            change = SessionChange::New;
        }
        let landed = Landed { session: parcel.session.clone(), change, refs: Vec::new() };
        outcome.count(&landed);
        tell(TransferNote::Session(&landed));
    }
    Ok(outcome)
}

/// Objects on their way from a bundle into a store.
struct Taking<'a, 'm, 't> {
    repo: &'a Repo,
    here: &'a dyn Snapshot,
    intake: Intake<'a>,
    bundle: String,
    marks: &'m mut dyn Marks,
    /// How many bytes of content had come when the last mark was set.
    marked: u64,
    is_dry: bool,
    tell: Tell<'t>,
    /// How many objects the store had, and how many bytes of content they have.
    shared: u64,
    shared_bytes: u64,
}

impl Sink for Taking<'_, '_, '_> {
    fn object(&mut self, object: NewObject) -> Result<()> {
        if self.here.holds(&object.id())? {
            self.shared += 1;
            self.shared_bytes += object.content().len() as u64;
            return Ok(());
        }
        self.intake.put_object(object)
    }

    fn large(&mut self, kind: Kind, bytes: u64, content: &mut dyn Read) -> Result<()> {
        if self.is_dry {
            let id = read_id(kind, bytes, content)?;
            let is_here = self.here.holds(&id)?;
            self.shared += u64::from(is_here);
            self.shared_bytes += if is_here { bytes } else { 0 };
            return if is_here { Ok(()) } else { self.intake.look(&id, kind) };
        }
        match self.intake.put_large(kind, bytes, content) {
            Err(error) if self.intake.is_lenient && is_about_a_session(&error) => {
                self.intake.refused.push(error);
                let read = std::io::copy(content, &mut std::io::sink());
                read.map(drop).map_err(Error::io("read", "a large object"))
            }
            put => put.map(drop),
        }
    }

    fn reached(&mut self, so_far: &SoFar) -> Result<()> {
        (self.tell)(TransferNote::Progress(so_far.objects, so_far.content_bytes));
        if self.is_dry || so_far.content_bytes - self.marked < MARK_BYTES {
            return Ok(());
        }
        self.intake.flush()?;
        // A lenient intake may have left something out, which must be met again.
        if self.intake.refused.is_empty() {
            self.repo.store().sync()?;
            self.marks.keep(&Mark { bundle: self.bundle.clone(), so_far: *so_far });
        }
        self.marked = so_far.content_bytes;
        Ok(())
    }
}
