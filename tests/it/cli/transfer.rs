//! Sessions between stores, from outside: bundles, clone, fetch, push.

use std::fs;

use super::*;

/// Gives what follows `"key":` in a line of JSON.
fn field<'a>(line: &'a str, key: &str) -> &'a str {
    let at = line.find(&format!("\"{key}\":")).unwrap() + key.len() + 3;
    line[at..].split([',', '}']).next().unwrap()
}

#[test]
fn a_bundle_goes_through_a_pipe_and_comes_together_with_what_is_there() {
    let (home, away) = (Sandbox::with_store(), Sandbox::with_store());
    home.append("s1", "main", &["one", "two"]);
    home.ok(&["-q", "bundle", "create", "all.bundle", "--all"]);
    let bundle = fs::read(home.join("all.bundle")).unwrap();
    let listed = home.ok(&["bundle", "list", "all.bundle"]);
    assert!(listed.contains(" sessions/s1/heads/main\n"), "{listed}");
    assert!(home.ok(&["bundle", "verify", "all.bundle"]).contains("is whole: 1 session,"));
    let path = home.join("all.bundle").display().to_string();
    let dry = away.ok(&["bundle", "unbundle", "-n", &path]);
    assert!(dry.contains("Would unbundle 1 of 1 session:"), "{dry}");
    assert!(away.ok(&["sessions", "--json"]).is_empty());
    fs::write(away.join("cut"), &bundle[..bundle.len() - 1]).unwrap();
    let told = away.fails(6, &["bundle", "unbundle", "cut"]);
    assert!(told.contains("ends in the middle") && told.contains("sent again"), "{told}");
    assert!(!told.contains("fsck"), "the store is not what is damaged: {told}");
    assert!(away.fails(3, &["bundle", "verify", "/dev/null"]).contains("is not a bundle"));
    let told = away.ok(&["bundle", "unbundle", "--json", &path]);
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!((field(lines[0], "change"), field(lines[1], "changed")), ("\"new\"", "1"));
    assert_eq!(home.ok(&["log", "--oneline"]), away.ok(&["log", "--oneline"]));
    let again = away.ok(&["bundle", "unbundle", "--json", &path]);
    let total = again.lines().last().unwrap();
    assert_eq!((field(total, "objects"), field(total, "bytes")), ("0", "0"), "{total}");

    home.append("s1", "main", &["home"]);
    away.append("s1", "main", &["away"]);
    home.ok(&["-q", "bundle", "create", "news.bundle", "s1:main~1..s1:main"]);
    let path = home.join("news.bundle").display().to_string();
    let told = away.ok(&["bundle", "unbundle", "--as", "home", &path]);
    assert!(told.contains("aside   heads/main -> main@home"), "{told}");
    assert!(away.ok(&["log", "--oneline", "main@home"]).contains("home"));
    assert!(away.ok(&["transcript"]).contains("home"));
    away.ok(&["-q", "fsck"]);
}

#[test]
fn clone_fetch_and_push_move_only_what_is_missing() {
    let (home, away) = (Sandbox::with_store(), Sandbox::new());
    home.append("s1", "main", &["one"]);
    home.append("s2", "main", &["other"]);
    let source = home.join("").display().to_string();
    away.ok(&["clone", "-n", &source, "copy"]);
    assert!(!away.join("copy").exists());
    assert!(away.ok(&["clone", &source, "copy"]).contains("Cloned 2 of 2 sessions"));
    assert!(away.fails(3, &["clone", &source, "copy"]).contains("already"));
    let copy = ["-C", "copy"];
    let in_copy = |args: &[&str]| away.run(&[&copy[..], args].concat());
    let refs = |ran: Ran| ran.out.replace("refs/", "");
    let listed = in_copy(&["for-each-ref"]);
    assert_eq!(refs(listed), refs(home.run(&["for-each-ref"])), "HEAD too");

    home.append("s1", "main", &["two"]);
    let told = in_copy(&["fetch", &source]).out;
    assert!(told.contains("forward   s1"), "{told}");
    assert!(told.contains("Fetched 1 of 2 sessions: 1 object"), "{told}");
    home.append("s1", "main", &["home"]);
    away.feed(&["-C", "copy", "append", "-s", "s1", "-m", "copy"], "");
    let ran = in_copy(&["push", &source]);
    assert_eq!((ran.code, ran.out.contains("refused   s1")), (1, true), "{}", ran.err);
    assert_eq!(in_copy(&["fetch", &source, "s1", "--as", "home"]).code, 0);
    let ran = in_copy(&["push", &source]);
    assert_eq!((ran.code, ran.out.contains("forward   s1")), (0, true), "{}", ran.err);
    let both = in_copy(&["transcript", "-s", "s1"]).out;
    assert_eq!(both.trim_end(), home.ok(&["transcript", "-s", "s1"]).trim_end());
    let itself = home.join("").display().to_string();
    assert!(home.fails(3, &["fetch", &itself]).contains("this store itself"));
    home.fails(3, &["fetch", "nowhere"]);
    home.ok(&["-q", "fsck"]);
    // What a fetch did can be taken back as any other operation.
    assert_eq!(in_copy(&["undo", "-s", "s1"]).code, 0);
    assert_eq!(in_copy(&["fsck"]).code, 0);
}

