use std::{
    fmt::{self, Write as _},
    num::NonZeroUsize,
    path::{Path, PathBuf},
};

use serde::Serialize;
use tabia_players::ChallengeRules;

use super::Diversity;
use crate::{
    DrawRules, End, Entrant, Format, GameRecord, Ledger, LedgerError, Openings, PlayerId, Progress, Rules,
    Run, RunError, Schedule, ScheduleError, Standings, Stop, Timer, statistics::Tally,
};

/// Number of plies at which a challenge game is drawn.
pub const CHALLENGE_PLIES: u32 = 500;

/// Whether a level is passed: at least 70% of the points, 35 of 50.
pub fn passes(games: Tally) -> bool {
    let halves = 2 * games.wins + games.draws;
    games.games() > 0 && halves * 5 >= games.games() * 7
}

/// A challenger and the levels to play.
pub struct Ladder<'a> {
    /// Challenger.
    pub challenger: &'a dyn Entrant,
    /// Number of parameters of the challenger.
    pub parameters: u64,
    /// Rules of the challenge.
    pub rules: ChallengeRules,
    /// Random seed of the games.
    pub seed: u64,
    /// Levels in order: number and opponent.
    pub levels: Vec<(u32, &'a dyn Entrant)>,
    /// Openings, each played with both colours.
    pub openings: &'a Openings,
    /// Number of concurrent games.
    pub jobs: NonZeroUsize,
    /// Folder of the ledgers, one per level (`level-1.pgn`), to resume an interrupted run.
    pub folder: Option<PathBuf>,
    /// PGN date such as `2026.01.31`; may be empty.
    pub date: String,
}

/// Progress after a game.
#[derive(Debug)]
pub struct LevelProgress<'a> {
    /// Current level.
    pub level: u32,
    /// The challenger's games on this level.
    pub games: Tally,
    /// Progress of the level's run; the challenger is player 0.
    pub run: &'a Progress<'a>,
}

/// Result of a challenge.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scorecard {
    /// Name of the challenger.
    pub challenger: String,
    /// Number of parameters.
    pub parameters: u64,
    /// Rules and seed.
    #[serde(flatten)]
    pub edition: Edition,
    /// Highest level passed.
    pub passed: Option<u32>,
    /// Levels played; the last one may be failed or unfinished.
    pub levels: Vec<LevelScore>,
    /// Diversity of the challenger's games.
    pub diversity: Diversity,
    /// Whether the challenge was stopped early.
    pub interrupted: bool,
}

/// What has to be the same for a challenge to be repeated game for game.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Edition {
    /// Rules.
    #[serde(serialize_with = "rules_by_name")]
    pub rules: ChallengeRules,
    /// Random seed: of the openings drawn, and of the levels' choice among equally good moves.
    pub seed: u64,
}

fn rules_by_name<S: serde::Serializer>(rules: &ChallengeRules, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(rules.name())
}

/// Result of a level.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LevelScore {
    /// Level.
    pub level: u32,
    /// Name of the opponent.
    pub opponent: String,
    /// The challenger's games.
    pub games: Tally,
    /// Games with White.
    pub as_white: Tally,
    /// Games with Black.
    pub as_black: Tally,
    /// Points.
    pub points: f64,
    /// Whether the level was passed.
    pub passed: bool,
    /// All games; the challenger is player 0.
    pub records: Vec<GameRecord>,
}

