//! Parts of imported sessions, and where an export is written to.

use super::*;

/// A document of OpenCode with four messages.
fn document() -> String {
    let item = |id: &str, role: &str, text: &str| {
        let info = format!(r#"{{"id":"{id}","role":"{role}","time":{{"created":1762243200000}}}}"#);
        format!(r#"{{"info":{info},"parts":[{{"type":"text","text":"{text}"}}]}}"#)
    };
    let items = [
        item("m1", "user", "one"),
        item("m2", "assistant", "two"),
        item("m3", "user", "three"),
        item("m4", "assistant", "four"),
    ];
    let info = r#"{"id":"ses_doc","title":"A document","directory":"/w"}"#;
    format!("{{\"info\":{info},\"messages\":[{}]}}\n", items.join(","))
}

#[test]
fn a_part_of_a_document_is_a_document() {
    let sandbox = Sandbox::new();
    write(&sandbox.join("doc.json"), document());
    let told = import(&sandbox, &["doc.json"]);
    let session = text(&told[0], "session").to_owned();
    assert_eq!(text(&told[0], "dialect"), "opencode");
    assert_exact(&sandbox, &session, &sandbox.join("doc.json"));
    for args in [["main~2"].as_slice(), &["--subtree", "main~2"], &["--subtree", "main"]] {
        let out = sandbox.ok(&[&["export", "-s", &session], args].concat());
        let parsed = parse(&out);
        let messages = parsed.get("messages").and_then(Value::as_list).unwrap();
        let expected = if args == ["main~2"] { 2 } else { 4 };
        assert_eq!(messages.len(), expected, "{args:?}: {out}");
        assert_eq!(text(parsed.get("info").unwrap(), "id"), "ses_doc");
        let again = Sandbox::new();
        write(&again.join("part.json"), &out);
        let told = import(&again, &["part.json"]);
        assert_eq!(text(&told[0], "dialect"), "opencode");
        assert_eq!(said(&again, text(&told[0], "session")).len(), expected);
    }
}

/// A session that forks at its first message.
fn forked(sandbox: &Sandbox) {
    let lines = [
        message("a1", None, "one"),
        message("a2", Some("a1"), "two"),
        message("a4", Some("a1"), "other two"),
        message("a5", Some("a4"), "three"),
    ];
    write(&sandbox.join("s.jsonl"), header("s") + &lines.concat());
    import(sandbox, &["s.jsonl"]);
}

#[test]
fn a_subtree_of_several_paths_is_refused_where_a_file_has_one() {
    let sandbox = Sandbox::new();
    forked(&sandbox);
    for dialect in ["codex", "rollouts", "chat"] {
        let err = sandbox.fails(3, &["export", "-s", "s", "--subtree", "main~2", "--to", dialect]);
        assert!(err.contains("2 lead on from there") && err.contains("-o DIR"), "{err}");
        // One that does not fork is that path.
        let out = sandbox.ok(&["export", "-s", "s", "--subtree", "main~1", "--to", dialect]);
        assert!(out.contains("three"), "{out}");
        let folder = format!("{dialect}/");
        let ran = sandbox.run(&[
            "export",
            "-s",
            "s",
            "--subtree",
            "main~2",
            "--to",
            dialect,
            "-o",
            &folder,
        ]);
        assert_eq!((ran.code, ran.err.contains("2 paths in")), (0, true), "{}", ran.err);
        let files = files_below(&sandbox.join(dialect));
        let names: Vec<_> =
            files.iter().map(|file| file.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["s-1-main.jsonl", "s-2-two.jsonl"]);
        let texts: Vec<String> =
            files.iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
        assert!(texts[0].contains("three") && !texts[1].contains("three"), "{texts:?}");
    }
    let out = sandbox.ok(&["export", "-s", "s", "--subtree", "main~2", "--to", "claude"]);
    assert!(out.contains("three") && out.contains("\"two\""), "{out}");
}

#[test]
fn what_came_from_dash_and_is_written_for_pi_is_pis() {
    let sandbox = Sandbox::new();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/sessions/dash");
    let told = import(&sandbox, &[fixture.to_str().unwrap()]);
    let session = text(&told[0], "session").to_owned();
    let again = Sandbox::new();
    let out = sandbox.ok(&["export", "-s", &session, "--to", "pi"]);
    write(&again.join("s.jsonl"), out + "\n");
    let told = import(&again, &["s.jsonl"]);
    assert_eq!(text(&told[0], "dialect"), "pi");
    assert_eq!(said(&again, text(&told[0], "session")), said(&sandbox, &session));
}

#[cfg(unix)]
#[test]
fn a_device_a_pipe_and_a_link_are_written_to_and_not_replaced() {
    use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
    let sandbox = Sandbox::new();
    forked(&sandbox);
    let expected = std::fs::read(sandbox.join("s.jsonl")).unwrap();
    sandbox.ok(&["export", "-s", "s", "-o", "/dev/null"]);
    let device = std::fs::metadata("/dev/null").unwrap();
    assert!(device.file_type().is_char_device());

    let target = sandbox.join("target.jsonl");
    std::fs::write(&target, "before").unwrap();
    std::fs::set_permissions(&target, std::fs::Permissions::from_mode(0o640)).unwrap();
    symlink("target.jsonl", sandbox.join("link.jsonl")).unwrap();
    sandbox.ok(&["export", "-s", "s", "-o", "link.jsonl"]);
    let link = std::fs::symlink_metadata(sandbox.join("link.jsonl")).unwrap();
    assert!(link.file_type().is_symlink());
    assert_eq!(std::fs::read(&target).unwrap(), expected);
    assert_eq!(std::fs::metadata(&target).unwrap().mode() & 0o777, 0o640);

    let pipe = sandbox.join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    if made.is_ok_and(|made| made.success()) {
        let reader = {
            let pipe = pipe.clone();
            std::thread::spawn(move || std::fs::read(pipe).unwrap())
        };
        sandbox.ok(&["export", "-s", "s", "-o", "pipe"]);
        assert_eq!(reader.join().unwrap(), expected);
        assert!(std::fs::metadata(&pipe).unwrap().file_type().is_fifo());
    }
    let left = files_below(sandbox.path());
    assert!(!left.iter().any(|file| file.to_string_lossy().ends_with(".part")), "{left:?}");
}
