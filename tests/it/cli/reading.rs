//! The commands that read sessions: `log`, `show`, `children`, `parents`, `transcript`, `tree`.

mod attach;
mod search;
mod transcript;

use super::*;

/// Appends messages, `role: text` each, a second apart, and gives their ids.
fn say(sandbox: &Sandbox, branch: &str, texts: &[&str]) -> Vec<String> {
    let count = sandbox.run(&["transcript", "-s", "s1"]).out.lines().count();
    let lines = texts.iter().enumerate().map(|(place, text)| {
        let (role, content) = text.split_once(": ").unwrap();
        let time = 1_700_000_000_000 + 1000 * (count + place);
        format!("{{\"role\":\"{role}\",\"content\":\"{content}\",\"timestamp\":{time}}}\n")
    });
    let args = ["append", "--stdin", "-s", "s1", "-b", branch];
    let ids = sandbox.feed_ok(&args, lines.collect::<String>());
    ids.lines().map(str::to_owned).collect()
}

/// Two branches that part after the second message, which has a label.
fn forked() -> (Sandbox, Vec<String>) {
    let sandbox = Sandbox::with_store();
    let mut ids = say(&sandbox, "main", &["user: Build a CLI", "assistant: I'll create..."]);
    sandbox.ok(&["label", "start"]);
    let node =
        ["user: Add a flag", "assistant: Here it is", "user: Use Python", "assistant: Python"];
    ids.extend(say(&sandbox, "node", &node));
    ids.extend(say(&sandbox, "main", &["user: Use Rust\\nand\\ntest\\nit", "assistant: Rust"]));
    (sandbox, ids)
}

