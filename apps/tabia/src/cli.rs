//! The command line.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use tabia_arena::Budget;
use tabia_arena::statistics::{EloScale, Sprt};
use tabia_game::{Chess960, Clock, Odds, TimeControl};
use tabia_players::{ChallengeRules, Limits, Spec};

/// The open home of neural chess: any network, of any known format, is a player.
#[derive(Parser)]
#[command(
    name = "tabia",
    version,
    about,
    after_help = "Examples:
  tabia play --elo 1200
  tabia model info maia-1500.pb.gz
  tabia arena level:3 level:4 --pgn match.pgn"
)]
pub(crate) struct Cli {
    /// Memory for the weights of a network, such as 4GiB [default: three quarters of the machine's].
    #[arg(long, global = true, value_name = "SIZE", value_parser = tabia_model::parse_size)]
    pub(crate) memory: Option<u64>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Inspect, convert and download model files.
    Model {
        #[command(subcommand)]
        command: ModelCommand,
    },
    /// Play a game in the terminal.
    Play(PlayArgs),
    /// Watch two players play in the terminal.
    Watch(WatchArgs),
    /// Run any player as a UCI engine.
    Uci(UciArgs),
    /// Add a player to chess programs as a UCI engine.
    InstallEngine(crate::install_engine::Args),
    /// Play on Lichess as a bot.
    Lichess(crate::lichess::Args),
    /// Print one move of a player as JSON.
    PlayMove(PlayMoveArgs),
    /// Run a network through the Chess Challenge: 50 games against each level.
    Compete(CompeteArgs),
    /// Print the node signature of the engine.
    Bench(BenchArgs),
    /// Play matches and tournaments, with Elo, confidence intervals and SPRT.
    Arena(ArenaArgs),
    /// Compute Elo ratings from PGN files.
    Elo(EloArgs),
    /// Measure how well networks predict human moves, puzzles and thinking times.
    Eval {
        #[command(subcommand)]
        command: crate::eval::EvalCommand,
    },
    /// Learn to play like one person from their games.
    Me {
        #[command(subcommand)]
        command: crate::me::MeCommand,
    },
    /// Review a player's games: where they lose more than people of their rating.
    Review(crate::review::ReviewArgs),
    /// Rate a player in games against Stockfish at fixed ratings.
    Validate(ValidateArgs),
    /// Serve the web page with the data sets, training runs and matches of this machine.
    Serve(crate::serve::Args),
    /// Open the page in its own window, or a network playing there.
    Desktop(crate::desktop::Args),
    #[command(hide = true)]
    Strength(MovedArgs),
    #[command(hide = true, alias = "habits")]
    Behaviour(MovedArgs),
    #[command(hide = true, alias = "variety")]
    Diversity(MovedArgs),
    #[command(hide = true)]
    Soak(MovedArgs),
}

/// The arguments of a command that is now part of `tabia-lab`.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub(crate) struct MovedArgs {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    _rest: Vec<std::ffi::OsString>,
}

#[derive(Subcommand)]
pub(crate) enum ModelCommand {
    /// Describe a network and evaluate a few positions.
    Info(InfoArgs),
    /// Print a network's card as Markdown: data, training, results, licence.
    Card(CardArgs),
    /// Print input and output tensors as JSON, to compare with other runtimes.
    Tensors(TensorsArgs),
    /// Convert a network to ONNX, a state dict to safetensors, or a dense network to TFLite, with its card embedded.
    Convert(ConvertArgs),
    /// Download a network, resumed after an interruption, and check it.
    Fetch(FetchArgs),
}

#[derive(Args)]
#[command(after_help = "Examples:
  tabia model info maia-1500.pb.gz
  tabia model info humchess.onnx --elo 1200 --clock 60 --fen 'r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/5N2/PPPP1PPP/RNBQK2R b KQkq - 3 3'
  tabia model info net.onnx --json | jq .parameters
  tabia model info quantised.bin --as bullet-768:hidden=256

