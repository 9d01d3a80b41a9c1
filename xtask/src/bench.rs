use anyhow::Result;

use crate::bench_data::DataBench;
use crate::bench_python::PythonBench;
use crate::bench_train::TrainBench;
use crate::bench_web::{self, WebBench};
use crate::process;
use crate::python::Environment;
use crate::workspace::Workspace;

/// Python packages of the model bench.
const ONNXRUNTIME: Environment =
    Environment { name: "onnxruntime", packages: &["numpy==2.4.6", "onnxruntime==1.31.1"] };

/// The same with onnx, for quantisation.
const QUANTISING: Environment = Environment {
    name: "onnxruntime-quantising",
    packages: &["numpy==2.4.6", "onnx==1.23.2", "onnxruntime==1.31.1"],
};

/// Run benchmarks against other programs
///
/// Examples:
///   cargo xtask bench model
///   cargo xtask bench human
///   cargo xtask bench maia3 --size 23M
///   cargo xtask bench search
///   cargo xtask bench search --wasm
///   cargo xtask bench start
///   cargo xtask bench start --page
///   cargo xtask bench web
///   cargo xtask bench web --gpu
///   cargo xtask bench data --file games.pgn.zst
///   cargo xtask bench data --rows 100M
///   cargo xtask bench train value-nnue human
///   cargo xtask bench python
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Bench {
    #[command(subcommand)]
    subject: Subject,
}

#[derive(clap::Subcommand)]
enum Subject {
    /// The incremental runtime against rten and onnxruntime on one thread
    Model,
    /// The transformer runtime against rten and onnxruntime on one thread
    Human,
    /// The transformer runtime on Maia-3, with random weights, against rten and onnxruntime on one thread
    Maia3 {
        /// The size of the network: 3M, 5M, 23M or 79M
        #[arg(long, default_value = "5M")]
        size: String,
    },
    /// The engine's nodes per second against Stockfish (`stockfish` in PATH, or `TABIA_STOCKFISH`) and level 5
    Search {
        /// Compare the search in the page's module with the native one instead, in Chromium
        #[arg(long)]
        wasm: bool,
    },
    /// From starting the program to `uciok` and to the first move, against Stockfish
    Start {
        /// Time the page instead, in Chromium: its first moves on a first visit and from the cache
        #[arg(long)]
        page: bool,
    },
    Web(WebBench),
    Data(DataBench),
    Train(TrainBench),
    Python(PythonBench),
}

impl Bench {
    pub(crate) fn run(&self, workspace: &Workspace) -> Result<()> {
        match &self.subject {
            Subject::Model => process::run(
                workspace
                    .cargo("bench")
                    .args(["--package", "tabia-runtime", "--bench", "accumulator"])
                    .env("TABIA_PYTHON", ONNXRUNTIME.ready(workspace)?),
            ),
            Subject::Human => process::run(
                workspace
                    .cargo("bench")
                    .args(["--package", "tabia-model", "--bench", "human"])
                    .env("TABIA_PYTHON", QUANTISING.ready(workspace)?),
            ),
            Subject::Maia3 { size } => process::run(
                workspace
                    .cargo("bench")
                    .args(["--package", "tabia-model", "--bench", "maia3"])
                    .env("TABIA_MAIA3", size)
                    .env("TABIA_PYTHON", QUANTISING.ready(workspace)?),
            ),
            Subject::Search { wasm: true } => bench_web::search(workspace),
            Subject::Search { wasm: false } => process::run(workspace.cargo("bench").args([
                "--package",
                "tabia-players",
                "--bench",
                "nodes",
            ])),
            Subject::Start { page: true } => bench_web::start(workspace),
            Subject::Start { page: false } => {
                process::run(workspace.cargo("bench").args(["--package", "tabia", "--bench", "start"]))
            }
            Subject::Web(web) => web.run(workspace, || QUANTISING.ready(workspace)),
            Subject::Data(data) => data.run(workspace),
            Subject::Train(train) => train.run(workspace),
            Subject::Python(python) => python.run(workspace),
        }
    }
}
