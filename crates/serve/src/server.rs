//! The server: bound to its address first, so that what it serves can be told before it runs.

use std::io;
use std::net::SocketAddr;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::about::{About, about};
use crate::arena::{self, Tables};
use crate::explorer::{self, SetStore};
use crate::guard::{self, Guard};
use crate::runs::{self, Roots};
use crate::{Offer, OfferError, page};

/// A server that listens and does not answer yet.
#[derive(Debug)]
pub struct Server {
    runtime: Runtime,
    listener: TcpListener,
    address: SocketAddr,
    router: Router,
    summary: Vec<String>,
}

/// Why a server cannot run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Something cannot be served.
    #[error(transparent)]
    Offer(#[from] OfferError),
    /// The address cannot be had.
    #[error("cannot listen on {address}: {error}; port 0 takes a free one")]
    Address {
        /// Which.
        address: SocketAddr,
        /// Why.
        error: io::Error,
    },
    /// The system refuses threads or connections.
    #[error("the server failed: {0}")]
    Failed(#[from] io::Error),
}

impl Server {
    /// Opens what is offered and listens.
    ///
    /// # Errors
    /// When something offered cannot be read, or the address cannot be had.
    pub fn bind(offer: &Offer, address: SocketAddr) -> Result<Server, ServeError> {
        let store = SetStore::open(&offer.data)?;
        let roots = Roots::open(&offer.runs).map_err(OfferError::from)?;
        let tables = Tables::open(&offer.ledgers)?;
        let site = page::site(offer.page.as_deref(), &offer.given)?;

        // Two threads: one may read a block from the disk while the other answers.
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let listener = runtime
            .block_on(TcpListener::bind(address))
            .map_err(|error| ServeError::Address { address, error })?;
        let address = listener.local_addr()?;

        let has = About {
            version: env!("CARGO_PKG_VERSION"),
            data: !offer.data.is_empty(),
            runs: !offer.runs.is_empty(),
            arena: !offer.ledgers.is_empty(),
            given: offer.given.iter().map(|model| model.name().to_owned()).collect(),
        };
        let summary = [store.summary(), roots.summary(), tables.summary()];
        let router = Router::new()
            .route("/api/about", get(async move || about(has.clone()).await))
            .nest("/api/data", explorer::routes(store))
            .nest("/api/runs", runs::routes(roots))
            .nest("/runs", runs::page_routes())
            .nest("/api/arena", arena::routes(tables))
            .merge(site.routes())
            .layer(from_fn_with_state(Guard::of(address), guard::check));
        let summary = summary.into_iter().filter(|part| !part.is_empty()).collect();
        Ok(Server { runtime, listener, address, router, summary })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What is served besides the page, a line for each.
    pub fn summary(&self) -> &[String] {
        &self.summary
    }

    /// Answers until the user or the system asks the program to stop; answers that were begun are finished.
    ///
    /// # Errors
    /// When the system refuses connections.
    pub fn run(self) -> Result<(), ServeError> {
        let Server { runtime, listener, router, .. } = self;
        runtime.block_on(async {
            axum::serve(listener, router).with_graceful_shutdown(stopped()).await.map_err(ServeError::from)
        })
    }
}

/// Ends when the user or the system asks the program to stop.
async fn stopped() {
    let interrupt = tokio::signal::ctrl_c();
    #[cfg(unix)]
    {
        let terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate());
        if let Ok(mut terminate) = terminate {
            tokio::select! {
                _ = interrupt => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    // Without a handler the program ends by the signal itself.
    let _unhandled = interrupt.await;
}
