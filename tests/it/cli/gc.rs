//! `gc`

use super::*;

/// A store with three messages, and an attachment that nothing leads to.
fn littered() -> (Sandbox, String) {
    let sandbox = Sandbox::with_store();
    sandbox.append("s1", "main", &["one", "two", "three"]);
    let blob = sandbox.feed_ok(&["hash-object", "-w", "--stdin"], "nothing leads here");
    (sandbox, blob)
}

#[test]
fn garbage_goes_at_once_or_stays_for_a_while() {
    let (sandbox, blob) = littered();
    let ran = sandbox.run(&["gc"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{}", ran.err);
    assert!(ran.err.starts_with("5 objects: "), "what is young is no garbage: {}", ran.err);
    let would = sandbox.run(&["gc", "--dry-run", "--prune=now"]).err;
    assert_eq!(
        would,
        "Would set aside 1 object that nothing leads to (blob 1)\nWould drop 1 object\n"
    );
    assert_eq!(sandbox.ok(&["cat-file", "-t", &blob]), "blob");
    let did = sandbox.run(&["gc", "--prune=now"]).err;
    assert!(
        did.starts_with("Set aside 1 object that nothing leads to (blob 1)\nDropped 1 "),
        "{did}"
    );
    sandbox.fails(1, &["cat-file", "-e", &blob]);
    assert_eq!(sandbox.ok(&["log", "--format", "%s"]).lines().count(), 3);
    assert_eq!(sandbox.run(&["fsck"]).code, 0);
}

#[test]
fn a_report_has_its_shape() {
    let (sandbox, _) = littered();
    let json = sandbox.ok(&["gc", "--json", "--prune=never"]);
    let is_name = |part: &&str| part.ends_with(|c: char| c == '_' || c.is_ascii_lowercase());
    let names: Vec<&str> = json.split('"').filter(is_name).collect();
    let expected = "v done finished objects_before objects_after packs_before packs_after \
        bytes_before bytes_after set_aside blob entry node event session brought_back dropped \
        operations sessions leftovers waiting";
    assert_eq!(names.join(" "), expected);
    assert_eq!(sandbox.ok(&["gc", "--auto", "--json"]), r#"{"v":1,"done":false}"#);
    assert_eq!(sandbox.run(&["gc", "--auto"]).err, "");
    let ran = sandbox.run(&["gc", "--max-time", "0"]);
    assert!(
        ran.err.ends_with("There was no time for all of it; the next run goes on\n"),
        "{ran:?}"
    );
}

#[test]
fn what_can_not_be_is_refused() {
    let (sandbox, _) = littered();
    assert!(sandbox.fails(3, &["gc", "--prune=soon"]).contains("a time or 'never', not 'soon'"));
    sandbox.fails(2, &["gc", "--dry-run", "--auto"]);
    sandbox.fails(3, &["config", "gc.prune", "whenever"]);
    sandbox.fails(3, &["config", "gc.auto", "often"]);
    sandbox.ok(&["config", "gc.prune", "3 days"]);
    sandbox.ok(&["config", "gc.auto", "7"]);
    let text = std::fs::read_to_string(sandbox.join(".sapwood/config.toml")).unwrap();
    assert!(text.contains("auto = 7") && text.contains("prune = \"3 days\""), "{text}");
}

#[test]
fn what_was_undone_can_be_redone_after_a_collection_until_it_expires() {
    let (sandbox, _) = littered();
    sandbox.ok(&["branch", "side", "main~1", "-s", "s1"]);
    sandbox.run(&["undo", "-s", "s1"]);
    sandbox.run(&["gc", "--prune=now"]);
    assert_eq!(sandbox.run(&["redo", "-s", "s1"]).code, 0);
    sandbox.ok(&["config", "gc.operations", "now"]);
    let dropped = sandbox.run(&["gc", "--prune=now"]).err;
    assert!(dropped.contains(" operations"), "{dropped}");
    assert_eq!(sandbox.ok(&["op", "log"]), "");
    sandbox.run(&["branch", "another", "main", "-s", "s1"]);
    sandbox.run(&["undo", "-s", "s1"]);
    let refused = sandbox.fails(3, &["undo", "-s", "s1"]);
    assert!(refused.contains("have expired"), "{refused}");
}

#[test]
fn writers_begin_a_collection_where_one_is_due() {
    let (sandbox, _) = littered();
    sandbox.run(&["pack-refs"]);
    sandbox.ok(&["config", "gc.auto", "1"]);
    let packed = || std::fs::read_dir(sandbox.join(".sapwood/objects/pack")).unwrap().count();
    let before: Vec<_> = names(&sandbox);
    sandbox.append("s1", "main", &["four"]);
    // It is a process of its own: one waits for what it does.
    let began = std::time::Instant::now();
    while names(&sandbox) == before && began.elapsed().as_secs() < 30 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_ne!(names(&sandbox), before);
    assert!(packed() >= 3);
    assert!(sandbox.join(".sapwood/cache/gc-begun").exists(), "not again for a while");
}

fn names(sandbox: &Sandbox) -> Vec<String> {
    let listed = std::fs::read_dir(sandbox.join(".sapwood/objects/pack")).unwrap();
    let packs = listed.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut packs: Vec<String> = packs.filter(|name| name.ends_with(".pack")).collect();
    packs.sort();
    packs
}

#[test]
fn what_is_missing_is_damage_and_a_repair_lets_it_go_on() {
    let sandbox = Sandbox::with_store();
    sandbox.append("s1", "main", &["one"]);
    std::fs::write(sandbox.join("large"), "large ".repeat(60_000)).unwrap();
    let id = sandbox.ok(&["attach", "-q", "-s", "s1", "notes", "large"]);
    sandbox.append("s1", "main", &["two"]);
    let path = format!(".sapwood/objects/{}/{}", &id[..2], &id[2..]);
    std::fs::remove_file(sandbox.join(&path)).unwrap();
    for args in [&["gc"][..], &["gc", "--dry-run"]] {
        let ran = sandbox.run(args);
        assert_eq!(ran.code, 6, "{}", ran.err);
        assert!(ran.err.contains("which is missing; nothing was dropped"), "{}", ran.err);
        assert!(ran.err.contains("fsck --fix"), "{}", ran.err);
    }
    sandbox.ok(&["fsck", "--fix", "-q"]);
    for args in [&["gc"][..], &["gc", "--prune=now"]] {
        let ran = sandbox.run(args);
        assert_eq!(ran.code, 0, "{}", ran.err);
    }
    assert!(sandbox.ok(&["log", "-s", "s1"]).contains("two"));
    assert_eq!(sandbox.run(&["fsck", "-q"]).code, 0);
}

#[test]
fn no_empty_directory_of_cruft_is_left() {
    let sandbox = Sandbox::with_store();
    sandbox.append("s1", "main", &["one"]);
    sandbox.feed_ok(&["hash-object", "-w", "--stdin"], "large ".repeat(60_000));
    let fans = || std::fs::read_dir(sandbox.join(".sapwood/objects/cruft")).unwrap().count();
    sandbox.ok(&["gc", "-q", "--prune=never"]);
    sandbox.ok(&["gc", "-q", "--prune=now"]);
    assert_eq!(fans(), 0);
    assert_eq!(sandbox.run(&["fsck", "-q"]).code, 0);
}

#[test]
fn what_expired_is_told_where_a_ref_is_asked_for_what_it_was() {
    let sandbox = Sandbox::with_store();
    let ids = sandbox.append("s1", "main", &["one", "two", "three"]);
    for id in &ids[..2] {
        sandbox.ok(&["reset", "-q", "-s", "s1", id]);
    }
    let few = sandbox.fails(1, &["rev-parse", "s1:main@{9}"]);
    assert!(few.contains("only 2 operations moved") && !few.contains("expired"), "{few}");
    sandbox.ok(&["config", "gc.operations", "now"]);
    sandbox.ok(&["gc", "-q"]);
    sandbox.ok(&["reset", "-q", "-s", "s1", &ids[0]]);
    let few = sandbox.fails(1, &["rev-parse", "s1:main@{9}"]);
    assert!(few.contains("older ones have expired"), "{few}");
}

#[test]
fn a_removed_session_goes_when_its_removal_can_not_be_undone() {
    let sandbox = Sandbox::with_store();
    let gone = sandbox.append("s1", "main", &["one"]);
    let kept = sandbox.append("s2", "main", &["two"]);
    sandbox.ok(&["session", "rm", "-q", "s1"]);
    sandbox.ok(&["gc", "-q", "--prune=now"]);
    sandbox.ok(&["session", "restore", "-q", "s1"]);
    sandbox.ok(&["session", "use", "-q", "s2"]);
    sandbox.ok(&["expire", "-q", "--yes", "--older-than", "0d"]);
    sandbox.ok(&["config", "gc.operations", "now"]);
    let would = sandbox.run(&["gc", "--dry-run"]).err;
    assert!(would.starts_with("Would drop 1 session whose removal is too old"), "{would}");
    sandbox.ok(&["cat-file", "-e", &gone[0]]);
    let told = sandbox.ok(&["gc", "--json", "--prune=now"]);
    assert!(told.contains("\"sessions\":1,"), "{told}");
    sandbox.fails(1, &["cat-file", "-e", &gone[0]]);
    sandbox.fails(3, &["session", "restore", "s1"]);
    sandbox.ok(&["cat-file", "-e", &kept[0]]);
    sandbox.ok(&["-q", "fsck"]);
}
