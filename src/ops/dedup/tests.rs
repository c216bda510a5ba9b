//! Folders with known waste, and stores with known sharing.

use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::codec::json;
use crate::ops::find_files;
use crate::repo::Repo;
use crate::session;
use crate::store::Durability;

fn line(number: usize, parent: Option<usize>, text: &str) -> String {
    let parent = parent.map_or("null".to_owned(), |parent| format!("\"u{parent}\""));
    format!(
        "{{\"type\":\"user\",\"uuid\":\"u{number}\",\"parentUuid\":{parent},\"sessionId\":\"s\",\
         \"timestamp\":\"2026-01-01T00:00:{:02}Z\",\
         \"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}}}\n",
        number % 60
    )
}

/// Writes lines in which each hangs on the one before.
fn chain(range: std::ops::Range<usize>, text: &dyn Fn(usize) -> String) -> String {
    let parent = |number: usize| number.checked_sub(1);
    range.map(|number| line(number, parent(number), &text(number))).collect()
}

fn look(files: &[(&str, String)]) -> (Survey, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(dir.path()).unwrap();
    let (folder, scratch) = (root.join("folder"), root.join("scratch"));
    fs::create_dir(&folder).unwrap();
    fs::create_dir(&scratch).unwrap();
    for (name, text) in files {
        fs::write(folder.join(name), text).unwrap();
    }
    let found = find_files(std::slice::from_ref(&folder));
    let options = SurveyOptions { dialect: None, scratch: scratch.clone() };
    let mut read = 0;
    let survey = survey(found, &options, &mut |done, _| read = done).unwrap();
    assert!(read > 0, "progress is told");
    assert_eq!(fs::read_dir(&scratch).unwrap().count(), 0, "nothing is left");
    (survey, folder)
}

#[test]
fn a_file_that_another_begins_with_is_told_whole() {
    let text = |number: usize| format!("message {number} of this conversation. ").repeat(20);
    let (short, long) = (chain(0..20, &text), chain(0..50, &text));
    let (bytes, all) = (short.len(), 2 * short.len() + long.len());
    let files = [("a.jsonl", short.clone()), ("b.jsonl", long), ("c.jsonl", short)];
    let (survey, folder) = look(&files);
    assert_eq!((survey.files, survey.lines, survey.lines_unique), (3, 90, 50));
    assert_eq!(survey.bytes, all as u64);
    assert!(survey.stored_bytes > 0 && survey.stored_bytes < survey.bytes);
    let path = |name: &str| folder.join(name);
    let begin = Cause::File { file: path("a.jsonl"), whole: path("b.jsonl"), is_same: false };
    let same = Cause::File { file: path("c.jsonl"), whole: path("a.jsonl"), is_same: true };
    let bytes = bytes as u64;
    assert_eq!(survey.waste, [begin, same].map(|cause| Waste { bytes, cause }));
}

#[test]
fn lines_strings_and_images_that_are_there_again_are_told_the_largest_first() {
    let prompt = "You are a helpful assistant. ".repeat(100);
    let image = format!("iVBORw0KGgo{}", "QUJD".repeat(2000));
    let text = |number: usize| match number {
        3 | 5 | 7 => prompt.clone(),
        4 | 6 => image.clone(),
        _ => format!("message {number}"),
    };
    let one = chain(0..40, &text);
    let parted = format!("{}{}", chain(0..10, &text), line(90, Some(9), "another way"));
    let (survey, folder) = look(&[("one.jsonl", one), ("parted.jsonl", parted)]);
    assert_eq!((survey.lines, survey.lines_unique), (51, 41));
    assert_eq!((survey.strings, survey.strings_unique), (10, 2));
    assert_eq!((survey.images, survey.images_unique), (4, 1));
    assert_eq!(survey.image_bytes, 4 * image.len() as u64);
    let (prompt_bytes, image_bytes) = (prompt.len() as u64, image.len() as u64);
    let lines = &survey.waste[0];
    let (first, again) = (folder.join("one.jsonl"), folder.join("parted.jsonl"));
    assert_eq!(lines.cause, Cause::Lines { lines: 10, first, again });
    assert!(lines.bytes > 3 * prompt_bytes + 2 * image_bytes, "{lines:?}");
    let words = "You are a helpful assistant. You are a helpful a".to_owned();
    let rest = [
        Waste { bytes: image_bytes, cause: Cause::Image { uses: 2, bytes: image_bytes } },
        Waste {
            bytes: 2 * prompt_bytes,
            cause: Cause::Text { uses: 3, bytes: prompt_bytes, words },
        },
    ];
    assert_eq!(survey.waste[1..], rest);
}

#[test]
fn what_is_no_session_is_counted_and_no_more() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("notes.json"), "\"only a text\"").unwrap();
    let missing = dir.path().join("missing.jsonl");
    let found = find_files(&[dir.path().to_owned(), missing]);
    let options = SurveyOptions { dialect: None, scratch: dir.path().to_owned() };
    let survey = survey(found, &options, &mut |_, _| {}).unwrap();
    assert_eq!((survey.files, survey.unknown, survey.failed), (0, 1, 1));
    let found = find_files(&[]);
    let scratch = Path::new("/nonexistent").to_owned();
    assert!(
        super::survey(found, &SurveyOptions { dialect: None, scratch }, &mut |_, _| {}).is_err()
    );
}

#[test]
fn each_session_counts_what_it_uses() {
    let repo = Repo::in_memory();
    let say = |session: &str, text: &str| {
        let pin = session::pin(&repo, Some(session), Some("main"), 0, "tester").unwrap();
        let body = json::parse(format!(r#"{{"role":"user","content":"{text}"}}"#).as_bytes());
        session::append(&repo, &pin, vec![body.unwrap()], Durability::Full, 0).unwrap();
    };
    let long = "long ".repeat(400);
    for session in ["one", "two"] {
        say(session, &long);
        say(session, &format!("of {session}"));
        say(session, &long);
    }
    let mut told = Vec::new();
    let snapshot = repo.snapshot().unwrap();
    let sharing = sharing(&*snapshot, &mut |done, total| told.push((done, total))).unwrap();
    assert_eq!(told, [(1, 2), (2, 2)]);
    assert_eq!((sharing.sessions, sharing.entries, sharing.entries_unique), (2, 6, 5));
    assert_eq!((sharing.strings, sharing.strings_unique), (4, 1));
    assert!(sharing.bytes > 4 * 2000 && sharing.bytes < 5 * 2000, "{sharing:?}");
}
