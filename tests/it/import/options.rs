//! What `import` is told: paths, standard input, dialects, and what to do about trouble.

use super::*;

fn tale() -> String {
    header("tale") + &message("m1", None, "one") + &message("m2", Some("m1"), "two")
}

#[test]
fn a_dry_run_writes_nothing() {
    let sandbox = Sandbox::with_store();
    write(&sandbox.join("tale.jsonl"), tale());
    let before = (objects(&sandbox), sandbox.ok(&["for-each-ref"]));
    let out = sandbox.ok(&["import", "--dry-run", "tale.jsonl"]);
    assert!(out.starts_with("Would import 1 session, 3 entries (0 shared)"), "{out}");
    assert_eq!((objects(&sandbox), sandbox.ok(&["for-each-ref"])), before);
    let told = import(&sandbox, &["-n", "tale.jsonl"]);
    assert_eq!(number(&told[0], "entries_new"), 3);
    assert_eq!(told[0].get("session"), Some(&Value::Null));
    import(&sandbox, &["tale.jsonl"]);
    assert!(import(&sandbox, &["-n", "tale.jsonl"]).is_empty());
}

#[test]
fn a_branch_may_be_called_as_metadata_is() {
    let sandbox = Sandbox::with_store();
    write(&sandbox.join("a.jsonl"), tale());
    let told = import(&sandbox, &["a.jsonl"]);
    let session = text(&told[0], "session");
    for branch in ["meta", "x/meta"] {
        sandbox.ok(&["branch", "-s", session, branch]);
    }
    write(&sandbox.join("b.jsonl"), tale() + &message("m3", Some("m2"), "three"));
    assert_eq!(number(&import(&sandbox, &["b.jsonl"])[0], "entries_new"), 1);
}

#[test]
fn a_dry_run_counts_what_files_share() {
    let sandbox = Sandbox::with_store();
    write(&sandbox.join("a.jsonl"), tale());
    write(&sandbox.join("b.jsonl"), tale());
    let told = import(&sandbox, &["-n", "."]);
    let new: Vec<i64> = told.iter().map(|told| number(told, "entries_new")).collect();
    assert_eq!(new, [3, 0]);
}

#[test]
fn a_dialect_can_be_named() {
    let sandbox = Sandbox::new();
    write(&sandbox.join("odd.jsonl"), "{\"role\":\"user\",\"content\":\"hi\"}\n");
    assert_eq!(text(&import(&sandbox, &["odd.jsonl"])[0], "dialect"), "chat");
    write(&sandbox.join("other.jsonl"), "{\"role\":\"user\",\"content\":\"hi\"}\n");
    let told = import(&sandbox, &["--dialect", "rollouts", "other.jsonl"]);
    assert_eq!(text(&told[0], "dialect"), "rollouts");
    let err = sandbox.fails(3, &["import", "--dialect", "klingon", "odd.jsonl"]);
    assert!(err.contains("'klingon'") && err.contains("claude"), "{err}");
}

#[test]
fn without_a_path_the_agents_folders_are_named_and_read_if_told_so() {
    let sandbox = Sandbox::new();
    let err = sandbox.fails(3, &["import"]);
    assert!(err.contains("no agent keeps sessions") && err.contains("hint:"), "{err}");
    write(&sandbox.join("home/.pi/agent/sessions/--w--/0_tale.jsonl"), tale());
    let err = sandbox.fails(3, &["import"]);
    assert!(err.contains(".pi/agent/sessions") && err.contains("--yes"), "{err}");
    let told = import(&sandbox, &["--yes"]);
    assert_eq!(text(&told[0], "session"), "tale");
}