#[test]
fn a_path_is_shown_newest_first() {
    let (sandbox, ids) = forked();
    let log = |args: &[&str]| masked(&sandbox.ok(&[&["log"], args].concat()), &ids);
    insta::assert_snapshot!(log(&["-n", "3"]), @r"
    <8~> assistant, 2023-11-14T22:13:28.000Z (HEAD -> main)
        Rust

    <7~> user, 2023-11-14T22:13:27.000Z
        Use Rust
        and
        test
        … 1 more line

    <2~> assistant, 2023-11-14T22:13:21.000Z (label: start)
        I'll create...
    ");
    insta::assert_snapshot!(log(&["--oneline", "--reverse", "node"]), @r"
    <1~> user: Build a CLI
    <2~> (label: start) assistant: I'll create...
    <3~> user: Add a flag
    <4~> assistant: Here it is
    <5~> user: Use Python
    <6~> (node) assistant: Python
    ");
    assert!(log(&["-p", "-n2"]).contains("\n    it"));
    let format = |args: &[&str]| log(&[&["--format", "%h"], args].concat()).replace('\n', " ");
    assert_eq!(format(&["node..main"]), "<8~> <7~>");
    assert_eq!(format(&["main~1..main"]), "<8~>");
    assert_eq!(format(&["--role", "user", "main"]), "<7~> <1~>");
    assert_eq!(format(&["--grep", "^(and|I'll)", "main"]), "<2~>");
    assert_eq!(format(&["--grep", "RUST", "-i", "main"]), "<8~> <7~>");
    assert_eq!(format(&["--since", "2023-11-14T22:13:27Z"]), "<8~> <7~>");
    assert_eq!(format(&["--until", "2023-11-14T22:13:20Z", "node"]), "<1~>");
    assert_eq!(format(&["--since", "1h"]), "");
    assert_eq!(format(&["--all", "^main"]), "<6~> <5~> <4~> <3~>");
    assert_eq!(log(&["-z", "--format", "%r%%%n%p%x41", "-n1"]), "assistant%\n<7~>A\0");
    assert_eq!(
        log(&["-n1", "--format=%y|%s|%T|%d|%m"]),
        "message|Rust|1700000008000| (HEAD -> main)|"
    );
    insta::assert_snapshot!(log(&["--json", "-n1"]), @r#"{"v":1,"type":"message","id":"<8>","parentId":"<7>","parents":["<7>"],"timestamp":"2023-11-14T22:13:28.000Z","role":"assistant","content":"Rust","branches":["main"]}"#);
}

#[test]
fn a_graph_is_drawn_newest_first() {
    let (sandbox, ids) = forked();
    let log = |args: &[&str]| masked(&sandbox.ok(&[&["log", "--graph"], args].concat()), &ids);
    insta::assert_snapshot!(log(&["--all", "--oneline"]), @r"
    ○ <8~> (HEAD -> main) assistant: Rust
    ○ <7~> user: Use Rust
    │ ○ <6~> (node) assistant: Python
    │ ○ <5~> user: Use Python
    │ ○ <4~> assistant: Here it is
    │ ○ <3~> user: Add a flag
    ├─╯
    ○ <2~> (label: start) assistant: I'll create...
    ○ <1~> user: Build a CLI
    ");
    insta::assert_snapshot!(log(&["-n", "1"]), @r"
    ○ <8~> assistant, 2023-11-14T22:13:28.000Z (HEAD -> main)
    │     Rust
    │
    ");
}

#[test]
fn bad_requests_of_log_are_told_apart() {
    let (sandbox, _) = forked();
    assert!(sandbox.fails(3, &["log", "--grep", "("]).contains("unclosed group"));
    assert!(sandbox.fails(2, &["log", "--since", "soon"]).contains("not a time"));
    assert!(sandbox.fails(2, &["log", "--format", "%q"]).contains("no placeholder %q"));
    sandbox.fails(2, &["log", "--graph", "--reverse"]);
    sandbox.fails(1, &["log", "nowhere"]);
    sandbox.fails(1, &["log", "-s", "nowhere"]);
    let empty = Sandbox::with_store();
    for command in ["log", "show", "children", "tree", "context", "branch", "transcript"] {
        assert!(empty.fails(3, &[command]).contains("no current session"), "{command}");
    }
    empty.ok(&["new"]);
    for args in [&["log"][..], &["context"], &["label", "x"]] {
        let said = empty.fails(1, args);
        assert!(said.contains("nothing was said yet on branch 'main'"), "{args:?}: {said}");
        assert!(said.contains("hint: 'sapwood append'"), "{args:?}: {said}");
    }
}

#[test]
fn one_thing_is_shown_whatever_its_kind() {
    let (sandbox, ids) = forked();
    let show = |args: &[&str]| masked(&sandbox.ok(&[&["show"], args].concat()), &ids);
    insta::assert_snapshot!(show(&["main~1"]), @r"
    entry <7>
    type:   message
    role:   user
    time:   2023-11-14T22:13:27.000Z
    parent: <2~>

        Use Rust
        and
        test
        it
    ");
    let event = show(&["turn:3"]);
    assert!(event.starts_with("event ") && event.ends_with("name=start entry=<2~>"), "{event}");
    let json = show(&["turn:3", "--json"]);
    assert!(json.contains(r#""body":{"name":"start","was":null,"entry":"<2>"}"#), "{json}");
    assert!(show(&["s1"]).starts_with("session s1\nbegan: "));
    assert!(show(&["s1", "--json"]).contains(r#""type":"session","id":"s1""#));
    assert!(show(&["main", "--json"]).contains(r#""body":{"role":"assistant","content":"Rust""#));
    sandbox.fails(1, &["show", "nothing"]);
}

#[test]
fn parents_and_children_are_listed() {
    let (sandbox, ids) = forked();
    let list = |args: &[&str]| masked(&sandbox.ok(args), &ids);
    let both = "<3~> user: Add a flag\n<7~> user: Use Rust";
    assert_eq!(list(&["children", "start"]), both);
    assert_eq!(list(&["parents", "main"]), "<7~> user: Use Rust");
    assert_eq!(list(&["parents", "main~3"]), "");
    assert_eq!(list(&["children", "main"]), "");
    let mut all: Vec<String> =
        list(&["children", "--all", "start"]).lines().map(str::to_owned).collect();
    all.sort();
    assert_eq!(all.join("\n"), both);
    assert!(
        list(&["children", "start", "--json"]).starts_with(r#"{"v":1,"type":"message","id":"<3>""#)
    );
    assert!(sandbox.ok(&["parents", "events"]).ends_with(" event"));
}

#[test]
fn a_tree_is_drawn_root_first() {
    let (sandbox, ids) = forked();
    let tree = |args: &[&str]| masked(&sandbox.ok(&[&["tree"], args].concat()), &ids);
    insta::assert_snapshot!(tree(&[]), @r"
    s1
    <1~> user: Build a CLI
    <2~> (label: start) assistant: I'll create...
    ├─ <3~> user: Add a flag
    │  … 2 entries
    │  <6~> (node) assistant: Python
    └─ <7~> user: Use Rust
       <8~> (HEAD -> main) assistant: Rust
    ");
    assert_eq!(tree(&["--full"]).lines().count(), 9);
    let json = tree(&["--json"]);
    assert!(json.starts_with(r#"[{"entry":{"type":"message","id":"<1>""#), "{json}");
    assert!(json.contains(r#""label":"start","depth":1,"skipped":0,"active":false,"children":[{"#));
    assert!(json.ends_with(
        r#""branches":["main"]},"depth":3,"skipped":0,"active":true,"children":[]}]}]}]}]"#
    ));
    sandbox.append("s2", "main", &["elsewhere"]);
    insta::assert_snapshot!(tree(&["--all-sessions"]), @r"
    s1 - 4 messages
    s2 - 1 message
    ");
    assert!(
        tree(&["--all-sessions", "--json"])
            .starts_with(r#"[{"session":"s1","header":{"type":"session","id":"s1""#)
    );
    sandbox.fails(2, &["tree", "--full", "--decisions"]);
}

#[test]
fn names_with_control_characters_are_written_out() {
    let sandbox = Sandbox::with_store();
    sandbox.ok(&["new", "--name", "a\x1b]0;b\x07", "--model", "m\x1b[31m"]);
    let line = r#"{"role":"us\u001ber","model":"m\u0007","content":"one"}"#;
    assert_eq!(sandbox.feed(&["append", "--stdin"], line).code, 0);
    for args in [
        &["log"][..],
        &["log", "--oneline"],
        &["log", "--format", "%r %m"],
        &["show"],
        &["transcript"],
        &["tree"],
        &["tree", "--all-sessions"],
        &["stats"],
        &["status"],
        &["sessions"],
        &["session", "show"],
        &["grep", "one"],
    ] {
        let ran = sandbox.ok(args);
        assert!(!ran.contains(['\x1b', '\x07']), "{args:?}: {ran:?}");
    }
    let refused = sandbox.run(&["append", "-r", "a\nb", "-m", "x"]);
    assert_eq!((refused.code, refused.out.as_str()), (3, ""), "{refused:?}");
    let unknown = sandbox.run(&["show", "a\x1b[31mb"]);
    assert!(unknown.err.contains(r"'a\u{1b}[31mb'"), "{unknown:?}");
}

#[test]
fn lines_fit_the_terminal_whatever_is_said() {
    let sandbox = Sandbox::with_store();
    let wide = "日本".repeat(100);
    let ids = sandbox.append("s1", "main", &[&"long ".repeat(60), &wide]);
    for number in 0..30 {
        sandbox.ok(&["branch", &format!("b{number:02}")]);
    }
    let columns = |line: &str| line.chars().map(|c| 1 + usize::from(c > '\u{2fff}')).sum::<usize>();
    for args in [
        &["log", "--oneline"][..],
        &["log", "--oneline", "--graph"],
        &["log", "-n", "1"],
        &["transcript"],
        &["tree"],
        &["sessions"],
        &["children", &ids[0]],
    ] {
        let out = sandbox.ok(args);
        let widest = out.lines().map(columns).max().unwrap();
        assert!((40..=80).contains(&widest), "{args:?} {widest}: {out}");
    }
    assert!(sandbox.ok(&["log", "-n", "1"]).contains(", b01, … 28 more)"));
    let whole = sandbox.ok(&["grep", "long"]);
    assert!(whole.contains(&"long ".repeat(59)), "a pipe gets all of it");
}

#[test]
fn the_whole_tree_is_one_object_a_line() {
    let (sandbox, ids) = forked();
    let lines = sandbox.ok(&["tree", "--full", "--json"]);
    let lines = masked(&lines, &ids);
    assert_eq!(lines.lines().count(), 8);
    let second = lines.lines().nth(1).unwrap();
    assert!(second.starts_with(r#"{"v":1,"type":"message","id":"<2>","parentId":"<1>""#));
    assert!(
        second.ends_with(r#""label":"start","depth":1,"skipped":0,"active":false}"#),
        "{second}"
    );
}
