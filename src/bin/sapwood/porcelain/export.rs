//! `sapwood export`

mod filter;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use sapwood::dialect;
use sapwood::error::Error;
use sapwood::id::Id;
use sapwood::ops::{self, Scope, TrainingForm, TrainingOptions, TrainingPart};

use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::plumbing::counted;
use crate::reader::Reader;
use crate::target::Within;

/// The forms that are read by people.
const FOR_PEOPLE: [&str; 2] = ["markdown", "html"];

/// The form that is a directory.
const MEMORY_TREE: &str = "memory-tree";

/// How the name of a file ends that is not written whole yet.
const UNFINISHED: &str = ".part";

/// Write a session for others to read
///
/// A session that was imported comes back byte for byte, and behind it what was
/// added since. With REV, the path to it; with --subtree, also what hangs on
/// it. --to takes the dialects pi, claude, codex, rollouts, dash, chat (and
/// copilot, gemini, opencode for what came from them), memory-tree (a folder),
/// markdown and html, and for training openai-jsonl, sharegpt, sft, dpo and
/// kto. A session that came from no file is written in pi's.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood export > session.jsonl
  sapwood export -s s1 main~3 --to claude -o session.jsonl
  sapwood export --subtree idea --to pi
  sapwood export --to html -o session.html
  sapwood export --all --to sft --split 0.9 --parquet -o data/
  sapwood export --all --to dpo --branch-reason retry")]
pub(crate) struct Args {
    /// Where the path ends; else the whole session
    #[arg(value_name = "REV", conflicts_with = "subtree")]
    revision: Option<String>,
    /// The path to REV, and all that hangs on it
    #[arg(long, value_name = "REV")]
    subtree: Option<String>,
    /// The dialect or form; else the dialect it came from
    #[arg(long, value_name = "DIALECT")]
    to: Option<String>,
    /// The file to write; a folder for --all and --split, and with --subtree for
    /// one file for each path; else standard output
    #[arg(short, long, value_name = "FILE|DIR")]
    output: Option<PathBuf>,
    /// All sessions of the store
    #[arg(short, long, conflicts_with_all = ["session", "revision", "subtree"])]
    all: bool,
    #[command(flatten)]
    training: filter::Filter,
    #[command(flatten)]
    within: Within,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let reader = Reader::open(context, &args.within)?;
    let form = args.to.as_deref().and_then(TrainingForm::parse);
    args.check(form)?;
    let sessions = args.sessions(&reader)?;
    if let Some(form) = form {
        return args.train(form, &reader, &sessions, context);
    }
    if args.to.as_deref() == Some(MEMORY_TREE) {
        return args.plant(&reader, &sessions);
    }
    if let (true, Some(folder)) = (args.all, &args.output) {
        std::fs::create_dir_all(folder).map_err(Error::io("make", folder))?;
        for (session, scope) in &sessions {
            let name = format!("{session}.{}", args.ending());
            write_file(&folder.join(name), |out| args.write(&reader, session, *scope, out))?;
        }
        let count = counted(sessions.len(), "session");
        context.output.note(format_args!("{count} in {}", folder.display()));
        return Ok(Answer::Yes);
    }
    if let ([(session, Scope::Subtree(root))], Some(folder)) = (&sessions[..], &args.output)
        && (folder.is_dir() || folder.as_os_str().as_encoded_bytes().ends_with(b"/"))
    {
        return args.paths(&reader, session, *root, folder, context);
    }
    for (session, scope) in &sessions {
        match &args.output {
            Some(path) => write_file(path, |out| args.write(&reader, session, *scope, out))?,
            None => args.write(&reader, session, *scope, &mut Plain(context))?,
        }
    }
    Ok(Answer::Yes)
}

