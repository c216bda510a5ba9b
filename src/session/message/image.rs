//! A picture: its bytes, or where it is.

use crate::codec::Value;

/// A picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Image {
    /// Its bytes.
    Data {
        /// Its media type, such as `image/png`.
        mime: String,
        /// The bytes in Base64.
        base64: String,
    },
    /// Where it is.
    Url(String),
}

impl Image {
    /// Reads a picture of any shape; `None` if it tells neither its bytes nor where it is.
    pub(super) fn read(value: &Value) -> Option<Image> {
        let keys = ["source", "inlineData", "fileData", "image_url"];
        let inner = keys.iter().find_map(|key| value.get(key));
        let inner = inner.filter(|inner| inner.as_map().is_some()).unwrap_or(value);
        let text = |keys: &[&str]| keys.iter().find_map(|key| inner.get(key)?.as_text());
        let mime = text(&["mimeType", "media_type", "mime_type", "mime"]);
        match (mime, text(&["data"]), text(&["url", "image_url", "fileUri"])) {
            (Some(mime), Some(base64), _) => {
                Some(Image::Data { mime: mime.to_owned(), base64: base64.to_owned() })
            }
            (_, _, url) => url.map(Image::at),
        }
    }

    /// Makes a picture of an address, which may hold the picture itself.
    pub(super) fn at(url: &str) -> Image {
        let within = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
        match within {
            Some((mime, base64)) => {
                Image::Data { mime: mime.to_owned(), base64: base64.to_owned() }
            }
            None => Image::Url(url.to_owned()),
        }
    }

    /// Gives its address, which holds the picture itself where its bytes are known.
    pub fn url(&self) -> String {
        match self {
            Image::Data { mime, base64 } => format!("data:{mime};base64,{base64}"),
            Image::Url(url) => url.clone(),
        }
    }
}
