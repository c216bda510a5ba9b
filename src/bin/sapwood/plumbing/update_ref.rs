//! `sapwood update-ref`

mod lines;

use std::io::{self, Read};

use sapwood::id::Id;
use sapwood::repo;
use sapwood::session::drop_shortcuts;
use sapwood::store::{
    Durability, Expected, RefName, RefUpdate, RefValue, Snapshot, Transaction, resolve,
};

use crate::failure::{Answer, Failure};
use crate::open::{Context, Opened};
use crate::plumbing::ref_name;

/// Move, create or delete refs, all or none of them
///
/// NEW and OLD are any revisions. With OLD the ref must be there before, or
/// the command fails with exit code 4 and nothing happens; 64 zeros or an empty
/// OLD mean that it must not exist. A symbolic ref is followed.
///
/// --stdin reads one change a line. A name with spaces stands in double
/// quotes, with backslash escapes as in C:
///
///   update SP REF SP NEW [SP OLD]
///   create SP REF SP NEW
///   delete SP REF [SP OLD]
///   verify SP REF [SP OLD]
///
/// With -z the fields after REF end with NUL instead, nothing is quoted, and
/// an empty OLD stands for none.
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
#[command(override_usage = "\
sapwood update-ref [-m REASON] [--no-deref] REF NEW [OLD]
       sapwood update-ref [-m REASON] [--no-deref] -d REF [OLD]
       sapwood update-ref [-m REASON] [--no-deref] --stdin [-z]")]
#[command(after_help = "\
Examples:
  sapwood update-ref sessions/s1/heads/topic main~3
  sapwood update-ref -d sessions/s1/labels/draft
  echo 'create \"sessions/s1/heads/The Architect\" HEAD' |
    sapwood update-ref --stdin")]
pub(crate) struct Args {
    /// What the operations log shall say
    #[arg(short, value_name = "REASON")]
    message: Option<String>,
    /// Change a symbolic ref itself, not the ref it leads to
    #[arg(long)]
    no_deref: bool,
    /// Delete the ref
    #[arg(short)]
    delete: bool,
    /// Read changes from standard input
    #[arg(long, conflicts_with = "delete")]
    stdin: bool,
    /// With --stdin, fields end with a NUL byte
    #[arg(short = 'z', requires = "stdin")]
    null: bool,
    /// The ref, by its full name
    #[arg(value_name = "REF")]
    name: Option<String>,
    /// Where it shall point; with -d, where it must point before
    #[arg(value_name = "NEW")]
    new: Option<String>,
    /// Where it must point before
    #[arg(value_name = "OLD")]
    old: Option<String>,
}

/// One change that was asked for, with revisions not yet looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Change {
    name: String,
    /// Where it shall point; `None` only looks.
    new: Option<Target>,
    /// Where it must point before; `None` does not care.
    old: Option<Target>,
}

/// Where a ref points.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Target {
    /// To what this revision names.
    Revision(String),
    /// Nowhere: it does not exist.
    Nowhere,
}

impl Target {
    /// Reads a revision; nothing at all and the id of zeros mean nowhere.
    fn parse(text: &str) -> Target {
        let is_zero = text.len() == Id::DIGITS && text.bytes().all(|digit| digit == b'0');
        match text.is_empty() || is_zero {
            true => Target::Nowhere,
            false => Target::Revision(text.to_owned()),
        }
    }
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let words = [&args.name, &args.new, &args.old];
    let words: Vec<&str> = words.into_iter().flatten().map(String::as_str).collect();
    let changes = match (args.stdin, args.delete, words.as_slice()) {
        (true, _, []) => {
            let mut input = Vec::new();
            io::stdin().lock().read_to_end(&mut input).map_err(Failure::Input)?;
            lines::parse(&input, args.null)?
        }
        (false, true, [name, old @ ..]) if old.len() < 2 => {
            vec![lines::delete(name, old.first().copied())?]
        }
        (false, false, [name, new, old @ ..]) if old.len() < 2 => vec![Change {
            name: (*name).to_owned(),
            new: Some(Target::parse(new)),
            old: old.first().map(|old| Target::parse(old)),
        }],
        _ => {
            let text = "give REF NEW [OLD], or -d REF [OLD], or --stdin alone";
            return Err(Failure::Usage(text.to_owned()));
        }
    };
    let mut typed = vec!["update-ref"];
    typed.extend(args.stdin.then_some("--stdin"));
    typed.extend(args.delete.then_some("-d"));
    typed.extend(words);
    let operation = context.operation(args.message.as_deref(), &typed);
    let opened = context.open_for_writing()?;
    let snapshot = opened.repo.snapshot()?;
    let updates = changes
        .iter()
        .map(|change| look_up(snapshot.as_ref(), &opened, change))
        .collect::<Result<Vec<_>, _>>()?;
    opened.store.commit(Durability::Full, &mut |snapshot| {
        let mut refs = updates.clone();
        if !args.no_deref {
            for update in &mut refs {
                update.name = resolve(snapshot, &update.name)?.0;
            }
        }
        drop_shortcuts(snapshot, &mut refs)?;
        Ok(Transaction { refs, operation: Some(operation.clone()), ..Transaction::default() })
    })?;
    Ok(Answer::Yes)
}

/// Turns revisions into ids.
fn look_up(
    snapshot: &dyn Snapshot,
    opened: &Opened,
    change: &Change,
) -> Result<RefUpdate, Failure> {
    let find = |target: &Target| -> Result<Option<RefValue>, Failure> {
        Ok(match target {
            Target::Nowhere => None,
            Target::Revision(text) => {
                Some(RefValue::Id(repo::resolve(snapshot, &opened.place, text)?))
            }
        })
    };
    let name: RefName = ref_name(&change.name)?;
    let old = change.old.as_ref().map(find).transpose()?;
    let new = match &change.new {
        Some(target) => find(target)?,
        None => old.clone().flatten(),
    };
    let expected = match old {
        None => Expected::Any,
        Some(None) => Expected::Missing,
        Some(Some(value)) => Expected::Is(value),
    };
    Ok(RefUpdate { name, expected, new })
}
