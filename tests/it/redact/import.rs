//! Secrets in files that are imported: found in lines that are kept as they were, refused when they
//! come back, and replaced on their way in.

use sapwood::disk::OsDisk;

use super::search::found_in;
use crate::cli::Sandbox;

const PLAIN: &str = "vault-Kx9-7731-pass";

/// A key that looks real and is not, put together so that no scanner stumbles over this file.
fn key() -> String {
    format!("{}{}", "AKIA", "IOSFODNN7EXAMPLE".replace("EXAMPLE", "QW2Z4X6"))
}

/// A line of a session of Claude's.
pub(super) fn message(id: &str, parent: &str, content: &str) -> String {
    format!(
        "{{\"type\":\"user\",\"uuid\":\"{id}\",\"parentUuid\":{parent},\"sessionId\":\"x\",\
         \"timestamp\":\"2026-01-01T00:00:00.000Z\",\
         \"message\":{{\"role\":\"user\",\"content\":\"{content}\"}}}}\n"
    )
}

/// A session of Claude's with the secret in plain, in a line that is written oddly, with escapes,
/// and in one that is torn.
fn file(secret: &str) -> String {
    let letters: String = secret.chars().map(|c| format!("\\u{:04x}", c as u32)).collect();
    let mut text = message("a", "null", "an innocent begin");
    text += &message("b", "\"a\"", &format!("the key is {secret}"));
    text += &message("c", "\"b\"", &format!("escaped: {letters}")).replace(",\"uuid", " , \"uuid");
    text += &message("d", "\"c\"", &format!("{} {secret}", "long ".repeat(400)));
    text += &message("e", "\"d\"", "an innocent end");
    text + &format!("{{\"torn\":\"{secret}")
}

