use std::{
    fmt::{self, Write as _},
    num::NonZeroUsize,
    path::{Path, PathBuf},
};

use serde::Serialize;

use super::Diversity;
use crate::{
    BadSchedule, End, Entrant, Format, GameRecord, Ledger, LedgerError, Openings, PlayerId, Progress, Rules,
    Run, RunError, Schedule, Standings, Stop, Timer, statistics::Tally,
};

/// A game of the challenge that lasts this many plies is a draw.
pub const CHALLENGE_PLIES: u32 = 500;

/// Whether a level is passed: at least 70% of the points, 35 of 50.
pub fn passes(games: Tally) -> bool {
    let halves = 2 * games.wins + games.draws;
    games.games() > 0 && halves * 5 >= games.games() * 7
}

/// A challenger and the levels it is to climb.
pub struct Ladder<'a> {
    /// Who climbs.
    pub challenger: &'a dyn Entrant,
    /// How many parameters it has.
    pub parameters: u64,
    /// The levels to play, in order: their numbers and their players.
    pub levels: Vec<(u32, &'a dyn Entrant)>,
    /// What is played on, each with both colours.
    pub openings: &'a Openings,
    /// How many games at a time.
    pub jobs: NonZeroUsize,
    /// Where the games are kept, in a ledger a level (`level-1.pgn`), so that a killed run can be resumed.
    pub folder: Option<PathBuf>,
    /// When, as `2026.01.31`, for PGN; may be empty.
    pub date: String,
}

/// What somebody who watches is told after each game.
#[derive(Debug)]
pub struct LevelProgress<'a> {
    /// The level being played.
    pub level: u32,
    /// The challenger's games on it so far.
    pub games: Tally,
    /// The rest; the challenger is player 0.
    pub run: &'a Progress<'a>,
}

/// How a challenger did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scorecard {
    /// Who climbed.
    pub challenger: String,
    /// How many parameters it has.
    pub parameters: u64,
    /// The highest level passed.
    pub passed: Option<u32>,
    /// The levels played, the last one perhaps failed or unfinished.
    pub levels: Vec<LevelScore>,
    /// How much the challenger's games differ.
    pub diversity: Diversity,
    /// Whether somebody stopped it before its end.
    pub interrupted: bool,
}

/// How a challenger did on one level.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LevelScore {
    /// The level.
    pub level: u32,
    /// Whose it is.
    pub opponent: String,
    /// The challenger's games.
    pub games: Tally,
    /// Those with White.
    pub as_white: Tally,
    /// Those with Black.
    pub as_black: Tally,
    /// Points taken.
    pub points: f64,
    /// Whether that is enough.
    pub passed: bool,
    /// Every game; the challenger is player 0.
    pub records: Vec<GameRecord>,
}

/// Why a ladder cannot be climbed.
#[derive(Debug, thiserror::Error)]
pub enum LadderError {
    /// The openings are too many or none.
    #[error(transparent)]
    Schedule(#[from] BadSchedule),
    /// A game could not be played or kept.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A level's ledger cannot be used.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl Ladder<'_> {
    /// Plays level after level until one is not passed.
    ///
    /// # Errors
    /// When a player cannot be made or a game cannot be put on disk.
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
        Ok(Scorecard::new(self.challenger.name(), self.parameters, levels, last))
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
            seed: 0,
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

/// What is played on a level, and by what rules: each opening with both colours.
///
/// # Errors
/// When the openings are too many.
pub fn level_games(openings: &Openings) -> Result<(Schedule, Rules), BadSchedule> {
    let count = openings.list().len();
    let rounds = u32::try_from(count).unwrap_or(u32::MAX);
    let schedule = Schedule::new(Format::Match, 2, rounds, count)?;
    Ok((schedule, Rules { max_plies: Some(CHALLENGE_PLIES), ..Rules::default() }))
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
    /// The scorecard of these levels; `end` is that of the last.
    pub fn new(challenger: String, parameters: u64, levels: Vec<LevelScore>, end: End) -> Scorecard {
        let passed = levels.iter().filter(|score| score.passed).map(|score| score.level).max();
        let diversity = Diversity::of(levels.iter().flat_map(|score| &score.records), PlayerId(0));
        let interrupted = end != End::Complete;
        Scorecard { challenger, parameters, passed, levels, diversity, interrupted }
    }

    /// The level reached by passing every level from the first on; 0 if the first was not played or not passed.
    pub fn climbed(&self) -> u32 {
        let passed = |level: u32| self.levels.iter().any(|score| score.level == level && score.passed);
        (1..).take_while(|&level| passed(level)).last().unwrap_or(0)
    }
}

/// The scorecard and the report on diversity as text.
impl fmt::Display for Scorecard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} ({} parameters)", self.challenger, self.parameters)?;
        writeln!(f, "level  opponent          wins draws losses   points  as White  as Black")?;
        for score in &self.levels {
            let Tally { wins, draws, losses } = score.games;
            let mut of = String::new();
            write!(of, "{}/{}", score.points, score.games.games())?;
            writeln!(
                f,
                "{:>5}  {:<16} {wins:>5} {draws:>5} {losses:>6} {of:>8} {:>9} {:>9}  {}",
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
