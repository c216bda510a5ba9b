//! `sapwood dedup`

use std::path::{Path, PathBuf};

use sapwood::codec::Value;
use sapwood::ops::{self, Cause, Sharing, Survey, SurveyOptions, Waste};
use sapwood::store::local::Copies;

use crate::failure::{Answer, Failure};
use crate::open::{self, Context};
use crate::output;
use crate::plumbing::human;
use crate::progress::Progress;
use crate::shown;

/// Drop what is stored twice, or say what a folder would become
///
/// Alone: drops the copies of objects that stand in several containers of the
/// store, and says what sharing saves. With PATH, nothing is kept and no store
/// is needed: the files are imported into a scratch store in the directory for
/// temporary files, which is removed; what it took is told, and what the files
/// have more than once.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood dedup
  sapwood dedup --dry-run
  sapwood dedup ~/.claude/projects
  sapwood dedup --json ~/.codex/sessions")]
pub(crate) struct Args {
    /// Files and folders to look at, instead of the store
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Change nothing, and say what would be dropped
    #[arg(short = 'n', long, conflicts_with = "paths")]
    dry_run: bool,
    /// What the files are, instead of looking; see 'sapwood import'
    #[arg(long, value_name = "NAME", requires = "paths")]
    dialect: Option<String>,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    match args.paths.is_empty() {
        true => dedup(&args, context),
        false => survey(args, context),
    }
}

/// Drops what the store has twice.
fn dedup(args: &Args, context: &mut Context) -> Result<Answer, Failure> {
    let opened = match args.dry_run {
        true => context.open()?,
        false => context.open_for_writing()?,
    };
    let local = opened.local()?;
    let copies = match args.dry_run {
        true => local.copies()?,
        false => local.drop_copies()?,
    };
    let progress = Progress::new("Counting", context.output.is_quiet());
    let snapshot = opened.repo.snapshot()?;
    let sharing = ops::sharing(&*snapshot, &mut |done, total| progress.tell(done, total))?;
    progress.clear();
    let stored = local.bytes()?;
    if context.output.json {
        return print_store_json(context, &copies, &sharing, stored);
    }
    let output = &mut context.output;
    match (copies.count(), args.dry_run) {
        (0, _) => output.item("No object is stored twice")?,
        (count, dry_run) => output.item(format_args!(
            "{} {count} copies ({} in the journal, {} loose, {} in packs): {}",
            if dry_run { "Would drop" } else { "Dropped" },
            copies.journal,
            copies.loose,
            copies.packed,
            human(copies.bytes),
        ))?,
    }
    output.item(format_args!(
        "{} sessions use {} entries ({} different) and {} long strings ({} different)",
        sharing.sessions,
        sharing.entries,
        sharing.entries_unique,
        sharing.strings,
        sharing.strings_unique,
    ))?;
    output.item(format_args!(
        "{} if each use were a copy, {} on disk{}",
        human(sharing.bytes),
        human(stored),
        share(stored, sharing.bytes),
    ))?;
    Ok(Answer::Yes)
}

fn print_store_json(
    context: &mut Context,
    copies: &Copies,
    sharing: &Sharing,
    stored: u64,
) -> Result<Answer, Failure> {
    context.output.record([
        ("copies", output::count(copies.count())),
        ("copies_journal", output::count(copies.journal)),
        ("copies_loose", output::count(copies.loose)),
        ("copies_packed", output::count(copies.packed)),
        ("copies_bytes", output::count(copies.bytes)),
        ("sessions", output::count(sharing.sessions)),
        ("entries", output::count(sharing.entries)),
        ("entries_unique", output::count(sharing.entries_unique)),
        ("strings", output::count(sharing.strings)),
        ("strings_unique", output::count(sharing.strings_unique)),
        ("logical_bytes", output::count(sharing.bytes)),
        ("stored_bytes", output::count(stored)),
    ])?;
    Ok(Answer::Yes)
}

/// Says what files would become.
fn survey(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let progress = Progress::new("Looking", context.output.is_quiet());
    let options = SurveyOptions { dialect: args.dialect, scratch: open::temporary_directory() };
    let found = ops::find_files(&args.paths);
    let survey = ops::survey(found, &options, &mut |done, total| progress.tell_bytes(done, total))?;
    progress.clear();
    match context.output.json {
        true => print_survey_json(context, &survey)?,
        false => print_survey(context, &survey)?,
    }
    Ok(if survey.failed == 0 && survey.files > 0 { Answer::Yes } else { Answer::No })
}

