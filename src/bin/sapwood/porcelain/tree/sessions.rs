//! `sapwood tree --all-sessions`: which session was forked from which.

use sapwood::codec::Value;
use sapwood::error::Error;
use sapwood::ops::{self, SessionNode};
use sapwood::session::View;

use super::{Shape, draw, print_json};
use crate::failure::{Answer, Failure};
use crate::open::Context;
use crate::output;
use crate::porcelain::session::header;
use crate::reader::Reader;
use crate::shown;
use crate::style;

pub(super) fn print(context: &mut Context, reader: &Reader) -> Result<Answer, Failure> {
    let nodes = ops::session_tree(&*reader.snapshot)?;
    let roots = (0..nodes.len()).filter(|place| nodes[*place].parent.is_none()).collect();
    let children = |place: usize| nodes[place].children.as_slice();
    let shape = Shape { roots, children: &children, stacks: false };
    context.output.page();
    if context.output.json {
        print_json(context, &shape, &|place| value(reader, &nodes[place]))?;
    } else {
        draw(context, &shape, &|context, place, _| line(context, reader, &nodes[place]))?;
    }
    Ok(Answer::Yes)
}

fn value(reader: &Reader, node: &SessionNode) -> Result<Value, Failure> {
    let header = output::object(header(&*reader.snapshot, &node.header)?);
    Ok(output::object([("session", node.header.sid.as_str().into()), ("header", header)]))
}

/// Writes a session: id, name, model, why it was forked and where, and how long its path is.
fn line(context: &Context, reader: &Reader, node: &SessionNode) -> Result<Vec<String>, Failure> {
    let header = &node.header;
    let view = View::of(&*reader.snapshot, &header.sid)?;
    let mut words = Vec::new();
    words.extend(header.model.as_ref().map(|model| format!("model={}", shown::line(model))));
    if let Some(fork) = &header.fork {
        words.extend(fork.reason.as_deref().map(|reason| shown::line(reason).into_owned()));
        words.extend(
            fork.entry.map(|id| reader.short(&id)).transpose()?.map(|at| format!("at {at}")),
        );
    }
    let end = match view.active()? {
        Some(active) => view.branch(&active)?,
        None => None,
    };
    let mut messages = 0;
    if let Some(id) = end {
        messages = reader.snapshot.topology(&id)?.ok_or(Error::ObjectMissing { id })?.depth + 1;
    }
    words.push(format!("{messages} message{}", if messages == 1 { "" } else { "s" }));
    let session = context.output.paint(style::REF, &header.sid);
    let name = header.name.as_ref().map_or(String::new(), |name| format!(" {}", shown::line(name)));
    Ok(vec![format!("{session}{name} - {}", words.join(", "))])
}
