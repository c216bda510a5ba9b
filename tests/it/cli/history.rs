//! `rev-parse`, `rev-list` and `merge-base`.

use super::*;

/// Three entries on `main`, two more on `topic` that leaves it there, and one more on `main`.
fn forked() -> (Sandbox, Vec<String>) {
    let sandbox = Sandbox::with_store();
    let mut ids = sandbox.append("s1", "main", &["one", "two", "three"]);
    ids.extend(sandbox.append("s1", "topic", &["four", "five"]));
    ids.extend(sandbox.append("s1", "main", &["six"]));
    (sandbox, ids)
}

fn list(sandbox: &Sandbox, ids: &[String], args: &[&str]) -> String {
    masked(&sandbox.ok(args), ids).replace('\n', " ")
}

#[test]
fn revisions_become_ids() {
    let (sandbox, ids) = forked();
    let parse = |args: &[&str]| list(&sandbox, &ids, &[&["rev-parse"], args].concat());
    assert_eq!(parse(&["HEAD", "topic", "main~2", &ids[1][..10]]), "<6> <5> <2> <2>");
    assert_eq!(parse(&["main..topic", "^main", "topic.."]), "<5> ^<6> ^<6> <6> ^<5>");
    assert_eq!(parse(&["--short", "topic", "^main"]), "<5~> ^<6~>");
    assert_eq!(parse(&["--short=64", "topic"]), "<5>");
    assert_eq!(sandbox.ok(&["rev-parse", "--short=12", "topic"]), ids[4][..12]);
    assert_eq!(sandbox.ok(&["rev-parse", "-z", "topic"]), format!("{}\0", ids[4]));
    assert_eq!(parse(&["--verify", "topic~1"]), "<4>");
    insta::assert_snapshot!(
        parse(&["--json", "^topic"]),
        @r#"{"v":1,"revision":"^topic","id":"<5>","excluded":true}"#
    );
}

#[test]
fn revisions_that_are_not_there_are_exit_code_one() {
    let (sandbox, _) = forked();
    insta::assert_snapshot!(sandbox.fails(1, &["rev-parse", "nothing"]), @r"
    error: unknown revision 'nothing': no branch, label, ref or object has this name
    hint: 'sapwood branch' and 'sapwood label' list the names, 'sapwood log' the entries
    ");
    assert_eq!(sandbox.fails(1, &["rev-parse", "--verify", "-q", "nothing"]), "");
    assert_eq!(sandbox.fails(1, &["rev-parse", "--verify", "-q", &"1".repeat(64)]), "");
    sandbox.fails(1, &["rev-list", "main..nothing"]);
    sandbox.fails(2, &["rev-parse", "--verify", "main", "topic"]);
    sandbox.fails(2, &["rev-parse"]);
    sandbox.fails(3, &["rev-parse", "--verify", "main..topic"]);
}

#[test]
fn history_is_listed_children_first() {
    let (sandbox, ids) = forked();
    let revs = |args: &[&str]| list(&sandbox, &ids, &[&["rev-list"], args].concat());
    assert_eq!(revs(&["main"]), "<6> <3> <2> <1>");
    assert_eq!(revs(&["-n", "2", "topic"]), "<5> <4>");
    assert_eq!(revs(&["main..topic"]), "<5> <4>");
    assert_eq!(revs(&["topic", "^main"]), "<5> <4>");
    assert_eq!(revs(&["--first-parent", "topic", "^main~1"]), "<5> <4>");
    assert_eq!(revs(&["--first-parent", "topic~1", "topic"]), "<5> <4> <3> <2> <1>");
    assert_eq!(revs(&["--count", "main", "topic"]), "6");
    assert_eq!(revs(&["--count", "main", "^main"]), "0");
    assert_eq!(sandbox.ok(&["rev-list", "-z", "-n1", "main"]), format!("{}\0", ids[5]));
    assert_eq!(revs(&["--json", "-n1", "main"]), r#"{"v":1,"id":"<6>"}"#);
    assert_eq!(revs(&["--json", "--count", "main"]), r#"{"v":1,"count":4}"#);
}

#[test]
fn the_merge_base_is_where_branches_part() {
    let (sandbox, ids) = forked();
    let base = |args: &[&str]| list(&sandbox, &ids, &[&["merge-base"], args].concat());
    assert_eq!(base(&["main", "topic"]), "<3>");
    assert_eq!(base(&["--all", "main", "topic"]), "<3>");
    assert_eq!(base(&["--json", "main", "topic"]), r#"{"v":1,"id":"<3>"}"#);
    assert_eq!(base(&["--is-ancestor", "main~1", "topic"]), "");
    assert_eq!(sandbox.fails(1, &["merge-base", "--is-ancestor", "main", "topic"]), "");
    sandbox.append("s2", "main", &["elsewhere"]);
    assert_eq!(sandbox.fails(1, &["merge-base", "main", "s2:main"]), "");
}
