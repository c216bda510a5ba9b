//! What a person waits for: whole commands, from starting the process to its end.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use sapwood::codec::json;
use sapwood::object::Session;
use sapwood::session::Change;
use sapwood::store::Store as _;
use sapwood::{Durability, Repo};

use crate::Result;
use crate::measure::{Bar, Round, Section, Unit, peak_of, timed};
use crate::options::Options;
use crate::peer::KINDS;
use crate::peer::sapwood::open_store;
use crate::sample;
use crate::workload::{BRANCH, JUDGED, Job, MESSAGE_BYTES, world};

/// How many entries before the end the compaction keeps.
const KEPT: &str = "20";
/// A branch to switch to.
const OTHER: &str = "beside";

/// Measures commands on a long session, and the list of many sessions.
pub fn run(options: &Options) -> Result<Vec<Section>> {
    let depth = JUDGED;
    let store = world(options, &KINDS[0], depth)?;
    let reading = reading(options, &store, depth)?;
    let moving = moving(options, &store, depth)?;
    let many = options.fresh("commands-many")?;
    Ok(vec![reading, moving, listing(options, &many)?])
}

/// Does nothing: the commands are processes of their own.
pub fn work(_: &Job<'_>) -> Result<Round> {
    Err("nothing is to be done here".into())
}

fn reading(options: &Options, store: &Path, depth: usize) -> Result<Section> {
    call(options, store, &["compact", "--keep", KEPT, "--summary", "What came before."])?;
    let commands: [&[&str]; 5] =
        [&["log", "-n", "20"], &["show", "HEAD"], &["context"], &["status"], &["--version"]];
    let names = ["log -n 20", "show HEAD", "context, compacted", "status", "--version"];
    let mut section = Section::new("Commands on a long session", Unit::Time("run"), &names);
    section.about = format!(
        "A session of {depth} messages of {MESSAGE_BYTES} bytes, of which a compaction near the \
         end keeps {KEPT}. The last row is what starting any process takes."
    );
    let times = options.count(20, 5);
    section.interleave(options.rounds, &mut |contestant, _| {
        let round = repeat(times, || call(options, store, commands[contestant]))?;
        Ok(Round { peak: peak_of(&mut command(options, store, commands[contestant]))?, ..round })
    })?;
    for row in 0..3 {
        limit_ms(&mut section, row, 10.0);
    }
    Ok(section)
}

fn moving(options: &Options, store: &Path, depth: usize) -> Result<Section> {
    let deep = |verb: &str| format!("{verb}, {depth} deep");
    let flat = |verb: &str| format!("{verb}, 10 deep");
    let verbs = ["switch", "branch", "fork"];
    let names: Vec<String> = verbs.iter().flat_map(|verb| [deep(verb), flat(verb)]).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut section = Section::new("Switch, branch and fork, by depth", Unit::Time("run"), &names);
    section.about =
        "The same command at the end of a long path and of a short one, in sessions of \
                     one store, durably."
            .to_owned();
    call(options, store, &["new", "--name", "short", "--no-use"])?;
    for number in 0..10 {
        let text = format!("message {number}");
        call(options, store, &["append", "-s", "short", "-m", &text])?;
    }
    for session in [BRANCH, "short"] {
        call(options, store, &["branch", "-s", session, OTHER])?;
    }
    let times = options.count(20, 4);
    let mut number = 0;
    section.interleave(options.rounds, &mut |contestant, _| {
        let session = if contestant % 2 == 0 { BRANCH } else { "short" };
        let back = ["switch", "-s", session, "main"];
        let mut next = || {
            number += 1;
            match contestant / 2 {
                0 => ["switch", "-s", session, OTHER].map(str::to_owned),
                1 => ["branch", "-s", session, &format!("b{number}")].map(str::to_owned),
                _ => ["fork", "-s", session, "--no-use"].map(str::to_owned),
            }
        };
        let round = repeat(times, || {
            let elapsed = call(options, store, &next().each_ref().map(String::as_str))?;
            call(options, store, &back)?;
            Ok(elapsed)
        })?;
        let arguments = next();
        let mut last = command(options, store, &arguments.each_ref().map(String::as_str));
        let peak = peak_of(&mut last)?;
        call(options, store, &back)?;
        Ok(Round { peak, ..round })
    })?;
    for (place, verb) in verbs.into_iter().enumerate() {
        section.bars.push(Bar {
            text: format!("{verb} takes the same time: {depth} deep / 10 deep"),
            found: section.ratio(2 * place, 2 * place + 1),
            limit: 1.25,
            goal: Some(1.1),
        });
        limit_ms(&mut section, 2 * place, 10.0);
    }
    Ok(section)
}

