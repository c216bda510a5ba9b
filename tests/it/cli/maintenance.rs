//! `count-objects`, `repack`, `unpack`, `verify-pack`, `pack-refs` and `fsck`.

use super::*;

fn filled() -> Sandbox {
    let sandbox = Sandbox::with_store();
    sandbox.append("s1", "main", &["one", "two", "three"]);
    sandbox
}

fn counts(sandbox: &Sandbox) -> Vec<(String, u64)> {
    let text = sandbox.ok(&["count-objects", "-v"]);
    let pairs = text.lines().map(|line| line.split_once(": ").unwrap());
    pairs.map(|(name, number)| (name.to_owned(), number.parse().unwrap())).collect()
}

fn count(sandbox: &Sandbox, name: &str) -> u64 {
    let found = counts(sandbox).into_iter().find(|(other, _)| other == name);
    found.unwrap().1
}

#[test]
fn objects_are_counted_where_they_are() {
    let sandbox = filled();
    let names: Vec<String> = counts(&sandbox).into_iter().map(|(name, _)| name).collect();
    insta::assert_snapshot!(
        names.join(" "),
        @"journal size-journal count size in-pack packs size-pack cruft size-cruft"
    );
    // Three entries and the session.
    assert_eq!(count(&sandbox, "journal"), 4);
    assert!(sandbox.ok(&["count-objects"]).starts_with("4 objects, "));
    assert!(
        sandbox.ok(&["count-objects", "--json"]).starts_with("{\"v\":1,\"journal_objects\":4,")
    );
    assert!(sandbox.ok(&["count-objects", "-vH"]).contains("size-pack: 0 bytes"));
}

