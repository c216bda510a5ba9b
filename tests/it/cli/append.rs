//! `append --stdin`: the stream that other programs drive.

use std::io::{BufRead, BufReader, Write};

use super::*;

const APPEND: [&str; 4] = ["append", "--stdin", "-s", "s1"];

#[test]
fn each_line_is_an_entry_on_the_path_and_its_id_is_printed() {
    let sandbox = Sandbox::with_store();
    let ids = sandbox.append("s1", "main", &["one", "two", "three"]);
    let path: Vec<String> = sandbox.ok(&["rev-list", "main"]).lines().map(str::to_owned).collect();
    assert_eq!(path, ids.iter().rev().cloned().collect::<Vec<_>>());
    assert_eq!(sandbox.append("s1", "main", &["four"]).len(), 1);
    assert_eq!(sandbox.ok(&["rev-list", "--count", "main"]), "4");
}

#[test]
fn blank_lines_and_crlf_are_tolerated_and_a_last_line_needs_no_end() {
    let sandbox = Sandbox::with_store();
    let ids = sandbox.feed_ok(&APPEND, "\r\n{\"a\":1}\r\n\n  \n{\"a\":2}");
    assert_eq!(ids.lines().count(), 2);
    assert_eq!(sandbox.feed_ok(&APPEND, ""), "");
}

#[test]
fn what_came_before_a_bad_line_stays() {
    for batch in ["1", "100"] {
        for bad in ["[1]", "{\"a\":", "nonsense", "\"text\"", "{\"a\":1}{\"b\":2}"] {
            let sandbox = Sandbox::with_store();
            let input = format!("{{\"a\":1}}\n\n{{\"a\":2}}\n{bad}\n{{\"a\":3}}\n");
            let args = ["append", "--stdin", "--batch", batch];
            let ran = sandbox.feed(&args, input);
            assert_eq!((ran.code, ran.out.lines().count()), (3, 2), "{bad}: {}", ran.err);
            assert!(ran.err.starts_with("error: line 4: "), "{}", ran.err);
            assert_eq!(sandbox.ok(&["rev-list", "--count", "HEAD"]), "2", "{bad}");
        }
    }
}

#[test]
fn a_body_that_can_not_be_kept_is_named_even_in_a_batch() {
    let sandbox = Sandbox::with_store();
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    let input = format!("{{\"a\":1}}\n{{\"a\":{deep}}}\n{{\"a\":3}}\n");
    let ran = sandbox.feed(&["append", "--stdin", "--batch", "10"], input);
    assert_eq!((ran.code, ran.out.lines().count()), (3, 1), "{}", ran.err);
    assert!(ran.err.starts_with("error: line 2: "), "{}", ran.err);
}

#[test]
fn an_id_is_handed_over_before_the_next_line_is_read() {
    let sandbox = Sandbox::with_store();
    let mut child = sandbox.command(&APPEND).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    for number in 1..=3 {
        writeln!(input, "{{\"n\":{number}}}").unwrap();
        let mut id = String::new();
        output.read_line(&mut id).unwrap();
        assert_eq!(sandbox.ok(&["rev-parse", "s1:main"]), id.trim_end());
    }
    drop(input);
    assert!(child.wait().unwrap().success());
}

#[test]
fn batches_give_the_same_ids_as_single_lines() {
    let lines: String = (0..50).map(|n| format!("{{\"timestamp\":{n},\"n\":{n}}}\n")).collect();
    let forms: [&[&str]; 4] = [
        &[],
        &["--batch", "7"],
        &["--durability", "relaxed"],
        &["--durability", "full", "--batch", "1000"],
    ];
    let run = |form: &&[&str]| Sandbox::with_store().feed_ok(&[&APPEND, *form].concat(), &lines);
    let ids: Vec<String> = forms.iter().map(run).collect();
    assert!(ids.iter().all(|other| *other == ids[0]));
    assert_eq!(ids[0].lines().count(), 50);
}

#[test]
fn long_strings_come_back_whole() {
    let sandbox = Sandbox::with_store();
    let text = "long ".repeat(100_000);
    sandbox.feed_ok(&APPEND, format!("{{\"text\":\"{text}\"}}\n"));
    assert!(sandbox.ok(&["cat-file", "-p", "s1:main"]).contains(&text));
    let linked = sandbox.ok(&["cat-file", "-p", "--raw-links", "s1:main"]);
    assert!(linked.contains("$link") && linked.len() < 1000);
}

#[test]
fn the_current_session_is_the_default_and_the_environment_comes_before_it() {
    let sandbox = Sandbox::with_store();
    sandbox.append("s1", "main", &["one"]);
    sandbox.feed_ok(&["append", "--stdin"], "{\"a\":1}\n");
    assert_eq!(sandbox.ok(&["rev-list", "--count", "s1:main"]), "2");
    let mut command = sandbox.command(&["append", "--stdin"]);
    let ran = finish(command.env("SAPWOOD_SESSION", "s2"), b"{\"a\":1}\n");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(sandbox.ok(&["rev-list", "--count", "s2:main"]), "1");
    assert_eq!(sandbox.ok(&["symbolic-ref", "HEAD"]), "sessions/s1/HEAD");
}

#[test]
fn json_gives_one_object_for_each_id() {
    let sandbox = Sandbox::with_store();
    let out = sandbox.feed_ok(&["append", "--stdin", "-s", "s1", "--json"], "{\"a\":1}\n");
    let id = sandbox.ok(&["rev-parse", "s1:main"]);
    assert_eq!(out, format!("{{\"v\":1,\"id\":\"{id}\"}}"));
}
