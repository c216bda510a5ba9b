//! Settings: what holds, and which file, variable or default says so.
//!
//! The environment wins over the store's `config.toml`, that over the user's, that over defaults.
//! They are read once, before the command runs.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use sapwood::disk::{self, OsDisk};
use sapwood::error::Error;
use sapwood::ops::RoleMap;
use sapwood::time;
use toml_edit::{DocumentMut, Item, TableLike};

use crate::args::Global;
use crate::failure::Failure;
use crate::open;

/// The name of a file with settings.
const FILE_NAME: &str = "config.toml";

/// How long such a file may be.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The table whose keys are roles.
pub(crate) const ROLE_MAP: &str = "context.role-map";

static SETTINGS: OnceLock<Settings> = OnceLock::new();

/// A key, and what can be said of it.
pub(crate) struct Key {
    /// Its name.
    pub(crate) name: &'static str,
    /// The variables that win over files.
    variables: &'static [&'static str],
    default: Option<&'static str>,
    /// The words it can be; any, if none are given.
    words: &'static [&'static str],
}

/// Every key but those of the role map.
pub(crate) const KEYS: [Key; 12] = [
    key("core.color", &[], Some("auto"), &["auto", "always", "never"]),
    key("core.durability", &[], Some("full"), &["full", "relaxed"]),
    key("core.lock-timeout-ms", &["SAPWOOD_LOCK_TIMEOUT_MS"], Some("10000"), &[]),
    key("core.pager", &["SAPWOOD_PAGER"], None, &[]),
    key("gc.auto", &["SAPWOOD_GC_AUTO"], Some("20000"), &[]),
    key("gc.loose", &[], Some("2000"), &[]),
    key("gc.operations", &[], Some("90 days"), &[]),
    key("gc.packs", &[], Some("32"), &[]),
    key("gc.prune", &[], Some("2 weeks"), &[]),
    key("session.model", &[], None, &[]),
    key("session.provider", &[], None, &[]),
    key("user.name", &["SAPWOOD_ACTOR"], None, &[]),
];

/// The keys whose values are numbers, and those whose values are times.
const NUMBERS: [&str; 4] = ["core.lock-timeout-ms", "gc.auto", "gc.loose", "gc.packs"];
const TIMES: [&str; 2] = ["gc.operations", "gc.prune"];

/// What a role can be in a context.
const ROLES: &[&str] = &["user", "assistant", "system"];

const fn key(
    name: &'static str,
    variables: &'static [&'static str],
    default: Option<&'static str>,
    words: &'static [&'static str],
) -> Key {
    Key { name, variables, default, words }
}

/// Who says a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Nobody: it is the default.
    Default,
    /// The user's file.
    User(PathBuf),
    /// The store's file.
    Store(PathBuf),
    /// A variable of the environment.
    Environment(&'static str),
}

/// A value, and who says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    /// The value.
    pub(crate) value: String,
    /// Who says it.
    pub(crate) origin: Origin,
}

/// All that holds, by key.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    values: BTreeMap<String, Setting>,
    /// What the user's file alone says.
    own: BTreeMap<String, Setting>,
    /// What could not be read, in files and variables.
    pub(crate) faults: Vec<String>,
}

impl Settings {
    /// Gives what holds, by key; or only what the user's file says.
    pub(crate) fn all(&self, is_global: bool) -> &BTreeMap<String, Setting> {
        if is_global { &self.own } else { &self.values }
    }

    fn read_file(&mut self, path: &Path, origin: Origin) {
        let document = match read(path) {
            Ok(document) => document,
            Err(failure) => return self.faults.push(failure.message()),
        };
        for (key, value) in flat(&document) {
            match check(&key, &value) {
                Ok(()) => {
                    self.values.insert(key, Setting { value, origin: origin.clone() });
                }
                // A newer program may know it.
                Err(_) if !is_known(&key) => {}
                Err(failure) => {
                    self.faults.push(format!("{}: {}", path.display(), failure.message()));
                }
            }
        }
    }

