//! Holds help and docs/CLI.md against the definition of the arguments.

use std::collections::BTreeSet;

use clap::{Arg, Command};

use super::{define, definition};

const REFERENCE: &str = include_str!("../../../../docs/CLI.md");
const COLUMNS_MAX: usize = 80;

/// Lists all commands with their full names, the program itself left out.
fn commands() -> Vec<(String, Command)> {
    fn collect(prefix: &str, command: &Command, found: &mut Vec<(String, Command)>) {
        for command in command.get_subcommands() {
            let name = format!("{prefix} {}", command.get_name());
            found.push((name.clone(), command.clone()));
            collect(&name, command, found);
        }
    }
    let mut root = definition();
    root.build();
    let mut found = Vec::new();
    collect("sapwood", &root, &mut found);
    found
}

fn flags<'a>(arguments: impl Iterator<Item = &'a Arg>) -> BTreeSet<String> {
    let mut flags = BTreeSet::new();
    for argument in arguments {
        if matches!(argument.get_id().as_str(), "help" | "version") {
            continue;
        }
        flags.extend(argument.get_short().map(|short| format!("-{short}")));
        flags.extend(argument.get_long().map(|long| format!("--{long}")));
    }
    flags
}

/// Takes the section with this title out of the reference.
fn section(title: &str) -> &'static str {
    let start = format!("\n## {title}\n");
    let at = REFERENCE.find(&start).unwrap_or_else(|| panic!("no section '{title}'"));
    let body = &REFERENCE[at + start.len()..];
    body.split("\n## ").next().unwrap()
}

/// Lists the flags that a section's list documents: items that begin with a flag.
fn documented(section: &str) -> BTreeSet<String> {
    let mut flags = BTreeSet::new();
    for item in section.lines().filter_map(|line| line.strip_prefix("- `-")) {
        let head = item.split('`').next().unwrap();
        for word in format!("-{head}").split([' ', ',', '[', '=']) {
            if word.starts_with('-') {
                flags.insert(word.to_owned());
            }
        }
    }
    flags
}

#[test]
fn the_definition_is_sound() {
    definition().debug_assert();
}

#[test]
fn a_command_defined_alone_is_the_one_among_all() {
    for mut among_all in definition().get_subcommands().cloned() {
        let name = among_all.get_name().to_owned();
        let mut alone = define(&name).expect("every command can be defined alone");
        let [found, expected] = [&mut alone, &mut among_all].map(|command| {
            let names: Vec<_> =
                command.get_arguments().map(|found| found.get_id().clone()).collect();
            (command.render_long_help().to_string(), names)
        });
        assert_eq!(found, expected, "{name}");
    }
    for name in ["", "-", "log-", "cherrypick", "cherry-pick-", "CherryPick", "rewind"] {
        assert!(define(name).is_none(), "{name}");
    }
}

#[test]
fn the_reference_has_every_command_and_flag_and_no_other() {
    let root = definition();
    assert_eq!(documented(section("Global options")), flags(root.get_arguments()), "global");
    for (name, command) in commands() {
        let section = section(&format!("`{name}`"));
        let own = command.get_arguments().filter(|argument| !argument.is_global_set());
        assert_eq!(documented(section), flags(own), "{name}");
        for argument in command.get_positionals() {
            for value in argument.get_value_names().unwrap_or_default() {
                assert!(section.contains(value.as_str()), "{name} {value}");
            }
        }
        assert!(section.contains(&format!("\n{name}")), "{name} has no synopsis or example");
    }
    let titles = REFERENCE.lines().filter_map(|line| line.strip_prefix("## `")?.strip_suffix('`'));
    let names: Vec<String> = commands().into_iter().map(|(name, _)| name).collect();
    assert_eq!(titles.collect::<Vec<_>>(), names, "a section for each, in this order");
}

#[test]
fn help_fits_the_terminal_and_shows_an_example() {
    let mut all = commands();
    all.push(("sapwood".to_owned(), definition()));
    for (name, mut command) in all {
        for help in [command.render_help(), command.render_long_help()] {
            let help = help.to_string();
            assert!(help.contains("Examples:\n  "), "{name} has no example");
            for line in help.lines() {
                assert!(line.chars().count() <= COLUMNS_MAX, "{name}: {line}");
            }
        }
    }
}
