//! Numbers: what a round gave, and what to make of several. Less is always better.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::Result;

/// What takes less than this is too short to count its time on the processor.
const CPU_MEASURABLE: Duration = Duration::from_millis(20);

/// Whose first rounds take so long, and so many times what the first contestant took, is out of the
/// question, and is not measured again: the others get the time. One round is enough if it is very
/// long; else the machine may have been busy with something else.
const ROUND_LONG: Duration = Duration::from_millis(250);
const ROUND_VERY_LONG: Duration = Duration::from_secs(1);
const OUT_OF_QUESTION: f64 = 10.0;

/// How often a program is looked at while it runs, and run to be looked at.
const LOOK_PAUSE: Duration = Duration::from_micros(200);
const LOOKS_MAX: usize = 5;

/// Contestants that did the same work, in the same rounds. The first row is what is compared with.
#[derive(Debug)]
pub struct Section {
    /// What was done.
    pub title: String,
    /// How, in a sentence or two.
    pub about: String,
    /// What the values are of.
    pub unit: Unit,
    /// The contestants.
    pub rows: Vec<Row>,
    /// Whether the rows after the first are peers, the median of which is a bar.
    pub is_contest: bool,
    /// Where it stands in a figure.
    pub figure: Option<Figure>,
    /// What must hold.
    pub bars: Vec<Bar>,
    /// What else was seen.
    pub notes: Vec<String>,
}

/// What values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds for one of something.
    Time(&'static str),
    /// Bytes.
    Bytes,
}

/// A section's place in a figure: which one, and how much there was.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// The figure.
    pub name: &'static str,
    /// The size.
    pub size: f64,
}

/// One contestant.
#[derive(Debug)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Whether it stands beside the contest: it does more or less than the others.
    pub is_beside: bool,
    /// What each round gave.
    pub rounds: Vec<Round>,
}

/// What one contestant took in one round.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Round {
    /// The median for one item; the mean where items were not timed one by one, or a few pay for
    /// many.
    pub middle: f64,
    /// What one in a hundred exceeds, where items were timed one by one.
    pub p99: Option<f64>,
    /// The mean on the processor, where nothing waits for a disk or another process. Other programs
    /// disturb it much less.
    pub cpu: Option<f64>,
    /// The most memory that its process had, in bytes.
    pub peak: Option<f64>,
}

/// Something that must hold.
#[derive(Clone, Debug)]
pub struct Bar {
    /// What it says.
    pub text: String,
    /// What was found.
    pub found: f64,
    /// The most it may be.
    pub limit: f64,
    /// The most it should be.
    pub goal: Option<f64>,
}

impl Bar {
    /// Says whether it holds.
    pub fn holds(&self) -> bool {
        self.found <= self.limit
    }

    /// Says how it stands, and by how much it falls short.
    pub fn verdict(&self) -> String {
        match self.goal {
            _ if !self.holds() => {
                format!("**does not hold**, {:.2} x too much", self.found / self.limit)
            }
            Some(goal) if self.found > goal => {
                format!("holds; {:.2} x short of the goal", self.found / goal)
            }
            Some(_) => "holds, and so does the goal".to_owned(),
            None => "holds".to_owned(),
        }
    }
}