    fn read_environment(&mut self) {
        for key in &KEYS {
            let found = key.variables.iter().find_map(|name| Some((*name, open::text(name)?)));
            let Some((name, value)) = found else {
                continue;
            };
            match check(key.name, &value) {
                Ok(()) => {
                    let origin = Origin::Environment(name);
                    self.values.insert(key.name.to_owned(), Setting { value, origin });
                }
                Err(failure) => self.faults.push(format!("${name}: {}", failure.message())),
            }
        }
    }
}

/// Reads all settings. Where a file is broken, the others hold.
pub(crate) fn load(global: &Global) -> Result<(), Failure> {
    let mut settings = Settings::default();
    for key in &KEYS {
        if let Some(default) = key.default {
            let value = default.to_owned();
            settings.values.insert(key.name.to_owned(), Setting { value, origin: Origin::Default });
        }
    }
    if let Some(path) = user_file() {
        settings.read_file(&path, Origin::User(path.clone()));
        let own = settings.values.iter().filter(|(_, set)| set.origin != Origin::Default);
        settings.own = own.map(|(key, set)| (key.clone(), set.clone())).collect();
    }
    if let Ok(store) = open::find(global) {
        let path = store.join(FILE_NAME);
        settings.read_file(&path, Origin::Store(path.clone()));
    }
    settings.read_environment();
    match SETTINGS.get_or_init(|| settings).faults.first() {
        None => Ok(()),
        Some(fault) => Err(Failure::Request {
            message: fault.clone(),
            hint: Some("mend it; 'sapwood config' and 'sapwood fsck' work all the same".to_owned()),
        }),
    }
}

/// Gives all settings.
pub(crate) fn current() -> &'static Settings {
    SETTINGS.get_or_init(Settings::default)
}

/// Gives the value of a key, if it has one.
pub(crate) fn text(key: &str) -> Option<String> {
    current().values.get(key).map(|setting| setting.value.clone())
}

/// Gives what roles stand for: what flags say (`ROLE=ROLE`), else what the settings say.
pub(crate) fn role_map(flags: &[String]) -> Result<RoleMap, Failure> {
    let mut roles = RoleMap::default();
    for (key, setting) in &current().values {
        if let Some(role) = role_of(key) {
            roles.map(role, &setting.value)?;
        }
    }
    for flag in flags {
        roles.add(flag)?;
    }
    Ok(roles)
}

/// Names the user's file.
pub(crate) fn user_file() -> Option<PathBuf> {
    Some(open::config_directory()?.join(FILE_NAME))
}

/// Names the file of a store.
pub(crate) fn store_file(store: &Path) -> PathBuf {
    store.join(FILE_NAME)
}

/// Says what is wrong with a value, if anything is.
pub(crate) fn check(key: &str, value: &str) -> Result<(), Failure> {
    let words = match (role_of(key), KEYS.iter().find(|known| known.name == key)) {
        (Some(_), _) => ROLES,
        (None, Some(known)) => known.words,
        (None, None) => return Err(unknown(key)),
    };
    if !words.is_empty() && !words.contains(&value) {
        let words = words.join(", ");
        return Err(Failure::request(format!("{key} is one of {words}, not '{value}'")));
    }
    if NUMBERS.contains(&key) && value.parse::<u64>().is_err() {
        let what = if key.ends_with("-ms") { "a number of milliseconds" } else { "a number" };
        return Err(Failure::request(format!("{key} is {what}, not '{value}'")));
    }
    if TIMES.contains(&key) {
        before(key, Some(value), 0)?;
    }
    Ok(())
}

/// Reads up to when something is dropped: a time, an age, or `never`.
pub(crate) fn before(key: &str, value: Option<&str>, now_ms: i64) -> Result<i64, Failure> {
    match value {
        None | Some("never") => Ok(i64::MIN),
        Some(value) => time::parse_relative(value, now_ms).ok_or_else(|| Failure::Request {
            message: format!("{key} is a time or 'never', not '{value}'"),
            hint: Some("try 'now', '2 weeks' or 2026-01-31".to_owned()),
        }),
    }
}

