//! Many files with much in them, read ahead by two threads: as if each came alone.

use super::*;

/// How many messages the files have: some more than may wait to be taken in, some few.
const COUNTS: [usize; 7] = [900, 2, 1, 2500, 400, 3, 700];

/// Writes files that each hang on the end of the one before, and one in their midst that ends too
/// early.
fn write_files(sandbox: &Sandbox) -> Vec<String> {
    let mut last = None;
    let files = COUNTS.iter().enumerate().map(|(place, count)| {
        let mut text = header(&format!("s{place}"));
        for number in 0..*count {
            let id = format!("{place}-{number}");
            // Every third is alike in all files, and long enough to be a blob.
            let content = match number % 3 {
                0 => format!("{number} ").repeat(300),
                _ => format!("{id} \\n").repeat(40),
            };
            text += &message(&id, last.as_deref(), &content);
            last = Some(id);
        }
        let name = format!("in/s{place}.jsonl");
        write(&sandbox.join(&name), text);
        name
    });
    let files = files.collect();
    let noise = (0..40_000).map(|number| message(&number.to_string(), None, "word"));
    let torn = zstd::bulk::compress((header("torn") + &noise.collect::<String>()).as_bytes(), 1);
    let mut torn = torn.unwrap();
    torn.truncate(torn.len() / 2);
    write(&sandbox.join("in/s3b.jsonl.zst"), torn);
    files
}

fn heads(sandbox: &Sandbox) -> Vec<String> {
    let sessions = (0..COUNTS.len()).map(|place| format!("s{place}:main"));
    sessions.map(|name| sandbox.ok(&["rev-parse", &name])).collect()
}

#[test]
fn files_are_taken_in_their_order_whoever_reads_them() {
    let (at_once, one_by_one) = (Sandbox::new(), Sandbox::new());
    let files = write_files(&at_once);
    let ran = at_once.run(&["import", "--keep-going", "in"]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    write_files(&one_by_one);
    files.iter().for_each(|file| drop(import(&one_by_one, &[file])));
    assert_eq!(heads(&at_once), heads(&one_by_one));
    assert_eq!(objects(&at_once), objects(&one_by_one));
    for (place, file) in files.iter().enumerate() {
        assert_exact(&at_once, &format!("s{place}"), &at_once.join(file));
    }
    assert_sound(&at_once);
}

#[test]
fn who_does_not_go_on_keeps_what_came_before() {
    let sandbox = Sandbox::new();
    let files = write_files(&sandbox);
    let ran = sandbox.run(&["import", "in"]);
    assert_ne!(ran.code, 0);
    assert!(ran.err.contains("s3b.jsonl.zst"), "{}", ran.err);
    let listed = sandbox.ok(&["sessions", "--json"]);
    let mut sessions: Vec<Value> = listed.lines().map(parse).collect();
    sessions.sort_by(|one, other| text(one, "session").cmp(text(other, "session")));
    let sessions: Vec<&str> = sessions.iter().map(|session| text(session, "session")).collect();
    assert_eq!(sessions, ["s0", "s1", "s2", "s3"]);
    for (place, file) in files[..4].iter().enumerate() {
        assert_exact(&sandbox, &format!("s{place}"), &sandbox.join(file));
    }
    assert_sound(&sandbox);
}