#[test]
fn a_store_that_was_just_written_is_whole() {
    let sandbox = filled();
    let ran = sandbox.run(&["fsck"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{}", ran.err);
    assert!(ran.err.starts_with("Checked 4 objects, 5 refs, "), "{}", ran.err);
    assert_eq!(sandbox.ok(&["fsck", "-q"]), "");
    assert_eq!(sandbox.ok(&["fsck", "--json"]), "");
}

#[test]
fn refs_are_packed() {
    let sandbox = filled();
    let before = sandbox.ok(&["for-each-ref"]);
    assert_eq!(sandbox.run(&["pack-refs"]).err, "Packed 5 refs\n");
    assert_eq!(sandbox.ok(&["pack-refs", "--json"]), r#"{"v":1,"refs":5}"#);
    assert_eq!(sandbox.ok(&["for-each-ref"]), before);
}

#[test]
fn packs_are_written_verified_and_unpacked() {
    let sandbox = filled();
    let path = sandbox.ok(&["rev-list", "HEAD"]);
    let ran = sandbox.run(&["repack"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{}", ran.err);
    assert!(ran.err.starts_with("Packed 4 objects: "), "{}", ran.err);
    assert_eq!((count(&sandbox, "in-pack"), count(&sandbox, "packs")), (4, 1));
    assert_eq!(sandbox.run(&["repack", "-q"]).err, "");
    assert_eq!(sandbox.ok(&["rev-list", "HEAD"]), path);
    let pack = only_pack(&sandbox);
    let file = pack.to_str().unwrap();
    assert_eq!(sandbox.ok(&["verify-pack", file]), "");
    let listed = sandbox.ok(&["verify-pack", "-v", file]);
    let name = pack.file_stem().unwrap().to_str().unwrap();
    assert_eq!(listed.lines().count(), 5);
    assert!(path.lines().all(|id| listed.contains(&format!("{id} entry   "))), "{listed}");
    assert!(listed.ends_with(&format!("{name}: ok")));
    assert!(sandbox.ok(&["verify-pack", "--json", name]).starts_with("{\"v\":1,\"pack\":\"pack-"));
    assert_eq!(sandbox.run(&["unpack", name]).err, "Unpacked 4 objects\n");
    assert_eq!(count(&sandbox, "count"), 4);
    sandbox.fails(1, &["verify-pack", &"1".repeat(64)]);
    sandbox.fails(3, &["unpack", "nonsense"]);
}

#[test]
fn a_repacked_store_is_at_rest_and_goes_on() {
    let sandbox = Sandbox::with_store();
    let long: Vec<String> = (0..40).map(|number| format!("{number} ").repeat(9000)).collect();
    let texts: Vec<&str> = long.iter().map(String::as_str).collect();
    sandbox.append("s1", "main", &texts);
    sandbox.ok(&["repack", "-q"]);
    let journal = sandbox.join(".sapwood/objects/journal");
    let files = std::fs::read_dir(&journal).unwrap().map(|file| file.unwrap().metadata().unwrap());
    assert!(files.map(|file| file.len()).sum::<u64>() < 9000, "no zeros wait for what may come");
    sandbox.append("s1", "main", &texts[..3]);
    sandbox.append("s1", "main", &["short"]);
    assert_eq!(sandbox.ok(&["rev-list", "--count", "HEAD"]), "44");
    assert_eq!(sandbox.ok(&["fsck", "-q"]), "");
}

#[test]
fn a_damaged_pack_is_exit_code_six() {
    let sandbox = filled();
    sandbox.ok(&["repack", "-q"]);
    let pack = only_pack(&sandbox);
    let mut bytes = std::fs::read(&pack).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&pack, bytes).unwrap();
    let err = sandbox.fails(6, &["verify-pack", pack.to_str().unwrap()]);
    assert!(err.contains("is damaged") && err.contains("hint: 'sapwood fsck'"), "{err}");
}

fn only_pack(sandbox: &Sandbox) -> PathBuf {
    let files = std::fs::read_dir(sandbox.join(".sapwood/objects/pack")).unwrap();
    let mut packs: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    packs.retain(|path| path.extension().is_some_and(|extension| extension == "pack"));
    assert_eq!(packs.len(), 1);
    packs.remove(0)
}

#[test]
fn a_writer_that_holds_the_lock_too_long_is_exit_code_five() {
    let sandbox = filled();
    let lock = std::fs::OpenOptions::new().write(true).open(sandbox.join(".sapwood/lock")).unwrap();
    fs2::FileExt::lock_exclusive(&lock).unwrap();
    let mut command = sandbox.command(&["update-ref", "-d", "sessions/s1/heads/topic"]);
    let ran = finish(command.env("SAPWOOD_LOCK_TIMEOUT_MS", "50"), b"");
    assert_eq!(ran.code, 5, "{}", ran.err);
    assert!(ran.err.contains("gave up after"), "{}", ran.err);
    assert_eq!(sandbox.ok(&["rev-list", "--count", "HEAD"]), "3");
}

#[test]
fn what_a_crash_left_half_written_is_cleared_away() {
    let sandbox = Sandbox::with_store();
    // A branch may be called like a file that is being written.
    let odd = "x.0123456789abcdef.tmp";
    sandbox.append("s1", "main", &["one"]);
    sandbox.append("s1", odd, &["two"]);
    let left = [
        ".sapwood/current.0123456789abcdef.tmp",
        ".sapwood/refs/HEAD.0123456789abcdef.tmp",
        ".sapwood/refs/mirror.0123456789abcdef.tmp",
    ];
    for file in left {
        std::fs::write(sandbox.join(file), "?").unwrap();
    }
    assert_eq!(sandbox.ok(&["fsck", "-q"]).lines().count(), 3);
    sandbox.ok(&["repack", "-q"]);
    assert_eq!(sandbox.ok(&["fsck", "-q"]), "");
    // Beside a branch nothing is ever half written.
    let heads = sandbox.join(".sapwood/refs/sessions/s1/heads");
    std::fs::write(heads.join("main.0123456789abcdef.tmp"), "?").unwrap();
    assert!(sandbox.ok(&["fsck", "-q"]).contains("no ref has this file"));
    sandbox.ok(&["fsck", "--fix", "-q"]);
    assert_eq!(sandbox.ok(&["fsck", "-q"]), "");
    assert!(heads.join(odd).exists());
}

#[test]
fn copies_are_dropped_and_sharing_is_told() {
    let sandbox = filled();
    sandbox.ok(&["repack", "-q"]);
    sandbox.ok(&["unpack", "-q"]);
    let told = sandbox.ok(&["dedup", "--dry-run"]);
    assert!(told.starts_with("Would drop 4 copies (0 in the journal, 4 loose, 0 in packs): "));
    assert_eq!(count(&sandbox, "count"), 4);
    let told = sandbox.ok(&["dedup"]);
    let lines: Vec<&str> = told.lines().collect();
    assert!(lines[0].starts_with("Dropped 4 copies "), "{told}");
    assert_eq!(lines[1], "1 sessions use 3 entries (3 different) and 0 long strings (0 different)");
    assert_eq!((count(&sandbox, "count"), count(&sandbox, "in-pack")), (0, 4));
    assert!(sandbox.ok(&["dedup"]).starts_with("No object is stored twice\n"));
    let json = sandbox.ok(&["dedup", "--json"]);
    assert!(json.starts_with(r#"{"v":1,"copies":0,"copies_journal":0,"#), "{json}");
    assert_eq!(sandbox.ok(&["fsck", "-q"]), "");
}

#[test]
fn a_folder_is_looked_at_and_nothing_is_kept() {
    let sandbox = Sandbox::new();
    let line = |number: usize| {
        format!(
            "{{\"type\":\"user\",\"uuid\":\"u{number}\",\"parentUuid\":null,\"sessionId\":\"s\",\
             \"timestamp\":\"2026-01-01T00:00:00Z\",\"message\":{{\"role\":\"user\",\
             \"content\":\"question {number}\"}}}}\n"
        )
    };
    let folder = sandbox.join("folder");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("a.jsonl"), line(1)).unwrap();
    std::fs::write(folder.join("b.jsonl"), line(1) + &line(2)).unwrap();
    let scratch = sandbox.join("scratch");
    std::fs::create_dir(&scratch).unwrap();
    let look = |args: &[&str]| {
        let ran = finish(sandbox.command(args).env("TMPDIR", &scratch), b"");
        assert_eq!(std::fs::read_dir(&scratch).unwrap().count(), 0);
        ran
    };
    let ran = look(&["dedup", "folder"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(ran.out.starts_with("2 files, "), "{}", ran.out);
    assert!(ran.out.contains(" 3 lines (2 different)\n"), "{}", ran.out);
    assert!(ran.out.contains("  file saved again: a.jsonl is the begin of b.jsonl"), "{}", ran.out);
    let json = look(&["dedup", "--json", "folder"]).out;
    assert!(json.contains(r#""waste":[{"bytes":"#), "{json}");
    assert!(json.contains(r#""cause":"begin-of-file","file":"/"#), "{json}");
    assert_eq!(look(&["dedup", "nothing here"]).code, 1);
    assert!(!sandbox.join("home/.sapwood").exists() && !sandbox.join(".sapwood").exists());
    sandbox.fails(2, &["dedup", "--dry-run", "folder"]);
}
