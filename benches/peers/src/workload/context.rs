//! What a model is shown of a long conversation that was compacted near its end.

use std::hint::black_box;

use crate::Result;
use crate::measure::{Round, Section, Unit};
use crate::options::Options;
use crate::peer::{self, Kind, Mode};
use crate::sample;
use crate::workload::{BRANCH, JUDGED, Job, MESSAGE_BYTES, contest, employ};

/// How many messages the compaction keeps.
const KEPT: usize = 20;

/// Measures one length.
pub fn run(options: &Options) -> Result<Vec<Section>> {
    let size = options.count(JUDGED, 10_000);
    let kinds: Vec<&Kind> = peer::usual().collect();
    let title = format!("Context of {size} messages with a compaction near the end");
    let mut section = contest(title, Unit::Time("context"), &kinds, Mode::Relaxed);
    section.about = format!(
        "The compaction keeps {KEPT} messages. sapwood reads roles, calls and results into what a \
         model is shown; the others parse the JSON back to the compaction. A new process each \
         time."
    );
    let count = size.to_string();
    for kind in &kinds {
        let dir = options.fresh(&format!("context-{}", kind.name))?;
        employ("context", kind, Mode::Relaxed, &dir, &["build", &count])?;
    }
    section.interleave(options.short_rounds(), &mut |contestant, _| {
        let kind = kinds[contestant];
        let dir = options.dir.join(format!("context-{}", kind.name));
        employ("context", kind, Mode::Relaxed, &dir, &["read"])
    })?;
    Ok(vec![section])
}

/// Does what is measured: reads the context.
pub fn work(job: &Job<'_>) -> Result<Round> {
    let mut peer = job.kind.open(job.dir, job.mode)?;
    if job.word(0) == "build" {
        let size = job.number(1)?;
        let bodies =
            |from, until| (from..until).map(|number| sample::message(0, number, MESSAGE_BYTES));
        peer.fill(BRANCH, &mut bodies(0, size))?;
        peer.compact(BRANCH, &bodies(size, size + KEPT).collect::<Vec<_>>())?;
        peer.settle()?;
        return Ok(Round::default());
    }
    Round::of_work(1, || {
        let shown = black_box(peer.context(BRANCH)?);
        match shown > KEPT {
            true => Ok(1),
            false => Err(format!("the context has {shown} messages").into()),
        }
    })
}
