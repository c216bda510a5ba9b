//! Branches, edits, retries and labels in every form.

use super::*;
use crate::codec::json;
use crate::id::Id;
use crate::ops::desk::Desk;
use crate::ops::{self, LabelOptions, Way};
use crate::repo::Repo;
use crate::session::Draft;

const TOOLS: [&str; 7] = [
    r#"{"role":"system","content":"Be brief."}"#,
    r#"{"role":"user","content":"list"}"#,
    r#"{"role":"assistant","model":"m","content":[{"type":"thinking","thinking":"hm"},
        {"type":"text","text":"looking"},{"type":"tool_use","id":"a","name":"ls","input":{"p":1}},
        {"type":"tool_use","id":"b","name":"cat","input":{}}]}"#,
    r#"{"role":"tool","tool_call_id":"b","content":"two"}"#,
    r#"{"role":"tool","tool_call_id":"a","content":"one"}"#,
    r#"{"role":"assistant","content":"done"}"#,
    r#"{"role":"user","content":[{"type":"text","text":"thanks"},
        {"type":"image","data":"QQ==","mimeType":"image/png"}]}"#,
];

fn told(lines: &[&str]) -> Desk {
    let desk = Desk::new(&[]);
    for line in lines {
        desk.put("main", line);
    }
    desk
}

/// Asks one thing, and answers it.
fn asked() -> Desk {
    let desk = Desk::new(&["colour?"]);
    model(&desk, "main", "blue");
    desk
}

fn model(desk: &Desk, branch: &str, text: &str) -> Id {
    desk.put(branch, &json::to_string(&Draft::message("assistant", text).body))
}

fn of(form: TrainingForm) -> TrainingOptions {
    TrainingOptions { form, ..TrainingOptions::default() }
}

fn scoped(
    repo: &Repo,
    sessions: &[(&str, Scope)],
    options: &TrainingOptions,
) -> (Vec<String>, u64) {
    let snapshot = repo.snapshot().unwrap();
    let sessions: Vec<_> = sessions.iter().map(|(sid, scope)| (sid.to_string(), *scope)).collect();
    let mut out = Vec::new();
    let outcome = training(&*snapshot, &sessions, options, &mut out).unwrap();
    let lines: Vec<String> = String::from_utf8(out).unwrap().lines().map(str::to_owned).collect();
    assert_eq!(outcome.rows, lines.len() as u64);
    (lines, outcome.left_out)
}

fn lines(desk: &Desk, options: &TrainingOptions) -> Vec<String> {
    scoped(&desk.repo, &[("s", Scope::Session)], options).0
}

/// Gives each row as the words in it: columns apart, messages by who speaks.
fn words(desk: &Desk, options: &TrainingOptions) -> Vec<String> {
    lines(desk, options).iter().map(|line| words_of(line)).collect()
}

fn words_of(line: &str) -> String {
    let row = json::parse(line.as_bytes()).unwrap();
    let columns = row.as_map().unwrap().iter().map(|(_, cell)| match cell.as_list() {
        None => json::to_string(cell),
        Some(messages) => {
            let said = messages.iter().map(|message| {
                let text = |key| message.get(key).and_then(crate::codec::Value::as_text);
                format!("{}:{}", &text("role").unwrap()[..1], text("content").unwrap_or("-"))
            });
            said.collect::<Vec<_>>().join(" ")
        }
    });
    columns.collect::<Vec<_>>().join(" | ")
}

fn vary(desk: &Desk, variation: &ops::Variation, way: &Way) -> ops::Varied {
    ops::vary(&desk.repo, variation, way, &desk.operation("vary")).unwrap()
}

/// Tries an answer again, and gives another.
fn retry(desk: &Desk, revision: &str, text: &str) -> String {
    let snapshot = desk.repo.snapshot().unwrap();
    let target = ops::Target::default();
    let variation = ops::retry(&*snapshot, &target, revision, false).unwrap();
    let branch = vary(desk, &variation, &Way::default()).branch;
    model(desk, &branch, text);
    branch
}

