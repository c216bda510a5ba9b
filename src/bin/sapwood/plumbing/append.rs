//! `sapwood append`

use std::io::{self, BufRead, BufReader, StdinLock};
use std::ops::Range;

use clap::ValueEnum;
use sapwood::codec::{Value, json};
use sapwood::error::Error;
use sapwood::id::Id;
use sapwood::session::{self, Pin};
use sapwood::store::{Durability, OBJECT_BYTES_MAX};

use crate::config;
use crate::failure::{Answer, Failure};
use crate::open::{self, Context, Opened};

/// How much of standard input is read at once.
const INPUT_BYTES: usize = 1 << 18;

/// Add messages to a branch, one JSON object a line
///
/// Each line is one transaction, and its id is printed on a line of its own as
/// soon as it is on disk. The session and the branch are fixed at the start;
/// they are created where there are none. Blank lines are skipped. A line that
/// is no JSON object ends the command with exit code 3; what came before it
/// stays.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  echo '{\"type\":\"message\",\"text\":\"hello\"}' | sapwood append --stdin
  sapwood append --stdin -s s1 -b topic < messages.jsonl
  sapwood append --stdin --durability relaxed --batch 100 < big.jsonl")]
pub(crate) struct Args {
    /// Read the messages from standard input
    #[arg(long, required = true)]
    stdin: bool,
    /// The session, by id or name; else $SAPWOOD_SESSION, else the current one
    #[arg(short, long, value_name = "SESSION")]
    session: Option<String>,
    /// The branch; else the session's active one
    #[arg(short, long, value_name = "BRANCH")]
    branch: Option<String>,
    /// When an id is printed: after the sync, or before it
    #[arg(long, value_name = "WHEN")]
    durability: Option<When>,
    /// Commit up to N lines together, if they have arrived already
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    batch: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum When {
    Full,
    Relaxed,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    debug_assert!(args.stdin, "it is required");
    let opened = context.open_or_create()?;
    let session = args.session.as_deref().or(opened.place.session.as_deref());
    let branch = args.branch.as_deref();
    let pin = session::pin(&opened.repo, session, branch, open::now(), &open::actor())?;
    let mut stream = Stream {
        context,
        opened: &opened,
        pin,
        durability: durability(args.durability),
        lines: Vec::new(),
        bodies: Vec::new(),
    };
    let mut input = Input::new();
    while input.fill(args.batch as usize)? {
        stream.commit(&input)?;
    }
    opened.store.sync()?;
    Ok(Answer::Yes)
}

/// Takes what the flag says, else `core.durability`, else full.
fn durability(flag: Option<When>) -> Durability {
    let setting = || When::from_str(&config::text("core.durability")?, true).ok();
    match flag.or_else(setting) {
        Some(When::Relaxed) => Durability::Relaxed,
        Some(When::Full) | None => Durability::Full,
    }
}

/// Where the lines go.
struct Stream<'a> {
    context: &'a mut Context,
    opened: &'a Opened,
    pin: Pin,
    durability: Durability,
    lines: Vec<u64>,
    bodies: Vec<Value>,
}

