//! The arguments: what every command takes, and which commands there are.
//!
//! Help, man pages and completions are made from this definition; docs/CLI.md is held against it
//! by the test below. A run defines the one command that is asked for: all of them take longer to
//! define than most commands take to run.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use crate::config;
use crate::failure::{self, Answer, Failure};
use crate::open::{self, Choice, Context};
use crate::output::Output;
use crate::plumbing::*;
use crate::porcelain::*;

/// A content-addressable object store for agent conversations and memory
#[derive(Parser)]
#[command(
    name = "sapwood",
    version,
    max_term_width = 80,
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "\
The store is the one that --store names, else $SAPWOOD_DIR, else the nearest
.sapwood here or above, else ~/.sapwood, which is created on first write.

Exit codes: 0 done, 1 no or missing, 2 usage, 3 bad request, 4 lost a race,
5 lock timeout, 6 corruption, 7 input or output.

Examples:
  sapwood import ~/.claude/projects
  sapwood new --name 'fix the parser'
  sapwood append -m 'Where does it fail?'
  echo '{\"role\":\"user\",\"content\":\"hello\"}' | sapwood append --stdin
  sapwood switch -c idea
  sapwood log --graph --all --oneline
  sapwood context --memory"
)]
struct Root {
    #[command(flatten)]
    global: Global,
    #[command(flatten)]
    choice: Choice,
}

/// What was asked for.
pub(crate) struct Arguments {
    global: Global,
    choice: Choice,
    command: Command,
}

/// What every command takes.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Use the store at this path
    #[arg(long, value_name = "PATH", global = true)]
    pub(crate) store: Option<PathBuf>,
    /// Run as if started in this directory; only before the command, each seen
    /// from the one before
    #[arg(short = 'C', value_name = "DIR")]
    pub(crate) start_in: Vec<PathBuf>,
    /// Print JSON, also for errors
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Colour the output; auto: on a terminal, unless NO_COLOR is set
    #[arg(long, value_name = "WHEN", global = true, default_value = "auto")]
    pub(crate) color: Color,
    /// Print nothing that was not asked for
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
}

/// When to colour the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

/// What a listing command takes.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct Listing {
    /// End each item with a NUL byte instead of a newline
    #[arg(short = 'z')]
    pub(crate) null: bool,
}

