//! What can be typed.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use tabia_arena::statistics::{EloScale, Sprt};
use tabia_encoding::RatingPool;
use tabia_game::{Clock, TimeControl};
use tabia_search::Spec;

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
    /// Climb the ladder of the Chess Challenge with a network: levels 1 to 5, 50 games each.
    Compete(CompeteArgs),
    /// Count the nodes of fixed searches: the same number means the same search.
    Bench(BenchArgs),
    /// Let players play each other, and say who is stronger and how sure that is.
    Arena(ArenaArgs),
    /// Say who is stronger from the games of any PGN file.
    Elo(EloArgs),
    /// Say how like people networks are: their moves, puzzles and thinking times.
    Eval {
        #[command(subcommand)]
        command: crate::eval::EvalCommand,
    },
    /// Rate a player by games against Stockfish at known ratings.
    Validate(ValidateArgs),
    /// Say whether the human player shows the rating it is asked for, and make it so.
    Strength(StrengthArgs),
    /// Count what people do besides moving, by rating: give up, agree to draws, see mates.
    Habits(HabitsArgs),
    /// Say how many openings a player knows, against people of its rating.
    Variety(VarietyArgs),
    /// Play many games of the human player at random ratings and clocks; any fault is an error.
    Soak(SoakArgs),
    /// Show the page, and on it the data sets, training runs and matches of this machine.
    Serve(crate::serve::Args),
    /// Show the page in a window of its own, or a network that plays itself there.
    Desktop(crate::desktop::Args),
}

