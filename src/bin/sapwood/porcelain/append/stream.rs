//! `sapwood append --stdin`: one JSON object a line, for as long as they come.

use std::io::{self, BufRead, BufReader, StdinLock};
use std::ops::Range;

use sapwood::codec::{Value, json};
use sapwood::error::Error;
use sapwood::id::Id;
use sapwood::ops::Target;
use sapwood::session::{self, Pin};
use sapwood::store::{Durability, OBJECT_BYTES_MAX, Operation};
use sapwood::time;

use crate::failure::{Answer, Failure};
use crate::open::{self, Context, Opened};
use crate::style;

/// How much of standard input is read at once.
const INPUT_BYTES: usize = 1 << 18;

/// What the operations log calls it.
const COMMAND: &str = "append";

/// Reads lines and commits them until there are no more.
pub(super) fn run(
    target: &Target,
    durability: Durability,
    batch: u32,
    opened: &Opened,
    context: &mut Context,
) -> Result<Answer, Failure> {
    let mut stream = Stream {
        context,
        opened,
        destination: destination(opened, target)?,
        durability,
        lines: Vec::new(),
        bodies: Vec::new(),
        odd_times: 0,
    };
    let mut input = Input::new();
    while input.fill(batch as usize)? {
        stream.commit(&input)?;
    }
    if stream.odd_times > 1 {
        let count = stream.odd_times;
        stream.context.output.note(format_args!("{count} lines in all have such a timestamp"));
    }
    opened.store.sync()?;
    Ok(Answer::Yes)
}

/// Fixes where the lines go; what is not there is created with the first of them.
fn destination(opened: &Opened, target: &Target) -> Result<Destination, Failure> {
    let (session, branch) = (target.session.as_deref(), target.branch.as_deref());
    if target.parent.is_some() {
        let operation =
            Operation { time: open::now(), actor: open::actor(), command: COMMAND.into() };
        let spot = target.find(&*opened.repo.snapshot()?)?;
        opened.repo.commit(Durability::Full, &mut |snapshot| {
            spot.change(snapshot, operation.time)?.finish(Some(operation.clone()))
        })?;
        return Ok(Destination::Pinned(Pin::new(spot.session, spot.branch)?));
    }
    Ok(match session::find_pin(&*opened.repo.snapshot()?, session, branch)? {
        Some(pin) => {
            Destination::Named(Some(pin.session().to_owned()), Some(pin.branch().to_owned()))
        }
        None => Destination::Named(target.session.clone(), target.branch.clone()),
    })
}

/// Where the lines go: by name until the first of them is there.
enum Destination {
    Named(Option<String>, Option<String>),
    Pinned(Pin),
}

/// Where the lines go.
struct Stream<'a> {
    context: &'a mut Context,
    opened: &'a Opened,
    destination: Destination,
    durability: Durability,
    lines: Vec<u64>,
    bodies: Vec<Value>,
    /// How many lines had a timestamp that is none.
    odd_times: u64,
}

impl Stream<'_> {
    /// Commits all lines together, or those before the first bad one.
    fn commit(&mut self, input: &Input) -> Result<(), Failure> {
        let mut failure = None;
        for (number, line) in input.lines() {
            match parse(line) {
                Ok(body) => {
                    self.check_time(number, &body);
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

    /// Says so where a timestamp is none and the time of writing will be taken.
    fn check_time(&mut self, number: u64, body: &Value) {
        let is_odd = match body.get("timestamp") {
            None | Some(Value::Null | Value::Integer(_)) => false,
            Some(Value::Text(text)) => time::parse(text).is_none(),
            Some(_) => true,
        };
        self.odd_times += u64::from(is_odd);
        if is_odd && self.odd_times == 1 {
            let output = &mut self.context.output;
            let warning = output.paint(style::WARNING, "warning");
            output.note(format_args!(
                "{warning}: line {number}: 'timestamp' is no RFC 3339 time; taking the time of now"
            ));
        }
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
        if let Destination::Named(session, branch) = &self.destination {
            let (session, branch) = (session.as_deref(), branch.as_deref());
            let pin = session::pin(repo, session, branch, open::now(), &open::actor())?;
            self.destination = Destination::Pinned(pin);
        }
        let Destination::Pinned(pin) = &self.destination else {
            return Ok(());
        };
        let ids = session::append(repo, pin, bodies, self.durability, open::now())?;
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
            let end = memchr::memchr(b'\n', available);
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