fn edit(desk: &Desk, revision: &str, text: &str) -> String {
    let snapshot = desk.repo.snapshot().unwrap();
    let target = ops::Target::default();
    let variation = ops::edit(&*snapshot, &target, revision, text, false).unwrap();
    vary(desk, &variation, &Way::default()).branch
}

fn label(desk: &Desk, name: &str, at: &str) {
    let options =
        LabelOptions { name: name.to_owned(), at: Some(at.to_owned()), ..LabelOptions::default() };
    ops::label(&desk.repo, &options, &desk.operation("label")).unwrap();
}

#[test]
fn a_conversation_ends_with_the_model_and_has_results_behind_calls() {
    let desk = told(&TOOLS);
    let expected = concat!(
        r#"{"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"list"},"#,
        r#"{"role":"assistant","content":"looking","tool_calls":["#,
        r#"{"id":"a","type":"function","function":{"name":"ls","arguments":"{\"p\":1}"}},"#,
        r#"{"id":"b","type":"function","function":{"name":"cat","arguments":"{}"}}]},"#,
        r#"{"role":"tool","tool_call_id":"a","content":"one"},"#,
        r#"{"role":"tool","tool_call_id":"b","content":"two"},"#,
        r#"{"role":"assistant","content":"done"}]}"#
    );
    assert_eq!(lines(&desk, &of(TrainingForm::Openai)), [expected]);
}

#[test]
fn a_late_result_parts_no_turn() {
    let desk = told(&TOOLS[..4]);
    for line in [TOOLS[5], TOOLS[4], r#"{"role":"assistant","content":"really"}"#] {
        desk.put("main", line);
    }
    let expected = ["s:Be brief. u:list a:looking t:one t:two a:done\nreally"];
    assert_eq!(words(&desk, &of(TrainingForm::Openai)), expected);
    assert_eq!(lines(&desk, &of(TrainingForm::Sft)).len(), 2);
}

