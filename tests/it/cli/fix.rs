//! `fsck --full` and `fsck --fix`.

use super::*;

/// A store with a session of six messages in the journal.
fn talk() -> Sandbox {
    let sandbox = Sandbox::with_store();
    sandbox.append("s1", "main", &["one", "two", "three", "four", "five", "six"]);
    sandbox
}

/// Hits a text in the journal.
fn hit(sandbox: &Sandbox, text: &str) {
    let path = sandbox.join(".sapwood/objects/journal/0000000000000001");
    let mut bytes = std::fs::read(&path).unwrap();
    let place = bytes.windows(text.len()).position(|part| part == text.as_bytes()).unwrap();
    bytes[place] ^= 1;
    std::fs::write(&path, bytes).unwrap();
}

#[test]
fn a_whole_store_has_nothing_to_mend() {
    let sandbox = talk();
    for args in [&["fsck", "--fix"][..], &["fsck", "--fix", "--dry-run"]] {
        let ran = sandbox.run(args);
        assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "", "Nothing to mend\n"));
    }
    let json = sandbox.ok(&["fsck", "--fix", "--json"]);
    assert!(json.starts_with(r#"{"v":1,"fixed":false,"#), "{json}");
    assert_eq!(sandbox.ok(&["fsck", "--full", "-q"]), "");
    assert!(!sandbox.join(".sapwood/damaged").exists());
}

#[test]
fn a_lost_message_is_told_and_the_rest_is_kept() {
    let sandbox = talk();
    let ids: Vec<String> = sandbox.ok(&["rev-list", "HEAD"]).lines().map(str::to_owned).collect();
    hit(&sandbox, "four");
    let err = sandbox.fails(6, &["append", "-m", "more"]);
    assert!(err.contains("fsck --fix"), "{err}");
    let ran = sandbox.run(&["fsck"]);
    assert!(ran.code == 6 && ran.err.contains("--fix --dry-run"), "{}", ran.err);

    let dry = sandbox.run(&["fsck", "--fix", "-n"]);
    assert_eq!(dry.code, 6, "{}", dry.err);
    assert!(dry.err.starts_with("Nothing was changed; whole: 6 objects, lost: 1; "));
    assert_eq!(sandbox.run(&["fsck", "-q"]).code, 6);

    let ran = sandbox.run(&["fsck", "--fix"]);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    // The newest first: two hang in the air, the third is lost, and its parent is the branch now.
    let (four, three) = (&ids[2], &ids[3]);
    for line in [
        format!(
            "moved: session s1, heads/main: was {}, is {three}; 1 lost, 2 left in the air",
            ids[0]
        ),
        format!("  lost: entry {four}"),
    ] {
        assert!(ran.out.lines().any(|found| found == line), "{line} in\n{}", ran.out);
    }
    let hanging = format!("  hanging: entry {} message ", ids[0]);
    let hanging = ran.out.lines().find(|line| line.starts_with(&hanging)).unwrap();
    assert!(hanging.ends_with(" \"six\""), "{hanging}");
    assert!(ran.err.contains("Damaged files are in "), "{}", ran.err);
    assert!(sandbox.ok(&["cat-file", "-p", &ids[0]]).contains("six"));
    sandbox.fails(1, &["cat-file", "-e", four]);
    assert_eq!(sandbox.ok(&["rev-list", "--count", "HEAD"]), "3");
    assert_eq!(sandbox.run(&["fsck", "--fix"]).err, "Nothing to mend\n");
    assert_eq!(sandbox.run(&["fsck", "-q"]).code, 0);
    sandbox.append("s1", "main", &["and on"]);
    assert_eq!(sandbox.ok(&["log", "--oneline"]).lines().count(), 4);
}

#[test]
fn the_report_is_one_json_object_a_line() {
    let sandbox = talk();
    hit(&sandbox, "five");
    let ran = sandbox.run(&["fsck", "--fix", "--json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let begins = [
        r#"{"v":1,"severity":"error","what":"journal-damaged","#,
        r#"{"v":1,"action":"salvage-journal","file":""#,
        r#"{"v":1,"ref":"sessions/s1/heads/main","session":"s1","old":""#,
        r#"{"v":1,"lost":""#,
        r#"{"v":1,"hanging":""#,
        r#"{"v":1,"fixed":true,"objects":6,"salvaged":6,"lost":1,"hanging":1,"#,
    ];
    for begin in begins {
        assert!(ran.out.lines().any(|line| line.starts_with(begin)), "{begin} in\n{}", ran.out);
    }
}

#[test]
fn a_store_without_format_and_manifest_is_found_and_mended() {
    let sandbox = talk();
    let before = sandbox.ok(&["rev-list", "HEAD"]);
    for file in ["format", "current"] {
        std::fs::remove_file(sandbox.join(".sapwood").join(file)).unwrap();
    }
    sandbox.fails(3, &["log"]);
    assert_eq!(sandbox.run(&["fsck", "-q"]).code, 6);
    assert_eq!(sandbox.run(&["fsck", "--fix", "-q"]).code, 0);
    assert_eq!(sandbox.ok(&["rev-list", "HEAD"]), before);
    assert_eq!(sandbox.ok(&["fsck", "-q"]), "");
}

#[test]
fn what_makes_no_sense_together_is_refused() {
    let sandbox = talk();
    for args in [
        &["fsck", "--dry-run"][..],
        &["fsck", "--fix", "--connectivity-only"],
        &["fsck", "--full", "--connectivity-only"],
    ] {
        assert_eq!(sandbox.run(args).code, 2, "{args:?}");
    }
}
