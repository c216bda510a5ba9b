//! What was redacted does not come back from other stores, bundles and backups.

use sapwood::disk::OsDisk;

use super::search::found_in;
use crate::cli::{Ran, Sandbox};

const SECRET: &str = "vault-Kx9-7731-pass";

/// A store that redacted a secret, and another (`b`), cloned before, that still has it: in messages
/// or only in an attachment.
fn two_stores(is_large: bool) -> Sandbox {
    let sandbox = Sandbox::with_store();
    sandbox.append("s1", "main", &["an innocent begin"]);
    if is_large {
        let large = format!("{SECRET} {}", "large ".repeat(60_000));
        std::fs::write(sandbox.join("large.txt"), large).unwrap();
        sandbox.ok(&["attach", "-q", "-s", "s1", "notes", "large.txt"]);
    } else {
        sandbox.append("s1", "main", &[&format!("it is {SECRET}"), "thanks"]);
    }
    sandbox.append("s2", "main", &["of something else"]);
    sandbox.ok(&["clone", "-q", ".", "b"]);
    sandbox.ok(&["append", "--store", "b/.sapwood", "-s", "s1", "-m", "more of one"]);
    sandbox.ok(&["append", "--store", "b/.sapwood", "-s", "s2", "-m", "more of two"]);
    sandbox.feed_ok(&["redact", "--pattern-file", "-"], SECRET);
    sandbox
}

fn is_kept_out(sandbox: &Sandbox, what: &str) {
    sandbox.ok(&["repack", "-q"]);
    let left = found_in(&OsDisk, &sandbox.join(".sapwood"), &[SECRET]);
    assert_eq!(left, Vec::<String>::new(), "{what}");
    let ran = sandbox.run(&["fsck", "-q"]);
    assert_eq!(ran.code, 0, "{what}: {}", ran.out);
    let log = sandbox.ok(&["log", "-s", "s1"]);
    assert!(!log.contains("more of one"), "{what}: {log}");
}

fn is_refused(ran: &Ran, what: &str) {
    assert_eq!(ran.code, 3, "{what}: {}", ran.out);
    assert!(ran.err.contains("removed from this store for good"), "{what}: {}", ran.err);
    assert!(ran.err.contains("redact it there too"), "{what}: {}", ran.err);
}

#[test]
fn other_stores_bundles_and_backups_do_not_bring_it_back() {
    for is_large in [false, true] {
        let sandbox = two_stores(is_large);
        is_refused(&sandbox.run(&["fetch", "b"]), "fetch");
        is_kept_out(&sandbox, "fetch");
        let push = ["push", "--store", "b/.sapwood", "."];
        is_refused(&sandbox.run(&push), "push");
        is_kept_out(&sandbox, "push");
        sandbox.ok(&["bundle", "create", "--store", "b/.sapwood", "-q", "x.bundle", "--all"]);
        is_refused(&sandbox.run(&["bundle", "unbundle", "x.bundle"]), "unbundle");
        is_kept_out(&sandbox, "unbundle");
        sandbox.ok(&["backup", "--store", "b/.sapwood", "-q", "copy"]);
        sandbox.ok(&["restore", "-q", "copy", "c"]);
        is_refused(&sandbox.run(&["fetch", "c"]), "restore and fetch");
        is_kept_out(&sandbox, "restore and fetch");
    }
}

#[test]
fn what_has_nothing_to_do_with_it_comes_all_the_same() {
    for is_large in [false, true] {
        let ways: [&[&str]; 2] = [&["fetch", "-k", "b"], &["bundle", "unbundle", "-k", "x.bundle"]];
        for way in ways {
            let sandbox = two_stores(is_large);
            sandbox.ok(&["bundle", "create", "--store", "b/.sapwood", "-q", "x.bundle", "--all"]);
            let ran = sandbox.run(way);
            assert_eq!(ran.code, 1, "{way:?}: {}{}", ran.out, ran.err);
            is_kept_out(&sandbox, way[0]);
            let log = sandbox.ok(&["log", "-s", "s2"]);
            assert!(log.contains("more of two"), "{way:?}: {log}");
        }
    }
}

#[test]
fn what_was_redacted_in_both_stores_comes_together() {
    let sandbox = two_stores(false);
    let redact = ["redact", "--store", "b/.sapwood", "--pattern-file", "-"];
    sandbox.feed_ok(&redact, SECRET);
    sandbox.ok(&["fetch", "-q", "b"]);
    let log = sandbox.ok(&["log", "-s", "s1", "--oneline"]);
    assert!(log.contains("more of one") && log.contains("[redacted]"), "{log}");
    assert_eq!(sandbox.run(&["fsck", "-q"]).code, 0);
}
