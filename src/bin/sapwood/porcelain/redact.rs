//! `sapwood redact`

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sapwood::codec::Value;
use sapwood::ops::{self, Patterns, REPLACEMENT, RedactOptions, RedactOutcome, RedactWhat};

use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::output::{self, Output};
use crate::plumbing::{SHORT_DIGITS, counted};
use crate::porcelain::forget::note_names;
use crate::progress::Progress;
use crate::target::Within;

/// How long a file of patterns may be.
const PATTERN_BYTES_MAX: u64 = 16 << 20;
/// How many objects are listed for a person.
const OBJECTS_SHOWN_MAX: usize = 20;

/// Replace a secret wherever it stands, and purge the store of it
///
/// Every message, long string, memory, event, name and operation that contains
/// it is written anew without it, all that links those follows, all refs move in
/// one step, and the old bytes are removed from every file of the store: journal,
/// packs, cruft, loose files, logs, mirrors and caches. Then everything is
/// searched once more; exit code 1 says that something is left, and where. What
/// contained it is refused when it comes back. This can't be undone. Other
/// stores, backups, bundles and the files that were imported are not touched.
///
/// A file of patterns has one in each line: a literal of 4 bytes or more, as it
/// is; 'regex:' and an expression, of which the group 'secret' is replaced if it
/// has one; 'json:' and a string in JSON, for what holds newlines; 'literal:' and
/// the rest of the line, whatever that begins with. Each is found escaped as in
/// JSON too, at any level. Not found: what is encoded otherwise (base64), or cut
/// in two.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood redact --pattern-file leaked.txt --dry-run
  printf '%s' \"$KEY\" | sapwood redact --pattern-file -
  sapwood redact --secrets --dry-run
  sapwood redact --rev main~3 --replace '[removed]'")]
pub(crate) struct Args {
    /// Look for the patterns of this file; '-' is standard input
    #[arg(long, value_name = "FILE")]
    pattern_file: Option<PathBuf>,
    /// Look for common keys: AWS, GitHub, Slack, OpenAI, Anthropic and others
    #[arg(long)]
    secrets: bool,
    /// Replace what this message says
    #[arg(long, value_name = "REV", conflicts_with_all = ["pattern_file", "secrets"])]
    rev: Option<String>,
    /// What stands there afterwards
    #[arg(long, value_name = "TEXT", default_value = REPLACEMENT)]
    replace: String,
    /// Change nothing, and say what would be replaced
    #[arg(short = 'n', long)]
    dry_run: bool,
    #[command(flatten)]
    within: Within,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let opened = match args.dry_run {
        true => context.open()?,
        false => context.open_for_writing()?,
    };
    let mut words = vec!["redact"];
    let what = match &args.rev {
        Some(revision) => {
            words.push("--rev");
            let place = args.within.target(&opened).place();
            RedactWhat::Entry(opened.repo.resolve_at(&place, revision)?)
        }
        None => {
            words.extend(args.pattern_file.as_ref().map(|_| "--pattern-file"));
            words.extend(args.secrets.then_some("--secrets"));
            let patterns = patterns(args.pattern_file.as_deref(), args.secrets)?;
            RedactWhat::Patterns(patterns.ok_or_else(|| {
                Failure::Usage("say what: --pattern-file, --secrets or --rev".to_owned())
            })?)
        }
    };
    let operation = context.operation(None, &words);
    let options = RedactOptions { what, replacement: args.replace, dry_run: args.dry_run };
    let progress = Progress::new("Redacting", context.output.is_quiet());
    let tell = |done, total| progress.tell(done, total);
    let had_left = opened.local()?.has_purge_left()?;
    let outcome = ops::redact(opened.local()?, options, &operation, &tell)?;
    drop(progress);
    match context.output.json {
        true => print_json(context, &outcome, had_left, args.dry_run)?,
        false => {
            print_left(&mut context.output, had_left, args.dry_run)?;
            print(context, &outcome, args.dry_run)?;
        }
    }
    Ok(if outcome.left.is_empty() { Answer::Yes } else { Answer::No })
}

