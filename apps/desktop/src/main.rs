//! `desktop`: the web page in a native window.
#![forbid(unsafe_code)]

mod watch;
mod window;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use anyhow::Result;
use clap::Parser;
use tabia_serve::{ServeConfig, Server};

/// Show the page in a native window; with a model, watch it play
#[derive(Parser)]
#[command(
    name = "desktop",
    version,
    after_help = "Examples:\n  desktop\n  desktop maia-1500.pb.gz --delay 300\n  desktop net.onnx --against level:3\n  desktop --runs runs --data sets"
)]
struct Arguments {
    /// A network to watch: ONNX, safetensors, TFLite, lc0 (.pb.gz) or PyTorch (.pt).
    model: Option<PathBuf>,
    /// Its opponent: another network, or a player such as level:3 [default: itself].
    #[arg(long, value_name = "MODEL|SPEC", requires = "model")]
    against: Option<String>,
    /// Minimum time between moves in milliseconds.
    #[arg(long, default_value_t = 300, value_name = "MS")]
    delay: u32,
    /// A data set to explore, or a folder of them; repeatable.
    #[arg(long, value_name = "DIR")]
    data: Vec<PathBuf>,
    /// A training run, or a folder of them; repeatable.
    #[arg(long, value_name = "DIR")]
    runs: Vec<PathBuf>,
    /// A folder with the games of matches and the scorecards of challenges; repeatable.
    #[arg(long, value_name = "DIR")]
    ledgers: Vec<PathBuf>,
    /// Serve the page from this folder instead of the built-in one.
    #[arg(long, value_name = "DIR")]
    page: Option<PathBuf>,
}

fn main() -> Result<()> {
    let Arguments { model, against, delay, data, runs, ledgers, page } = Arguments::parse();
    let (models, hash) = match model {
        Some(file) => {
            let game = watch::WatchedGame::open(&file, against.as_deref())?;
            let hash = game.address(delay);
            (game.models, hash)
        }
        None => (Vec::new(), String::new()),
    };
    let server = Server::bind(
        &ServeConfig { data, runs, ledgers, models, page, frame_origins: Vec::new() },
        // Any free port will do.
        SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
    )?;
    let address = format!("http://{}/{hash}", server.address());
    println!("{address}");
    // Window systems require the main thread; the server ends with the program.
    std::thread::spawn(move || {
        if let Err(error) = server.run() {
            eprintln!("desktop: {error}");
            std::process::exit(1);
        }
        // Ctrl-C ends the server and the program.
        std::process::exit(0);
    });
    window::show(&address)
}
