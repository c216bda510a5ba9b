//! A secret in a hundred places, by the command line.

use std::collections::BTreeMap;

use sapwood::disk::OsDisk;

use super::search::found_in;
use crate::cli::Sandbox;

const PLAIN: &str = "vault-Kx9-7731-pass";
/// With a quote, a backslash, an apostrophe and a newline.
const ODD: &str = "quo\"te\\d it's\ntwo lines";

/// The parts of the secrets that no other text has, however they are spelled.
const NEEDLES: [&str; 4] = [PLAIN, "two lines", "quo\\", "te\\\\d"];

fn json(text: &str) -> String {
    sapwood::codec::json::to_string(&sapwood::codec::Value::from(text))
}

/// Puts the secrets everywhere.
fn filled() -> Sandbox {
    let sandbox = Sandbox::with_store();
    let say = |session: &str, branch: &str, text: &str| {
        let line = format!("{{\"role\":\"user\",\"content\":{}}}\n", json(text));
        sandbox.feed_ok(&["append", "--stdin", "-s", session, "-b", branch], line);
    };
    say("s1", "main", "an innocent begin");
    sandbox.ok(&["session", "rename", "s1", &format!("about {PLAIN}")]);
    for number in 0..40 {
        say("s1", "main", &format!("{number}: the key is {PLAIN}, keep it"));
        say("s1", "main", &format!("{number}: nothing here"));
    }
    let filler = "a long text that is stored apart. ".repeat(40);
    for number in 0..10 {
        say("s1", "main", &format!("{number} {filler} {PLAIN} {filler}"));
    }
    say("s1", "main", &format!("{PLAIN} {}", "large ".repeat(60_000)));
    // Barely long enough to be stored apart, and not any more when it is redacted.
    say("s1", "main", &format!("{PLAIN}{}", "x".repeat(1024 - PLAIN.len())));
    sandbox.ok(&["repack", "-q"]);
    for number in 0..10 {
        let arguments = format!("{{\"command\":{}}}", json(&format!("echo {ODD}")));
        let line = format!(
            "{{\"role\":\"assistant\",\"number\":{number},\"content\":[{{\"type\":\"tool_use\",\
             \"id\":\"t{number}\",\"name\":\"bash\",\"input\":{{\"arguments\":{}}}}}]}}\n",
            json(&arguments)
        );
        sandbox.feed_ok(&["append", "--stdin", "-s", "s1"], line);
        let result = format!(
            "{{\"role\":\"user\",\"content\":[{{\"type\":\"tool_result\",\
             \"tool_use_id\":\"t{number}\",\"content\":{}}}],\"{PLAIN}\":{number}}}\n",
            json(ODD)
        );
        sandbox.feed_ok(&["append", "--stdin", "-s", "s1"], result);
    }
    sandbox.ok(&["label", "-s", "s1", &format!("label {PLAIN}"), "main~3"]);
    sandbox.ok(&["branch", "-s", "s1", &format!("side/{PLAIN}"), "main~5"]);
    sandbox.ok(&["switch", "-q", "-s", "s1", "-c", "other", "--fact", &format!("key={PLAIN}")]);
    sandbox.ok(&[
        "memory",
        "commit",
        "-s",
        "s1",
        "--fact",
        &format!("{PLAIN}=a key"),
        "--note",
        ODD,
    ]);
    say("s1", "other", &format!("said elsewhere: {ODD}"));
    std::fs::write(sandbox.join("notes.txt"), format!("{filler}{PLAIN}\n{ODD}\n")).unwrap();
    sandbox.ok(&["attach", "-s", "s1", &format!("notes {PLAIN}"), "notes.txt"]);
    sandbox.ok(&["label", "-s", "s1", &format!("taken back {PLAIN}"), "main~4"]);
    sandbox.ok(&["undo", "-s", "s1"]);
    let reason = format!("because of {PLAIN}");
    sandbox.ok(&["fork", "-q", "-s", "s1", "main", "--name", "s2", "--reason", &reason]);
    say("s2", "main", "in the fork");
    say("s2", "main", &format!("in the fork: {PLAIN}"));
    say("s3", "main", &format!("in a session that was removed: {PLAIN}"));
    sandbox.ok(&["session", "rm", "-q", "s3"]);
    sandbox.feed_ok(&["hash-object", "-w", "--stdin"], format!("nothing leads here: {PLAIN}"));
    let called = format!("s5-{PLAIN}");
    say(&called, "main", "in a session that is called so");
    sandbox.ok(&["label", "-s", &called, "here", "main"]);
    say("s4", "main", "knows nothing");
    say("s4", "main", &filler);
    sandbox.ok(&["session", "rename", "s1", &format!("now {ODD}")]);
    sandbox.ok(&["sessions"]);
    sandbox
}

fn store(sandbox: &Sandbox) -> std::path::PathBuf {
    sandbox.join(".sapwood")
}

fn patterns() -> String {
    format!("{PLAIN}\njson:{}\n", json(ODD))
}

/// What can be seen of the store, with every id replaced by its first appearance.
fn seen(sandbox: &Sandbox) -> BTreeMap<String, String> {
    let mut seen = BTreeMap::new();
    for session in ["s1", "s2", "s4"] {
        for command in ["context", "transcript", "export"] {
            let text = sandbox.ok(&[command, "--json", "-s", session]);
            seen.insert(format!("{session} {command}"), text);
        }
    }
    seen
}