impl Args {
    /// Refuses what is not known, and flags that go with other forms.
    fn check(&self, form: Option<TrainingForm>) -> Result<(), Failure> {
        if let Some(name) = &self.to
            && form.is_none()
            && !FOR_PEOPLE.contains(&name.as_str())
            && name != MEMORY_TREE
            && dialect::named(name).is_none()
        {
            let dialects = dialect::dialects().iter().map(|dialect| dialect.name());
            let forms = TrainingForm::ALL.into_iter().map(TrainingForm::name);
            let known: Vec<&str> =
                dialects.chain(FOR_PEOPLE).chain([MEMORY_TREE]).chain(forms).collect();
            return Err(Failure::Request {
                message: format!("there is no form '{}'", name.escape_debug()),
                hint: Some(format!("take one of {}", known.join(", "))),
            });
        }
        if form.is_none() && self.training.is_given() {
            let forms: Vec<&str> = TrainingForm::ALL.into_iter().map(TrainingForm::name).collect();
            return Err(Failure::Usage(format!(
                "filters, --split and --parquet need --to {}",
                forms.join(", ")
            )));
        }
        if self.all && form.is_none() && self.output.is_none() {
            return Err(Failure::Usage("--all needs a folder to write to: -o DIR".to_owned()));
        }
        Ok(())
    }

    /// Writes a file for each path that leads through an entry.
    fn paths(
        &self,
        reader: &Reader,
        session: &str,
        root: Id,
        folder: &Path,
        context: &mut Context,
    ) -> Result<Answer, Failure> {
        std::fs::create_dir_all(folder).map_err(Error::io("make", folder))?;
        let paths = ops::export_paths(&*reader.snapshot, session, root)?;
        for (place, (branch, end)) in paths.iter().enumerate() {
            let is_plain = |letter: char| letter.is_alphanumeric() || "-_.".contains(letter);
            let branch: String =
                branch.chars().map(|it| if is_plain(it) { it } else { '-' }).collect();
            let name = format!("{session}-{}-{branch}.{}", place + 1, self.ending());
            let scope = Scope::Path(*end);
            write_file(&folder.join(name), |out| self.write(reader, session, scope, out))?;
        }
        context.output.note(format_args!("{} paths in {}", paths.len(), folder.display()));
        Ok(Answer::Yes)
    }

    /// Writes a memory tree, which is a directory.
    fn plant(&self, reader: &Reader, sessions: &[(String, Scope)]) -> Result<Answer, Failure> {
        let Some(folder) = &self.output else {
            return Err(Failure::Usage("--to memory-tree needs a folder: -o DIR".to_owned()));
        };
        for (session, _) in sessions {
            let folder = if self.all { folder.join(session) } else { folder.clone() };
            ops::export_memory_tree(&reader.opened.repo, session, &folder)?;
        }
        Ok(Answer::Yes)
    }

    fn sessions(&self, reader: &Reader) -> Result<Vec<(String, Scope)>, Failure> {
        if self.all {
            let all = ops::session_ids(&*reader.snapshot)?;
            return Ok(all.into_iter().map(|session| (session, Scope::Session)).collect());
        }
        let scope = match (&self.revision, &self.subtree) {
            (Some(revision), _) => Scope::Path(reader.resolve(revision)?),
            (None, Some(revision)) => Scope::Subtree(reader.resolve(revision)?),
            (None, None) => Scope::Session,
        };
        Ok(vec![(reader.session()?, scope)])
    }

