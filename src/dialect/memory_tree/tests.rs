//! The parts of a memory tree, as others write them and as we do.

use super::*;
use crate::id::{Id, Kind};
use crate::object::{Entry, Fact, Node};

fn parse(text: &str) -> Value {
    json::parse(text.as_bytes()).unwrap()
}

#[test]
fn turns_say_who_speaks_and_where() {
    let cases = [
        (r#"{"turn":1,"phase":"interview","role":"user","content":"x"}"#, "message", None, true),
        (
            r#"{"phase":"conversation","self":"A","role":"x","content":""}"#,
            "message",
            Some("A"),
            false,
        ),
        (r#"{"phase":"backtrack","from":"A","to":"selection"}"#, "backtrack", Some("A"), false),
        (r#"{"phase":"selected","from":"A"}"#, "selected", None, false),
        (r#"{"type":"compaction","branch":"b","role":"x"}"#, "compaction", Some("b"), false),
        (r#"{"type":7,"phase":"a\u0001b"}"#, "custom", None, false),
        ("{}", "custom", None, false),
    ];
    for (text, label, place, is_shared) in cases {
        let turn = read_turn(&parse(text));
        let found = (turn.label.as_str(), turn.place.as_deref(), turn.is_shared);
        assert_eq!(found, (label, place, is_shared), "{text}");
        assert_eq!(turn.to.is_some(), label == "backtrack", "{text}");
    }
    let turn = read_turn(&parse(r#"{"id":"t","parentId":null,"turn":3,"timestamp":1704067200}"#));
    assert_eq!((turn.parent, turn.number), (Some(Parent::Root), Some(3)));
    assert_eq!(turn.time, Some(1_704_067_200_000));
    let on = read_turn(&parse(r#"{"parent_id":"t","timestamp":"2024-01-01T00:00:00"}"#));
    assert_eq!((on.parent, on.time), (Some(Parent::Id("t".to_owned())), turn.time));
}

#[test]
fn nodes_are_read_as_both_languages_write_them() {
    let cases = [
        (r#"{"parentId":null}"#, vec![]),
        (r#"{"parentId":"a"}"#, vec!["a"]),
        (r#"{"parent_id":"a","parent_ids":["a","b"]}"#, vec!["a", "b"]),
        (r#"{"parentId":"b","parents":["a","b"]}"#, vec!["b", "a"]),
        (r#"{"parentId":["a","b",7]}"#, vec!["a", "b"]),
    ];
    for (text, parents) in cases {
        let node = read_node("stem", &parse(text)).unwrap();
        assert_eq!(
            (node.id.as_str(), node.parents),
            ("stem", parents.iter().map(|it| it.to_string()).collect()),
            "{text}"
        );
    }
    let node = r#"{"id":"n","branch_label":"b","self_card":{"name":"A"},"created_at":1704067200.25,
        "facts":["x",{"key":"k","value":"v","turn":2},{"key":"k","more":1},7,{"value":[1]}],
        "notes":["a",{"b":1}]}"#;
    let node = read_node("stem", &parse(node)).unwrap();
    assert_eq!((node.id.as_str(), node.branch.as_str()), ("n", "b"));
    assert_eq!(node.time, Some(1_704_067_200_250));
    assert_eq!(node.notes, ["a".into(), r#"{"b":1}"#.into()]);
    assert_eq!(card_names(&node.card).collect::<Vec<_>>(), ["A"]);
    let facts: Vec<(String, Option<&str>, bool)> = node
        .facts
        .iter()
        .map(|fact| (json::to_string(&fact.value), fact.key.as_deref(), fact.source.is_some()))
        .collect();
    let fact = |value: &str, key, has_source| (value.to_owned(), key, has_source);
    let expected = [
        fact(r#""x""#, None, false),
        fact(r#""v""#, Some("k"), true),
        fact(r#"{"key":"k","more":1}"#, Some("k"), false),
        fact(r#"{"value":7}"#, None, false),
        fact(r#"{"value":[1]}"#, None, false),
    ];
    assert_eq!(facts, expected);
    assert_eq!(read_node("stem", &parse("[]")), None);
}

#[test]
fn branches_are_a_list_or_a_map() {
    let cases = [
        r#"[{"name":"a","headNodeId":"n1"},{"name":"b","headNodeId":"n2","parentBranchName":"a"}]"#,
        r#"{"a":"n1","b":{"head_node_id":"n2","parent_branch_name":"a"}}"#,
        r#"{"branches":[{"name":"a","head":"n1"},7,{"name":"b","head":"n2","parent":"a"}]}"#,
    ];
    for text in cases {
        let branches = read_branches(&parse(text)).unwrap();
        let found: Vec<_> = branches
            .iter()
            .map(|it| (it.name.as_str(), it.head.as_deref(), it.parent.as_deref()))
            .collect();
        assert_eq!(found, [("a", Some("n1"), None), ("b", Some("n2"), Some("a"))], "{text}");
    }
    let rest = read_branches(&parse(r#"[{"name":"a","colour":"red"}]"#)).unwrap();
    assert_eq!(rest[0].metadata, parse(r#"{"colour":"red"}"#));
    assert_eq!(read_branches(&parse("7")), None);
}

fn id(byte: u8) -> Id {
    Id::of(Kind::Blob, &[byte])
}

#[test]
fn facts_and_nodes_come_back_as_they_were_written() {
    let mut names = Names::default();
    let source = names.turn(id(1));
    assert_eq!(names.node(id(2), Some("first")), "first");
    assert_ne!(names.node(id(3), Some("first")), "first", "no two have one name");
    assert_ne!(names.node(id(4), Some("../x")), "../x", "no name leads elsewhere");
    let facts = [
        ("\"plain\"", None, None),
        ("\"keyed\"", Some("k"), None),
        ("\"learned\"", Some("k"), Some(id(1))),
        (r#"{"key":"k","more":1}"#, Some("k"), None),
        (r#"{"key":"k","more":1}"#, None, None),
        (r#"{"value":"inner","key":"other"}"#, Some("k"), Some(id(1))),
        (r#"{"source":"elsewhere"}"#, None, None),
    ];
    let facts = facts.map(|(value, key, source)| Fact {
        value: parse(value),
        key: key.map(str::to_owned),
        source,
    });
    let node = Node {
        parents: vec![id(2), id(3)],
        branch: "b".to_owned(),
        facts: facts.to_vec(),
        notes: vec!["n".into()],
        card: parse(r#"{"name":"A"}"#),
        time: 1_704_067_200_000,
    };
    names.node(id(5), None);
    let again = read_node("", &super::node(&id(5), &node, &names)).unwrap();
    assert_eq!((again.branch, again.time), ("b".to_owned(), Some(node.time)));
    assert_eq!((again.card, again.notes), (node.card, node.notes));
    assert_eq!(again.parents[0], "first");
    for (fact, again) in facts.iter().zip(&again.facts) {
        assert_eq!((&again.value, &again.key), (&fact.value, &fact.key));
        assert_eq!(again.source, fact.source.map(|_| Value::from(source.as_str())));
    }
}

#[test]
fn a_message_is_told_flat_and_anything_else_whole() {
    let cases = [
        ("message", r#"{"role":"future_self","content":"x","self":"A","turn":9}"#, true),
        ("message", r#"{"message":{"role":"user","content":[{"type":"text","text":"x"}]}}"#, true),
        ("assistant", r#"{"type":"assistant","message":{"role":"assistant","content":"x"}}"#, true),
        ("message", r#"{"role":"user","content":"x","excludeFromContext":true}"#, false),
        ("custom_message", r#"{"content":"x"}"#, false),
        ("anything", r#"{"id":"own","type":"anything"}"#, false),
    ];
    for (label, body, is_flat) in cases {
        let entry = Entry {
            label: label.to_owned(),
            time: 7,
            parents: vec![id(9)],
            body: parse(body),
            raw: None,
        };
        let mut names = Names::default();
        let value = turn(3, &id(1), &entry, None, &mut names);
        let read = read_turn(&value);
        assert_eq!((read.label.as_str(), read.number, read.time), (label, Some(3), Some(7)));
        assert_eq!(read.parent, names.of(&id(9)).map(|it| Parent::Id(it.to_owned())));
        assert_eq!(value.get("content").is_some(), is_flat, "{body}");
        assert_eq!(value.get("body"), Some(&entry.body).filter(|_| !is_flat), "{body}");
        assert_eq!(value.get("self"), entry.body.get("self"), "{body}");
    }
}