/// Replaces the secrets as a person would expect it, in plain text.
fn expected(text: &str) -> String {
    let spelled = |text: &str| json(text).trim_matches('"').to_owned();
    let twice = spelled(&spelled(ODD));
    let mut text = text.replace(PLAIN, "[redacted]");
    for odd in [twice, spelled(ODD), ODD.to_owned()] {
        text = text.replace(&odd, "[redacted]");
    }
    text
}

/// Takes ids out of a text: those that were rewritten have others.
fn without_ids(text: &str) -> String {
    let is_id = |word: &str| word.len() >= 8 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let words = text.split_inclusive(|letter: char| !letter.is_ascii_alphanumeric());
    words
        .map(|word| {
            if is_id(word.trim_end_matches(|l: char| !l.is_ascii_alphanumeric())) {
                "ID "
            } else {
                word
            }
        })
        .collect()
}

#[test]
fn no_byte_of_a_secret_in_a_hundred_places_is_left_and_all_else_is_as_it_was() {
    let sandbox = filled();
    let root = store(&sandbox);
    assert!(found_in(&OsDisk, &root, &NEEDLES).len() > 5, "it is everywhere");
    let before = seen(&sandbox);
    let innocent = sandbox.ok(&["for-each-ref", "sessions/s4"]);
    let refs = sandbox.ok(&["for-each-ref"]).lines().count();

    let dry =
        sandbox.feed_ok(&["redact", "--pattern-file", "-", "--dry-run", "--json"], patterns());
    assert!(dry.contains("\"dry_run\":true"), "{dry}");
    assert_eq!(seen(&sandbox), before, "a dry run changes nothing");
    let told = sandbox.feed_ok(&["redact", "--pattern-file", "-", "--json"], patterns());
    let number = |text: &str, name: &str| -> u64 {
        let rest = text.split(&format!("\"{name}\":")).nth(1).unwrap();
        rest.split(|letter: char| !letter.is_ascii_digit()).next().unwrap().parse().unwrap()
    };
    assert!(number(&told, "literal 1") + number(&told, "literal 2") >= 100, "{told}");
    for name in ["literal 1", "literal 2", "objects_found", "refs", "operations"] {
        assert_eq!(number(&told, name), number(&dry, name), "{name}");
    }
    assert!(told.contains("\"left\":[]"), "{told}");

    assert_eq!(found_in(&OsDisk, &root, &NEEDLES), Vec::<String>::new());
    let ran = sandbox.run(&["fsck"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{}", ran.err);
    assert_eq!(sandbox.ok(&["for-each-ref", "sessions/s4"]), innocent);
    assert_eq!(sandbox.ok(&["for-each-ref"]).lines().count(), refs);
    for (what, now) in seen(&sandbox) {
        let was = expected(&before[&what]);
        match what.contains("transcript") {
            // What was done is told at the end.
            true => assert_eq!(now.contains("redact"), what != "s4 transcript", "{what}"),
            false => assert_eq!(without_ids(&now), without_ids(&was), "{what}"),
        }
    }
    assert!(sandbox.ok(&["op", "log"]).contains("redact --pattern-file"));
    assert!(sandbox.ok(&["sessions"]).contains("now [redacted]"));
    let undone = sandbox.fails(3, &["undo", "-s", "s1"]);
    assert!(undone.contains("for good"), "{undone}");

    let again = sandbox.feed_ok(&["redact", "--pattern-file", "-"], patterns());
    assert!(again.contains("nothing was found"), "{again}");
    sandbox.ok(&["append", "-s", "s1", "-m", "and on it goes"]);
    assert!(sandbox.ok(&["log", "-s", "s1"]).contains("and on it goes"));
}

#[test]
fn what_a_message_says_is_replaced_and_what_it_is_stays() {
    let sandbox = Sandbox::with_store();
    let ids = sandbox.append("s1", "main", &["one", "the words of this one", "three"]);
    let long = "only this one says that. ".repeat(60);
    sandbox.ok(&["append", "-s", "s1", "-m", &long]);
    sandbox.ok(&["redact", "--rev", "main~2", "-s", "s1", "--replace", "[removed]"]);
    let log = sandbox.ok(&["log", "-s", "s1"]);
    assert!(!log.contains("the words of this one") && log.contains("[removed]"), "{log}");
    assert!(log.contains("one") && log.contains("three"));
    assert_eq!(sandbox.ok(&["rev-parse", "s1:main~3"]), ids[0], "before it, all stays");
    sandbox.ok(&["redact", "--rev", "main", "-s", "s1"]);
    let needles = ["only this one says that", "the words of this one"];
    assert_eq!(found_in(&OsDisk, &store(&sandbox), &needles), Vec::<String>::new());
    assert_eq!(sandbox.run(&["fsck", "-q"]).code, 0);
}

#[test]
fn bad_patterns_are_refused_and_never_repeated() {
    let sandbox = filled();
    let refused = |input: &str, args: &[&str]| {
        let mut all = vec!["redact", "--pattern-file", "-"];
        all.extend(args);
        let ran = sandbox.feed(&all, input);
        assert_eq!((ran.code, ran.out.as_str()), (3, ""), "{input:?}: {}", ran.err);
        ran.err
    };
    for input in ["", "\n\n", "abc", "regex:secretword(", "json:secretword", "regex:(secretword)?"]
    {
        let told = refused(input, &[]);
        assert!(!told.contains("secretword"), "{told}");
    }
    refused(PLAIN, &["--replace", &format!("not {PLAIN}")]);
    refused(PLAIN, &["--replace", "a\"b"]);
    sandbox.fails(2, &["redact"]);
    sandbox.fails(2, &["redact", "--rev", "main", "--secrets"]);
}
