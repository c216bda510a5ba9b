//! `sapwood import`

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use clap::ValueEnum;
use sapwood::codec::Value;
use sapwood::dialect::Odd;
use sapwood::ops::{
    self, Found, ImportChange, ImportNote, ImportOptions, ImportOutcome, Imported, Oddity,
    REPLACEMENT, Scrubber, Strange,
};

use crate::confirm::{can_ask, confirm};
use crate::failure::{Answer, Failure};
use crate::open::{self, Context, Opened};
use crate::output;
use crate::plumbing::human;
use crate::progress::Progress;
use crate::shown;
use crate::style;

/// Where agents keep their sessions, below the home directory.
const HOMES: [&str; 4] =
    [".claude/projects", ".codex/sessions", ".pi/agent/sessions", ".rollouts/sessions"];

/// How many sessions are shown at the end, and how many oddities.
const SESSIONS_SHOWN_MAX: usize = 24;
const ODDITIES_SHOWN_MAX: usize = 20;

/// How long to wait before looking again with --watch.
const WATCH_PAUSE: Duration = Duration::from_millis(1000);

/// Take in the session files of other agents
///
/// Files and folders; '-' is standard input. Each file becomes a session, and
/// comes back byte for byte with 'sapwood export'. What is in the store already
/// is not stored again: a file that was imported before is read on from where
/// it ended. Without a PATH, the folders of the agents on this machine are
/// looked through, after asking.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood import ~/.claude/projects
  sapwood import session.jsonl other.jsonl.zst
  sapwood import --dry-run ~/.codex/sessions
  sapwood import --watch ~/.pi/agent/sessions
  sapwood import --redact-secrets ~/.codex/sessions
  cat session.jsonl | sapwood import -")]
pub(crate) struct Args {
    /// Files and folders
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// What the files are, instead of looking: pi, claude, codex, rollouts,
    /// dash, copilot, gemini, opencode, chat, memory-tree
    #[arg(long, value_name = "NAME")]
    dialect: Option<String>,
    /// Write nothing, and say what would be stored
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Go on looking for what is new until interrupted
    #[arg(long, conflicts_with = "dry_run")]
    watch: bool,
    /// Go on after files that can't be read
    #[arg(short = 'k', long)]
    keep_going: bool,
    /// Look through the agents' folders without asking
    #[arg(short, long)]
    yes: bool,
    /// Replace common keys before anything is stored; see 'sapwood redact'
    #[arg(long)]
    redact_secrets: bool,
    /// Replace what the patterns of this file find before anything is stored
    #[arg(long, value_name = "FILE")]
    redact_patterns: Option<PathBuf>,
    /// When to be done: when all is on disk, or before
    #[arg(long, value_name = "WHEN", default_value = "full")]
    durability: When,
}

/// When an import is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum When {
    Full,
    Relaxed,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let wants_stdin = args.paths.iter().any(|path| path.as_os_str() == "-");
    let mut paths: Vec<PathBuf> =
        args.paths.iter().filter(|path| path.as_os_str() != "-").cloned().collect();
    if paths.is_empty() && !wants_stdin {
        paths = homes(args.yes)?;
    }
    let opened = match args.dry_run {
        true => context.open_or_empty()?,
        false => context.open_or_create()?,
    };
    let mut stdin: Option<Box<dyn Read + Send>> =
        wants_stdin.then(|| Box::new(io::stdin()) as Box<dyn Read + Send>);
    let options = ImportOptions {
        dialect: args.dialect.clone(),
        dry_run: args.dry_run,
        keep_going: args.keep_going || args.watch,
        scrubber: scrubber(&args)?,
    };
    loop {
        let found = ops::find_files(&paths);
        let work = Work { args: &args, options: &options, opened: &opened };
        let answer = work.import(found, stdin.take(), context)?;
        if !args.watch {
            return Ok(answer);
        }
        context.output.flush()?;
        thread::sleep(WATCH_PAUSE);
    }
}

