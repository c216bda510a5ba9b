//! `branch`, `switch`, `fork`, `compare`, `diff`, `merge` and their like, `undo`.

use super::*;

/// Says something on the active branch, and gives its id.
fn say(sandbox: &Sandbox, role: &str, text: &str, metadata: &str) -> String {
    let body = format!(
        "{{\"timestamp\":1700000000000,\"role\":\"{role}\",\"content\":\"{text}\",\"metadata\":{{{metadata}}}}}\n"
    );
    sandbox.feed_ok(&["append", "--stdin", "-s", "s1"], body)
}

/// The session tree of the users' document.
fn approaches() -> (Sandbox, Vec<String>) {
    let sandbox = Sandbox::with_store();
    let mut ids = vec![say(&sandbox, "user", "How do I optimize this?", "")];
    ids.push(say(&sandbox, "assistant", "I have several approaches...", ""));
    let description = "Using algorithm optimization";
    sandbox.ok(&["-q", "switch", "-c", "approach-a", "--description", description]);
    ids.push(say(&sandbox, "assistant", "Approach A: Use memoization", "\"cost\":0.05"));
    sandbox.ok(&["-q", "switch", "main"]);
    sandbox.ok(&["-q", "switch", "-c", "approach-b"]);
    ids.push(say(&sandbox, "assistant", "Approach B: Use a Map", "\"cost\":0.03,\"tokens\":7"));
    (sandbox, ids)
}

fn shown(sandbox: &Sandbox, ids: &[String], args: &[&str]) -> String {
    masked(&sandbox.ok(args), ids)
}