A sidecar FILE.card.json overrides what is detected, for example
  {\"licence\": \"MIT\", \"value\": {\"perspective\": \"comparison\"}}")]
pub(crate) struct InfoArgs {
    /// An ONNX, safetensors, TFLite, lc0 (.pb.gz), PyTorch (.pt) or bullet (.bin) file.
    pub(crate) file: PathBuf,
    /// How to read a file that does not say what it is, such as bullet-768:hidden=256.
    #[arg(long = "as", value_name = "LAYOUT")]
    pub(crate) layout: Option<String>,
    /// Evaluate this position instead of the default ones; repeatable.
    #[arg(long, value_name = "FEN")]
    pub(crate) fen: Vec<String>,
    /// Context of a two-input network, shown in both readings [default: the position itself].
    #[arg(long, value_name = "FEN")]
    pub(crate) context: Option<String>,
    /// Rating of both players, for networks that use it.
    #[arg(long, default_value_t = 1500, value_parser = clap::value_parser!(u16).range(1..=4000))]
    pub(crate) elo: u16,
    /// Seconds left on both clocks, for networks that use it [default: unknown].
    #[arg(long, value_name = "SECONDS")]
    pub(crate) clock: Option<u64>,
    /// Number of moves to show for each position.
    #[arg(long, default_value_t = 5, value_name = "N")]
    pub(crate) top: usize,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[command(after_help = "Examples:
  tabia model fetch https://example.org/networks/net.onnx
  tabia model fetch https://example.org/networks/net.onnx --out models --sha256 HEX

The download goes to FILE.part first; the same command resumes one that was interrupted.")]
pub(crate) struct FetchArgs {
    /// The file's address.
    pub(crate) url: String,
    /// Output file or folder [default: the name in the address, in the current folder].
    #[arg(long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    /// The file's SHA-256; a download with another is discarded.
    #[arg(long, value_name = "HEX", value_parser = sha256)]
    pub(crate) sha256: Option<String>,
    /// Replace a file of that name.
    #[arg(long)]
    pub(crate) force: bool,
}

fn sha256(text: &str) -> Result<String, String> {
    if text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        Ok(text.to_ascii_lowercase())
    } else {
        Err("expected 64 hexadecimal digits".to_owned())
    }
}

#[derive(Args)]
#[command(after_help = "Example:
  tabia model card models/human.safetensors")]
pub(crate) struct CardArgs {
    /// An ONNX, safetensors, TFLite, lc0 (.pb.gz), PyTorch (.pt) or bullet (.bin) file.
    pub(crate) file: PathBuf,
    /// How to read a file that does not say what it is, such as bullet-768:hidden=256.
    #[arg(long = "as", value_name = "LAYOUT")]
    pub(crate) layout: Option<String>,
}

#[derive(Args)]
#[command(after_help = "Example:
  tabia model tensors net.onnx --fen '8/P6k/8/8/8/8/8/K7 w - - 0 1' | jq .outputs

Prints one JSON object: the runtime, and inputs and outputs by name, one row per position. tools/check_onnx.py
compares them with onnxruntime.

The runtime of players may round where the graph does not: a human-like network runs in 8 bits, while its graph, as
`model convert` writes it, is in floats.")]
pub(crate) struct TensorsArgs {
    /// An ONNX, safetensors, TFLite, lc0 (.pb.gz), PyTorch (.pt) or bullet (.bin) file.
    pub(crate) file: PathBuf,
    /// How to read a file that does not say what it is, such as bullet-768:hidden=256.
    #[arg(long = "as", value_name = "LAYOUT")]
    pub(crate) layout: Option<String>,
    /// A position instead of the default five; repeatable.
    #[arg(long, value_name = "FEN")]
    pub(crate) fen: Vec<String>,
    /// Context of a two-input network [default: the position itself].
    #[arg(long, value_name = "FEN")]
    pub(crate) context: Option<String>,
    /// The runtime: that of players, or the ONNX graph.
    #[arg(long, value_enum, default_value = "player")]
    pub(crate) runtime: RuntimeName,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RuntimeName {
    /// The runtime of players.
    Player,
    /// The ONNX graph on the general runtime.
    #[value(alias = "float")]
    Graph,
}

#[derive(Args)]
#[command(after_help = "Examples:
  tabia model convert maia-1500.pb.gz maia-1500.onnx
  tabia model convert epoch_1.pt humchess.safetensors --card card.json
  tabia model convert pair.onnx pair.tflite
  tabia model convert quantised.bin net.safetensors --as bullet-768:hidden=256
  tabia model convert maia3-23m.pt maia3-23m.safetensors --int8
  tabia model convert net.safetensors net.onnx --opset 14")]
pub(crate) struct ConvertArgs {
    /// Input file.
    pub(crate) input: PathBuf,
    /// Output file: .onnx, .safetensors for state dicts, or .tflite for dense networks.
    pub(crate) output: PathBuf,
    /// A (partial) card as JSON that overrides that of the file.
    #[arg(long, value_name = "FILE")]
    pub(crate) card: Option<PathBuf>,
    /// How to read a file that does not say what it is, such as bullet-768:hidden=256.
    #[arg(long = "as", value_name = "LAYOUT")]
    pub(crate) layout: Option<String>,
    /// Write half-precision weights (.safetensors, .onnx).
    #[arg(long, conflicts_with = "int8")]
    pub(crate) f16: bool,
    /// Write large weights in 8 bits, rounded without calibration (.safetensors, .onnx). `tabia-lab train export --int8
    /// --data SET` calibrates.
    #[arg(long)]
    pub(crate) int8: bool,
    /// Declare this ONNX opset, from 14 up to the graph's own, if its operators allow it.
    #[arg(long, value_name = "N")]
    pub(crate) opset: Option<i64>,
    /// Overwrite the output file.
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Args)]
#[command(after_help = "Examples:
  tabia play                          against the bundled opponent, rated 1500
  tabia play --elo 900 --color black
  tabia play maia-1900.pb.gz --mode argmax --pgn game.pgn
  tabia play --tc 5+3                 with clocks: five minutes plus three seconds per move
  tabia play level:4 --watch level:5 --delay 500
  tabia play engine --chess960        from a random start position of Chess960; --chess960 17 from number 17
  tabia play engine,movetime=500      or level:3, or any other player of docs/guides/players.md

In a terminal the board fills the screen: move with the arrows and Enter, the mouse, or by typing (Nf3, e2e4); ? shows
the keys. Without a terminal, or with --ascii, moves and commands are typed line by line.")]
pub(crate) struct PlayArgs {
    /// The opponent: a model file of any format, or a player spec [default: the bundled human-like network].
    #[arg(value_name = "MODEL|SPEC")]
    pub(crate) opponent: Option<String>,
    /// Rating of the opponent, if its network takes one. Its card says on which scale (`tabia model card FILE`).
    #[arg(long, default_value_t = 1500, value_parser = clap::value_parser!(u16).range(600..=2600))]
    pub(crate) elo: u16,
    /// Your colour.
    #[arg(long, value_enum, default_value_t = ColorChoice::White)]
    pub(crate) color: ColorChoice,
    /// How a move is picked from the policy.
    #[arg(long, value_enum, default_value_t = Mode::Sample)]
    pub(crate) mode: Mode,
    /// Sampling temperature: below 1 sharpens the policy, above 1 flattens it [default: as calibrated for the rating].
    #[arg(long, value_parser = temperature)]
    pub(crate) temperature: Option<f32>,
    /// Random seed.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Start from this position.
    #[arg(long)]
    pub(crate) fen: Option<String>,
    /// Chess960, from start position N, 0 to 959, or a random one. Castle by its name (O-O) or onto the rook (f1h1).
    #[arg(long, value_name = "N", num_args = 0..=1, conflicts_with_all = ["fen", "odds"])]
    pub(crate) chess960: Option<Option<Chess960>>,
    /// The opponent gives you odds: pawn-and-move, knight, rook or queen.
    #[arg(long, value_name = "ODDS", conflicts_with_all = ["fen", "watch"])]
    pub(crate) odds: Option<Odds>,
    /// Write the game to this file on exit.
    #[arg(long, value_name = "FILE")]
    pub(crate) pgn: Option<PathBuf>,
    /// Time control: minutes + seconds per move (5+3).
    #[arg(long, value_name = "MIN+SEC", value_parser = minutes)]
    pub(crate) tc: Option<TimeControl>,
    /// Time odds: the opponent's time control, where it differs from yours.
    #[arg(long, value_name = "MIN+SEC", value_parser = minutes, requires = "tc", conflicts_with = "watch")]
    pub(crate) opponent_tc: Option<TimeControl>,
    /// Watch the first player play this one; --color is then the colour of the first player.
    #[arg(long, value_name = "MODEL|SPEC")]
    pub(crate) watch: Option<String>,
    /// Minimum time between moves of a watched game, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 300, requires = "watch", value_parser = clap::value_parser!(u64).range(0..=60_000))]
    pub(crate) delay: u64,
    /// Line-based ASCII interface instead of the full screen.
    #[arg(long)]
    pub(crate) ascii: bool,
    /// Threads that evaluate a position together, for the human network [default: one per core, at most 4].
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,
}

#[derive(Args)]
#[command(after_help = "Examples:
  tabia watch net.onnx --against level:3 --delay 300
  tabia watch maia-1900.pb.gz --against human,elo=1900
  tabia watch level:4 --against level:5 --color black

Space pauses and goes on, `.` plays one move, ? shows the keys. Against a level of the Chess Challenge, a network without a
policy head plays by the rules of the challenge.")]
pub(crate) struct WatchArgs {
    /// The first player: a model file of any format, or a player spec.
    #[arg(value_name = "MODEL|SPEC")]
    pub(crate) player: String,
    /// Its opponent [default: itself].
    #[arg(long, value_name = "MODEL|SPEC")]
    pub(crate) against: Option<String>,
    /// Minimum time between moves in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(0..=60_000))]
    pub(crate) delay: u64,
    /// Colour of the first player.
    #[arg(long, value_enum, default_value_t = ColorChoice::White)]
    pub(crate) color: ColorChoice,
    /// Rating of networks that take one.
    #[arg(long, default_value_t = 1500, value_parser = clap::value_parser!(u16).range(600..=2600))]
    pub(crate) elo: u16,
    /// Random seed.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Start from this position.
    #[arg(long)]
    pub(crate) fen: Option<String>,
    /// Write the game to this file on exit.
    #[arg(long, value_name = "FILE")]
    pub(crate) pgn: Option<PathBuf>,
}

#[derive(Args)]
#[command(after_help = "Examples:
  tabia arena level:3 level:4
  tabia arena engine,nodes=20000 level:5 --games 50 --pgn match.pgn --adjudicate
  tabia arena net:new.onnx,search=ab net:old.onnx,search=ab --sprt 0,5 --tc 10+0.1 --openings book.epd
  tabia arena human,elo=1200 human,elo=1800 maia:maia-1500.pb.gz --format round-robin
  tabia arena old.pt new.pt,temperature=0.5 --games 50
  tabia arena level:5 'uci:stockfish,elo=1500' --movetime 50 --json match.json
  tabia arena engine uci:stockfish --chess960 --seed 7 --nodes 20000
  tabia arena engine human,elo=1500,pause=on --tc 10+0.1 --opponent-tc 60+1    a sixth of the time

Players: level:1 to level:5, net:FILE, human[:FILE], maia:FILE, engine[:FILE], random, uci:COMMAND; or a model file,
which plays from its policy head if it has one.

With --pgn every game is saved as soon as it is finished. The same command resumes a stopped or killed run; a larger
--games extends it. Ctrl-C stops after the games in progress.")]
pub(crate) struct ArenaArgs {
    /// Two or more player specs or model files.
    #[arg(required = true, num_args = 2.., value_name = "SPEC", value_parser = tabia_cli::player_spec)]
    pub(crate) players: Vec<Spec>,
    /// Games per pairing, rounded up to pairs [default: 100; with --sprt, at most 100000].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) games: Option<u32>,
    /// Stop by SPRT: H0 ELO0 against H1 ELO1 (normalised Elo), with alpha = beta = 0.05.
    #[arg(long, value_name = "ELO0,ELO1", value_parser = sprt, allow_hyphen_values = true)]
    pub(crate) sprt: Option<Sprt>,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    /// Time odds: the time control of all players but the first, who has that of --tc.
    #[arg(long, value_name = "TC", value_parser = clocks, requires = "tc")]
    pub(crate) opponent_tc: Option<TimeControl>,
    #[command(flatten)]
    pub(crate) table: TableArgs,
    /// Tournament format [default: match for two players, round-robin for more].
    #[arg(long, value_enum)]
    pub(crate) format: Option<MatchFormat>,
    /// Adjudicate: lost when both score 600 cp for 3 moves, drawn when both score within 20 cp for 8 moves from move 34.
    #[arg(long)]
    pub(crate) adjudicate: bool,
}

/// Search limits.
#[derive(Args)]
pub(crate) struct LimitArgs {
    /// Time control: seconds + increment (10+0.1), or moves/seconds (40/60).
    #[arg(long, value_name = "TC", value_parser = clocks, conflicts_with_all = ["nodes", "movetime", "depth"])]
    pub(crate) tc: Option<TimeControl>,
    /// Nodes per move, for players that search and whose spec sets no limit.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) nodes: Option<u64>,
    /// Milliseconds per move, for players that search and whose spec sets no limit [default: 100, without other limits].
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=86_400_000))]
    pub(crate) movetime: Option<u64>,
    /// Search depth in plies, for players that search and whose spec sets no limit.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=200))]
    pub(crate) depth: Option<u32>,
    /// Time margin in milliseconds before a late move loses [default: 100 with --tc, otherwise 1000].
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(0..=86_400_000))]
    pub(crate) margin: Option<u64>,
}

