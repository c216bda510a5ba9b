//! Memory trees of which something is broken or missing.

use super::*;

#[test]
fn damage_is_kept_and_told() {
    use crate::dialect::Odd;
    let unreadable = Strange::Text(Odd::Unreadable);
    let cases: [(&str, &str, &str, &[Strange]); 9] = [
        ("memory/branches.json", "wanderer-1", "nobody", &[Strange::Orphan]),
        ("memory/branches.json", "[", "", &[unreadable]),
        ("memory/nodes/root.json", "{", "{{", &[unreadable, Strange::Orphan, Strange::Orphan]),
        ("memory/nodes/architect-1.json", "\"root\"", "\"gone\"", &[Strange::Orphan]),
        ("memory/nodes/root.json", "null", "\"architect-2\"", &[Strange::Circle, Strange::Circle]),
        (
            "memory/nodes/wanderer-1.json",
            "\"wanderer-1\"",
            "\"root\"",
            &[Strange::Twin, Strange::Orphan, Strange::Orphan],
        ),
        ("session.json", "{", "", &[unreadable]),
        ("transcript.json", "[", "", &[unreadable]),
        ("transcript.json", "[", "[17, null,", &[unreadable, unreadable]),
    ];
    for (name, from, to, expected) in cases {
        let bench = Bench::new();
        bench.edit(name, from, to);
        let imported = bench.import();
        let odds: Vec<Strange> = imported.odds.iter().map(|odd| odd.what).collect();
        assert_eq!(odds, expected, "{name}: {from} to {to}");
        assert!(imported.odds.iter().all(|odd| odd.file.is_some()));
        bench.check_exact();
        // Whatever it is, it can be told, and be mended.
        bench.told();
        bench.edit(name, to, from);
        bench.import();
        let told = bench.told();
        assert_eq!(told.facts("the-architect").len(), 6, "{name}");
        assert_eq!(told.said("the-wanderer").len(), 4, "{name}");
        bench.check_exact();
    }
}

#[test]
fn files_may_be_missing() {
    let cases = [
        ("memory/branches.json", vec!["The Architect", "The Wanderer"]),
        ("session.json", vec!["the-architect", "the-wanderer"]),
        ("transcript.json", vec!["the-architect", "the-wanderer"]),
    ];
    for (name, branches) in cases {
        let bench = Bench::new();
        fs::remove_file(bench.tree.join(name)).unwrap();
        let imported = bench.import();
        assert_eq!(imported.odd_count, 0, "{name}");
        let told = bench.told();
        let names: Vec<&String> =
            told.branches.keys().filter(|name| !name.starts_with("main")).collect();
        let facts = |at: usize| told.facts(branches[at]).len();
        assert_eq!(names, branches, "{name}");
        assert!(facts(0) >= 4 && facts(1) == 4, "{name}");
        bench.check_exact();
    }
}

#[test]
fn turns_that_hang_nowhere_or_in_circles_are_kept() {
    let bench = Bench::new();
    bench.write(
        "transcript.json",
        r#"[{"id":"a","parentId":"b","role":"user","content":"1"},
            {"id":"b","parentId":"a","role":"user","content":"2"},
            {"id":"c","parentId":"gone","role":"user","content":"3"},
            {"id":"d","parentId":"e","type":"memory","node":"wanderer-1"},
            {"id":"e","parentId":"c","type":"memory","node":"nobody"},
            {"id":"f","parentId":"d","type":"compaction","body":{"summary":"s"},"firstKept":"f"},
            {"phase":"backtrack","from":"a","to":"b"}]"#,
    );
    let imported = bench.import();
    let mut odds: Vec<Strange> = imported.odds.iter().map(|odd| odd.what).collect();
    odds.sort_unstable();
    assert_eq!(odds, [Strange::Orphan, Strange::Orphan, Strange::Circle]);
    let told = bench.told();
    assert_eq!(told.said("the-wanderer").len(), 1);
    assert_eq!(told.facts("the-wanderer").len(), 4);
    let snapshot = bench.repo.snapshot().unwrap();
    let all = session::transcript(&*snapshot, SID).unwrap();
    assert!(all.len() >= 7);
    bench.check_exact();
}

#[test]
fn long_chains_in_any_order_are_no_trouble() {
    let bench = Bench::new();
    let count = 3_000;
    let turns = (0..count).rev().map(|at| {
        let parent = if at == 0 { "null".to_owned() } else { format!("\"t{}\"", at - 1) };
        format!(r#"{{"id":"t{at}","parentId":{parent},"role":"user","content":"{at}"}}"#)
    });
    bench.write("transcript.json", &format!("[{}]", turns.collect::<Vec<_>>().join(",")));
    for name in ["root", "architect-1", "architect-2", "wanderer-1"] {
        fs::remove_file(bench.tree.join(format!("memory/nodes/{name}.json"))).unwrap();
    }
    for at in 0..500 {
        let parent = if at == 499 { "null".to_owned() } else { format!("\"n{}\"", at + 1) };
        let node = format!(r#"{{"id":"n{at}","parentId":{parent},"facts":["{at}"]}}"#);
        bench.write(&format!("memory/nodes/n{at}.json"), &node);
    }
    let last = count - 1;
    let branch = format!(r#"[{{"name":"main","headNodeId":"n0","headTurnId":"t{last}"}}]"#);
    bench.write("memory/branches.json", &branch);
    assert_eq!(bench.import().odd_count, 0);
    let told = bench.told();
    assert_eq!((told.said("main").len(), told.facts("main").len()), (count, 500));
    bench.check_exact();
}
