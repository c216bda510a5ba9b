//! `sapwood new`

use std::io::Read;
use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use sapwood::codec::json;
use sapwood::ops::{self, Begin, CreateOptions};

use crate::config;
use crate::failure::{Answer, Failure};
use crate::open::{self, Context};
use crate::output;
use crate::target::Within;

/// Make a session, and print its id
///
/// With --from it begins with all that was said up to REV, or, for '-', with a
/// message from standard input: a handoff. Either way it keeps where it came
/// from. It becomes the current session.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood new --name 'fix the parser'
  sapwood new --model claude-opus-4 --provider anthropic
  sapwood new --from main~3 --no-use
  sapwood handoff 'write the tests' | sapwood new --from -")]
pub(crate) struct Args {
    /// What to call it
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    name: Option<String>,
    /// The directory it works in, else this one
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Who serves the model, else session.provider of the settings
    #[arg(long, value_name = "PROVIDER")]
    provider: Option<String>,
    /// The model, else session.model of the settings
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Anything else to keep with it: a JSON object
    #[arg(long, value_name = "JSON")]
    meta: Option<String>,
    /// Begin at an entry, or with a message from standard input
    #[arg(long, value_name = "REV|-")]
    from: Option<String>,
    /// Leave the current session the current one
    #[arg(long)]
    no_use: bool,
    /// Begin there even though a tool call is not answered
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    within: Within,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let meta = args.meta.as_deref().map(|text| json::parse(text.as_bytes())).transpose()?;
    if meta.as_ref().is_some_and(|meta| meta.as_map().is_none()) {
        return Err(Failure::request("--meta is not a JSON object"));
    }
    let begin = match args.from.as_deref() {
        None => Begin::Empty,
        Some("-") => Begin::Handoff(handed_over()?),
        Some(revision) => Begin::At(revision.to_owned()),
    };
    // What begins at an entry has the directory and the model of where it comes from.
    let is_blank = !matches!(begin, Begin::At(_));
    let cwd = args.cwd.or_else(|| is_blank.then(|| PathBuf::from(".")));
    let setting = |key: &str| config::text(key).filter(|_| is_blank);
    let opened = context.open_or_create()?;
    let words = [vec!["new"], args.from.iter().flat_map(|from| ["--from", from]).collect()];
    let options = CreateOptions {
        target: args.within.target(&opened),
        name: args.name,
        cwd: cwd.as_deref().map(open::directory).transpose()?,
        provider: args.provider.or_else(|| setting("session.provider")),
        model: args.model.or_else(|| setting("session.model")),
        meta,
        begin,
        use_it: !args.no_use,
        force: args.force,
    };
    let operation = context.operation(None, &words.concat());
    let made = ops::create(&opened.repo, &options, &operation)?;
    if context.output.json {
        context.output.record([
            ("session", made.session.into()),
            ("parent", output::text(made.parent)),
            ("entry", output::text(made.entry)),
        ])?;
    } else {
        context.output.item(made.session)?;
    }
    Ok(Answer::Yes)
}

/// Reads the message that another session hands over.
fn handed_over() -> Result<String, Failure> {
    let mut text = String::new();
    std::io::stdin().lock().read_to_string(&mut text).map_err(Failure::Input)?;
    match text.trim_end() {
        "" => Err(Failure::request("standard input is empty: there is nothing to hand over")),
        text => Ok(text.to_owned()),
    }
}
