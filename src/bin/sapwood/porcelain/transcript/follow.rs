//! What came to a transcript since it was last looked at, without reading it from its begin.

use sapwood::Id;
use sapwood::repo::read_event;
use sapwood::session::View;
use sapwood::store::Snapshot;
use sapwood::walk::{self, Item};

use crate::failure::Failure;

/// Where a transcript ends: one of both moves whenever it grows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Ends {
    tip: Option<Id>,
    event: Option<Id>,
}

impl Ends {
    pub(super) fn of(snapshot: &dyn Snapshot, session: &str) -> Result<Ends, Failure> {
        let view = View::of(snapshot, session)?;
        Ok(Ends { tip: view.target("tip")?, event: view.target("events")? })
    }

    /// Lists what came from here to where the transcript ends now, oldest first; `None` if it does
    /// not go on from here.
    pub(super) fn until(
        self,
        snapshot: &dyn Snapshot,
        now: Ends,
    ) -> Result<Option<Vec<Item>>, Failure> {
        let mut events = Vec::new();
        let mut next = now.event;
        while next != self.event {
            let Some(id) = next else {
                return Ok(None);
            };
            let event = read_event(snapshot, &id)?;
            next = event.priors.first().copied();
            events.push((id, event));
        }
        let mut current = None;
        if let Some(tip) = now.tip {
            let count = match (events.first(), self.event) {
                (Some((_, event)), _) => walk::run_count(snapshot, &tip, Some(event))?,
                (None, Some(id)) => {
                    walk::run_count(snapshot, &tip, Some(&read_event(snapshot, &id)?))?
                }
                (None, None) => walk::run_count(snapshot, &tip, None)?,
            };
            current = Some((tip, count));
        }
        let mut items = Vec::new();
        for (id, event) in events.into_iter().rev() {
            for run in &event.runs {
                self.add_run(snapshot, run.tip, run.count, &mut items)?;
            }
            items.push(Item::Event(id, event));
        }
        if let Some((tip, count)) = current {
            self.add_run(snapshot, tip, count, &mut items)?;
        }
        Ok(Some(items))
    }

    /// Adds the entries of a run, oldest first; of the one that was seen to grow only the rest.
    fn add_run(
        self,
        snapshot: &dyn Snapshot,
        tip: Id,
        count: u64,
        items: &mut Vec<Item>,
    ) -> Result<(), Failure> {
        let begin = items.len();
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        for id in walk::path(snapshot, tip).take(count) {
            let id = id?;
            if Some(id) == self.tip {
                break;
            }
            items.push(Item::Entry(id));
        }
        items[begin..].reverse();
        Ok(())
    }
}
