//! Files that change between two imports.

use super::*;

/// A file of pi with so many messages, one after the other.
fn story(count: usize) -> String {
    let mut text = header("tale");
    for number in 1..=count {
        let parent = format!("m{}", number - 1);
        let parent = (number > 1).then_some(parent.as_str());
        text += &message(&format!("m{number}"), parent, &format!("word {number}"));
    }
    text
}

#[test]
fn a_file_that_grew_is_read_on() {
    let sandbox = Sandbox::new();
    let path = sandbox.join("tale.jsonl");
    write(&path, story(50));
    let told = import(&sandbox, &["tale.jsonl"]);
    assert_eq!((text(&told[0], "change"), number(&told[0], "entries")), ("new", 51));
    let before = objects(&sandbox);
    write(&path, story(53));
    let told = import(&sandbox, &["tale.jsonl"]);
    assert_eq!((text(&told[0], "change"), number(&told[0], "entries")), ("grown", 54));
    assert_eq!(number(&told[0], "bytes") as usize, story(53).len() - story(50).len() - 3);
    assert_eq!(number(&told[0], "entries_new"), 3);
    // Three entries, the event that closes their run, the session's metadata.
    assert_eq!(objects(&sandbox), before + 5);
    assert_eq!(said(&sandbox, "tale").len(), 53);
    assert_eq!(branches(&sandbox, "tale"), ["main"]);
    assert_exact(&sandbox, "tale", &path);
    assert_sound(&sandbox);
}

#[test]
fn a_file_that_grew_by_one_value_at_a_time_is_one_that_was_read_at_once() {
    let sandbox = Sandbox::new();
    let path = sandbox.join("tale.jsonl");
    for count in 1..8 {
        write(&path, story(count));
        import(&sandbox, &["tale.jsonl"]);
        assert_exact(&sandbox, "tale", &path);
    }
    write(&sandbox.join("other.jsonl"), story(7));
    let told = import(&sandbox, &["other.jsonl"]);
    assert_eq!((number(&told[0], "entries_new"), number(&told[0], "entries_shared")), (0, 8));
}

#[test]
fn a_file_that_was_rewritten_begins_anew() {
    let sandbox = Sandbox::new();
    let path = sandbox.join("tale.jsonl");
    write(&path, story(5));
    import(&sandbox, &["tale.jsonl"]);
    write(&path, story(5).replace("word 3", "another word"));
    let told = import(&sandbox, &["tale.jsonl"]);
    assert_eq!(text(&told[0], "change"), "rewritten");
    assert_eq!(odds(&told[0]), [("rewritten", 1)]);
    assert_eq!(said(&sandbox, "tale")[2], "another word");
    assert_exact(&sandbox, "tale", &path);
    // What it was stays in the transcript.
    assert!(sandbox.ok(&["transcript", "-s", "tale"]).contains("word 3"));
    write(&path, story(2));
    assert_eq!(text(&import(&sandbox, &["tale.jsonl"])[0], "change"), "rewritten");
    assert_eq!(said(&sandbox, "tale").len(), 2);
    assert_exact(&sandbox, "tale", &path);
    assert_sound(&sandbox);
}

#[test]
fn a_file_that_was_only_touched_is_unchanged() {
    let sandbox = Sandbox::new();
    write(&sandbox.join("tale.jsonl"), story(5));
    import(&sandbox, &["tale.jsonl"]);
    let before = objects(&sandbox);
    write(&sandbox.join("tale.jsonl"), story(5));
    assert!(import(&sandbox, &["tale.jsonl"]).is_empty());
    assert_eq!(objects(&sandbox), before);
}

#[test]
fn what_a_person_did_to_a_session_stays_when_its_file_grows() {
    let sandbox = Sandbox::new();
    let path = sandbox.join("tale.jsonl");
    write(&path, story(4));
    import(&sandbox, &["tale.jsonl"]);
    sandbox.ok(&["session", "rename", "tale", "mine"]);
    sandbox.ok(&["append", "-s", "tale", "-m", "an aside"]);
    write(&path, story(6));
    import(&sandbox, &["tale.jsonl"]);
    assert_eq!(branches(&sandbox, "tale").len(), 2);
    assert!(said(&sandbox, "tale").contains(&"an aside".to_owned()));
    let listed = parse(&sandbox.ok(&["sessions", "--json"]));
    assert_eq!(text(&listed, "name"), "mine");
    // The file comes first, as it is; then what was said here.
    let out = sandbox.ok(&["export", "-s", "tale"]);
    let added = out.strip_prefix(&story(6)).expect("the file comes first");
    assert!(added.contains("an aside") && added.lines().count() == 1, "{added}");
    assert_sound(&sandbox);
}

#[test]
fn a_line_without_an_end_is_taken_when_it_has_one() {
    let sandbox = Sandbox::new();
    let path = sandbox.join("tale.jsonl");
    let whole = story(3);
    for end in [whole.len() - 60, whole.len() - 2, whole.len() - 1, whole.len()] {
        write(&path, &whole[..end]);
        let told = import(&sandbox, &["tale.jsonl"]);
        let is_torn = end < whole.len() - 1;
        for told in &told {
            assert_eq!(odds(told) == [("torn at the end", 4)], is_torn, "{told:?}");
        }
        assert_eq!(said(&sandbox, "tale").len(), if is_torn { 2 } else { 3 });
        assert_exact(&sandbox, "tale", &path);
    }
    assert_sound(&sandbox);
}