pub(super) fn written(sandbox: &Sandbox, name: &str, text: &str) -> String {
    let path = sandbox.join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

pub(super) fn only_session(sandbox: &Sandbox) -> String {
    let listed = sandbox.ok(&["for-each-ref", "sessions"]);
    let line = listed.lines().find(|line| line.ends_with("/meta")).unwrap().to_owned();
    line.rsplit("sessions/").next().unwrap().trim_end_matches("/meta").to_owned()
}

fn needles(secret: &str) -> [String; 2] {
    let letters: String = secret.chars().map(|c| format!("\\u{:04x}", c as u32)).collect();
    [secret.to_owned(), letters]
}

#[test]
fn imported_lines_are_redacted_as_they_stand_and_the_rest_of_the_file_is_exact() {
    let sandbox = Sandbox::with_store();
    let path = written(&sandbox, "x.jsonl", &file(PLAIN));
    sandbox.ok(&["import", "-q", &path]);
    let session = only_session(&sandbox);
    assert_eq!(sandbox.run(&["export", "-s", &session]).out, file(PLAIN));
    sandbox.feed_ok(&["redact", "--pattern-file", "-"], PLAIN);
    let [plain, letters] = needles(PLAIN);
    let left = found_in(&OsDisk, &sandbox.join(".sapwood"), &[&plain, &letters]);
    assert_eq!(left, Vec::<String>::new());
    let expected = file(PLAIN).replace(&plain, "[redacted]").replace(&letters, "[redacted]");
    assert_eq!(sandbox.run(&["export", "-s", &session]).out, expected);
    assert_eq!(sandbox.run(&["fsck", "-q"]).code, 0);

    // The file goes on, and so does its session: only what is new is read.
    let torn = format!("{{\"torn\":\"{PLAIN}");
    let more = file(PLAIN).replace(&torn, "") + &file("nothing").replace("\"x\"", "\"y\"");
    let more = more.replace("{\"torn\":\"nothing", "");
    let path = written(&sandbox, "x.jsonl", &more);
    let ran = sandbox.run(&["import", "-q", &path]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(
        found_in(&OsDisk, &sandbox.join(".sapwood"), &[&plain, &letters]),
        Vec::<String>::new()
    );
}

#[test]
fn what_was_redacted_is_refused_when_it_comes_back_and_taken_without_the_secret() {
    let sandbox = Sandbox::with_store();
    let path = written(&sandbox, "x.jsonl", &file(PLAIN));
    sandbox.ok(&["import", "-q", &path]);
    sandbox.feed_ok(&["redact", "--pattern-file", "-"], PLAIN);
    let copy = written(&sandbox, "copy.jsonl", &file(PLAIN));
    let ran = sandbox.run(&["import", "-k", &copy]);
    assert_eq!(ran.code, 1, "{}", ran.out);
    assert!(ran.err.contains("copy.jsonl: line 2: "), "{}", ran.err);
    assert!(ran.err.contains("removed from this store for good"), "{}", ran.err);
    sandbox.ok(&["repack", "-q"]);
    assert_eq!(found_in(&OsDisk, &sandbox.join(".sapwood"), &[PLAIN]), Vec::<String>::new());
    let ran = sandbox.run(&["import", &copy]);
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.contains("--redact-"), "it says what to do: {}", ran.err);

    let patterns = written(&sandbox, "patterns", PLAIN);
    let told = sandbox.ok(&["import", "--redact-patterns", &patterns, &copy]);
    assert!(told.contains("redacted: 5 x literal 1"), "{told}");
    assert_eq!(found_in(&OsDisk, &sandbox.join(".sapwood"), &[PLAIN]), Vec::<String>::new());
    // What is replaced on its way in is what it would have become.
    assert!(told.contains("shared: 5 of 5 entries, 1 of 1 long strings"), "{told}");

    // Others may say what they like.
    let blob = format!("nothing of the {}", "sort ".repeat(400));
    sandbox.feed_ok(&["hash-object", "-w", "--stdin"], blob);
    let refused = format!("{} {PLAIN}", "long ".repeat(400));
    let ran = sandbox.feed(&["hash-object", "-w", "--stdin"], refused);
    assert_eq!(ran.code, 3, "{}", ran.err);
}

#[test]
fn common_keys_are_replaced_before_anything_is_stored() {
    let sandbox = Sandbox::with_store();
    let secret = key();
    let path = written(&sandbox, "x.jsonl", &file(&secret));
    let told = sandbox.ok(&["import", "--redact-secrets", &path]);
    assert!(told.contains("redacted: 5 x aws-access-key"), "{told}");
    let [plain, letters] = needles(&secret);
    let store = sandbox.join(".sapwood");
    assert_eq!(found_in(&OsDisk, &store, &[&plain, &letters]), Vec::<String>::new());
    let session = only_session(&sandbox);
    let expected = file(&secret).replace(&plain, "[redacted]").replace(&letters, "[redacted]");
    assert_eq!(sandbox.run(&["export", "-s", &session]).out, expected);
    let told = sandbox.ok(&["redact", "--secrets"]);
    assert!(told.contains("nothing was found"), "{told}");
}

/// A session of Claude's in which three answers follow the first message.
fn with_branches(last: &str) -> String {
    let mut text = message("a", "null", "an innocent begin");
    for (number, content) in [
        format!("{PLAIN} opens it"),
        format!("{PLAIN} opens it"),
        format!("somewhat longer {PLAIN}"),
        "nothing of the kind".to_owned(),
        "the end".to_owned(),
    ]
    .iter()
    .enumerate()
    {
        text += &message(&format!("b{number}"), "\"a\"", content);
        text += &message(&format!("c{number}"), &format!("\"b{number}\""), "and on");
    }
    text + last
}

#[test]
fn branches_that_were_named_after_a_secret_have_other_names_then() {
    for pattern in [PLAIN, "regex:vault-[A-Z][a-z]9-[0-9]+-pass"] {
        let sandbox = Sandbox::with_store();
        let path = written(&sandbox, "x.jsonl", &with_branches(""));
        sandbox.ok(&["import", "-q", &path]);
        let branches = sandbox.ok(&["branch", "-s", "x"]);
        for name in ["vault-kx9-7731-pass-opens", "somewhat-longer-vault-kx9-7731", "nothing-of"] {
            assert!(branches.contains(name), "{branches}");
        }
        sandbox.ok(&["switch", "-q", "-s", "x", "vault-kx9-7731-pass-opens"]);
        sandbox.ok(&["switch", "-q", "-s", "x", "main"]);
        let told = sandbox.feed_ok(&["redact", "--pattern-file", "-"], pattern);
        assert!(told.contains("name made of it"), "{told}");
        let branches = sandbox.ok(&["branch", "-s", "x"]);
        assert!(branches.contains("nothing-of-the-kind"), "{branches}");
        assert_eq!(branches.lines().count(), 5, "{branches}");
        let needles = [PLAIN, "vault-kx9", "kx9-7731"];
        let store = sandbox.join(".sapwood");
        assert_eq!(found_in(&OsDisk, &store, &needles), Vec::<String>::new());
        let ran = sandbox.run(&["fsck"]);
        assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{}", ran.err);
        let expected = with_branches("").replace(PLAIN, "[redacted]");
        assert_eq!(sandbox.run(&["export", "-s", "x"]).out, expected);

        let last = with_branches("").lines().last().unwrap().replace("\"c4\"", "\"d\"");
        let last = last.replace("\"b4\"", "\"c4\"") + "\n";
        let path = written(&sandbox, "x.jsonl", &with_branches(&last));
        sandbox.ok(&["import", "-q", &path]);
        assert_eq!(sandbox.run(&["export", "-s", "x"]).out, expected + &last);
        assert_eq!(sandbox.ok(&["branch", "-s", "x"]).lines().count(), 5);
        assert_eq!(found_in(&OsDisk, &store, &needles), Vec::<String>::new());
    }
}
