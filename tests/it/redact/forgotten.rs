//! Whole paths and sessions that go, and sessions that expire.

use sapwood::disk::OsDisk;

use super::import::{message, only_session, written};
use super::search::found_in;
use crate::cli::Sandbox;

fn filled() -> (Sandbox, Vec<String>) {
    let sandbox = Sandbox::with_store();
    let ids = sandbox.append("s1", "main", &["one", "two", "three", "four"]);
    sandbox.ok(&["label", "-s", "s1", "on-four", &ids[3]]);
    sandbox.ok(&["label", "-s", "s1", "on-two", &ids[1]]);
    sandbox.ok(&["fork", "-s", "s1", &ids[2], "--name", "s2", "--no-use"]);
    sandbox.append("s2", "main", &["in the fork"]);
    sandbox.ok(&["switch", "-q", "-s", "s1", "-c", "side", "--fact", "learned=on main"]);
    let long = format!("on the side {}", "and on ".repeat(300));
    sandbox.append("s1", "side", &[&long]);
    sandbox.ok(&["fork", "-s", "s1", &ids[0], "--name", "s3", "--no-use"]);
    sandbox.append("s3", "main", &["of its own"]);
    (sandbox, ids)
}

#[test]
fn an_entry_goes_with_all_that_follows_it_everywhere() {
    let (sandbox, ids) = filled();
    let dry = sandbox.ok(&["forget", "--dry-run", "--json", &ids[2]]);
    assert!(dry.contains("\"entries\":"), "{dry}");
    let own = sandbox.ok(&["log", "-s", "s3", "--oneline"]);
    let refused = sandbox.fails(3, &["forget", &ids[2]]);
    assert!(refused.contains("--yes"), "{refused}");
    let told = sandbox.ok(&["forget", "--yes", "--json", &ids[2]]);
    assert_eq!(told, dry.replace("\"dry_run\":true", "\"dry_run\":false"));

    for (session, branch, end) in
        [("s1", "main", &ids[1]), ("s1", "side", &ids[1]), ("s2", "main", &ids[1])]
    {
        assert_eq!(
            &sandbox.ok(&["rev-parse", &format!("{session}:{branch}")]),
            end,
            "{session} {branch}"
        );
    }
    assert_eq!(sandbox.ok(&["log", "-s", "s3", "--oneline"]), own);
    sandbox.fails(1, &["rev-parse", "s1:on-four"]);
    assert_eq!(sandbox.ok(&["rev-parse", "s1:on-two"]), ids[1]);
    for session in ["s1", "s2", "s3"] {
        let transcript = sandbox.ok(&["transcript", "-s", session]);
        assert!(
            !transcript.contains("three") && !transcript.contains("user: four"),
            "{transcript}"
        );
    }
    let needles = ["three", "\"four", "in the fork", "on the side", "learned"];
    assert_eq!(found_in(&OsDisk, &sandbox.join(".sapwood"), &needles), Vec::<String>::new());
    let ran = sandbox.run(&["fsck"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{}", ran.err);
    for args in [&["undo", "-s", "s1"][..], &["undo"], &["undo", "--all"]] {
        assert!(sandbox.fails(3, args).contains("for good"), "{args:?}");
    }
    // What was forgotten does not come back by itself; what was not said yet may be said.
    let line = r#"{"timestamp":1700000000002,"text":"three"}"#;
    let ran = sandbox.feed(&["append", "--stdin", "-s", "s1", "-b", "main"], line);
    assert_eq!(ran.code, 3, "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("removed from this store for good"), "{}", ran.err);
    sandbox.append("s1", "main", &["five"]);
    assert_eq!(sandbox.run(&["fsck", "-q"]).code, 0);
}

#[test]
fn branches_that_are_named_after_what_goes_are_told() {
    for verb in ["forget", "redact"] {
        let sandbox = Sandbox::with_store();
        let mut file = message("a", "null", "an innocent begin");
        file += &message("b", "\"a\"", "Zebra crossing at dawn");
        file += &message("c", "\"a\"", "the end");
        sandbox.ok(&["import", "-q", &written(&sandbox, "x.jsonl", &file)]);
        let session = only_session(&sandbox);
        let branch = format!("{session}:zebra-crossing-at-dawn");
        let said = sandbox.ok(&["rev-parse", &branch]);
        let gone = match verb {
            "forget" => sandbox.run(&["forget", "--yes", &said]),
            _ => sandbox.run(&["redact", "--rev", &said]),
        };
        assert_eq!(gone.code, 0, "{}", gone.err);
        assert!(gone.err.contains("branch 'zebra-crossing-at-dawn'"), "{verb}: {}", gone.err);
        sandbox.ok(&["rev-parse", &branch]);
        let ran = sandbox.feed(&["redact", "--pattern-file", "-"], "zebra-crossing-at-dawn\n");
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert!(!ran.err.contains("is named after"), "{}", ran.err);
        let needles = ["ebra crossing", "ebra-crossing"];
        assert_eq!(found_in(&OsDisk, &sandbox.join(".sapwood"), &needles), Vec::<String>::new());
    }
    let (sandbox, ids) = filled();
    let told = sandbox.ok(&["forget", "--yes", "--json", &ids[2]]);
    assert!(told.contains("\"named\":[]"), "{told}");
}

#[test]
fn a_session_goes_whole_and_its_forks_keep_what_they_have() {
    for is_removed in [false, true] {
        let (sandbox, ids) = filled();
        if is_removed {
            sandbox.ok(&["session", "rm", "-q", "s1"]);
        }
        let forks: Vec<String> =
            ["s2", "s3"].map(|fork| sandbox.ok(&["log", "-s", fork])).into_iter().collect();
        let told = sandbox.ok(&["forget", "--yes", "--session", "s1"]);
        assert!(told.starts_with("forgot 3 messages"), "{told}");
        let now: Vec<String> =
            ["s2", "s3"].map(|fork| sandbox.ok(&["log", "-s", fork])).into_iter().collect();
        assert_eq!(now, forks);
        sandbox.fails(1, &["cat-file", "-e", &ids[3]]);
        let needles = ["\"four", "on the side", "learned"];
        assert_eq!(found_in(&OsDisk, &sandbox.join(".sapwood"), &needles), Vec::<String>::new());
        let ran = sandbox.run(&["fsck"]);
        assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{}", ran.err);
        sandbox.fails(1, &["log", "-s", "s1"]);
    }
}

#[test]
fn old_sessions_expire_and_come_back() {
    let (sandbox, _) = filled();
    let told = sandbox.run(&["expire", "--older-than", "2099-01-01"]);
    assert_eq!(told.code, 0, "{}", told.err);
    assert!(told.err.contains("would be removed"), "{}", told.err);
    let count = |ran: &crate::cli::Ran| ran.out.lines().count();
    // s1 is the current one.
    assert_eq!(count(&told), 2, "{}", told.out);
    let kept = sandbox.run(&["expire", "--older-than", "2099-01-01", "--keep-last", "2"]);
    assert!(count(&kept) < 2, "{}", kept.out);
    assert_eq!(count(&sandbox.run(&["expire", "--older-than", "2020-01-01"])), 0);
    let json = sandbox.run(&["expire", "--older-than", "2099-01-01", "--json"]).out;
    assert_eq!(json.lines().count(), 3, "{json}");
    assert!(json.contains("\"kept\":\"current\""), "{json}");
    let done = sandbox.run(&["expire", "--older-than", "2099-01-01", "--yes"]);
    assert_eq!(count(&done), 2, "{}", done.out);
    sandbox.fails(1, &["log", "-s", "s2"]);
    let removed = sandbox.ok(&["for-each-ref", "deleted"]);
    let removed = removed.lines().filter_map(|line| {
        Some(line.split("deleted/").nth(1)?.strip_suffix("/1/meta")?.to_owned())
    });
    let removed: Vec<String> = removed.collect();
    sandbox.ok(&["session", "restore", "-q", &removed[0]]);
    sandbox.ok(&["undo", "-s", &removed[1]]);
    assert!(sandbox.ok(&["log", "-s", "s2"]).contains("in the fork"));
    let log = sandbox.ok(&["log", "-s", "s3", "main"]);
    assert!(log.contains("of its own"), "{log}");
}

#[test]
fn a_session_that_was_forgotten_is_not_undone_in_silence() {
    let sandbox = Sandbox::with_store();
    sandbox.append("s1", "main", &["one"]);
    sandbox.append("s2", "main", &["two"]);
    sandbox.ok(&["-q", "forget", "--yes", "--session", "s1"]);
    assert!(sandbox.fails(3, &["undo", "--all"]).contains("for good"));
    let told = sandbox.fails(3, &["redo"]);
    assert!(told.contains("nothing of") && !told.contains("expired"), "{told}");
}

#[test]
fn an_import_is_not_taken_back_where_something_was_removed_since() {
    let sandbox = Sandbox::with_store();
    std::fs::create_dir(sandbox.join("in")).unwrap();
    written(&sandbox, "in/clean.jsonl", &message("a", "null", "an innocent begin"));
    written(&sandbox, "in/leak.jsonl", &message("b", "null", "the word is zebra"));
    let folder = sandbox.join("in").display().to_string();
    sandbox.ok(&["import", "-q", &folder]);
    sandbox.feed_ok(&["redact", "--pattern-file", "-"], "zebra");
    sandbox.ok(&["session", "use", "-q", "clean"]);
    // The current session was not redacted, and so its last operation is the import of both.
    let ran = sandbox.run(&["undo"]);
    assert_eq!(ran.code, 3, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("import"), "{}", ran.out);
    assert!(ran.err.contains("session 'leak' is kept as it is"), "{}", ran.err);
    let left = sandbox.ok(&["sessions", "--json"]);
    assert_eq!(left.lines().count(), 1, "{left}");
    assert!(left.contains("\"session\":\"leak\""), "{left}");
}
