//! `sapwood reconfigure`

use sapwood::codec::Value;
use sapwood::ops;
use sapwood::session::Settings;

use super::vary::Vary;
use crate::failure::{Answer, Failure};
use crate::open::Context;

/// Go on with another model or other settings, on a branch of its own
///
/// The branch begins at the end of this one, with an entry that says what is
/// new; old and new are kept with the branch. With --with the conversation is
/// replayed: the command gets it and what it prints is appended as the reply.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood reconfigure --model anthropic/claude-haiku-4
  sapwood reconfigure --thinking high --as think-harder
  sapwood reconfigure --model opus --tools read,grep --fork")]
pub(crate) struct Args {
    /// The model, also as provider/model
    #[arg(long, value_name = "MODEL", required_unless_present_any = SETTINGS)]
    model: Option<String>,
    /// Who serves it
    #[arg(long, value_name = "PROVIDER")]
    provider: Option<String>,
    /// How much it is to think
    #[arg(long, value_name = "LEVEL")]
    thinking: Option<String>,
    /// The tools it has, with commas between them
    #[arg(long, value_name = "TOOLS", value_delimiter = ',')]
    tools: Vec<String>,
    /// Where it works
    #[arg(long, value_name = "NAME")]
    environment: Option<String>,
    #[command(flatten)]
    vary: Vary,
}

const SETTINGS: [&str; 4] = ["provider", "thinking", "tools", "environment"];

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let given = [&args.model, &args.provider, &args.thinking, &args.environment];
    let given = given.into_iter().flatten().chain(&args.tools);
    if given.into_iter().any(|value| value.trim().is_empty()) {
        return Err(Failure::request("a setting can't be empty; leave out what stays as it is"));
    }
    let tools = match args.tools.as_slice() {
        [] => None,
        [one] => Some(Value::from(one.as_str())),
        many => Some(Value::List(many.iter().map(|tool| tool.as_str().into()).collect())),
    };
    let new = Settings {
        model: args.model.clone(),
        provider: args.provider,
        thinking: args.thinking,
        tools,
        environment: args.environment.map(Value::from),
    };
    let opened = context.open_for_writing()?;
    let target = args.vary.to.target(&opened);
    let snapshot = opened.repo.snapshot()?;
    let variation = ops::reconfigure(&*snapshot, &target, &new, args.vary.force)?;
    let mut words = vec!["reconfigure"];
    words.extend(args.model.as_deref());
    let operation = context.operation(None, &words);
    args.vary.write(variation, &opened, context, &operation)
}
