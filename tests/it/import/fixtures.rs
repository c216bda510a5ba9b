//! The sessions in `fixtures/sessions`: every dialect, and what each file is there for.

use super::*;

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/sessions")
}

fn imported() -> (Sandbox, Vec<Value>) {
    let sandbox = Sandbox::new();
    let told = import(&sandbox, &[directory().to_str().unwrap()]);
    (sandbox, told)
}

/// Finds the session of the file whose path contains some text.
fn session<'a>(told: &'a [Value], part: &str) -> &'a str {
    let mut found = told.iter().filter(|told| text(told, "source").contains(part));
    let session = text(found.next().unwrap(), "session");
    assert!(found.all(|told| text(told, "session") == session), "{part} is one file");
    session
}

/// Gives what the listing says of a session.
fn listed(sandbox: &Sandbox, session: &str) -> Value {
    let lines = sandbox.ok(&["sessions", "--json"]);
    let mut lines = lines.lines().map(parse);
    lines.find(|line| text(line, "session") == session).unwrap()
}

#[test]
fn every_file_comes_back_byte_for_byte() {
    let (sandbox, told) = imported();
    let files: Vec<PathBuf> = files_below(&directory())
        .into_iter()
        .filter(|path| path.extension().is_some_and(|ending| ending != "md"))
        .collect();
    assert!(files.len() > 20);
    for file in &files {
        assert_exact(&sandbox, session(&told, file.to_str().unwrap()), file);
    }
    assert_sound(&sandbox);
    sandbox.ok(&["repack", "-q"]);
    for file in &files {
        assert_exact(&sandbox, session(&told, file.to_str().unwrap()), file);
    }
}

#[test]
fn every_file_is_recognised() {
    let (_, told) = imported();
    for told in &told {
        let path = Path::new(text(told, "source")).strip_prefix(directory()).unwrap();
        let folder = path.iter().next().unwrap().to_str().unwrap();
        let dialect = if folder == "damaged" { "claude" } else { folder };
        assert_eq!(text(told, "dialect"), dialect, "{path:?}");
        let is_damaged = folder == "damaged";
        assert_eq!(!odds(told).is_empty(), is_damaged, "{path:?}: {:?}", odds(told));
    }
    let damaged = told.iter().find(|told| text(told, "source").contains("damaged")).unwrap();
    let expected = [
        ("welded", 2),
        ("welded", 2),
        ("not JSON", 4),
        ("torn", 5),
        ("torn", 8),
        ("welded", 8),
        ("torn at the end", 10),
    ];
    assert_eq!(odds(damaged), expected);
}

#[test]
fn a_second_import_adds_nothing() {
    let (sandbox, _) = imported();
    let before = objects(&sandbox);
    assert!(import(&sandbox, &[directory().to_str().unwrap()]).is_empty());
    assert_eq!(objects(&sandbox), before);
    // From elsewhere, they are other sessions with the same entries.
    for file in files_below(&directory()) {
        let rest = file.strip_prefix(directory()).unwrap();
        write(&sandbox.join("copy").join(rest), std::fs::read(&file).unwrap());
    }
    for told in import(&sandbox, &["copy"]) {
        assert_eq!(number(&told, "entries_new"), 0, "{told:?}");
        assert_eq!(number(&told, "bytes_new"), 0, "{told:?}");
    }
    assert_sound(&sandbox);
}

#[test]
fn families_are_shown_as_a_tree() {
    let (sandbox, told) = imported();
    let tree = sandbox.ok(&["sessions", "--tree"]);
    let children: Vec<&str> = tree
        .lines()
        .filter_map(|line| line.split_once("└─ ")?.1.split_whitespace().next())
        .collect();
    assert_eq!(children, ["rollout-02", "ecf189bc", "agent-5f2c", "a21d17f4"]);
    assert!(tree.lines().all(|line| line.chars().count() <= 80), "{tree}");
    let parent = |part: &str| text(&listed(&sandbox, session(&told, part)), "parent_id").to_owned();
    assert_eq!(parent("2025-11-04T15-"), session(&told, "2025-11-04T08-"));
    assert_eq!(parent("codex/2025/11/11"), session(&told, "codex/2025/11/10"));
    assert_eq!(parent("_rollout-02"), "rollout-01");
    let child = sandbox.ok(&["session", "show", "rollout-02", "--json"]);
    let header = parse(&child).get("header").cloned().unwrap();
    assert_eq!(text(&header, "branch_reason"), "config_change");
    assert_eq!(number(&header, "branch_point"), 1);
    let model = header.get("branch_metadata").unwrap();
    assert_eq!(text(model, "new_model"), "claude-haiku-4-5");
}