/// Makes what replaces secrets in the files, if that is asked for.
fn scrubber(args: &Args) -> Result<Option<Arc<Scrubber>>, Failure> {
    let file = args.redact_patterns.as_deref();
    if file.is_some_and(|file| file.as_os_str() == "-") {
        return Err(Failure::Usage("--redact-patterns takes a file".to_owned()));
    }
    match super::redact::patterns(file, args.redact_secrets)? {
        Some(patterns) => Ok(Some(Arc::new(Scrubber::new(patterns, REPLACEMENT)?))),
        None => Ok(None),
    }
}

/// Finds the folders of agents on this machine, and asks whether to look through them.
fn homes(yes: bool) -> Result<Vec<PathBuf>, Failure> {
    let home = open::text("HOME").map(PathBuf::from).unwrap_or_default();
    let paths: Vec<PathBuf> =
        HOMES.iter().map(|folder| home.join(folder)).filter(|path| path.is_dir()).collect();
    if paths.is_empty() {
        return Err(Failure::Request {
            message: "no agent keeps sessions in this home directory".to_owned(),
            hint: Some("name files or folders: 'sapwood import PATH'".to_owned()),
        });
    }
    if yes {
        return Ok(paths);
    }
    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    if !can_ask() {
        return Err(Failure::Request {
            message: format!("no PATH is given; found {}", names.join(", ")),
            hint: Some("name them, or say --yes".to_owned()),
        });
    }
    match confirm(&format!("Import from {}?", names.join(", ")))? {
        true => Ok(paths),
        false => Err(Failure::request("nothing was imported")),
    }
}

struct Work<'a> {
    args: &'a Args,
    options: &'a ImportOptions,
    opened: &'a Opened,
}

/// What is told at the end.
#[derive(Default)]
struct Seen {
    sessions: Vec<String>,
    odds: Vec<(PathBuf, Oddity)>,
    kinds: BTreeMap<Strange, u64>,
    /// How many values of a session hang on nothing.
    loose: HashMap<String, BTreeMap<Strange, u64>>,
    unknown: Vec<PathBuf>,
    failed: Vec<String>,
    loops: Vec<PathBuf>,
}

