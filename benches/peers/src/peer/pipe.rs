//! Contestants in processes of their own: a line in, a line out.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use crate::Result;
use crate::measure;
use crate::options::Options;

/// A process that answers each line with a line.
#[derive(Debug)]
pub struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    answer: String,
}

impl Process {
    /// Starts a command.
    pub fn start(command: &mut Command) -> Result<Process> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take().expect("it was asked for");
        let output = child.stdout.take().expect("it was asked for");
        Ok(Process { child, input, output: BufReader::new(output), answer: String::new() })
    }

    /// Starts `sapwood append --stdin`.
    pub fn sapwood(
        options: &Options,
        store: &Path,
        branch: &str,
        more: &[&str],
    ) -> Result<Process> {
        let mut command = Command::new(&options.sapwood);
        command.env_remove("SAPWOOD_SESSION").env_remove("SAPWOOD_DIR").arg("--store").arg(store);
        command.args(["append", "--stdin", "-b", branch]).args(more);
        Process::start(&mut command)
    }

    /// Starts a peer: this program, in another mode.
    pub fn peer(kind: &str, path: &Path, more: &[&str]) -> Result<Process> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["serve", kind]).arg(path).args(more);
        Process::start(&mut command)
    }

    /// Sends all lines without waiting, and gives the time until the last answer.
    pub fn stream(&mut self, lines: &[String]) -> Result<Duration> {
        let mut bytes = Vec::new();
        for line in lines {
            bytes.extend_from_slice(line.as_bytes());
            bytes.push(b'\n');
        }
        let (input, output) = (&mut self.input, &mut self.output);
        let mut answer = String::new();
        let begun = Instant::now();
        std::thread::scope(|scope| {
            let writing = scope.spawn(move || input.write_all(&bytes));
            for _ in lines {
                answer.clear();
                if output.read_line(&mut answer)? == 0 {
                    return Err("a contestant ended early".into());
                }
            }
            let elapsed = begun.elapsed();
            writing.join().expect("writing does not panic")?;
            Ok(elapsed)
        })
    }

    /// Sends a line and waits for its answer.
    pub fn append(&mut self, line: &str) -> Result<()> {
        self.input.write_all(format!("{line}\n").as_bytes())?;
        self.answer.clear();
        if self.output.read_line(&mut self.answer)? == 0 {
            return Err("a contestant ended early".into());
        }
        Ok(())
    }

    /// Ends it, says whether all went well, and gives the most memory that it had.
    pub fn finish(self) -> Result<Option<f64>> {
        let Process { mut child, input, .. } = self;
        let peak = measure::peak(&child.id().to_string());
        drop(input);
        let status = child.wait()?;
        match status.success() {
            true => Ok(peak),
            false => Err(format!("a contestant ended with {status}").into()),
        }
    }
}
