//! Searching everything that was ever said.

use std::process::{Command, Stdio};

use crate::Result;
use crate::measure::{Round, Section, Unit, peak_of, timed};
use crate::options::Options;
use crate::peer::{Kind, Mode, branch_of};
use crate::workload::import::{files_below, generated, kept};
use crate::workload::{Job, employ};

/// What is looked for: it stands in few messages.
const TEXT: &str = "module_17.rs";

const NAMES: [&str; 6] = [
    "sapwood",
    "SQLite, instr",
    "SQLite, zstd bodies",
    "LMDB, walked",
    "ripgrep, one line a message",
    "grep -r",
];

/// Measures what was imported last.
pub fn run(options: &Options) -> Result<Vec<Section>> {
    let dir = generated(options)?;
    let folder = dir.to_string_lossy().into_owned();
    for kind in ["sapwood", "sqlite", "sqlite-zstd", "lmdb"].map(Kind::named) {
        let kind = kind?;
        if !kept(options, kind).exists() {
            let store = options.fresh(&format!("import-{}", kind.name))?;
            employ("import", kind, Mode::Relaxed, &store, &[&folder])?;
        }
    }
    let has_ripgrep = options.ripgrep.is_some();
    let names: Vec<&str> =
        NAMES.into_iter().filter(|name| !name.starts_with("ripgrep") || has_ripgrep).collect();
    let mut section = Section {
        is_contest: true,
        ..Section::new("Grep over everything", Unit::Time("run"), &names)
    };
    section.about = format!(
        "'{TEXT}' in the generated sessions, files in the page cache. sapwood is the command \
         `grep` in all sessions of a packed store, each message once, whatever sessions share it; \
         ripgrep and grep read the raw files, the others their own. Programs are timed with their \
         start; the others have opened what they search."
    );
    if !has_ripgrep {
        let note = "ripgrep is not installed and could not be built: its row is missing.";
        section.notes.push(note.to_owned());
    }
    section.interleave(options.short_rounds(), &mut |contestant, _| match names[contestant] {
        "sapwood" => {
            let mut command = Command::new(&options.sapwood);
            command.arg("--store").arg(kept(options, Kind::named("sapwood")?));
            command.args(["grep", "--all-sessions", "-F", TEXT]);
            run_tool(&mut command)
        }
        "SQLite, instr" => search(options, "sqlite", &folder),
        "SQLite, zstd bodies" => search(options, "sqlite-zstd", &folder),
        "LMDB, walked" => search(options, "lmdb", &folder),
        "grep -r" => run_tool(Command::new("grep").args(["-rc", TEXT]).arg(&dir)),
        _ => {
            let program = options.ripgrep.as_ref().expect("its name is among the names");
            run_tool(Command::new(program).args(["-c", "--no-heading", TEXT]).arg(&dir))
        }
    })?;
    Ok(vec![section])
}

/// Does what is measured: searches a store.
pub fn work(job: &Job<'_>) -> Result<Round> {
    let files = files_below(std::path::Path::new(job.word(0)))?;
    let branches: Vec<String> = files.iter().map(|file| branch_of(file)).collect();
    let mut peer = job.kind.open(job.dir, job.mode)?;
    Round::of_work(1, || Ok(usize::from(peer.grep(&branches, TEXT)? > 0)))
}

fn search(options: &Options, kind: &str, folder: &str) -> Result<Round> {
    let kind = Kind::named(kind)?;
    employ("grep", kind, Mode::Relaxed, &kept(options, kind), &[folder])
}

/// Runs a program that finds something, and gives its time and its memory.
fn run_tool(command: &mut Command) -> Result<Round> {
    let (elapsed, status) = timed(|| Ok(command.stdout(Stdio::null()).status()?))?;
    match status.success() {
        true => Ok(Round { peak: peak_of(command)?, ..Round::mean(elapsed, 1.0) }),
        false => Err(format!("{command:?} ended with {status}").into()),
    }
}