fn listing(options: &Options, dir: &Path) -> Result<Section> {
    let count = options.count(10_000, 2_000);
    build_many(dir, count)?;
    let names = ["sessions", "sessions --json"];
    let mut section = Section::new("List many sessions", Unit::Time("run"), &names);
    section.about = format!("A store of {count} sessions with 5 messages each.");
    let times = options.count(5, 3);
    section.interleave(options.rounds, &mut |contestant, _| {
        let flags: &[&str] = if contestant == 0 { &["sessions"] } else { &["sessions", "--json"] };
        let round = repeat(times, || call(options, dir, flags))?;
        Ok(Round { peak: peak_of(&mut command(options, dir, flags))?, ..round })
    })?;
    limit_ms(&mut section, 0, 100.0);
    Ok(section)
}

/// Makes a store of many small sessions.
fn build_many(dir: &Path, count: usize) -> Result<()> {
    let store = open_store(dir, Default::default())?;
    let repo = Repo::on(store.clone());
    for number in 0..count {
        let sid = format!("session-{number:05}");
        repo.commit(Durability::Relaxed, &mut |snapshot| {
            let meta = Session {
                name: Some(format!("work {number}")),
                cwd: Some(format!("/home/ada/project-{}", number % 50)),
                ..Session::new(sid.clone(), number as i64)
            };
            let mut change = Change::create(snapshot, meta, "main", number as i64)?;
            for line in 0..5 {
                let line = sample::message(number, line, MESSAGE_BYTES);
                change.append("main", "message", json::parse(line.as_bytes())?, number as i64)?;
            }
            change.use_session()?;
            change.finish(None)
        })?;
    }
    store.sync()?;
    store.pack_refs()?;
    Ok(())
}

fn repeat(times: usize, mut run: impl FnMut() -> Result<Duration>) -> Result<Round> {
    let found: Result<Vec<Duration>> = (0..times).map(|_| run()).collect();
    Ok(Round::of(&found?))
}

fn command(options: &Options, store: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(&options.sapwood);
    command.arg("--store").arg(store).args(arguments);
    // Maintenance is measured for itself.
    command.env("SAPWOOD_GC_AUTO", "0");
    command
}

/// Runs a command on a store and gives the time it took.
fn call(options: &Options, store: &Path, arguments: &[&str]) -> Result<Duration> {
    let (elapsed, output) = timed(|| Ok(command(options, store, arguments).output()?))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}: {said}", arguments.join(" ")).into());
    }
    Ok(elapsed)
}

fn limit_ms(section: &mut Section, row: usize, limit: f64) {
    let text = format!("{} in {limit} ms or less: milliseconds", section.rows[row].name);
    section.demand_at_most(row, &text, 1e6, limit, None);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_sessions_are_built() {
        let dir = std::env::temp_dir().join(format!("sapwood-many-{}", std::process::id()));
        build_many(&dir, 3).unwrap();
        let store = open_store(&dir, Default::default()).unwrap();
        let snapshot = store.snapshot().unwrap();
        assert_eq!(sapwood::session::transcript(&*snapshot, "session-00002").unwrap().len(), 5);
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
