//! `tabia serve`: what this machine has, over HTTP to this machine's own browser.

mod explorer;
mod guard;
mod refusal;
mod runs;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::response::Redirect;
use axum::routing::get;

use self::explorer::Shelf;
use self::guard::Guard;
use self::runs::Roots;

#[derive(clap::Args)]
#[command(after_help = "Example:\n  tabia serve --data sets/games --data sets/evaluations\n  \
    curl 'http://127.0.0.1:5001/api/data/games/random?min_rating=1800&phase=endgame'\n  \
    tabia serve --runs runs\n\n\
    What is answered about data sets is described in docs/guides/explorer.md, the page of training runs in\n\
    docs/guides/training.md.")]
pub(crate) struct Args {
    /// A data set to explore, or a folder of them; may be given several times.
    #[arg(long, value_name = "DIR", required_unless_present = "runs")]
    data: Vec<PathBuf>,

    /// A training run, or a folder of them, to plot at /runs while they go on; may be given several times.
    #[arg(long, value_name = "DIR")]
    runs: Vec<PathBuf>,

    /// The port to listen on; 0 takes a free one.
    #[arg(long, default_value_t = 5001)]
    port: u16,

    /// The address to listen on. Anything but a loopback address shows the data to the network.
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    bind: IpAddr,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let shelf = Shelf::open(&args.data)?;
    let roots = Roots::open(&args.runs)?;
    // Two threads: one may read a block from the disk while the other answers.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("cannot start the server's threads")?;
    runtime.block_on(serve(args, shelf, roots))
}

async fn serve(args: &Args, shelf: Shelf, roots: Roots) -> Result<()> {
    let address = SocketAddr::new(args.bind, args.port);
    let listener = tokio::net::TcpListener::bind(address)
        .await
        .with_context(|| format!("cannot listen on {address}; --port 0 takes a free port"))?;
    let address = listener.local_addr().context("cannot tell the address the server listens on")?;
    let summaries = [shelf.summary(), roots.summary()];
    summaries.iter().filter(|summary| !summary.is_empty()).for_each(|summary| println!("{summary}"));
    println!("listening on http://{address}/ (Ctrl-C stops)");
    let front = if args.runs.is_empty() { "/api/data" } else { "/runs" };
    let mut app = Router::new()
        .route("/", get(async move || Redirect::temporary(front)))
        .nest("/api/data", explorer::routes(shelf));
    if !args.runs.is_empty() {
        app = app.nest("/runs", runs::page_routes()).nest("/api/runs", runs::routes(roots));
    }
    let app = app.layer(from_fn_with_state(Guard::of(address), guard::check));
    axum::serve(listener, app).with_graceful_shutdown(stopped()).await.context("the server failed")
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
