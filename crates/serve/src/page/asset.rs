//! One file of the page and the forms it can be sent in.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Read as _};

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};

/// How a file's bytes are packed for the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Packing {
    /// The smallest.
    Brotli,
    Gzip,
    Plain,
}

impl Packing {
    /// What a file's name says of it: the name without the ending, and the packing.
    pub(super) fn of_name(name: &str) -> (&str, Packing) {
        match name.rsplit_once('.') {
            Some((base, "br")) => (base, Packing::Brotli),
            Some((base, "gz")) => (base, Packing::Gzip),
            _ => (name, Packing::Plain),
        }
    }

    fn token(self) -> Option<&'static str> {
        match self {
            Packing::Brotli => Some("br"),
            Packing::Gzip => Some("gzip"),
            Packing::Plain => None,
        }
    }
}

/// One file of the page.
#[derive(Debug)]
pub(super) struct Asset {
    content_type: &'static str,
    cache_control: &'static str,
    /// By packing, the smallest first.
    forms: Vec<(Packing, Bytes)>,
    /// Names the contents; each form adds its packing.
    tag: String,
}

impl Asset {
    /// A file under its path. There is at least one form.
    pub(super) fn new(path: &str, mut forms: Vec<(Packing, Bytes)>) -> Asset {
        forms.sort_by_key(|(packing, _)| *packing);
        let mut hasher = DefaultHasher::new();
        for (_, bytes) in &forms {
            bytes.hash(&mut hasher);
        }
        Asset {
            content_type: content_type(path),
            // A name with a hash of the contents in it never means anything else.
            cache_control: if path.starts_with("assets/") {
                "public, max-age=31536000, immutable"
            } else {
                "no-cache"
            },
            forms,
            tag: format!("{:016x}", hasher.finish()),
        }
    }

    pub(super) fn answer(&self, asked: &HeaderMap) -> Response {
        let accepted = |packing: Packing| packing.token().is_none_or(|token| accepts(asked, token));
        let form = self.forms.iter().find(|(packing, _)| accepted(*packing)).or(self.forms.last());
        let Some((packing, bytes)) = form else { return StatusCode::NOT_FOUND.into_response() };
        let packing = if accepted(*packing) { *packing } else { Packing::Plain };
        let tag = match packing.token() {
            Some(token) => format!("\"{}-{token}\"", self.tag),
            None => format!("\"{}\"", self.tag),
        };

        let known = asked
            .get_all(header::IF_NONE_MATCH)
            .iter()
            .filter_map(|known| known.to_str().ok())
            .flat_map(|known| known.split(','))
            .any(|known| known.trim().trim_start_matches("W/") == tag);
        let mut response = if known {
            StatusCode::NOT_MODIFIED.into_response()
        } else {
            match self.body(packing, bytes) {
                Ok(body) => Response::new(body),
                Err(_) => return StatusCode::INTERNAL_SERVER_ERROR.into_response(),
            }
        };
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(self.cache_control));
        headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
        if let Ok(tag) = HeaderValue::from_str(&tag) {
            headers.insert(header::ETAG, tag);
        }
        if let Some(token) = packing.token() {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(token));
        }
        response
    }

    /// The bytes to send. A program that carries only packed forms unpacks for the few that take none.
    fn body(&self, packing: Packing, chosen: &Bytes) -> io::Result<Body> {
        let has = |wanted: Packing| self.forms.iter().find(|(packing, _)| *packing == wanted);
        if packing != Packing::Plain || has(Packing::Plain).is_some() {
            return Ok(Body::from(chosen.clone()));
        }
        let (_, packed) = has(Packing::Gzip).ok_or(io::ErrorKind::NotFound)?;
        let mut bytes = Vec::new();
        flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut bytes)?;
        Ok(Body::from(bytes))
    }
}

/// Whether a request takes answers in this encoding: named, and not with a weight of zero.
fn accepts(asked: &HeaderMap, token: &str) -> bool {
    let lists = asked.get_all(header::ACCEPT_ENCODING).iter().filter_map(|list| list.to_str().ok());
    lists.flat_map(|list| list.split(',')).any(|item| {
        let mut parts = item.split(';').map(str::trim);
        let named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(token));
        let refused = parts.any(|part| {
            part.strip_prefix("q=").and_then(|weight| weight.parse::<f32>().ok()).is_some_and(|q| q == 0.0)
        });
        named && !refused
    })
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" => "application/json",
        "webmanifest" => "application/manifest+json",
        "wasm" => "application/wasm",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "webp" => "image/webp",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asking(encodings: &str) -> HeaderMap {
        HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_str(encodings).unwrap())])
    }

    #[test]
    fn encodings_are_taken_at_their_word() {
        assert!(accepts(&asking("gzip, deflate, br;q=0.5"), "br"));
        assert!(!accepts(&asking("gzip, br; q=0"), "br"));
        assert!(!accepts(&asking("brotli"), "br"));
        assert!(!accepts(&HeaderMap::new(), "gzip"));
    }

    #[test]
    fn the_smallest_form_that_is_accepted_is_sent_and_has_a_tag_of_its_own() {
        let forms = vec![
            (Packing::Plain, Bytes::from_static(b"plain")),
            (Packing::Gzip, Bytes::from_static(b"gzip")),
            (Packing::Brotli, Bytes::from_static(b"br")),
        ];
        let asset = Asset::new("assets/x-1.js", forms);
        let mut tags = Vec::new();
        for (encodings, sent) in [("gzip, br", Some("br")), ("gzip", Some("gzip")), ("zstd", None)] {
            let answer = asset.answer(&asking(encodings));
            let header = |name| answer.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
            assert_eq!(header(header::CONTENT_ENCODING).as_deref(), sent);
            let tag = header(header::ETAG).unwrap();
            let mut again = asking(encodings);
            again.insert(header::IF_NONE_MATCH, HeaderValue::from_str(&format!("\"x\", W/{tag}")).unwrap());
            assert_eq!(asset.answer(&again).status(), StatusCode::NOT_MODIFIED);
            tags.push(tag);
        }
        tags.dedup();
        assert_eq!(tags.len(), 3, "{tags:?}");
    }
}