/// Reads the patterns of a file, and adds those for common keys.
pub(super) fn patterns(file: Option<&Path>, secrets: bool) -> Result<Option<Patterns>, Failure> {
    let of_file = match file {
        Some(path) => Some(Patterns::parse(&read(path)?)?),
        None => None,
    };
    match (of_file, secrets) {
        (Some(patterns), true) => Ok(Some(patterns.and(Patterns::secrets())?)),
        (None, true) => Ok(Some(Patterns::secrets())),
        (patterns, false) => Ok(patterns),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    if path.as_os_str() != "-" {
        let read = sapwood::disk::read_file(&sapwood::disk::OsDisk, path, PATTERN_BYTES_MAX);
        return Ok(read.map_err(sapwood::error::Error::io("read", path))?);
    }
    let mut text = Vec::new();
    let read = io::stdin().take(PATTERN_BYTES_MAX + 1).read_to_end(&mut text);
    read.map_err(Failure::Input)?;
    let (found, limit) = (text.len() as u64, PATTERN_BYTES_MAX);
    match found > limit {
        true => Err(sapwood::error::Error::TooLarge { what: "the patterns", found, limit }.into()),
        false => Ok(text),
    }
}

/// Says how often each pattern was found.
pub(super) fn found(matches: &[(String, u64)]) -> String {
    let each = matches.iter().map(|(name, count)| format!("{count} x {name}"));
    each.collect::<Vec<_>>().join(", ")
}

/// Tells of an earlier one that was cut off before all old bytes were removed.
pub(super) fn print_left(
    output: &mut Output,
    had_left: bool,
    dry_run: bool,
) -> Result<(), Failure> {
    match (had_left, dry_run) {
        (false, _) => Ok(()),
        (true, true) => output.item(
            "an earlier redact or forget was cut off, and old bytes are left;\n\
             without --dry-run they are removed first, or by whoever writes next",
        ),
        (true, false) => {
            output.item("removed what an earlier redact or forget that was cut off had left")
        }
    }
}

fn print(context: &mut Context, outcome: &RedactOutcome, dry_run: bool) -> Result<(), Failure> {
    let output = &mut context.output;
    if outcome.is_nothing() {
        output.item("nothing was found")?;
    } else {
        if !outcome.matches.is_empty() {
            output.item(format_args!("found: {}", found(&outcome.matches)))?;
        }
        let (redact, rewrite, moved) = match dry_run {
            true => ("would redact", "rewrite", "would move"),
            false => ("redacted", "rewrote", "moved"),
        };
        output.item(format_args!(
            "{redact} {} and {rewrite} {} that lead to them; {} of {} {moved}, {} mended",
            counted(outcome.objects_found, "object"),
            outcome.objects_rewritten.saturating_sub(outcome.objects_found),
            counted(outcome.refs, "ref"),
            counted(outcome.sessions.len(), "session"),
            counted(outcome.operations, "operation"),
        ))?;
    }
    note_names(output, &outcome.named);
    if dry_run {
        for object in outcome.objects.iter().take(OBJECTS_SHOWN_MAX) {
            let line = format!("  {:8} {}", object.kind, object.id.short(SHORT_DIGITS));
            output.item(line)?;
        }
        let more = outcome.objects_found.saturating_sub(OBJECTS_SHOWN_MAX as u64);
        if more > 0 {
            output.item(format_args!("  … and {more} more"))?;
        }
        return Ok(());
    }
    for place in &outcome.left {
        output.note(format_args!("it is left in {place}"));
    }
    if outcome.left.is_empty() && !outcome.matches.is_empty() {
        output.item("searched the whole store once more: nothing is left")?;
    }
    Ok(())
}

fn print_json(
    context: &mut Context,
    outcome: &RedactOutcome,
    had_left: bool,
    dry_run: bool,
) -> Result<(), Failure> {
    let matches = outcome.matches.iter().map(|(name, found)| (name, output::count(*found)));
    let objects = outcome.objects.iter().map(|object| {
        let id = Value::from(object.id.to_string());
        output::object([("id", id), ("kind", object.kind.name().into())])
    });
    let named = outcome.named.iter().map(|name| Value::from(name.as_str()));
    let texts = |texts: &[String]| {
        Value::List(texts.iter().map(|text| Value::from(text.as_str())).collect())
    };
    context.output.record([
        ("dry_run", Value::Bool(dry_run)),
        ("cut_off", Value::Bool(had_left)),
        ("matches", Value::map(matches)),
        ("objects_found", output::count(outcome.objects_found)),
        ("objects_rewritten", output::count(outcome.objects_rewritten)),
        ("objects", Value::List(objects.collect())),
        ("sessions", texts(&outcome.sessions)),
        ("refs", output::count(outcome.refs)),
        ("operations", output::count(outcome.operations)),
        ("left", texts(&outcome.left)),
        ("named", Value::List(named.collect())),
    ])
}
