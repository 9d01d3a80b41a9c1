//! `desktop`: the page in a native window, or a network that plays itself there.
#![forbid(unsafe_code)]

mod watch;
mod window;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use anyhow::Result;
use clap::Parser;
use tabia_serve::{ServeConfig, Server};

/// The page in a window of its own; with a model, that network plays itself
#[derive(Parser)]
#[command(
    name = "desktop",
    version,
    after_help = "Examples:\n  desktop\n  desktop maia-1500.pb.gz --delay 300\n  desktop --runs runs --data sets"
)]
struct Arguments {
    /// A network to watch: ONNX, safetensors, TFLite, lc0 (.pb.gz) or PyTorch (.pt).
    model: Option<PathBuf>,
    /// The least time between the moves of a network that plays itself, in milliseconds.
    #[arg(long, default_value_t = 300, value_name = "MS")]
    delay: u32,
    /// A data set to explore, or a folder of them; may be given several times.
    #[arg(long, value_name = "DIR")]
    data: Vec<PathBuf>,
    /// A training run, or a folder of them; may be given several times.
    #[arg(long, value_name = "DIR")]
    runs: Vec<PathBuf>,
    /// A folder with the games of matches and the scorecards of challenges; may be given several times.
    #[arg(long, value_name = "DIR")]
    ledgers: Vec<PathBuf>,
    /// Show the page from this folder instead of the one in the program.
    #[arg(long, value_name = "DIR")]
    page: Option<PathBuf>,
}

fn main() -> Result<()> {
    let Arguments { model, delay, data, runs, ledgers, page } = Arguments::parse();
    let (models, hash) = match model {
        Some(file) => {
            let watched = watch::Watched::open(&file)?;
            let hash = watched.address(delay);
            (vec![watched.model], hash)
        }
        None => (Vec::new(), String::new()),
    };
    let server = Server::bind(
        &ServeConfig { data, runs, ledgers, models, page },
        // Nobody else on the machine needs to know the port.
        SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
    )?;
    let address = format!("http://{}/{hash}", server.address());
    println!("{address}");
    // The window's thread is the main one, as systems demand; the server ends with the program.
    std::thread::spawn(move || {
        if let Err(error) = server.run() {
            eprintln!("desktop: {error}");
            std::process::exit(1);
        }
        // Ctrl-C ends the server, and then the window has nothing to show.
        std::process::exit(0);
    });
    window::show(&address)
}
