//! Sessions: made, listed, chosen, removed; where a command finds its session.

use super::*;

/// Makes a session with one message, and gives its id.
fn session(sandbox: &Sandbox, args: &[&str], text: &str) -> String {
    let id = sandbox.ok(&[&["new"], args].concat());
    let line =
        format!("{{\"role\":\"user\",\"content\":\"{text}\",\"metadata\":{{\"cost\":0.5}}}}");
    sandbox.feed_ok(&["append", "--stdin", "-s", &id], line);
    id
}

fn current(sandbox: &Sandbox) -> String {
    sandbox.ok(&["symbolic-ref", "--short", "HEAD"])
}

#[test]
fn a_session_is_made_and_becomes_the_current_one() {
    let sandbox = Sandbox::with_store();
    let id = sandbox.ok(&["new", "--name", "first", "--model", "m", "--meta", r#"{"k":1}"#]);
    assert_eq!((id.len(), current(&sandbox)), (12, id.clone()));
    let other = sandbox.ok(&["new", "--no-use"]);
    assert_eq!(current(&sandbox), id);
    let shown = sandbox.ok(&["session", "show", "first", "--json"]);
    assert!(shown.contains(r#""model":"m""#) && shown.contains(r#""meta":{"k":1}"#), "{shown}");
    let cwd = std::fs::canonicalize(sandbox.path()).unwrap();
    assert!(shown.contains(&format!("\"cwd\":\"{}\"", cwd.display())), "{shown}");
    assert!(sandbox.ok(&["session", "show", &other]).contains("session "));
    sandbox.fails(3, &["new", "--meta", "[]"]);
    sandbox.fails(3, &["new", "--meta", "{"]);
    sandbox.fails(1, &["new", "--from", "nothing"]);
    assert_eq!(sandbox.ok(&["sessions"]).lines().count(), 2);
}

#[test]
fn a_session_begins_elsewhere_with_its_lineage() {
    let sandbox = Sandbox::with_store();
    sandbox.append("s1", "main", &["one", "two", "three"]);
    let fork = sandbox.ok(&["new", "--from", "main~1"]);
    assert_eq!(sandbox.ok(&["rev-list", "--count", "HEAD"]), "2");
    let handed = sandbox.feed_ok(&["new", "--from", "-", "--json"], "go on\n");
    assert!(handed.contains(&format!("\"parent\":\"{fork}\"")), "{handed}");
    assert!(sandbox.ok(&["cat-file", "-p", "HEAD"]).contains("go on"));
    let nothing = sandbox.feed(&["new", "--from", "-"], " \n");
    assert_eq!(nothing.code, 3);
    let tree = sandbox.ok(&["sessions", "--tree", "--json"]);
    assert_eq!(tree.lines().count(), 1);
    assert!(
        tree.starts_with(r#"{"v":1,"session":"s1","header":{"type":"session","id":"s1","#),
        "{tree}"
    );
    assert!(tree.contains(r#""parent_id":"s1","branch_point":1,"#), "{tree}");
    assert!(tree.contains(r#""branch_reason":"handoff""#), "{tree}");
    assert!(tree.ends_with(r#""children":[]}]}]}"#), "{tree}");
    let tree = sandbox.ok(&["sessions", "--tree"]);
    let lines: Vec<&str> = tree.lines().collect();
    assert!(lines[0].starts_with("  s1 "), "{tree}");
    assert!(lines[1].starts_with(&format!("  └─ {fork}")), "{tree}");
    assert!(lines[2].starts_with("*    └─ "), "{tree}");
}

#[test]
fn sessions_are_listed_with_what_a_picker_shows() {
    let sandbox = Sandbox::with_store();
    let one = session(&sandbox, &["--name", "first one"], "hello there");
    std::thread::sleep(std::time::Duration::from_millis(5));
    let two = session(&sandbox, &["--cwd", "home"], "what now");
    let list = sandbox.ok(&["sessions"]);
    let lines: Vec<&str> = list.lines().collect();
    assert!(lines[0].starts_with(&format!("* {two} ")), "{list}");
    assert!(lines[1].starts_with(&format!("  {one} ")), "{list}");
    assert!(lines[1].ends_with("main            1   0.5000  first one: hello there"), "{list}");
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{list}");
    assert_eq!(sandbox.ok(&["sessions", "--cwd", "home", "-n", "5"]).lines().count(), 1);
    assert_eq!(sandbox.ok(&["sessions", "--status", "done"]), "");
    assert_eq!(sandbox.ok(&["sessions", "-z", "-n1"]).matches('\0').count(), 1);
    let json = sandbox.ok(&["sessions", "--json", "-n1"]);
    assert!(json.contains(r#""messages":1,"cost":0.5,"first_words":"what now"}"#), "{json}");
    // -c is the latest of the directory, whatever HEAD says.
    assert!(sandbox.ok(&["-c", "status"]).contains(&one));
    assert!(sandbox.ok(&["-C", "home", "-c", "status"]).contains(&two));
    std::fs::create_dir(sandbox.join("empty")).unwrap();
    assert!(sandbox.fails(1, &["-C", "empty", "-c", "status"]).contains("no session works in"));
}

#[test]
fn what_a_listing_remembers_makes_no_difference() {
    let sandbox = Sandbox::with_store();
    let lines: String = (0..1500)
        .map(|number| format!("{{\"role\":\"user\",\"content\":\"{number}\"}}\n"))
        .collect();
    sandbox.feed_ok(&["append", "--stdin", "-s", "s1", "--batch", "1500"], lines);
    let first = sandbox.ok(&["sessions", "--json"]);
    let cache = sandbox.join(".sapwood/cache/sessions");
    assert!(cache.exists());
    assert_eq!(sandbox.ok(&["sessions", "--json"]), first);
    std::fs::write(&cache, "nonsense").unwrap();
    assert_eq!(sandbox.ok(&["sessions", "--json"]), first);
    assert_eq!(sandbox.ok(&["fsck", "-q"]), "");
}

#[test]
fn sessions_are_chosen_renamed_removed_and_restored() {
    let sandbox = Sandbox::with_store();
    sandbox.append("s1", "main", &["one"]);
    sandbox.append("s2", "main", &["two"]);
    sandbox.ok(&["session", "use", "s2"]);
    assert_eq!(current(&sandbox), "s2");
    sandbox.ok(&["session", "rename", "s2", "second"]);
    sandbox.fails(1, &["session", "use", "nothing"]);
    let refs = sandbox.ok(&["for-each-ref"]);
    let dry = sandbox.ok(&["session", "rm", "--dry-run", "second"]);
    assert_eq!(dry, "would remove session s2, the current one: 4 refs go to deleted/s2/1/");
    assert_eq!(sandbox.ok(&["for-each-ref"]), refs);
    let ran = sandbox.run(&["session", "rm", "second"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
    assert!(ran.err.contains("'sapwood session restore s2' brings it back"), "{}", ran.err);
    assert!(sandbox.ok(&["status"]).contains("No current session"));
    assert_eq!(sandbox.ok(&["sessions"]).lines().count(), 1);
    assert!(sandbox.ok(&["op", "log", "-n1"]).contains("session rm second"));
    sandbox.fails(3, &["session", "restore", "s1"]);
    sandbox.ok(&["session", "restore", "s2"]);
    sandbox.ok(&["session", "use", "second"]);
    assert_eq!(sandbox.ok(&["for-each-ref"]), refs);
    assert_eq!(sandbox.ok(&["fsck", "-q"]), "");
}

#[test]
fn the_status_says_what_is_open() {
    let sandbox = Sandbox::with_store();
    assert!(sandbox.ok(&["status"]).contains("No current session"));
    let call = r#"{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"ls"}]}"#;
    sandbox.feed_ok(&["append", "--stdin", "-s", "s1"], call);
    let status = sandbox.ok(&["status"]);
    assert!(status.contains("Session  s1\n"), "{status}");
    assert!(status.contains("1 entry\nWaiting  ls (c1) at "), "{status}");
    let json = sandbox.ok(&["status", "--json"]);
    assert!(json.contains(r#""memory":null,"unanswered":[{"entry":""#), "{json}");
}

#[test]
fn the_environment_is_named_where_it_is_to_blame() {
    let sandbox = Sandbox::with_store();
    sandbox.append("s1", "main", &["one"]);
    for args in [["rev-parse", "main"], ["status", "-q"], ["rev-parse", "HEAD"]] {
        let mut command = sandbox.command(&args);
        let ran = finish(command.env("SAPWOOD_SESSION", "nowhere"), b"");
        assert_eq!(ran.code, 1, "{args:?}");
        assert!(ran.err.contains("$SAPWOOD_SESSION is 'nowhere', but no session"), "{}", ran.err);
    }
    let mut command = sandbox.command(&["sessions"]);
    let ran = finish(command.env("SAPWOOD_SESSION", "nowhere"), b"");
    assert_eq!((ran.code, ran.out.lines().count()), (0, 1), "{}", ran.err);
}

#[test]
fn no_session_keeps_nothing_and_needs_no_store() {
    let sandbox = Sandbox::new();
    let line = r#"{"content":"quick"}"#;
    assert_eq!(sandbox.feed_ok(&["--no-session", "append", "--stdin"], line).len(), 64);
    assert_eq!(sandbox.ok(&["--no-session", "sessions"]), "");
    assert!(sandbox.ok(&["--no-session", "status"]).starts_with("Store    memory"));
    for command in ["fsck", "repack", "count-objects", "pack-refs", "init"] {
        let err = sandbox.fails(3, &["--no-session", command]);
        assert!(err.contains("needs a store on disk"), "{err}");
    }
    assert!(!sandbox.join("home/.sapwood").exists());
    sandbox.fails(2, &["--no-session", "-c", "status"]);
}
