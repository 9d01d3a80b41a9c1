//! `tabia serve`: the page, and what this machine has to show on it, to this machine's own browser.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use anyhow::Result;
use tabia_serve::{FrameOrigin, ServeConfig, Server};

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  tabia serve --open\n  \
    tabia serve --data sets/games --data sets/evaluations --runs runs --ledgers matches\n  \
    tabia serve --data cache/planes/train_planes.npy\n  \
    tabia serve --allow-frame https://example.org\n  \
    curl 'http://127.0.0.1:5001/api/data/games/random?min_rating=1800&phase=endgame'\n\n\
    The page is described in docs/guides/page.md, what is answered about data sets in docs/guides/explorer.md,\n\
    training runs in docs/guides/training.md.")]
pub(crate) struct Args {
    /// A data set to explore, arrays of Learning a Chess Policy (NAME_planes.npy), or a folder of either; may be given
    /// several times.
    #[arg(long, value_name = "DIR|FILE")]
    data: Vec<PathBuf>,

    /// A training run, or a folder of them, to plot while they go on; may be given several times.
    #[arg(long, value_name = "DIR")]
    runs: Vec<PathBuf>,

    /// A folder with the games of matches (`tabia arena --pgn`) and scorecards (`tabia compete --json-output`); may be given several times.
    #[arg(long, value_name = "DIR")]
    ledgers: Vec<PathBuf>,

    /// Open the page in the browser.
    #[arg(long)]
    open: bool,

    /// The port to listen on; 0 takes a free one.
    #[arg(long, default_value_t = 5001)]
    port: u16,

    /// The address to listen on. Anything but a loopback address shows the data to the network.
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    bind: IpAddr,

    /// Serve the page from this folder instead of the one in the program.
    #[arg(long, value_name = "DIR")]
    page: Option<PathBuf>,

    /// Let pages of this origin (such as `http://localhost:8000`) show the page in a frame; may be given several
    /// times. Without it no page may.
    #[arg(long, value_name = "ORIGIN")]
    allow_frame: Vec<FrameOrigin>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let config = ServeConfig {
        data: args.data.clone(),
        runs: args.runs.clone(),
        ledgers: args.ledgers.clone(),
        models: Vec::new(),
        page: args.page.clone(),
        frame_origins: args.allow_frame.clone(),
    };
    let server = Server::bind(&config, SocketAddr::new(args.bind, args.port))?;
    for line in server.summary() {
        println!("{line}");
    }
    let address = server.address();
    println!("listening on http://{address}/ (Ctrl-C stops)");
    if args.open {
        // Any address means this machine too, but not as a name for it.
        let host = if address.ip().is_unspecified() { IpAddr::V4(Ipv4Addr::LOCALHOST) } else { address.ip() };
        let page = format!("http://{}/", SocketAddr::new(host, address.port()));
        // The launcher's own error would not help the user.
        if open::that_detached(&page).is_err() {
            eprintln!("no browser could be started: open {page} yourself");
        }
    }
    Ok(server.run()?)
}
