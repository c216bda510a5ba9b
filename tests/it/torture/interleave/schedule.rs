//! Processes that take turns as a plan says, before each call to the disk.

use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use sapwood::disk::{DirEntry, Disk, DiskFile, Mapping, OpenMode};
use sapwood::error::Result;

use crate::sim::SimDisk;

/// At which steps of all another process goes on, and which.
pub(super) type Plan = Vec<(usize, usize)>;

type Run = Box<dyn Fn(&Stepped) -> Result<()> + Send + Sync>;

/// What a process does.
pub(super) struct Actor {
    pub(super) name: &'static str,
    pub(super) run: Run,
}

/// What happened.
pub(super) struct Trace {
    /// Of each step, who else could have gone on.
    pub(super) steps: Vec<Vec<usize>>,
    pub(super) outcomes: Vec<Result<()>>,
}

#[derive(Debug)]
struct Turns {
    current: usize,
    finished: Vec<bool>,
    plan: Plan,
    steps: Vec<Vec<usize>>,
}

impl Turns {
    /// Lists who else has not ended.
    fn others(&self, actor: usize) -> Vec<usize> {
        let count = self.finished.len();
        let after = (1..count).map(|more| (actor + more) % count);
        after.filter(|other| !self.finished[*other]).collect()
    }
}

#[derive(Debug)]
struct Scheduler {
    turns: Mutex<Turns>,
    changed: Condvar,
}

impl Scheduler {
    fn turns(&self) -> MutexGuard<'_, Turns> {
        self.turns.lock().unwrap()
    }

    fn wait_for_turn<'a>(
        &self,
        turns: MutexGuard<'a, Turns>,
        actor: usize,
    ) -> MutexGuard<'a, Turns> {
        self.changed.wait_while(turns, |turns| turns.current != actor).unwrap()
    }

    /// Waits until it is this process's turn to make a call.
    fn step(&self, actor: usize) {
        let mut turns = self.wait_for_turn(self.turns(), actor);
        let step = turns.steps.len();
        let others = turns.others(actor);
        turns.steps.push(others.clone());
        let planned = turns.plan.iter().find(|(at, _)| *at == step).map(|(_, to)| *to);
        if let Some(to) = planned.filter(|to| others.contains(to)) {
            turns.current = to;
            self.changed.notify_all();
            drop(self.wait_for_turn(turns, actor));
        }
    }

    /// Lets another process go on, because this one can't.
    fn give_way(&self, actor: usize) {
        let mut turns = self.turns();
        if let Some(other) = turns.others(actor).first() {
            turns.current = *other;
            self.changed.notify_all();
            drop(self.wait_for_turn(turns, actor));
        }
    }

    fn finish(&self, actor: usize) {
        let mut turns = self.turns();
        turns.finished[actor] = true;
        if let Some(other) = turns.others(actor).first() {
            turns.current = *other;
        }
        self.changed.notify_all();
    }
}

/// Says that a process has ended, also if it panicked.
struct Ending<'a>(&'a Scheduler, usize);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.finish(self.1);
    }
}

/// Runs all processes on a disk.
pub(super) fn run(disk: &SimDisk, actors: &[Actor], plan: &Plan) -> Trace {
    let turns = Turns {
        current: 0,
        finished: vec![false; actors.len()],
        plan: plan.clone(),
        steps: Vec::new(),
    };
    let scheduler = Arc::new(Scheduler { turns: Mutex::new(turns), changed: Condvar::new() });
    let outcomes = std::thread::scope(|scope| {
        let running: Vec<_> = actors
            .iter()
            .enumerate()
            .map(|(number, actor)| {
                let scheduler = Arc::clone(&scheduler);
                scope.spawn(move || {
                    drop(scheduler.wait_for_turn(scheduler.turns(), number));
                    let _ending = Ending(&scheduler, number);
                    let disk = disk.clone();
                    (actor.run)(&Stepped { disk, actor: number, scheduler: Arc::clone(&scheduler) })
                })
            })
            .collect();
        running.into_iter().map(|actor| actor.join().unwrap()).collect()
    });
    let steps = std::mem::take(&mut scheduler.turns().steps);
    Trace { steps, outcomes }
}

/// The disk as one process has it.
#[derive(Clone, Debug)]
pub(super) struct Stepped {
    disk: SimDisk,
    actor: usize,
    scheduler: Arc<Scheduler>,
}

impl Stepped {
    fn step(&self) -> &SimDisk {
        self.scheduler.step(self.actor);
        &self.disk
    }
}

impl Disk for Stepped {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Box<dyn DiskFile>> {
        let file = self.step().open(path, mode)?;
        Ok(Box::new(SteppedFile { file, disk: self.clone() }))
    }

    fn map(&self, path: &Path) -> io::Result<Mapping> {
        self.step().map(path)
    }

    fn len(&self, path: &Path) -> io::Result<u64> {
        self.step().len(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<DirEntry>> {
        self.step().list(dir)
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.step().create_dir(dir)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step().rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.step().remove(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.step().sync_dir(dir)
    }

    fn network_filesystem(&self, path: &Path) -> Option<String> {
        self.disk.network_filesystem(path)
    }

    fn random(&self, buffer: &mut [u8]) -> io::Result<()> {
        self.disk.random(buffer)
    }
}

#[derive(Debug)]
struct SteppedFile {
    file: Box<dyn DiskFile>,
    disk: Stepped,
}

impl SteppedFile {
    fn step(&self) -> &dyn DiskFile {
        self.disk.step();
        &*self.file
    }
}

impl DiskFile for SteppedFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.step().read_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.step().write_at(bytes, offset)
    }

    fn len(&self) -> io::Result<u64> {
        self.step().len()
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.step().set_len(bytes)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.step().sync_data()
    }

    fn try_lock(&self) -> io::Result<bool> {
        let taken = self.step().try_lock()?;
        if !taken {
            self.disk.scheduler.give_way(self.disk.actor);
        }
        Ok(taken)
    }

    fn unlock(&self) -> io::Result<()> {
        self.step().unlock()
    }
}
