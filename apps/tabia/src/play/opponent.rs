//! The opponent: any player.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use fastrand::Rng;
use shakmaty::{Chess, Color, Move};
use tabia_cli::{PlayerFactory, WallClock, open_adapter};
use tabia_encoding::Elo;
use tabia_game::History;
use tabia_model::Model;
use tabia_players::{
    Action, Decision, HumanPlay, HumanSpec, Limits, NetSearch, NetSpec, Pick, Player, SearchControl, Spec,
    StrengthSettings,
};

use super::candidate::{Candidate, candidates};
use crate::cli::{ColorChoice, Mode, PlayArgs};

/// The number of moves in a hint.
const HINTS: usize = 5;

/// A player of the game.
pub(super) struct Opponent {
    players: PlayerFactory,
    spec: Spec,
    player: Box<dyn Player>,
    rng: Rng,
    seed: u64,
}

impl Opponent {
    /// The opponent of the arguments.
    pub(super) fn new(args: &PlayArgs) -> Result<Opponent> {
        Opponent::named(args.opponent.as_deref(), args)
    }

    /// The opponent of a model file or spec, with the settings of the arguments.
    pub(super) fn named(text: Option<&str>, args: &PlayArgs) -> Result<Opponent> {
        let players = PlayerFactory::default();
        let spec = spec_of(text, args, &players)?;
        let mut rng = args.seed.map_or_else(Rng::new, Rng::with_seed);
        let seed = rng.u64(..);
        let player = players.make(&spec, seed)?;
        Ok(Opponent { players, spec, player, rng, seed })
    }

    pub(super) fn name(&self) -> String {
        self.player.name()
    }

    /// Sets the rating; false if the player has none.
    pub(super) fn set_elo(&mut self, elo: Elo) -> Result<bool> {
        let Some(rating) = self.spec.rating_mut() else { return Ok(false) };
        *rating = Some(elo);
        self.player = self.players.make(&self.spec, self.seed)?;
        Ok(true)
    }

    /// The bundled human network, which says how a game was played, whoever the opponent is.
    pub(super) fn human_network(&self) -> Result<Arc<Model>> {
        Ok(self.players.human_or(None)?)
    }

    pub(super) fn new_game(&mut self) {
        self.player.new_game();
    }

    /// An error if it does not play games that start here.
    pub(super) fn check_start(&self, start: &Chess) -> Result<()> {
        Ok(self.player.check_start(start)?)
    }

    /// The colour of a person who asks for this one.
    pub(super) fn resolve(&mut self, color: ColorChoice) -> Color {
        match color {
            ColorChoice::White => Color::White,
            ColorChoice::Black => Color::Black,
            ColorChoice::Random => Color::from_white(self.rng.bool()),
        }
    }

    /// A move for the side to move, or `None` if it resigns; the game must not be over.
    pub(super) fn choose(&mut self, history: &History) -> Result<Option<Move>> {
        Ok(move_of(&self.player.decide(history, &Limits::default(), &WallClock::start())?))
    }

    /// A move within the limits, or `None` if it resigns, and its candidates.
    pub(super) fn think(
        &mut self,
        history: &History,
        limits: &Limits,
        control: &dyn SearchControl,
    ) -> Result<(Option<Move>, Vec<Candidate>)> {
        // More lines weaken a search within limits, and cost others nothing.
        let lines = if self.spec.limits().is_none() { HINTS } else { limits.lines };
        let decision = self.player.decide(history, &Limits { lines, ..limits.clone() }, control)?;
        Ok((move_of(&decision), candidates(history.current(), &decision.choice.lines)))
    }

    /// Its candidates in this position, best first.
    pub(super) fn hint(&self, history: &History, control: &dyn SearchControl) -> Result<Vec<Candidate>> {
        // A new player, so that hints do not change the game.
        let mut player = self.players.make(&self.spec, self.seed)?;
        let limits = Limits { lines: HINTS, ..Limits::default() };
        Ok(candidates(history.current(), &player.choose(history, &limits, control)?.lines))
    }
}

/// The move of a decision, unless it resigns.
fn move_of(decision: &Decision) -> Option<Move> {
    (decision.action != Action::Resign).then_some(decision.choice.mv)
}

/// A player spec, or a model file: human-like with a policy head, otherwise one ply.
fn spec_of(text: Option<&str>, args: &PlayArgs, players: &PlayerFactory) -> Result<Spec> {
    let fixed = |pick| HumanPlay::Fixed(StrengthSettings { pick, ..StrengthSettings::RAW });
    let play = match (args.mode, args.temperature) {
        (Mode::Argmax, _) => fixed(Pick::Likeliest),
        (Mode::Sample, None) => HumanPlay::Calibrated,
        (Mode::Sample, Some(temperature)) => fixed(Pick::Sampled { temperature, top_p: 1.0 }),
    };
    let (elo, pause) = (Some(Elo(args.elo)), Some(true));
    let human = |file| Spec::Human(HumanSpec { file, elo, play, pause, ..HumanSpec::default() });
    let Some(text) = text else { return Ok(human(None)) };
    let path = Path::new(text);
    if !path.exists() {
        return text.parse().with_context(|| format!("{text:?} is neither a model file nor a player"));
    }
    if open_adapter(path).with_context(|| text.to_owned())?.is_some() {
        // It plays at the person's rating.
        return Ok(Spec::Human(HumanSpec {
            file: Some(path.to_owned()),
            play,
            pause,
            ..HumanSpec::default()
        }));
    }
    let model = players.open(path).with_context(|| text.to_owned())?;
    Ok(if model.card().policy.is_some() {
        human(Some(path.to_owned()))
    } else {
        Spec::Net(NetSpec { file: path.to_owned(), search: NetSearch::OnePly })
    })
}
