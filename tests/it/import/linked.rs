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

#[test]
fn files_that_hang_on_each_other_in_a_circle_come_to_an_end() {
    let sandbox = Sandbox::new();
    write(&sandbox.join("a.jsonl"), header("a") + &message("a1", Some("b1"), "one"));
    write(&sandbox.join("b.jsonl"), header("b") + &message("b1", Some("a1"), "two"));
    import(&sandbox, &["a.jsonl", "b.jsonl"]);
    for session in ["a", "b"] {
        assert_exact(&sandbox, session, &sandbox.join(&format!("{session}.jsonl")));
    }
    assert_sound(&sandbox);
}
