//! `transcript`: every turn of every branch, and what comes while one watches.

use std::io::{BufRead, BufReader};

use super::*;

#[test]
fn every_turn_has_a_number_and_a_name() {
    let (sandbox, ids) = forked();
    let turns = |args: &[&str]| masked(&sandbox.ok(&[&["transcript"], args].concat()), &ids);
    let all = turns(&[]);
    let lines: Vec<&str> = all.lines().collect();
    assert_eq!(lines.len(), 9);
    assert_eq!(lines[1], "    2 <2~> assistant: I'll create...");
    assert!(lines[2].starts_with("    3 ") && lines[2].ends_with(" label name=start entry=<2~>"));
    assert_eq!(lines[7], "    8 <7~> user: Use Rust");
    assert_eq!(turns(&["--from", "8", "--to", "8"]), lines[7]);
    assert_eq!(turns(&["--from", "10"]), "");
    assert_eq!(sandbox.ok(&["rev-parse", "turn:8"]), ids[6]);
    assert!(sandbox.fails(1, &["rev-parse", "turn:10"]).contains("there are 9 turns"));
    insta::assert_snapshot!(
        turns(&["--from", "4", "--to", "4", "--json"]),
        @r#"{"v":1,"turn":4,"role":"user","content":"Add a flag","type":"message","id":"<3>","timestamp":"2023-11-14T22:13:23.000Z"}"#
    );
}

#[test]
fn phases_and_selves_are_kept() {
    let sandbox = Sandbox::with_store();
    let line = r#"{"role":"future_self","content":"Build.","phase":"conversation","self":"The Architect","timestamp":1}"#;
    sandbox.feed_ok(&["append", "--stdin"], line);
    let turn = sandbox.ok(&["transcript", "--json"]);
    assert!(turn.starts_with(r#"{"v":1,"turn":1,"phase":"conversation","self":"The Architect","role":"future_self","content":"Build.""#), "{turn}");
    assert!(sandbox.ok(&["transcript"]).ends_with("[The Architect] future_self: Build."));
}

#[test]
fn many_ids_are_shortened_without_a_look_at_all_others() {
    let sandbox = Sandbox::with_store();
    let ids = sandbox.append("s", "main", &["x"; 600]);
    let turns = sandbox.ok(&["transcript"]);
    let digits: Vec<&str> =
        turns.lines().map(|line| line.split_whitespace().nth(1).unwrap()).collect();
    assert_eq!((digits[0], digits[599]), (&ids[0][..8], &ids[599][..12]));
}

#[test]
fn what_is_followed_is_what_is_read_later() {
    let (sandbox, _) = forked();
    let mut command = sandbox.command(&["transcript", "--follow", "--from", "2", "--to", "17"]);
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut followed = Vec::new();
    let steps: [&dyn Fn(); 5] = [
        &|| drop(say(&sandbox, "main", &["user: a", "user: b"])),
        &|| drop(sandbox.ok(&["-q", "switch", "-c", "idea", "main~3"])),
        &|| drop(say(&sandbox, "idea", &["user: c"])),
        &|| drop(sandbox.ok(&["label", "end"])),
        &|| drop(say(&sandbox, "main", &["user: d", "user: e", "user: f", "user: g"])),
    ];
    followed.extend(lines.by_ref().take(8).map(|line| line.unwrap()));
    for (step, count) in steps.into_iter().zip([2, 1, 1, 1, 3]) {
        step();
        followed.extend(lines.by_ref().take(count).map(|line| line.unwrap()));
    }
    assert!(lines.next().is_none() && child.wait().unwrap().success());
    let all = sandbox.ok(&["transcript", "--from", "2", "--to", "17"]);
    assert_eq!(followed, all.lines().collect::<Vec<_>>());
}

#[test]
fn new_turns_are_followed() {
    let (sandbox, _) = forked();
    let mut command = sandbox.command(&["transcript", "--follow", "--from", "9", "--to", "12"]);
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || lines.next().map(|line| line.unwrap());
    assert!(next().unwrap().ends_with("assistant: Rust"));
    say(&sandbox, "main", &["user: more"]);
    assert!(next().unwrap().starts_with("   10 "));
    sandbox.ok(&["label", "end"]);
    assert!(next().unwrap().contains(" label name=end"));
    say(&sandbox, "node", &["user: and more", "user: too much"]);
    assert!(next().unwrap().ends_with("user: and more"));
    assert_eq!(next(), None);
    assert!(child.wait().unwrap().success());
}