/// Time for a move without any other limit.
const DEFAULT_MOVETIME: Duration = Duration::from_millis(100);

impl LimitArgs {
    /// The clocks, or the limits of players that search and whose spec sets none.
    pub(crate) fn budget(&self) -> Budget {
        let mut limits = Limits {
            depth: self.depth,
            nodes: self.nodes,
            movetime: self.movetime.map(Duration::from_millis),
            ..Limits::default()
        };
        if limits.is_unlimited() && self.tc.is_none() {
            limits.movetime = Some(DEFAULT_MOVETIME);
        }
        let margin = self.margin.unwrap_or(if self.tc.is_some() { 100 } else { 1000 });
        let margin = Duration::from_millis(margin);
        Budget { limits, control: self.tc.clone(), margin, ..Budget::default() }
    }
}

/// Openings, output and parallelism of a contest.
#[derive(Args)]
pub(crate) struct TableArgs {
    /// Openings: .fen, .epd or .pgn, plain or in a .zip [default: 25 bundled openings].
    #[arg(long, value_name = "BOOK")]
    pub(crate) openings: Option<PathBuf>,
    /// Play only the opening of this name, such as "Ruy Lopez", or of this number with --chess960.
    #[arg(long, value_name = "NAME")]
    pub(crate) opening: Option<String>,
    /// Shuffle the openings by --seed.
    #[arg(long)]
    pub(crate) shuffle: bool,
    /// The first player gives odds: pawn-and-move, knight, rook or queen.
    #[arg(long, value_name = "ODDS", conflicts_with_all = ["openings", "opening", "shuffle"])]
    pub(crate) odds: Option<Odds>,
    /// Chess960: each pair of games from one of the 960 start positions, drawn by --seed.
    #[arg(long, conflicts_with_all = ["openings", "shuffle", "odds"])]
    pub(crate) chess960: bool,
    /// End games by the Syzygy endgame tables in these folders, separated as in PATH.
    #[arg(long, value_name = "PATH")]
    pub(crate) tb: Option<String>,
    /// Save the games to this file, with an index in FILE.jsonl.
    #[arg(long, value_name = "FILE")]
    pub(crate) pgn: Option<PathBuf>,
    /// Concurrent games [default: one per core].
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Random seed.
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) seed: u64,
    /// Also write all results to this file as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MatchFormat {
    /// Two players.
    Match,
    /// The first player against each of the others.
    Gauntlet,
    /// Every player against every other.
    RoundRobin,
}

