//! The tour: `examples/tour.sh` runs, and the README shows what it prints.

use std::path::Path;
use std::process::Command;

use regex::Regex;

const README: &str = include_str!("../../README.md");

#[test]
fn the_readme_shows_what_the_tour_prints() {
    let printed = tour();
    let chapters = printed.lines().filter(|line| line.starts_with("# ")).count();
    assert!(chapters > 3, "{printed}");
    let printed: Vec<&str> = printed.lines().filter(|line| !line.starts_with("# ")).collect();
    let (printed, shown) = (masked(&printed.join("\n")), masked(&walk_through()));
    for (printed, shown) in printed.lines().zip(shown.lines()) {
        assert_eq!(printed, shown, "the tour prints the left, the README shows the right");
    }
    assert_eq!(printed.lines().count(), shown.lines().count());
}

/// Runs the tour with nothing of the real environment.
fn tour() -> String {
    let directory = tempfile::tempdir().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/tour.sh");
    let output = Command::new("sh")
        .arg(script)
        .current_dir(directory.path())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("TMPDIR", directory.path())
        .env("SAPWOOD", env!("CARGO_BIN_EXE_sapwood"))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{complaint}");
    text
}

/// Gives the blocks of the README's walk-through, one after the other.
fn walk_through() -> String {
    let (_, rest) = README.split_once("\n## A walk-through\n").expect("the README has one");
    let (section, _) = rest.split_once("\n## Looking inside\n").expect("more follows");
    let blocks = section.split("```\n").skip(1).step_by(2);
    blocks.collect()
}

/// Leaves out what no two runs have in common, and white space.
fn masked(text: &str) -> String {
    let rules = [
        (r"\b[0-9a-f]{64}\b", "<id>"),
        (r"\b[0-9a-f]{8}\b", "<id>"),
        (r"\b[a-z2-7]{12}\b", "<session>"),
        (r"\S*/\.sapwood\b", "<store>"),
        (r"\b\d+s\b", "<age>"),
        (r"\b[0-9.]+ (KiB|bytes)", "<size>"),
        (r"\b\d+ files", "<files>"),
        (r"[ \t]+", " "),
        (r"\n\s*", "\n"),
    ];
    rules.iter().fold(text.trim().to_owned(), |text, (pattern, mask)| {
        Regex::new(pattern).unwrap().replace_all(&text, *mask).into_owned()
    })
}
