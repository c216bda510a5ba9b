//! `sapwood ask`

use sapwood::codec::Value;
use sapwood::error::Error;
use sapwood::ops::{self, Ground};
use sapwood::session::{self, Draft, Message};

use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::output;
use crate::target::WriteTo;
use crate::with::{Feed, Setting};
use crate::words::Words;

/// Ask a command, and keep question and answer
///
/// The conversation and the new message go to the command on its standard
/// input; what it prints is the reply. Both are appended together when it has
/// ended well. If it fails, or if the branch went on meanwhile, nothing has
/// changed; a reply that came is printed all the same.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood ask -m 'What does this do?' --with 'llm'
  sapwood ask --with 'llm -m haiku' --timeout 60 < prompt.txt
  git diff | sapwood ask - --with ./review.sh --json-input
  sapwood ask -m 'quick question' --with llm --no-session")]
pub(crate) struct Args {
    #[command(flatten)]
    words: Words,
    /// '-': take the text from standard input
    #[arg(value_name = "-", value_parser = ["-"], hide_possible_values = true)]
    #[arg(conflicts_with_all = ["message", "file"])]
    dash: Option<String>,
    #[command(flatten)]
    feed: Feed,
    /// Give the command only this message, and keep nothing
    #[arg(long, conflicts_with_all = ["session", "branch", "parent"])]
    no_session: bool,
    #[command(flatten)]
    to: WriteTo,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    if args.feed.with.with.is_none() {
        return Err(Failure::Usage("--with CMD says whom to ask".to_owned()));
    }
    let question = Draft::message("user", args.words.read()?);
    if args.no_session {
        let setting = Setting { command: "ask", ..Setting::default() };
        let reply = reply(&args.feed, setting, Vec::new(), &question)?;
        match context.output.json {
            true => context.output.record([("reply", reply.into())])?,
            false => context.output.item(reply)?,
        }
        return Ok(Answer::Yes);
    }
    let opened = context.open_or_create()?;
    let snapshot = opened.repo.snapshot()?;
    let ground = Ground::find(&*snapshot, &args.to.target(&opened))?;
    let spot = &ground.spot;
    let said = match ground.follows {
        Some(end) => session::context(&*snapshot, Some(&spot.session), end)?.messages,
        None => Vec::new(),
    };
    let said = said.into_iter().map(|shown| shown.message).collect();
    let setting = Setting::new(&opened, "ask", &spot.session, &spot.branch);
    let reply = reply(&args.feed, setting, said, &question)?;
    let drafts = [question, Draft::message("assistant", reply.as_str())];
    let operation = context.operation(None, &["ask"]);
    let outcome = match ops::append(&opened.repo, &ground, &drafts, true, &operation) {
        Ok(outcome) => outcome,
        Err(error) => return Err(unkept(context, reply, &spot.branch, error)),
    };
    if !context.output.json {
        context.output.item(reply)?;
        return Ok(Answer::Yes);
    }
    context.output.record([
        ("session", outcome.session.into()),
        ("branch", outcome.branch.into()),
        ("message", output::text(outcome.entries.first())),
        ("entry", output::text(outcome.entries.last())),
        ("reply", reply.into()),
    ])?;
    Ok(Answer::Yes)
}

/// Prints a reply that could not be kept, which was paid for all the same, and says why.
fn unkept(context: &mut Context, reply: String, branch: &str, error: Error) -> Failure {
    let printed = match context.output.json {
        true => context.output.record([("reply", reply.into()), ("entry", Value::Null)]),
        false => context.output.item(reply),
    };
    match (printed.and_then(|()| context.output.flush()), error) {
        (Err(failure), _) => failure,
        (Ok(()), Error::RefConflict { .. }) => Failure::Outrun(format!(
            "branch '{branch}' went on meanwhile, so question and reply were not kept"
        )),
        (Ok(()), error) => error.into(),
    }
}

fn reply(
    feed: &Feed,
    setting: Setting<'_>,
    mut said: Vec<Message>,
    question: &Draft,
) -> Result<String, Failure> {
    said.extend(question.read());
    let reply = feed.run(setting, &said)?;
    reply.ok_or_else(|| Failure::Usage("--with CMD says whom to ask".to_owned()))
}
