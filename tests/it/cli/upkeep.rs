//! What a dry run says and what is done then; what was cut off; what is left over.

use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use super::*;

/// Gives what follows `"key":` in a line of JSON, up to the next comma or brace.
fn field<'a>(line: &'a str, key: &str) -> &'a str {
    let at = line.find(&format!("\"{key}\":")).unwrap() + key.len() + 3;
    line[at..].split([',', '}']).next().unwrap()
}

fn age(sandbox: &Sandbox, name: &str) {
    let then = SystemTime::now() - Duration::from_secs(2 * 3600);
    File::options().write(true).open(sandbox.join(name)).unwrap().set_modified(then).unwrap();
}

#[test]
fn a_dry_run_of_gc_counts_what_the_run_does() {
    for seals in [false, true] {
        let sandbox = Sandbox::with_store();
        let ids = sandbox.append("s1", "main", &["one", "two"]);
        sandbox.append("s2", "main", &["other", "words"]);
        sandbox.ok(&["reset", "-q", "-s", "s1", &ids[0]]);
        sandbox.ok(&["session", "rm", "-q", "s2"]);
        sandbox.ok(&["config", "gc.operations", "now"]);
        if seals {
            sandbox.run(&["repack"]);
        }
        let would = sandbox.ok(&["gc", "--json", "--dry-run", "--prune=now"]);
        let did = sandbox.ok(&["gc", "--json", "--prune=now"]);
        let counts = |told: &str| {
            let keys = ["objects_before", "objects_after", "set_aside", "blob", "entry", "node"];
            let more = ["event", "session", "dropped", "operations", "sessions", "leftovers"];
            keys.iter().chain(&more).map(|key| field(told, key).to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(counts(&would), counts(&did), "{would}\n{did}");
        assert!(did.contains("\"sessions\":1,"), "{did}");
        assert_ne!(field(&did, "operations"), "0");
        assert_eq!(field(&did, "entry"), "2", "those of s2: {did}");
    }
}

#[test]
fn notes_of_bundles_that_never_came_again_go() {
    let sandbox = Sandbox::with_store();
    sandbox.append("s1", "main", &["one"]);
    sandbox.ok(&["gc", "-q"]);
    fs::create_dir_all(sandbox.join(".sapwood/cache")).unwrap();
    let (old, young) = (".sapwood/cache/unbundle-00", ".sapwood/cache/unbundle-01");
    fs::write(sandbox.join(old), "a note").unwrap();
    fs::write(sandbox.join(young), "a note").unwrap();
    age(&sandbox, old);
    let would = sandbox.run(&["gc", "--dry-run"]).err;
    assert!(would.contains("Would drop 1 file of killed processes"), "{would}");
    assert!(sandbox.join(old).exists());
    let did = sandbox.run(&["gc"]).err;
    assert!(did.contains("Dropped 1 file of killed processes"), "{did}");
    assert!(!sandbox.join(old).exists() && sandbox.join(young).exists());
}

#[test]
fn a_dry_run_tells_of_a_redaction_that_was_cut_off() {
    let sandbox = Sandbox::with_store();
    let ids = sandbox.append("s1", "main", &["one", "the word is zebra", "two"]);
    let redact =
        |args: &[&str]| sandbox.feed(&[&["redact", "--pattern-file", "-"], args].concat(), "zebra");
    // What can't be removed ends it when the store is rewritten, and its old bytes are not gone.
    let obstacle = sandbox.join(".sapwood/objects/incoming.0123456789abcdef.tmp");
    fs::create_dir(&obstacle).unwrap();
    assert_eq!(redact(&[]).code, 7);
    let told = redact(&["--dry-run"]);
    assert!(told.out.starts_with("an earlier redact or forget was cut off"), "{told:?}");
    assert!(redact(&["--dry-run", "--json"]).out.contains("\"cut_off\":true"));
    let told = sandbox.ok(&["forget", "--dry-run", &ids[0]]);
    assert!(told.starts_with("an earlier redact or forget was cut off"), "{told}");
    fs::remove_dir(&obstacle).unwrap();
    let told = redact(&[]);
    assert!(told.out.starts_with("removed what an earlier redact"), "{told:?}");
    assert!(redact(&["--dry-run", "--json"]).out.contains("\"cut_off\":false"));
    sandbox.ok(&["-q", "fsck"]);
}

#[test]
fn lines_of_expire_fit() {
    let sandbox = Sandbox::with_store();
    sandbox.append("s1", "main", &["one"]);
    sandbox.append("s2", "main", &["two"]);
    sandbox.ok(&["session", "use", "-q", "s2"]);
    sandbox.ok(&["session", "rename", "-q", "s1", &"long words \u{1b} 日本語 ".repeat(9)]);
    let told = sandbox.run(&["expire", "--older-than", "0d"]).out;
    assert!(told.starts_with("s1  2") && told.contains("long words"), "{told}");
    assert!(told.lines().all(|line| unicode_width::UnicodeWidthStr::width(line) <= 80), "{told}");
}

#[test]
fn what_is_missing_where_sessions_come_from_is_damage_there() {
    let (sandbox, away) = (Sandbox::with_store(), Sandbox::with_store());
    fs::write(sandbox.join("large"), "large ".repeat(60_000)).unwrap();
    sandbox.append("s1", "main", &["one"]);
    let id = sandbox.ok(&["attach", "-q", "-s", "s1", "notes", "large"]);
    fs::remove_file(sandbox.join(&format!(".sapwood/objects/{}/{}", &id[..2], &id[2..]))).unwrap();
    let source = sandbox.join("").display().to_string();
    let target = away.join("").display().to_string();
    let checks: [(&Sandbox, &[&str]); 4] = [
        (&sandbox, &["bundle", "create", "all.bundle", "--all"]),
        (&sandbox, &["push", &target]),
        (&away, &["fetch", &source]),
        (&away, &["clone", &source, "copy"]),
    ];
    for (from, args) in checks {
        let told = from.fails(6, args);
        assert!(told.contains(&id) && told.contains("'sapwood fsck'"), "{args:?}: {told}");
        assert!(told.contains(&source), "{told}");
    }
    assert!(!sandbox.join("all.bundle").exists());
    sandbox.fails(1, &["bundle", "create", "some.bundle", &id.replace('0', "1")]);
}

#[test]
fn what_is_shared_is_counted_once_whatever_fails_before() {
    let (home, away) = (Sandbox::with_store(), Sandbox::with_store());
    home.append("s1", "main", &["one", "two", "three"]);
    let zebra = home.ok(&["fork", "-q", "-s", "s1"]);
    home.append(&zebra, "main", &["the word is zebra"]);
    let four = home.ok(&["fork", "-q", "-s", "s1"]);
    home.append(&four, "main", &["four"]);
    let source = home.join("").display().to_string();
    away.ok(&["-q", "fetch", &source]);
    away.feed_ok(&["-q", "redact", "--pattern-file", "-"], "zebra");
    let counted = |options: &str, sessions: [&str; 3]| {
        let args = [&["fetch", options, "--json", &source], &sessions[..]].concat();
        let ran = away.run(&args);
        let total = ran.out.lines().last().unwrap().to_owned();
        assert_eq!((ran.code, field(&total, "failed")), (1, "1"), "{total}");
        (field(&total, "objects").to_owned(), field(&total, "shared").to_owned())
    };
    let last = counted("-kn", ["s1", &four, &zebra]);
    assert_eq!(counted("-kn", [&zebra, "s1", &four]), last);
    assert_eq!(counted("-k", [&zebra, "s1", &four]), last, "as the dry run said");
    assert_eq!(counted("-k", ["s1", &four, &zebra]), last);
    home.ok(&["-q", "bundle", "create", "all.bundle", "--all"]);
    let bundle = home.join("all.bundle").display().to_string();
    for options in ["-n", "-q"] {
        let told = away.fails(3, &["bundle", "unbundle", options, &bundle]);
        assert!(told.contains("removed from this store for good"), "{told}");
    }
}

#[test]
fn sessions_are_there_after_a_repair_of_a_store_without_refs() {
    let sandbox = Sandbox::with_store();
    sandbox.append("s1", "main", &["one"]);
    sandbox.ok(&["session", "rename", "-q", "s1", "a name"]);
    sandbox.append("s2", "main", &["another"]);
    sandbox.run(&["repack"]);
    let ids = sandbox.append("s1", "main", &["two"]);
    sandbox.ok(&["branch", "-q", "side", "-s", "s1"]);
    fs::remove_dir_all(sandbox.join(".sapwood/refs")).unwrap();
    let ran = sandbox.run(&["fsck", "--fix"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("moved: session s1, meta: was nothing"), "{}", ran.out);
    assert!(ran.err.contains("'sapwood for-each-ref rescued/' lists them"), "{}", ran.err);
    assert!(sandbox.ok(&["sessions"]).contains("a name"));
    assert_eq!(sandbox.ok(&["rev-parse", "s1:HEAD"]), ids[0]);
    assert!(sandbox.ok(&["log", "--oneline", "-s", "s1"]).contains("one"));
    assert!(sandbox.ok(&["for-each-ref", "rescued/"]).contains(" entry"), "of s2");
    sandbox.ok(&["-q", "fsck"]);
}

#[test]
fn who_asks_a_bundle_for_a_session_is_told_how_to_list_them() {
    let sandbox = Sandbox::with_store();
    sandbox.append("s1", "main", &["one"]);
    sandbox.ok(&["-q", "bundle", "create", "all.bundle", "--all"]);
    let told = sandbox.fails(1, &["bundle", "unbundle", "all.bundle", "s9"]);
    assert!(told.contains("'sapwood bundle list'"), "{told}");
}

#[test]
fn what_a_process_of_the_same_number_left_is_no_obstacle() {
    let sandbox = Sandbox::with_store();
    sandbox.append("s1", "main", &["one"]);
    let script =
        "echo half > x.bundle.$(printf %08x $$).part; exec \"$0\" bundle create x.bundle -q --all";
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_sapwood")]).current_dir(sandbox.path());
    let ran = command.env("HOME", sandbox.join("home")).output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    sandbox.ok(&["bundle", "verify", "x.bundle"]);
    let left = fs::read_dir(sandbox.path()).unwrap();
    let is_part = |name: &str| name.ends_with(".part");
    assert!(!left.into_iter().any(|it| is_part(it.unwrap().file_name().to_str().unwrap())));
}
