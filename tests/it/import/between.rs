//! What happens between two imports of a file: another import, an undo, a person who goes on.

use crate::cli::Sandbox;

use super::{assert_exact, assert_sound, branches, import, odds, parse, said, text, write};

/// A pi session whose second message was edited: `main` ends in the edit.
fn forked(more: &str) -> String {
    let header = r#"{"type":"session","version":3,"id":"f","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#;
    let entry = |id: &str, parent: &str, role: &str, words: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-01-01T00:00:0{}.000Z","message":{{"role":"{role}","content":"{words}"}}}}"#,
            id.len()
        )
    };
    let lines = [
        header.to_owned(),
        entry("a", "null", "user", "begin"),
        entry("b", "\"a\"", "assistant", "answer"),
        entry("c", "\"b\"", "user", "first way"),
        entry("d", "\"b\"", "user", "second way"),
    ];
    format!("{}\n{more}", lines.join("\n"))
}

#[test]
fn imports_of_one_file_at_once_make_one_session_and_take_each_line_once() {
    let sandbox = Sandbox::new();
    let path = sandbox.join("f.jsonl");
    let at_once = || {
        let spawn = |_| sandbox.command(&["import", "-q", "f.jsonl"]).spawn().unwrap();
        let running: Vec<_> = (0..4).map(spawn).collect();
        for mut process in running {
            assert!(process.wait().unwrap().success());
        }
    };
    sandbox.ok(&["init", "-q"]);
    write(&path, forked(""));
    at_once();
    assert_eq!(sandbox.ok(&["sessions"]).lines().count(), 1);
    assert_exact(&sandbox, "f", &path);
    let more = r#"{"type":"message","id":"e","parentId":"d","timestamp":"2026-01-01T00:01:00.000Z","message":{"role":"assistant","content":"on"}}"#;
    write(&path, forked(&format!("{more}\n")));
    at_once();
    assert_eq!(sandbox.ok(&["sessions"]).lines().count(), 1);
    assert_exact(&sandbox, "f", &path);
    assert_eq!(said(&sandbox, "f"), ["begin", "answer", "second way", "on"]);
    assert_sound(&sandbox);
}

#[test]
fn an_import_that_was_taken_back_can_be_repeated() {
    let sandbox = Sandbox::new();
    let path = sandbox.join("f.jsonl");
    write(&path, forked(""));
    import(&sandbox, &["f.jsonl"]);
    let more = r#"{"type":"message","id":"e","parentId":"d","timestamp":"2026-01-01T00:01:00.000Z","message":{"role":"assistant","content":"on"}}"#;
    write(&path, forked(&format!("{more}\n")));
    import(&sandbox, &["f.jsonl"]);
    sandbox.ok(&["undo", "-s", "f"]);
    assert_eq!(said(&sandbox, "f").len(), 3);
    import(&sandbox, &["f.jsonl"]);
    assert_eq!(said(&sandbox, "f"), ["begin", "answer", "second way", "on"]);
    assert_eq!(branches(&sandbox, "f").len(), 2);
    assert_exact(&sandbox, "f", &path);
    assert_sound(&sandbox);
}

#[test]
fn a_branch_that_a_person_goes_on_with_is_theirs() {
    let sandbox = Sandbox::new();
    let path = sandbox.join("f.jsonl");
    write(&path, forked(""));
    import(&sandbox, &["f.jsonl"]);
    sandbox.ok(&["append", "-s", "f", "-b", "first-way", "-m", "my own word"]);
    let more = r#"{"type":"message","id":"e","parentId":"c","timestamp":"2026-01-01T00:01:00.000Z","message":{"role":"assistant","content":"theirs"}}
{"type":"message","id":"g","parentId":"d","timestamp":"2026-01-01T00:02:00.000Z","message":{"role":"assistant","content":"on"}}"#;
    write(&path, forked(&format!("{more}\n")));
    import(&sandbox, &["f.jsonl"]);
    let log = sandbox.ok(&["log", "-s", "f", "first-way", "--oneline"]);
    assert!(log.contains("my own word"), "{log}");
    // One that they delete stays deleted.
    sandbox.ok(&["branch", "-q", "-s", "f", "-d", "first-way"]);
    write(
        &path,
        forked(&format!("{more}\n{}\n", more.lines().last().unwrap().replace("\"g\"", "\"h\""))),
    );
    import(&sandbox, &["f.jsonl"]);
    assert!(!branches(&sandbox, "f").iter().any(|name| name == "first-way"));
    assert_sound(&sandbox);
}

