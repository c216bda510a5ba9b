//! Values that hang on values of other files, or on later ones of their own.

use super::*;

/// Three files, each hanging on the end of the one before; the first letters give their order.
fn chain(sandbox: &Sandbox, order: &str) -> Vec<String> {
    let files = [
        ("a", header("a") + &message("a1", None, "one") + &message("a2", Some("a1"), "two")),
        (
            "b",
            header("b") + &message("b1", Some("a2"), "three") + &message("b2", Some("b1"), "four"),
        ),
        ("c", header("c") + &message("c1", Some("b2"), "five") + &message("c2", Some("c1"), "six")),
    ];
    let names = order.chars().zip(1..).map(|(letter, place)| {
        let (_, content) = files.iter().find(|(name, _)| name.starts_with(letter)).unwrap();
        let name = format!("{place}-{letter}.jsonl");
        // The times are no help.
        write(&sandbox.join(&name), content);
        name
    });
    names.collect()
}

const ORDERS: [&str; 6] = ["abc", "acb", "bac", "bca", "cab", "cba"];

fn assert_chained(sandbox: &Sandbox, order: &str, files: &[String]) {
    let expected = ["one", "two", "three", "four", "five", "six"];
    for (session, count) in [("a", 2), ("b", 4), ("c", 6)] {
        assert_eq!(said(sandbox, session), expected[..count], "{order}: {session}");
    }
    for (letter, file) in order.chars().zip(files) {
        assert_exact(sandbox, &letter.to_string(), &sandbox.join(file));
    }
    assert_sound(sandbox);
}

#[test]
fn parents_in_other_files_are_found_in_one_run_whatever_the_order() {
    for order in ORDERS {
        let sandbox = Sandbox::new();
        let files = chain(&sandbox, order);
        import(&sandbox, &["."]);
        assert_chained(&sandbox, order, &files);
    }
}

#[test]
fn parents_in_other_files_are_found_in_many_runs_whatever_the_order() {
    for order in ORDERS {
        let sandbox = Sandbox::new();
        let files = chain(&sandbox, order);
        for file in &files {
            import(&sandbox, &[file]);
        }
        assert_chained(&sandbox, order, &files);
        assert!(import(&sandbox, &["."]).is_empty());
    }
}

#[test]
fn an_orphan_is_told_and_waits_though_its_file_grows() {
    let sandbox = Sandbox::new();
    let (path, start) = (sandbox.join("b.jsonl"), header("b") + &message("b1", Some("a1"), "two"));
    write(&path, &start);
    assert_eq!(odds(&import(&sandbox, &["b.jsonl"])[0]), [("orphaned", 2)]);
    assert_eq!(said(&sandbox, "b"), ["two"]);
    write(&path, start + &message("b2", Some("b1"), "three"));
    assert_eq!(odds(&import(&sandbox, &["b.jsonl"])[0]), []);
    write(&sandbox.join("a.jsonl"), header("a") + &message("a1", None, "one"));
    let told = import(&sandbox, &["a.jsonl"]);
    let changes: Vec<&str> = told.iter().map(|told| text(told, "change")).collect();
    assert_eq!(changes, ["new", "linked"]);
    assert_eq!(said(&sandbox, "b"), ["one", "two", "three"]);
    assert_exact(&sandbox, "b", &path);
    assert_sound(&sandbox);
}

/// Imports a file of these values, then with one more; what is said on the way to the last.
fn check(values: &[(&str, Option<&str>)], expected: &[&str], odd: &[(&str, i64)]) {
    let sandbox = Sandbox::new();
    let path = sandbox.join("x.jsonl");
    let all: Vec<String> = values.iter().map(|(id, parent)| message(id, *parent, id)).collect();
    let first = header("x") + &all.concat();
    write(&path, &first);
    let told = import(&sandbox, &["x.jsonl"]);
    assert_eq!(odds(&told[0]), odd);
    assert_eq!(said(&sandbox, "x"), expected);
    assert_exact(&sandbox, "x", &path);
    let known = branches(&sandbox, "x");
    write(&path, first + &message("z", Some(expected.last().unwrap()), "z"));
    import(&sandbox, &["x.jsonl"]);
    assert_eq!(said(&sandbox, "x"), [expected, &["z"]].concat());
    assert_eq!(branches(&sandbox, "x"), known);
    assert_exact(&sandbox, "x", &path);
    assert_sound(&sandbox);
}

#[test]
fn children_may_come_before_their_parents() {
    check(&[("b", Some("a")), ("a", None), ("c", Some("b"))], &["a", "b", "c"], &[]);
    let far = [("d", Some("c")), ("c", Some("b")), ("b", Some("a")), ("a", None), ("e", Some("d"))];
    check(&far, &["a", "b", "c", "d", "e"], &[]);
}

#[test]
fn a_circle_is_cut_where_it_is_entered() {
    let circle = [("a", Some("b")), ("b", Some("a")), ("c", Some("b"))];
    check(&circle, &["b", "c"], &[("circular", 3)]);
    check(&[("a", Some("a")), ("b", Some("a"))], &["a", "b"], &[("circular", 2)]);
}

