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
    pairs
        .map(|(name, number)| (name.to_owned(), number.parse().unwrap()))
        .collect()
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
        @"journal size-journal count size in-pack packs size-pack"
    );
    // Three entries and the session.
    assert_eq!(count(&sandbox, "journal"), 4);
    assert!(sandbox.ok(&["count-objects"]).starts_with("4 objects, "));
    assert!(
        sandbox
            .ok(&["count-objects", "--json"])
            .starts_with("{\"v\":1,\"journal_objects\":4,")
    );
    assert!(
        sandbox
            .ok(&["count-objects", "-vH"])
            .contains("size-pack: 0 bytes")
    );
}

#[test]
fn a_store_that_was_just_written_is_whole() {
    let sandbox = filled();
    let ran = sandbox.run(&["fsck"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{}", ran.err);
    assert!(
        ran.err.starts_with("Checked 4 objects, 5 refs, "),
        "{}",
        ran.err
    );
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
