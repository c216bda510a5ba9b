//! What a folder of session files would become in a store.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::disk::{OsDisk, Scratch};
use crate::error::{Error, Result};
use crate::id::Id;
use crate::ops::imported;
use crate::ops::{Found, ImportChange, ImportNote, ImportOptions, Imported, import};
use crate::repo::Repo;
use crate::session::View;
use crate::store::local::{LocalStore, Options};
use crate::store::{Operation, Snapshot};

use super::ledger::Ledger;
use super::waste::{self, SurveyedFile, Waste};

/// What to look at.
#[derive(Clone, Debug, Default)]
pub struct SurveyOptions {
    /// The dialect of all files; else each is recognised by its content.
    pub dialect: Option<String>,
    /// The directory in which the scratch store is made, and removed at the end.
    pub scratch: PathBuf,
}

/// What files would become in a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Files that are sessions.
    pub files: u64,
    /// Files that are none.
    pub unknown: u64,
    /// Files that could not be read.
    pub failed: u64,
    /// The bytes of the sessions' files.
    pub bytes: u64,
    /// Their lines, or messages of documents.
    pub lines: u64,
    /// Those that are different, or hang elsewhere.
    pub lines_unique: u64,
    /// Strings of 1 KiB and more.
    pub strings: u64,
    /// Those that are different.
    pub strings_unique: u64,
    /// Images in base64, of 1 KiB and more.
    pub images: u64,
    /// Their bytes, in base64.
    pub image_bytes: u64,
    /// Those that are different.
    pub images_unique: u64,
    /// What the store would take on disk.
    pub stored_bytes: u64,
    /// Why the files are longer than what is in them, the largest causes first.
    pub waste: Vec<Waste>,
}

/// Imports files into a store that is thrown away, and says what it was.
///
/// Nothing else is written. A process that is killed leaves the scratch store; the next survey with
/// the same scratch directory removes it. `progress` is told how many bytes of how many are read.
pub fn survey(
    found: Found,
    options: &SurveyOptions,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Survey> {
    let scratch = Scratch::below(&options.scratch)
        .map_err(Error::io("make a scratch directory in", &options.scratch))?;
    let path = scratch.path().join("store");
    let (store, _) = LocalStore::init(Arc::new(OsDisk), &path, Options::default())?;
    let store = Arc::new(store);
    let repo = Repo::on(Arc::clone(&store) as _);
    let (mut survey, files) = take_in(&repo, found, options, progress)?;
    survey.look(&*repo.snapshot()?, files)?;
    store.repack()?;
    survey.stored_bytes = store.bytes()?;
    Ok(survey)
}

/// Imports the files, and lists those that are sessions.
fn take_in(
    repo: &Repo,
    found: Found,
    options: &SurveyOptions,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(Survey, Vec<Imported>)> {
    let import_options = ImportOptions {
        dialect: options.dialect.clone(),
        keep_going: true,
        ..ImportOptions::default()
    };
    let operation = Operation { time: 0, actor: String::new(), command: "survey".to_owned() };
    let lengths: HashMap<PathBuf, u64> =
        found.files.iter().map(|file| (file.path.clone(), file.bytes)).collect();
    let mut files = Vec::new();
    let outcome = import(repo, found, None, &import_options, &operation, &mut |note| match note {
        ImportNote::Progress(done, total) => progress(done, total),
        ImportNote::Session(file) if file.change != ImportChange::Linked => {
            let length = file.source.as_ref().and_then(|path| lengths.get(path));
            files.push(Imported { bytes: length.copied().unwrap_or(file.bytes), ..file.clone() });
        }
        _ => {}
    })?;
    let survey = Survey {
        files: files.len() as u64,
        unknown: outcome.unknown,
        failed: outcome.failed,
        bytes: files.iter().map(|file| file.bytes).sum(),
        ..Survey::default()
    };
    Ok((survey, files))
}

impl Survey {
    /// Counts what the files have, and finds what they have more than once.
    fn look(&mut self, snapshot: &dyn Snapshot, files: Vec<Imported>) -> Result<()> {
        let mut ledger = Ledger::default();
        let mut surveyed = Vec::with_capacity(files.len());
        let mut again = waste::Again::default();
        for (number, file) in (0..).zip(files) {
            let entries = match &file.session {
                Some(session) => entries(snapshot, session)?,
                None => Vec::new(),
            };
            ledger.add(snapshot, &entries, number)?;
            for line in entries.iter().filter_map(|id| ledger.line(id)) {
                self.lines += 1;
                self.strings += u64::from(line.strings);
                self.images += u64::from(line.images);
                self.image_bytes += line.image_bytes;
            }
            again.add(number, &entries, &ledger);
            let path = file.source.as_deref().unwrap_or(Path::new("-")).to_owned();
            surveyed.push(SurveyedFile::new(path, file.bytes, &entries));
        }
        self.lines_unique = ledger.lines();
        self.strings_unique = ledger.texts().count() as u64;
        self.images_unique = ledger.texts().filter(|(_, text)| text.is_image).count() as u64;
        self.waste = waste::largest(snapshot, &surveyed, again, &ledger)?;
        Ok(())
    }
}

/// Lists what a session has of its file, in the file's order.
fn entries(snapshot: &dyn Snapshot, session: &str) -> Result<Vec<Id>> {
    let mut entries = Vec::new();
    for stretch in imported::stretches(&View::of(snapshot, session)?)? {
        entries.extend(stretch.entries(snapshot)?);
    }
    Ok(entries)
}
