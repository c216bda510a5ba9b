//! What a receiver lacks, in an order in which every object comes after all that it links.
//!
//! The walk goes down from the roots until the receiver has an object: it has all behind it then.
//! Paths are followed without their bodies, newest first, and given oldest first; what else an
//! object links (long strings, memory, what an event speaks of) comes right before it. What waits
//! on the stack always leads to what lies above it, so an object that was met and is not given yet
//! can't be linked by the one in hand: hashes make no circles.
//!
//! Memory: an id for each object that is moved, and no more than one object a level of links.

use std::collections::HashSet;

use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::object::NewObject;
use crate::ops::transfer::intake::mismatch;
use crate::store::{Snapshot, Streamed};

/// Says whether the receiver has an object, and all that it leads to.
pub(in crate::ops) type Has<'a> = &'a mut dyn FnMut(&Id) -> Result<bool>;

/// The objects that a receiver lacks.
pub(in crate::ops) struct Missing<'a> {
    source: &'a dyn Snapshot,
    seen: HashSet<Id>,
    /// What was given or met before the walk began again.
    counted: HashSet<Id>,
    steps: Vec<Step>,
    /// How many objects were met that the receiver has.
    pub(in crate::ops) met: u64,
}

enum Step {
    /// To be asked for.
    Visit(Id),
    /// To be read, and what it links asked for.
    Read(Id, Kind),
    /// To be given: all that it links was.
    Give(NewObject),
}

/// An object to be moved.
pub(in crate::ops) enum Given {
    /// One that is whole in memory.
    Object(NewObject),
    /// A large blob, to be read piece by piece.
    Large(Id, Streamed),
}

impl Given {
    fn id(&self) -> Id {
        match self {
            Given::Object(object) => object.id(),
            Given::Large(id, _) => *id,
        }
    }

    /// Gives the length of its content.
    pub(in crate::ops) fn bytes(&self) -> u64 {
        match self {
            Given::Object(object) => object.content().len() as u64,
            Given::Large(_, streamed) => streamed.bytes,
        }
    }
}

impl<'a> Missing<'a> {
    /// Begins with nothing to look for.
    pub(in crate::ops) fn of(source: &'a dyn Snapshot) -> Missing<'a> {
        let (seen, counted) = (HashSet::new(), HashSet::new());
        Missing { source, seen, counted, steps: Vec::new(), met: 0 }
    }

    /// Begins again with nothing to look for: what was met may be gone, or was never written.
    pub(in crate::ops) fn restart(&mut self) {
        for step in self.steps.drain(..) {
            match step {
                Step::Visit(_) => {}
                Step::Read(id, _) => drop(self.seen.remove(&id)),
                Step::Give(object) => drop(self.seen.remove(&object.id())),
            }
        }
        self.counted.extend(self.seen.drain());
    }

    /// Says whether an object is given for the first time.
    pub(in crate::ops) fn is_first(&self, given: &Given) -> bool {
        !self.counted.contains(&given.id())
    }

    /// Adds objects to look for, with all that they lead to.
    pub(in crate::ops) fn add(&mut self, roots: &[Id]) {
        self.steps.extend(roots.iter().rev().map(|id| Step::Visit(*id)));
    }

    /// Gives the next object that the receiver lacks.
    pub(in crate::ops) fn next(&mut self, has: Has<'_>) -> Result<Option<Given>> {
        while let Some(step) = self.steps.pop() {
            match step {
                Step::Visit(id) => self.follow(id, has)?,
                Step::Give(object) => return Ok(Some(Given::Object(object))),
                Step::Read(id, kind) => {
                    if let Some(given) = self.read(id, kind)? {
                        return Ok(Some(given));
                    }
                }
            }
        }
        Ok(None)
    }

    /// Follows a path until an object that was met, or that the receiver has.
    fn follow(&mut self, from: Id, has: Has<'_>) -> Result<()> {
        let mut next = Some(from);
        while let Some(id) = next {
            if !self.seen.insert(id) {
                break;
            }
            if has(&id)? {
                self.met += u64::from(!self.counted.contains(&id));
                break;
            }
            let kind = self.source.kinds(&[id])?[0].ok_or(Error::ObjectMissing { id })?;
            self.steps.push(Step::Read(id, kind));
            next = match kind {
                Kind::Blob | Kind::Session => None,
                _ => self.source.topology(&id)?.and_then(|at| at.parents.first().copied()),
            };
        }
        Ok(())
    }

    /// Reads an object; one that links what was not met yet waits for it.
    fn read(&mut self, id: Id, kind: Kind) -> Result<Option<Given>> {
        if kind == Kind::Blob
            && let Some(streamed) = self.source.stream(&id)?
        {
            return Ok(Some(Given::Large(id, streamed)));
        }
        let stored = self.source.get(&id)?.ok_or(Error::ObjectMissing { id })?;
        let object = NewObject::parse(stored.kind, stored.content.to_vec())?;
        if object.id() != id {
            return Err(mismatch(&id));
        }
        let unmet = object.links().iter().rev().filter(|link| !self.seen.contains(link));
        let unmet: Vec<Step> = unmet.map(|link| Step::Visit(*link)).collect();
        if unmet.is_empty() {
            return Ok(Some(Given::Object(object)));
        }
        self.steps.push(Step::Give(object));
        self.steps.extend(unmet);
        Ok(None)
    }
}
