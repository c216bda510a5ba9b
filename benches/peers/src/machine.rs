//! What was measured, on what, when, and how.

use std::path::Path;
use std::process::Command;
use std::time::UNIX_EPOCH;

use crate::options::{Options, project};

/// What this program was built with.
const LOCK: &str = include_str!("../Cargo.lock");

/// What the load is called.
const LOAD: &str = "load before";

/// Names and what they are here; what can't be found out is left out.
pub type Machine = Vec<(&'static str, String)>;

/// Describes the machine, the versions, the date and the command.
pub fn describe(options: &Options) -> Machine {
    let _ = std::fs::create_dir_all(&options.dir);
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let command = format!(
        "cargo run --release --manifest-path benches/peers/Cargo.toml -- {}",
        arguments.join(" ")
    );
    let now_ms = UNIX_EPOCH.elapsed().map_or(0, |since| since.as_millis() as i64);
    let (usual, more, short) = (options.rounds, options.more_rounds(), options.short_rounds());
    let rounds = format!(
        "{usual}; {short} of what takes milliseconds, {more} where it needs a copy each time"
    );
    let facts = [
        ("date", Some(sapwood::time::format(now_ms))),
        ("command", Some(command.trim_end_matches([' ', '-']).to_owned())),
        ("sizes", Some(if options.quick { "quick" } else { "full" }.to_owned())),
        ("rounds", Some(rounds)),
        ("sapwood", said(Command::new(&options.sapwood).arg("--version"))),
        ("commit", said(git().args(["describe", "--always", "--dirty"]))),
        ("peers", Some(peers(options))),
        ("rustc", said(Command::new("rustc").arg("--version"))),
        ("processor", processor()),
        ("memory", memory()),
        ("kernel", said(Command::new("uname").arg("-sr"))),
        ("file system", said(&mut filesystem(&options.dir))),
        (LOAD, read("/proc/loadavg").and_then(|text| first_words(&text, 3))),
    ];
    facts.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// Says whether more programs wanted a processor before the run than there are processors.
pub fn was_busy(machine: &Machine) -> bool {
    let load = machine.iter().find(|(name, _)| *name == LOAD).map(|(_, value)| value.as_str());
    let load = load.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    load.is_some_and(|load| load > cores() as f64)
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(0, usize::from)
}

/// Names the peers with their versions.
fn peers(options: &Options) -> String {
    let mut named = vec![format!("SQLite {}", rusqlite::version())];
    let (major, minor, patch) = git2::Version::get().libgit2_version();
    named.push(format!("libgit2 {major}.{minor}.{patch}"));
    for name in ["redb", "fjall", "heed"] {
        named.extend(locked(name).map(|version| format!("{name} {version}")));
    }
    let ripgrep = options.ripgrep.as_deref();
    for tool in [Some(Path::new("git")), ripgrep].into_iter().flatten() {
        let version = said(Command::new(tool).arg("--version"));
        named.extend(version.and_then(|text| text.lines().next().map(str::to_owned)));
    }
    named.join(", ")
}

/// Gives the version of a crate that this program was built with.
fn locked(name: &str) -> Option<&'static str> {
    let (_, rest) = LOCK.split_once(&format!("name = \"{name}\"\nversion = \""))?;
    rest.split_once('"').map(|(version, _)| version)
}

fn git() -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(project());
    command
}

fn filesystem(dir: &Path) -> Command {
    let mut command = Command::new("stat");
    command.args(["-f", "-c", "%T"]).arg(dir);
    command
}

fn processor() -> Option<String> {
    let text = read("/proc/cpuinfo")?;
    let model = text.lines().find_map(|line| line.strip_prefix("model name"))?;
    let cores = cores();
    Some(format!("{}, {cores} cores", model.trim_start_matches([' ', '\t', ':'])))
}

fn memory() -> Option<String> {
    let text = read("/proc/meminfo")?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(format!("{:.1} GiB", kib as f64 / 1024.0 / 1024.0))
}

fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

fn first_words(text: &str, count: usize) -> Option<String> {
    Some(text.split_whitespace().take(count).collect::<Vec<_>>().join(" "))
}

fn said(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
