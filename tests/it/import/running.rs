//! Imports that go on, are killed, or read what is being written.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::*;

const PATIENCE: Duration = Duration::from_secs(60);

fn append(path: &Path, text: &str) {
    let mut file = std::fs::File::options().append(true).create(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

#[test]
fn a_watch_sees_new_lines_and_new_files() {
    let sandbox = Sandbox::new();
    let path = sandbox.join("in/tale.jsonl");
    write(&path, header("tale") + &message("m1", None, "one"));
    let mut command = sandbox.command(&["import", "--watch", "--json", "in"]);
    let mut child = command.stdin(Stdio::null()).spawn().unwrap();
    let (sink, source) = mpsc::channel();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    thread::spawn(move || lines.map_while(Result::ok).for_each(|line| drop(sink.send(line))));
    let next = || parse(&source.recv_timeout(PATIENCE).expect("it is told"));
    assert_eq!(text(&next(), "change"), "new");
    append(&path, &message("m2", Some("m1"), "two"));
    let told = next();
    assert_eq!((text(&told, "session"), text(&told, "change")), ("tale", "grown"));
    write(&sandbox.join("in/other.jsonl"), header("other") + &message("o1", None, "hello"));
    let told = next();
    assert_eq!((text(&told, "session"), text(&told, "change")), ("other", "new"));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_exact(&sandbox, "tale", &path);
    // Who was killed right after a commit may owe mirrors; the next writer pays.
    sandbox.ok(&["fsck", "-q"]);
    sandbox.ok(&["label", "-s", "tale", "seen"]);
    assert_sound(&sandbox);
}

/// Writes files with many lines, some of them long.
fn fill(sandbox: &Sandbox, files: usize, messages: usize) {
    for file in 0..files {
        let name = format!("f{file:02}");
        let mut all = header(&name);
        for number in 0..messages {
            let parent = number.checked_sub(1).map(|before| format!("{name}-{before}"));
            let long = "so it goes ".repeat(1 + (number % 10) * 20);
            all += &message(&format!("{name}-{number}"), parent.as_deref(), &long);
        }
        write(&sandbox.join("in").join(name + ".jsonl"), all);
    }
}

#[test]
fn a_killed_import_leaves_whole_sessions_and_the_next_one_finishes() {
    let sandbox = Sandbox::with_store();
    let files = 20;
    fill(&sandbox, files, 150);
    let mut seen = Vec::new();
    for pause in [40, 90, 160, 250] {
        let mut child = sandbox.command(&["import", "-q", "in"]).spawn().unwrap();
        thread::sleep(Duration::from_millis(pause));
        child.kill().unwrap();
        child.wait().unwrap();
        let listed = sandbox.ok(&["sessions", "--json"]);
        for line in listed.lines() {
            let session = parse(line);
            let session = text(&session, "session");
            assert_exact(&sandbox, session, &sandbox.join(&format!("in/{session}.jsonl")));
        }
        // Files that mirror refs may be behind; nothing is wrong.
        sandbox.ok(&["fsck", "-q"]);
        seen.push(listed.lines().count());
    }
    assert!(seen.is_sorted(), "{seen:?}");
    sandbox.ok(&["import", "-q", "in"]);
    for file in files_below(&sandbox.join("in")) {
        let session = file.file_stem().unwrap().to_str().unwrap();
        assert_exact(&sandbox, session, &file);
    }
    assert_eq!(sandbox.ok(&["sessions"]).lines().count(), files);
    assert_sound(&sandbox);
}

#[test]
fn a_file_may_grow_while_it_is_read() {
    let sandbox = Sandbox::new();
    fill(&sandbox, 1, 2000);
    let path = sandbox.join("in/f00.jsonl");
    let writer = {
        let path = path.clone();
        thread::spawn(move || {
            for number in 2000..2200 {
                let parent = format!("f00-{}", number - 1);
                let line = message(&format!("f00-{number}"), Some(&parent), "still here");
                let (half, rest) = line.split_at(line.len() / 2);
                append(&path, half);
                thread::sleep(Duration::from_millis(1));
                append(&path, rest);
            }
        })
    };
    while !writer.is_finished() {
        import(&sandbox, &["in"]);
    }
    writer.join().unwrap();
    import(&sandbox, &["in"]);
    assert_exact(&sandbox, "f00", &path);
    assert_eq!(branches(&sandbox, "f00"), ["main"]);
    assert_eq!(said(&sandbox, "f00").len(), 2200);
    assert_sound(&sandbox);
}