/// Error of a challenge.
#[derive(Debug, thiserror::Error)]
pub enum LadderError {
    /// Invalid number of openings.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// A game could not be played or recorded.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A level's ledger cannot be used.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl Ladder<'_> {
    /// Plays the levels in order until one is not passed.
    ///
    /// # Errors
    /// If a player cannot be built or a game cannot be written.
    pub fn climb(
        &self,
        timer: &dyn Timer,
        stop: &Stop,
        on_progress: &mut dyn FnMut(&LevelProgress<'_>),
    ) -> Result<Scorecard, LadderError> {
        let mut levels = Vec::new();
        let mut last = End::Complete;
        for (level, opponent) in &self.levels {
            let (score, end) = self.play_level(*level, *opponent, timer, stop, on_progress)?;
            last = end;
            let passed = score.passed;
            levels.push(score);
            if end != End::Complete || !passed {
                break;
            }
        }
        let edition = Edition { rules: self.rules, seed: self.seed };
        Ok(Scorecard::new(self.challenger.name(), self.parameters, edition, levels, last))
    }

    fn play_level(
        &self,
        level: u32,
        opponent: &dyn Entrant,
        timer: &dyn Timer,
        stop: &Stop,
        on_progress: &mut dyn FnMut(&LevelProgress<'_>),
    ) -> Result<(LevelScore, End), LadderError> {
        let (schedule, rules) = level_games(self.openings)?;
        let run = Run {
            event: format!("Challenge, level {level}"),
            date: self.date.clone(),
            entrants: vec![self.challenger, opponent],
            openings: self.openings,
            schedule: &schedule,
            rules: &rules,
            seed: self.seed,
            jobs: self.jobs,
            sprt: None,
        };
        let mut ledger = self
            .folder
            .as_deref()
            .map(|folder: &Path| Ledger::open(&folder.join(format!("level-{level}.pgn")), &run.settings()))
            .transpose()?;
        let finished = run.play(ledger.as_mut(), timer, stop, &mut |progress| {
            let games = progress.standings.overall(PlayerId(0));
            on_progress(&LevelProgress { level, games, run: progress });
        })?;
        let score =
            LevelScore::new(level, opponent.name(), &finished.standings, finished.records, finished.end);
        Ok((score, finished.end))
    }
}

/// Schedule and rules of a level: each opening with both colours.
///
/// # Errors
/// If there are too many openings.
pub fn level_games(openings: &Openings) -> Result<(Schedule, Rules), ScheduleError> {
    let count = openings.list().len();
    let rounds = u32::try_from(count).unwrap_or(u32::MAX);
    let schedule = Schedule::new(Format::Match, 2, rounds, count)?;
    Ok((
        schedule,
        Rules { max_plies: Some(CHALLENGE_PLIES), draws: DrawRules::Challenge, ..Rules::default() },
    ))
}

impl LevelScore {
    /// The score of the games on a level, the challenger being player 0. Only a level of which every game was played
    /// can be passed.
    pub fn new(
        level: u32,
        opponent: String,
        standings: &Standings,
        records: Vec<GameRecord>,
        end: End,
    ) -> LevelScore {
        let colors = standings.by_color(PlayerId(0));
        let games = colors.white + colors.black;
        LevelScore {
            level,
            opponent,
            games,
            as_white: colors.white,
            as_black: colors.black,
            points: games.points(),
            passed: end == End::Complete && passes(games),
            records,
        }
    }
}

impl Scorecard {
    /// Scorecard of these levels; `end` is that of the last one.
    pub fn new(
        challenger: String,
        parameters: u64,
        edition: Edition,
        levels: Vec<LevelScore>,
        end: End,
    ) -> Scorecard {
        let passed = levels.iter().filter(|score| score.passed).map(|score| score.level).max();
        let diversity = Diversity::of(levels.iter().flat_map(|score| &score.records), PlayerId(0));
        let interrupted = end != End::Complete;
        Scorecard { challenger, parameters, edition, passed, levels, diversity, interrupted }
    }

    /// Highest level passed together with all levels below it; 0 if the first was not passed.
    pub fn climbed(&self) -> u32 {
        let passed = |level: u32| self.levels.iter().any(|score| score.level == level && score.passed);
        (1..).take_while(|&level| passed(level)).last().unwrap_or(0)
    }
}

/// Scorecard and diversity as text.
impl fmt::Display for Scorecard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Edition { rules, seed } = self.edition;
        writeln!(f, "{} ({} parameters), rules {rules}, seed {seed}", self.challenger, self.parameters)?;
        writeln!(f, "level  opponent             wins draws losses   points  as White  as Black")?;
        for score in &self.levels {
            let Tally { wins, draws, losses } = score.games;
            let mut of = String::new();
            write!(of, "{}/{}", score.points, score.games.games())?;
            writeln!(
                f,
                "{:>5}  {:<19} {wins:>5} {draws:>5} {losses:>6} {of:>8} {:>9} {:>9}  {}",
                score.level,
                score.opponent,
                score.as_white.points(),
                score.as_black.points(),
                if score.passed { "passed" } else { "not passed" },
            )?;
        }
        match self.passed {
            Some(level) => writeln!(f, "highest level passed: {level}")?,
            None => writeln!(f, "no level passed")?,
        }
        let d = &self.diversity;
        writeln!(
            f,
            "diversity: {} games, {} first moves ({:.2} bits), {} lines of four moves ({:.2} bits)",
            d.games, d.first_moves, d.first_move_entropy, d.four_move_lines, d.four_move_entropy
        )
    }
}
