//! What can be typed.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// The open home of neural chess: any network, of any known format, is a player.
#[derive(Parser)]
#[command(
    name = "tabia",
    version,
    about,
    after_help = "Examples:
  tabia play --elo 1200
  tabia model info maia-1500.pb.gz"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Look at model files and convert them.
    Model {
        #[command(subcommand)]
        command: ModelCommand,
    },
    /// Play a game in the terminal.
    Play(PlayArgs),
    /// Be a UCI engine: any player, for any chess program.
    Uci(UciArgs),
    /// Ask a player for one move; the answer is one JSON object.
    PlayMove(PlayMoveArgs),
    /// Count the nodes of fixed searches: the same number means the same search.
    Bench(BenchArgs),
}

#[derive(Subcommand)]
pub(crate) enum ModelCommand {
    /// Say what a network is and what it thinks of a few positions.
    Info(InfoArgs),
    /// Write a network as ONNX, or a state dict as safetensors, with its card inside.
    Convert(ConvertArgs),
}

#[derive(Args)]
#[command(after_help = "Examples:
  tabia model info maia-1500.pb.gz
  tabia model info humchess.onnx --elo 1200 --clock 60 --fen 'r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/5N2/PPPP1PPP/RNBQK2R b KQkq - 3 3'
  tabia model info net.onnx --json | jq .parameters

A sidecar FILE.card.json may say what the file does not, for example
  {\"licence\": \"MIT\", \"value\": {\"perspective\": \"comparison\"}}")]
pub(crate) struct InfoArgs {
    /// An ONNX, safetensors, TFLite, lc0 (.pb.gz) or PyTorch (.pt) file.
    pub(crate) file: PathBuf,
    /// Evaluate this position instead of the sanity table; may be given more than once.
    #[arg(long, value_name = "FEN")]
    pub(crate) fen: Vec<String>,
    /// Rating of the player to move, for networks that ask for it.
    #[arg(long, default_value_t = 1500, value_parser = clap::value_parser!(u16).range(1..=4000))]
    pub(crate) elo: u16,
    /// Seconds left on the clock of the player to move, for networks that ask for it [default: unknown].
    #[arg(long, value_name = "SECONDS")]
    pub(crate) clock: Option<u64>,
    /// How many moves to show for each position.
    #[arg(long, default_value_t = 5, value_name = "N")]
    pub(crate) top: usize,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[command(after_help = "Examples:
  tabia model convert maia-1500.pb.gz maia-1500.onnx
  tabia model convert epoch_1.pt humchess.safetensors --card card.json")]
pub(crate) struct ConvertArgs {
    /// The file to read.
    pub(crate) input: PathBuf,
    /// The file to write: .onnx, or .safetensors for state dicts.
    pub(crate) output: PathBuf,
    /// A (partial) card as JSON that wins over what the file says.
    #[arg(long, value_name = "FILE")]
    pub(crate) card: Option<PathBuf>,
    /// Replace the output file if it exists.
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Args)]
#[command(after_help = "Examples:
  tabia play                          against the network that comes with tabia, rated 1500
  tabia play --elo 900 --color black
  tabia play maia-1900.pb.gz --mode argmax --pgn game.pgn
  tabia play engine,movetime=500      or level:3, or any other player of docs/guides/players.md")]
pub(crate) struct PlayArgs {
    /// The opponent: a model file of any format, or a player spec [default: the human player that comes with tabia].
    #[arg(value_name = "MODEL|SPEC")]
    pub(crate) opponent: Option<String>,
    /// The rating the opponent should play like, if its network listens to one.
    #[arg(long, default_value_t = 1500, value_parser = clap::value_parser!(u16).range(1..=4000))]
    pub(crate) elo: u16,
    /// Your colour.
    #[arg(long, value_enum, default_value_t = Seat::White)]
    pub(crate) color: Seat,
    /// How a move is taken from the network's probabilities.
    #[arg(long, value_enum, default_value_t = Mode::Sample)]
    pub(crate) mode: Mode,
    /// Below 1 the opponent keeps to its likeliest moves, above 1 it strays.
    #[arg(long, default_value_t = 1.0, value_parser = temperature)]
    pub(crate) temperature: f32,
    /// Makes the opponent's choices repeatable.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Start from this position.
    #[arg(long)]
    pub(crate) fen: Option<String>,
    /// Write the game to this file when you leave.
    #[arg(long, value_name = "FILE")]
    pub(crate) pgn: Option<PathBuf>,
    /// Draw the board with plain letters.
    #[arg(long)]
    pub(crate) ascii: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Seat {
    White,
    Black,
    Random,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Draw a move with its probability, as people vary.
    Sample,
    /// Always the likeliest move.
    Argmax,
}

fn temperature(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(t) if t > 0.0 && t <= 10.0 => Ok(t),
        _ => Err("a number above 0, at most 10".to_owned()),
    }
}

#[derive(Args)]
#[command(after_help = "Examples:
  tabia uci                                         the human player at 1500
  tabia uci --player engine
  tabia uci --player human,elo=1100
  tabia uci --player maia:maia-1900.pb.gz,mode=argmax")]
pub(crate) struct UciArgs {
    /// Who plays, see docs/guides/players.md.
    #[arg(long, value_name = "SPEC", default_value = "human,elo=1500")]
    pub(crate) player: String,
}

#[derive(Args)]
#[command(after_help = "Examples:
  tabia play-move net.onnx 'r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/5N2/PPPP1PPP/RNBQK2R b KQkq - 3 3'
  tabia play-move level:3 'rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1'
  tabia play-move --baseline 'rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1'")]
pub(crate) struct PlayMoveArgs {
    /// A model file (one ply and quiescence) or a player spec; with --baseline, the FEN.
    #[arg(value_name = "MODEL|SPEC")]
    pub(crate) first: String,
    /// The position.
    #[arg(value_name = "FEN")]
    pub(crate) second: Option<String>,
    /// The strongest challenge level instead of a network.
    #[arg(long)]
    pub(crate) baseline: bool,
    /// How many candidates to report.
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) lines: usize,
}

#[derive(Args)]
#[command(after_help = "Example: tabia bench")]
pub(crate) struct BenchArgs {
    /// Evaluate with this network instead of the hand-written evaluation.
    pub(crate) model: Option<PathBuf>,
}
