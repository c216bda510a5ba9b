//! Sessions as a page: one file that needs no network and no script.
//!
//! Everything that somebody said is text: it is escaped where it is written, in one function, and
//! the page forbids itself scripts and all that is not in it. Folding is done by elements, the
//! choice of colours and of what is shown by boxes that are ticked.
//!
//! The page is written as it is made, an entry at a time.

mod blocks;
mod escape;
mod image;
mod inline;
mod prose;
#[cfg(test)]
mod tests;

use std::io::Write;

use crate::codec::json;
use crate::error::{Error, Result};
use crate::id::Id;
use crate::object::Session;
use crate::ops::RoleMap;
use crate::ops::context::{heading, titled};
use crate::ops::export::Scope;
use crate::ops::export::facts::{facts, grouped, minute, usage};
use crate::ops::export::outline::{Outline, Step};
use crate::ops::export::told::{Kind, Told, clipped, opening, section_name, title};
use crate::session::{Answer, Message, View};
use crate::store::Snapshot;
use crate::time;

use escape::escaped;

/// What a page may do: show itself and the pictures in it.
const POLICY: &str = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; \
    base-uri 'none'; form-action 'none'";

const STYLE: &str = include_str!("html/page.css");

/// How many digits of an entry's id name it in the page.
const ANCHOR_DIGITS: usize = 16;

/// Writes a session as html.
pub fn html(
    snapshot: &dyn Snapshot,
    session: &str,
    scope: Scope,
    out: &mut dyn Write,
) -> Result<()> {
    let view = View::of(snapshot, session)?;
    let outline = Outline::of(snapshot, &view, scope)?;
    let text = String::new();
    let mut page =
        Page { snapshot, outline: &outline, out, text, turn: None, contents: Vec::new() };
    page.head(&view.meta()?)?;
    for section in 0..outline.sections.len() {
        page.section(section)?;
    }
    page.beside()?;
    page.foot()
}

/// A page that is being written.
struct Page<'a> {
    snapshot: &'a dyn Snapshot,
    outline: &'a Outline,
    out: &'a mut dyn Write,
    /// What is not yet written.
    text: String,
    /// Who spoke last, with which model, and what it took: it is not said again.
    turn: Option<Turn>,
    contents: Vec<Content>,
}

#[derive(PartialEq)]
struct Turn {
    role: String,
    model: Option<String>,
    usage: String,
}

/// A line of the table of contents.
enum Content {
    /// A section: its number.
    Section(usize),
    /// What a person said: its entry, and the first words.
    Prompt(Id, String),
}

