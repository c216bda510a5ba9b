//! The flags that describe one entry.

use sapwood::codec::{Key, Value, json};
use sapwood::session::Draft;
use sapwood::time;

use crate::failure::Failure;
use crate::words::Words;

/// The type of an entry where none is given.
const MESSAGE: &str = "message";

/// What one entry is.
#[derive(clap::Args, Clone, Debug)]
pub(super) struct Flags {
    #[command(flatten)]
    words: Words,
    /// '-': take the text from standard input
    #[arg(value_name = "-", value_parser = ["-"], hide_possible_values = true)]
    #[arg(conflicts_with_all = ["message", "file"])]
    dash: Option<String>,
    /// Who speaks: user (unless given), assistant, system, tool, or any word
    #[arg(short, long, value_name = "ROLE")]
    role: Option<String>,
    /// The text is JSON: a list of blocks, or a string
    #[arg(long)]
    json_content: bool,
    /// The call that a tool answers; with -r tool
    #[arg(long, value_name = "ID")]
    call: Option<String>,
    /// More metadata, a JSON object
    #[arg(long, value_name = "JSON")]
    meta: Option<String>,
    /// The model that spoke
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Who serves the model
    #[arg(long, value_name = "PROVIDER")]
    provider: Option<String>,
    /// What it cost
    #[arg(long, value_name = "COST", value_parser = amount)]
    cost: Option<Value>,
    /// How many tokens it took
    #[arg(long, value_name = "TOKENS")]
    tokens: Option<u32>,
    /// The phase of the conversation
    #[arg(long, value_name = "PHASE")]
    phase: Option<String>,
    /// Which self speaks
    #[arg(long = "self", value_name = "NAME")]
    own: Option<String>,
    /// The type of the entry; message unless given
    #[arg(long = "type", value_name = "TYPE")]
    label: Option<String>,
    /// The whole body, a JSON object, instead of a message
    #[arg(long, value_name = "JSON", requires = "label")]
    #[arg(conflicts_with_all = ["message", "file", "dash", "role", "json_content", "call"])]
    #[arg(conflicts_with_all = ["meta", "model", "provider", "cost", "tokens", "phase", "own"])]
    data: Option<String>,
    /// When it was said, as RFC 3339; else now
    #[arg(long, value_name = "TIME", value_parser = moment)]
    time: Option<i64>,
}

impl Flags {
    /// Makes the entry. Reads standard input where that is asked for.
    pub(super) fn draft(&self) -> Result<Draft, Failure> {
        let label = self.label.clone().unwrap_or_else(|| MESSAGE.to_owned());
        let body = match &self.data {
            Some(data) => object("--data", data)?,
            None => self.message()?,
        };
        Ok(Draft { label, body, time: self.time })
    }

    fn message(&self) -> Result<Value, Failure> {
        let role = self.role.as_deref().unwrap_or("user");
        if self.call.is_some() && !matches!(role, "tool" | "toolResult") {
            return Err(Failure::Usage("--call needs -r tool".to_owned()));
        }
        if role.trim().is_empty() {
            return Err(Failure::Usage("the role is empty".to_owned()));
        }
        if !self.words.is_given() && self.dash.is_none() {
            let what = match self.label.as_deref() {
                None | Some(MESSAGE) => "give -m TEXT, -F FILE, - or --stdin",
                Some(_) => "give --data JSON",
            };
            return Err(Failure::Usage(format!("nothing to append: {what}")));
        }
        let text = self.words.read()?;
        let content = match self.json_content {
            false => Value::from(text),
            true => blocks(&text)?,
        };
        let fields = [
            ("role", Value::from(role)),
            ("content", content),
            ("toolCallId", self.call.clone().into()),
            ("metadata", self.metadata()?),
            ("phase", self.phase.clone().into()),
            ("self", self.own.clone().into()),
        ];
        Ok(Value::map(fields.into_iter().filter(|(_, value)| !value.is_null())))
    }

    fn metadata(&self) -> Result<Value, Failure> {
        let known: [(&str, Value); 4] = [
            ("model", self.model.clone().into()),
            ("provider", self.provider.clone().into()),
            ("cost", self.cost.clone().into()),
            ("tokens", self.tokens.map(i64::from).into()),
        ];
        let known = known.into_iter().filter(|(_, value)| !value.is_null());
        let mut pairs: Vec<(Key, Value)> = known.map(|(key, value)| (key.into(), value)).collect();
        if let Some(meta) = &self.meta
            && let Value::Map(more) = object("--meta", meta)?
        {
            for (key, value) in more {
                if pairs.iter().any(|(known, _)| *known == key) {
                    return Err(Failure::Usage(format!("--meta and --{key} say the same")));
                }
                pairs.push((key, value));
            }
        }
        Ok(if pairs.is_empty() { Value::Null } else { Value::Map(pairs) })
    }
}

/// Reads a JSON object out of a flag.
fn object(flag: &str, text: &str) -> Result<Value, Failure> {
    match json::parse(text.as_bytes()) {
        Ok(value @ Value::Map(_)) => Ok(value),
        Ok(_) => Err(Failure::request(format!("{flag} is not a JSON object"))),
        Err(error) => Err(Failure::request(format!("{flag}: {error}"))),
    }
}

fn blocks(text: &str) -> Result<Value, Failure> {
    match json::parse(text.as_bytes()) {
        Ok(value @ (Value::List(_) | Value::Text(_))) => Ok(value),
        Ok(_) => Err(Failure::request("the content is neither a list of blocks nor a string")),
        Err(error) => Err(Failure::request(format!("the content: {error}"))),
    }
}

fn amount(text: &str) -> Result<Value, String> {
    let value = Value::number(text).filter(|value| value.as_f64().is_some_and(|cost| cost >= 0.0));
    value.ok_or_else(|| "expected a number, 0 or more".to_owned())
}

fn moment(text: &str) -> Result<i64, String> {
    time::parse(text).ok_or_else(|| "expected a time such as 2026-01-31T09:30:00Z".to_owned())
}