#[test]
fn a_backup_is_read_checked_and_made_a_store_again() {
    let sandbox = Sandbox::with_store();
    sandbox.append("s1", "main", &["one"]);
    let told = sandbox.ok(&["--json", "backup", "copy"]);
    assert!(field(&told, "files_copied") != "0", "{told}");
    sandbox.append("s1", "main", &["two"]);
    sandbox.ok(&["-q", "backup", "copy"]);
    sandbox.ok(&["-q", "backup", "--verify", "copy"]);
    let log = sandbox.ok(&["log", "--oneline"]);
    assert_eq!(sandbox.ok(&["--store", "copy", "log", "--oneline"]), log);
    for within in [".sapwood", ".sapwood/copy", ".sapwood/objects/../new/copy"] {
        assert!(sandbox.fails(3, &["backup", within]).contains("part of the store itself"));
    }
    assert!(sandbox.fails(3, &["restore", "copy"]).contains("--force moves it aside"));
    sandbox.ok(&["-q", "restore", "copy", "elsewhere"]);
    assert_eq!(sandbox.ok(&["-C", "elsewhere", "log", "--oneline"]), log);
    sandbox.append("s1", "main", &["three"]);
    let told = sandbox.ok(&["--json", "restore", "--force", "copy"]);
    assert!(told.contains(".sapwood.replaced-1"), "{told}");
    assert_eq!(sandbox.ok(&["log", "--oneline"]), log);
    sandbox.ok(&["-q", "fsck"]);
    let damaged = sandbox.join("copy/current");
    let text = fs::read_to_string(&damaged).unwrap();
    fs::write(&damaged, text.replacen("open", "oben", 1)).unwrap();
    let ran = sandbox.run(&["backup", "--verify", "copy"]);
    assert_eq!(ran.code, 6, "{}", ran.err);
    sandbox.fails(6, &["restore", "copy", "third"]);
    assert!(!sandbox.join("third/.sapwood").exists());
}

#[test]
fn a_damaged_backup_says_what_to_do_and_a_restore_of_it_leaves_nothing() {
    let sandbox = Sandbox::with_store();
    sandbox.append("s1", "main", &["one", "two"]);
    sandbox.ok(&["-q", "repack"]);
    sandbox.ok(&["-q", "backup", "copy"]);
    let files = fs::read_dir(sandbox.join("copy/objects/pack")).unwrap();
    let mut files = files.map(|entry| entry.unwrap().path());
    let pack = files.find(|path| path.extension().is_some_and(|end| end == "pack")).unwrap();
    let mut bytes = fs::read(&pack).unwrap();
    bytes[60] ^= 1;
    fs::write(&pack, &bytes).unwrap();
    let ran = sandbox.run(&["backup", "--verify", "copy"]);
    let (code, told) = (ran.code, ran.err);
    assert_eq!(code, 6);
    assert!(told.contains("the backup has") && told.contains("copies them again"), "{told}");
    let told = sandbox.fails(6, &["restore", "copy", "third"]);
    assert!(told.contains("copy/objects/pack") && told.contains("backup --verify"), "{told}");
    assert_eq!(fs::read_dir(sandbox.join("third")).unwrap().count(), 0);
    fs::remove_file(&pack).unwrap();
    sandbox.ok(&["-q", "backup", "copy"]);
    sandbox.ok(&["-q", "backup", "--verify", "copy"]);
    sandbox.ok(&["-q", "restore", "copy", "third"]);
}

#[test]
fn a_dry_run_makes_no_store_and_needs_none() {
    let (home, away) = (Sandbox::with_store(), Sandbox::new());
    home.append("s1", "main", &["one"]);
    home.ok(&["-q", "bundle", "create", "all.bundle", "--all"]);
    let bundle = home.join("all.bundle").display().to_string();
    let store = home.join(".sapwood").display().to_string();
    away.ok(&["bundle", "unbundle", "-n", &bundle]);
    away.ok(&["fetch", "-n", &store]);
    away.fails(7, &["bundle", "unbundle", "nothing.bundle"]);
    away.fails(3, &["sessions"]);
    away.ok(&["-q", "fetch", &store]);
    away.ok(&["sessions"]);
}

#[test]
fn a_backup_has_what_was_redacted_and_forgotten_and_refuses_it_too() {
    let sandbox = Sandbox::with_store();
    let ids = sandbox.append("s1", "main", &["one", "the word is zebra", "two"]);
    sandbox.ok(&["-q", "backup", "copy"]);
    sandbox.feed_ok(&["redact", "--pattern-file", "-"], "zebra");
    sandbox.ok(&["-q", "backup", "copy"]);
    sandbox.ok(&["-q", "backup", "--verify", "copy"]);
    sandbox.ok(&["-q", "restore", "copy", "first"]);
    sandbox.fails(1, &["-C", "first", "cat-file", "-e", &ids[1]]);

    let forgotten = sandbox.ok(&["rev-parse", "s1:main"]);
    sandbox.ok(&["-q", "forget", "--yes", &forgotten]);
    sandbox.ok(&["-q", "backup", "copy"]);
    assert_eq!(sandbox.ok(&["-q", "backup", "--verify", "copy"]), "", "no list of before is left");
    sandbox.ok(&["-q", "restore", "copy", "second"]);
    let log = sandbox.ok(&["log", "--oneline", "-s", "s1"]);
    assert_eq!(sandbox.ok(&["-C", "second", "log", "--oneline", "-s", "s1"]), log);
    sandbox.append("s1", "main", &["on it goes"]);
    let bundle = sandbox.join("old.bundle").display().to_string();
    sandbox.ok(&["-q", "-C", "first", "bundle", "create", &bundle, "--all"]);
    let told = sandbox.fails(3, &["-C", "second", "bundle", "unbundle", &bundle]);
    assert!(told.contains("removed from this store for good"), "{told}");
}
