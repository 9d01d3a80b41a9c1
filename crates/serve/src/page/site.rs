//! All files of the page by their paths. A path is only ever looked up here, never made into the name of a file.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;

use super::asset::{Asset, Packing};

/// The files of the page.
#[derive(Debug)]
pub(crate) struct Site {
    assets: BTreeMap<String, Asset>,
}

impl Site {
    /// Files by name; `NAME.br` and `NAME.gz` are forms of `NAME`.
    pub(super) fn of(files: Vec<(String, Bytes)>) -> Site {
        let mut forms: BTreeMap<String, Vec<(Packing, Bytes)>> = BTreeMap::new();
        for (name, bytes) in files {
            let (base, packing) = Packing::of_name(&name);
            forms.entry(base.to_owned()).or_default().push((packing, bytes));
        }
        let asset = |(path, forms): (String, _)| {
            let asset = Asset::new(&path, forms);
            (path, asset)
        };
        Site { assets: forms.into_iter().map(asset).collect() }
    }

    /// Adds a file that is sent as it is, unless there is one under that path.
    pub(super) fn add(&mut self, path: String, bytes: Bytes) {
        let asset = Asset::new(&path, vec![(Packing::Plain, bytes)]);
        self.assets.entry(path).or_insert(asset);
    }

    /// The page at every path that nothing else answers.
    pub(crate) fn routes(self) -> Router {
        Router::new().fallback_service(get(file).with_state(Arc::new(self)))
    }
}

async fn file(State(site): State<Arc<Site>>, uri: Uri, headers: HeaderMap) -> Response {
    let path = uri.path().trim_start_matches('/');
    let path = if path.is_empty() { "index.html" } else { path };
    match site.assets.get(path) {
        Some(asset) => asset.answer(&headers),
        None => (StatusCode::NOT_FOUND, "there is nothing here\n").into_response(),
    }
}
