//! Taking over folders of session files: the time, the size on disk, and the maintenance.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::Result;
use crate::measure::{Bar, Round, Section, Unit, timed};
use crate::options::Options;
use crate::peer::{self, Kind, Mode};
use crate::sample;
use crate::workload::{Job, bytes_of, contest, employ};

/// How far back zstd looks where it packs the whole folder: 128 MiB.
const WINDOW_LOG: u32 = 27;
const MB: f64 = 1e6;

/// Measures the generated sessions, and those of the user where a folder is named.
pub fn run(options: &Options) -> Result<Vec<Section>> {
    let mut sections = Vec::new();
    if let Some(dir) = &options.folder {
        sections.extend(folder(options, dir, "the user's sessions")?);
    }
    // These last: what they leave is searched.
    sections.extend(folder(options, &generated(options)?, "generated sessions")?);
    Ok(sections)
}

/// Does what is measured: the import.
pub fn work(job: &Job<'_>) -> Result<Round> {
    let files = files_below(Path::new(job.word(0)))?;
    let mut bytes = 0;
    for file in &files {
        bytes += bytes_of(file)?;
    }
    let mut peer = job.kind.open(job.dir, job.mode)?;
    let (elapsed, ()) = timed(|| {
        peer.import(&files)?;
        peer.sync()
    })?;
    Ok(Round::mean(elapsed, bytes as f64 / MB))
}

/// Gives where a kind keeps what the last round imported.
pub fn kept(options: &Options, kind: &Kind) -> PathBuf {
    options.dir.join(format!("import-{}", kind.name))
}

/// Gives the folder of generated sessions, made where it is not there yet.
pub fn generated(options: &Options) -> Result<PathBuf> {
    let dir = options.dir.join("sessions");
    if !dir.exists() {
        std::fs::create_dir_all(&dir)?;
        sample::sessions(&dir, options.count(200_000_000, 12_000_000) as u64)?;
    }
    Ok(dir.canonicalize()?)
}

/// Lists the session files below a folder, in order.
pub fn files_below(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        match path.is_dir() {
            true => files.append(&mut files_below(&path)?),
            false if path.extension().is_some_and(|end| end == "jsonl") => files.push(path),
            false => {}
        }
    }
    files.sort();
    Ok(files)
}

fn folder(options: &Options, dir: &Path, what: &str) -> Result<Vec<Section>> {
    let mut kinds: Vec<&Kind> = peer::usual().collect();
    let source = bytes_of(dir)? as f64;
    let mode = Mode::Relaxed;
    let mut import = contest(format!("Bulk import of {what}"), Unit::Time("MB"), &kinds, mode);
    let mut before = contest(format!("Size of {what} as imported"), Unit::Bytes, &kinds, mode);
    let mut care = contest(format!("Maintenance of {what}"), Unit::Time("run"), &kinds, mode);
    let mut after = contest(format!("Size of {what} after it"), Unit::Bytes, &kinds, mode);
    let contestants = kinds.len();
    let aggressive = Kind::named("sapwood-aggressive")?;
    kinds.push(aggressive);
    for section in [&mut before, &mut care, &mut after] {
        section.beside(aggressive.label(mode));
    }
    let folder = dir.to_string_lossy().into_owned();
    let mut run = |contestant: usize, _: usize| {
        let kind: &Kind = kinds[contestant];
        let store = options.fresh(&format!("import-{}", kind.name))?;
        let round = employ("import", kind, mode, &store, &[&folder])?;
        before.rows[contestant].rounds.push(Round::value(bytes_of(&store)? as f64));
        care.rows[contestant].rounds.push(employ("maintain", kind, mode, &store, &[])?);
        after.rows[contestant].rounds.push(Round::value(bytes_of(&store)? as f64));
        Ok(round)
    };
    import.interleave(options.rounds, &mut run)?;
    // Its maintenance takes as long as all the rest.
    import.beside(aggressive.label(mode));
    import.rows[contestants].rounds.push(run(contestants, 0)?);
    let limit = zstd_bytes(dir)? as f64;
    after.notes.push(format!(
        "The limit: all files in one zstd frame, level 3 with a long window: {:.1} MB.",
        limit / MB
    ));
    import.about = format!(
        "{:.1} MB of session files, on disk at the end: what was relaxed is synced once. git is \
         `git fast-import`; the others take the lines as they are, a transaction a file. sapwood \
         recognises the dialect, parses each line, finds its parent by its id, and keeps what has \
         been there before once.",
        source / MB
    );
    before.about = "All files of the store.".to_owned();
    care.about = "`gc`, VACUUM, compactions, `git gc`; of JSONL files there is none.".to_owned();
    let idle = Kind::named("jsonl")?.label(mode);
    care.rows.retain(|row| row.name != idle);
    after.about = before.about.clone();
    judge(&mut import, &mut care, &mut after);
    Ok(vec![import, before, care, after])
}

fn judge(import: &mut Section, care: &mut Section, after: &mut Section) {
    import.demand_at_most(0, "100 MB/s: milliseconds a MB", 1e6, 10.0, Some(1e3 / 300.0));
    after.demand("smaller than git gc", "git", 0.75, Some(0.55));
    for (section, what) in [(import, "importing"), (care, "packing")] {
        let found = section.rows[0].peak().unwrap_or(f64::NAN) / MB;
        let text = format!("memory while {what}: MB");
        section.bars.push(Bar { text, found, limit: 256.0, goal: Some(64.0) });
    }
}

/// Gives how many bytes a folder takes as one zstd frame.
fn zstd_bytes(dir: &Path) -> Result<u64> {
    let mut encoder = zstd::Encoder::new(Count(0), 3)?;
    encoder.long_distance_matching(true)?;
    encoder.window_log(WINDOW_LOG)?;
    for file in files_below(dir)? {
        encoder.write_all(&std::fs::read(file)?)?;
    }
    Ok(encoder.finish()?.0)
}

/// Counts what is written.
struct Count(u64);

impl std::io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