#[test]
fn standard_input_is_a_file_without_a_name() {
    let sandbox = Sandbox::new();
    let out = sandbox.feed_ok(&["import", "--json", "-"], tale());
    let told = parse(&out);
    assert_eq!((text(&told, "session"), told.get("source")), ("tale", Some(&Value::Null)));
    let late = header("late") + &message("b", Some("a"), "b") + &message("a", None, "a");
    sandbox.feed_ok(&["import", "-q", "-"], late + &message("c", Some("b"), "c"));
    assert_eq!(said(&sandbox, "late"), ["a", "b", "c"]);
    assert_eq!(branches(&sandbox, "late"), ["main"]);
    assert_sound(&sandbox);
}

#[test]
fn compressed_files_are_read_and_come_back_as_what_they_hold() {
    let sandbox = Sandbox::new();
    let packed = |text: &str| zstd::encode_all(text.as_bytes(), 3).unwrap();
    let path = sandbox.join("in/tale.jsonl.zst");
    write(&path, packed(&tale()));
    assert_eq!(text(&import(&sandbox, &["in"])[0], "session"), "tale");
    write(&sandbox.join("plain"), tale());
    assert_exact(&sandbox, "tale", &sandbox.join("plain"));
    let more = tale() + &message("m3", Some("m2"), "three");
    write(&path, packed(&more));
    assert_eq!(text(&import(&sandbox, &["in"])[0], "change"), "grown");
    write(&sandbox.join("plain"), &more);
    assert_exact(&sandbox, "tale", &sandbox.join("plain"));
    // Half a file is no file, and leaves what was.
    write(&path, &packed(&more)[..80]);
    assert_eq!(sandbox.run(&["import", "in"]).code, 7);
    assert_exact(&sandbox, "tale", &sandbox.join("plain"));
    assert_sound(&sandbox);
}

#[test]
fn what_is_no_session_is_told_and_left() {
    let sandbox = Sandbox::new();
    write(&sandbox.join("in/notes.json"), "{\"todo\": [1, 2]}\n");
    write(&sandbox.join("in/empty.jsonl"), "");
    write(&sandbox.join("in/blank.jsonl"), "\n\n  \n");
    write(&sandbox.join("in/readme.md"), tale());
    write(&sandbox.join("in/noise.jsonl"), "not at all\nneither\n");
    let ran = sandbox.run(&["import", "in"]);
    assert_eq!(ran.code, 0);
    assert!(ran.out.starts_with("Imported 0 sessions, 0 entries"), "{}", ran.out);
    assert!(ran.out.contains("4 no sessions"), "{}", ran.out);
    assert!(ran.err.contains("notes.json: no session that is known"), "{}", ran.err);
    assert_eq!(sandbox.ok(&["sessions"]), "");
    // A file that is named itself may be called anything.
    assert_eq!(text(&import(&sandbox, &["in/readme.md"])[0], "session"), "readme.md");
}

#[cfg(unix)]
#[test]
fn what_cannot_be_read_stops_the_import_or_is_told_at_its_end() {
    use std::os::unix::fs::symlink;
    let sandbox = Sandbox::new();
    write(&sandbox.join("in/tale.jsonl"), tale());
    write(&sandbox.join("in/folder.jsonl/inner.jsonl"), tale().replace("tale", "inner"));
    symlink(sandbox.join("nowhere"), sandbox.join("in/gone.jsonl")).unwrap();
    let err = sandbox.fails(7, &["import", "in"]);
    assert!(err.contains("gone.jsonl"), "{err}");
    assert_eq!(sandbox.ok(&["sessions"]), "");
    let ran = sandbox.run(&["import", "--keep-going", "in"]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("gone.jsonl"), "{}", ran.err);
    let ran = sandbox.run(&["import", "--keep-going", "--json", "in"]);
    assert!(ran.code == 1 && ran.err.contains("gone.jsonl"), "{}", ran.err);
    let listed = sandbox.ok(&["sessions", "--json"]);
    assert_eq!(listed.lines().count(), 2, "{listed}");
    sandbox.fails(7, &["import", "nowhere.jsonl"]);
}