#[derive(Subcommand)]
pub(crate) enum ModelCommand {
    /// Say what a network is and what it thinks of a few positions.
    Info(InfoArgs),
    /// Print a network's card as Markdown: data, training, results, licence.
    Card(CardArgs),
    /// Print what goes into a network and what comes out, as numbers, for other programs to compare with.
    Tensors(TensorsArgs),
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
    /// Rating of both players, for networks that ask for it.
    #[arg(long, default_value_t = 1500, value_parser = clap::value_parser!(u16).range(1..=4000))]
    pub(crate) elo: u16,
    /// Seconds left on both clocks, for networks that ask for it [default: unknown].
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
#[command(after_help = "Example:
  tabia model card models/human.safetensors")]
pub(crate) struct CardArgs {
    /// An ONNX, safetensors, TFLite, lc0 (.pb.gz) or PyTorch (.pt) file.
    pub(crate) file: PathBuf,
}

#[derive(Args)]
#[command(after_help = "Example:
  tabia model tensors net.onnx --fen '8/P6k/8/8/8/8/8/K7 w - - 0 1' | jq .outputs

One JSON object: the runtime, and inputs and outputs by their names in the graph, one row a position. tools/check_onnx.py
compares them with onnxruntime.

The player's runtime may round where the graph does not: it computes a human network in 8 bits whose graph, the one that
`model convert` writes, has floats.")]
pub(crate) struct TensorsArgs {
    /// An ONNX, safetensors, TFLite, lc0 (.pb.gz) or PyTorch (.pt) file.
    pub(crate) file: PathBuf,
    /// A position instead of the usual five; may be given more than once.
    #[arg(long, value_name = "FEN")]
    pub(crate) fen: Vec<String>,
    /// What computes the outputs: the runtime that players of this network use, or the network's ONNX graph.
    #[arg(long, value_enum, default_value = "player")]
    pub(crate) runtime: RuntimeName,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RuntimeName {
    /// As the network plays.
    Player,
    /// As the graph is written, on the general runtime.
    #[value(alias = "float")]
    Graph,
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
  tabia play --tc 5+3                 with clocks: five minutes, three seconds a move
  tabia play level:4 --watch level:5 --delay 500
  tabia play engine,movetime=500      or level:3, or any other player of docs/guides/players.md

In a terminal the board fills the screen: move with the arrows and Enter, the mouse, or by typing (Nf3, e2e4); ? shows
the keys. Without a terminal, or with --ascii, moves and commands are typed line by line.")]
pub(crate) struct PlayArgs {
    /// The opponent: a model file of any format, or a player spec [default: the human player that comes with tabia].
    #[arg(value_name = "MODEL|SPEC")]
    pub(crate) opponent: Option<String>,
    /// The rating the opponent should play like, if its network listens to one.
    #[arg(long, default_value_t = 1500, value_parser = clap::value_parser!(u16).range(600..=2600))]
    pub(crate) elo: u16,
    /// Your colour.
    #[arg(long, value_enum, default_value_t = ColorChoice::White)]
    pub(crate) color: ColorChoice,
    /// How a move is taken from the network's probabilities.
    #[arg(long, value_enum, default_value_t = Mode::Sample)]
    pub(crate) mode: Mode,
    /// Below 1 the opponent keeps to its likeliest moves, above 1 it strays [default: what shows the rating].
    #[arg(long, value_parser = temperature)]
    pub(crate) temperature: Option<f32>,
    /// Makes the opponent's choices repeatable.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Start from this position.
    #[arg(long)]
    pub(crate) fen: Option<String>,
    /// Write the game to this file when you leave.
    #[arg(long, value_name = "FILE")]
    pub(crate) pgn: Option<PathBuf>,
    /// Play with clocks: minutes and seconds a move (5+3).
    #[arg(long, value_name = "MIN+SEC", value_parser = minutes)]
    pub(crate) tc: Option<TimeControl>,
    /// SearchControl the first player play this one; --color is then the first player's colour.
    #[arg(long, value_name = "MODEL|SPEC")]
    pub(crate) watch: Option<String>,
    /// Least time between the moves of a watched game, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 300, requires = "watch", value_parser = clap::value_parser!(u64).range(0..=60_000))]
    pub(crate) delay: u64,
    /// Plain letters and typed lines instead of the full screen.
    #[arg(long)]
    pub(crate) ascii: bool,
}

#[derive(Args)]
#[command(after_help = "Examples:
  tabia arena level:3 level:4
  tabia arena engine,nodes=20000 level:5 --games 50 --pgn match.pgn --adjudicate
  tabia arena net:new.onnx,search=ab net:old.onnx,search=ab --sprt 0,5 --tc 10+0.1 --openings book.epd
  tabia arena human,elo=1200 human,elo=1800 maia:maia-1500.pb.gz --format round-robin
  tabia arena level:5 'uci:stockfish,elo=1500' --movetime 50 --json match.json

Players: level:1 to level:5, net:FILE, human[:FILE], maia:FILE, engine[:FILE], random, uci:COMMAND.

With --pgn every game is on disk as soon as it is finished. The same command goes on where a stopped or killed
one ended; a larger --games makes a run longer. Ctrl-C ends a run after the games under way.")]
pub(crate) struct ArenaArgs {
    /// Who plays: two or more player specs.
    #[arg(required = true, num_args = 2.., value_name = "SPEC", value_parser = spec)]
    pub(crate) players: Vec<Spec>,
    /// Games of each two players who meet, rounded up to pairs [default: 100; with --sprt, 100000 at most].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) games: Option<u32>,
    /// Play until the first player is shown to be ELO0 or ELO1 (normalised Elo) stronger, with 5% chance of error.
    #[arg(long, value_name = "ELO0,ELO1", value_parser = sprt, allow_hyphen_values = true)]
    pub(crate) sprt: Option<Sprt>,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    #[command(flatten)]
    pub(crate) table: TableArgs,
    /// Who meets whom [default: match for two players, round-robin for more].
    #[arg(long, value_enum)]
    pub(crate) format: Option<MatchFormat>,
    /// End games early: lost when both say 6 pawns on 3 moves, drawn when both say level on 8 moves from move 34.
    #[arg(long)]
    pub(crate) adjudicate: bool,
}

/// How long players think.
#[derive(Args)]
pub(crate) struct LimitArgs {
    /// Clocks: seconds for the game + seconds a move (10+0.1), or moves/seconds (40/60).
    #[arg(long, value_name = "TC", value_parser = clocks, conflicts_with_all = ["nodes", "movetime", "depth"])]
    pub(crate) tc: Option<TimeControl>,
    /// Positions a move, for players that search and whose spec sets no limit.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) nodes: Option<u64>,
    /// Milliseconds a move, for players that search and whose spec sets no limit [default: 100, without other limits].
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=86_400_000))]
    pub(crate) movetime: Option<u64>,
    /// Plies to look ahead, for players that search and whose spec sets no limit.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=200))]
    pub(crate) depth: Option<u32>,
    /// How much longer than allowed a move may take before the game is lost [default: 100 with --tc, otherwise 1000].
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(0..=86_400_000))]
    pub(crate) margin: Option<u64>,
}