#[derive(Args)]
#[command(after_help = "Examples:
  tabia elo match.pgn
  tabia elo monday.pgn tuesday.pgn.zst --json ratings.json
  zstdcat games.pgn.zst | tabia elo - --sprt 0,5

Games are paired when two players play the same round, or the same set-up position, with colours swapped.")]
pub(crate) struct EloArgs {
    /// PGN files, plain or zstd; - is standard input.
    #[arg(required = true, value_name = "RESULTS")]
    pub(crate) files: Vec<PathBuf>,
    /// Also print this SPRT of the first of two players.
    #[arg(long, value_name = "ELO0,ELO1", value_parser = sprt, allow_hyphen_values = true)]
    pub(crate) sprt: Option<Sprt>,
    /// Also write all results to this file as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Args)]
#[command(after_help = "Examples:
  tabia validate
  tabia validate engine --games 200 --max 2700 --movetime 50 --pgn engine.pgn
  tabia validate net:net.onnx --stockfish ./stockfish-17

Stockfish plays at UCI_Elo 1320 (or its lowest), 1500, 1700, 1900 and 2100, and in steps of 200 up to --max. The
rating is the maximum likelihood estimate. With --pgn, the same command resumes a stopped or killed run.")]
pub(crate) struct ValidateArgs {
    /// The player to rate.
    #[arg(default_value = "level:5", value_name = "SPEC", value_parser = tabia_cli::player_spec)]
    pub(crate) player: Spec,
    /// Total games, rounded up to pairs against each opponent.
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) games: u32,
    /// Rating of the strongest opponent.
    #[arg(long, default_value_t = 2100, value_name = "ELO", value_parser = clap::value_parser!(u16).range(1320..=3190))]
    pub(crate) max: u16,
    /// The command that runs Stockfish [default: stockfish in PATH or /usr/games].
    #[arg(long, value_name = "COMMAND")]
    pub(crate) stockfish: Option<String>,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    #[command(flatten)]
    pub(crate) table: TableArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    White,
    Black,
    Random,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Sample from the policy.
    Sample,
    /// Always play the likeliest move.
    Argmax,
}