/// Refuses a key that is not there.
pub(crate) fn check_key(key: &str) -> Result<(), Failure> {
    if is_known(key) { Ok(()) } else { Err(unknown(key)) }
}

fn is_known(key: &str) -> bool {
    role_of(key).is_some() || KEYS.iter().any(|known| known.name == key)
}

/// Gives the role of a key of the role map.
fn role_of(key: &str) -> Option<&str> {
    key.strip_prefix(ROLE_MAP)?.strip_prefix('.').filter(|role| !role.is_empty())
}

fn unknown(key: &str) -> Failure {
    let names: Vec<&str> = KEYS.iter().map(|known| known.name).collect();
    Failure::Request {
        message: format!("there is no key '{key}'"),
        hint: Some(format!("the keys are {}, {ROLE_MAP}.ROLE", names.join(", "))),
    }
}

/// Sets a key in a file, or takes it out, and keeps all else as it stands.
pub(crate) fn edit(path: &Path, key: &str, value: Option<&str>) -> Result<(), Failure> {
    let mut document = read(path)?;
    let parts = match role_of(key) {
        Some(role) => vec!["context", "role-map", role],
        None => key.splitn(2, '.').collect(),
    };
    let Some((last, tables)) = parts.split_last() else {
        return Err(unknown(key));
    };
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for name in tables {
        let item = table.entry(name).or_insert_with(toml_edit::table);
        table = item.as_table_like_mut().ok_or_else(|| {
            Failure::request(format!("'{name}' in {} is not a table", path.display()))
        })?;
    }
    match value {
        None => drop(table.remove(last)),
        Some(value) => {
            let mut new = match (key, value.parse::<i64>()) {
                (key, Ok(number)) if NUMBERS.contains(&key) => toml_edit::Value::from(number),
                _ => toml_edit::Value::from(value),
            };
            if let Some(old) = table.get(last).and_then(Item::as_value) {
                *new.decor_mut() = old.decor().clone();
            }
            table.insert(last, Item::Value(new));
        }
    }
    if let Some(directory) = path.parent() {
        let disk: &dyn disk::Disk = &OsDisk;
        disk.create_dir(directory).map_err(Error::io("create", directory))?;
    }
    let text = document.to_string();
    Ok(disk::replace_file(&OsDisk, path, text.as_bytes()).map_err(Error::io("write", path))?)
}

/// Reads a file; one that is not there is empty.
fn read(path: &Path) -> Result<DocumentMut, Failure> {
    let bytes = match disk::read_file(&OsDisk, path, FILE_BYTES_MAX) {
        Ok(bytes) => bytes,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Vec::new()
        }
        Err(error) => return Err(Error::io("read", path)(error).into()),
    };
    let text = String::from_utf8(bytes)
        .map_err(|_| Failure::request(format!("{} is not UTF-8", path.display())))?;
    text.parse().map_err(|error: toml_edit::TomlError| {
        let at = error.span().map_or(0, |span| span.start.min(text.len()));
        let line = text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        let why = error.message().lines().collect::<Vec<_>>().join(", ");
        Failure::request(format!("{} line {line}: {why}", path.display()))
    })
}

/// Lists the values of a document by their whole keys.
fn flat(document: &DocumentMut) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open: Vec<(String, &dyn TableLike)> = vec![(String::new(), document.as_table())];
    while let Some((prefix, table)) = open.pop() {
        for (name, item) in table.iter() {
            let key = format!("{prefix}{name}");
            match (item.as_table_like(), item.as_value()) {
                (Some(below), _) => open.push((format!("{key}."), below)),
                (None, Some(toml_edit::Value::String(text))) => {
                    found.push((key, text.value().clone()));
                }
                (None, Some(value)) => found.push((key, value.to_string().trim().to_owned())),
                (None, None) => {}
            }
        }
    }
    found
}
