//! The flags that say where a command writes.

use clap::builder::NonEmptyStringValueParser;
use sapwood::ops::Target;

use crate::open::Opened;

/// Where to write.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct WriteTo {
    #[command(flatten)]
    pub(crate) within: Within,
    /// The branch; else the session's active one
    #[arg(short, long, value_name = "BRANCH")]
    pub(crate) branch: Option<String>,
    /// What to follow; the branch must end there
    #[arg(long, value_name = "REV")]
    pub(crate) parent: Option<String>,
}

/// Which session.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct Within {
    /// The session, by id or name; else $SAPWOOD_SESSION, else the current one
    #[arg(short, long, value_name = "SESSION", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) session: Option<String>,
}

impl WriteTo {
    /// Gives what the flags say, and the environment where they say nothing.
    pub(crate) fn target(&self, opened: &Opened) -> Target {
        Target {
            branch: self.branch.clone(),
            parent: self.parent.clone(),
            ..self.within.target(opened)
        }
    }
}

impl Within {
    /// Gives what the flag says, and the environment where it says nothing.
    pub(crate) fn target(&self, opened: &Opened) -> Target {
        Target::of(self.session.as_deref().or(opened.place.session.as_deref()))
    }
}
