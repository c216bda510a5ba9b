//! `sapwood context`, `sapwood handoff`

use super::{Sandbox, masked};

const LINES: &str = r#"{"timestamp":1,"role":"interviewer","content":"What shall we build?"}
{"timestamp":2,"role":"user","content":"A parser for commas."}
{"timestamp":3,"role":"assistant","model":"m1","content":[{"type":"text","text":"Reading."},{"type":"tool_use","id":"c1","name":"read","input":{"path":"src/parser.rs"}}]}
"#;

fn sandbox() -> (Sandbox, Vec<String>) {
    let sandbox = Sandbox::with_store();
    let ids = sandbox.feed_ok(&["append", "--stdin", "-s", "s"], LINES);
    (sandbox, ids.lines().map(str::to_owned).collect())
}

#[test]
fn a_context_reads_as_markdown_and_warns_of_open_calls() {
    let (sandbox, ids) = sandbox();
    let ran = sandbox.run(&["context"]);
    let warning =
        "warning: tool call read (c1) at <3~> has no result; --repair closes it in the output\n";
    assert_eq!((ran.code, masked(&ran.err, &ids).as_str()), (0, warning));
    assert_eq!(
        ran.out,
        "## Interviewer\n\nWhat shall we build?\n\n## User\n\nA parser for commas.\n\n\
         ## Assistant\n\nReading.\n\nCalls `read` (c1):\n\n```json\n{\"path\":\"src/parser.rs\"}\n```\n"
    );
    assert_eq!(sandbox.ok(&["context", "msg:1"]), "## Interviewer\n\nWhat shall we build?");
    assert_eq!(sandbox.run(&["context", "-q"]).err, "");
}

#[test]
fn the_forms_for_models_are_requests() {
    let (sandbox, _) = sandbox();
    let args = ["context", "-q", "--repair", "--role-map", "interviewer=assistant"];
    let openai = sandbox.run(&[&args[..], &["--format", "openai"]].concat()).out;
    assert_eq!(
        openai,
        concat!(
            r#"{"model":"m1","messages":[{"role":"assistant","content":"What shall we build?"},"#,
            r#"{"role":"user","content":"A parser for commas."},"#,
            r#"{"role":"assistant","content":"Reading.","tool_calls":[{"id":"c1","type":"function","#,
            r#""function":{"name":"read","arguments":"{\"path\":\"src/parser.rs\"}"}}]},"#,
            r#"{"role":"tool","tool_call_id":"c1","content":"No result: the call was interrupted."}]}"#,
            "\n"
        )
    );
    let anthropic = sandbox.run(&[&args[..], &["--format", "anthropic"]].concat()).out;
    assert!(anthropic.contains(r#"{"type":"tool_result","tool_use_id":"c1","#), "{anthropic}");
    assert!(sandbox.fails(3, &["context", "--role-map", "x=y"]).contains("user, assistant"));
    sandbox.fails(2, &["context", "--format", "yaml"]);
    sandbox.fails(1, &["context", "nowhere"]);
}

#[test]
fn json_tells_everything_and_memory_comes_first() {
    let (sandbox, ids) = sandbox();
    let node = sandbox.ok(&["memory", "commit", "--fact", "name=Ann"]);
    let all = [ids, vec![node, sandbox.ok(&["rev-parse", "main"])]].concat();
    let ran = sandbox.run(&["context", "--json", "-q", "--memory"]);
    assert_eq!(
        masked(&ran.out, &all),
        concat!(
            r#"{"v":1,"session":"s","entry":"<5>","model":"m1","provider":null,"thinking":null,"#,
            r#""memory":[{"key":"name","value":"Ann","node":"<4>","source":"<3>"}],"messages":["#,
            r#"{"id":"<1>","type":"message","role":"interviewer","content":"What shall we build?","timestamp":1},"#,
            r#"{"id":"<2>","type":"message","role":"user","content":"A parser for commas.","timestamp":2},"#,
            r#"{"id":"<3>","type":"message","role":"assistant","content":[{"type":"text","text":"Reading."},"#,
            r#"{"type":"tool_use","id":"c1","name":"read","input":{"path":"src/parser.rs"}}],"timestamp":3}],"#,
            r#""dangling":[{"entry":"<3>","id":"c1","name":"read"}]}"#,
            "\n"
        )
    );
    let text = sandbox.run(&["context", "-q", "--memory"]).out;
    assert!(text.starts_with("## Memory\n\n- name: Ann\n\n## Interviewer"), "{text}");
}

#[test]
fn a_handoff_is_markdown_and_can_be_piped() {
    let (sandbox, _) = sandbox();
    sandbox.ok(&["memory", "commit", "--fact", "name=Ann"]);
    let text = sandbox.ok(&["handoff", "finish the parser"]);
    for part in ["## Goal\n\nfinish the parser", "- name: Ann", "- `src/parser.rs` (read)"] {
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(text, sandbox.ok(&["handoff", "finish the parser"]));
    assert!(sandbox.ok(&["handoff", "x", "--budget", "30"]).len() <= 120);
    let piped = sandbox.command(&["handoff", "x", "--with", "head -n 1; echo $SAPWOOD_SESSION"]);
    let mut piped = piped;
    let ran = super::finish(piped.env("PATH", "/usr/bin:/bin"), b"");
    assert_eq!((ran.code, ran.out.as_str()), (0, "# Handoff\ns\n"), "{}", ran.err);
    let json = sandbox.ok(&["handoff", "x", "msg:1", "--json"]);
    assert!(json.contains(r##""goal":"x","markdown":"# Handoff\n"##), "{json}");
    sandbox.fails(3, &["handoff", " "]);
    sandbox.fails(2, &["handoff"]);
}

#[test]
fn the_settings_say_what_roles_are_and_flags_win() {
    let (sandbox, _) = sandbox();
    sandbox.ok(&["config", "context.role-map.interviewer", "assistant"]);
    let first = |args: &[&str]| {
        let out = sandbox.ok(&[&["context", "msg:1"], args].concat());
        out.lines().next().unwrap().to_owned()
    };
    assert_eq!(first(&[]), "## Assistant");
    assert_eq!(first(&["--role-map", "interviewer=system"]), "## System");
    assert!(first(&["--json"]).contains(r#""role":"assistant""#));
    let page = sandbox.ok(&["handoff", "build it", "msg:1"]);
    assert!(page.contains("\nassistant, "), "{page}");
    let heads = sandbox.ok(&["ask", "-m", "x", "--parent", "HEAD", "--with", "grep '^## '"]);
    assert_eq!(heads.lines().next(), Some("## Assistant"));
    sandbox.fails(3, &["config", "context.role-map.x", "tool"]);
}
