//! What `update-ref --stdin` reads: git's lines, or its NUL form.

use super::{Change, Target};
use crate::failure::Failure;
use crate::quote;

/// Reads all changes, or says what is wrong with the first that is none.
pub(crate) fn parse(input: &[u8], is_null: bool) -> Result<Vec<Change>, Failure> {
    if is_null {
        return parse_null(input);
    }
    let mut changes = Vec::new();
    for (line, number) in input.split(|byte| *byte == b'\n').zip(1..) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if !line.is_empty() {
            changes.push(parse_line(line).map_err(|failure| failure.on_line(number))?);
        }
    }
    Ok(changes)
}

/// Makes the change that `delete` asks for.
pub(crate) fn delete(name: &str, old: Option<&str>) -> Result<Change, Failure> {
    let old = old.map(Target::parse);
    if old == Some(Target::Nowhere) {
        return Err(Failure::request("what is deleted can't be missing before"));
    }
    Ok(Change { name: name.to_owned(), new: Some(Target::Nowhere), old })
}

fn parse_line(line: &[u8]) -> Result<Change, Failure> {
    let mut words = Vec::new();
    let mut rest = line;
    loop {
        let (word, after) = quote::word(rest).map_err(Failure::request)?;
        words.push(text(word)?);
        rest = match after {
            [] => break,
            [b' ', next @ ..] => next,
            _ => return Err(Failure::request("a space must follow a quoted word")),
        };
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let [verb, name, fields @ ..] = words.as_slice() else {
        return Err(Failure::request(format!("'{}' names no ref", words.join(" "))));
    };
    match (*verb, fields) {
        ("update", [new]) => change(verb, name, Some(new), None),
        ("update", [new, old]) => change(verb, name, Some(new), Some(old)),
        ("create", [new]) => change(verb, name, Some(new), None),
        ("delete" | "verify", []) => change(verb, name, None, None),
        ("delete" | "verify", [old]) => change(verb, name, None, Some(old)),
        _ => Err(malformed(verb)),
    }
}

fn parse_null(input: &[u8]) -> Result<Vec<Change>, Failure> {
    let mut fields = input.split(|byte| *byte == 0);
    let mut changes = Vec::new();
    while let Some(head) = fields.next() {
        if head.is_empty() {
            if fields.next().is_some() {
                return Err(Failure::request("an empty field stands where a change begins"));
            }
            break;
        }
        let head = text(head.to_vec())?;
        let Some((verb, name)) = head.split_once(' ') else {
            return Err(Failure::request(format!("'{head}' names no ref")));
        };
        let mut field = || match fields.next() {
            Some(field) => text(field.to_vec()),
            None => Err(malformed(verb)),
        };
        let new = match verb {
            "update" | "create" => Some(field()?),
            _ => None,
        };
        let old = match verb {
            "create" => String::new(),
            _ => field()?,
        };
        let old = Some(old.as_str()).filter(|old| !old.is_empty());
        changes.push(change(verb, name, new.as_deref(), old)?);
    }
    Ok(changes)
}

fn change(verb: &str, name: &str, new: Option<&str>, old: Option<&str>) -> Result<Change, Failure> {
    let new = new.map(Target::parse);
    let old_target = old.map(Target::parse);
    let (new, old) = match verb {
        "update" => (new, old_target),
        "create" if new == Some(Target::Nowhere) => {
            return Err(Failure::request("what is created must point somewhere"));
        }
        "create" => (new, Some(Target::Nowhere)),
        "delete" => return delete(name, old),
        "verify" => (None, Some(old_target.unwrap_or(Target::Nowhere))),
        _ => return Err(malformed(verb)),
    };
    Ok(Change { name: name.to_owned(), new, old })
}

fn malformed(verb: &str) -> Failure {
    let form = match verb {
        "update" => "update REF NEW [OLD]",
        "create" => "create REF NEW",
        "delete" => "delete REF [OLD]",
        "verify" => "verify REF [OLD]",
        _ => "update, create, delete or verify",
    };
    Failure::Request {
        message: format!("malformed '{verb}'"),
        hint: Some(format!("expected: {form}; names with spaces in double quotes")),
    }
}

fn text(bytes: Vec<u8>) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(|_| Failure::request("names must be UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn revision(text: &str) -> Option<Target> {
        Some(Target::Revision(text.to_owned()))
    }

    fn expected(name: &str, new: Option<Target>, old: Option<Target>) -> Change {
        Change { name: name.to_owned(), new, old }
    }

    #[test]
    fn lines_and_nul_form_say_the_same() {
        let zeros = "0".repeat(64);
        let lines = format!(
            "update a x\nupdate \"b c\" \"The Architect\" y\r\ncreate d x\n\ndelete e\n\
             delete f y\nverify g y\nverify h\nupdate i x {zeros}\n"
        );
        let nul = format!(
            "update a\0x\0\0update b c\0The Architect\0y\0create d\0x\0delete e\0\0\
             delete f\0y\0verify g\0y\0verify h\0\0update i\0x\0{zeros}\0"
        );
        let changes = [
            expected("a", revision("x"), None),
            expected("b c", revision("The Architect"), revision("y")),
            expected("d", revision("x"), Some(Target::Nowhere)),
            expected("e", Some(Target::Nowhere), None),
            expected("f", Some(Target::Nowhere), revision("y")),
            expected("g", None, revision("y")),
            expected("h", None, Some(Target::Nowhere)),
            expected("i", revision("x"), Some(Target::Nowhere)),
        ];
        assert_eq!(parse(lines.as_bytes(), false).unwrap(), changes);
        assert_eq!(parse(nul.as_bytes(), true).unwrap(), changes);
    }

    #[test]
    fn an_empty_quoted_word_means_nowhere() {
        let changes = parse(b"update a x \"\"", false).unwrap();
        assert_eq!(changes[0].old, Some(Target::Nowhere));
    }

    #[test]
    fn what_is_no_change_is_refused() {
        let bad =
            ["move a b", "update a", "create a x y", "delete", "verify a b c", "create a \"\""];
        for line in bad {
            assert!(parse(line.as_bytes(), false).is_err(), "{line}");
        }
        for input in ["update a\0x", "\0\0x", "delete\0", "create a\0\0"] {
            assert!(parse(input.as_bytes(), true).is_err(), "{input:?}");
        }
    }
}
