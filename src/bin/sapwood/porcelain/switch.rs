//! `sapwood switch`

use sapwood::codec::Value;
use sapwood::memory::fact_from_text;
use sapwood::ops::{self, BranchOptions, Goal, SwitchOptions, SwitchOutcome};
use sapwood::session::{self, Message, View};

use crate::failure::{Answer, Failure};
use crate::open::{Context, Opened};
use crate::output;
use crate::plumbing::{SHORT_DIGITS, short};
use crate::porcelain::branch::About;
use crate::style;
use crate::target::Within;
use crate::with::{Feed, Setting};

/// Make another branch the active one; nothing is lost
///
/// A revision that ends no branch gets one. What was learned is committed to the
/// memory of the branch that is left, then HEAD moves, and the transcript keeps
/// where from and where to.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood switch main
  sapwood switch -c approach-b
  sapwood switch -c 'The Wanderer' selection --card '{\"optimizes\":\"peace\"}'
  sapwood switch selection --fact startup-idea=yes --note 'resonated'
  sapwood switch main~2
  sapwood switch -")]
pub(crate) struct Args {
    /// Make this branch, at REV or where the active one ends, and go there
    #[arg(short, long, value_name = "NAME")]
    create: Option<String>,
    #[command(flatten)]
    about: About,
    /// Go to the place before the first entry, where a conversation begins anew
    #[arg(long, conflicts_with_all = ["create", "revision"])]
    root: bool,
    /// What the transcript shall call the place
    #[arg(long, value_name = "NAME")]
    place: Option<String>,
    /// Something learned on the branch that is left; may be given again
    #[arg(long, value_name = "TEXT|KEY=VALUE")]
    fact: Vec<String>,
    /// A remark on the branch that is left; may be given again
    #[arg(long, value_name = "TEXT")]
    note: Vec<String>,
    /// A summary of the branch that is left, kept as a remark
    #[arg(long, value_name = "TEXT", conflicts_with = "with")]
    summary: Option<String>,
    #[command(flatten)]
    feed: Feed,
    /// Go even though a tool call is not answered
    #[arg(short, long)]
    force: bool,
    #[command(flatten)]
    within: Within,
    /// A branch, any other revision, or '-': the branch before the last switch
    #[arg(value_name = "REV", required_unless_present_any = ["create", "root"])]
    revision: Option<String>,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    if args.create.is_none() && (args.about.description.is_some() || args.about.card.is_some()) {
        return Err(Failure::Usage("--description and --card are for -c".to_owned()));
    }
    let opened = context.open_for_writing()?;
    let mut words = vec!["switch"];
    words.extend(args.create.iter().flat_map(|name| ["-c", name]));
    words.extend(args.root.then_some("--root"));
    words.extend(args.revision.as_deref());
    let operation = context.operation(None, &words);
    let mut options = options(&args, &opened);
    if args.feed.with.with.is_some() {
        sum_up(&args, &opened, &mut options)?;
    }
    let outcome = ops::switch(&opened.repo, &options, &operation)?;
    tell(context, &opened, &outcome)?;
    Ok(Answer::Yes)
}

fn options(args: &Args, opened: &Opened) -> SwitchOptions {
    let target = args.within.target(opened);
    let to = match (&args.create, args.revision.as_deref()) {
        (Some(name), at) => Goal::New(Box::new(BranchOptions {
            target: target.clone(),
            name: name.clone(),
            at: at.map(str::to_owned),
            description: args.about.description.clone(),
            card: args.about.card.clone(),
            ..BranchOptions::default()
        })),
        (None, Some("-")) => Goal::Previous,
        (None, Some(text)) => Goal::Revision(text.to_owned()),
        (None, None) => Goal::Root,
    };
    SwitchOptions {
        place: args.place.clone(),
        facts: args.fact.iter().map(|text| fact_from_text(text)).collect(),
        notes: args.note.iter().chain(&args.summary).cloned().collect(),
        force: args.force,
        ..SwitchOptions::to(target, to)
    }
}

/// Lets a command sum up the branch that is left.
fn sum_up(args: &Args, opened: &Opened, options: &mut SwitchOptions) -> Result<(), Failure> {
    let snapshot = opened.repo.snapshot()?;
    let session = options.target.session(&*snapshot)?;
    let view = View::of(&*snapshot, &session)?;
    let branch = view.active()?.unwrap_or_default();
    let Some(end) = view.branch(&branch)? else {
        return Err(Failure::request("nothing was said yet that could be summed up"));
    };
    let shown = session::context(&*snapshot, Some(&session), end)?;
    let messages: Vec<Message> = shown.messages.into_iter().map(|shown| shown.message).collect();
    let setting = Setting::new(opened, "switch", &session, &branch);
    options.notes.extend(args.feed.run(setting, &messages)?);
    options.seen = Some(end);
    Ok(())
}

fn tell(context: &mut Context, opened: &Opened, outcome: &SwitchOutcome) -> Result<(), Failure> {
    if context.output.json {
        return context.output.record([
            ("session", outcome.session.as_str().into()),
            ("from", outcome.from.clone().into()),
            ("to", outcome.branch.as_str().into()),
            ("entry", output::text(outcome.entry)),
            ("created", outcome.is_new.into()),
            ("memory", outcome.node.map_or(Value::Null, |node| output::text(Some(node)))),
        ]);
    }
    let name = context.output.paint(style::REF, format_args!("'{}'", outcome.branch));
    let at = match &outcome.entry {
        Some(id) => format!(" at {}", short(&*opened.repo.snapshot()?, id, SHORT_DIGITS)?),
        None => String::new(),
    };
    context.output.note(match (outcome.is_new, &outcome.from) {
        (true, _) => format!("Switched to a new branch {name}{at}"),
        (false, Some(from)) if *from == outcome.branch => format!("Already on {name}"),
        (false, _) => format!("Switched to branch {name}{at}"),
    });
    Ok(())
}
