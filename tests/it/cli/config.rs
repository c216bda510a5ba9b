//! Settings, and what stands before a command: directories, help, malformed words.

use std::process::Stdio;

use super::*;

#[test]
fn every_value_says_where_it_comes_from() {
    let sandbox = Sandbox::with_store();
    sandbox.ok(&["config", "--global", "session.model", "m1"]);
    sandbox.ok(&["config", "session.provider", "p"]);
    let list = sandbox.ok(&["config"]);
    assert!(list.contains("core.color=auto (default)"), "{list}");
    assert!(list.contains("session.model=m1 (user: "), "{list}");
    assert!(list.contains("session.provider=p (store: "), "{list}");
    assert!(list.contains("user.name=tester (environment: SAPWOOD_ACTOR)"), "{list}");
    sandbox.ok(&["config", "session.model", "m2"]);
    assert_eq!(sandbox.ok(&["config", "session.model"]), "m2");
    assert_eq!(sandbox.ok(&["config", "--global", "session.model"]), "m1");
    let id = sandbox.ok(&["new"]);
    let shown = sandbox.ok(&["session", "show", &id, "--json"]);
    assert!(shown.contains(r#""provider":"p","model":"m2""#), "{shown}");
    sandbox.ok(&["config", "--unset", "session.model"]);
    assert_eq!(sandbox.ok(&["config", "session.model"]), "m1");
    insta::assert_snapshot!(
        sandbox.ok(&["config", "core.color", "--json"]),
        @r#"{"v":1,"key":"core.color","value":"auto","origin":"default","place":null}"#
    );
    sandbox.ok(&["config", "context.role-map.interviewer", "user"]);
    assert!(sandbox.ok(&["config", "context.role-map"]).contains("interviewer=user (store"));
    sandbox.fails(1, &["config", "core.pager"]);
}

#[test]
fn comments_stay_and_bad_values_are_refused() {
    let sandbox = Sandbox::with_store();
    let file = sandbox.join(".sapwood/config.toml");
    let text = "# mine\n[core] # here\ndurability = \"full\" # safe\n\n[other]\nnew = 1\n";
    std::fs::write(&file, text).unwrap();
    sandbox.ok(&["config", "core.durability", "relaxed"]);
    sandbox.ok(&["config", "core.lock-timeout-ms", "50"]);
    let expected =
        text.replace("full", "relaxed").replace("# safe\n", "# safe\nlock-timeout-ms = 50\n");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), expected);
    let err = sandbox.fails(3, &["config", "core.nothing", "1"]);
    assert!(err.contains("there is no key 'core.nothing'") && err.contains("user.name"), "{err}");
    sandbox.fails(3, &["config", "core.nothing"]);
    sandbox.fails(3, &["config", "core.color", "sometimes"]);
    sandbox.fails(3, &["config", "core.lock-timeout-ms", "soon"]);
    sandbox.fails(3, &["config", "context.role-map.x", "narrator"]);
}

#[test]
fn a_broken_file_is_named_with_its_line_and_can_be_mended() {
    let sandbox = Sandbox::with_store();
    let file = sandbox.join(".sapwood/config.toml");
    std::fs::write(&file, "# fine\n[core\n").unwrap();
    let err = sandbox.fails(3, &["for-each-ref"]);
    assert!(err.contains("config.toml line 2: "), "{err}");
    assert_eq!(sandbox.ok(&["fsck", "-q"]), "");
    let ran = sandbox.run(&["config"]);
    assert_eq!(ran.code, 0);
    assert!(ran.err.contains("config.toml line 2: "), "{}", ran.err);
    sandbox.fails(3, &["config", "core.color", "never"]);
    sandbox.ok(&["config", "--global", "core.color", "never"]);
    std::fs::write(&file, "[core]\ncolor = \"sometimes\"\n").unwrap();
    let err = sandbox.fails(3, &["for-each-ref"]);
    assert!(err.contains("core.color is one of auto, always, never"), "{err}");
}

#[test]
fn settings_have_an_effect() {
    let sandbox = Sandbox::with_store();
    sandbox.ok(&["config", "core.color", "always"]);
    sandbox.ok(&["config", "--global", "user.name", "Ada"]);
    sandbox.append("s1", "main", &["one"]);
    assert!(sandbox.run(&["for-each-ref"]).out.contains("\x1b["));
    assert!(!sandbox.run(&["--color", "never", "for-each-ref"]).out.contains("\x1b["));
    let mut command = sandbox.command(&["session", "use", "s1"]);
    finish(command.env_remove("SAPWOOD_ACTOR"), b"");
    let mut command = sandbox.command(&["new"]);
    finish(command.env_remove("SAPWOOD_ACTOR"), b"");
    assert!(sandbox.ok(&["op", "log", "-n1", "--json"]).contains(r#""actor":"Ada""#));
}

#[test]
fn directories_follow_one_another() {
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.join("a/b")).unwrap();
    sandbox.ok(&["-C", "a", "-C", "b", "init", "-q"]);
    assert!(sandbox.join("a/b/.sapwood").exists());
    sandbox.fails(7, &["-C", "a", "-C", "c", "init"]);
}

#[test]
fn help_is_a_command_and_a_full_disk_is_a_failure() {
    let sandbox = Sandbox::new();
    assert!(sandbox.ok(&["help"]).contains("Commands:"));
    assert_eq!(sandbox.ok(&["help", "op", "log"]), sandbox.ok(&["op", "log", "--help"]));
    sandbox.fails(2, &["help", "nonsense"]);
    if let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") {
        let mut command = sandbox.command(&["--help"]);
        let ran = finish(command.stdout(Stdio::from(full)), b"");
        assert_eq!(ran.code, 7, "{}", ran.err);
        assert!(ran.err.starts_with("error: cannot write standard output: "), "{}", ran.err);
    }
}