#[test]
fn of_two_values_with_one_id_the_last_counts() {
    let twins = [("a", None), ("b", Some("a")), ("b", None), ("c", Some("b"))];
    check(&twins, &["b", "c"], &[("duplicate id", 4)]);
}

#[test]
fn a_file_brings_what_it_waited_for() {
    let sandbox = Sandbox::new();
    let path = sandbox.join("x.jsonl");
    let start = header("x") + &message("b", Some("a"), "b");
    write(&path, &start);
    import(&sandbox, &["x.jsonl"]);
    write(&path, start + &message("a", None, "a") + &message("c", Some("b"), "c"));
    let told = import(&sandbox, &["x.jsonl"]);
    assert_eq!(told.len(), 1);
    assert_eq!(said(&sandbox, "x"), ["a", "b", "c"]);
    assert_eq!(branches(&sandbox, "x"), ["main"]);
    assert_exact(&sandbox, "x", &path);
    assert_sound(&sandbox);
}

#[test]
fn a_parent_of_its_own_goes_before_one_of_another_file() {
    let sandbox = Sandbox::new();
    write(&sandbox.join("other.jsonl"), header("o") + &message("a", None, "another a"));
    import(&sandbox, &["other.jsonl"]);
    let late = header("x") + &message("b", Some("a"), "b") + &message("a", None, "a");
    write(&sandbox.join("x.jsonl"), late + &message("c", Some("b"), "c"));
    import(&sandbox, &["x.jsonl"]);
    assert_eq!(said(&sandbox, "x"), ["a", "b", "c"]);
    assert_eq!(branches(&sandbox, "x"), ["main"]);
}

/// An id that no other file has by chance.
fn unique(name: &str) -> String {
    format!("{name:0>8}-0000-4000-8000-000000000000")
}

#[test]
fn a_long_chain_is_linked_in_one_run_though_it_is_read_backwards() {
    let sandbox = Sandbox::new();
    let count = 90;
    for place in 0..count {
        // The last comes first, by name and by time.
        let (id, parent) = (unique(&place.to_string()), unique(&(place - 1).to_string()));
        let parent = Some(parent.as_str()).filter(|_| place > 0);
        let name = format!("in/{:03}.jsonl", count - place);
        let line = message(&id, parent, &place.to_string());
        write(&sandbox.join(&name), header(&format!("s{place}")) + &line);
    }
    let told = import(&sandbox, &["in"]);
    let linked = told.iter().filter(|told| text(told, "change") == "linked").count();
    assert_eq!((told.len(), linked), (2 * count as usize - 1, count as usize - 1), "each once");
    let expected: Vec<String> = (0..count).map(|place| place.to_string()).collect();
    assert_eq!(said(&sandbox, "001"), expected);
    assert_exact(&sandbox, "007", &sandbox.join("in/007.jsonl"));
    assert_sound(&sandbox);
    assert!(import(&sandbox, &["in"]).is_empty());
}

#[test]
fn values_that_hang_on_each_other_in_a_circle_are_cut_once_and_told() {
    let mut outcomes = Vec::new();
    for order in [["a.jsonl", "b.jsonl"], ["b.jsonl", "a.jsonl"]] {
        let sandbox = Sandbox::new();
        write(&sandbox.join("a.jsonl"), header("a") + &message("a1", Some("b1"), "one"));
        write(&sandbox.join("b.jsonl"), header("b") + &message("b1", Some("a1"), "two"));
        let mut told = import(&sandbox, &order[..1]);
        told.extend(import(&sandbox, &order[1..]));
        let circles: Vec<_> = told.iter().flat_map(odds).filter(|it| it.0 == "circular").collect();
        assert_eq!(circles, [("circular", 2)]);
        outcomes.push((said(&sandbox, "a"), said(&sandbox, "b")));
        for session in ["a", "b"] {
            assert_exact(&sandbox, session, &sandbox.join(&format!("{session}.jsonl")));
        }
        assert_sound(&sandbox);
        assert!(import(&sandbox, &["."]).is_empty());
    }
    let lengths = (outcomes[0].0.len(), outcomes[0].1.len());
    assert!(lengths == (1, 2) || lengths == (2, 1), "{outcomes:?}");
    assert_eq!(outcomes[0], outcomes[1]);
}

#[test]
fn files_may_hang_on_each_other_by_turns() {
    let sandbox = Sandbox::new();
    let a = [("a1", None, "one"), ("a3", Some("b2"), "three"), ("a5", Some("b4"), "five")];
    let b = [("b2", Some("a1"), "two"), ("b4", Some("a3"), "four"), ("b6", Some("a5"), "six")];
    for (name, lines) in [("a", a), ("b", b)] {
        let lines = lines.map(|(id, parent, text)| message(id, parent, text));
        write(&sandbox.join(&format!("{name}.jsonl")), header(name) + &lines.concat());
    }
    import(&sandbox, &["a.jsonl", "b.jsonl"]);
    assert_eq!(said(&sandbox, "b"), ["one", "two", "three", "four", "five", "six"]);
    assert_eq!(said(&sandbox, "a"), ["one", "two", "three", "four", "five"]);
    assert_exact(&sandbox, "a", &sandbox.join("a.jsonl"));
    assert_sound(&sandbox);
}