/// Where and how games are played.
#[derive(Args)]
pub(crate) struct TableArgs {
    /// Openings: .fen, .epd or .pgn, plain or in a .zip [default: 25 openings that come with tabia].
    #[arg(long, value_name = "BOOK")]
    pub(crate) openings: Option<PathBuf>,
    /// Play the openings in an order that depends on --seed.
    #[arg(long)]
    pub(crate) shuffle: bool,
    /// Keep the games in this file, with an index in FILE.jsonl beside it.
    #[arg(long, value_name = "FILE")]
    pub(crate) pgn: Option<PathBuf>,
    /// Games at a time [default: one a core].
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// For players that throw dice.
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) seed: u64,
    /// Write all results to this file too.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MatchFormat {
    /// Two players.
    Match,
    /// The first player meets each of the others.
    Gauntlet,
    /// Everybody meets everybody.
    RoundRobin,
}

#[derive(Args)]
#[command(after_help = "Examples:
  tabia elo match.pgn
  tabia elo monday.pgn tuesday.pgn.zst --json ratings.json
  zstdcat games.pgn.zst | tabia elo - --sprt 0,5

Games pair up when two players play the same round, or the same set-up position, with colours swapped.")]
pub(crate) struct EloArgs {
    /// PGN files, plain or zstd; - is the standard input.
    #[arg(required = true, value_name = "RESULTS")]
    pub(crate) files: Vec<PathBuf>,
    /// Also say what this test shows about the first of two players.
    #[arg(long, value_name = "ELO0,ELO1", value_parser = sprt, allow_hyphen_values = true)]
    pub(crate) sprt: Option<Sprt>,
    /// Write all results to this file too.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Args)]
#[command(after_help = "Examples:
  tabia validate
  tabia validate engine --games 200 --max 2700 --movetime 50 --pgn engine.pgn
  tabia validate net:net.onnx --stockfish ./stockfish-17

Stockfish plays at UCI_Elo 1320 (or its lowest), 1500, 1700, 1900 and 2100, and on in steps of 200 up to --max. The
rating is the one that fits all games best. With --pgn, the same command goes on where a stopped or killed one ended.")]
pub(crate) struct ValidateArgs {
    /// The player to rate.
    #[arg(default_value = "level:5", value_name = "SPEC", value_parser = spec)]
    pub(crate) player: Spec,
    /// Games in all, rounded up to pairs against each opponent.
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) games: u32,
    /// The strongest opponent's rating.
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
#[command(after_help = "Examples:
  tabia bench              the engine as it plays
  tabia bench --baseline   the search alone: no network changes this number")]
pub(crate) struct BenchArgs {
    /// Evaluate with this network [default: what the engine plays with].
    pub(crate) model: Option<PathBuf>,
    /// Evaluate with the hand-written evaluation.
    #[arg(long, conflicts_with = "model")]
    pub(crate) baseline: bool,
}

fn spec(text: &str) -> Result<Spec, String> {
    text.parse().map_err(|error: tabia_search::SpecError| error.to_string())
}

fn sprt(text: &str) -> Result<Sprt, String> {
    let numbers = text
        .split_once(',')
        .and_then(|(elo0, elo1)| Some((elo0.trim().parse().ok()?, elo1.trim().parse().ok()?)));
    let (elo0, elo1) = numbers.ok_or("two numbers and a comma, as in 0,5")?;
    Sprt::new(elo0, elo1, EloScale::default()).map_err(|error| error.to_string())
}

/// People say 5+3 and mean five minutes; a PGN tag says seconds.
fn minutes(text: &str) -> Result<TimeControl, String> {
    let (minutes, seconds) = text.split_once('+').unwrap_or((text, "0"));
    let number = |text: &str, most: f64| text.parse().ok().filter(|n| (0.0..=most).contains(n));
    match (number(minutes, 600.0), number(seconds, 600.0)) {
        (Some(minutes), Some(seconds)) if minutes > 0.0 => Ok(TimeControl::sudden_death(
            Duration::from_secs_f64(60.0 * minutes),
            Duration::from_secs_f64(seconds),
        )),
        _ => Err("minutes and seconds a move, as in 5+3, 0.5+0 or 10".to_owned()),
    }
}

fn clocks(text: &str) -> Result<TimeControl, String> {
    let control: Option<TimeControl> = text.parse().ok();
    let playable = control.filter(|control| Clock::new(control).is_some());
    playable.ok_or_else(|| "seconds and an increment (10+0.1), or moves in a time (40/60+0.5)".to_owned())
}

#[derive(Args)]
#[command(after_help = "Examples:
  tabia strength --maia maia/                         the network that comes with tabia, 1000 to 2400
  tabia strength human.safetensors --elos 1200,1600 --games 60
  tabia strength human.safetensors --fit --maia maia/ --plot curve.svg --json curve.json

Ratings are on the scale of Stockfish's UCI_Elo, below its lowest by chains of games. Stockfish looks only as deep as it
takes to pick its move, which makes it weaker than with time to think. Every game is on disk as soon as it is finished;
the same command goes on where a stopped or killed one ended. docs/guides/strength.md has the method.")]
pub(crate) struct StrengthArgs {
    /// The network [default: the one that comes with tabia].
    pub(crate) model: Option<PathBuf>,
    /// The ratings asked for.
    #[arg(long, value_name = "ELO,...", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(600..=2600),
        default_values_t = [1000, 1200, 1400, 1600, 1800, 2000, 2200, 2400])]
    pub(crate) elos: Vec<u16>,
    /// Games of each rating, at least; twice as many below 1300.
    #[arg(long, default_value_t = 200, value_name = "N", value_parser = clap::value_parser!(u32).range(8..=100_000))]
    pub(crate) games: u32,
    /// The network told the rating and nothing else: no table, no search.
    #[arg(long, conflicts_with = "fit")]
    pub(crate) raw: bool,
    /// Find the numbers that close the gaps and write them into the network's card.
    #[arg(long)]
    pub(crate) fit: bool,
    /// With --fit: how often to play and turn, before one more round that measures what was found by games of its own.
    #[arg(long, default_value_t = 3, value_name = "N", requires = "fit", value_parser = clap::value_parser!(u32).range(1..=20))]
    pub(crate) rounds: u32,
    /// With --fit: games of each rating in each of these rounds; some times as many below 2100, where they are quick.
    #[arg(long, default_value_t = 100, value_name = "N", requires = "fit", value_parser = clap::value_parser!(u32).range(8..=100_000))]
    pub(crate) fit_games: u32,
    /// With --fit: the safetensors file whose card gets the numbers, a copy of the network if there is none [default:
    /// the network's own].
    #[arg(long, value_name = "FILE", requires = "fit")]
    pub(crate) write: Option<PathBuf>,
    /// A folder with Maia networks, maia-1100.pb.gz and so on, as opponents.
    #[arg(long, value_name = "DIR")]
    pub(crate) maia: Option<PathBuf>,
    /// The command that runs Stockfish [default: stockfish in PATH or /usr/games].
    #[arg(long, value_name = "COMMAND")]
    pub(crate) stockfish: Option<String>,
    /// The folder that keeps the games.
    #[arg(long, value_name = "DIR", default_value = "strength-games")]
    pub(crate) games_in: PathBuf,
    /// Openings: .fen, .epd or .pgn, plain or in a .zip [default: 25 openings that come with tabia].
    #[arg(long, value_name = "BOOK")]
    pub(crate) openings: Option<PathBuf>,
    /// Games at a time [default: one a core].
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Decides the order of openings and the players' choices.
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) seed: u64,
    /// Write all results to this file too.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Draw the curve into this SVG file.
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,
}

