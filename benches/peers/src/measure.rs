//! Numbers: what a round gave, and what to make of several.
//!
//! All values are nanoseconds for one item, so less is always better.

use std::time::{Duration, Instant};

use crate::Result;

/// Contestants that did the same work, in the same rounds. The first row is what is compared with.
#[derive(Debug)]
pub struct Section {
    /// What was done.
    pub title: String,
    /// How, in a sentence or two.
    pub about: String,
    /// What the values are for one of.
    pub item: &'static str,
    /// The contestants.
    pub rows: Vec<Row>,
    /// What must hold.
    pub bars: Vec<Bar>,
    /// What else was seen.
    pub notes: Vec<String>,
}

/// One contestant.
#[derive(Debug)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// What each round gave.
    pub rounds: Vec<Round>,
}

/// What one contestant took in one round, for one item.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// The median, or the mean where items were not timed one by one.
    pub middle_ns: f64,
    /// What one in a hundred exceeds, where items were timed one by one.
    pub p99_ns: Option<f64>,
    /// The mean on the processor, where nothing waits for a disk or another process. Other programs
    /// disturb it much less.
    pub cpu_ns: Option<f64>,
}

/// Something that must hold.
#[derive(Debug)]
pub struct Bar {
    /// What it says.
    pub text: String,
    /// What was found.
    pub found: f64,
    /// The most it may be.
    pub limit: f64,
}

impl Bar {
    /// Says whether it holds.
    pub fn holds(&self) -> bool {
        self.found <= self.limit
    }
}

impl Section {
    /// Begins a section with contestants that have not run yet.
    pub fn new(title: &str, item: &'static str, names: &[&str]) -> Section {
        let row = |name: &&str| Row { name: (*name).to_owned(), rounds: Vec::new() };
        Section {
            title: title.to_owned(),
            about: String::new(),
            item,
            rows: names.iter().map(row).collect(),
            bars: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Runs every contestant in every round, each round beginning with another one.
    pub fn interleave(
        &mut self,
        rounds: usize,
        run: &mut dyn FnMut(usize, usize) -> Result<Round>,
    ) -> Result<()> {
        for round in 0..rounds {
            for turn in 0..self.rows.len() {
                let contestant = (turn + round) % self.rows.len();
                let found = run(contestant, round)?;
                self.rows[contestant].rounds.push(found);
            }
        }
        Ok(())
    }

    /// Gives the median of the rounds' ratios of two contestants.
    pub fn ratio(&self, over: usize, under: usize) -> f64 {
        let pairs = self.rows[over].rounds.iter().zip(&self.rows[under].rounds);
        median(pairs.map(|(over, under)| over.middle_ns / under.middle_ns).collect())
    }

    /// Finds the fastest of some contestants.
    pub fn best(&self, among: std::ops::Range<usize>) -> usize {
        let start = among.start;
        among
            .min_by(|one, other| self.rows[*one].median().total_cmp(&self.rows[*other].median()))
            .unwrap_or(start)
    }

    /// Demands that the first contestant takes at most `limit` times what another takes.
    pub fn demand(&mut self, text: &str, peer: usize, limit: f64) {
        self.bars.push(Bar {
            text: format!("{text}: sapwood / {}", self.rows[peer].name),
            found: self.ratio(0, peer),
            limit,
        });
    }
}

impl Row {
    /// Gives the median of the rounds.
    pub fn median(&self) -> f64 {
        median(self.rounds.iter().map(|round| round.middle_ns).collect())
    }

    /// Gives the median of the rounds' 99th percentiles.
    pub fn p99(&self) -> Option<f64> {
        let values: Option<Vec<f64>> = self.rounds.iter().map(|round| round.p99_ns).collect();
        values.filter(|values| !values.is_empty()).map(median)
    }

    /// Gives the median of the rounds' times on the processor.
    pub fn cpu(&self) -> Option<f64> {
        let values: Option<Vec<f64>> = self.rounds.iter().map(|round| round.cpu_ns).collect();
        values.filter(|values| !values.is_empty()).map(median)
    }

    /// Gives the least and the greatest of the rounds.
    pub fn spread(&self) -> (f64, f64) {
        let values = self.rounds.iter().map(|round| round.middle_ns);
        values.fold((f64::INFINITY, 0.0), |(least, greatest), value| {
            (least.min(value), greatest.max(value))
        })
    }
}

impl Round {
    /// Makes a round of items that were timed one by one.
    pub fn of(times: &[Duration]) -> Round {
        let mut times: Vec<f64> = times.iter().map(|time| time.as_nanos() as f64).collect();
        times.sort_unstable_by(f64::total_cmp);
        let last = times.len().saturating_sub(1);
        let at = |share: f64| times.get((last as f64 * share).round() as usize).copied();
        Round { middle_ns: at(0.5).unwrap_or(f64::NAN), p99_ns: at(0.99), cpu_ns: None }
    }

    /// Makes a round of items that were timed together.
    pub fn mean(time: Duration, items: usize) -> Round {
        Round {
            middle_ns: time.as_nanos() as f64 / items.max(1) as f64,
            p99_ns: None,
            cpu_ns: None,
        }
    }

    /// Times work of so many items in this thread, on the clock and on the processor.
    pub fn of_work(items: usize, work: impl FnOnce() -> Result<usize>) -> Result<Round> {
        let begun = thread_cpu_ns();
        let (elapsed, done) = timed(work)?;
        let cpu_ns = begun.zip(thread_cpu_ns()).map(|(begun, ended)| ended - begun);
        if done != items {
            return Err(format!("{done} of {items} items were there").into());
        }
        Ok(Round {
            cpu_ns: cpu_ns.map(|cpu_ns| cpu_ns / items.max(1) as f64),
            ..Round::mean(elapsed, items)
        })
    }
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

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => values[count / 2],
        count => (values[count / 2 - 1] + values[count / 2]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_taken_round_by_round() {
        let mut section = Section::new("t", "item", &["a", "b"]);
        let times = [[1, 10, 100], [2, 30, 200]];
        section
            .interleave(3, &mut |contestant, round| {
                Ok(Round::mean(Duration::from_nanos(times[contestant][round]), 1))
            })
            .unwrap();
        assert_eq!(section.ratio(1, 0), 2.0);
        assert_eq!(section.best(0..2), 0);
        assert_eq!(section.rows[1].spread(), (2.0, 200.0));
    }

    #[test]
    fn percentiles_are_of_sorted_items() {
        let times: Vec<Duration> = (0..=100).rev().map(Duration::from_nanos).collect();
        let round = Round::of(&times);
        assert_eq!((round.middle_ns, round.p99_ns), (50.0, Some(99.0)));
    }
}
