//! Loose files, looked at with ordinary tools: `zstd -dc FILE | b3sum` prints the file's name.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::Sandbox;

/// Says whether both tools are there; in CI they must be.
fn tools_are_there() -> bool {
    let runs = |tool: &str| {
        let mut command = Command::new(tool);
        let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
        quiet.arg("--version").status().is_ok_and(|status| status.success())
    };
    let missing: Vec<&str> = ["zstd", "b3sum"].into_iter().filter(|tool| !runs(tool)).collect();
    if missing.is_empty() {
        return true;
    }
    let in_ci = std::env::var_os("CI").is_some_and(|value| value == "true");
    assert!(!in_ci, "missing: {}; .ci/run installs them", missing.join(", "));
    // Shown with --nocapture; the same is tested without tools in the module itself.
    #[allow(clippy::print_stderr, reason = "a skipped test says so")]
    {
        eprintln!("skipped, because these tools are missing: {}", missing.join(", "));
    }
    false
}

fn loose_files(store: &Path) -> Vec<PathBuf> {
    let files = walkdir::WalkDir::new(store.join("objects")).min_depth(2).max_depth(2);
    let files = files.into_iter().map(|entry| entry.unwrap().into_path());
    let in_fan = |path: &Path| path.parent().unwrap().file_name().unwrap().len() == 2;
    files.filter(|path| in_fan(path)).collect()
}

/// Gives what `zstd -dc FILE | b3sum` prints, without the name of the input.
fn sum(path: &Path) -> String {
    let mut zstd =
        Command::new("zstd").arg("-dc").arg(path).stdout(Stdio::piped()).spawn().unwrap();
    let output = zstd.stdout.take().unwrap();
    let sum = Command::new("b3sum").stdin(output).output().unwrap();
    assert!(zstd.wait().unwrap().success() && sum.status.success());
    String::from_utf8(sum.stdout).unwrap()[..64].to_owned()
}

#[test]
fn every_loose_file_unpacks_to_what_its_name_is_the_hash_of() {
    if !tools_are_there() {
        return;
    }
    let sandbox = Sandbox::with_store();
    let mut ids = Vec::new();
    for content in [String::new(), "hello\n".to_owned(), "long ".repeat(100_000)] {
        ids.push(sandbox.feed_ok(&["hash-object", "-w", "--stdin"], content));
    }
    let entry = sandbox.append("s1", "main", &["one", "two"]).remove(0);
    let content = sandbox.command(&["cat-file", "entry", &entry]).output().unwrap();
    let args = ["hash-object", "-t", "entry", "-w", "--stdin"];
    ids.push(sandbox.feed_ok(&args, content.stdout));
    assert_eq!(ids[3], entry);

    let files = loose_files(&sandbox.join(".sapwood"));
    assert_eq!(files.len(), ids.len());
    for file in files {
        let fan = file.parent().unwrap().file_name().unwrap().to_str().unwrap();
        let id = format!("{fan}{}", file.file_name().unwrap().to_str().unwrap());
        assert!(ids.contains(&id));
        assert_eq!(sum(&file), id);
    }
}
