//! The house rules, enforced: imports point down, one seam for files, small files and functions.

use std::fs;
use std::path::Path;

/// The library's modules from the ground up. A module uses its own layer and those before it.
const LAYERS: &[&[&str]] = &[
    &["error", "id"],
    &["time", "slots", "threads"],
    &["codec"],
    &["object"],
    &["disk"],
    &["store"],
    &["walk"],
    &["repo"],
    &["session"],
    &["memory"],
    &["dialect"],
    &["ops"],
    &["fuzzing"],
];
const FILE_LINES_MAX: usize = 450;
const FUNCTION_LINES_MAX: usize = 75;
const LINE_COLUMNS_MAX: usize = 100;

/// A source file: its path, its lines, and which of them are tests.
struct Source {
    path: String,
    lines: Vec<String>,
    /// Where the tests at its end begin.
    tests_at: usize,
}

impl Source {
    fn is_library(&self) -> bool {
        self.path.starts_with("src/") && !self.path.starts_with("src/bin/")
    }

    /// Gives the lines that are neither tests nor comments, numbered from 1.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.lines[..self.tests_at].iter().enumerate();
        let lines = lines.map(|(place, line)| (place + 1, line.trim()));
        lines.filter(|(_, line)| !line.starts_with("//"))
    }

    /// Gives the module of the library that the file belongs to.
    fn module(&self) -> Option<&str> {
        let rest = self.path.strip_prefix("src/").filter(|_| self.is_library())?;
        let first = rest.split('/').next()?;
        Some(first.strip_suffix(".rs").unwrap_or(first)).filter(|name| *name != "lib")
    }
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut sources = Vec::new();
    for dir in ["src", "tests", "benches", "fuzz"] {
        let files = walkdir::WalkDir::new(root.join(dir)).sort_by_file_name();
        let files = files.into_iter().filter_entry(|entry| entry.file_name() != "target");
        for entry in files.flatten() {
            if entry.path().extension().is_none_or(|ending| ending != "rs") {
                continue;
            }
            let path = entry.path().strip_prefix(root).unwrap();
            sources.push(source(path.to_str().unwrap(), entry.path()));
        }
    }
    assert!(sources.len() > 50, "the sources are found");
    sources
}

fn source(name: &str, path: &Path) -> Source {
    let text = fs::read_to_string(path).unwrap();
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let of_tests = ["tests.rs", "arbitrary.rs"].iter().any(|file| name.ends_with(file))
        || name.contains("/tests/")
        || name.starts_with("tests/");
    let mark = lines.iter().position(|line| line == "#[cfg(test)]");
    let inline = mark.filter(|at| lines.get(at + 1).is_some_and(|line| line.ends_with('{')));
    let tests_at = if of_tests { 0 } else { inline.unwrap_or(lines.len()) };
    Source { path: name.to_owned(), lines, tests_at }
}

/// Fails if a rule is broken by a file that is not known for it, or kept by one that is.
fn settle(rule: &str, broken: Vec<(String, String)>) {
    let broken: Vec<String> = broken.iter().map(|(file, why)| format!("{file}: {why}")).collect();
    assert!(broken.is_empty(), "{rule}:\n{}", broken.join("\n"));
}

#[test]
fn imports_point_down() {
    let mut broken = Vec::new();
    for source in sources() {
        let Some(module) = source.module() else {
            continue;
        };
        let place = layer(module);
        assert!(place.is_some(), "{module} has no place among the layers");
        for (number, line) in source.code() {
            for used in used_modules(line) {
                if layer(used) > place {
                    broken.push((source.path.clone(), format!("line {number} uses {used}")));
                }
            }
        }
    }
    settle("imports point down", broken);
}

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