#[test]
fn sharegpt_takes_turns() {
    let desk = told(&TOOLS);
    desk.say("main", "and more");
    desk.put("main", r#"{"role":"assistant","content":"sure"}"#);
    let options = TrainingOptions { thinking: true, ..of(TrainingForm::Sharegpt) };
    let expected = concat!(
        r#"{"conversations":[{"from":"system","value":"Be brief."},"#,
        r#"{"from":"human","value":"list"},{"from":"function_call","#,
        r#""value":"<think>\nhm\n</think>\n\n{\"name\":\"ls\",\"arguments\":{\"p\":1}}"},"#,
        r#"{"from":"observation","value":"one"},"#,
        r#"{"from":"function_call","value":"{\"name\":\"cat\",\"arguments\":{}}"},"#,
        r#"{"from":"observation","value":"two"},{"from":"gpt","value":"done"},"#,
        r#"{"from":"human","value":"thanks\n[image]\n\nand more"},{"from":"gpt","value":"sure"}]}"#
    );
    assert_eq!(lines(&desk, &options), [expected]);
}

#[test]
fn each_turn_is_a_completion_once() {
    let desk = told(&TOOLS);
    desk.branch("side", Some("main~1"));
    desk.say("side", "why?");
    model(&desk, "side", "because");
    let expected = [
        "s:Be brief. u:list | a:looking",
        "s:Be brief. u:list a:looking t:one t:two | a:done",
        "s:Be brief. u:list a:looking t:one t:two a:done u:why? | a:because",
    ];
    assert_eq!(words(&desk, &of(TrainingForm::Sft)), expected);
    let thought = lines(&desk, &TrainingOptions { thinking: true, ..of(TrainingForm::Sft) });
    assert!(thought[0].contains(r#""content":"looking","reasoning_content":"hm""#));
}

#[test]
fn what_a_compaction_took_away_is_still_trained_on() {
    let desk = asked();
    desk.say("main", "why?");
    model(&desk, "main", "sky");
    desk.put("main", r#"{"type":"compaction","summary":"We spoke of blue."}"#);
    desk.say("main", "so?");
    model(&desk, "main", "so");
    let conversations = words(&desk, &of(TrainingForm::Openai));
    assert_eq!(conversations, ["u:We spoke of blue. u:so? a:so"]);
    let expected = [
        "u:colour? | a:blue",
        "u:colour? a:blue u:why? | a:sky",
        "u:We spoke of blue. u:so? | a:so",
    ];
    assert_eq!(words(&desk, &of(TrainingForm::Sft)), expected);
}

#[test]
fn pictures_make_every_content_a_list_of_parts() {
    let desk = told(&TOOLS);
    model(&desk, "main", "nice");
    let options = TrainingOptions { images: true, ..of(TrainingForm::Openai) };
    let line = &lines(&desk, &options)[0];
    let row = json::parse(line.as_bytes()).unwrap();
    let messages = row.get("messages").unwrap().as_list().unwrap();
    assert!(messages.iter().all(|message| message.get("content").unwrap().as_list().is_some()));
    let picture = r#"{"type":"image_url","image_url":{"url":"data:image/png;base64,QQ=="}}]"#;
    assert!(line.contains(picture), "{line}");
}

#[test]
fn only_what_no_branch_goes_on_from_is_a_conversation() {
    let desk = asked();
    desk.branch("inner", Some("main"));
    desk.say("main", "why?");
    model(&desk, "main", "sky");
    desk.branch("side", Some("main~2"));
    desk.say("side", "really?");
    model(&desk, "side", "yes");
    desk.branch("mute", Some("main~3"));
    desk.say("mute", "hello?");
    let all = ["u:colour? a:blue u:why? a:sky", "u:colour? a:blue u:really? a:yes"];
    let openai = of(TrainingForm::Openai);
    assert_eq!(words(&desk, &openai), all);
    let within = |scope| {
        let (lines, left_out) = scoped(&desk.repo, &[("s", scope)], &openai);
        (lines.iter().map(|line| words_of(line)).collect::<Vec<_>>(), left_out)
    };
    let (one, side, mute) =
        (desk.end("inner").unwrap(), desk.end("side").unwrap(), desk.end("mute").unwrap());
    assert_eq!(within(Scope::Path(one)), (vec!["u:colour? a:blue".to_owned()], 0));
    assert_eq!(within(Scope::Subtree(one)), (all.map(str::to_owned).to_vec(), 0));
    assert_eq!(within(Scope::Subtree(side)), (vec![all[1].to_owned()], 0));
    assert_eq!(within(Scope::Path(mute)), (vec![], 1));
}

#[test]
fn a_retry_is_preferred_until_somebody_goes_back() {
    let dpo = of(TrainingForm::Dpo);
    let desk = asked();
    let retried = retry(&desk, "main", "green");
    assert_eq!(words(&desk, &dpo), ["u:colour? | a:green | a:blue"]);
    desk.switch("main").unwrap();
    assert_eq!(words(&desk, &dpo), ["u:colour? | a:blue | a:green"]);
    label(&desk, "winner", &retried);
    assert_eq!(words(&desk, &dpo), ["u:colour? | a:green | a:blue"]);
    label(&desk, "bad-2", &retried);
    label(&desk, "good", "main");
    assert_eq!(words(&desk, &dpo), ["u:colour? | a:blue | a:green"]);
}

#[test]
fn an_answer_goes_on_until_somebody_else_speaks() {
    let desk = told(&TOOLS);
    retry(&desk, "msg:2", "no");
    let expected = "s:Be brief. u:list | a:no | a:looking t:one t:two a:done";
    assert_eq!(words(&desk, &of(TrainingForm::Dpo)), [expected]);
}

#[test]
fn an_edited_question_is_preferred_with_its_answer() {
    let desk = asked();
    desk.say("main", "and size?");
    model(&desk, "main", "small");
    let branch = edit(&desk, "msg:3", "which size?");
    model(&desk, &branch, "large");
    let expected = "u:colour? a:blue | u:which size? a:large | u:and size? a:small";
    assert_eq!(words(&desk, &of(TrainingForm::Dpo)), [expected]);
    assert_eq!(words(&desk, &of(TrainingForm::Kto)), [""; 0], "they answer different things");
}

#[test]
fn an_edited_answer_is_preferred_and_an_edited_begin_compares_nothing() {
    let desk = asked();
    edit(&desk, "main", "azure");
    edit(&desk, "msg:1", "which colour?");
    model(&desk, "edit-2", "red");
    let all = [("s", Scope::Session)];
    let (lines, left_out) = scoped(&desk.repo, &all, &of(TrainingForm::Dpo));
    let lines: Vec<String> = lines.iter().map(|line| words_of(line)).collect();
    assert_eq!((lines, left_out), (vec!["u:colour? | a:azure | a:blue".to_owned()], 1));
}

#[test]
fn a_winner_is_better_than_all_it_parted_from() {
    let desk = asked();
    for (branch, text) in [("b", "green"), ("c", "red")] {
        desk.branch(branch, Some("msg:1"));
        model(&desk, branch, text);
    }
    let dpo = of(TrainingForm::Dpo);
    assert_eq!(words(&desk, &dpo), [""; 0], "nobody said which is better");
    label(&desk, "winner/short", "c");
    let expected = ["u:colour? | a:red | a:green", "u:colour? | a:red | a:blue"];
    assert_eq!(words(&desk, &dpo), expected);
    let scope = [("s", Scope::Path(desk.end("b").unwrap()))];
    assert_eq!(scoped(&desk.repo, &scope, &dpo).0.len(), 1);
}

#[test]
fn a_retry_in_a_session_of_its_own_is_compared_with_its_parent() {
    let desk = asked();
    let snapshot = desk.repo.snapshot().unwrap();
    let variation = ops::retry(&*snapshot, &ops::Target::default(), "main", false).unwrap();
    let varied = vary(&desk, &variation, &Way { fork: true, ..Way::default() });
    let pin = crate::session::pin(&desk.repo, Some(&varied.session), None, 0, "tester").unwrap();
    let body = Draft::message("assistant", "green").body;
    crate::session::append(&desk.repo, &pin, vec![body], crate::Durability::Full, 9).unwrap();
    let both = [("s", Scope::Session), (varied.session.as_str(), Scope::Session)];
    let (lines, _) = scoped(&desk.repo, &both, &of(TrainingForm::Dpo));
    assert_eq!(
        lines.iter().map(|line| words_of(line)).collect::<Vec<_>>(),
        ["u:colour? | a:green | a:blue"]
    );
    let snapshot = desk.repo.snapshot().unwrap();
    for split in [0.1, 0.5, 0.9] {
        let part = |sid: &str| training_part(&*snapshot, sid, split).unwrap();
        assert_eq!(part("s"), part(&varied.session), "they share their history");
    }
}

#[test]
fn verdicts_come_from_pairs_and_labels() {
    let desk = asked();
    retry(&desk, "main", "green");
    retry(&desk, "retry", "red");
    let kto = of(TrainingForm::Kto);
    let sorted = || {
        let mut lines = words(&desk, &kto);
        lines.sort();
        lines
    };
    let expected =
        ["u:colour? | a:blue | false", "u:colour? | a:green | false", "u:colour? | a:red | true"];
    assert_eq!(sorted(), expected);
    desk.say("retry-2", "why?");
    model(&desk, "retry-2", "blood");
    label(&desk, "bad", "retry-2");
    label(&desk, "good", "retry");
    let expected = [
        "u:colour? a:red u:why? | a:blood | false",
        "u:colour? | a:blue | false",
        "u:colour? | a:green | true",
        "u:colour? | a:red | false",
    ];
    assert_eq!(sorted(), expected);
}

#[test]
fn an_answer_in_parts_costs_what_the_whole_took() {
    let part = |text: &str| {
        format!(
            r#"{{"type":"message","message":{{"id":"msg_1","role":"assistant","model":"m",
            "content":"{text}","usage":{{"cost":2}}}}}}"#
        )
    };
    let desk = told(&[r#"{"role":"user","content":"q"}"#, &part("one"), &part("two")]);
    for (max, count) in [(1.5, 0), (2.5, 1)] {
        let mut options = of(TrainingForm::Openai);
        options.filter.cost_max = Some(max);
        assert_eq!(words(&desk, &options).len(), count, "at most {max}");
    }
}

#[test]
fn filters_take_what_they_name() {
    let desk = Desk::new(&[]);
    desk.put("main", r#"{"role":"system","content":"S"}"#);
    desk.put("main", r#"{"role":"user","content":"q","timestamp":100}"#);
    let answer = |model: &str, cost: &str, time: i64| {
        format!(
            r#"{{"role":"assistant","content":"{model}","model":"{model}","timestamp":{time},
            "usage":{{"cost":{cost}}}}}"#
        )
    };
    desk.put("main", &answer("old", "2.5", 200));
    retry(&desk, "main", "-");
    desk.put("retry", r#"{"role":"user","content":"go on","timestamp":250}"#);
    desk.put("retry", &answer("new", "0.5", 300));
    label(&desk, "keep", "main");
    let (old, new) = ("s:S u:q a:old", "s:S u:q a:- u:go on a:new");
    let check = |change: &dyn Fn(&mut TrainingFilter), expected: &[&str]| {
        let mut options = of(TrainingForm::Openai);
        change(&mut options.filter);
        assert_eq!(words(&desk, &options), expected, "{:?}", options.filter);
    };
    let named = |name: &str| vec![name.to_owned()];
    check(&|_| {}, &[old, new]);
    check(&|filter| filter.reasons = named("retry"), &[new]);
    check(&|filter| filter.reasons = named("other"), &[]);
    check(&|filter| filter.labels = named("keep"), &[old]);
    check(&|filter| filter.models = named("new"), &[new]);
    check(&|filter| filter.cost_min = Some(1.0), &[old]);
    check(&|filter| filter.cost_max = Some(1.0), &[new]);
    check(&|filter| filter.since = Some(201), &[new]);
    check(&|filter| filter.until = Some(200), &[old]);
    check(&|filter| filter.roles = named("user"), &[&old[4..], &new[4..]]);
    check(&|filter| filter.roles = named("system"), &["s:S a:old", "s:S a:-\nnew"]);
    let tools = told(&TOOLS);
    let mut options = of(TrainingForm::Openai);
    options.filter.roles = named("user");
    assert_eq!(words(&tools, &options), ["u:list a:looking\ndone"], "without tools it calls none");
    let mut options = of(TrainingForm::Dpo);
    options.filter.models = named("old");
    assert_eq!(words(&desk, &options), [""; 0], "what is preferred was said by another");
}

#[test]
fn a_split_takes_its_share_of_sessions() {
    let repo = Repo::in_memory();
    let sessions: Vec<String> = (0..200).map(|number| format!("session-{number}")).collect();
    for session in &sessions {
        let pin = crate::session::pin(&repo, Some(session), None, 0, "tester").unwrap();
        let body = Draft::message("user", "x").body;
        crate::session::append(&repo, &pin, vec![body], crate::Durability::Full, 1).unwrap();
    }
    let snapshot = repo.snapshot().unwrap();
    let count = |split| {
        let part = |sid: &&String| training_part(&*snapshot, sid, split).unwrap();
        sessions.iter().filter(|sid| part(sid) == TrainingPart::Train).count()
    };
    assert_eq!((count(0.0), count(1.0)), (0, 200));
    assert!((165..195).contains(&count(0.9)), "{}", count(0.9));
}

#[test]
fn forms_have_names() {
    for form in TrainingForm::ALL {
        assert_eq!(TrainingForm::parse(form.name()), Some(form));
    }
    assert_eq!(TrainingForm::parse("other"), None);
}
