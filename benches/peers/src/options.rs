//! What the command line says, and where things are.

use std::path::{Path, PathBuf};

use crate::{Result, programs};

const USAGE: &str = "usage: peers [--quick] [--folder DIR] [--rounds N] [--only WORKLOAD]... \
                     [--sapwood PATH] [--dir DIR] [--out DIR]";

/// How to measure.
#[derive(Debug)]
pub struct Options {
    /// Small sizes: every row in three minutes.
    pub quick: bool,
    /// Sessions of the user's own, to import and search.
    pub folder: Option<PathBuf>,
    /// How often everything is repeated.
    pub rounds: usize,
    /// The command line program to measure.
    pub sapwood: PathBuf,
    /// The program that searches raw files, if it can be had.
    pub ripgrep: Option<PathBuf>,
    /// Where stores and databases are made; all on this file system.
    pub dir: PathBuf,
    /// Where the page and the raw numbers go.
    pub out: Option<PathBuf>,
    only: Vec<String>,
}

impl Options {
    /// Reads the arguments, and builds the programs to measure where none is named or installed.
    pub fn parse(arguments: Vec<String>) -> Result<Options> {
        let (mut quick, mut rounds, mut only) = (false, None, Vec::new());
        let (mut folder, mut sapwood, mut dir, mut out) = (None, None, None, None);
        let mut rest = arguments.into_iter();
        while let Some(flag) = rest.next() {
            let mut value = || rest.next().ok_or(USAGE);
            match flag.as_str() {
                "--quick" => quick = true,
                "--folder" => folder = Some(PathBuf::from(value()?).canonicalize()?),
                "--rounds" => rounds = Some(value()?.parse::<usize>()?.max(1)),
                "--only" => only.push(value()?),
                "--sapwood" => sapwood = Some(PathBuf::from(value()?)),
                "--dir" => dir = Some(PathBuf::from(value()?)),
                "--out" => out = Some(PathBuf::from(value()?)),
                _ => return Err(USAGE.into()),
            }
        }
        let everything = only.is_empty();
        let searches = everything || only.iter().any(|name| name == "grep");
        Ok(Options {
            quick,
            folder,
            rounds: rounds.unwrap_or(if quick { 3 } else { 5 }),
            sapwood: sapwood.map_or_else(programs::build_sapwood, Ok)?,
            ripgrep: if searches { programs::find_ripgrep() } else { None },
            dir: dir.unwrap_or_else(|| PathBuf::from("target/peers")),
            out: out.or_else(|| everything.then(|| project().join("docs"))),
            only,
        })
    }

    /// Says whether a workload is asked for.
    pub fn wants(&self, workload: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == workload)
    }

    /// Takes the full number, or the one for a quick look.
    pub fn count(&self, full: usize, quick: usize) -> usize {
        if self.quick { quick } else { full }
    }

    /// Gives how often something is repeated that takes milliseconds, and needs a copy each time.
    pub fn more_rounds(&self) -> usize {
        self.rounds + 2
    }

    /// Gives how often something is repeated that takes milliseconds: what disturbs it is a larger
    /// part of it.
    pub fn short_rounds(&self) -> usize {
        3 * self.rounds
    }

    /// Makes an empty directory for one contestant.
    ///
    /// What was there before is emptied and put aside: some file systems make new files slowly for
    /// minutes after many were removed.
    pub fn fresh(&self, name: &str) -> Result<PathBuf> {
        let path = self.dir.join(name);
        if path.exists() {
            empty_files(&path)?;
            let place = std::fs::read_dir(&self.dir)?.count();
            std::fs::rename(&path, self.dir.join(format!("aside-{place}")))?;
        }
        std::fs::create_dir_all(&path)?;
        Ok(path.canonicalize()?)
    }
}

/// Frees what the files below a directory take.
fn empty_files(dir: &Path) -> Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        match path.is_dir() {
            true => empty_files(&path)?,
            // What may not be written to stays as it is.
            false => drop(std::fs::File::create(&path)),
        }
    }
    Ok(())
}

/// Gives the root of the project.
pub fn project() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("it lies two levels below the root")
}
