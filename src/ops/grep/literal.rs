//! Finding texts in a pattern that all that matches must have.

use regex_syntax::hir::{Hir, HirKind};

/// What a class is made of others with. Where case is ignored, one may then have more letters than
/// as it stands.
const CLASS_OPERATORS: [&str; 3] = ["&&", "--", "~~"];

/// Gives texts that stand in everything that a regular expression matches, in capitals or not where
/// it is to ignore case; none where the pattern is no regular expression.
pub fn required_texts(pattern: &str, ignores_case: bool) -> Vec<String> {
    let mut texts = Vec::new();
    if ignores_case && CLASS_OPERATORS.iter().any(|operator| pattern.contains(operator)) {
        return texts;
    }
    if let Ok(hir) = regex_syntax::parse(pattern) {
        collect(&hir, &mut texts);
    }
    texts
}

/// Adds the texts that stand in everything that an expression matches.
///
/// It recurses no deeper than the parser lets patterns be.
fn collect(hir: &Hir, texts: &mut Vec<String>) {
    match hir.kind() {
        HirKind::Literal(literal) => {
            texts.extend(String::from_utf8(literal.0.to_vec()));
        }
        HirKind::Concat(parts) => parts.iter().for_each(|part| collect(part, texts)),
        HirKind::Capture(capture) => collect(&capture.sub, texts),
        HirKind::Repetition(repetition) if repetition.min > 0 => collect(&repetition.sub, texts),
        HirKind::Empty
        | HirKind::Class(_)
        | HirKind::Look(_)
        | HirKind::Repetition(_)
        | HirKind::Alternation(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_found_that_can_not_be_missing() {
        for (pattern, expected) in [
            ("needle", &["needle"][..]),
            (r"panicked at .*\.rs:\d+", &["panicked at ", ".rs:"]),
            ("^(un)?seen", &["seen"]),
            ("(needle)+ in", &["needle", " in"]),
            ("a|b", &[]),
            ("x*", &[]),
            ("(?i)needle", &[]),
            ("[abc]{3}", &[]),
            (r"a\+b", &["a+b"]),
            ("(", &[]),
        ] {
            assert_eq!(required_texts(pattern, false), expected, "{pattern}");
        }
    }

    #[test]
    fn a_class_that_has_more_letters_where_case_is_ignored_is_no_text() {
        for pattern in ["zoo[mN&&mn]zoo", "zoo[[mn]--[^mN]]zoo", "zoo[mn~~N]zoo"] {
            assert!(required_texts(pattern, true).is_empty(), "{pattern}");
        }
        assert_eq!(required_texts("zoo[mN&&mn]zoo", false), ["zoomzoo"]);
    }
}
