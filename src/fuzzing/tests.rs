//! The targets over their committed corpora, and over mutations of them.
//!
//! `SAPWOOD_TORTURE=1` makes the runs long.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::*;

fn corpus_dir(target: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target)
}

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let dir = corpus_dir(target);
    let files = walkdir::WalkDir::new(&dir).sort_by_file_name().into_iter().flatten();
    let files = files.filter(|file| file.file_type().is_file());
    files.map(|file| std::fs::read(file.path()).unwrap()).collect()
}

#[test]
fn every_target_has_a_program() {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fuzz/fuzz_targets");
    let mut names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    names.sort_unstable();
    let files = walkdir::WalkDir::new(dir).min_depth(1).sort_by_file_name().into_iter().flatten();
    let files: Vec<String> =
        files.map(|file| file.file_name().to_string_lossy().into_owned()).collect();
    assert_eq!(files, names.iter().map(|name| format!("{name}.rs")).collect::<Vec<_>>());
}

#[test]
#[allow(clippy::print_stdout, reason = "a long run is to say what it did")]
fn every_target_survives_its_corpus_and_mutations_of_it() {
    let long = std::env::var_os("SAPWOOD_TORTURE").is_some();
    let mutations = if long { 1_000_000 } else { 2_000 };
    let slow = if long { Duration::from_secs(45) } else { Duration::from_secs(5) };
    let mut total = 0;
    for target in TARGETS {
        let corpus = corpus(target.name);
        assert!(!corpus.is_empty(), "{} has no corpus", target.name);
        corpus.iter().for_each(|input| (target.run)(input));
        (target.run)(&[]);
        let mut mutator = Mutator::new(0x5eed);
        let begun = Instant::now();
        let mut tried = corpus.len() as u64 + 1;
        for number in 0..mutations {
            let input = &corpus[number % corpus.len()];
            let other = &corpus[number * 7 / 3 % corpus.len()];
            let changed = mutator.change(input, other);
            let survived = std::panic::catch_unwind(|| (target.run)(&changed));
            assert!(survived.is_ok(), "{} fails on {changed:?}", target.name);
            tried += 1;
            if tried.is_multiple_of(64) && begun.elapsed() > slow {
                break;
            }
        }
        println!("torture: fuzz {}: {tried} inputs in {:.1?}", target.name, begun.elapsed());
        total += tried;
    }
    println!("torture: fuzz: {} targets, {total} inputs, no panic", TARGETS.len());
}
