//! `sapwood symbolic-ref`

use sapwood::error::Error;
use sapwood::store::{
    Durability, Expected, RefName, RefUpdate, RefValue, SYMBOLIC_DEPTH_MAX, Snapshot, Transaction,
};

use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::plumbing::ref_name;

/// Show, set or delete a ref that points to another ref
///
/// Exit code 1 if NAME is not there or not symbolic; with --quiet nothing is
/// said about it. The target may be missing: a branch that is not born yet.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood symbolic-ref HEAD
  sapwood symbolic-ref sessions/s1/HEAD 'sessions/s1/heads/The Architect'
  sapwood symbolic-ref -d sessions/s1/HEAD")]
pub(crate) struct Args {
    /// Delete it
    #[arg(short, long, conflicts_with = "target")]
    delete: bool,
    /// Print the branch or session alone, without where it stands
    #[arg(long)]
    short: bool,
    /// What the operations log shall say
    #[arg(short, value_name = "REASON")]
    message: Option<String>,
    /// The symbolic ref
    #[arg(value_name = "NAME")]
    name: String,
    /// Where it shall point
    #[arg(value_name = "TARGET")]
    target: Option<String>,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let name = ref_name(&args.name)?;
    match &args.target {
        Some(target) => {
            let to = ref_name(target)?;
            let value = RefValue::Symbolic(to.clone());
            let words = ["symbolic-ref", name.as_str(), target];
            let operation = context.operation(args.message.as_deref(), &words);
            let update = RefUpdate { name, expected: Expected::Any, new: Some(value) };
            let opened = context.open_for_writing()?;
            opened.store.commit(Durability::Full, &mut |snapshot| {
                check_head(&update.name, &to)?;
                refuse_circle(snapshot, &update.name, &to)?;
                Ok(Transaction {
                    refs: vec![update.clone()],
                    operation: Some(operation.clone()),
                    ..Transaction::default()
                })
            })?;
        }
        None if args.delete => {
            let words = ["symbolic-ref", "-d", name.as_str()];
            let operation = context.operation(args.message.as_deref(), &words);
            let opened = context.open_for_writing()?;
            let snapshot = opened.repo.snapshot()?;
            let Some(found @ RefValue::Symbolic(_)) = snapshot.reference(&name)? else {
                return refuse(context, &name);
            };
            let update = RefUpdate { name, expected: Expected::Is(found), new: None };
            opened.store.commit(Durability::Full, &mut |_| {
                Ok(Transaction {
                    refs: vec![update.clone()],
                    operation: Some(operation.clone()),
                    ..Transaction::default()
                })
            })?;
        }
        None => return show(&name, args.short, context),
    }
    Ok(Answer::Yes)
}

fn show(name: &RefName, is_short: bool, context: &mut Context) -> Result<Answer, Failure> {
    let snapshot = context.open()?.repo.snapshot()?;
    let Some(RefValue::Symbolic(target)) = snapshot.reference(name)? else {
        return refuse(context, name);
    };
    if context.output.json {
        context
            .output
            .record([("name", name.as_str().into()), ("target", target.as_str().into())])?;
    } else if is_short {
        context.output.item(shorten(&target))?;
    } else {
        context.output.item(&target)?;
    }
    Ok(Answer::Yes)
}

fn refuse(context: &Context, name: &RefName) -> Result<Answer, Failure> {
    if context.output.is_quiet() {
        return Ok(Answer::No);
    }
    Err(Failure::Missing(format!("ref '{name}' is not a symbolic ref")))
}

/// Gives the branch of a branch's ref, the session of another, or the whole name.
fn shorten(target: &RefName) -> &str {
    match target.session() {
        Some((session, rest)) => rest.strip_prefix("heads/").unwrap_or(session),
        None => target.as_str().strip_prefix("sessions/").unwrap_or(target.as_str()),
    }
}

/// Refuses a HEAD that would lead where no HEAD does: the store's leads to a session's, and that to
/// one of its branches.
fn check_head(name: &RefName, to: &RefName) -> Result<(), Error> {
    let target = to.session();
    if *name == RefName::head() {
        return match target {
            Some((_, "HEAD")) => Ok(()),
            _ => Err(Error::Refused {
                why: format!("HEAD can't lead to '{to}': it leads to a session's HEAD"),
                hint: "'sapwood session use NAME' chooses one, or give sessions/<id>/HEAD",
            }),
        };
    }
    match (name.session(), target) {
        (Some((session, "HEAD")), Some((owner, rest)))
            if owner == session && rest.starts_with("heads/") =>
        {
            Ok(())
        }
        (Some((_, "HEAD")), _) => Err(Error::Refused {
            why: format!("'{name}' can't lead to '{to}': it leads to a branch of its session"),
            hint: "give sessions/<id>/heads/<branch>",
        }),
        _ => Ok(()),
    }
}

/// Refuses a ref that would lead to itself, or through too many others: every listing would stumble
/// over it.
fn refuse_circle(snapshot: &dyn Snapshot, name: &RefName, to: &RefName) -> Result<(), Error> {
    let mut next = to.clone();
    for _ in 1..SYMBOLIC_DEPTH_MAX {
        if next == *name {
            break;
        }
        match snapshot.reference(&next)? {
            Some(RefValue::Symbolic(further)) => next = further,
            _ => return Ok(()),
        }
    }
    Err(Error::SymbolicDepth { name: name.to_string(), depth_max: SYMBOLIC_DEPTH_MAX })
}