/// Finds the modules of this crate that a line names: `crate::a::b`, `crate::{a, b::c}`.
fn used_modules(line: &str) -> Vec<&str> {
    let word = |text: &str| text.find(|c: char| !c.is_alphanumeric() && c != '_');
    let mut found = Vec::new();
    for (at, start) in line.match_indices("crate::") {
        let before = line[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let rest = &line[at + start.len()..];
        let list = rest.strip_prefix('{').map(|list| list.split('}').next().unwrap());
        match list {
            Some(list) => found.extend(list.split(',').map(|item| {
                let item = item.trim();
                &item[..word(item).unwrap_or(item.len())]
            })),
            None => found.push(&rest[..word(rest).unwrap_or(rest.len())]),
        }
    }
    found
}

#[test]
fn the_library_touches_files_in_one_place_and_never_the_terminal_or_the_environment() {
    let calls = ["println!", "print!", "eprintln!", "eprint!", "std::env", "env::var"];
    let mut broken = Vec::new();
    for source in sources().iter().filter(|source| source.is_library()) {
        for (number, line) in source.code() {
            let file_seam = source.path == "src/disk.rs" || source.path.starts_with("src/disk/");
            let files = line.contains("std::fs") && !file_seam;
            let names = |call: &str| line.contains(call) && !line.contains("env!(");
            if files || calls.iter().any(|call| names(call)) {
                broken.push((source.path.clone(), format!("line {number}: {line}")));
            }
        }
    }
    settle("one seam", broken);
}

#[test]
fn files_and_lines_are_short() {
    let mut long_files = Vec::new();
    let mut long_lines = Vec::new();
    for source in sources() {
        let count = source.lines.len();
        if count >= FILE_LINES_MAX {
            long_files.push((source.path.clone(), format!("{count} lines")));
        }
        for (place, line) in source.lines.iter().enumerate() {
            let columns = line.chars().count();
            // What a test expects a program to print may stand on one line.
            let printed = source.path.starts_with("tests/") && line.contains('"');
            if columns > LINE_COLUMNS_MAX && !printed {
                let why = format!("line {} has {columns} columns", place + 1);
                long_lines.push((source.path.clone(), why));
            }
        }
    }
    settle("short files", long_files);
    settle("short lines", long_lines);
}

#[test]
fn functions_are_short() {
    let mut broken = Vec::new();
    for source in sources() {
        let mut open: Option<(usize, usize)> = None;
        for (place, line) in source.lines[..source.tests_at].iter().enumerate() {
            let indent = line.len() - line.trim_start().len();
            match open {
                None if is_function(line.trim()) => open = Some((place, indent)),
                Some((begin, at)) if indent == at && line.trim().starts_with('}') => {
                    if place - begin + 1 >= FUNCTION_LINES_MAX {
                        let why = format!("line {}: {} lines", begin + 1, place - begin + 1);
                        broken.push((source.path.clone(), why));
                    }
                    open = None;
                }
                // A declaration without a body ends with its signature.
                Some((_, at)) if indent == at && line.ends_with(';') => open = None,
                _ => {}
            }
            let one_line = line.trim_end().ends_with(['}', ';']);
            if one_line && open.is_some_and(|(begin, _)| begin == place) {
                open = None;
            }
        }
    }
    settle("short functions", broken);
}

/// Says whether a line begins a function. rustfmt closes it with a brace of the same indent.
fn is_function(line: &str) -> bool {
    let mut words = line.split(' ').skip_while(|word| {
        word.starts_with("pub") || ["const", "async", "unsafe", "extern"].contains(word)
    });
    words.next() == Some("fn")
}

#[test]
fn nothing_is_left_for_later() {
    // Put together here, so that this file does not find itself.
    let marks = [
        concat!("todo", "!"),
        concat!("unimplemented", "!"),
        concat!("#[ig", "nore"),
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
    ];
    let mut broken = Vec::new();
    for source in sources() {
        for (place, line) in source.lines.iter().enumerate() {
            if marks.iter().any(|mark| line.contains(mark)) {
                broken.push((source.path.clone(), format!("line {}: {line}", place + 1)));
            }
        }
    }
    settle("nothing for later", broken);
}