#[cfg(unix)]
#[test]
fn a_loop_of_links_is_told_and_left_out() {
    let sandbox = Sandbox::new();
    write(&sandbox.join("in/deep/tale.jsonl"), tale());
    std::os::unix::fs::symlink(sandbox.join("in"), sandbox.join("in/deep/loop")).unwrap();
    let ran = sandbox.run(&["import", "in"]);
    assert_eq!(ran.code, 0);
    assert!(ran.err.contains("deep/loop: left out"), "{}", ran.err);
    assert!(ran.out.starts_with("Imported 1 session,"), "{}", ran.out);
}

#[cfg(unix)]
#[test]
fn what_is_named_and_neither_file_nor_folder_is_told() {
    let sandbox = Sandbox::new();
    let err = sandbox.fails(7, &["import", "/dev/null"]);
    assert!(err.contains("/dev/null") && err.contains("neither a file nor"), "{err}");
}

#[test]
fn a_dry_run_needs_no_store_and_changes_no_file_of_one() {
    let sandbox = Sandbox::new();
    write(&sandbox.join("tale.jsonl"), tale());
    assert_eq!(import(&sandbox, &["-n", "tale.jsonl"]).len(), 1);
    assert!(files_below(&sandbox.join("home")).is_empty());
    sandbox.ok(&["init", "-q"]);
    let look = || -> Vec<(PathBuf, Vec<u8>)> {
        let files = files_below(&sandbox.join(".sapwood")).into_iter();
        files.map(|file| (file.clone(), std::fs::read(file).unwrap())).collect()
    };
    let before = look();
    assert_eq!(import(&sandbox, &["-n", "tale.jsonl"]).len(), 1);
    assert!(look() == before);
    sandbox.fails(3, &["import", "-n", "--store", "nowhere", "tale.jsonl"]);
}

#[test]
fn a_quiet_import_says_nothing() {
    let sandbox = Sandbox::new();
    write(&sandbox.join("tale.jsonl"), tale() + "half a li");
    let ran = sandbox.run(&["import", "-q", "tale.jsonl"]);
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "", ""));
}

#[test]
fn a_session_says_which_file_it_came_from() {
    let sandbox = Sandbox::new();
    write(&sandbox.join("tale.jsonl"), tale());
    import(&sandbox, &["tale.jsonl"]);
    let shown = sandbox.ok(&["session", "show", "tale"]);
    let path = sandbox.join("tale.jsonl").canonicalize().unwrap();
    assert!(shown.contains(&format!("source          {}", path.display())), "{shown}");
    let shown = parse(&sandbox.ok(&["session", "show", "tale", "--json"]));
    assert_eq!((text(&shown, "dialect"), text(&shown, "source")), ("pi", path.to_str().unwrap()));
}

#[cfg(target_os = "linux")]
#[test]
fn names_that_are_no_text_are_told_apart() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let sandbox = Sandbox::new();
    for (byte, id) in [(0xfe, "x1"), (0xff, "y1")] {
        let name = [b"in/".as_slice(), &[byte], b".jsonl"].concat();
        write(&sandbox.path().join(OsStr::from_bytes(&name)), header(id) + &message(id, None, id));
    }
    assert_eq!(import(&sandbox, &["in"]).len(), 2);
    assert!(import(&sandbox, &["in"]).is_empty());
    assert_eq!(sandbox.ok(&["sessions", "--json"]).lines().count(), 2);
}

#[test]
fn the_end_shows_what_came_and_what_to_try() {
    let sandbox = Sandbox::new();
    write(&sandbox.join("in/tale.jsonl"), tale() + "half a li");
    let out = sandbox.ok(&["import", "in"]);
    for part in [
        "Imported 1 session, 3 entries (0 shared), 0 unchanged, 0 no sessions\n",
        "odd, and kept as it is: 1 torn at the end\n",
        "/in/tale.jsonl:4: torn at the end\n",
        "\n* tale ",
        "  sapwood log -s tale\n",
    ] {
        assert!(out.contains(part), "{part:?} is not in\n{out}");
    }
}
