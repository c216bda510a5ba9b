//! `sapwood log`

mod format;
mod graph;

use std::collections::HashSet;
use std::io::{self, IsTerminal};

use regex::RegexBuilder;
use sapwood::id::Id;
use sapwood::ops::{Filter, Logged, path_between};
use sapwood::{time, walk};

use crate::args::Listing;
use crate::failure::{Answer, Failure};
use crate::open::{Context, now};
use crate::reader::{Names, Reader};
use crate::render;
use crate::shown;
use crate::style;
use crate::target::Within;
use crate::when;
use format::Format;
use graph::Graph;

/// How many lines of an entry are shown without -p.
const LINES_MAX: usize = 3;

type Ids<'a> = Box<dyn Iterator<Item = sapwood::error::Result<Id>> + 'a>;

/// Show the path of a conversation, newest first
///
/// REV is HEAD unless given; A..B is what B has and A has not. With several,
/// or with --all, everything they lead back to, children before parents.
///
/// The placeholders of --format: %H id, %h short id, %P parents, %p short
/// parents, %r role, %y type, %s first line, %b whole text, %t time, %T
/// milliseconds since 1970, %a age, %m model, %v provider, %c cost, %k tokens,
/// %d names in brackets, %D names, %n newline, %x00 a NUL byte, %% a percent.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood log
  sapwood log -n 20 --oneline
  sapwood log --graph --all
  sapwood log -p --role user --since '2 days ago'
  sapwood log --format '%h %r %s' main..topic")]
pub(crate) struct Args {
    /// One line for each
    #[arg(long, conflicts_with_all = ["patch", "format"])]
    oneline: bool,
    /// Draw the branches beside the entries
    #[arg(long, conflicts_with = "reverse")]
    graph: bool,
    /// Begin at all branches and labels of the session
    #[arg(long)]
    all: bool,
    /// Show everything that is said, calls and results of tools too
    #[arg(short = 'p', long)]
    patch: bool,
    /// Stop after so many
    #[arg(short = 'n', long, value_name = "N")]
    max_count: Option<usize>,
    /// Show the oldest first, of those that would be shown
    #[arg(long)]
    reverse: bool,
    /// Only of this role or type
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,
    /// Only what this regular expression is found in
    #[arg(long, value_name = "PATTERN")]
    grep: Option<String>,
    /// Let --grep ignore case
    #[arg(short, long, requires = "grep")]
    ignore_case: bool,
    /// Only from this time on
    #[arg(long, value_name = "TIME", value_parser = when::parse)]
    since: Option<i64>,
    /// Only up to this time
    #[arg(long, value_name = "TIME", value_parser = when::parse)]
    until: Option<i64>,
    /// Show each as this says
    #[arg(long, value_name = "FORMAT", value_parser = Format::parse)]
    format: Option<Format>,
    #[command(flatten)]
    within: Within,
    #[command(flatten)]
    listing: Listing,
    /// Where to begin, and before .. or with ^ what to leave out
    #[arg(value_name = "REV")]
    revisions: Vec<String>,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let reader = Reader::open(context, &args.within)?;
    let filter = filter(&args)?;
    let names = reader.names()?;
    let (ids, is_path) = ids(&args, &reader)?;
    context.output.page();
    context.output.list(args.listing);
    let mut printer = Printer { args: &args, reader: &reader, names, is_first: true };
    let max_count = args.max_count.unwrap_or(usize::MAX);
    if args.graph && !context.output.json {
        printer.graph(context, ids, &filter, is_path, max_count)?;
        return Ok(Answer::Yes);
    }
    let shown = sapwood::ops::log(&*reader.snapshot, ids, filter).take(max_count);
    if args.reverse {
        let shown: Result<Vec<Logged>, _> = shown.collect();
        for logged in shown?.iter().rev() {
            printer.print(context, logged)?;
        }
    } else {
        for logged in shown {
            printer.print(context, &logged?)?;
        }
    }
    Ok(Answer::Yes)
}

fn filter(args: &Args) -> Result<Filter, Failure> {
    let pattern = args.grep.as_deref().map(|text| {
        let built = RegexBuilder::new(text).case_insensitive(args.ignore_case).build();
        built.map_err(|error| Failure::request(format!("--grep: {error}")))
    });
    Ok(Filter {
        role: args.role.clone(),
        pattern: pattern.transpose()?,
        since: args.since,
        until: args.until,
    })
}