impl Section {
    /// Begins a section with contestants that have not run yet.
    pub fn new(title: impl Into<String>, unit: Unit, names: &[&str]) -> Section {
        Section {
            title: title.into(),
            about: String::new(),
            unit,
            rows: names.iter().map(|name| Row::new(name, false)).collect(),
            is_contest: false,
            figure: None,
            bars: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Adds a contestant that stands beside the others: the median is taken without it.
    pub fn beside(&mut self, name: &str) {
        self.rows.push(Row::new(name, true));
    }

    /// Runs every contestant in every round, each round beginning with another one. Who is out of
    /// the question after one round or two runs in those only.
    pub fn interleave(
        &mut self,
        rounds: usize,
        run: &mut dyn FnMut(usize, usize) -> Result<Round>,
    ) -> Result<()> {
        let mut is_out = vec![false; self.rows.len()];
        for round in 0..rounds {
            for turn in 0..self.rows.len() {
                let contestant = (turn + round) % self.rows.len();
                if is_out[contestant] {
                    continue;
                }
                let (elapsed, found) = timed(|| run(contestant, round))?;
                self.rows[contestant].rounds.push(found);
                let is_sure = round > 0 || elapsed >= ROUND_VERY_LONG;
                is_out[contestant] = self.is_contest
                    && is_sure
                    && elapsed >= ROUND_LONG
                    && self.ratios(contestant, 0).iter().all(|ratio| *ratio > OUT_OF_QUESTION);
            }
        }
        Ok(())
    }

    /// Gives the ratios of two contestants, round by round.
    pub fn ratios(&self, over: usize, under: usize) -> Vec<f64> {
        let pairs = self.rows[over].rounds.iter().zip(&self.rows[under].rounds);
        pairs.map(|(over, under)| over.middle / under.middle).collect()
    }

    /// Gives the median of the rounds' ratios of two contestants.
    pub fn ratio(&self, over: usize, under: usize) -> f64 {
        median(self.ratios(over, under))
    }

    /// Finds a contestant by the begin of its name.
    pub fn row(&self, name: &str) -> Option<usize> {
        self.rows.iter().position(|row| row.name.starts_with(name))
    }

    /// Demands that the first contestant takes at most `limit` times what another takes, and better
    /// no more than `goal` times.
    pub fn demand(&mut self, text: &str, peer: &str, limit: f64, goal: Option<f64>) {
        let Some(peer) = self.row(peer) else { return };
        let text = format!("{text}: sapwood / {}", self.rows[peer].name);
        self.bars.push(Bar { text, found: self.ratio(0, peer), limit, goal });
    }

    /// Demands that a contestant takes no more than `limit` in a unit that is `scale` long.
    pub fn demand_at_most(
        &mut self,
        row: usize,
        text: &str,
        scale: f64,
        limit: f64,
        goal: Option<f64>,
    ) {
        let found = self.rows[row].median() / scale;
        self.bars.push(Bar { text: text.to_owned(), found, limit, goal });
    }

    /// Demands that the first contestant takes no more than the median of the others.
    pub fn demand_median_peer(&mut self) {
        if !self.is_contest || self.rows.len() < 2 {
            return;
        }
        let peers = (1..self.rows.len()).filter(|row| !self.rows[*row].is_beside);
        let ratios = peers.map(|peer| self.ratio(0, peer)).collect();
        let word = if self.unit == Unit::Bytes { "larger" } else { "slower" };
        let text = format!("not {word} than the median peer: sapwood / median of the others");
        self.bars.push(Bar { text, found: median(ratios), limit: 1.0, goal: None });
    }
}

impl Row {
    fn new(name: &str, is_beside: bool) -> Row {
        Row { name: name.to_owned(), is_beside, rounds: Vec::new() }
    }

    /// Gives the median of the rounds.
    pub fn median(&self) -> f64 {
        median(self.rounds.iter().map(|round| round.middle).collect())
    }

    /// Gives the median of the rounds' 99th percentiles.
    pub fn p99(&self) -> Option<f64> {
        self.median_of(|round| round.p99)
    }

    /// Gives the median of the rounds' times on the processor.
    pub fn cpu(&self) -> Option<f64> {
        self.median_of(|round| round.cpu)
    }

    /// Gives the median of the rounds' peaks of memory.
    pub fn peak(&self) -> Option<f64> {
        self.median_of(|round| round.peak)
    }

    fn median_of(&self, pick: impl Fn(&Round) -> Option<f64>) -> Option<f64> {
        let values: Option<Vec<f64>> = self.rounds.iter().map(pick).collect();
        values.filter(|values| !values.is_empty()).map(median)
    }
}

impl Round {
    /// Makes a round of items that were timed one by one.
    pub fn of(times: &[Duration]) -> Round {
        let mut times: Vec<f64> = times.iter().map(|time| time.as_nanos() as f64).collect();
        times.sort_unstable_by(f64::total_cmp);
        let last = times.len().saturating_sub(1);
        let at = |share: f64| times.get((last as f64 * share).round() as usize).copied();
        Round { middle: at(0.5).unwrap_or(f64::NAN), p99: at(0.99), ..Round::default() }
    }

    /// Makes a round of items that were timed one by one, few of which pay for many: their mean.
    pub fn of_uneven(times: &[Duration]) -> Round {
        let all: Duration = times.iter().sum();
        Round { p99: Round::of(times).p99, ..Round::mean(all, times.len() as f64) }
    }

    /// Makes a round of items that were timed together.
    pub fn mean(time: Duration, items: f64) -> Round {
        Round { middle: time.as_nanos() as f64 / items, ..Round::default() }
    }

    /// Makes a round of a value that is no time.
    pub fn value(middle: f64) -> Round {
        Round { middle, ..Round::default() }
    }

    /// Times work of so many items in this thread, on the clock and on the processor.
    pub fn of_work(items: usize, work: impl FnOnce() -> Result<usize>) -> Result<Round> {
        let begun = thread_cpu_ns();
        let (elapsed, done) = timed(work)?;
        let cpu = begun.zip(thread_cpu_ns()).map(|(begun, ended)| ended - begun);
        // The system counts in ticks: less than a few of them is no measure.
        let cpu = cpu.filter(|_| elapsed >= CPU_MEASURABLE);
        if done != items {
            return Err(format!("{done} of {items} items were there").into());
        }
        let items = items.max(1) as f64;
        Ok(Round { cpu: cpu.map(|cpu| cpu / items), ..Round::mean(elapsed, items) })
    }

    /// Times the same again and again.
    pub fn of_many(times: usize, work: impl FnMut(usize) -> Result<()>) -> Result<Round> {
        Ok(Round::of(&timed_each(times, work)?))
    }

    /// Writes it as a line, with the memory that this process took.
    pub fn line(&self) -> String {
        let text = |value: Option<f64>| value.map_or("-".to_owned(), |value| value.to_string());
        let peak = text(own_peak());
        format!("round {} {} {} {peak}", self.middle, text(self.p99), text(self.cpu))
    }

    /// Reads such a line.
    pub fn parse(line: &str) -> Option<Round> {
        let mut words = line.strip_prefix("round ")?.split_whitespace();
        let mut next = || words.next()?.parse().ok();
        let middle = next()?;
        Some(Round { middle, p99: next(), cpu: next(), peak: next() })
    }
}

/// Times each of many pieces of work.
pub fn timed_each(
    times: usize,
    mut work: impl FnMut(usize) -> Result<()>,
) -> Result<Vec<Duration>> {
    (0..times).map(|number| Ok(timed(|| work(number))?.0)).collect()
}

/// Times one piece of work.
pub fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(Duration, T)> {
    let begun = Instant::now();
    let done = work()?;
    Ok((begun.elapsed(), done))
}

/// Gives how long this thread has been on a processor, where the system tells.
fn thread_cpu_ns() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok()
}

/// The most memory that a process had which this one started.
static PEAK_OF_OTHERS: AtomicU64 = AtomicU64::new(0);

/// Notes the most memory that a process and those below it had so far.
pub fn note_peak_of(process: u32) {
    let bytes = peak(&process.to_string()).unwrap_or(0.0) as u64;
    PEAK_OF_OTHERS.fetch_max(bytes, Ordering::Relaxed);
    let children = format!("/proc/{process}/task/{process}/children");
    let children = std::fs::read_to_string(children).unwrap_or_default();
    children.split_whitespace().filter_map(|child| child.parse().ok()).for_each(note_peak_of);
}

/// Gives the most memory that this process had, and the largest of those it started.
fn own_peak() -> Option<f64> {
    peak("self").map(|bytes| bytes + PEAK_OF_OTHERS.load(Ordering::Relaxed) as f64)
}

/// Gives the most memory that a process had so far, where the system tells.
pub fn peak(process: &str) -> Option<f64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok().map(|kib: f64| kib * 1024.0)
}

/// Runs a program to its end and gives the most memory that it had, as far as was seen: it is
/// looked at again and again, so its time is not to be taken. One that was over before it was
/// looked at is run once more.
pub fn peak_of(command: &mut Command) -> Result<Option<f64>> {
    for _ in 0..LOOKS_MAX {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let mut most: Option<f64> = None;
        while child.try_wait()?.is_none() {
            most = peak(&child.id().to_string()).into_iter().chain(most).reduce(f64::max);
            std::thread::sleep(LOOK_PAUSE);
        }
        if most.is_some() {
            return Ok(most);
        }
    }
    Ok(None)
}

/// Gives the value in the middle.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => values[count / 2],
        count => (values[count / 2 - 1] + values[count / 2]) / 2.0,
    }
}

#[cfg(test)]
mod tests;
