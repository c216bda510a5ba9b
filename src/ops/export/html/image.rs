//! Pictures in a page: those that are in the message, of kinds that are only pictures.

use crate::codec::Value;
use crate::ops::export::html::escape::escaped;
use crate::ops::export::html::inline::is_safe;

/// The kinds of pictures that a page shows.
const KINDS: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Appends a picture; what is none that may be shown is named.
pub(super) fn image(out: &mut String, value: &Value) {
    let found = source(value);
    if let Some((kind, data)) = found.and_then(picture) {
        out.push_str(&format!(
            "<figure><img alt=\"picture\" src=\"data:{kind};base64,{data}\"></figure>\n"
        ));
        return;
    }
    let said = match found {
        Some(Source::Data(kind, _)) => format!("picture that is not shown: {}", escaped(kind)),
        Some(Source::Address(address)) if is_safe(address) => {
            let address = escaped(address);
            format!("picture: <a href=\"{address}\" rel=\"noreferrer noopener\">{address}</a>")
        }
        _ => "picture that is not shown".to_owned(),
    };
    out.push_str(&format!("<p class=\"empty\">{said}</p>\n"));
}

/// Where a picture is.
#[derive(Clone, Copy)]
enum Source<'a> {
    /// In the message: its kind, and its bytes in base64.
    Data(&'a str, &'a str),
    /// Elsewhere.
    Address(&'a str),
}

/// Finds a picture in any of the forms that blocks have.
fn source(value: &Value) -> Option<Source<'_>> {
    let inner = ["source", "image_url"].iter().find_map(|key| value.get(key)).unwrap_or(value);
    let text = |keys: &[&str]| keys.iter().find_map(|key| inner.get(key)?.as_text());
    if let (Some(kind), Some(data)) =
        (text(&["media_type", "mimeType", "mime_type"]), text(&["data"]))
    {
        return Some(Source::Data(kind, data));
    }
    let address = inner.as_text().or_else(|| text(&["url"]))?;
    let data = address.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    Some(data.map_or(Source::Address(address), |(kind, data)| Source::Data(kind, data)))
}

/// Gives a picture that may be shown.
fn picture(source: Source<'_>) -> Option<(&'static str, &str)> {
    let Source::Data(kind, data) = source else {
        return None;
    };
    let kind = KINDS.iter().find(|known| **known == kind)?;
    is_base64(data).then_some((*kind, data))
}

fn is_base64(data: &str) -> bool {
    let digits = data.trim_end_matches('=');
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    !digits.is_empty()
        && data.len().is_multiple_of(4)
        && data.len() - digits.len() <= 2
        && digits.bytes().all(is_digit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::json;

    #[test]
    fn only_pictures_are_shown() {
        let shown = [
            r#"{"type":"image","data":"AAAA","mimeType":"image/png"}"#,
            r#"{"type":"image","source":{"media_type":"image/webp","data":"AA=="}}"#,
            r#"{"type":"image_url","image_url":{"url":"data:image/gif;base64,AAA="}}"#,
            r#"{"type":"input_image","image_url":"data:image/jpeg;base64,AAAA"}"#,
        ];
        let named = [
            r#"{"type":"image","data":"AAAA","mimeType":"image/svg+xml"}"#,
            r#"{"type":"image","data":"AAAA","mimeType":"text/html"}"#,
            r#"{"type":"image","data":"AAA\"onerror=\"x","mimeType":"image/png"}"#,
            r#"{"type":"image","data":"","mimeType":"image/png"}"#,
            r#"{"type":"image_url","image_url":{"url":"https://x/y.png"}}"#,
            r#"{"type":"image_url","image_url":{"url":"javascript:x"}}"#,
            r#"{"type":"image","data":7}"#,
        ];
        for (text, is_shown) in
            shown.map(|t| (t, true)).into_iter().chain(named.map(|t| (t, false)))
        {
            let mut out = String::new();
            image(&mut out, &json::parse(text.as_bytes()).unwrap());
            assert_eq!(out.contains("<img"), is_shown, "{out}");
        }
    }
}