fn temperature(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(t) if t > 0.0 && t <= 10.0 => Ok(t),
        _ => Err("expected a number above 0 and at most 10".to_owned()),
    }
}

#[derive(Args)]
#[command(after_help = "Examples:
  tabia uci                                         the bundled opponent at 1500
  tabia uci --player engine
  tabia uci --player human,elo=1100
  tabia uci --player human,elo=1900 --threads 2
  tabia uci --player maia:maia-1900.pb.gz,mode=argmax")]
pub(crate) struct UciArgs {
    /// Player spec, see docs/guides/players.md.
    #[arg(long, value_name = "SPEC", default_value = "human,elo=1500")]
    pub(crate) player: String,
    /// Threads that evaluate a position together, for the human network; those of the engine are the UCI option Threads.
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) threads: NonZeroUsize,
}

#[derive(Args)]
#[command(after_help = "Examples:
  tabia play-move net.onnx 'r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/5N2/PPPP1PPP/RNBQK2R b KQkq - 3 3'
  tabia play-move level:3 'rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1'
  tabia play-move pair.tflite 'rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1' --context 'rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1'
  tabia play-move --baseline 'rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1'")]
pub(crate) struct PlayMoveArgs {
    /// A model file (one ply and quiescence) or a player spec; with --baseline, the FEN.
    #[arg(value_name = "MODEL|SPEC")]
    pub(crate) first: String,
    /// The position.
    #[arg(value_name = "FEN")]
    pub(crate) second: Option<String>,
    /// Use level 5 instead of a network.
    #[arg(long)]
    pub(crate) baseline: bool,
    /// Number of lines to report.
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) lines: usize,
    /// Context of a two-input network [default: the position to move in].
    #[arg(long, value_name = "FEN", conflicts_with = "baseline")]
    pub(crate) context: Option<String>,
}

