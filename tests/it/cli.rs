//! The command line, as the binary that people run: hermetic, one temporary directory each.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic")]

mod append;
mod append_one;
mod ask;
mod branching;
mod config;
mod context;
mod find;
mod fix;
mod gc;
mod history;
mod loose;
mod maintenance;
mod memory;
mod objects;
mod pop;
mod reading;
mod refs;
mod sessions;
mod surface;
mod transfer;
mod upkeep;
mod vary;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A directory with a home in it, and nothing of the real environment.
pub(crate) struct Sandbox {
    directory: TempDir,
}

/// What a command printed, and its exit code.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Sandbox {
    /// Makes an empty directory.
    pub(crate) fn new() -> Sandbox {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("home")).unwrap();
        Sandbox { directory }
    }

    /// Makes a directory with a store.
    pub(crate) fn with_store() -> Sandbox {
        let sandbox = Sandbox::new();
        sandbox.ok(&["init", "-q"]);
        sandbox
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Prepares the binary, with only what a test gives it.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sapwood"));
        command
            .args(args)
            .current_dir(self.path())
            .env_clear()
            .env("HOME", self.join("home"))
            .env("SAPWOOD_ACTOR", "tester")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs a command and feeds it.
    pub(crate) fn feed(&self, args: &[&str], input: impl AsRef<[u8]>) -> Ran {
        finish(&mut self.command(args), input.as_ref())
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        self.feed(args, "")
    }

    /// Runs a command that must succeed, and gives what it printed without the last newline.
    pub(crate) fn ok(&self, args: &[&str]) -> String {
        self.feed_ok(args, "")
    }

    pub(crate) fn feed_ok(&self, args: &[&str], input: impl AsRef<[u8]>) -> String {
        let ran = self.feed(args, input);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{args:?}");
        ran.out.strip_suffix('\n').unwrap_or(&ran.out).to_owned()
    }

    /// Runs a command that must fail with this code, and gives what it said.
    pub(crate) fn fails(&self, code: i32, args: &[&str]) -> String {
        let ran = self.run(args);
        assert_eq!((ran.code, ran.out.as_str()), (code, ""), "{args:?}: {}", ran.err);
        ran.err
    }

    /// Appends messages with fixed times to a branch, and gives their ids.
    pub(crate) fn append(&self, session: &str, branch: &str, texts: &[&str]) -> Vec<String> {
        let lines = texts.iter().enumerate().map(|(place, text)| {
            let time = 1_700_000_000_000 + place;
            format!("{{\"timestamp\":{time},\"text\":\"{text}\"}}\n")
        });
        let args = ["append", "--stdin", "-s", session, "-b", branch];
        let ids = self.feed_ok(&args, lines.collect::<String>());
        ids.lines().map(str::to_owned).collect()
    }
}

fn finish(command: &mut Command, input: &[u8]) -> Ran {
    let mut child = command.spawn().unwrap();
    // A command that does not read its input closes it early.
    let _ = child.stdin.take().unwrap().write_all(input);
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code().expect("it was not killed"),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Replaces known ids by `<1>`, `<2>` and so on, and their short forms by `<1~>`.
fn masked(text: &str, ids: &[String]) -> String {
    let mut text = text.to_owned();
    for (id, number) in ids.iter().zip(1..) {
        text = text.replace(id, &format!("<{number}>"));
        text = text.replace(&id[..8], &format!("<{number}~>"));
    }
    text
}