/// Finds what is walked, and says whether it is one path.
fn ids<'a>(args: &Args, reader: &'a Reader) -> Result<(Ids<'a>, bool), Failure> {
    let (mut starts, mut hide) = (Vec::new(), Vec::new());
    for revision in &args.revisions {
        let range = reader.range(revision)?;
        starts.extend(range.include);
        hide.extend(range.exclude);
    }
    if args.all {
        let view = reader.view()?;
        let named = view.branches()?.into_iter().chain(view.labels()?);
        let mut seen: HashSet<Id> = starts.iter().copied().collect();
        starts.extend(named.map(|(_, id)| id).filter(|id| seen.insert(*id)));
    } else if starts.is_empty() {
        starts.push(reader.resolve("HEAD")?);
    }
    let snapshot = &*reader.snapshot;
    Ok(match (starts.as_slice(), hide.as_slice()) {
        ([start], []) => (path_between(snapshot, *start, None)?, true),
        ([start], [hidden]) => (path_between(snapshot, *start, Some(*hidden))?, true),
        _ => (Box::new(walk::ancestors(snapshot, &starts, &hide)?), false),
    })
}

/// Prints entries as the arguments want them.
struct Printer<'a> {
    args: &'a Args,
    reader: &'a Reader,
    names: Names,
    is_first: bool,
}

impl Printer<'_> {
    fn print(&mut self, context: &mut Context, logged: &Logged) -> Result<(), Failure> {
        if context.output.json {
            return context.output.fields(render::fields(&self.names, logged));
        }
        let lines = self.lines(context, logged, 0)?;
        if self.args.format.is_some() || self.args.oneline {
            return context.output.item(lines.join("\n"));
        }
        if !std::mem::take(&mut self.is_first) {
            context.output.bytes(b"\n")?;
        }
        context.output.item(lines.join("\n"))
    }

    /// Prints entries beside a drawing of how they hang together.
    fn graph(
        &mut self,
        context: &mut Context,
        ids: Ids<'_>,
        filter: &Filter,
        is_path: bool,
        max_count: usize,
    ) -> Result<(), Failure> {
        let mut graph = Graph::default();
        let mut count = 0;
        for id in ids {
            if count == max_count {
                break;
            }
            let id = id?;
            let topology = self.reader.snapshot.topology(&id)?;
            let mut parents = topology.map(|topology| topology.parents).unwrap_or_default();
            parents.truncate(if is_path { 1 } else { parents.len() });
            let drawn = graph.add(id, &parents);
            for line in &drawn.before {
                context.output.item(line)?;
            }
            if let Some(logged) = filter.read(&*self.reader.snapshot, id)? {
                count += 1;
                let lines = self.lines(context, &logged, shown::width(&drawn.at) + 1)?;
                let lines = lines.iter().flat_map(|text| text.split('\n'));
                for (place, text) in lines.enumerate() {
                    let margin = if place == 0 { &drawn.at } else { &drawn.below };
                    context.output.item(format!("{margin} {text}").trim_end())?;
                }
                let below = drawn.below.trim_end();
                if !self.args.oneline && self.args.format.is_none() && !below.is_empty() {
                    context.output.item(below)?;
                }
            }
            for line in &drawn.after {
                context.output.item(line)?;
            }
        }
        Ok(())
    }

    /// Writes an entry behind a margin of so many columns.
    fn lines(
        &self,
        context: &Context,
        logged: &Logged,
        margin: usize,
    ) -> Result<Vec<String>, Failure> {
        if let Some(format) = &self.args.format {
            return Ok(vec![format.write(context, self.reader, &self.names, logged)?]);
        }
        if self.args.oneline {
            return Ok(vec![render::line(context, self.reader, &self.names, logged, margin)?]);
        }
        let id = context.output.paint(style::ID, self.reader.short(&logged.id)?);
        let decoration = render::decoration(context, &self.names, logged);
        let time = match io::stdout().is_terminal() {
            true => time::age(logged.entry.time, now()),
            false => time::format(logged.entry.time),
        };
        let mut lines =
            vec![format!("{id} {}, {time}{decoration}", shown::line(&logged.words.who))];
        let said = logged.words.text.trim_matches('\n').lines();
        let max = if self.args.patch { usize::MAX } else { LINES_MAX };
        let more = said.clone().count().saturating_sub(max);
        lines.extend(said.take(max).map(|line| match self.args.patch {
            true => format!("    {line}"),
            false => format!("    {}", shown::clipped(line, shown::COLUMNS - 4)),
        }));
        if more > 0 {
            lines.push(format!("    … {more} more line{}", if more == 1 { "" } else { "s" }));
        }
        Ok(lines)
    }
}
