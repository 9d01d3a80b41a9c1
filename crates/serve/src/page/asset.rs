//! A file of the page in its content encodings.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::io::{self, Read as _};

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use brotli_decompressor::Decompressor;

use crate::etag;

/// Input buffer of decompression.
const BUFFER: usize = 16 << 10;

/// Content encoding, in order of preference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Encoding {
    Brotli,
    Gzip,
    Identity,
}

impl Encoding {
    /// Splits a file name into the name without `.br` or `.gz` and the encoding.
    pub(super) fn of_name(name: &str) -> (&str, Encoding) {
        match name.rsplit_once('.') {
            Some((base, "br")) => (base, Encoding::Brotli),
            Some((base, "gz")) => (base, Encoding::Gzip),
            _ => (name, Encoding::Identity),
        }
    }

    fn token(self) -> Option<&'static str> {
        match self {
            Encoding::Brotli => Some("br"),
            Encoding::Gzip => Some("gzip"),
            Encoding::Identity => None,
        }
    }
}

/// A file of the page.
#[derive(Debug)]
pub(super) struct Asset {
    content_type: &'static str,
    cache_control: &'static str,
    /// Sorted by encoding.
    variants: Vec<(Encoding, Bytes)>,
    hash: u64,
}

impl Asset {
    /// A file with at least one variant.
    pub(super) fn new(path: &str, mut variants: Vec<(Encoding, Bytes)>) -> Asset {
        variants.sort_by_key(|(encoding, _)| *encoding);
        Asset {
            content_type: content_type(path),
            // File names in assets/ contain a hash of the contents.
            cache_control: if path.starts_with("assets/") {
                "public, max-age=31536000, immutable"
            } else {
                "no-cache"
            },
            hash: etag::hash(variants.iter().map(|(_, bytes)| bytes).collect::<Vec<_>>()),
            variants,
        }
    }

    pub(super) fn respond(&self, request: &HeaderMap) -> Response {
        let accepted = |encoding: Encoding| encoding.token().is_none_or(|token| accepts(request, token));
        let variant = self.variants.iter().find(|(encoding, _)| accepted(*encoding)).or(self.variants.last());
        let Some((encoding, bytes)) = variant else { return StatusCode::NOT_FOUND.into_response() };
        let encoding = if accepted(*encoding) { *encoding } else { Encoding::Identity };
        let etag = match encoding.token() {
            Some(token) => format!("\"{:016x}-{token}\"", self.hash),
            None => format!("\"{:016x}\"", self.hash),
        };
        let mut response = if etag::is_current(request, &etag) {
            StatusCode::NOT_MODIFIED.into_response()
        } else {
            match self.body(encoding, bytes) {
                Ok(body) => Response::new(body),
                Err(_) => return StatusCode::INTERNAL_SERVER_ERROR.into_response(),
            }
        };
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(self.cache_control));
        headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
        if let Ok(etag) = HeaderValue::from_str(&etag) {
            headers.insert(header::ETAG, etag);
        }
        if let Some(token) = encoding.token() {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(token));
        }
        response
    }

    /// The bytes to send, decompressed if only compressed variants exist and the client accepts none.
    fn body(&self, encoding: Encoding, chosen: &Bytes) -> io::Result<Body> {
        let variant = |wanted: Encoding| self.variants.iter().find(|(encoding, _)| *encoding == wanted);
        if encoding != Encoding::Identity || variant(Encoding::Identity).is_some() {
            return Ok(Body::from(chosen.clone()));
        }
        let mut bytes = Vec::new();
        if let Some((_, compressed)) = variant(Encoding::Gzip) {
            flate2::read::GzDecoder::new(&compressed[..]).read_to_end(&mut bytes)?;
        } else {
            let (_, compressed) = variant(Encoding::Brotli).ok_or(io::ErrorKind::NotFound)?;
            Decompressor::new(&compressed[..], BUFFER).read_to_end(&mut bytes)?;
        }
        Ok(Body::from(bytes))
    }
}

/// Whether `Accept-Encoding` lists this encoding with a nonzero weight.
fn accepts(request: &HeaderMap, token: &str) -> bool {
    let lists = request.get_all(header::ACCEPT_ENCODING).iter().filter_map(|list| list.to_str().ok());
    lists.flat_map(|list| list.split(',')).any(|item| {
        let mut parts = item.split(';').map(str::trim);
        let named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(token));
        let rejected = parts.any(|part| {
            part.strip_prefix("q=").and_then(|weight| weight.parse::<f32>().ok()).is_some_and(|q| q == 0.0)
        });
        named && !rejected
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
    use axum::body::to_bytes;

    use super::*;

    fn accepting(encodings: &str) -> HeaderMap {
        HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_str(encodings).unwrap())])
    }

    #[test]
    fn accept_encoding_is_parsed() {
        assert!(accepts(&accepting("gzip, deflate, br;q=0.5"), "br"));
        assert!(!accepts(&accepting("gzip, br; q=0"), "br"));
        assert!(!accepts(&accepting("brotli"), "br"));
        assert!(!accepts(&HeaderMap::new(), "gzip"));
    }

    #[test]
    fn best_accepted_encoding_is_sent_with_its_own_etag() {
        let variants = vec![
            (Encoding::Identity, Bytes::from_static(b"plain")),
            (Encoding::Gzip, Bytes::from_static(b"gzip")),
            (Encoding::Brotli, Bytes::from_static(b"br")),
        ];
        let asset = Asset::new("assets/x-1.js", variants);
        let mut etags = Vec::new();
        for (encodings, sent) in [("gzip, br", Some("br")), ("gzip", Some("gzip")), ("zstd", None)] {
            let response = asset.respond(&accepting(encodings));
            let header = |name| response.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
            assert_eq!(header(header::CONTENT_ENCODING).as_deref(), sent);
            let etag = header(header::ETAG).unwrap();
            let mut again = accepting(encodings);
            again.insert(header::IF_NONE_MATCH, HeaderValue::from_str(&format!("\"x\", W/{etag}")).unwrap());
            assert_eq!(asset.respond(&again).status(), StatusCode::NOT_MODIFIED);
            etags.push(etag);
        }
        etags.dedup();
        assert_eq!(etags.len(), 3, "{etags:?}");
    }

    #[tokio::test]
    async fn a_file_that_is_there_as_brotli_only_is_sent_to_everyone() {
        // By Node's `brotliCompressSync`.
        let packed = Bytes::from_static(&[
            27, 30, 0, 248, 141, 211, 101, 246, 211, 9, 109, 13, 210, 54, 135, 167, 89, 202, 222, 232, 196,
            80, 17, 64, 150, 178, 15,
        ]);
        let text = b"some text, some text, some text";
        let asset = Asset::new("assets/x-1.js", vec![(Encoding::Brotli, packed.clone())]);
        for (encodings, encoding, sent) in [("br", Some("br"), &packed[..]), ("gzip", None, text)] {
            let response = asset.respond(&accepting(encodings));
            let found = response.headers().get(header::CONTENT_ENCODING).map(|value| value.to_str().unwrap());
            assert_eq!(found, encoding);
            assert_eq!(to_bytes(response.into_body(), 1000).await.unwrap(), sent);
        }
    }
}