impl Stream<'_> {
    /// Commits all lines together, or those before the first bad one.
    fn commit(&mut self, input: &Input) -> Result<(), Failure> {
        let mut failure = None;
        for (number, line) in input.lines() {
            match parse(line) {
                Ok(body) => {
                    self.bodies.push(body);
                    self.lines.push(number);
                }
                Err(found) => {
                    failure = Some(found.on_line(number));
                    break;
                }
            }
        }
        let numbers = std::mem::take(&mut self.lines);
        let bodies = std::mem::take(&mut self.bodies);
        match self.append(bodies) {
            Ok(()) => {}
            Err(error) if !is_about_a_body(&error) => return Err(error),
            Err(error) => match numbers.as_slice() {
                [number] => return Err(error.on_line(*number)),
                // One of them can't be kept: find out which, and keep those before it.
                _ => self.commit_singly(input)?,
            },
        }
        self.lines = numbers;
        self.lines.clear();
        failure.map_or(Ok(()), Err)
    }

    fn commit_singly(&mut self, input: &Input) -> Result<(), Failure> {
        for (number, line) in input.lines() {
            let kept = parse(line).and_then(|body| self.append(vec![body]));
            kept.map_err(|failure| failure.on_line(number))?;
        }
        Ok(())
    }

    /// Commits bodies as one transaction and prints their ids.
    fn append(&mut self, bodies: Vec<Value>) -> Result<(), Failure> {
        if bodies.is_empty() {
            return Ok(());
        }
        let repo = &self.opened.repo;
        let ids = session::append(repo, &self.pin, bodies, self.durability, open::now())?;
        for id in &ids {
            self.print(id)?;
        }
        self.context.output.flush()
    }

    fn print(&mut self, id: &Id) -> Result<(), Failure> {
        let output = &mut self.context.output;
        match output.json {
            true => output.record([("id", id.to_string().into())]),
            false => output.item(id),
        }
    }
}

fn parse(line: &[u8]) -> Result<Value, Failure> {
    let body = json::parse(line)?;
    match body.as_map() {
        Some(_) => Ok(body),
        None => Err(Failure::request("not a JSON object")),
    }
}

/// Says whether the fault lies in what was to be appended.
fn is_about_a_body(failure: &Failure) -> bool {
    matches!(failure, Failure::Library(Error::InvalidObject { .. } | Error::TooLarge { .. }))
}

/// Standard input, by lines.
struct Input {
    reader: BufReader<StdinLock<'static>>,
    /// The lines of this round, one after the other.
    buffer: Vec<u8>,
    /// Where each that is not blank lies in the buffer, and its number.
    places: Vec<(u64, Range<usize>)>,
    number: u64,
}

impl Input {
    fn new() -> Input {
        Input {
            reader: BufReader::with_capacity(INPUT_BYTES, io::stdin().lock()),
            buffer: Vec::new(),
            places: Vec::new(),
            number: 0,
        }
    }

    /// Waits for a line, takes up to `lines_max` that are there, and says whether there was one.
    fn fill(&mut self, lines_max: usize) -> Result<bool, Failure> {
        self.buffer.clear();
        self.places.clear();
        loop {
            let start = self.buffer.len();
            if !self.read_line()? {
                return Ok(!self.places.is_empty());
            }
            self.number += 1;
            if self.buffer[start..].iter().all(u8::is_ascii_whitespace) {
                self.buffer.truncate(start);
            } else {
                self.places.push((self.number, start..self.buffer.len()));
            }
            let is_enough = self.places.len() >= lines_max;
            if is_enough || (!self.places.is_empty() && !self.has_line()) {
                return Ok(true);
            }
        }
    }

    /// Says whether the next line can be read without waiting.
    fn has_line(&self) -> bool {
        self.reader.buffer().contains(&b'\n')
    }

    /// Adds the next line to the buffer, without its end; `false` if there is none.
    fn read_line(&mut self) -> Result<bool, Failure> {
        let start = self.buffer.len();
        loop {
            let available = match self.reader.fill_buf() {
                Ok(available) => available,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(Failure::Input(error)),
            };
            if available.is_empty() {
                return Ok(self.buffer.len() > start);
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let piece = &available[..end.unwrap_or(available.len())];
            let bytes = (self.buffer.len() - start + piece.len()) as u64;
            if bytes > OBJECT_BYTES_MAX {
                let error = Error::TooLarge {
                    what: "the line in bytes",
                    found: bytes,
                    limit: OBJECT_BYTES_MAX,
                };
                return Err(Failure::from(error).on_line(self.number + 1));
            }
            self.buffer.extend_from_slice(piece);
            let count = piece.len() + usize::from(end.is_some());
            self.reader.consume(count);
            if end.is_some() {
                return Ok(true);
            }
        }
    }

    fn lines(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.places.iter().map(|(number, range)| (*number, &self.buffer[range.clone()]))
    }
}