#[test]
fn a_parent_is_found_in_another_directory_in_a_later_run() {
    let sandbox = Sandbox::new();
    let (parent, child) = (unique("a1"), unique("b1"));
    write(&sandbox.join("one/a.jsonl"), header("a") + &message(&parent, None, "one"));
    write(&sandbox.join("two/b.jsonl"), header("b") + &message(&child, Some(&parent), "two"));
    import(&sandbox, &["one"]);
    let told = import(&sandbox, &["two"]);
    assert_eq!(said(&sandbox, "b"), ["one", "two"]);
    assert_eq!(text(told.last().unwrap(), "change"), "linked");
    let told = sandbox.ok(&["import", "two"]);
    assert!(!told.contains("orphaned"), "{told}");
    assert_exact(&sandbox, "b", &sandbox.join("two/b.jsonl"));
}

#[test]
fn what_is_linked_in_the_end_is_not_told_as_orphaned() {
    let sandbox = Sandbox::new();
    chain(&sandbox, "cba");
    let told = sandbox.ok(&["import", "."]);
    assert!(!told.contains("orphaned"), "{told}");
}

#[test]
fn a_branch_keeps_its_name_when_its_session_is_linked() {
    let sandbox = Sandbox::new();
    let lines = [
        message("b1", Some("a1"), "go on"),
        message("b2", Some("b1"), "an answer"),
        message("b4", Some("b1"), "another answer"),
        message("b6", Some("b1"), "a third"),
    ];
    write(&sandbox.join("b.jsonl"), header("b") + &lines.concat());
    import(&sandbox, &["b.jsonl"]);
    let known = branches(&sandbox, "b");
    assert_eq!(known.len(), 3);
    sandbox.ok(&["branch", "-q", "-s", "b", "-d", "an-answer"]);
    write(&sandbox.join("a.jsonl"), header("a") + &message("a1", None, "one"));
    import(&sandbox, &["a.jsonl"]);
    let kept: Vec<&String> = known.iter().filter(|name| *name != "an-answer").collect();
    assert_eq!(branches(&sandbox, "b").iter().collect::<Vec<_>>(), kept);
    assert_eq!(said(&sandbox, "b"), ["one", "go on", "a third"]);
    let on_branch = sandbox.ok(&["log", "-s", "b", "--oneline", "another-answer"]);
    assert_eq!(on_branch.lines().count(), 3, "{on_branch}");
    assert_sound(&sandbox);
}

#[test]
fn a_fork_is_followed_to_a_session_that_comes_later() {
    let sandbox = Sandbox::new();
    let head = r#"{"type":"session","version":1,"id":"sess_b","timestamp":"","name":"n","#;
    let lineage = r#""forkedFromSessionId":"sess_a","forkedFromEntryId":"a1"}"#;
    let line = |id: &str, parent: &str, text: &str| {
        let links = format!(r#""id":"{id}","parentId":{parent},"timestamp":"#);
        format!(r#"{{"type":"message",{links}"","role":"user","content":"{text}"}}"#) + "\n"
    };
    write(&sandbox.join("b.jsonl"), format!("{head}{lineage}\n") + &line("b1", "null", "two"));
    import(&sandbox, &["b.jsonl"]);
    let head = "{\"type\":\"session\",\"version\":1,\"id\":\"sess_a\",\"timestamp\":\"\"}\n";
    write(&sandbox.join("deep/in.jsonl"), head.to_owned() + &line("a1", "null", "one"));
    import(&sandbox, &["deep"]);
    let fork = |sandbox: &Sandbox| {
        let shown = parse(&sandbox.ok(&["session", "show", "n", "--json"]));
        let header = shown.get("header").cloned().unwrap_or_default();
        (text(&header, "parent_id").to_owned(), text(&header, "branch_entry").to_owned())
    };
    let (session, entry) = fork(&sandbox);
    assert_eq!(session, "in");
    let first = parse(&sandbox.ok(&["session", "show", "in", "--json"]));
    assert_eq!(entry, text(&first, "entry"));
    assert!(import(&sandbox, &["."]).is_empty());
    assert_eq!(fork(&sandbox), (session, entry));
}

#[test]
fn of_a_file_that_is_too_long_to_be_held_children_before_their_parents_are_orphans() {
    if std::env::var_os("SAPWOOD_TORTURE").is_none() {
        return;
    }
    let sandbox = Sandbox::new();
    let padding = "words ".repeat(150);
    let mut all = header("x") + &message("b", Some("a"), "b") + &message("a", None, "a");
    for number in 0..80_000 {
        all += &message(&format!("n{number}"), Some("a"), &padding);
    }
    write(&sandbox.join("x.jsonl"), all + &message("z", Some("a"), "z"));
    let told = import(&sandbox, &["x.jsonl"]);
    assert_eq!(odds(&told[0]), [("orphaned", 2)]);
    assert_eq!(said(&sandbox, "x"), ["a", "z"]);
    assert_exact(&sandbox, "x", &sandbox.join("x.jsonl"));
}