#[test]
fn sessions_have_their_names_directories_and_models() {
    let (sandbox, told) = imported();
    let expected = [
        ("2025-11-03T09-", "", "/home/ann/tide", "claude-sonnet-4-5"),
        ("2025-11-04T08-", "the notch at midnight", "/home/ann/tide", "claude-sonnet-4-5"),
        ("a14cee7f", "fast tide tables", "/home/ann/tide", "claude-sonnet-4-5-20250929"),
        (
            "6f9773a3",
            "Changelog of the fast tables",
            "/home/ann/tide",
            "claude-sonnet-4-5-20250929",
        ),
        ("C--Users", "", r"C:\Users\ann\tide", "claude-sonnet-4-5-20250929"),
        ("codex/2025/11/10", "JSON for tables", "/home/ann/tide", "gpt-5.1-codex"),
        ("codex/2025/06", "", "", ""),
        ("_rollout-02", "", "/home/ann/tide", "claude-haiku-4-5"),
        ("sess_tide01", "tide for phones", "/home/ann/tide", ""),
        ("ses_tide4cafe01", "Stations on a map", "/home/ann/tide", "claude-sonnet-4-5"),
        ("2025-11-15T", "", "", "gemini-2.5-pro"),
        ("2025-11-16T", "French words", "/home/ann/tide", "gemini-2.5-pro"),
        ("copilot", "The red Windows job", "/home/ann/tide", "gpt-5.1"),
        ("chat/conversations", "", "", "small-1"),
    ];
    for (part, name, cwd, model) in expected {
        let info = listed(&sandbox, session(&told, part));
        let found = (text(&info, "name"), text(&info, "cwd"), text(&info, "model"));
        assert_eq!(found, (name, cwd, model), "{part}");
    }
    let copilot = session(&told, "copilot");
    assert!(text(&told[0], "source").len() > copilot.len() && copilot.starts_with("12efeab5-"));
}

#[test]
fn decisions_are_branches_and_parallel_tools_are_none() {
    let (sandbox, told) = imported();
    let expected: [(&str, &[&str]); 8] = [
        ("2025-11-03T09-", &["main"]),
        ("2025-11-03T11-", &["by-hand", "main"]),
        ("2025-11-04T08-", &["interpolate", "main", "write-two-sentences-for-the"]),
        ("a14cee7f", &["main", "name-this-conversation-in-five", "use-newton-s-method"]),
        ("codex/2025/11/10", &["main", "print-one-array-instead"]),
        ("sess_tide01", &["main", "webassembly"]),
        ("2025-11-16T", &["and-breton", "main"]),
        ("chat/conversations", &["main", "when-is-slack-water"]),
    ];
    for (part, names) in expected {
        let found = branches(&sandbox, session(&told, part));
        let found: Vec<&str> = found.iter().map(String::as_str).collect();
        assert_eq!(found, names, "{part}");
    }
    let labels = |part: &str| sandbox.ok(&["label", "-s", session(&told, part)]);
    let pi = labels("2025-11-04T08-");
    assert!(pi.contains("good") && pi.contains("two ways"), "{pi}");
    assert!(labels("sess_tide01").contains("the choice"));
}

#[test]
fn what_a_file_resumes_or_repeats_is_not_stored_again() {
    let (sandbox, told) = imported();
    let first = |part: &str| said(&sandbox, session(&told, part)).remove(0);
    assert_eq!(first("6f9773a3"), first("a14cee7f"));
    assert_eq!(first("b1d8fc61"), first("a14cee7f"));
    let shared = |part: &str| {
        let found = told.iter().find(|told| text(told, "source").contains(part)).unwrap();
        (number(found, "entries"), number(found, "entries_shared"))
    };
    assert_eq!(shared("b1d8fc61"), (15, 13));
    assert_eq!(shared("_rollout-02"), (6, 2));
    assert_eq!(shared("codex/2025/11/11"), (19, 14));
    assert_eq!(shared("2025-11-04T15-"), (14, 11));
    let end = said(&sandbox, session(&told, "6f9773a3"));
    assert!(end.contains(&"Committed as 9be01d7.".to_owned()), "{end:?}");
}
