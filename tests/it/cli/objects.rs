//! `hash-object` and `cat-file`.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};

use sapwood::id::{Id, Kind};

use super::*;

fn blob(content: &str) -> String {
    Id::of(Kind::Blob, content.as_bytes()).to_string()
}

#[test]
fn hashing_needs_no_store_and_writes_nothing() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.feed_ok(&["hash-object", "--stdin"], "hello\n"), blob("hello\n"));
    std::fs::write(sandbox.join("a file"), "two").unwrap();
    let both = sandbox.feed_ok(&["hash-object", "--stdin", "a file"], "one");
    assert_eq!(both, format!("{}\n{}", blob("one"), blob("two")));
    assert_eq!(std::fs::read_dir(sandbox.path()).unwrap().count(), 2);
    assert_eq!(std::fs::read_dir(sandbox.join("home")).unwrap().count(), 0);
}

#[test]
fn what_is_written_can_be_read() {
    let sandbox = Sandbox::with_store();
    let id = sandbox.feed_ok(&["hash-object", "-w", "--stdin"], "hello\n");
    std::fs::write(sandbox.join("file"), vec![b'x'; 300_000]).unwrap();
    let large = sandbox.ok(&["hash-object", "-w", "file"]);
    assert_eq!(sandbox.ok(&["cat-file", "-p", &id]), "hello");
    assert_eq!(sandbox.ok(&["cat-file", "blob", &id]), "hello");
    assert_eq!(sandbox.ok(&["cat-file", "-t", &id[..12]]), "blob");
    assert_eq!(sandbox.ok(&["cat-file", "-s", &large]), "300000");
    assert_eq!(sandbox.ok(&["cat-file", "-e", &large]), "");
    insta::assert_snapshot!(
        masked(&sandbox.ok(&["cat-file", "-p", "--json", &id]), &[id]),
        @r#"{"v":1,"name":"<1>","id":"<1>","kind":"blob","size":6,"content":"hello\n"}"#
    );
}

#[test]
fn other_kinds_are_checked() {
    let sandbox = Sandbox::with_store();
    let ids = sandbox.append("s1", "main", &["one"]);
    let mut command = sandbox.command(&["cat-file", "entry", "s1:main"]);
    let content = command.output().unwrap().stdout;
    let args = ["hash-object", "-t", "entry", "-w", "--stdin"];
    assert_eq!(sandbox.feed_ok(&args, &content), ids[0]);
    assert_eq!(sandbox.feed(&args, "not CBOR").code, 3);
    assert_eq!(sandbox.feed(&["hash-object", "-t", "tree", "--stdin"], "").code, 3);
    insta::assert_snapshot!(sandbox.ok(&["cat-file", "-p", &ids[0]]), @r#"
    {
      "type": "message",
      "time": 1700000000000,
      "body": {
        "timestamp": 1700000000000,
        "text": "one"
      }
    }
    "#);
}

#[test]
fn missing_and_wrong_objects_have_their_own_exit_codes() {
    let sandbox = Sandbox::with_store();
    let id = sandbox.feed_ok(&["hash-object", "-w", "--stdin"], "hello");
    let other = blob("never stored");
    assert_eq!(sandbox.fails(1, &["cat-file", "-e", &other]), "");
    assert_eq!(sandbox.fails(1, &["cat-file", "-e", "nothing"]), "");
    assert!(sandbox.fails(1, &["cat-file", "-p", &other]).contains(&other));
    assert!(sandbox.fails(3, &["cat-file", "entry", &id]).contains("is of kind blob, not entry"));
    for args in [vec![], vec!["-p"], vec!["-t", "a", "b"], vec!["-t", "-s", "a"], vec!["a"]] {
        sandbox.fails(2, &[vec!["cat-file"], args].concat());
    }
    sandbox.fails(2, &["hash-object"]);
    sandbox.fails(7, &["hash-object", "no such file"]);
}

/// Makes two blobs whose ids share the first four digits.
fn twins() -> (String, String, String) {
    let mut seen: HashMap<String, String> = HashMap::new();
    for number in 0.. {
        let content = format!("blob {number}");
        let prefix = blob(&content)[..4].to_owned();
        if let Some(other) = seen.insert(prefix.clone(), content.clone()) {
            return (prefix, other, content);
        }
    }
    unreachable!("there are more numbers than prefixes")
}

#[test]
fn batch_answers_in_git_s_lines() {
    let sandbox = Sandbox::with_store();
    let (prefix, one, other) = twins();
    let ids = [&one, &other].map(|text| sandbox.feed_ok(&["hash-object", "-w", "--stdin"], text));
    let input = format!("{}\nnothing here\n{prefix}\n{}\n", ids[0], &ids[1][..20]);
    let (first, second) = (&ids[0], &ids[1]);
    let expected = format!(
        "{first} blob {}\nnothing here missing\n{prefix} ambiguous\n{second} blob {}",
        one.len(),
        other.len()
    );
    assert_eq!(sandbox.feed_ok(&["cat-file", "--batch-check"], &input), expected);
    let nul = input.replace('\n', "\0");
    assert_eq!(sandbox.feed_ok(&["cat-file", "--batch-check", "-z"], nul), expected);
    let expected = format!(
        "{first} blob {}\n{one}\nnothing here missing\n{prefix} ambiguous\n{second} blob {}\n{other}",
        one.len(),
        other.len()
    );
    assert_eq!(sandbox.feed_ok(&["cat-file", "--batch"], &input), expected);
    let err = sandbox.fails(3, &["cat-file", "-t", &prefix]);
    assert!(err.contains(&ids[0][..16]) && err.contains(&ids[1][..16]), "{err}");
    insta::assert_snapshot!(
        sandbox.feed_ok(&["cat-file", "--batch-check", "--json"], "no\n"),
        @r#"{"v":1,"name":"no","error":"missing"}"#
    );
}

#[test]
fn batch_can_be_driven_and_sees_what_came_since() {
    let sandbox = Sandbox::with_store();
    let mut child = sandbox.command(&["cat-file", "--batch"]).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    for text in ["one", "two"] {
        let id = sandbox.feed_ok(&["hash-object", "-w", "--stdin"], text);
        writeln!(input, "{id}").unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(line, format!("{id} blob 3\n"));
        let mut content = [0; 4];
        output.read_exact(&mut content).unwrap();
        assert_eq!(content, *format!("{text}\n").as_bytes());
    }
    drop(input);
    assert!(child.wait().unwrap().success());
}
