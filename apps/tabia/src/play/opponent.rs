//! The other side of the board: any player.

use std::path::Path;

use anyhow::{Context, Result};
use fastrand::Rng;
use shakmaty::{Color, Move};
use tabia_encoding::{Elo, Score};
use tabia_game::History;
use tabia_search::{HumanSpec, Limits, NetSearch, NetSpec, Pick, Player, Spec};

use crate::cli::{Mode, PlayArgs};
use crate::players::{Makers, WallClock};

/// How many moves a hint shows.
const HINTS: usize = 5;

/// A player at the board.
pub(super) struct Opponent {
    makers: Makers,
    spec: Spec,
    player: Box<dyn Player>,
    /// Decides for players that throw dice.
    rng: Rng,
    seed: u64,
}

impl Opponent {
    pub(super) fn new(args: &PlayArgs) -> Result<Opponent> {
        let makers = Makers::default();
        let spec = spec_of(args, &makers)?;
        let mut rng = args.seed.map_or_else(Rng::new, Rng::with_seed);
        let seed = rng.u64(..);
        let player = makers.make(&spec, seed)?;
        Ok(Opponent { makers, spec, player, rng, seed })
    }

    pub(super) fn name(&self) -> String {
        self.player.name()
    }

    /// Asks a player who listens to a rating for another one; whether it does.
    pub(super) fn set_elo(&mut self, elo: Elo) -> Result<bool> {
        let Spec::Human(human) = &mut self.spec else { return Ok(false) };
        human.elo = Some(elo);
        self.player = self.makers.make(&self.spec, self.seed)?;
        Ok(true)
    }

    pub(super) fn new_game(&mut self) {
        self.player.new_game();
    }

    pub(super) fn toss(&mut self) -> Color {
        if self.rng.bool() { Color::White } else { Color::Black }
    }

    /// A move for the side to move; the game must not be over.
    pub(super) fn choose(&mut self, history: &History) -> Result<Move> {
        Ok(self.player.choose(history, &Limits::default(), &WallClock::start())?.mv)
    }

    /// What it would play in this position, best first, each with what it thinks of it.
    pub(super) fn hint(&self, history: &History) -> Result<Vec<(Move, String)>> {
        // Another player of the same kind, so that asking does not change the game.
        let mut player = self.makers.make(&self.spec, self.seed)?;
        let limits = Limits { lines: HINTS, ..Limits::default() };
        let choice = player.choose(history, &limits, &WallClock::start())?;
        let lines = choice.lines.iter().filter_map(|line| {
            let note = match (line.probability, line.score) {
                (Some(p), _) => format!("{:.1}%", 100.0 * p),
                (None, Some(score)) => match score.0 {
                    Score::Centipawns(cp) => format!("{:+.2}", f64::from(cp) / 100.0),
                    Score::Mate(moves) => format!("mate in {moves}"),
                },
                (None, None) => String::new(),
            };
            Some((*line.moves.first()?, note))
        });
        Ok(lines.collect())
    }
}

/// A model file plays as its heads allow; anything else is a player spec.
fn spec_of(args: &PlayArgs, makers: &Makers) -> Result<Spec> {
    let pick = match args.mode {
        Mode::Argmax => Pick::Likeliest,
        Mode::Sample => Pick::Sampled { temperature: args.temperature, top_p: 1.0 },
    };
    let human = |file| Spec::Human(HumanSpec { file, elo: Some(Elo(args.elo)), pick, seed: None });
    let Some(text) = &args.opponent else { return Ok(human(None)) };
    let path = Path::new(text);
    if !path.exists() {
        return text.parse().with_context(|| format!("{text:?} is neither a model file nor a player"));
    }
    let model = makers.open(path).with_context(|| text.clone())?;
    Ok(if model.card().policy.is_some() {
        human(Some(path.to_owned()))
    } else {
        Spec::Net(NetSpec { file: path.to_owned(), search: NetSearch::OnePly })
    })
}
