//! Player specs: one line of text that says who plays.
//!
//! A spec is a kind, what it is about, and settings: `kind[:about][,name=value]...`. What it is about and the values
//! may stand in double quotes, inside which `\"` and `\\` are a quote and a backslash; they must where they hold a comma
//! or begin with a quote. `docs/guides/players.md` lists the kinds.

mod budgeted;
mod build;
mod parse;
mod write;

use std::{
    ops::RangeInclusive,
    path::{Path, PathBuf},
    time::Duration,
};

use tabia_encoding::{Elo, RatingPool};

pub use budgeted::Budgeted;
pub use build::{BuildError, Opened, PlayerContext};
pub use parse::SpecError;

use crate::{Level, Limits, Pick, StrengthSettings};

/// Who plays, as people write it. [`str::parse`] reads one and `Display` writes it back.
///
/// ```
/// use tabia_search::Spec;
///
/// let spec: Spec = "human:maia.onnx,elo=1500,mode=argmax".parse()?;
/// assert!(matches!(&spec, Spec::Human(human) if human.elo.is_some()));
/// assert_eq!(spec.to_string(), "human:maia.onnx,elo=1500,mode=argmax");
///
/// let error = "level:9".parse::<Spec>().expect_err("there are five levels");
/// assert_eq!(error.to_string(), "player \"level:9\": 9 is no level (allowed: 1, 2, 3, 4 or 5)");
/// # Ok::<_, tabia_search::SpecError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Spec {
    /// `level:N`: a level of the Chess Challenge.
    Level(Level),
    /// `net:FILE`: a network that looks one move ahead, or leads an alpha-beta search.
    Net(NetSpec),
    /// `human[:FILE]`: a human-like network plays from its move head.
    Human(HumanSpec),
    /// `maia:FILE`: a Leela network plays from its move head.
    Maia(MaiaSpec),
    /// `engine[:FILE]`: alpha-beta over a network or the hand-written evaluation.
    Engine(EngineSpec),
    /// `random`: any legal move.
    Random {
        /// What decides the moves; `None` leaves it to whoever builds the player.
        seed: Option<u64>,
    },
    /// `uci:COMMAND`: another program that speaks UCI.
    Uci(UciSpec),
}

/// A network as a player.
#[derive(Clone, Debug, PartialEq)]
pub struct NetSpec {
    /// The model file.
    pub file: PathBuf,
    /// How it looks ahead.
    pub search: NetSearch,
}

/// How a network looks ahead.
#[derive(Clone, Debug, PartialEq)]
pub enum NetSearch {
    /// One ply and quiescence, as in the Chess Challenge.
    OnePly,
    /// `search=ab`: alpha-beta.
    AlphaBeta(EngineSettings),
}

/// A human-like network as a player.
#[derive(Clone, Debug, PartialEq)]
pub struct HumanSpec {
    /// The model file; `None` is the network that comes with the program.
    pub file: Option<PathBuf>,
    /// The rating to play at; `None` is the rating the game gives the player.
    pub elo: Option<Elo>,
    /// What decides its moves.
    pub play: HumanPlay,
    /// Whose scale ratings are on; `None` is online where a rating is set, else what the game says.
    pub pool: Option<RatingPool>,
    /// Whether it takes a person's time where clocks run; `None` leaves it to the venue, which is not to.
    pub pause: Option<Pause>,
    /// The seed of its choices; `None` leaves it to whoever builds the player.
    pub seed: Option<u64>,
}

impl HumanSpec {
    /// The ratings that can be asked for.
    pub const RATINGS: RangeInclusive<u16> = 600..=2600;

    /// Whether it plays the same move again in the same position.
    pub fn is_certain(&self) -> bool {
        matches!(self.play, HumanPlay::Dialled(StrengthSettings { pick: Pick::Likeliest, .. }))
    }
}

/// Whether a player takes as long for a move as a person would.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// It moves as soon as it can.
    Off,
    /// It does, where clocks run.
    On,
}

/// What decides the moves of a human-like player.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum HumanPlay {
    /// What the network's card says of the rating asked for, so that the player shows it. Where no rating is asked for,
    /// or the card says nothing, the network's own probabilities.
    #[default]
    AsRated,
    /// These and nothing else; the network is told the rating asked for.
    Dialled(StrengthSettings),
}

/// A Leela network as a player.
#[derive(Clone, Debug, PartialEq)]
pub struct MaiaSpec {
    /// The model file.
    pub file: PathBuf,
    /// How it picks its moves.
    pub pick: Pick,
    /// What decides the moves; `None` leaves it to whoever builds the player.
    pub seed: Option<u64>,
}

/// The alpha-beta engine as a player.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineSpec {
    /// What evaluates.
    pub evaluation: EngineEvaluation,
    /// How it searches.
    pub settings: EngineSettings,
}

impl EngineSpec {
    /// The network's file, if the spec names one.
    pub fn file(&self) -> Option<&Path> {
        match &self.evaluation {
            EngineEvaluation::File(file) => Some(file),
            EngineEvaluation::Usual | EngineEvaluation::Baseline => None,
        }
    }
}

/// What the engine evaluates positions with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum EngineEvaluation {
    /// `engine`: the network that comes with the program, or the hand-written evaluation where none does.
    #[default]
    Usual,
    /// `engine,eval=baseline`: the hand-written evaluation.
    Baseline,
    /// `engine:FILE`: a network.
    File(PathBuf),
}

/// What the hand-written evaluation is called in a spec.
const BASELINE: &str = "baseline";

/// How the alpha-beta engine searches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EngineSettings {
    /// How long it thinks about a move.
    pub budget: Budget,
    /// Size of the transposition table in MiB.
    pub hash_mib: Option<u32>,
    /// How many threads search.
    pub threads: Option<u32>,
}

impl EngineSettings {
    /// The sizes of a transposition table in MiB that can be asked for.
    pub const HASH_MIB: RangeInclusive<u32> = 1..=65_536;
    /// The numbers of threads that can be asked for.
    pub const THREADS: RangeInclusive<u32> = 1..=1_024;
}

/// Another program as a player.
#[derive(Clone, Debug, PartialEq)]
pub struct UciSpec {
    /// The program and its arguments, as a shell would split them.
    pub command: String,
    /// The rating it should play at: UCI_LimitStrength and UCI_Elo.
    pub elo: Option<Elo>,
    /// How long it thinks about a move.
    pub budget: Budget,
    /// `option.NAME=VALUE`: engine options to set, in the order given.
    pub options: Vec<(String, String)>,
}

/// How long a player thinks about a move, when its spec says so. The first limit reached ends the search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// Plies to look ahead.
    pub depth: Option<u32>,
    /// Positions to visit.
    pub nodes: Option<u64>,
    /// Time for a move, a whole number of milliseconds.
    pub movetime: Option<Duration>,
}

impl Budget {
    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        *self == Budget::default()
    }

    /// These limits for one move: what the budget sets takes the place of all that `limits` says about time, depth
    /// and nodes. An empty budget leaves them as they are.
    pub fn over(&self, limits: &Limits) -> Limits {
        if self.is_empty() {
            return limits.clone();
        }
        Limits {
            depth: self.depth,
            nodes: self.nodes,
            movetime: self.movetime,
            search_moves: limits.search_moves.clone(),
            lines: limits.lines,
            ..Limits::default()
        }
    }
}