#[test]
fn branches_are_listed_with_where_they_began() {
    let (sandbox, ids) = approaches();
    insta::assert_snapshot!(sandbox.ok(&["branch"]), @r"
      approach-a
    * approach-b
      main
    ");
    let verbose = shown(&sandbox, &ids, &["branch", "-v"]);
    let verbose: Vec<&str> = verbose.lines().collect();
    assert!(verbose[0].starts_with("  approach-a <3~> 3 entries, "), "{verbose:?}");
    assert_eq!(
        verbose[1..3],
        ["    from main at <2~>, 1 of its own", "    Using algorithm optimization"]
    );
    sandbox.ok(&["branch", "old", "main~1", "--card", "{\"n\":1}"]);
    insta::assert_snapshot!(shown(&sandbox, &ids, &["branch", "--contains", "main~1", "--json"]).lines().last().unwrap(), @r#"{"v":1,"name":"old","entry":"<1>","active":false,"time":"2023-11-14T22:13:20.000Z","entries":1,"own":0,"parent":"main","at":"<1>","reason":null,"description":null,"metadata":null,"card":{"n":1},"memory":null}"#);
    assert_eq!(sandbox.ok(&["branch", "--contains", "approach-a", "-z"]), "  approach-a\0");
    sandbox.ok(&["branch", "-m", "old", "older"]);
    sandbox.ok(&["-q", "reset", "-b", "approach-a", "main"]);
    let leaves = shown(&sandbox, &ids, &["branch", "--leaves"]);
    assert!(leaves.ends_with("  older\n  (no branch) <3~>"), "{leaves}");
    let said = sandbox.run(&["branch", "-d", "older"]);
    assert!(said.err.starts_with("Deleted branch 'older' (was "), "{}", said.err);
    sandbox.fails(3, &["branch", "-d", "approach-b"]);
    sandbox.fails(1, &["branch", "-d", "older"]);
    sandbox.fails(3, &["branch", "main"]);
    sandbox.fails(3, &["branch", "a..b"]);
    sandbox.fails(2, &["branch", "x", "--card", "{"]);
    sandbox.fails(1, &["branch", "x", "nothing"]);
    sandbox.fails(2, &["branch", "-d"]);
}

#[test]
fn switching_says_where_it_went_and_remembers() {
    let (sandbox, ids) = approaches();
    let went = sandbox.run(&["switch", "-"]);
    assert_eq!(masked(&went.err, &ids), "Switched to branch 'main' at <2~>\n");
    assert_eq!(sandbox.run(&["switch", "main"]).err, "Already on 'main'\n");
    let json = shown(&sandbox, &ids, &["switch", "approach-a", "--json"]);
    insta::assert_snapshot!(json, @r#"{"v":1,"session":"s1","from":"main","to":"approach-a","entry":"<3>","created":false,"memory":null}"#);
}

#[test]
fn a_command_sums_up_the_branch_that_is_left_or_nothing_changes() {
    let (sandbox, _) = approaches();
    sandbox.fails(3, &["switch", "main", "--with", "exit 3"]);
    assert!(sandbox.ok(&["branch"]).contains("* approach-b"));
    let args = ["-q", "--json", "switch", "main", "--with", "tail -n 2", "--fact", "k=v"];
    let out = sandbox.ok(&args);
    let node = out.split("\"memory\":\"").nth(1).unwrap().split('"').next().unwrap();
    let node = sandbox.ok(&["cat-file", "-p", node]);
    assert!(node.contains("Approach B: Use a Map"), "{node}");
    assert!(node.contains("\"key\": \"k\"") || node.contains("\"key\":\"k\""), "{node}");
    sandbox.fails(2, &["switch", "main", "--with", "cat", "--summary", "x"]);
    sandbox.fails(2, &["switch"]);
    sandbox.fails(2, &["switch", "main", "--card", "1"]);
    sandbox.fails(1, &["switch", "nothing"]);
    sandbox.ok(&["-q", "switch", "--root", "--place", "selection"]);
    assert!(sandbox.ok(&["branch"]).contains("* root"));
}

#[test]
fn a_fork_has_the_fields_of_the_document() {
    let (sandbox, ids) = approaches();
    let args = ["--json", "fork", "main~1", "--name", "forked", "--reason", "to see", "--no-use"];
    let out = shown(&sandbox, &ids, &args);
    let id = out.split('"').nth(5).unwrap().to_owned();
    let store = sandbox.join(".sapwood").canonicalize().unwrap();
    let out = out.replace(&id, "<new>").replace(store.to_str().unwrap(), "<store>");
    assert!(out.starts_with(r#"{"v":1,"newSessionId":"<new>","newSessionFile":""#), "{out}");
    assert!(out.contains(r#"refs/sessions/<new>","forkedFromEntryId":"<1>","#), "{out}");
    assert!(store.join("refs/sessions").join(&id).is_dir());
    assert!(sandbox.ok(&["branch"]).contains("* approach-b"));
    let used = sandbox.ok(&["fork"]);
    assert_eq!(sandbox.ok(&["symbolic-ref", "HEAD"]), format!("sessions/{used}/HEAD"));
    assert_eq!(shown(&sandbox, &ids, &["rev-parse", "@", "forked:main"]), "<4>\n<1>");
}

#[test]
fn a_comparison_has_the_shape_of_the_document() {
    let (sandbox, ids) = approaches();
    insta::assert_snapshot!(shown(&sandbox, &ids, &["compare", "approach-a", "approach-b"]), @r"
    since <2~>
    branch      entries  cost   tokens  duration
    approach-a        1  0.05  unknown        0s
    approach-b        1  0.03        7        0s
    approach-b - approach-a      cost  -0.02  -40%
    approach-b - approach-a   entries      0    0%
    approach-b - approach-a  duration     0s
    winner: approach-b (lowest cost)
    ");
    insta::assert_snapshot!(shown(&sandbox, &ids, &["compare", "approach-a", "approach-b", "--json"]), @r#"{"v":1,"branches":[{"branchId":"approach-a","name":"approach-a","entryCount":1,"totalCost":0.05,"totalTokens":null,"duration":0,"entry":"<3>"},{"branchId":"approach-b","name":"approach-b","entryCount":1,"totalCost":0.03,"totalTokens":7,"duration":0,"entry":"<4>"}],"winner":"approach-b","differences":[{"metric":"cost","branchA":"approach-a","branchB":"approach-b","diff":-0.02,"percentDiff":-40},{"metric":"tokens","branchA":"approach-a","branchB":"approach-b","diff":null,"percentDiff":null},{"metric":"entries","branchA":"approach-a","branchB":"approach-b","diff":0,"percentDiff":0},{"metric":"duration","branchA":"approach-a","branchB":"approach-b","diff":0,"percentDiff":null}],"by":"cost","tie":[],"forkPoint":"<2>"}"#);
    let tie = sandbox.ok(&["compare", "approach-a", "approach-b", "--by", "entries"]);
    assert!(tie.ends_with("\ntie: approach-a, approach-b (lowest entries)"), "{tie}");
    let high = sandbox.ok(&["compare", "approach-a", "approach-b", "--highest"]);
    assert!(high.ends_with("\nwinner: approach-a (highest cost)"), "{high}");
    let unknown = sandbox.ok(&["compare", "approach-a", "approach-b", "--by", "meta.x"]);
    assert!(unknown.ends_with("\nno winner: no branch says its meta.x"), "{unknown}");
    sandbox.fails(2, &["compare", "main"]);
    sandbox.fails(2, &["compare", "main", "approach-a", "--by", "beauty"]);
    sandbox.fails(1, &["compare", "main", "nothing"]);
}

#[test]
fn a_stream_goes_on_where_nothing_was_said_last() {
    let (sandbox, _) = approaches();
    let before = sandbox.ok(&["transcript"]).lines().count();
    sandbox.ok(&["switch", "-q", "--root"]);
    sandbox.append("s1", "main", &["again"]);
    let after = sandbox.ok(&["transcript"]);
    assert_eq!(after.lines().count(), before + 2, "the switch and one message: {after}");
    sandbox.ok(&["switch", "-q", "main"]);
    sandbox.ok(&["switch", "-q", "--root", "--fact", "a=b"]);
    sandbox.append("s1", "root-2", &["anew", "and on"]);
    let anew = sandbox.ok(&["transcript"]);
    assert_eq!(anew.lines().count(), before + 7, "two switches, a fact, two messages: {anew}");
}

#[test]
fn a_difference_is_shown_word_by_word() {
    let (sandbox, ids) = approaches();
    insta::assert_snapshot!(shown(&sandbox, &ids, &["diff", "approach-a", "approach-b"]), @r"
    fork point <2~>
    --- approach-a  1 entry
    +++ approach-b  1 entry
    @@ message 1 assistant @@
    Approach [-A:-]{+B:+} Use [-memoization-]{+a Map+}
    ");
    let json = shown(&sandbox, &ids, &["diff", "main", "approach-b", "--json"]);
    insta::assert_snapshot!(json, @r#"{"v":1,"forkPoint":"<2>","sides":[{"name":"main","entry":"<2>","model":null,"provider":null,"thinking":null,"entries":[]},{"name":"approach-b","entry":"<4>","model":null,"provider":null,"thinking":null,"entries":[{"entry":"<4>","type":"message","role":"assistant","text":"Approach B: Use a Map","config":{}}]}],"messages":[]}"#);
    let node = sandbox.ok(&["memory", "commit", "-b", "approach-a", "--fact", "cost=high"]);
    let diff = sandbox.ok(&["diff", "approach-a", "approach-b"]);
    assert!(diff.ends_with(&format!("\n- memory: node={}", &node[..8])), "{diff}");
    sandbox.fails(2, &["diff", "main"]);
}

#[test]
fn merges_rebases_picks_and_resets_move_one_branch_and_are_undone() {
    let (sandbox, ids) = approaches();
    let merged = sandbox.ok(&["merge", "approach-a", "--with", "head -n 1"]);
    assert!(sandbox.ok(&["cat-file", "-p", &merged]).contains("## Assistant"));
    assert_eq!(sandbox.ok(&["rev-list", "--count", "approach-b"]), "5");
    let err = sandbox.fails(3, &["merge", "approach-a"]);
    assert!(err.contains("already up to date"), "{err}");
    assert_eq!(sandbox.ok(&["undo"]), "undid 5: merge approach-a");
    let picked = sandbox.ok(&["cherry-pick", "approach-a"]);
    assert!(sandbox.ok(&["cat-file", "-p", "--raw-links", &picked]).contains(&ids[2]));
    sandbox.fails(4, &["cherry-pick", "approach-a", "--parent", "main", "-b", "approach-b"]);
    sandbox.ok(&["undo"]);
    let err = sandbox.run(&["rebase", "approach-a"]).err;
    assert_eq!(err, "Rebased 'approach-b' onto 'approach-a': 1 entry\n");
    assert_eq!(sandbox.ok(&["merge-base", "approach-a", "approach-b"]), ids[2]);
    sandbox.fails(3, &["rebase", "approach-a"]);
    sandbox.ok(&["undo"]);
    let err = sandbox.run(&["reset", "main"]).err;
    assert_eq!(masked(&err, &ids), "'approach-b' is now at <2~>\n");
    assert_eq!(sandbox.ok(&["undo"]), "undid 11: reset main");
    assert_eq!(sandbox.ok(&["rev-parse", "approach-b"]), ids[3]);
    assert_eq!(sandbox.ok(&["redo"]), "redid 11: reset main");
    assert_eq!(sandbox.ok(&["rev-parse", "approach-b"]), ids[1]);
    sandbox.fails(3, &["redo"]);
    sandbox.ok(&["undo", "--json"]);
    let log = sandbox.ok(&["op", "log", "--actor", "nobody"]);
    assert_eq!(log, "");
    assert_eq!(sandbox.ok(&["op", "log", "-s", "nothing"]), "");
}

#[test]
fn what_moved_on_is_exit_code_four() {
    let (sandbox, ids) = approaches();
    let err = masked(&sandbox.fails(4, &["undo"]), &ids);
    insta::assert_snapshot!(err, @r"
    error: operation 4 (switch -c approach-b): branch 'approach-b' has moved on since, to <4>
    hint: nothing was changed; 'sapwood reset' and 'switch' move it by hand
    ");
    sandbox.fails(3, &["undo", "--actor", "nobody"]);
    sandbox.fails(1, &["undo", "-s", "nothing"]);
}

#[test]
fn branches_can_be_summed_up_from_json() {
    let (sandbox, _) = approaches();
    let merged = sandbox.ok(&["merge", "approach-a", "--with", "cat", "--json-input"]);
    let json = sandbox.ok(&["cat-file", "-p", &merged]);
    assert!(json.contains(r#"\"command\":\"merge\""#), "{json}");
    sandbox.ok(&["undo"]);
    let left = sandbox.ok(&["rev-parse", "HEAD"]);
    let count = "grep -o '\"role\"' | wc -l | tr -d ' '";
    let args = ["switch", "-q", "main", "--with", count, "--json-input"];
    sandbox.ok(&args);
    let notes = sandbox.ok(&["memory", "log", "approach-b", "--json"]);
    let said = sandbox.ok(&["rev-list", "--count", &left]);
    assert!(notes.contains(&format!("\"notes\":[\"{said}\"]")), "{notes}");
}
