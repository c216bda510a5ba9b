//! `sapwood config`

use sapwood::codec::Value;

use crate::args::Listing;
use crate::config::{self, Origin, Setting};
use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::output;
use crate::style;

/// Show or change settings, with who says each
///
/// The environment wins over the store's config.toml, that over the user's
/// ($XDG_CONFIG_HOME/sapwood/config.toml), that over the default. A change goes
/// to the store's file, with --global to the user's; comments stay.
#[derive(clap::Args)]
#[command(name = "config")]
#[command(after_help = "\
Examples:
  sapwood config
  sapwood config session.model
  sapwood config --global user.name Ada
  sapwood config context.role-map.interviewer user
  sapwood config --unset core.durability")]
pub(crate) struct Args {
    /// Take the key out of the file
    #[arg(long, requires = "key", conflicts_with = "value")]
    unset: bool,
    /// Change the user's own file, not the store's
    #[arg(long)]
    global: bool,
    #[command(flatten)]
    listing: Listing,
    /// The key
    #[arg(value_name = "KEY")]
    key: Option<String>,
    /// What it shall be
    #[arg(value_name = "VALUE")]
    value: Option<String>,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    context.output.list(args.listing);
    match (&args.key, &args.value) {
        (Some(key), Some(value)) => {
            config::check(key, value)?;
            change(context, key, Some(value), args.global)
        }
        (Some(key), None) if args.unset => {
            config::check_key(key)?;
            change(context, key, None, args.global)
        }
        (key, _) => show(context, key.as_deref(), args.global),
    }
}

fn change(
    context: &mut Context,
    key: &str,
    value: Option<&str>,
    is_global: bool,
) -> Result<Answer, Failure> {
    let path = match is_global {
        true => config::user_file().ok_or_else(|| {
            Failure::request("there is no home directory for the user's settings")
        })?,
        false => config::store_file(&context.find()?),
    };
    config::edit(&path, key, value)?;
    if context.output.json {
        let place = output::text(Some(path.display()));
        let value = value.map_or(Value::Null, Value::from);
        let origin = Value::from(if is_global { "user" } else { "store" });
        context.output.record([
            ("key", key.into()),
            ("value", value),
            ("origin", origin),
            ("place", place),
        ])?;
    }
    Ok(Answer::Yes)
}

fn show(context: &mut Context, key: Option<&str>, is_global: bool) -> Result<Answer, Failure> {
    let settings = config::current();
    for fault in &settings.faults {
        context.output.note(format_args!("warning: {fault}"));
    }
    let settings = settings.all(is_global);
    if let Some(key) = key.filter(|key| *key != config::ROLE_MAP) {
        config::check_key(key)?;
        let Some(setting) = settings.get(key) else {
            return Ok(Answer::No);
        };
        match context.output.json {
            true => print(context, key, setting)?,
            false => context.output.item(&setting.value)?,
        }
        return Ok(Answer::Yes);
    }
    let prefix = key.unwrap_or_default();
    for (name, setting) in settings.iter().filter(|(name, _)| name.starts_with(prefix)) {
        print(context, name, setting)?;
    }
    Ok(Answer::Yes)
}

fn print(context: &mut Context, key: &str, setting: &Setting) -> Result<(), Failure> {
    let (origin, place) = match &setting.origin {
        Origin::Default => ("default", None),
        Origin::User(path) => ("user", Some(path.display().to_string())),
        Origin::Store(path) => ("store", Some(path.display().to_string())),
        Origin::Environment(name) => ("environment", Some((*name).to_owned())),
    };
    if context.output.json {
        return context.output.record([
            ("key", key.into()),
            ("value", setting.value.as_str().into()),
            ("origin", origin.into()),
            ("place", output::text(place)),
        ]);
    }
    let said = match place {
        Some(place) => format!("{origin}: {place}"),
        None => origin.to_owned(),
    };
    let key = context.output.paint(style::REF, key);
    let said = context.output.paint(style::HINT, format_args!("({said})"));
    context.output.item(format_args!("{key}={} {said}", setting.value))
}
