//! Sessions as markdown.
//!
//! What somebody said stands as it is, for it mostly is markdown; but it stays within its place: a
//! fence that it leaves open is closed, and its tags are shown, not obeyed.

use std::io::Write;

use crate::codec::json;
use crate::error::{Error, Result};
use crate::id::Id;
use crate::ops::RoleMap;
use crate::ops::context::{fenced, heading, titled};
use crate::ops::export::Scope;
use crate::ops::export::facts::{facts, grouped, minute, usage};
use crate::ops::export::outline::{Outline, Step};
use crate::ops::export::told::{Kind, Told, opening, section_name, title};
use crate::ops::export::visible::visible;
use crate::session::{Answer, Block, Call, Message, View};
use crate::store::Snapshot;

/// Writes a session as markdown.
pub fn markdown(
    snapshot: &dyn Snapshot,
    session: &str,
    scope: Scope,
    out: &mut dyn Write,
) -> Result<()> {
    let view = View::of(snapshot, session)?;
    let meta = view.meta()?;
    let outline = Outline::of(snapshot, &view, scope)?;
    let mut page = Page { snapshot, outline: &outline, out };
    page.paragraph(&format!("# {}", escaped(&title(snapshot, &outline, &meta)?)))?;
    let facts = facts(&meta, &outline).into_iter();
    let facts = facts.map(|(name, value)| format!("- {name}: {}", escaped(&value)));
    page.paragraph(&facts.collect::<Vec<_>>().join("\n"))?;
    for section in 0..outline.sections.len() {
        page.section(section)?;
    }
    page.strays(&outline.beside)
}

/// A page that is being written.
struct Page<'a> {
    snapshot: &'a dyn Snapshot,
    outline: &'a Outline,
    out: &'a mut dyn Write,
}

impl Page<'_> {
    /// Writes a block, and an empty line.
    fn paragraph(&mut self, text: &str) -> Result<()> {
        let written = write!(self.out, "{}\n\n", visible(text.trim_end()));
        written.map_err(Error::io("write", "the exported page"))
    }

    fn section(&mut self, number: usize) -> Result<()> {
        let outline = self.outline;
        if outline.sections.len() > 1 {
            let name = escaped(&section_name(outline, number));
            self.paragraph(&format!("<a id=\"branch-{}\"></a>\n\n## Branch {name}", number + 1))?;
        }
        if let Some(from) = outline.sections[number].from {
            let name = escaped(&section_name(outline, outline.home(from).unwrap_or_default()));
            let anchor = anchor(&outline.forest.ids()[from]);
            self.paragraph(&format!("Branches off [{name}](#{anchor})."))?;
        }
        for step in outline.steps(number) {
            match step {
                Step::Fold(count) => {
                    let count = grouped(count as u64);
                    self.paragraph(&details(&format!("{count} entries before the compaction")))?;
                }
                Step::Entry(place) => self.entry(place)?,
                Step::Unfold => self.paragraph("</details>")?,
            }
        }
        Ok(())
    }

    /// Writes an entry of a path, and what hangs on it.
    fn entry(&mut self, place: usize) -> Result<()> {
        let id = self.outline.forest.ids()[place];
        let forks = self.outline.forks(place);
        if !self.outline.joined.is_whole(place) {
            self.told(place)?;
        }
        if let Some(labels) = self.outline.marks.labels.get(&id) {
            let labels: Vec<String> = labels.iter().map(|label| escaped(label)).collect();
            self.paragraph(&format!("Label: {}", labels.join(", ")))?;
        }
        self.strays(&self.outline.strays(place))?;
        if !forks.is_empty() {
            let mut lines = vec![format!("<a id=\"{}\"></a>Other branches:\n", anchor(&id))];
            for fork in forks {
                let name = escaped(&section_name(self.outline, *fork));
                let words = escaped(&opening(self.snapshot, self.outline, *fork)?);
                lines.push(format!("- [{name}](#branch-{}): {words}", fork + 1));
            }
            self.paragraph(&lines.join("\n"))?;
        }
        Ok(())
    }

    fn told(&mut self, place: usize) -> Result<()> {
        let told = Told::read(self.snapshot, self.outline, place)?;
        let time = minute(told.time);
        match &told.kind {
            Kind::Message(message, answers) => {
                let said = said(message, answers);
                if said.is_empty() {
                    return Ok(());
                }
                let role = escaped(&heading(message, &RoleMap::default()));
                let usage = Some(usage(&message.usage)).filter(|usage| !usage.is_empty());
                let about = message.model.iter().map(|model| escaped(model)).chain(usage);
                let about: String = about.map(|about| format!(" · {about}")).collect();
                self.paragraph(&format!("### {role}{about} · {time}\n\n{said}"))
            }
            Kind::Summary(text) => {
                let label = escaped(&titled(&told.label));
                self.paragraph(&format!("---\n\n### {label} · {time}\n\n{}\n\n---", tamed(text)))
            }
            Kind::Shell(text) => {
                self.paragraph(&format!("### Shell · {time}\n\n{}", fenced("", text)))
            }
            Kind::Note(text) => self.paragraph(&format!("### Note · {time}\n\n{}", tamed(text))),
            Kind::Other(words) => {
                self.paragraph(&format!("*{}* {}", escaped(&told.label), escaped(words)))
            }
        }
    }

    /// Writes what hangs on an entry, or on none, and leads to nothing that was said.
    fn strays(&mut self, strays: &[usize]) -> Result<()> {
        let left = |place: &usize| !self.outline.joined.is_whole(*place);
        let strays: Vec<usize> = strays.iter().copied().filter(left).collect();
        if strays.is_empty() {
            return Ok(());
        }
        let count = grouped(strays.len() as u64);
        self.paragraph(&details(&format!("{count} beside the path")))?;
        strays.into_iter().try_for_each(|place| self.told(place))?;
        self.paragraph("</details>")
    }
}