#[derive(Args)]
#[command(after_help = "Example:
  tabia habits otb-rated.pgn.zst online-clock.pgn.zst --games 50000

A game is given up when somebody won it without a mate; where clocks are known, games that may have been lost on time are
left out. What the loser could expect then is what the network says of the position, told both ratings.")]
pub(crate) struct HabitsArgs {
    /// Games: PGN, plain or packed.
    #[arg(required = true, value_name = "GAMES")]
    pub(crate) files: Vec<PathBuf>,
    /// The network that judges positions [default: the human player that comes with tabia].
    #[arg(long, value_name = "FILE")]
    pub(crate) model: Option<PathBuf>,
    /// Whose scale the ratings are on [default: as the games say].
    #[arg(long, value_name = "online|over-the-board|unknown")]
    pub(crate) pool: Option<RatingPool>,
    /// Read so many games of each file.
    #[arg(long, default_value_t = 20_000, value_name = "N")]
    pub(crate) games: u32,
    /// Judge so many positions of each kind in each band.
    #[arg(long, default_value_t = 200, value_name = "N")]
    pub(crate) asked: usize,
    /// Write all figures to this file too.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Args)]
#[command(after_help = "Example:
  tabia variety human,elo=1000 human,elo=1600 human,elo=2200 --games-of otb-rated.pgn.zst")]
pub(crate) struct VarietyArgs {
    /// Who plays against itself.
    #[arg(required = true, value_name = "SPEC", value_parser = spec)]
    pub(crate) players: Vec<Spec>,
    /// How many games.
    #[arg(long, default_value_t = 200, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) games: u32,
    /// How many half-moves of each count.
    #[arg(long, default_value_t = 4, value_name = "N")]
    pub(crate) plies: usize,
    /// Games of people to compare with: PGN, plain or packed.
    #[arg(long, value_name = "GAMES")]
    pub(crate) games_of: Option<PathBuf>,
    /// Decides the players' choices.
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) seed: u64,
    /// Write all figures to this file too.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Args)]
#[command(after_help = "Examples:
  tabia soak --games 1000 --jobs 8
  tabia soak --time-trouble --games 200 --jobs 8      1 to 10 seconds left, on a loaded machine

Without clocks and with five kinds of them, against each other and against levels 1 and 3, half of the players at a
person's pace. An illegal move, an error, a crash or a move that comes too late is a fault. So is a player that with
1 to 10 seconds left plays moves the network gives less than 1% more often than people do. Players mostly wait for
their clocks: more games at a time than there are cores do no harm.")]
pub(crate) struct SoakArgs {
    /// The network [default: the human player that comes with tabia].
    pub(crate) model: Option<PathBuf>,
    /// How many games.
    #[arg(long, default_value_t = 1000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) games: u32,
    /// Only games with 1 to 10 seconds on the clock and 0 to 1 a move, between human players.
    #[arg(long)]
    pub(crate) time_trouble: bool,
    /// Games at a time [default: one a core].
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Decides ratings, clocks, pairings and the players' choices.
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) seed: u64,
}

#[derive(Args)]
#[command(after_help = "Examples:
  tabia compete net.onnx
  tabia compete net.onnx --level 1 --json-output result.json
  tabia compete net.onnx --record leaderboard.json

Ends with status 0 only if a level was passed.")]
pub(crate) struct CompeteArgs {
    /// An ONNX file with the input \"board\" and at most 1,000,000 parameters.
    pub(crate) model: PathBuf,
    /// Play this level only.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=5))]
    pub(crate) level: Option<u8>,
    /// Openings, one FEN a line [default: the 25 of the challenge].
    #[arg(long, value_name = "FILE")]
    pub(crate) openings: Option<PathBuf>,
    /// Write the scorecard with every game's moves as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) json_output: Option<PathBuf>,
    /// Enter the result into this leaderboard: by level, then by fewest parameters. Needs a climb from level 1.
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Games at a time [default: one a core].
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<NonZeroUsize>,
}