impl Work<'_> {
    fn import(
        &self,
        found: Found,
        stdin: Option<Box<dyn Read + Send>>,
        context: &mut Context,
    ) -> Result<Answer, Failure> {
        let words: Vec<String> =
            self.args.paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        let mut command = vec!["import"];
        command.extend(words.iter().map(String::as_str));
        let operation = context.operation(None, &command);
        let before = self.stored()?;
        let progress = Progress::new("Importing", context.output.is_quiet());
        let mut seen = Seen::default();
        let mut printed = Ok(());
        let json = context.output.json;
        let imported =
            ops::import(&self.opened.repo, found, stdin, self.options, &operation, &mut |note| {
                match note {
                    ImportNote::Progress(done, total) => progress.tell_bytes(done, total),
                    ImportNote::Session(imported) => {
                        seen.note(imported);
                        let is_news = imported.change != ImportChange::Unchanged;
                        if json && is_news && printed.is_ok() {
                            printed = print_json(context, imported);
                        }
                    }
                    ImportNote::Unknown(path) => seen.unknown.push(path.to_owned()),
                    ImportNote::Loop(path) => seen.loops.push(path.to_owned()),
                    ImportNote::Failed(path, error) => {
                        seen.failed.push(format!("{}: {error}", path.display()));
                    }
                }
            });
        progress.clear();
        printed?;
        let outcome = imported?;
        if !self.args.dry_run {
            self.settle()?;
        }
        let stored = self.stored()?.saturating_sub(before);
        seen.tell_left(&mut context.output);
        let is_news = !self.args.watch || outcome.sessions > 0;
        if !json && !context.output.is_quiet() && is_news {
            self.tell(&outcome, &seen, stored, context)?;
        }
        Ok(if seen.failed.is_empty() { Answer::Yes } else { Answer::No })
    }

    /// Makes what was imported durable and compact, unless somebody is in a hurry.
    fn settle(&self) -> Result<(), Failure> {
        match self.args.durability {
            When::Full => {
                if let (false, Ok(local)) = (self.args.watch, self.opened.local()) {
                    local.seal()?;
                }
                Ok(self.opened.store.sync()?)
            }
            When::Relaxed => Ok(()),
        }
    }

    /// Gives the bytes of the store on disk.
    fn stored(&self) -> Result<u64, Failure> {
        let Ok(local) = self.opened.local() else {
            return Ok(0);
        };
        let counts = local.count_objects()?;
        Ok(counts.journal_bytes + counts.loose_bytes + counts.pack_bytes)
    }

    fn tell(
        &self,
        outcome: &ImportOutcome,
        seen: &Seen,
        stored: u64,
        context: &mut Context,
    ) -> Result<(), Failure> {
        let output = &mut context.output;
        let would = if self.args.dry_run { "Would import" } else { "Imported" };
        let tally = &outcome.tally;
        output.item(format_args!(
            "{would} {}, {} ({} shared), {} unchanged, {} no sessions",
            plural(outcome.sessions, "session"),
            plural(tally.entries, "entry"),
            tally.entries_shared,
            outcome.unchanged,
            outcome.unknown,
        ))?;
        let ratio = match outcome.bytes_read {
            0 => String::new(),
            read => format!(" ({:.1} %)", stored as f64 * 100.0 / read as f64),
        };
        let kept = match self.args.dry_run {
            true => format!("{} new before compression", human(tally.bytes_new)),
            false => format!("{} stored{ratio}", human(stored)),
        };
        output.item(format_args!("{} read, {kept}", human(outcome.bytes_read)))?;
        output.item(format_args!(
            "shared: {} of {} entries, {} of {} long strings, {}",
            tally.entries_shared,
            tally.entries,
            tally.strings_shared,
            tally.strings,
            human(tally.bytes_shared),
        ))?;
        if !outcome.redacted.is_empty() {
            let found = super::redact::found(&outcome.redacted);
            output.item(format_args!("redacted: {found}"))?;
        }
        seen.tell_odds(output)?;
        if self.args.dry_run || seen.sessions.is_empty() || self.args.watch {
            return Ok(());
        }
        self.show_next(seen, context)
    }

    /// Shows the sessions, and what to try with them.
    fn show_next(&self, seen: &Seen, context: &mut Context) -> Result<(), Failure> {
        let shown = &seen.sessions[..seen.sessions.len().min(SESSIONS_SHOWN_MAX)];
        context.output.item("")?;
        super::sessions::show_tree(context, self.opened, shown)?;
        if let Some(more) = seen.sessions.len().checked_sub(SESSIONS_SHOWN_MAX + 1) {
            context.output.item(format_args!("  … and {}", plural(more as u64 + 1, "more")))?;
        }
        let first = crate::quote::shell(&seen.sessions[0]);
        let output = &mut context.output;
        output.item("\nTry next:")?;
        for command in [
            format!("sapwood log -s {first}"),
            format!("sapwood tree -s {first}"),
            format!("sapwood export -s {first} --to html -o session.html"),
        ] {
            let command = output.paint(style::ID, command);
            output.item(format_args!("  {command}"))?;
        }
        Ok(())
    }
}

impl Seen {
    fn note(&mut self, imported: &Imported) {
        let is_linked = imported.change == ImportChange::Linked;
        if !is_linked && imported.change != ImportChange::Unchanged {
            self.sessions.extend(imported.session.clone());
        }
        let is_loose = |what: Strange| matches!(what, Strange::Orphan | Strange::Circle);
        let path = imported.source.clone().unwrap_or_else(|| PathBuf::from("-"));
        let loose = self.loose.entry(imported.session.clone().unwrap_or_default()).or_default();
        if is_linked {
            // What hung on nothing before may do so no more.
            for (what, count) in std::mem::take(loose) {
                *self.kinds.entry(what).or_default() -= count;
            }
            self.kinds.retain(|_, count| *count > 0);
            self.odds.retain(|(other, odd)| *other != path || !is_loose(odd.what));
        }
        for odd in imported.odds.iter().filter(|odd| !is_linked || is_loose(odd.what)) {
            *self.kinds.entry(odd.what).or_default() += 1;
            if is_loose(odd.what) {
                *loose.entry(odd.what).or_default() += 1;
            }
            if self.odds.len() < ODDITIES_SHOWN_MAX {
                self.odds.push((path.clone(), odd.clone()));
            }
        }
    }