macro_rules! commands {
    ($($(#[$attribute:meta])* $variant:ident => $module:ident,)*) => {
        /// All commands.
        #[derive(Subcommand)]
        pub(crate) enum Command {
            $($(#[$attribute])* $variant($module::Args),)*
        }

        /// Defines the command of this name, if there is one.
        fn define(name: &str) -> Option<clap::Command> {
            $(if is_named(stringify!($variant), name) {
                // One name, for as long as the process runs.
                let command = clap::Command::new(&*name.to_owned().leak());
                return Some(<$module::Args as Args>::augment_args(command));
            })*
            None
        }

        fn dispatch(command: Command, context: &mut Context) -> Result<Answer, Failure> {
            match command {
                $(Command::$variant(args) => $module::run(args, context),)*
            }
        }
    };
}

commands! {
    Init => init,
    Import => import,
    Export => export,
    Dedup => dedup,
    Bundle => bundle,
    Clone => clone,
    Fetch => fetch,
    Push => push,
    Backup => backup,
    Restore => restore,
    New => new,
    Sessions => sessions,
    Session => session,
    Status => status,
    Config => config_command,
    Append => append,
    Ask => ask,
    Log => log,
    Show => show,
    Children => children,
    Parents => parents,
    Transcript => transcript,
    Tree => tree,
    Grep => grep,
    Stats => stats,
    Context => context,
    Handoff => handoff,
    Branch => branch,
    Switch => switch,
    Fork => fork,
    Edit => edit,
    Retry => retry,
    Reconfigure => reconfigure,
    Pop => pop,
    Compact => compact,
    Uncompact => uncompact,
    Label => label,
    Compare => compare,
    Diff => diff,
    Merge => merge,
    Rebase => rebase,
    CherryPick => cherry_pick,
    Reset => reset,
    Undo => undo,
    Redo => redo,
    Memory => memory,
    Attach => attach,
    Attachments => attachments,
    Redact => redact,
    Forget => forget,
    Expire => expire,
    HashObject => hash_object,
    CatFile => cat_file,
    RevParse => rev_parse,
    RevList => rev_list,
    MergeBase => merge_base,
    UpdateRef => update_ref,
    SymbolicRef => symbolic_ref,
    ForEachRef => for_each_ref,
    PackRefs => pack_refs,
    Reflog => reflog,
    Op => op,
    Gc => gc,
    CountObjects => count_objects,
    Repack => repack,
    Unpack => unpack,
    VerifyPack => verify_pack,
    Fsck => fsck,
    Help => help,
    Completions => completions,
    Man => man,
}

/// Defines all commands.
pub(crate) fn definition() -> clap::Command {
    Command::augment_subcommands(Root::command())
}

/// Reads the arguments of this process.
///
/// Only the first command that is named is defined. Where that says no, all are, and they say why:
/// what one command takes, it takes beside the others too.
pub(crate) fn parse(words: &[OsString]) -> Result<Arguments, clap::Error> {
    let named = words.iter().skip(1).filter_map(|word| word.to_str()).find_map(define);
    let parsed = read(Root::command().subcommands(named), words);
    match parsed {
        Err(error) if error.kind() != ErrorKind::DisplayVersion => read(definition(), words),
        parsed => parsed,
    }
}

fn read(mut definition: clap::Command, words: &[OsString]) -> Result<Arguments, clap::Error> {
    let read = |matches: &ArgMatches| {
        let Root { global, choice } = Root::from_arg_matches(matches)?;
        Ok(Arguments { global, choice, command: Command::from_arg_matches(matches)? })
    };
    let matches = definition.try_get_matches_from_mut(words)?;
    read(&matches).map_err(|error: clap::Error| error.format(&mut definition))
}

/// Says whether a variant stands for the command of this name: `CherryPick` for `cherry-pick`.
fn is_named(variant: &str, name: &str) -> bool {
    let mut name = name.bytes();
    let fits = variant.bytes().enumerate().all(|(place, byte)| {
        let begins = byte.is_ascii_uppercase() && place > 0;
        (!begins || name.next() == Some(b'-')) && name.next() == Some(byte.to_ascii_lowercase())
    });
    fits && name.next().is_none()
}

/// Runs a command and turns how it went into an exit code.
pub(crate) fn run(arguments: Arguments) -> ExitCode {
    let mut global = arguments.global;
    let outcome = prepare(&mut global, &arguments.command).and_then(|()| {
        let mut context = Context::new(global.clone(), arguments.choice, Output::new(&global));
        let is_maintenance = matches!(arguments.command, Command::Gc(_));
        let answer = dispatch(arguments.command, &mut context);
        let answer = answer.map_err(|failure| context.explained(failure))?;
        context.output.flush()?;
        if !is_maintenance {
            context.follow_up();
        }
        Ok(answer)
    });
    match outcome {
        Ok(answer) => ExitCode::from(answer as u8),
        Err(failure) => failure::report(&failure, &global),
    }
}

/// Goes where the command is to run, and reads the settings that hold there.
fn prepare(global: &mut Global, command: &Command) -> Result<(), Failure> {
    open::enter(global)?;
    // Who mends or inspects a store must not stumble over what is broken.
    let is_careful = matches!(
        command,
        Command::Config(_)
            | Command::Fsck(_)
            | Command::Help(_)
            | Command::Man(_)
            | Command::Completions(_)
    );
    match config::load(global) {
        Err(failure) if !is_careful => return Err(failure),
        _ => {}
    }
    if global.color == Color::Auto {
        let wish = config::text("core.color");
        global.color = wish.and_then(|wish| Color::from_str(&wish, true).ok()).unwrap_or_default();
    }
    Ok(())
}

#[cfg(test)]
mod tests;
