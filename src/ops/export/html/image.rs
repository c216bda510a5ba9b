//! Pictures in a page: those that are in the message, of kinds that are only pictures.

use crate::ops::export::html::escape::escaped;
use crate::ops::export::html::inline::is_safe;
use crate::session::Image;

/// The kinds of pictures that a page shows.
const KINDS: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Appends a picture; what is none that may be shown is named.
pub(super) fn image(out: &mut String, image: &Image) {
    if let Some((kind, data)) = picture(image) {
        out.push_str(&format!(
            "<figure><img alt=\"picture\" src=\"data:{kind};base64,{data}\"></figure>\n"
        ));
        return;
    }
    let said = match image {
        Image::Data { mime, .. } => format!("picture that is not shown: {}", escaped(mime)),
        Image::Url(address) if is_safe(address) => {
            let address = escaped(address);
            format!("picture: <a href=\"{address}\" rel=\"noreferrer noopener\">{address}</a>")
        }
        Image::Url(_) => "picture that is not shown".to_owned(),
    };
    out.push_str(&format!("<p class=\"empty\">{said}</p>\n"));
}

/// Gives a picture that may be shown.
fn picture(image: &Image) -> Option<(&'static str, &str)> {
    let Image::Data { mime, base64 } = image else {
        return None;
    };
    let kind = KINDS.iter().find(|known| *known == mime)?;
    is_base64(base64).then_some((*kind, base64))
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

    fn data(mime: &str, base64: &str) -> Image {
        Image::Data { mime: mime.to_owned(), base64: base64.to_owned() }
    }

    #[test]
    fn only_pictures_are_shown() {
        let images = [
            (data("image/png", "AAAA"), true),
            (data("image/webp", "AA=="), true),
            (data("image/gif", "AAA="), true),
            (data("image/svg+xml", "AAAA"), false),
            (data("text/html", "AAAA"), false),
            (data("image/png", "AAA\"onerror=\"x"), false),
            (data("image/png", ""), false),
            (Image::Url("https://x/y.png".to_owned()), false),
            (Image::Url("javascript:x".to_owned()), false),
        ];
        for (shown, is_shown) in images {
            let mut out = String::new();
            image(&mut out, &shown);
            assert_eq!(out.contains("<img"), is_shown, "{out}");
            assert!(!out.contains("href=\"javascript"), "{out}");
        }
    }
}
