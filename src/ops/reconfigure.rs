//! Going on with another model or other settings, on a branch of its own.

use crate::codec::Value;
use crate::error::Result;
use crate::ops::variation::{Variation, refused};
use crate::ops::{Seen, Spot, Target};
use crate::session::{Draft, Settings, View, Wanted, settings};
use crate::store::Snapshot;

/// Says what another configuration would write at the end of a branch.
///
/// A model may be given as `provider/model`. What is not given stays as it is.
pub fn reconfigure(
    snapshot: &dyn Snapshot,
    target: &Target,
    new: &Settings,
    force: bool,
) -> Result<Variation> {
    let Seen { session, branch, end } = Seen::at(snapshot, target)?;
    let wanted = Wanted {
        model: new.model.is_some() || new.provider.is_some(),
        thinking: new.thinking.is_some(),
        tools: new.tools.is_some(),
        environment: new.environment.is_some(),
    };
    let found = settings(snapshot, end, wanted)?;
    let old = in_force(&View::of(snapshot, &session)?, found)?;
    let new = completed(new.clone(), &old);
    let stem = stem(&new);
    let (body, metadata) = described(&old, &new);
    if metadata.as_map().is_none_or(<[_]>::is_empty) {
        let why = "that is how it is already; nothing would change".to_owned();
        return Err(refused(why, "give another --model, --thinking, --tools or --environment"));
    }
    let variation = Variation {
        from: Spot { session, branch, parent: Some(end).filter(|_| target.parent.is_some()) },
        at: Some(end),
        drafts: vec![Draft { label: "config_change".to_owned(), body, time: None }],
        reason: "config_change",
        metadata,
        stem,
    };
    variation.check(snapshot, force)?;
    Ok(variation)
}

/// Takes from the session's metadata what its path does not say.
fn in_force(view: &View<'_>, mut found: Settings) -> Result<Settings> {
    if found.model.is_none() {
        let meta = view.meta()?;
        (found.model, found.provider) = (meta.model, meta.provider);
    }
    Ok(found)
}

/// Splits `provider/model`; a model without a provider stays with the one there is.
fn completed(mut new: Settings, old: &Settings) -> Settings {
    if let (Some(model), None) = (&new.model, &new.provider) {
        match model.split_once('/') {
            Some((provider, name)) if !provider.is_empty() && !name.is_empty() => {
                (new.provider, new.model) = (Some(provider.to_owned()), Some(name.to_owned()));
            }
            _ => new.provider = old.provider.clone(),
        }
    }
    if new.provider.is_some() && new.model.is_none() {
        new.model = old.model.clone();
    }
    new
}

/// Gives the body of the change, and what it changes: old and new of each.
fn described(old: &Settings, new: &Settings) -> (Value, Value) {
    let text = |value: &Option<String>| value.as_deref().map(Value::from);
    let fields = [
        ("model", text(&new.model)),
        ("provider", text(&new.provider)),
        ("thinking", text(&new.thinking)),
        ("tools", new.tools.clone()),
        ("environment", new.environment.clone()),
    ];
    let body = fields.into_iter().filter_map(|(key, value)| Some((key, value?)));
    let changes = [
        ("model", old.full_model().map(Value::from), new.full_model().map(Value::from)),
        ("thinking", text(&old.thinking), text(&new.thinking)),
        ("tools", old.tools.clone(), new.tools.clone()),
        ("environment", old.environment.clone(), new.environment.clone()),
    ];
    let mut metadata = Vec::new();
    for (key, was, now) in changes {
        if now.is_some() && now != was {
            metadata.push((format!("old_{key}").into(), was.unwrap_or(Value::Null)));
            metadata.push((format!("new_{key}").into(), now.unwrap_or(Value::Null)));
        }
    }
    (Value::map(body), Value::Map(metadata))
}

/// Makes a name for the branch of what is new.
fn stem(new: &Settings) -> String {
    let tools = new.tools.as_ref().and_then(Value::as_text);
    let environment = new.environment.as_ref().and_then(Value::as_text);
    let words = [new.model.as_deref(), new.thinking.as_deref(), tools, environment];
    let word = words.into_iter().flatten().map(slug).find(|slug| !slug.is_empty());
    word.unwrap_or_else(|| "config".to_owned())
}

/// Writes a text in small letters, digits and dots, with single dashes for the rest.
fn slug(text: &str) -> String {
    let mut slug = String::new();
    for letter in text.to_lowercase().chars() {
        match letter {
            letter if letter.is_alphanumeric() => slug.push(letter),
            '.' if !slug.is_empty() && !slug.ends_with(['.', '-']) => slug.push('.'),
            _ if !slug.is_empty() && !slug.ends_with(['.', '-']) => slug.push('-'),
            _ => {}
        }
    }
    slug.trim_end_matches(['.', '-']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_make_names_of_branches() {
        let cases = [
            ("claude-haiku-4", "claude-haiku-4"),
            ("Kimi K2.5 (fast)", "kimi-k2.5-fast"),
            ("../x..y/", "x.y"),
            ("///", ""),
        ];
        for (model, expected) in cases {
            assert_eq!(slug(model), expected, "{model}");
        }
    }
}
