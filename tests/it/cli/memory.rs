//! `sapwood memory`

use super::{Sandbox, masked};

/// A session with two messages and a memory on two branches.
fn sandbox() -> (Sandbox, Vec<String>) {
    let sandbox = Sandbox::with_store();
    let mut ids = sandbox.append("s", "main", &["hello", "hi"]);
    let time = ["--time", "2026-01-31T08:30:00.250Z"];
    let commit = |args: &[&str]| sandbox.ok(&[&["memory", "commit"], &time[..], args].concat());
    ids.push(commit(&["--fact", "values=freedom", "--fact", "fears wasting time"]));
    let card = r#"{"name":"The Architect"}"#;
    ids.push(commit(&["-b", "architect", "--fact", "optimizes=ambition", "--card", card]));
    let source = &ids[0].clone();
    ids.push(commit(&["-b", "architect", "--note", "likes to build", "--source", source]));
    ids.push(commit(&["-b", "wanderer", "--fact", "optimizes=peace", "--source", source]));
    (sandbox, ids)
}

#[test]
fn facts_are_listed_from_the_root_on() {
    let (sandbox, ids) = sandbox();
    let resolved =
        |args: &[&str]| masked(&sandbox.ok(&[&["memory", "resolve"], args].concat()), &ids);
    let main = "<3~> <2~> values: freedom\n<3~> <2~> fears wasting time";
    assert_eq!(resolved(&[]), main);
    assert_eq!(resolved(&["architect"]), format!("{main}\n<4~> <2~> optimizes: ambition"));
    assert_eq!(resolved(&["wanderer"]), format!("{main}\n<6~> <1~> optimizes: peace"));
    assert_eq!(resolved(&["main~1"]), "");
    sandbox.ok(&["memory", "commit", "--fact", "values=peace", "--time", "5"]);
    let latest = sandbox.ok(&["memory", "resolve", "--latest", "-z"]);
    assert_eq!(latest.matches('\0').count(), 2);
    assert!(latest.contains("values: peace") && !latest.contains("freedom"));
    let json = masked(&sandbox.ok(&["memory", "resolve", "wanderer", "--json"]), &ids);
    let last = json.lines().last().unwrap();
    assert_eq!(last, r#"{"v":1,"key":"optimizes","value":"peace","node":"<6>","source":"<1>"}"#);
}

#[test]
fn branches_and_log_have_the_documents_names() {
    let (sandbox, ids) = sandbox();
    let branches = sandbox.ok(&["memory", "branches"]);
    assert_eq!(
        masked(&branches, &ids),
        "  <5~> architect (3 facts, from main)\n* <3~> main (2 facts)\n\
           \x20 <6~> wanderer (3 facts, from main)"
    );
    let json = masked(&sandbox.ok(&["memory", "branches", "--json"]), &ids);
    assert_eq!(
        json.lines().next().unwrap(),
        r#"{"v":1,"name":"architect","headNodeId":"<5>","parentBranchName":"main","active":false,"facts":3}"#
    );
    let log = masked(&sandbox.ok(&["memory", "log", "architect"]), &ids);
    assert_eq!(
        log,
        "node <5~> (architect) 2026-01-31T08:30:00.250Z\n    \
             card: {\"name\":\"The Architect\"}\n    note: likes to build\n\
         node <4~> (architect) 2026-01-31T08:30:00.250Z\n    \
             card: {\"name\":\"The Architect\"}\n    <2~> optimizes: ambition\n\
         node <3~> (main) 2026-01-31T08:30:00.250Z\n    <2~> values: freedom\n    \
             <2~> fears wasting time"
    );
    let json = sandbox.ok(&["memory", "log", "architect", "-n", "1", "--json"]);
    assert_eq!(
        masked(&json, &ids),
        concat!(
            r#"{"v":1,"id":"<5>","parentId":"<4>","branchLabel":"architect","facts":[],"#,
            r#""notes":["likes to build"],"selfCard":{"name":"The Architect"},"#,
            r#""createdAt":1769848200250,"mergedId":null}"#
        )
    );
}

#[test]
fn a_merge_keeps_both_versions_of_a_conflict_and_says_so() {
    let (sandbox, mut ids) = sandbox();
    let diff = sandbox.ok(&["memory", "diff", "architect", "wanderer"]);
    assert_eq!(diff, "- optimizes: ambition\n+ optimizes: peace");
    let json = sandbox.ok(&["memory", "diff", "main", "wanderer", "--json"]);
    assert!(json.starts_with(r#"{"v":1,"change":"added","a":null,"b":{"key":"optimizes""#));
    let ran = sandbox.run(&["memory", "merge", "-b", "architect", "wanderer"]);
    assert_eq!(ran.code, 0);
    assert_eq!(
        masked(&ran.err, &ids),
        "conflict in 'optimizes': both versions are kept\n  <4~> <2~> ambition\n  <6~> <1~> peace\n"
    );
    ids.push(ran.out.trim().to_owned());
    let blame = sandbox.ok(&["memory", "blame", "optimizes", "architect"]);
    assert_eq!(masked(&blame, &ids), "<4~> <2~> optimizes: ambition\n<6~> <1~> optimizes: peace");
    let known = sandbox.ok(&["context", "--memory", "architect"]);
    assert!(known.contains("- optimizes: ambition, or peace (in conflict)\n"), "{known}");
    let known = sandbox.ok(&["memory", "resolve", "architect", "--latest"]);
    assert!(known.contains("optimizes: conflict: ambition | peace"), "{known}");
    let known = sandbox.ok(&["memory", "resolve", "architect", "--latest", "--json"]);
    assert!(!known.contains("$link"), "{known}");
    let text = sandbox.ok(&["memory", "blame", "fears wasting time"]);
    assert_eq!(masked(&text, &ids), "<3~> <2~> fears wasting time");
    assert_eq!(sandbox.fails(1, &["memory", "blame", "nothing"]), "");
    let again = sandbox.ok(&["memory", "merge", "-b", "architect", "wanderer", "--json"]);
    assert!(again.contains(r#""result":"up-to-date","facts":0,"conflicts":[]"#), "{again}");
    let cited = sandbox.ok(&["memory", "resolve", "architect", "--latest", "--json"]);
    let cited = masked(&cited, &ids);
    assert!(cited.contains(r#"{"value":"peace","node":"<6>","source":"<1>"}"#), "{cited}");
    sandbox.ok(&["switch", "-q", "-c", "later"]);
    let status = masked(&sandbox.ok(&["status", "--json"]), &ids);
    assert!(status.contains(r#""memory":"<3>""#), "what is known, by whatever way: {status}");
    let forward = sandbox.ok(&["memory", "merge", "architect", "--json"]);
    assert!(masked(&forward, &ids).contains(r#""node":"<7>","result":"forward""#), "{forward}");
    let quiet = sandbox.ok(&["memory", "commit", "--fact", "optimizes=both"]);
    assert!(sandbox.ok(&["memory", "blame", "optimizes"]).starts_with(&quiet[..8]));
}

#[test]
fn facts_come_from_flags_json_and_standard_input() {
    let (sandbox, _) = sandbox();
    let lines = "\"a=b\"\n\n{\"key\":\"age\",\"value\":41}\n";
    let args = ["memory", "commit", "--stdin", "--fact-json", "{\"x\":1}", "--fact", "k=v"];
    sandbox.feed_ok(&args, lines);
    let all = sandbox.ok(&["memory", "resolve", "--json"]);
    let values: Vec<_> =
        all.lines().skip(2).map(|line| line.split(",\"node\"").next().unwrap()).collect();
    assert_eq!(
        values,
        [
            r#"{"v":1,"key":"k","value":"v""#,
            r#"{"v":1,"key":null,"value":{"x":1}"#,
            r#"{"v":1,"key":null,"value":"a=b""#,
            r#"{"v":1,"key":"age","value":{"key":"age","value":41}"#,
        ]
    );
}

#[test]
fn bad_requests_change_nothing() {
    let (sandbox, ids) = sandbox();
    let before = sandbox.ok(&["for-each-ref"]);
    let said = sandbox.fails(3, &["memory", "commit"]);
    assert!(said.contains("nothing to remember") && said.contains("--fact"), "{said}");
    let bad: [(i32, &[&str]); 11] = [
        (3, &["--fact", " "]),
        (3, &["--fact-json", "{}"]),
        (3, &["--note", ""]),
        (3, &["--fact-json", "1"]),
        (3, &["--fact-json", "{"]),
        (3, &["--fact", "x", "--card", "{"]),
        (2, &["--fact", "x", "--time", "yesterday"]),
        (1, &["--fact", "x", "--source", "nowhere"]),
        (3, &["--fact", "x", "-b", "a..b"]),
        (1, &["--fact", "x", "-s", "nobody"]),
        (4, &["--fact", "x", "-b", "architect", "--parent", &ids[0]]),
    ];
    for (code, args) in bad {
        let said = sandbox.fails(code, &[&["memory", "commit"], args].concat());
        assert!(said.starts_with("error: "), "{said}");
    }
    let ran = sandbox.feed(&["memory", "commit", "--stdin"], "\"fine\"\n7\n");
    assert_eq!((ran.code, ran.out.as_str()), (3, ""));
    assert!(ran.err.contains("line 2"), "{}", ran.err);
    sandbox.fails(3, &["memory", "merge", &ids[0]]);
    sandbox.fails(1, &["memory", "merge", "nowhere"]);
    assert_eq!(sandbox.ok(&["for-each-ref"]), before);
}

#[test]
fn a_branch_that_is_moved_by_hand_has_the_memory_of_where_it_went() {
    let (sandbox, ids) = sandbox();
    let head = "sessions/s/heads/main";
    let tip = sandbox.ok(&["rev-parse", "main"]);
    sandbox.ok(&["update-ref", head, &ids[0]]);
    assert_eq!(sandbox.ok(&["memory", "resolve"]), "");
    sandbox.ok(&["update-ref", head, &tip]);
    assert_eq!(sandbox.ok(&["memory", "resolve"]).lines().count(), 2);
    sandbox.ok(&["memory", "commit", "--fact", "again"]);
    assert_eq!(sandbox.ok(&["memory", "resolve"]).lines().count(), 3);
}