    /// Gives the ending of the files that are written.
    fn ending(&self) -> &'static str {
        match self.to.as_deref() {
            Some("markdown") => "md",
            Some("html") => "html",
            _ if self.training.parquet => "parquet",
            _ => "jsonl",
        }
    }

    fn write(
        &self,
        reader: &Reader,
        session: &str,
        scope: Scope,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        let snapshot = &*reader.snapshot;
        match self.to.as_deref() {
            Some("markdown") => ops::markdown(snapshot, session, scope, out)?,
            Some("html") => ops::html(snapshot, session, scope, out)?,
            to => ops::export(&reader.opened.repo, session, scope, to, out)?,
        }
        Ok(())
    }

    /// Writes training data, in two parts if that is wanted.
    fn train(
        &self,
        form: TrainingForm,
        reader: &Reader,
        sessions: &[(String, Scope)],
        context: &mut Context,
    ) -> Result<Answer, Failure> {
        let options = self.training.options(form)?;
        let Some(split) = self.training.split else {
            let rows = match &self.output {
                Some(path) => {
                    let mut rows = 0;
                    write_file(path, |out| {
                        rows = self.rows(reader, sessions, &options, out)?;
                        Ok(())
                    })?;
                    rows
                }
                None => self.rows(reader, sessions, &options, &mut Plain(context))?,
            };
            context.output.note(format_args!("{rows} rows"));
            return Ok(if rows == 0 { Answer::No } else { Answer::Yes });
        };
        let Some(folder) = &self.output else {
            return Err(Failure::Usage("--split needs a folder to write to: -o DIR".to_owned()));
        };
        std::fs::create_dir_all(folder).map_err(Error::io("make", folder))?;
        let mut all = 0;
        for (part, name) in [(TrainingPart::Train, "train"), (TrainingPart::Test, "test")] {
            let mut taken = Vec::new();
            for (session, scope) in sessions {
                if ops::training_part(&*reader.snapshot, session, split)? == part {
                    taken.push((session.clone(), *scope));
                }
            }
            let path = folder.join(format!("{name}.{}", self.ending()));
            let mut rows = 0;
            write_file(&path, |out| {
                rows = self.rows(reader, &taken, &options, out)?;
                Ok(())
            })?;
            context.output.note(format_args!("{}: {rows} rows", path.display()));
            all += rows;
        }
        Ok(if all == 0 { Answer::No } else { Answer::Yes })
    }

    fn rows(
        &self,
        reader: &Reader,
        sessions: &[(String, Scope)],
        options: &TrainingOptions,
        out: &mut dyn Write,
    ) -> Result<u64, Failure> {
        let write = match self.training.parquet {
            true => ops::training_parquet,
            false => ops::training,
        };
        Ok(write(&*reader.snapshot, sessions, options, out)?.rows)
    }
}

/// Writes a file that appears under its name when it is whole. Links are followed; what is there
/// and no plain file, such as a device, is written to as it is.
pub(super) fn write_file(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let path = &std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let there = std::fs::metadata(path).ok();
    if there.as_ref().is_some_and(|there| !there.is_file()) {
        let file = File::options().write(true).open(path).map_err(Error::io("write", path))?;
        let mut out = BufWriter::new(file);
        write(&mut out)?;
        return Ok(out.flush().map_err(Error::io("write", path))?);
    }
    let mut aside = path.as_os_str().to_owned();
    aside.push(format!(".{:08x}{UNFINISHED}", std::process::id()));
    let aside = PathBuf::from(aside);
    // One that was killed, and had the same number: in a container, that is nearly every one.
    let _ = std::fs::remove_file(&aside);
    let file = File::create_new(&aside).map_err(Error::io("write", path))?;
    let mut out = BufWriter::new(file);
    let written = write(&mut out).and_then(|()| {
        out.flush().map_err(Error::io("write", path))?;
        if let Some(there) = there {
            std::fs::set_permissions(&aside, there.permissions())
                .map_err(Error::io("write", path))?;
        }
        std::fs::rename(&aside, path).map_err(Error::io("write", path))?;
        Ok(())
    });
    if written.is_err() {
        let _ = std::fs::remove_file(&aside);
    }
    written
}

/// Standard output, for what is written as it is.
pub(super) struct Plain<'a>(pub(super) &'a mut Context);

impl Write for Plain<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.output.bytes(bytes) {
            Ok(()) => Ok(bytes.len()),
            Err(Failure::Output(error)) => Err(error),
            Err(_) => Err(io::ErrorKind::Other.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
