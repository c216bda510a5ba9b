//! Taking back a change of a session's metadata, field by field: what others changed since stays.

use crate::codec::Value;
use crate::object::Session;

/// Moves the fields that differ between `from` and `to`; `false` if one has moved on since.
pub(super) fn apply(meta: &mut Session, from: &Session, to: &Session) -> bool {
    field(&mut meta.name, &from.name, &to.name)
        && field(&mut meta.cwd, &from.cwd, &to.cwd)
        && field(&mut meta.provider, &from.provider, &to.provider)
        && field(&mut meta.model, &from.model, &to.model)
        && field(&mut meta.status, &from.status, &to.status)
        && field(&mut meta.dialect, &from.dialect, &to.dialect)
        && field(&mut meta.source, &from.source, &to.source)
        && field(&mut meta.fork, &from.fork, &to.fork)
        && pairs(&mut meta.meta, &from.meta, &to.meta)
}

fn field<T: Clone + PartialEq>(value: &mut T, from: &T, to: &T) -> bool {
    if from == to {
        return true;
    }
    let is_there = value == from;
    if is_there {
        value.clone_from(to);
    }
    is_there
}

/// Moves the pairs of a map that differ; what is no map is one field.
fn pairs(value: &mut Value, from: &Value, to: &Value) -> bool {
    if value == from {
        value.clone_from(to);
        return true;
    }
    let mut keys: Vec<&str> = Vec::new();
    for map in [from, to] {
        match map {
            Value::Map(pairs) => keys.extend(pairs.iter().map(|(key, _)| &**key)),
            Value::Null => {}
            _ => return field(value, from, to),
        }
    }
    keys.sort_unstable();
    keys.dedup();
    let Value::Map(now) = value else {
        return field(value, from, to);
    };
    for key in keys {
        let (was, wanted) = (from.get(key), to.get(key));
        if was == wanted {
            continue;
        }
        let place = now.iter().position(|(name, _)| name == key);
        if place.map(|at| &now[at].1) != was {
            return false;
        }
        match (place, wanted) {
            (Some(at), Some(wanted)) => now[at].1.clone_from(wanted),
            (Some(at), None) => {
                now.remove(at);
            }
            (None, Some(wanted)) => now.push((key.to_owned().into(), wanted.clone())),
            (None, None) => {}
        }
    }
    true
}