#[test]
fn a_document_that_grew_is_read_anew() {
    let sandbox = Sandbox::new();
    let message = |words: &str| format!(r#"{{"role":"user","content":"{words}"}}"#);
    let compact = |words: &[&str]| {
        let messages: Vec<String> = words.iter().map(|words| message(words)).collect();
        format!("{{\"messages\":[{}]}}\n", messages.join(","))
    };
    let lines = |words: &[&str]| {
        let messages = words.iter().map(|words| {
            format!("    {{\n      \"role\": \"user\",\n      \"content\": \"{words}\"\n    }}")
        });
        let messages: Vec<String> = messages.collect();
        format!("{{\n  \"messages\": [\n{}\n  ]\n}}\n", messages.join(",\n"))
    };
    for (name, form) in [("one", &compact as &dyn Fn(&[&str]) -> String), ("two", &lines)] {
        let file = format!("{name}.json");
        let path = sandbox.join(&file);
        write(&path, form(&["a", "b"]));
        import(&sandbox, &[&file]);
        write(&path, form(&["a", "b", "c"]));
        let told = import(&sandbox, &[&file]);
        assert_eq!(odds(&told[0]), [], "{name}");
        assert_eq!(text(&told[0], "change"), "grown", "{name}");
        assert_eq!(said(&sandbox, name), ["a", "b", "c"]);
        assert_exact(&sandbox, name, &path);
        write(&path, form(&["a", "b", "c"]));
        assert!(import(&sandbox, &[&file]).is_empty(), "{name}");
    }
    assert_sound(&sandbox);
}

#[test]
fn a_label_that_the_file_takes_back_goes_and_a_persons_stays() {
    let sandbox = Sandbox::new();
    let path = sandbox.join("f.jsonl");
    let label = |id: &str, parent: &str, rest: &str| {
        format!(
            r#"{{"type":"label","id":"{id}","parentId":"{parent}","timestamp":"2026-01-01T00:01:00.000Z","targetId":"b"{rest}}}"#
        )
    };
    let first = format!("{}\n", label("l1", "d", r#","label":"good""#));
    write(&path, forked(&first));
    import(&sandbox, &["f.jsonl"]);
    assert!(sandbox.ok(&["label", "-s", "f"]).contains("good"));
    sandbox.ok(&["label", "-s", "f", "mine", "main"]);
    write(&path, forked(&format!("{first}{}\n", label("l2", "l1", ""))));
    import(&sandbox, &["f.jsonl"]);
    let labels = sandbox.ok(&["label", "-s", "f"]);
    assert!(!labels.contains("good") && labels.contains("mine"), "{labels}");
}

#[test]
fn names_and_types_that_are_too_odd_are_made_fit() {
    let sandbox = Sandbox::new();
    let odd =
        forked(&format!("{{\"type\":\"{}\",\"id\":\"x\",\"parentId\":\"d\"}}\n", "t".repeat(400)));
    for name in ["a....b.jsonl", "x.lock.lock.jsonl", "-.jsonl", "a b:c.jsonl"] {
        write(&sandbox.join(name), &odd);
        let told = import(&sandbox, &["--", name]);
        assert_exact(&sandbox, text(&told[0], "session"), &sandbox.join(name));
    }
    assert_sound(&sandbox);
}

#[test]
fn a_file_of_which_only_the_header_is_left_has_nothing_on_its_path() {
    let sandbox = Sandbox::new();
    let path = sandbox.join("f.jsonl");
    write(&path, forked(""));
    import(&sandbox, &["f.jsonl"]);
    let header = forked("").lines().next().unwrap().to_owned() + "\n";
    write(&path, header);
    import(&sandbox, &["f.jsonl"]);
    assert_exact(&sandbox, "f", &path);
    let shown = parse(&sandbox.ok(&["sessions", "--json"]));
    assert_eq!(super::number(&shown, "messages"), 0);
    assert_sound(&sandbox);
}
