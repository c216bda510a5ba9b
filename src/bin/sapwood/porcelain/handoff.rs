//! `sapwood handoff`

use sapwood::ops::{self, HandoffOptions};
use sapwood::session::{FIRST_BRANCH, View};

use crate::config;
use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::target::Within;
use crate::with::{Setting, With};

/// Write what somebody must know to go on with a goal in a new session
///
/// Markdown: the goal, what is known, what was decided, the files that tools
/// were given, the passages of the path that have most to do with the goal, and
/// the last exchanges. No model is asked: the same session and goal give the
/// same text. --with pipes it through a command and prints what that prints.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood handoff 'port the parser to Rust'
  sapwood handoff 'fix the bug' main~20 --budget 2000
  sapwood handoff 'write the tests' | sapwood new --from -")]
pub(crate) struct Args {
    /// How many tokens it may have, at four characters each
    #[arg(long, value_name = "TOKENS", default_value_t = 4000)]
    budget: u32,
    #[command(flatten)]
    with: With,
    #[command(flatten)]
    within: Within,
    /// What is to be done
    #[arg(value_name = "GOAL")]
    goal: String,
    /// The entry; else HEAD
    #[arg(value_name = "REV")]
    revision: Option<String>,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    if args.goal.trim().is_empty() {
        return Err(Failure::request("a handoff needs a goal"));
    }
    let opened = context.open()?;
    let snapshot = opened.repo.snapshot()?;
    let options = HandoffOptions {
        target: args.within.target(&opened),
        revision: args.revision,
        goal: args.goal.clone(),
        budget_tokens: args.budget as usize,
        roles: config::role_map(&[])?,
    };
    let outcome = ops::handoff(&*snapshot, &options)?;
    let branch = View::of(&*snapshot, &outcome.session)?.active()?;
    let branch = branch.as_deref().unwrap_or(FIRST_BRANCH);
    let setting = Setting::new(&opened, "handoff", &outcome.session, branch);
    let answer = args.with.run(setting, outcome.markdown.as_str())?;
    let mut text = answer.unwrap_or(outcome.markdown);
    if context.output.json {
        context.output.record([
            ("session", outcome.session.into()),
            ("entry", outcome.entry.to_string().into()),
            ("goal", args.goal.into()),
            ("markdown", text.into()),
        ])?;
    } else {
        text.push_str(if text.ends_with('\n') { "" } else { "\n" });
        context.output.text(&text)?;
    }
    Ok(Answer::Yes)
}