#[derive(Args)]
#[command(after_help = "Examples:
  tabia bench              the engine with its network
  tabia bench --baseline   the search alone, independent of networks")]
pub(crate) struct BenchArgs {
    /// Evaluate with this network [default: that of the engine].
    pub(crate) model: Option<PathBuf>,
    /// Evaluate with the hand-written evaluation.
    #[arg(long, conflicts_with = "model")]
    pub(crate) baseline: bool,
}

fn sprt(text: &str) -> Result<Sprt, String> {
    let numbers = text
        .split_once(',')
        .and_then(|(elo0, elo1)| Some((elo0.trim().parse().ok()?, elo1.trim().parse().ok()?)));
    let (elo0, elo1) = numbers.ok_or("expected two numbers, as in 0,5")?;
    Sprt::new(elo0, elo1, EloScale::default()).map_err(|error| error.to_string())
}

/// In minutes, unlike a PGN tag.
fn minutes(text: &str) -> Result<TimeControl, String> {
    let (minutes, seconds) = text.split_once('+').unwrap_or((text, "0"));
    let number = |text: &str, most: f64| text.parse().ok().filter(|n| (0.0..=most).contains(n));
    match (number(minutes, 600.0), number(seconds, 600.0)) {
        (Some(minutes), Some(seconds)) if minutes > 0.0 => Ok(TimeControl::sudden_death(
            Duration::from_secs_f64(60.0 * minutes),
            Duration::from_secs_f64(seconds),
        )),
        _ => Err("expected minutes + seconds per move, as in 5+3, 0.5+0 or 10".to_owned()),
    }
}

