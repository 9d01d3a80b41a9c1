//! Files of the page by path. Request paths are looked up here, never used as file names.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;

use super::asset::{Asset, Encoding};

#[derive(Debug)]
pub(crate) struct Site {
    assets: BTreeMap<String, Asset>,
}

impl Site {
    /// Groups `NAME.br` and `NAME.gz` as encodings of `NAME`.
    pub(super) fn new(files: Vec<(String, Bytes)>) -> Site {
        let mut variants: BTreeMap<String, Vec<(Encoding, Bytes)>> = BTreeMap::new();
        for (name, bytes) in files {
            let (base, encoding) = Encoding::of_name(&name);
            variants.entry(base.to_owned()).or_default().push((encoding, bytes));
        }
        let asset = |(path, variants): (String, _)| {
            let asset = Asset::new(&path, variants);
            (path, asset)
        };
        Site { assets: variants.into_iter().map(asset).collect() }
    }

    /// Adds an uncompressed file unless the path is taken.
    pub(super) fn add(&mut self, path: String, bytes: Bytes) {
        let asset = Asset::new(&path, vec![(Encoding::Identity, bytes)]);
        self.assets.entry(path).or_insert(asset);
    }

    /// Fallback for all paths without another route.
    pub(crate) fn routes(self) -> Router {
        Router::new().fallback_service(get(file).with_state(Arc::new(self)))
    }
}

async fn file(State(site): State<Arc<Site>>, uri: Uri, headers: HeaderMap) -> Response {
    let path = uri.path().trim_start_matches('/');
    let path = if path.is_empty() { "index.html" } else { path };
    match site.assets.get(path) {
        Some(asset) => asset.respond(&headers),
        None => (StatusCode::NOT_FOUND, "not found\n").into_response(),
    }
}