    /// Tells what was left out, and why.
    fn tell_left(&self, output: &mut output::Output) {
        for failed in &self.failed {
            output.note(format_args!("can't read {}", shown::line(failed)));
        }
        for path in &self.loops {
            let path = path.display();
            output.note(format_args!("{path}: left out, a link that leads to what it is in"));
        }
        for path in self.unknown.iter().take(ODDITIES_SHOWN_MAX) {
            output.note(format_args!("{}: no session that is known", path.display()));
        }
    }

    fn tell_odds(&self, output: &mut output::Output) -> Result<(), Failure> {
        if self.kinds.is_empty() {
            return Ok(());
        }
        let kinds: Vec<String> =
            self.kinds.iter().map(|(what, count)| format!("{count} {}", word(*what))).collect();
        output.item(format_args!("odd, and kept as it is: {}", kinds.join(", ")))?;
        for (path, odd) in &self.odds {
            let path = odd.file.as_ref().map_or_else(|| path.clone(), |file| path.join(file));
            let place = shown::line(&path.display().to_string()).into_owned();
            output.item(format_args!("  {place}:{}: {}", odd.line, word(odd.what)))?;
        }
        let told: u64 = self.odds.len() as u64;
        let all: u64 = self.kinds.values().sum();
        if all > told {
            output.item(format_args!("  … and {} more", all - told))?;
        }
        Ok(())
    }
}

/// Names an oddity.
fn word(what: Strange) -> &'static str {
    match what {
        Strange::Text(Odd::Welded) => "welded",
        Strange::Text(Odd::Torn) => "torn",
        Strange::Text(Odd::Unreadable) => "not JSON",
        Strange::Text(Odd::NotUtf8) => "not UTF-8",
        Strange::Text(Odd::Ambiguous) => "ambiguous",
        Strange::Text(Odd::TooLong) => "too long",
        Strange::Orphan => "orphaned",
        Strange::Circle => "circular",
        Strange::Twin => "duplicate id",
        Strange::TornEnd => "torn at the end",
        Strange::Rewritten => "rewritten",
    }
}

fn change(change: ImportChange) -> &'static str {
    match change {
        ImportChange::New => "new",
        ImportChange::Grown => "grown",
        ImportChange::Rewritten => "rewritten",
        ImportChange::Linked => "linked",
        ImportChange::Unchanged => "unchanged",
    }
}

fn plural(count: u64, word: &str) -> String {
    match (count, word.strip_suffix('y')) {
        (1, _) => format!("1 {word}"),
        (_, Some(stem)) => format!("{count} {stem}ies"),
        _ if word == "more" => format!("{count} more"),
        _ => format!("{count} {word}s"),
    }
}

fn print_json(context: &mut Context, imported: &Imported) -> Result<(), Failure> {
    let path = |path: &Path| Value::from(path.to_string_lossy().into_owned());
    let odds = imported.odds.iter().map(|odd| {
        let file = odd.file.clone().map(|file| ("file", file.into()));
        let place = [("what", word(odd.what).into()), ("line", output::count(odd.line))];
        output::object(place.into_iter().chain(file))
    });
    let tally = &imported.tally;
    context.output.record([
        ("session", imported.session.clone().into()),
        ("source", imported.source.as_deref().map(path).unwrap_or_default()),
        ("dialect", imported.dialect.into()),
        ("change", change(imported.change).into()),
        ("entries", output::count(imported.values)),
        ("entries_new", output::count(tally.entries - tally.entries_shared)),
        ("entries_shared", output::count(tally.entries_shared)),
        ("strings", output::count(tally.strings)),
        ("strings_shared", output::count(tally.strings_shared)),
        ("bytes", output::count(imported.bytes)),
        ("bytes_new", output::count(tally.bytes_new)),
        ("bytes_shared", output::count(tally.bytes_shared)),
        ("odd", output::count(imported.odd_count)),
        ("odds", Value::List(odds.collect())),
    ])
}
