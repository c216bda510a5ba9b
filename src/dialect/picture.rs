//! Pictures in the forms of all programs.

use crate::codec::Value;
use crate::dialect::fields::text;

/// A picture.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Picture<'a> {
    /// Its bytes in base64.
    Data {
        /// What they are: `image/png`.
        media: &'a str,
        data: &'a str,
    },
    /// Where it is to be found.
    Address(&'a str),
}

impl<'a> Picture<'a> {
    /// Reads a picture from a block.
    pub(super) fn of(block: &'a Value) -> Option<Picture<'a>> {
        let inner = block.get("source").unwrap_or(block);
        let media = text(inner, "media_type").or_else(|| text(inner, "mimeType"));
        if let (Some(media), Some(data)) = (media, text(inner, "data")) {
            return Some(Picture::Data { media, data });
        }
        let named = inner.get("image_url").unwrap_or(inner);
        let url = named.as_text().or_else(|| text(named, "url"))?;
        let data = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
        Some(match data {
            Some((media, data)) => Picture::Data { media, data },
            None => Picture::Address(url),
        })
    }
}
