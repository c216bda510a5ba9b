//! What is done after a command has answered: a collection of garbage, where one is due.
//!
//! It is a process of its own, which nobody waits for. `gc.auto = 0` turns it off.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use sapwood::disk::{self, Disk, OsDisk};
use sapwood::store::local::{GcThresholds, LocalStore};

use crate::config;
use crate::failure::Failure;
use crate::open;

/// No collection is begun so soon after another, whatever came of that.
const PAUSE_MS: i64 = 600_000;

/// The file that says when one was begun last.
const STAMP: &str = "gc-begun";

/// Says whether a collection would gain something.
pub(crate) fn is_due(store: &LocalStore, now_ms: i64) -> Result<bool, Failure> {
    let number = |key| config::text(key).and_then(|text| text.parse().ok()).unwrap_or(0);
    let thresholds = GcThresholds {
        objects: number("gc.auto"),
        packs: number("gc.packs"),
        loose: number("gc.loose"),
        prune_ms: config::before("gc.prune", config::text("gc.prune").as_deref(), now_ms)?,
    };
    Ok(thresholds.objects > 0 && store.gc_due(&thresholds)?.is_some())
}

/// Begins a collection if one is due. That it can't be begun is no failure of the command.
pub(crate) fn collect_garbage(store: &LocalStore) {
    let now_ms = open::now();
    if !matches!(is_due(store, now_ms), Ok(true)) || was_begun(store, now_ms) {
        return;
    }
    let Some(program) = open::program() else {
        return;
    };
    let mut command = Command::new(program);
    command.arg("--store").arg(store.path()).args(["gc", "--auto", "--quiet"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // A group of its own: what is typed at the terminal does not end it.
    let _ = command.process_group(0).spawn();
}

/// Says whether one was begun a moment ago; if not, notes that one is begun now.
fn was_begun(store: &LocalStore, now_ms: i64) -> bool {
    let path = store.cache_file(STAMP);
    let last = disk::read_file(&OsDisk, &path, 64).ok();
    let last = last.and_then(|bytes| String::from_utf8(bytes).ok()?.trim().parse::<i64>().ok());
    if last.is_some_and(|last| (last..last.saturating_add(PAUSE_MS)).contains(&now_ms)) {
        return true;
    }
    let directory = path.parent().map_or(Ok(()), |directory| OsDisk.create_dir(directory));
    let noted =
        directory.and_then(|()| disk::replace_file(&OsDisk, &path, now_ms.to_string().as_bytes()));
    noted.is_err()
}
