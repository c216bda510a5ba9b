//! The workloads, one file each: `run` compares, `work` does what is measured, in a process of its
//! own.

mod append;
mod commands;
mod context;
mod crowd;
mod fork;
mod get;
mod grep;
mod import;
mod maintain;
mod memory;
mod open;
mod pipe;
mod walk;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Result;
use crate::measure::{Round, Section, Unit};
use crate::options::Options;
use crate::peer::{Kind, Mode};
use crate::sample;

/// A workload.
pub struct Workload {
    /// Its name for `--only`.
    pub name: &'static str,
    /// Compares the contestants.
    pub run: fn(&Options) -> Result<Vec<Section>>,
    /// Does what is measured.
    work: fn(&Job<'_>) -> Result<Round>,
}

/// All of them. What takes the worlds apart comes last.
pub const ALL: &[Workload] = &[
    Workload { name: "pipe", run: pipe::run, work: pipe::work },
    Workload { name: "append", run: append::run, work: append::work },
    Workload { name: "crowd", run: crowd::run, work: crowd::work },
    Workload { name: "import", run: import::run, work: import::work },
    Workload { name: "grep", run: grep::run, work: grep::work },
    Workload { name: "walk", run: walk::run, work: walk::work },
    Workload { name: "context", run: context::run, work: context::work },
    Workload { name: "get", run: get::run, work: get::work },
    Workload { name: "fork", run: fork::run, work: fork::work },
    Workload { name: "memory", run: memory::run, work: memory::work },
    Workload { name: "open", run: open::run, work: open::work },
    Workload { name: "commands", run: commands::run, work: commands::work },
    Workload { name: "maintain", run: maintain::run, work: maintain::work },
];

/// How long a message of a world is.
pub const MESSAGE_BYTES: usize = 700;
/// The size of world for which there are bars.
pub const JUDGED: usize = 100_000;
/// The branch of a world.
pub const BRANCH: &str = "main";

/// What a process is to do.
pub struct Job<'a> {
    /// With whom.
    pub kind: &'static Kind,
    /// When something counts as committed.
    pub mode: Mode,
    /// Where.
    pub dir: &'a Path,
    words: &'a [String],
}

impl Job<'_> {
    /// Gives a word of the job.
    pub fn word(&self, place: usize) -> &str {
        self.words.get(place).map_or("", String::as_str)
    }

    /// Gives a number of the job.
    pub fn number(&self, place: usize) -> Result<usize> {
        Ok(self.word(place).parse()?)
    }
}

/// Does a job, in this process, and prints what it took.
pub fn work(arguments: &[String]) -> Result<()> {
    let [name, kind, mode, dir, words @ ..] = arguments else {
        return Err("usage: peers work WORKLOAD KIND MODE DIR ...".into());
    };
    let workload = ALL.iter().find(|workload| workload.name == name);
    let workload = workload.ok_or_else(|| format!("there is no workload '{name}'"))?;
    let job = Job { kind: Kind::named(kind)?, mode: Mode::named(mode), dir: Path::new(dir), words };
    println!("{}", (workload.work)(&job)?.line());
    Ok(())
}

/// Does a job in another process.
pub fn employ(
    workload: &str,
    kind: &Kind,
    mode: Mode,
    dir: &Path,
    words: &[&str],
) -> Result<Round> {
    let output = Command::new(std::env::current_exe()?)
        .args(["work", workload, kind.name, mode.name()])
        .arg(dir)
        .args(words)
        .stderr(Stdio::inherit())
        .output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    let round = said.lines().find_map(Round::parse).filter(|_| output.status.success());
    round
        .ok_or_else(|| format!("{workload} with {} ended with {}", kind.name, output.status).into())
}

/// Begins a section of kinds, in which each does the same.
pub fn contest(title: impl Into<String>, unit: Unit, kinds: &[&Kind], mode: Mode) -> Section {
    let names: Vec<&str> = kinds.iter().map(|kind| kind.label(mode)).collect();
    Section { is_contest: true, ..Section::new(title, unit, &names) }
}

/// Gives the sizes of worlds.
pub fn sizes(options: &Options) -> [usize; 4] {
    match options.quick {
        true => [10, 1_000, 10_000, JUDGED],
        false => [10, 1_000, JUDGED, 1_000_000],
    }
}

/// Gives where a kind keeps a branch of so many messages, made where it is not there yet.
pub fn world(options: &Options, kind: &Kind, size: usize) -> Result<PathBuf> {
    let dir = options.dir.join(format!("world-{size}")).join(kind.name);
    if !dir.exists() {
        std::fs::create_dir_all(&dir)?;
        employ("open", kind, Mode::Relaxed, &dir, &["build", &size.to_string()])?;
    }
    Ok(dir.canonicalize()?)
}

/// Makes a branch of so many messages.
fn build(job: &Job<'_>, size: usize) -> Result<()> {
    let mut peer = job.kind.open(job.dir, job.mode)?;
    let mut bodies = (0..size).map(|number| sample::message(0, number, MESSAGE_BYTES));
    peer.fill(BRANCH, &mut bodies)?;
    peer.settle()
}

/// Gives how many bytes a file or all files below a directory have.
pub fn bytes_of(path: &Path) -> Result<u64> {
    let metadata = std::fs::symlink_metadata(path)?;
    if !metadata.is_dir() {
        return Ok(metadata.len());
    }
    let mut bytes = 0;
    for entry in std::fs::read_dir(path)? {
        bytes += bytes_of(&entry?.path())?;
    }
    Ok(bytes)
}
