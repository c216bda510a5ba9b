//! git: a blob and a commit for each message, through libgit2; for many, `git fast-import`.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use git2::{Commit, Oid, Repository, Signature, Sort, Time};

use crate::Result;
use crate::measure::note_peak_of;
use crate::peer::{Key, Mode, Peer, Visit, key_of, lines_of};

/// What the file in each commit is called.
const FILE: &str = "m";
/// Whether libgit2 syncs objects.
const SYNC: &str = "core.fsyncObjectFiles";
/// How long an id is.
const ID_BYTES: usize = 20;

struct Git {
    repository: Repository,
    /// The newest commit of each branch that this handle moved.
    ends: HashMap<String, Oid>,
}

/// Opens a bare repository.
pub fn open(dir: &Path, mode: Mode) -> Result<Box<dyn Peer>> {
    git2::opts::strict_object_creation(false);
    git2::opts::strict_hash_verification(false);
    let repository = match Repository::open_bare(dir) {
        Ok(repository) => repository,
        Err(_) => Repository::init_bare(dir)?,
    };
    repository.config()?.set_bool(SYNC, mode == Mode::Durable)?;
    Ok(Box::new(Git { repository, ends: HashMap::new() }))
}

fn full(branch: &str) -> String {
    format!("refs/heads/{branch}")
}

fn author() -> Result<Signature<'static>> {
    Ok(Signature::new("peers", "peers@example.org", &Time::new(1_760_000_000, 0))?)
}

impl Git {
    fn end(&self, branch: &str) -> Option<Oid> {
        let known = self.ends.get(branch).copied();
        known.or_else(|| self.repository.refname_to_id(&full(branch)).ok())
    }

    fn body(&self, commit: Oid) -> Result<Oid> {
        let tree = self.repository.find_commit(commit)?.tree()?;
        Ok(tree.get_name(FILE).ok_or("a commit has no message")?.id())
    }

    /// Begins a command of git's own, which has another name for what is to be synced.
    fn command(&self) -> Result<Command> {
        let mut config = self.repository.config()?;
        let sync = if config.get_bool(SYNC).unwrap_or(false) { "committed" } else { "none" };
        let _ = config.remove(SYNC);
        let mut command = Command::new("git");
        command.arg("-C").arg(self.repository.path()).args(["-c", &format!("core.fsync={sync}")]);
        Ok(command)
    }

    /// Runs `git fast-import` on what is written.
    fn fast_import(
        &mut self,
        write: impl FnOnce(&Git, &mut dyn Write) -> Result<()>,
    ) -> Result<()> {
        let mut import = self
            .command()?
            .args(["fast-import", "--quiet", "--force"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()?;
        let input = import.stdin.take().expect("it was asked for");
        let mut out = BufWriter::with_capacity(1 << 18, input);
        write(self, &mut out)?;
        out.flush()?;
        note_peak_of(import.id());
        drop(out);
        self.ends.clear();
        finished(import.wait()?, "git fast-import")
    }

    fn stream(
        &self,
        out: &mut dyn Write,
        branch: &str,
        bodies: &mut dyn Iterator<Item = String>,
    ) -> Result<()> {
        let mut from = self.end(branch);
        for body in bodies {
            write!(
                out,
                "commit {}\ncommitter peers <peers@example.org> 1760000000 +0000\ndata 0\n\n",
                full(branch)
            )?;
            if let Some(from) = from.take() {
                writeln!(out, "from {from}")?;
            }
            writeln!(out, "M 644 inline {FILE}\ndata {}\n{body}\n", body.len())?;
        }
        Ok(())
    }
}

impl Peer for Git {
    fn append(&mut self, branch: &str, body: &str) -> Result<()> {
        let repository = &self.repository;
        let parent = self.end(branch).map(|id| repository.find_commit(id)).transpose()?;
        let parents: Vec<&Commit<'_>> = parent.iter().collect();
        let mut tree = repository.treebuilder(None)?;
        tree.insert(FILE, repository.blob(body.as_bytes())?, 0o100_644)?;
        let tree = repository.find_tree(tree.write()?)?;
        let author = author()?;
        let name = full(branch);
        let id = repository.commit(Some(&name), &author, &author, "", &tree, &parents)?;
        self.ends.insert(branch.to_owned(), id);
        Ok(())
    }

    fn fill(&mut self, branch: &str, bodies: &mut dyn Iterator<Item = String>) -> Result<()> {
        self.fast_import(|git, out| git.stream(out, branch, bodies))
    }

    fn fork(&mut self, branch: &str, name: &str) -> Result<()> {
        let end = self.end(branch).ok_or("there is no such branch")?;
        self.repository.reference(&full(name), end, false, "fork")?;
        Ok(())
    }

    fn switch(&mut self, session: &str, to_other: bool) -> Result<()> {
        let name = if to_other { format!("{session}-other") } else { session.to_owned() };
        Ok(self.repository.set_head(&full(&name))?)
    }

    fn branches(&mut self) -> Result<usize> {
        let mut names = Vec::new();
        for reference in self.repository.references_glob("refs/heads/*")? {
            let reference = reference?;
            names.push((reference.name_bytes().to_vec(), reference.target()));
        }
        Ok(names.len())
    }

    fn path(&mut self, branch: &str) -> Result<Vec<Key>> {
        let mut walk = self.repository.revwalk()?;
        walk.simplify_first_parent()?;
        walk.set_sorting(Sort::TOPOLOGICAL)?;
        walk.push(self.end(branch).ok_or("there is no such branch")?)?;
        let mut keys = Vec::new();
        for id in walk {
            keys.push(key_of(id?.as_bytes()));
        }
        Ok(keys)
    }

    fn walk(&mut self, branch: &str, visit: Visit<'_>) -> Result<()> {
        let mut next = self.end(branch);
        while let Some(id) = next {
            let blob = self.repository.find_blob(self.body(id)?)?;
            if !visit(blob.content())? {
                break;
            }
            next = self.repository.find_commit(id)?.parent_ids().next();
        }
        Ok(())
    }

    fn get(&mut self, _: &str, key: &Key) -> Result<usize> {
        let id = Oid::from_bytes(&key[..ID_BYTES])?;
        let blob = self.repository.find_blob(self.body(id)?)?;
        Ok(blob.content().to_vec().len())
    }

    fn maintain(&mut self) -> Result<()> {
        let mut gc = self.command()?.args(["gc", "--quiet", "--prune=now"]).spawn()?;
        while gc.try_wait()?.is_none() {
            note_peak_of(gc.id());
            std::thread::sleep(Duration::from_millis(5));
        }
        finished(gc.wait()?, "git gc")
    }

    /// What was relaxed came by `git fast-import`, and is in packs.
    fn sync(&mut self) -> Result<()> {
        for entry in std::fs::read_dir(self.repository.path().join("objects/pack"))? {
            File::open(entry?.path())?.sync_all()?;
        }
        Ok(())
    }

    fn import(&mut self, files: &[PathBuf]) -> Result<()> {
        self.fast_import(|git, out| {
            for file in files {
                let (name, mut lines) = lines_of(file)?;
                git.stream(out, &name, &mut lines)?;
            }
            Ok(())
        })
    }
}

fn finished(status: ExitStatus, what: &str) -> Result<()> {
    match status.success() {
        true => Ok(()),
        false => Err(format!("{what} ended with {status}").into()),
    }
}