#[test]
fn what_is_no_revision_is_a_bad_request() {
    let sandbox = Sandbox::with_store();
    sandbox.append("s1", "main", &["one"]);
    for text in ["main@{x}", "msg:0", "main~99999999999999999999", "~2", "id:"] {
        let err = sandbox.fails(3, &["rev-parse", text]);
        assert!(err.contains("is not a revision") && err.contains("main@{2}"), "{err}");
    }
    sandbox.fails(1, &["rev-parse", "msg:9"]);
}

#[test]
fn heads_lead_where_heads_lead() {
    let sandbox = Sandbox::with_store();
    sandbox.append("s1", "main", &["one"]);
    for target in ["nope", "sessions/s1/heads/main", "sessions/s1"] {
        let err = sandbox.fails(3, &["symbolic-ref", "HEAD", target]);
        assert!(err.contains("leads to a session's HEAD"), "{err}");
    }
    sandbox.fails(3, &["symbolic-ref", "sessions/s1/HEAD", "sessions/s2/heads/main"]);
    sandbox.ok(&["symbolic-ref", "HEAD", "sessions/s2/HEAD"]);
    sandbox.ok(&["symbolic-ref", "sessions/s1/HEAD", "sessions/s1/heads/x"]);
}

#[test]
fn revisions_and_keys_that_can_not_be_are_bad_requests() {
    let sandbox = Sandbox::with_store();
    sandbox.append("s1", "main", &["one"]);
    for revision in ["main..", "main~x", "HEAD^", "msg:-1", "turn:0"] {
        sandbox.fails(3, &["show", revision]);
    }
    sandbox.fails(3, &["config", "--unset", "nope"]);
    assert!(
        sandbox.fails(1, &["show", "msg:2"]).contains("there is 1 message\nhint: 'sapwood log'")
    );
    assert!(sandbox.fails(1, &["show", "turn:2"]).contains("there is 1 turn\n"));
    assert!(sandbox.fails(1, &["show", "-s", "s2"]).contains("'sapwood sessions' lists"));
    assert!(sandbox.fails(1, &["show", "dev"]).contains("'sapwood branch' and"));
    assert!(sandbox.fails(1, &["show", "refs/x"]).contains("'sapwood for-each-ref'"));
    let said = sandbox.fails(3, &["branch", "a..b"]);
    assert!(said.contains("'a..b' is not a valid branch name"), "{said}");
    sandbox.fails(2, &["new", "--name", ""]);
    sandbox.fails(2, &["log", "-s", ""]);
}

#[test]
fn a_variable_that_can_not_be_is_named() {
    let sandbox = Sandbox::with_store();
    let ran = finish(sandbox.command(&["status"]).env("SAPWOOD_LOCK_TIMEOUT_MS", "soon"), b"");
    assert_eq!(ran.code, 3);
    assert!(ran.err.contains("$SAPWOOD_LOCK_TIMEOUT_MS: core.lock-timeout-ms is"), "{ran:?}");
}

/// The configuration file is read before every command: whatever stands in it, there is an answer.
#[test]
fn any_file_of_settings_is_read_or_refused() {
    let corpus = include_bytes!("../../../fuzz/corpus/config/00");
    let sandbox = Sandbox::with_store();
    let path = sandbox.join(".sapwood/config.toml");
    std::fs::write(&path, corpus).unwrap();
    assert_eq!(sandbox.ok(&["config", "gc.prune"]), "3 weeks");
    let long = std::env::var_os("SAPWOOD_TORTURE").is_some();
    let mut rng = crate::sim::Random(7);
    for number in 0..if long { 20_000 } else { 120 } {
        let mut bytes = corpus.to_vec();
        for _ in 0..=rng.below(4) {
            let at = rng.below(bytes.len() as u64 + 1) as usize;
            let end = bytes.len().min(at + 1 + rng.below(12) as usize);
            match rng.below(4) {
                0 if at < bytes.len() => bytes[at] = rng.next() as u8,
                1 => drop(bytes.drain(at..end)),
                2 => bytes.truncate(at.max(1)),
                _ => {
                    let other = corpus[at.min(corpus.len() - 1)..end.min(corpus.len())].to_vec();
                    drop(bytes.splice(at..at, other));
                }
            }
        }
        std::fs::write(&path, &bytes).unwrap();
        let command: &[&str] = if number % 2 == 0 { &["config"] } else { &["sessions"] };
        let ran = sandbox.run(command);
        let is_answer = ran.code <= 5 && !ran.err.contains("panicked");
        assert!(is_answer, "{:?}: {ran:?}", String::from_utf8_lossy(&bytes));
    }
}