/// Writes what a message says, each block a paragraph.
fn said(message: &Message, answers: &[Option<Answer>]) -> String {
    let mut answers = answers.iter();
    let mut parts = Vec::new();
    for block in &message.blocks {
        parts.push(match block {
            Block::Text(text) => tamed(text),
            Block::Thinking(text) if text.trim().is_empty() => continue,
            Block::Thinking(text) => {
                format!("{}\n\n{}\n\n</details>", details("Thinking"), tamed(text))
            }
            Block::Call(made) => call(made, answers.next().and_then(Option::as_ref)),
            Block::Result(answer) => result(answer),
            Block::Image(_) => "*[picture]*".to_owned(),
            Block::Other(value) => fenced("json", &json::to_string(value)),
        });
    }
    parts.retain(|part| !part.trim().is_empty());
    parts.join("\n\n")
}

fn call(call: &Call, answer: Option<&Answer>) -> String {
    let arguments = fenced("json", &json::pretty(&call.arguments));
    let answer = answer.map_or("No result.".to_owned(), result);
    format!("Calls **{}**:\n\n{arguments}\n\n{answer}", escaped(&call.name))
}

fn result(answer: &Answer) -> String {
    let how = if answer.is_error { "Error" } else { "Result" };
    let of = answer.name.iter().map(|name| format!(" of **{}**", escaped(name)));
    format!("{how}{}:\n\n{}", of.collect::<String>(), fenced("", &answer.text))
}

/// Begins what is folded.
fn details(title: &str) -> String {
    format!("<details><summary>{title}</summary>")
}

/// Names an entry within the page.
fn anchor(id: &Id) -> String {
    format!("e{}", id.short(16))
}

/// Writes a text on one line, so that none of it is a mark.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            _ if letter.is_whitespace() || letter.is_control() => out.push(' '),
            '-' | '.' | ',' | ':' | '/' | '(' | ')' | '\'' => out.push(letter),
            _ if letter.is_ascii_punctuation() => out.extend(['\\', letter]),
            _ => out.push(letter),
        }
    }
    out
}

/// Writes a text that is markdown so that it stays within its place.
fn tamed(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    // How the line begins that opened a fence: its indent, and its marks.
    let mut fence: Option<(&str, &str)> = None;
    for line in text.trim_end().lines() {
        let begin = line.trim_start();
        let sign = begin.chars().next().filter(|sign| matches!(sign, '`' | '~')).unwrap_or('`');
        let rest = begin.trim_start_matches(sign);
        let marks = &begin[..begin.len() - rest.len()];
        let opens = marks.len() >= 3 && !(sign == '`' && rest.contains('`'));
        match fence {
            None if opens => fence = Some((&line[..line.len() - begin.len()], marks)),
            Some((_, open)) if marks.starts_with(open) && rest.trim().is_empty() => fence = None,
            Some(_) => {}
            None => {
                without_tags(&mut out, line);
                out.push('\n');
                continue;
            }
        }
        out.push_str(line);
        out.push('\n');
    }
    if let Some((indent, marks)) = fence {
        out.extend([indent, marks]);
    }
    out.trim_end().to_owned()
}

/// Appends a line, a backslash before what would begin a tag outside code.
fn without_tags(out: &mut String, line: &str) {
    let ticks = line.matches('`').count();
    for (number, part) in line.split('`').enumerate() {
        out.push_str(if number > 0 { "`" } else { "" });
        match number % 2 == 1 && number < ticks {
            true => out.push_str(part),
            false => out.push_str(&part.replace('<', "\\<")),
        }
    }
}
