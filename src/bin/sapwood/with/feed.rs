//! What a command is fed with: messages, as Markdown or as JSON.

use sapwood::codec::{Value, json};
use sapwood::ops;
use sapwood::session::Message;

use super::{Setting, With};
use crate::config;
use crate::failure::Failure;

/// A command that reads messages.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct Feed {
    #[command(flatten)]
    pub(crate) with: With,
    /// Feed the command with JSON instead of Markdown
    #[arg(long, requires = "with")]
    json_input: bool,
}

impl Feed {
    /// Runs the command on messages, if there is one.
    pub(crate) fn run(
        &self,
        setting: Setting<'_>,
        messages: &[Message],
    ) -> Result<Option<String>, Failure> {
        let roles = config::role_map(&[])?;
        let input = match self.json_input {
            false => ops::messages_to_markdown(messages, &roles),
            true => {
                let messages = ops::messages_to_json(messages, &roles);
                json::to_string(&object(setting, messages)) + "\n"
            }
        };
        self.with.run(setting, input)
    }
}

fn object(setting: Setting<'_>, messages: Value) -> Value {
    let fields = [
        ("command", Value::from(setting.command)),
        ("session", setting.session.map(str::to_owned).into()),
        ("branch", setting.branch.map(str::to_owned).into()),
        ("messages", messages),
    ];
    Value::map(fields.into_iter().filter(|(_, value)| !value.is_null()))
}