fn print_survey(context: &mut Context, survey: &Survey) -> Result<(), Failure> {
    let output = &mut context.output;
    if survey.failed > 0 {
        output.note(format_args!("{} files can't be read", survey.failed));
    }
    if survey.unknown > 0 {
        output.note(format_args!("{} files are no session that is known", survey.unknown));
    }
    output.item(format_args!(
        "{} files, {}, {} lines ({} different)",
        survey.files,
        human(survey.bytes),
        survey.lines,
        survey.lines_unique,
    ))?;
    output.item(format_args!(
        "{} strings of 1 KiB and more ({} different); {} images, {} ({} different)",
        survey.strings,
        survey.strings_unique,
        survey.images,
        human(survey.image_bytes),
        survey.images_unique,
    ))?;
    let stored = survey.stored_bytes;
    let share = share(stored, survey.bytes);
    output.item(format_args!("In a store they would take {}{share}", human(stored)))?;
    if survey.waste.is_empty() {
        return Ok(());
    }
    output.item("\nWhat they have more than once, before compression:")?;
    let common = common_folder(&survey.waste);
    for waste in &survey.waste {
        let line = format!("  {:>10}  {}", human(waste.bytes), told(&waste.cause, &common));
        let line = match output.is_terminal() {
            true => shown::clipped(&line, shown::COLUMNS),
            false => shown::line(&line).into_owned(),
        };
        output.item(line)?;
    }
    Ok(())
}

/// Says in words why bytes say nothing new.
fn told(cause: &Cause, common: &Path) -> String {
    let name = |path: &Path| path.strip_prefix(common).unwrap_or(path).display().to_string();
    match cause {
        Cause::File { file, whole, is_same: false } => {
            format!("file saved again: {} is the begin of {}", name(file), name(whole))
        }
        Cause::File { file, whole, is_same: true } => {
            format!("file saved again: {} is the same as {}", name(file), name(whole))
        }
        Cause::Lines { lines, first, again } if first == again => {
            format!("{lines} lines that stand in {} twice", name(first))
        }
        Cause::Lines { lines, first, again } => {
            format!("{lines} lines of {} that are in {} too", name(first), name(again))
        }
        Cause::Text { uses, bytes, words } => {
            format!("string of {} used {uses} times: {words}…", human(*bytes))
        }
        Cause::Image { uses, bytes } => {
            format!("image of {} used {uses} times", human(*bytes))
        }
    }
}

/// Gives the folder that all files are in.
fn common_folder(waste: &[Waste]) -> PathBuf {
    let mut common: Option<PathBuf> = None;
    for path in waste.iter().flat_map(|waste| files(&waste.cause)) {
        let folder = path.parent().unwrap_or(path);
        let ancestors = common.as_deref().unwrap_or(folder).ancestors();
        common = ancestors.into_iter().find(|above| folder.starts_with(above)).map(Path::to_owned);
    }
    common.unwrap_or_default()
}

/// Lists the files that a cause tells of.
fn files(cause: &Cause) -> Vec<&PathBuf> {
    match cause {
        Cause::File { file, whole, .. } => vec![file, whole],
        Cause::Lines { first, again, .. } => vec![first, again],
        Cause::Text { .. } | Cause::Image { .. } => Vec::new(),
    }
}

fn share(stored: u64, whole: u64) -> String {
    match whole {
        0 => String::new(),
        whole => format!(" ({:.1} %)", stored as f64 * 100.0 / whole as f64),
    }
}

fn print_survey_json(context: &mut Context, survey: &Survey) -> Result<(), Failure> {
    let waste = survey.waste.iter().map(|waste| {
        let path = |path: &Path| Value::from(path.to_string_lossy().into_owned());
        let mut fields = vec![("bytes", output::count(waste.bytes))];
        fields.extend(match &waste.cause {
            Cause::File { file, whole, is_same } => vec![
                ("cause", Value::from(if *is_same { "same-file" } else { "begin-of-file" })),
                ("file", path(file)),
                ("whole", path(whole)),
            ],
            Cause::Lines { lines, first, again } => vec![
                ("cause", Value::from("lines")),
                ("lines", output::count(*lines)),
                ("first", path(first)),
                ("again", path(again)),
            ],
            Cause::Text { uses, bytes, words } => vec![
                ("cause", Value::from("string")),
                ("uses", output::count(*uses)),
                ("length", output::count(*bytes)),
                ("words", Value::from(words.as_str())),
            ],
            Cause::Image { uses, bytes } => vec![
                ("cause", Value::from("image")),
                ("uses", output::count(*uses)),
                ("length", output::count(*bytes)),
            ],
        });
        output::object(fields)
    });
    context.output.record([
        ("files", output::count(survey.files)),
        ("unknown", output::count(survey.unknown)),
        ("failed", output::count(survey.failed)),
        ("bytes", output::count(survey.bytes)),
        ("lines", output::count(survey.lines)),
        ("lines_unique", output::count(survey.lines_unique)),
        ("strings", output::count(survey.strings)),
        ("strings_unique", output::count(survey.strings_unique)),
        ("images", output::count(survey.images)),
        ("image_bytes", output::count(survey.image_bytes)),
        ("images_unique", output::count(survey.images_unique)),
        ("stored_bytes", output::count(survey.stored_bytes)),
        ("waste", Value::List(waste.collect())),
    ])
}
