//! The HTTP server.

use std::io;
use std::net::SocketAddr;

use axum::middleware::from_fn_with_state;
use axum::routing::get;
use axum::{Json, Router};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::arena::{self, MatchStore};
use crate::explorer::{self, SetStore};
use crate::host_check::{self, HostCheck};
use crate::runs::{self, RunStore};
use crate::{ConfigError, LocalModel, ServeConfig, page};

/// Said of a program that was built without the page.
const NO_PAGE: &str =
    "no page: this program was built without it (`cargo xtask play` builds both, --page DIR serves one)";

/// A server bound to its address but not running yet.
#[derive(Debug)]
pub struct Server {
    runtime: Runtime,
    listener: TcpListener,
    address: SocketAddr,
    router: Router,
    summary: Vec<String>,
}

/// Error starting or running a server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Configured content cannot be served.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The address cannot be bound.
    #[error("cannot listen on {address}: {error} (port 0 selects a free port)")]
    Bind {
        /// Address.
        address: SocketAddr,
        /// Cause.
        error: io::Error,
    },
    /// I/O error of the runtime or the listener.
    #[error("server failed: {0}")]
    Io(#[from] io::Error),
}

impl Server {
    /// Opens the configured content and binds to `address`.
    ///
    /// # Errors
    /// If content cannot be read or the address cannot be bound.
    pub fn bind(config: &ServeConfig, address: SocketAddr) -> Result<Server, ServeError> {
        let sets = SetStore::open(&config.data)?;
        let runs = RunStore::open(&config.runs).map_err(ConfigError::from)?;
        let matches = MatchStore::open(&config.ledgers)?;
        let site = page::site(config.page.as_deref(), &config.models)?;

        // Two threads: one may wait for the disk while the other responds.
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let listener = runtime
            .block_on(TcpListener::bind(address))
            .map_err(|error| ServeError::Bind { address, error })?;
        let address = listener.local_addr()?;

        let about = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "data": !config.data.is_empty(),
            "runs": !config.runs.is_empty(),
            "arena": !config.ledgers.is_empty(),
            "given": config.models.iter().map(LocalModel::name).collect::<Vec<_>>(),
        });
        let no_page = if config.page.is_none() && page::is_missing() { NO_PAGE } else { "" };
        let summary = [sets.summary(), runs.summary(), matches.summary(), no_page.to_owned()];
        let router = Router::new()
            .route("/api/about", get(async move || Json(about)))
            .nest("/api/data", explorer::routes(sets))
            .nest("/api/runs", runs::routes(runs))
            .nest("/runs", runs::page_routes())
            .nest("/api/arena", arena::routes(matches))
            .merge(site.routes())
            .layer(from_fn_with_state(HostCheck::new(address, &config.frame_origins), host_check::check));
        let summary = summary.into_iter().filter(|part| !part.is_empty()).collect();
        Ok(Server { runtime, listener, address, router, summary })
    }

    /// Address the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Lines that describe the served content besides the page, and one if there is no page.
    pub fn summary(&self) -> &[String] {
        &self.summary
    }

    /// Serves until Ctrl-C or SIGTERM, then finishes open responses.
    ///
    /// # Errors
    /// If the listener fails.
    pub fn run(self) -> Result<(), ServeError> {
        let Server { runtime, listener, router, .. } = self;
        runtime.block_on(async {
            axum::serve(listener, router).with_graceful_shutdown(shutdown()).await.map_err(ServeError::from)
        })
    }
}

/// Resolves on Ctrl-C or SIGTERM.
async fn shutdown() {
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
    // Without a handler the signal itself ends the process.
    let _ = interrupt.await;
}