impl Page<'_> {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Hands on what is written so far.
    fn flush(&mut self) -> Result<()> {
        let written = self.out.write_all(self.text.as_bytes());
        self.text.clear();
        written.map_err(Error::io("write", "the exported page"))
    }

    fn head(&mut self, meta: &Session) -> Result<()> {
        let title = escaped(&title(self.snapshot, self.outline, meta)?);
        self.push(&format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"referrer\" content=\"no-referrer\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
             <a class=\"skip\" href=\"#conversation\">Skip to the conversation</a>\n\
             <header class=\"page\">\n<h1>{title}</h1>\n<dl class=\"facts\">\n"
        ));
        for (name, value) in facts(meta, self.outline) {
            self.push(&format!("<div><dt>{name}</dt><dd>{}</dd></div>\n", escaped(&value)));
        }
        self.push("</dl>\n<div class=\"switches\" role=\"group\" aria-label=\"What is shown\">\n");
        let switches = [
            ("theme", "light or dark", ""),
            ("tools", "tool calls", " checked"),
            ("thinking", "thinking", " checked"),
            ("others", "other entries", " checked"),
        ];
        for (id, name, state) in switches {
            self.push(&format!(
                "<label><input type=\"checkbox\" id=\"{id}\"{state}> {name}</label>\n"
            ));
        }
        self.push("<a class=\"to-contents\" href=\"#contents\">contents</a>\n</div>\n</header>\n");
        self.push("<main id=\"conversation\">\n");
        if self.outline.sections.is_empty() {
            self.push("<p class=\"empty\">Nothing was said yet.</p>\n");
        }
        self.flush()
    }

    fn section(&mut self, number: usize) -> Result<()> {
        let outline = self.outline;
        let section = &outline.sections[number];
        self.turn = None;
        self.contents.push(Content::Section(number));
        self.push(&format!("<section id=\"branch-{}\">\n", number + 1));
        if outline.sections.len() > 1 {
            let name = escaped(&section_name(outline, number));
            self.push(&format!("<h2><span class=\"fork\">↳</span> {name}</h2>\n"));
        }
        if let Some(from) = section.from {
            let home = outline.home(from).unwrap_or_default();
            let name = escaped(&section_name(outline, home));
            let anchor = anchor(&outline.forest.ids()[from]);
            self.push(&format!(
                "<p class=\"origin\">branches off <a href=\"#{anchor}\">{name}</a></p>\n"
            ));
        }
        for step in outline.steps(number) {
            match step {
                Step::Fold(count) => {
                    self.turn = None;
                    self.push(&format!(
                        "<details class=\"earlier\"><summary>{} entries before the compaction\
                         </summary>\n",
                        grouped(count as u64)
                    ));
                }
                Step::Entry(place) => self.entry(place)?,
                Step::Unfold => {
                    self.turn = None;
                    self.push("</details>\n");
                }
            }
        }
        self.push("</section>\n");
        self.flush()
    }

    /// Writes an entry of a path, and what hangs on it.
    fn entry(&mut self, place: usize) -> Result<()> {
        let id = self.outline.forest.ids()[place];
        let marks = self.marks(place);
        let forks = self.outline.forks(place);
        let told = match self.outline.joined.is_whole(place) {
            true => None,
            false => Some(Told::read(self.snapshot, self.outline, place)?),
        };
        let is_shown = told.as_ref().is_some_and(|told| self.told(told));
        let is_named = !marks.is_empty() || !forks.is_empty();
        if is_named && !is_shown {
            self.push(&format!("<div class=\"anchor\" id=\"{}\"></div>\n", anchor(&id)));
        }
        if !marks.is_empty() {
            self.push(&format!("<p class=\"marks\">{marks}</p>\n"));
        }
        let strays = self.outline.strays(place);
        self.strays(&strays)?;
        if !forks.is_empty() {
            self.turn = None;
            self.push("<ul class=\"forks\">\n");
            for fork in forks {
                self.link(*fork)?;
            }
            self.push("</ul>\n");
        }
        self.flush()
    }

    /// Writes an entry, and says whether there was anything to write.
    fn told(&mut self, told: &Told) -> bool {
        let anchor = anchor(&told.id);
        match &told.kind {
            Kind::Message(message, answers) => return self.message(told, message, answers),
            Kind::Summary(text) => {
                self.turn = None;
                self.push(&format!(
                    "<details class=\"summary\" id=\"{anchor}\" open><summary>{} {}</summary>\n\
                     <div class=\"body\">\n",
                    escaped(&titled(&told.label)),
                    when(told)
                ));
                prose::prose(&mut self.text, text);
                for merged in &told.merged {
                    let there = self::anchor(merged);
                    self.push(&format!("<p><a href=\"#{there}\">what was merged</a></p>\n"));
                }
                self.push("</div></details>\n");
            }
            Kind::Shell(text) => {
                self.opening(told, "shell", "Shell", None, "");
                prose::code(&mut self.text, "", text);
                self.push("</article>\n");
            }
            Kind::Note(text) => {
                self.opening(told, "note", "Note", None, "");
                prose::prose(&mut self.text, text);
                self.push("</article>\n");
            }
            Kind::Other(words) => self.push(&format!(
                "<details class=\"other\" id=\"{anchor}\"><summary><span class=\"label\">{}</span> \
                 <span class=\"gist\">{}</span></summary>\n<pre tabindex=\"0\">{}</pre>\
                 </details>\n",
                escaped(&told.label),
                escaped(words),
                escaped(&json::pretty(&told.body)),
            )),
        }
        true
    }

    fn message(&mut self, told: &Told, message: &Message, answers: &[Option<Answer>]) -> bool {
        let mut body = String::new();
        blocks::blocks(&mut body, message, answers);
        if body.is_empty() {
            return false;
        }
        let is_from_user = message.is_from_user();
        let class = match message.role.as_str() {
            "user" if is_from_user => "user",
            "assistant" => "assistant",
            "system" | "developer" => "system",
            _ => "tool",
        };
        let role = heading(message, &RoleMap::default());
        let usage = usage(&message.usage);
        self.opening(told, class, &role, message.model.as_deref(), &usage);
        let words = clipped(&message.text());
        if class == "system" {
            self.push(&format!(
                "<details><summary><span class=\"gist\">{}</span></summary>\n{body}</details>",
                escaped(&words)
            ));
        } else {
            self.push(&body);
        }
        self.push("</article>\n");
        if is_from_user && !words.is_empty() {
            self.contents.push(Content::Prompt(told.id, words));
        }
        true
    }

    /// Begins an article: who speaks, unless it is the one who spoke before.
    fn opening(&mut self, told: &Told, class: &str, role: &str, model: Option<&str>, usage: &str) {
        let turn = Turn {
            role: role.to_owned(),
            model: model.map(str::to_owned),
            usage: usage.to_owned(),
        };
        let last = self.turn.as_ref();
        let goes_on = class != "user"
            && last.is_some_and(|last| last.role == turn.role && last.model == turn.model);
        let is_said = last.is_some_and(|last| goes_on && last.usage == turn.usage);
        let begin = match goes_on {
            true => format!("<article class=\"{class} more\" id=\"{}\"><header>", anchor(&told.id)),
            false => format!(
                "<article class=\"{class}\" id=\"{}\"><header><strong>{}</strong>",
                anchor(&told.id),
                escaped(role)
            ),
        };
        self.push(&begin);
        if let Some(model) = model.filter(|_| !goes_on) {
            self.push(&format!(" <span class=\"model\">{}</span>", escaped(model)));
        }
        if !usage.is_empty() && !is_said {
            self.push(&format!(" <span class=\"usage\">{}</span>", escaped(usage)));
        }
        self.push(&format!(" {}</header>\n", when(told)));
        self.turn = Some(turn);
    }

    /// Names the labels at an entry, and the branches that end there while their section goes on.
    fn marks(&self, place: usize) -> String {
        let outline = self.outline;
        let (id, marks) = (&outline.forest.ids()[place], &outline.marks);
        let section = outline.home(place).map(|home| &outline.sections[home]);
        let is_last = section.is_some_and(|section| section.places.last() == Some(&place));
        let named = [(&marks.labels, "label"), (&marks.branches, "branch")];
        let named = named.into_iter().flat_map(|(names, class)| {
            let names = names.get(id).filter(|_| class == "label" || !is_last);
            names.into_iter().flatten().map(move |name| (name, class))
        });
        let marks = named.map(|(name, class)| {
            format!("<span class=\"{class}\" title=\"{class}\">{}</span> ", escaped(name))
        });
        marks.collect()
    }

    /// Writes what hangs on an entry and leads to nothing that was said.
    fn strays(&mut self, strays: &[usize]) -> Result<()> {
        if strays.is_empty() {
            return Ok(());
        }
        let count = grouped(strays.len() as u64);
        self.push(&format!(
            "<details class=\"strays\"><summary>{count} beside the path</summary>\n"
        ));
        let turn = self.turn.take();
        for place in strays {
            let told = Told::read(self.snapshot, self.outline, *place)?;
            self.told(&told);
            self.flush()?;
        }
        self.turn = turn;
        self.push("</details>\n");
        Ok(())
    }

    /// Writes a link to a section.
    fn link(&mut self, number: usize) -> Result<()> {
        let name = escaped(&section_name(self.outline, number));
        let words = escaped(&opening(self.snapshot, self.outline, number)?);
        let messages = grouped(self.outline.sections[number].messages);
        self.push(&format!(
            "<li><a href=\"#branch-{}\"><span class=\"fork\">↳</span> {name}</a> \
             <span class=\"gist\">{words}</span> <span class=\"usage\">{messages} messages</span>\
             </li>\n",
            number + 1
        ));
        Ok(())
    }

    /// Writes what is on no path.
    fn beside(&mut self) -> Result<()> {
        let left = |place: &usize| !self.outline.joined.is_whole(*place);
        let beside: Vec<usize> = self.outline.beside.iter().copied().filter(left).collect();
        if !beside.is_empty() {
            self.push("<section class=\"beside\" id=\"beside\">\n");
            self.strays(&beside)?;
            self.push("</section>\n");
        }
        self.push("</main>\n");
        self.flush()
    }

    /// Writes the table of contents, which is known only now, and ends the page.
    fn foot(&mut self) -> Result<()> {
        self.push("<nav class=\"contents\" id=\"contents\" aria-label=\"Contents\">\n<ol>\n");
        let has_branches = self.outline.sections.len() > 1;
        for content in std::mem::take(&mut self.contents) {
            match content {
                Content::Section(number) if has_branches => {
                    let name = escaped(&section_name(self.outline, number));
                    self.push(&format!(
                        "<li class=\"section\"><a href=\"#branch-{}\">↳ {name}</a></li>\n",
                        number + 1
                    ));
                }
                Content::Section(_) => {}
                Content::Prompt(id, words) => self.push(&format!(
                    "<li><a href=\"#{}\">{}</a></li>\n",
                    anchor(&id),
                    escaped(&words)
                )),
            }
            self.flush()?;
        }
        self.push("</ol>\n</nav>\n</body>\n</html>\n");
        self.flush()
    }
}

/// Names an entry within the page.
fn anchor(id: &Id) -> String {
    format!("e{}", id.short(ANCHOR_DIGITS))
}

/// Writes when an entry was said, as a link to it.
fn when(told: &Told) -> String {
    format!(
        "<a class=\"time\" href=\"#{}\"><time datetime=\"{}\">{}</time></a>",
        anchor(&told.id),
        time::format(told.time),
        minute(told.time)
    )
}
