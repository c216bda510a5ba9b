//! `--with CMD`: a command of the user's that turns a conversation into text.
//!
//! It runs before anything is written, so when it fails nothing has changed. It gets Markdown or
//! JSON on its standard input, and what it prints is the answer; its standard error is ours.
//!
//! With a time limit it runs in a process group of its own, so that all it started can be ended.
//! Without one it stays in ours: Ctrl-C ends it as well.

mod feed;

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::open::Opened;

pub(crate) use feed::Feed;

/// How much of what a command prints is taken.
const ANSWER_BYTES_MAX: u64 = 64 << 20;

/// How often is looked whether a command has ended that closed its output already.
const POLL: Duration = Duration::from_millis(2);

/// A command to run.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct With {
    /// Run this by sh -c: it reads its input, what it prints is taken
    #[arg(long, value_name = "CMD")]
    pub(crate) with: Option<String>,
    /// End the command after so many seconds
    #[arg(long, value_name = "SECONDS", requires = "with", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
}

/// What a command is told of where it runs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Setting<'a> {
    /// The store, as `SAPWOOD_DIR`.
    pub(crate) store: Option<&'a Path>,
    /// The session, as `SAPWOOD_SESSION`.
    pub(crate) session: Option<&'a str>,
    /// The branch, as `SAPWOOD_BRANCH`.
    pub(crate) branch: Option<&'a str>,
    /// What sapwood was asked to do, as `SAPWOOD_COMMAND`.
    pub(crate) command: &'a str,
}

impl<'a> Setting<'a> {
    /// Says where in a store a command runs.
    pub(crate) fn new(
        opened: &'a Opened,
        command: &'a str,
        session: &'a str,
        branch: &'a str,
    ) -> Setting<'a> {
        Setting {
            store: opened.local().ok().map(|local| local.path()),
            session: Some(session),
            branch: Some(branch),
            command,
        }
    }
}

impl With {
    /// Runs the command, if there is one, and gives what it printed without the last newlines.
    pub(crate) fn run(
        &self,
        setting: Setting<'_>,
        input: impl Into<Vec<u8>>,
    ) -> Result<Option<String>, Failure> {
        match &self.with {
            None => Ok(None),
            Some(line) => run(line, self.timeout, setting, input.into()).map(Some),
        }
    }
}

fn run(
    line: &str,
    timeout: Option<Duration>,
    setting: Setting<'_>,
    input: Vec<u8>,
) -> Result<String, Failure> {
    let fails = |why: String| Failure::Command { command: line.to_owned(), why };
    let mut command = shell(line, setting)?;
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    if timeout.is_some() {
        own_group(&mut command);
    }
    let mut child = command.spawn().map_err(|error| fails(format!("can't run: {error}")))?;
    let deadline = timeout.map(|timeout| (Instant::now() + timeout, timeout));
    let fed = feed(&mut child, input).and_then(|()| collect(&mut child));
    let fed = fed.map_err(|error| format!("can't be talked to: {error}"));
    let ended = match fed.and_then(|answer| wait(&mut child, &answer, deadline)) {
        Ok(ended) => ended,
        Err(why) => {
            end(&mut child, timeout.is_some());
            return Err(fails(why));
        }
    };
    let (status, answer) = ended;
    if !status.success() {
        return Err(fails(format!("failed ({status})")));
    }
    let answer = String::from_utf8(answer);
    let answer = answer.map_err(|_| fails("printed what is not UTF-8".to_owned()))?;
    match answer.trim_end_matches(['\n', '\r']) {
        kept if kept.trim().is_empty() => Err(fails("printed nothing".to_owned())),
        kept => Ok(kept.to_owned()),
    }
}

fn shell(line: &str, setting: Setting<'_>) -> Result<Command, Failure> {
    let mut command = Command::new("sh");
    command.arg("-c").arg(line).env("SAPWOOD_COMMAND", setting.command);
    if let Some(store) = setting.store {
        let full = std::path::absolute(store).map_err(sapwood::Error::io("find", store))?;
        command.env("SAPWOOD_DIR", full);
    }
    for (name, value) in [("SESSION", setting.session), ("BRANCH", setting.branch)] {
        let name = format!("SAPWOOD_{name}");
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    Ok(command)
}

/// Hands over the input from a thread. A command need not read it.
fn feed(child: &mut Child, input: Vec<u8>) -> io::Result<()> {
    if let Some(mut stdin) = child.stdin.take() {
        thread::Builder::new().spawn(move || drop(stdin.write_all(&input)))?;
    }
    Ok(())
}

/// Takes the output in a thread, which tells when there is no more.
fn collect(child: &mut Child) -> io::Result<mpsc::Receiver<io::Result<Vec<u8>>>> {
    let (sender, receiver) = mpsc::channel();
    if let Some(stdout) = child.stdout.take() {
        thread::Builder::new().spawn(move || {
            let mut answer = Vec::new();
            let taken = stdout.take(ANSWER_BYTES_MAX + 1).read_to_end(&mut answer);
            // Nobody listens any more where the time was up.
            let _ = sender.send(taken.map(|_| answer));
        })?;
    }
    Ok(receiver)
}

/// Waits until the output is closed and the command has ended, or says why it must end.
fn wait(
    child: &mut Child,
    answer: &mpsc::Receiver<io::Result<Vec<u8>>>,
    deadline: Option<(Instant, Duration)>,
) -> Result<(ExitStatus, Vec<u8>), String> {
    let unread = |why: &dyn std::fmt::Display| format!("can't be read from: {why}");
    let late = |timeout: Duration| format!("took more than {} s", timeout.as_secs_f64());
    let answer = match deadline {
        None => answer.recv().map_err(|error| unread(&error))?,
        Some((end, timeout)) => {
            let left = end.saturating_duration_since(Instant::now());
            answer.recv_timeout(left).map_err(|_| late(timeout))?
        }
    };
    let answer = answer.map_err(|error| unread(&error))?;
    if answer.len() as u64 > ANSWER_BYTES_MAX {
        return Err(format!("printed more than {} MiB", ANSWER_BYTES_MAX >> 20));
    }
    let Some((end, timeout)) = deadline else {
        let status = child.wait().map_err(|error| unread(&error))?;
        return Ok((status, answer));
    };
    loop {
        match child.try_wait().map_err(|error| unread(&error))? {
            Some(status) => return Ok((status, answer)),
            None if Instant::now() >= end => return Err(late(timeout)),
            None => thread::sleep(POLL),
        }
    }
}

/// Ends a command, and what it started where it has a group of its own.
fn end(child: &mut Child, has_group: bool) {
    if has_group && cfg!(unix) {
        let group = format!("kill -s KILL -- -{}", child.id());
        // All of it may have ended by itself.
        let _ = Command::new("sh").arg("-c").arg(group).stderr(Stdio::null()).status();
    }
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(unix)]
fn own_group(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    command.process_group(0);
}

#[cfg(not(unix))]
fn own_group(_command: &mut Command) {}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds| *seconds > 0.0);
    let limit = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    // An instant that far away must exist.
    let limit = limit.filter(|limit| Instant::now().checked_add(*limit).is_some());
    limit.ok_or_else(|| "expected a number of seconds, more than 0".to_owned())
}

#[cfg(test)]
mod tests;
