//! Comparisons and differences.

use super::*;
use crate::ops::desk::Desk;
use crate::ops::{DiffWords, diff};

fn said(text: &str, metadata: &str) -> String {
    format!(r#"{{"role":"assistant","content":"{text}","metadata":{{{metadata}}}}}"#)
}

fn comparison(desk: &Desk, by: Metric, branches: &[&str]) -> Comparison {
    let branches = branches.iter().map(|name| (*name).to_owned()).collect();
    let options = CompareOptions { branches, by, ..CompareOptions::default() };
    compare(&*desk.repo.snapshot().unwrap(), &options).unwrap()
}

#[test]
fn only_what_came_after_the_fork_point_counts_and_unknown_never_wins() {
    let desk = Desk::new(&["one"]);
    desk.put("main", &said("shared", r#""cost":9,"tokens":9"#));
    desk.put("a", &said("x", r#""cost":0.02,"tokens":10,"score":{"total":3}"#));
    desk.put("a", &said("y", r#""cost":0.03,"score":{"total":1.5}"#));
    desk.put("b", &said("z", r#""cost":0.03,"tokens":20"#));
    desk.say("c", "nobody knows");
    let found = comparison(&desk, Metric::Cost, &["a", "b", "c"]);
    assert_eq!(found.fork_point, desk.end("main"));
    let costs: Vec<_> = found.branches.iter().map(|totals| totals.cost).collect();
    assert_eq!(costs, [Some(0.05), Some(0.03), None]);
    assert_eq!((found.best.as_slice(), found.branches[0].entries), (&[1][..], 2));
    let first = &found.differences[0];
    assert_eq!((first.diff, first.percent), (Some(-0.02), Some(-40.0)));
    assert_eq!(found.differences.len(), 4 * 3);
    assert_eq!(found.differences[1].diff, None);
    assert_eq!(comparison(&desk, Metric::Tokens, &["a", "b"]).best, [0]);
    assert_eq!(comparison(&desk, Metric::Entries, &["a", "b", "c"]).best, [1, 2], "a tie");
    let scored = comparison(&desk, Metric::Meta("score.total".to_owned()), &["a", "b"]);
    assert_eq!((scored.branches[0].meta, scored.best.as_slice()), (Some(4.5), &[0][..]));
    let nothing = comparison(&desk, Metric::Meta("x".to_owned()), &["a", "b"]);
    assert_eq!(nothing.best, Vec::<usize>::new());
}

#[test]
fn what_is_too_much_or_less_than_nothing_never_wins() {
    let desk = Desk::new(&["root"]);
    let cost = |cost: &str| said("x", &format!(r#""cost":{cost},"tokens":-3"#));
    desk.put("a", &cost("1e308"));
    desk.put("a", &cost("1e308"));
    desk.put("b", &cost("-5"));
    desk.put("c", &cost("2"));
    let found = comparison(&desk, Metric::Cost, &["a", "b", "c"]);
    let costs: Vec<_> = found.branches.iter().map(|totals| totals.cost).collect();
    assert_eq!((costs.as_slice(), found.best.as_slice()), (&[None, None, Some(2.0)][..], &[2][..]));
    assert_eq!(found.branches[0].tokens, None);
}

#[test]
fn fork_points_are_found_at_any_distance() {
    let desk = Desk::new(&["root"]);
    for step in 0..40 {
        desk.say("main", &format!("m{step}"));
    }
    desk.branch("near", Some("main~3"));
    desk.branch("far", Some("main~39"));
    for step in 0..25 {
        desk.say("near", &format!("n{step}"));
        desk.say("far", &format!("f{step}"));
    }
    let point = |names: &[&str]| comparison(&desk, Metric::Entries, names).fork_point;
    assert_eq!(point(&["main", "near"]), Some(desk.repo.resolve("main~3").unwrap()));
    assert_eq!(point(&["far", "near"]), Some(desk.repo.resolve("main~39").unwrap()));
    assert_eq!(point(&["near", "main", "far"]), Some(desk.repo.resolve("main~39").unwrap()));
    assert_eq!(point(&["main", "main~5"]), Some(desk.repo.resolve("main~5").unwrap()));
    let alone = comparison(&desk, Metric::Entries, &["main", "main~5"]);
    let counts: Vec<_> = alone.branches.iter().map(|totals| totals.entries).collect();
    assert_eq!(counts, [5, 0]);
}

#[test]
fn names_of_metrics_are_read() {
    for name in ["cost", "tokens", "entries", "duration", "meta.a.b"] {
        assert_eq!(Metric::parse(name).unwrap().name(), name);
    }
    for name in ["", "price", "meta", "meta."] {
        assert_eq!(Metric::parse(name), None, "{name}");
    }
    let one = CompareOptions { branches: vec!["main".to_owned()], ..CompareOptions::default() };
    let desk = Desk::new(&["x"]);
    assert!(compare(&*desk.repo.snapshot().unwrap(), &one).is_err());
}

#[test]
fn messages_that_are_alike_are_compared_word_by_word() {
    let desk = Desk::new(&["one"]);
    desk.put("a", r#"{"type":"model_change","model":"haiku"}"#);
    desk.say("a", "please use the small map");
    desk.put("a", &said("fine", ""));
    desk.say("b", "please use the large map");
    desk.put("b", &said("entirely other words than before", ""));
    let snapshot = desk.repo.snapshot().unwrap();
    let found = diff(&*snapshot, &Target::default(), "a", "b").unwrap();
    assert_eq!(found.fork_point, desk.end("main"));
    assert_eq!(found.sides[0].model.as_deref(), Some("haiku"));
    assert_eq!(found.sides[0].own[0].config, [("model".into(), "haiku".into())]);
    assert_eq!(found.pairs.len(), 2);
    let words: Vec<_> = found.pairs[0].words.iter().map(|(at, text)| (*at, &**text)).collect();
    let expected = [
        (DiffWords::Both, "please use the "),
        (DiffWords::First, "small"),
        (DiffWords::Second, "large"),
        (DiffWords::Both, " map"),
    ];
    assert_eq!(words, expected);
    assert!(found.pairs[1].words.is_empty(), "shown whole");
}
