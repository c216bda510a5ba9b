//! Importing session files through the binary, and getting them back byte for byte.

mod ahead;
mod bad;
mod between;
mod exported;
mod fixtures;
mod grown;
mod linked;
mod options;
mod random;
mod running;
mod undone;

use std::path::{Path, PathBuf};

use sapwood::codec::{Value, json};

use crate::cli::Sandbox;

/// Writes a file, and makes sure that its time is not the one it had.
fn write(path: &Path, bytes: impl AsRef<[u8]>) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let old = std::fs::metadata(path).and_then(|looked| looked.modified()).ok();
    std::fs::write(path, bytes).unwrap();
    if let Some(old) = old {
        let file = std::fs::File::options().append(true).open(path).unwrap();
        file.set_modified(old + std::time::Duration::from_millis(5)).unwrap();
    }
}

fn parse(text: &str) -> Value {
    json::parse(text.as_bytes()).unwrap()
}

/// Imports, and gives what is told of each file.
fn import(sandbox: &Sandbox, args: &[&str]) -> Vec<Value> {
    let args = [&["import", "--json"], args].concat();
    let out = sandbox.ok(&args);
    out.lines().map(parse).collect()
}

fn text<'a>(told: &'a Value, key: &str) -> &'a str {
    told.get(key).and_then(Value::as_text).unwrap_or_default()
}

fn number(told: &Value, key: &str) -> i64 {
    told.get(key).and_then(Value::as_i64).unwrap()
}

/// Gives what was odd, and the lines.
fn odds(told: &Value) -> Vec<(&str, i64)> {
    let odds = told.get("odds").and_then(Value::as_list).unwrap().iter();
    odds.map(|odd| (text(odd, "what"), number(odd, "line"))).collect()
}

/// Counts the objects of the store.
fn objects(sandbox: &Sandbox) -> i64 {
    let counts = parse(&sandbox.ok(&["count-objects", "--json"]));
    let places = ["journal_objects", "loose_objects", "packed_objects"];
    places.iter().map(|place| number(&counts, place)).sum()
}

/// Fails unless a session gives its file back, byte for byte.
fn assert_exact(sandbox: &Sandbox, session: &str, file: &Path) {
    let output = sandbox.command(&["export", "-s", session]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let expected = std::fs::read(file).unwrap();
    let at = output.stdout.iter().zip(&expected).take_while(|(one, other)| one == other).count();
    assert!(output.stdout == expected, "{session} differs from {file:?} at byte {at}");
}

/// Fails if anything is wrong with the store; what a killed process left behind is not.
fn assert_sound(sandbox: &Sandbox) {
    let checked = sandbox.ok(&["fsck", "-q"]);
    let wrong = checked.lines().find(|line| !line.starts_with("notice: leftover"));
    assert_eq!(wrong, None);
}

/// Gives what a branch says, oldest first: its messages, a line each.
fn said(sandbox: &Sandbox, session: &str) -> Vec<String> {
    let log = sandbox.ok(&["log", "-s", session, "--oneline"]);
    let lines =
        log.lines().filter_map(|line| line.split_once("user: ").or(line.split_once("assistant: ")));
    let mut said: Vec<String> = lines.map(|(_, text)| text.to_owned()).collect();
    said.reverse();
    said
}

/// Lists the branches of a session.
fn branches(sandbox: &Sandbox, session: &str) -> Vec<String> {
    let listed = sandbox.ok(&["branch", "-s", session]);
    listed.lines().map(|line| line[2..].to_owned()).collect()
}

/// The header of a file of pi.
fn header(id: &str) -> String {
    let time = "2025-11-04T08:00:00.000Z";
    let rest = format!("\"id\":\"{id}\",\"timestamp\":\"{time}\",\"cwd\":\"/w\"}}");
    format!("{{\"type\":\"session\",\"version\":3,{rest}\n")
}

/// A message in a file of pi: a user's and a model's by turns.
fn message(id: &str, parent: Option<&str>, content: &str) -> String {
    let parent = parent.map_or("null".to_owned(), |parent| format!("\"{parent}\""));
    let role = if id.ends_with(['2', '4', '6', '8']) { "assistant" } else { "user" };
    let links = format!("\"id\":\"{id}\",\"parentId\":{parent}");
    let message = format!("{{\"role\":\"{role}\",\"content\":\"{content}\"}}");
    let time = "2025-11-04T08:00:01.000Z";
    format!("{{\"type\":\"message\",{links},\"timestamp\":\"{time}\",\"message\":{message}}}\n")
}

/// All files below a directory.
fn files_below(directory: &Path) -> Vec<PathBuf> {
    let files = walkdir::WalkDir::new(directory).sort_by_file_name().into_iter().flatten();
    files.filter(|file| file.file_type().is_file()).map(walkdir::DirEntry::into_path).collect()
}
