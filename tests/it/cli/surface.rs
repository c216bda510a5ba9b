//! What all commands share: usage, errors, colour, pipes, help, completions, man pages.

use std::process::Stdio;

use super::*;

#[test]
fn usage_errors_are_exit_code_two() {
    let sandbox = Sandbox::new();
    for args in [vec![], vec!["nonsense"], vec!["rev-list"], vec!["init", "--nonsense"]] {
        let err = sandbox.fails(2, &args);
        assert!(err.contains("Usage: sapwood"), "{err}");
    }
    insta::assert_snapshot!(
        sandbox.fails(2, &["--json", "rev-list", "--nonsense"]),
        @r#"{"error":"usage","message":"unexpected argument '--nonsense' found","hint":"Usage: sapwood rev-list [OPTIONS] <REV>...","exit":2}"#
    );
    assert!(sandbox.ok(&["--version"]).starts_with("sapwood "));
    assert!(sandbox.ok(&["op", "log", "--help"]).contains("Examples:"));
}

#[test]
fn errors_are_one_json_object_when_asked_for() {
    let sandbox = Sandbox::with_store();
    insta::assert_snapshot!(
        sandbox.fails(1, &["rev-parse", "nothing", "--json"]),
        @r#"{"error":"revision-unknown","message":"unknown revision 'nothing': no branch, label, ref or object has this name","hint":"'sapwood branch' and 'sapwood label' list the names, 'sapwood log' the entries","exit":1}"#
    );
    insta::assert_snapshot!(
        sandbox.feed(&["append", "--stdin", "--json"], "[]").err,
        @r#"{"error":"bad-request","message":"line 1: not a JSON object","hint":null,"exit":3}"#
    );
}

#[test]
fn colour_is_for_terminals_or_on_request() {
    let sandbox = Sandbox::with_store();
    sandbox.append("s1", "main", &["one"]);
    let colored = |args: &[&str]| sandbox.run(args).out.contains("\x1b[");
    assert!(!colored(&["for-each-ref"]));
    assert!(!colored(&["--color", "never", "for-each-ref"]));
    assert!(colored(&["--color", "always", "for-each-ref"]));
    assert!(!colored(&["--color", "always", "--json", "for-each-ref"]));
    assert!(sandbox.run(&["--color=always", "rev-parse", "x"]).err.starts_with("\x1b["));
}

#[test]
fn a_reader_that_goes_away_is_no_failure_and_a_full_disk_is() {
    let sandbox = Sandbox::with_store();
    let texts: Vec<String> = (0..2000).map(|number| number.to_string()).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let lines: String = texts.iter().map(|text| format!("{{\"t\":{text}}}\n")).collect();
    sandbox.feed_ok(&["append", "--stdin", "--batch", "2000"], lines);
    let mut child = sandbox.command(&["rev-list", "HEAD"]).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
    if let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") {
        let mut command = sandbox.command(&["rev-list", "HEAD"]);
        let ran = finish(command.stdout(Stdio::from(full)), b"");
        assert_eq!(ran.code, 7);
        assert!(ran.err.starts_with("error: cannot write standard output: "), "{}", ran.err);
    }
}

#[test]
fn completions_and_man_pages_cover_every_command() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(sandbox.ok(&["completions", shell]).contains("for-each-ref"), "{shell}");
    }
    assert!(sandbox.ok(&["man"]).contains(".TH sapwood"));
    sandbox.ok(&["man", "pages"]);
    for page in ["sapwood.1", "sapwood-cat-file.1", "sapwood-op-log.1"] {
        assert!(sandbox.join("pages").join(page).exists(), "{page}");
    }
}

#[test]
fn starting_takes_milliseconds() {
    let sandbox = Sandbox::with_store();
    sandbox.append("s1", "main", &["one"]);
    let took = |_| {
        let start = std::time::Instant::now();
        sandbox.ok(&["rev-parse", "HEAD"]);
        start.elapsed()
    };
    let best = (0..20).map(took).min().unwrap();
    assert!(best.as_millis() < 50, "{best:?}");
}
