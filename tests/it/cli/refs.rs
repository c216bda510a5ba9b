//! `update-ref`, `symbolic-ref`, `for-each-ref`, `reflog` and `op log`.

use super::*;

const TOPIC: &str = "sessions/s1/heads/topic";

fn two() -> (Sandbox, Vec<String>) {
    let sandbox = Sandbox::with_store();
    let ids = sandbox.append("s1", "main", &["one", "two"]);
    (sandbox, ids)
}

#[test]
fn a_ref_moves_only_from_where_it_is_expected() {
    let (sandbox, ids) = two();
    let zeros = "0".repeat(64);
    let at = || masked(&sandbox.ok(&["rev-parse", "topic"]), &ids);
    sandbox.ok(&["update-ref", TOPIC, "main", &zeros]);
    assert_eq!(at(), "<2>");
    sandbox.ok(&["update-ref", &format!("refs/{TOPIC}"), "main~1", "main"]);
    assert_eq!(at(), "<1>");
    let err = masked(&sandbox.fails(4, &["update-ref", TOPIC, "main", "main"]), &ids);
    insta::assert_snapshot!(err, @r"
    error: ref 'sessions/s1/heads/topic' is at <1>, expected <2>
    hint: someone else moved it; look again and retry
    ");
    sandbox.fails(4, &["update-ref", TOPIC, "main", ""]);
    sandbox.fails(4, &["update-ref", "-d", TOPIC, "main"]);
    assert_eq!(at(), "<1>");
    sandbox.ok(&["update-ref", "-d", TOPIC, "main~1"]);
    sandbox.fails(1, &["rev-parse", "topic"]);
    sandbox.ok(&["update-ref", "-d", TOPIC]);
    sandbox.ok(&["update-ref", TOPIC, "main"]);
    sandbox.ok(&["update-ref", TOPIC, &zeros, "main"]);
    sandbox.fails(1, &["rev-parse", "topic"]);
}

#[test]
fn bad_requests_change_nothing() {
    let (sandbox, _) = two();
    let before = sandbox.ok(&["for-each-ref"]);
    let blob = sandbox.feed_ok(&["hash-object", "-w", "--stdin"], "x");
    sandbox.fails(3, &["update-ref", TOPIC, &blob]);
    sandbox.fails(1, &["update-ref", TOPIC, "nothing"]);
    for name in ["", "a/../b", "/a", "a\nb", "a.lock", "a//b"] {
        sandbox.fails(3, &["update-ref", name, "main"]);
    }
    sandbox.fails(1, &["update-ref", TOPIC, &"1".repeat(64)]);
    sandbox.fails(2, &["update-ref", TOPIC]);
    sandbox.fails(2, &["update-ref", "-d"]);
    sandbox.fails(2, &["update-ref", "--stdin", TOPIC]);
    assert_eq!(sandbox.ok(&["for-each-ref"]), before);
}

#[test]
fn lines_are_committed_together_or_not_at_all() {
    let (sandbox, ids) = two();
    let lines = "create \"sessions/s1/heads/The Architect\" main\n\
                 create sessions/s1/heads/architect/deeper main~1\n\
                 verify sessions/s1/heads/main main\n\
                 verify sessions/s1/heads/none\n";
    sandbox.feed_ok(&["update-ref", "--stdin"], lines);
    let refs = sandbox.ok(&["for-each-ref", "sessions/s1/heads"]);
    insta::assert_snapshot!(masked(&refs, &ids).replace('\t', " TAB "), @r"
    <2> entry TAB sessions/s1/heads/The Architect
    <1> entry TAB sessions/s1/heads/architect/deeper
    <2> entry TAB sessions/s1/heads/main
    ");
    let lines =
        "delete \"sessions/s1/heads/The Architect\"\nverify sessions/s1/heads/main main~1\n";
    assert_eq!(sandbox.feed(&["update-ref", "--stdin"], lines).code, 4);
    let ran = sandbox.feed(&["update-ref", "--stdin"], format!("{lines}rename a b\n"));
    insta::assert_snapshot!(ran.err, @r"
    error: line 3: malformed 'rename'
    hint: expected: update, create, delete or verify; names with spaces in double quotes
    ");
    assert_eq!((ran.code, sandbox.ok(&["for-each-ref", "sessions/s1/heads"])), (3, refs));
    let nul = "update sessions/s1/heads/The Architect\0main~1\0main\0\
               delete sessions/s1/heads/architect/deeper\0\0";
    sandbox.feed_ok(&["update-ref", "--stdin", "-z"], nul);
    let heads = sandbox.ok(&["for-each-ref", "sessions/s1/heads"]);
    assert_eq!(heads.lines().count(), 2);
    assert!(heads.starts_with(&ids[0]));
}

#[test]
fn a_symbolic_ref_is_followed_unless_it_is_meant_itself() {
    let (sandbox, ids) = two();
    sandbox.ok(&["update-ref", "HEAD", "main~1"]);
    assert_eq!(sandbox.ok(&["rev-parse", "main"]), ids[0]);
    assert_eq!(sandbox.ok(&["symbolic-ref", "HEAD"]), "sessions/s1/HEAD");
    sandbox.ok(&["update-ref", "--no-deref", "-d", "HEAD"]);
    sandbox.fails(1, &["symbolic-ref", "HEAD"]);
    assert_eq!(sandbox.ok(&["rev-parse", "s1:main"]), ids[0]);
}

#[test]
fn symbolic_refs_are_shown_set_and_deleted() {
    let (sandbox, _) = two();
    let head = "sessions/s1/HEAD";
    assert_eq!(sandbox.ok(&["symbolic-ref", head]), "sessions/s1/heads/main");
    assert_eq!(sandbox.ok(&["symbolic-ref", "--short", head]), "main");
    assert_eq!(sandbox.ok(&["symbolic-ref", "--short", "HEAD"]), "s1");
    sandbox.ok(&["symbolic-ref", head, "sessions/s1/heads/The Architect"]);
    assert_eq!(sandbox.ok(&["symbolic-ref", "--short", head]), "The Architect");
    insta::assert_snapshot!(
        sandbox.ok(&["symbolic-ref", "--json", head]),
        @r#"{"v":1,"name":"sessions/s1/HEAD","target":"sessions/s1/heads/The Architect"}"#
    );
    sandbox.fails(1, &["symbolic-ref", "sessions/s1/heads/main"]);
    assert_eq!(sandbox.fails(1, &["symbolic-ref", "-q", "sessions/s1/heads/main"]), "");
    sandbox.fails(1, &["symbolic-ref", "-d", "sessions/s1/heads/main"]);
    sandbox.ok(&["symbolic-ref", "-d", head]);
    sandbox.fails(1, &["symbolic-ref", head]);
    sandbox.ok(&["symbolic-ref", "a", "b"]);
    for circle in ["a", "b"] {
        let err = sandbox.fails(3, &["symbolic-ref", "b", circle]);
        assert!(err.contains("more than 5 symbolic refs"), "{err}");
    }
    sandbox.ok(&["for-each-ref"]);
}

#[test]
fn refs_are_listed_by_whole_parts_of_their_names() {
    let (sandbox, _) = two();
    for branch in ["a", "a/b", "ab"] {
        sandbox.ok(&["update-ref", &format!("sessions/s1/heads/{branch}"), "main"]);
    }
    let names = |args: &[&str]| {
        let refs = sandbox.ok(&[&["for-each-ref"], args].concat());
        let names = refs.split(['\n', '\0']).filter_map(|line| line.split('\t').nth(1));
        names.map(|name| name.rsplit("heads/").next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&["sessions/s1/heads/a"]), ["a", "a/b"]);
    assert_eq!(names(&["refs/sessions/s1/heads/"]), ["a", "a/b", "ab", "main"]);
    assert_eq!(names(&["--count=2", "-z", "sessions/s1/heads"]), ["a", "a/b"]);
    let nothing: [&str; 0] = [];
    assert_eq!(names(&["sessions/none"]), nothing);
    sandbox.ok(&["symbolic-ref", "sessions/s1/heads-unborn", "sessions/s1/heads/x"]);
    assert_eq!(names(&["sessions/s1/heads-unborn"]), nothing);
    insta::assert_snapshot!(
        sandbox.ok(&["for-each-ref", "--json", "sessions/s1/heads-unborn"]),
        @r#"{"v":1,"name":"sessions/s1/heads-unborn","id":null,"kind":null,"target":"sessions/s1/heads/x"}"#
    );
}

#[test]
fn the_log_tells_what_moved_a_ref_and_agrees_with_revisions() {
    let (sandbox, ids) = two();
    sandbox.ok(&["update-ref", "-m", "back one", TOPIC, "main~1"]);
    sandbox.ok(&["update-ref", TOPIC, "main"]);
    sandbox.append("s1", "topic", &["three"]);
    let mut ids = ids;
    ids.push(sandbox.ok(&["rev-parse", "topic"]));
    insta::assert_snapshot!(masked(&sandbox.ok(&["reflog", "topic"]), &ids), @r"
    <3~> topic@{0}: update-ref sessions/s1/heads/topic main
    <1~> topic@{1}: back one
    ");
    assert_eq!(sandbox.ok(&["rev-parse", "topic@{1}"]), ids[0]);
    let log = masked(&sandbox.ok(&["op", "log", "-n", "2"]), &ids);
    let log: Vec<String> = log.lines().map(without_time).collect();
    insta::assert_snapshot!(log.join("\n"), @r"
    3 TIME tester
        update-ref sessions/s1/heads/topic main
        sessions/s1/heads/topic: <1~> -> <2~>
    2 TIME tester
        back one
        sessions/s1/heads/topic: nothing -> <1~>
    ");
    let json = masked(&sandbox.ok(&["reflog", "--json", "-n1", TOPIC]), &ids);
    insta::assert_snapshot!(json, @r#"{"v":1,"name":"sessions/s1/heads/topic@{0}","value":"<3>","operation":3,"command":"update-ref sessions/s1/heads/topic main"}"#);
    sandbox.fails(1, &["reflog", "nothing"]);
}

fn without_time(line: &str) -> String {
    let is_time = |word: &&str| word.starts_with("20") && word.ends_with('Z');
    let time = line.split(' ').find(is_time);
    time.map_or(line.to_owned(), |time| line.replace(time, "TIME"))
}