fn clocks(text: &str) -> Result<TimeControl, String> {
    let control: Option<TimeControl> = text.parse().ok();
    let playable = control.filter(|control| Clock::new(control).is_some());
    playable.ok_or_else(|| "expected seconds + increment (10+0.1), or moves/seconds (40/60+0.5)".to_owned())
}

#[derive(Args)]
#[command(after_help = "Examples:
  tabia compete net.onnx
  tabia compete net.onnx --level 1 --json-output result.json
  tabia compete net.onnx --record leaderboard.json
  tabia compete net.onnx --rules 2026

Rules: `original` is the challenge as first published (5 levels, 768 inputs, 1,000,000 parameters, 25 of 50 openings drawn by
the seed), `2026` its later edition (4 levels, 1540 inputs, 10,000,000 parameters, opset 17, IR version 8, named batches).
Levels and networks play as in the challenge's own harness.

Exits with status 0 only if a level was passed.")]
pub(crate) struct CompeteArgs {
    /// An ONNX file with the input "board".
    pub(crate) model: PathBuf,
    /// The edition of the challenge.
    #[arg(long, value_name = "EDITION", default_value_t)]
    pub(crate) rules: ChallengeRules,
    /// Play this level only.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=5))]
    pub(crate) level: Option<u8>,
    /// Random seed: which openings are drawn, and the levels' choice among equally good moves.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Openings, one FEN per line [default: those of the challenge].
    #[arg(long, value_name = "FILE")]
    pub(crate) openings: Option<PathBuf>,
    /// Write the scorecard with the moves of every game as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) json_output: Option<PathBuf>,
    /// Add the result to this leaderboard, ordered by level, then by fewest parameters. Needs a run from level 1.
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Concurrent games [default: one per core].
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
}
