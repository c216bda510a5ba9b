//! `sapwood tree`

mod sessions;

use sapwood::codec::{Value, json};
use sapwood::ops::{self, Logged, Tree, TreeNode};

use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::output;
use crate::reader::{Names, Reader};
use crate::render;
use crate::shown;
use crate::style;
use crate::target::Within;

/// Draw the tree of a session, root first
///
/// Shown are the decisions: where branches part, and where each begins and
/// ends; what lies between is counted. Results of tools and reports of progress
/// that hang beside the path are no decisions.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  sapwood tree
  sapwood tree --full -s s1
  sapwood tree --all-sessions
  sapwood tree --json")]
pub(crate) struct Args {
    /// Draw which session was forked from which instead
    #[arg(long, conflicts_with_all = ["decisions", "full", "session"])]
    all_sessions: bool,
    /// Only decisions; the default
    #[arg(long)]
    decisions: bool,
    /// Every entry
    #[arg(long, conflicts_with = "decisions")]
    full: bool,
    #[command(flatten)]
    within: Within,
}

pub(crate) fn run(args: Args, context: &mut Context) -> Result<Answer, Failure> {
    let reader = Reader::open(context, &args.within)?;
    if args.all_sessions {
        return sessions::print(context, &reader);
    }
    let session = reader.session()?;
    let tree = ops::tree(&*reader.snapshot, &session, args.full)?;
    let names = reader.names()?;
    let children = |place: usize| tree.nodes[place].children.as_slice();
    let shape = Shape { roots: tree.roots(), children: &children, stacks: true };
    context.output.page();
    if context.output.json && args.full {
        print_lines(context, &reader, &names, &tree)?;
        return Ok(Answer::Yes);
    }
    if context.output.json {
        let node = |place: usize| node_value(&reader, &names, &tree.nodes[place]);
        print_json(context, &shape, &node)?;
        return Ok(Answer::Yes);
    }
    let meta = reader.view()?.meta()?;
    let name = meta.name.map_or(String::new(), |name| format!(" {}", shown::line(&name)));
    let session = context.output.paint(style::REF, &session);
    context.output.item(format_args!("{session}{name}"))?;
    let lines = |context: &Context, place: usize, margin: usize| {
        node_lines(context, &reader, &names, &tree.nodes[place], margin)
    };
    draw(context, &shape, &lines)?;
    Ok(Answer::Yes)
}

/// A tree of any sort: its roots, what follows each place, and whether a single child stands right
/// below its parent or is indented as several are.
struct Shape<'a> {
    roots: Vec<usize>,
    children: &'a dyn Fn(usize) -> &'a [usize],
    stacks: bool,
}

/// What writes a place of a tree, a line or more, behind so many columns.
type Lines<'a> = &'a dyn Fn(&Context, usize, usize) -> Result<Vec<String>, Failure>;

/// Draws a tree of any depth.
fn draw(context: &mut Context, shape: &Shape<'_>, lines: Lines<'_>) -> Result<(), Failure> {
    // What is still to be drawn: the place, what stands before its first line and before the rest.
    let mut open: Vec<(usize, String, String)> = Vec::new();
    let push = |open: &mut Vec<(usize, String, String)>, places: &[usize], margin: &str, stack| {
        for (number, place) in places.iter().enumerate().rev() {
            open.push(match number + 1 == places.len() {
                _ if stack => (*place, margin.to_owned(), margin.to_owned()),
                false => (*place, format!("{margin}├─ "), format!("{margin}│  ")),
                true => (*place, format!("{margin}└─ "), format!("{margin}   ")),
            });
        }
    };
    push(&mut open, &shape.roots, "", !shape.stacks || shape.roots.len() == 1);
    while let Some((place, mut first, rest)) = open.pop() {
        for line in lines(context, place, shown::width(&first))? {
            context.output.item(format!("{first}{line}").trim_end())?;
            first.clone_from(&rest);
        }
        let children = (shape.children)(place);
        push(&mut open, children, &rest, shape.stacks && children.len() == 1);
    }
    Ok(())
}

/// Prints every entry of a tree on a line, parents first.
fn print_lines(
    context: &mut Context,
    reader: &Reader,
    names: &Names,
    tree: &Tree,
) -> Result<(), Failure> {
    let mut open = tree.roots();
    open.reverse();
    while let Some(place) = open.pop() {
        let node = &tree.nodes[place];
        let mut fields = render::fields(names, &Logged::read(&*reader.snapshot, node.id)?);
        fields.extend(about(node));
        context.output.fields(fields)?;
        open.extend(node.children.iter().rev());
    }
    Ok(())
}

/// Prints a tree of any depth as one JSON array; what `node` gives is completed with `children`.
fn print_json(
    context: &mut Context,
    shape: &Shape<'_>,
    node: &dyn Fn(usize) -> Result<Value, Failure>,
) -> Result<(), Failure> {
    enum Step {
        Begin(usize, bool),
        End,
    }
    let mut open: Vec<Step> = Vec::new();
    let push = |open: &mut Vec<Step>, places: &[usize]| {
        let numbered = places.iter().enumerate().rev();
        open.extend(numbered.map(|(number, place)| Step::Begin(*place, number == 0)));
    };
    push(&mut open, &shape.roots);
    context.output.bytes(b"[")?;
    while let Some(step) = open.pop() {
        let Step::Begin(place, is_first) = step else {
            context.output.bytes(b"]}")?;
            continue;
        };
        let mut text = if is_first { String::new() } else { ",".to_owned() };
        text.push_str(&json::to_string(&node(place)?));
        // The children stand at the end, so that they can follow one by one.
        text.truncate(text.len() - 1);
        text.push_str(",\"children\":[");
        context.output.bytes(text.as_bytes())?;
        open.push(Step::End);
        push(&mut open, (shape.children)(place));
    }
    context.output.bytes(b"]\n")
}

/// Writes an entry of the tree, and before it how many were passed over.
fn node_lines(
    context: &Context,
    reader: &Reader,
    names: &Names,
    node: &TreeNode,
    margin: usize,
) -> Result<Vec<String>, Failure> {
    let mut lines = Vec::new();
    if node.skipped > 0 {
        let entries = if node.skipped == 1 { "entry" } else { "entries" };
        lines.push(format!("… {} {entries}", node.skipped));
    }
    let logged = Logged::read(&*reader.snapshot, node.id)?;
    lines.push(render::line(context, reader, names, &logged, margin)?);
    Ok(lines)
}

fn node_value(reader: &Reader, names: &Names, node: &TreeNode) -> Result<Value, Failure> {
    let logged = Logged::read(&*reader.snapshot, node.id)?;
    let mut fields = vec![("entry", output::object(render::fields(names, &logged)))];
    fields.extend(about(node));
    Ok(output::object(fields))
}

/// Gives what a tree says of an entry.
fn about(node: &TreeNode) -> Vec<(&'static str, Value)> {
    let label = node.labels.first().map(|label| ("label", Value::from(label.as_str())));
    let mut fields: Vec<(&'static str, Value)> = label.into_iter().collect();
    fields.push(("depth", output::count(node.depth)));
    fields.push(("skipped", output::count(node.skipped)));
    fields.push(("active", node.is_active.into()));
    fields
}
