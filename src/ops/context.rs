//! The context at an entry, with what is known there, in the forms that models take.

mod anthropic;
mod json;
mod markdown;
mod openai;
mod roles;
#[cfg(test)]
mod tests;
mod turns;

use crate::codec::Value;
use crate::error::Result;
use crate::id::Id;
use crate::memory::{self, Known};
use crate::ops::{Target, memory_head};
use crate::repo::{Place, resolve};
use crate::session::{self, Block, Context};
use crate::store::Snapshot;
use turns::Turn;

pub use json::messages_to_json;
pub use markdown::messages_to_markdown;
pub(super) use markdown::{SUMMARY_LABELS, fenced, heading, titled};
pub(super) use openai::{Content, messages as openai_messages};
pub use roles::{Role, RoleMap};

/// Which context, and what goes into it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContextOptions {
    /// The session.
    pub target: Target,
    /// The entry; else HEAD.
    pub revision: Option<String>,
    /// Whether what is known comes first.
    pub memory: bool,
    /// Whether calls that nothing answered are closed.
    pub repair: bool,
    /// What roles stand for that models do not know.
    pub roles: RoleMap,
}

/// A context, ready to be shown.
#[derive(Clone, Debug, PartialEq)]
pub struct ContextOutcome {
    /// The session's id.
    pub session: String,
    /// The entry.
    pub entry: Id,
    /// What a model is shown.
    pub context: Context,
    /// What is known, if it was asked for: the latest facts.
    pub facts: Option<Vec<Known>>,
    /// What roles stand for.
    pub roles: RoleMap,
}

/// Builds the context at a revision.
pub fn context(snapshot: &dyn Snapshot, options: &ContextOptions) -> Result<ContextOutcome> {
    let session = options.target.session(snapshot)?;
    let place = Place::in_session(session.as_str());
    let entry = resolve(snapshot, &place, options.revision.as_deref().unwrap_or("HEAD"))?;
    let mut context = session::context(snapshot, Some(&session), entry)?;
    if options.repair {
        context.repair();
    }
    let facts = match options.memory {
        true => {
            let head = memory_head(snapshot, &options.target, options.revision.as_deref())?;
            Some(memory::latest(memory::resolve(snapshot, head)?))
        }
        false => None,
    };
    Ok(ContextOutcome { session, entry, context, facts, roles: options.roles.clone() })
}

/// The forms.
impl ContextOutcome {
    /// Gives everything that is known of the context, as JSON.
    pub fn to_json(&self) -> Vec<(&'static str, Value)> {
        json::write(self)
    }

    /// Gives the context as Markdown.
    pub fn to_markdown(&self) -> String {
        markdown::write(self)
    }

    /// Gives the context as a request of OpenAI's chat completions: `model`, `messages`.
    pub fn to_openai(&self) -> Value {
        openai::write(self)
    }

    /// Gives the context as a request of Anthropic's messages: `model`, `system`, `messages`.
    pub fn to_anthropic(&self) -> Value {
        anthropic::write(self)
    }

    /// Reads the context as turns. What is known is the first, if it was asked for.
    fn turns(&self) -> Vec<Turn> {
        let mut turns = turns::turns(&self.context.messages, &self.roles, false);
        if let Some(known) = self.known() {
            let blocks = vec![Block::Text(format!("What is known so far:\n{known}"))];
            let first = Turn { role: Role::System, blocks, answers: Vec::new(), place: 0 };
            turns.insert(0, first);
        }
        turns
    }

    /// Lists what is known, a line for each fact; nothing if it was not asked for.
    fn known(&self) -> Option<String> {
        let facts = self.facts.as_deref().filter(|facts| !facts.is_empty())?;
        let lines = facts.iter().map(|fact| format!("- {}", fact.sentence()));
        Some(lines.collect::<Vec<_>>().join("\n"))
    }
}
