//! The other side of the board: any player.

use std::path::Path;

use anyhow::{Context, Result};
use fastrand::Rng;
use shakmaty::{Color, Move};
use tabia_encoding::Elo;
use tabia_game::History;
use tabia_search::{
    Choice, HumanBehaviour, HumanPlay, HumanSpec, Limits, NetSearch, NetSpec, Pause, Pick, Player,
    SearchControl, Spec, StrengthSettings,
};

use super::candidate::{Candidate, candidates};
use crate::cli::{ColorChoice, Mode, PlayArgs};
use crate::players::{PlayerFactory, WallClock};

/// How many moves a hint shows.
const HINTS: usize = 5;

/// A player at the board.
pub(super) struct Opponent {
    players: PlayerFactory,
    spec: Spec,
    player: Box<dyn Player>,
    /// When a player of people's moves gives up.
    behaviour: HumanBehaviour,
    /// Decides for players that throw dice.
    rng: Rng,
    seed: u64,
}

impl Opponent {
    /// The opponent that the arguments name.
    pub(super) fn new(args: &PlayArgs) -> Result<Opponent> {
        Opponent::named(args.opponent.as_deref(), args)
    }

    /// The player with this name, a model file or a spec, with the behaviour that the arguments ask for.
    pub(super) fn named(text: Option<&str>, args: &PlayArgs) -> Result<Opponent> {
        let players = PlayerFactory::default();
        let spec = spec_of(text, args, &players)?;
        let mut rng = args.seed.map_or_else(Rng::new, Rng::with_seed);
        let seed = rng.u64(..);
        let player = players.make(&spec, seed)?;
        let behaviour = HumanBehaviour::new(seed).of(rating(&spec));
        Ok(Opponent { players, spec, player, behaviour, rng, seed })
    }

    pub(super) fn name(&self) -> String {
        self.player.name()
    }

    /// Asks a player who listens to a rating for another one; whether it does.
    pub(super) fn set_elo(&mut self, elo: Elo) -> Result<bool> {
        let Spec::Human(human) = &mut self.spec else { return Ok(false) };
        human.elo = Some(elo);
        self.player = self.players.make(&self.spec, self.seed)?;
        self.behaviour = HumanBehaviour::new(self.seed).of(Some(elo));
        Ok(true)
    }

    pub(super) fn new_game(&mut self) {
        self.player.new_game();
    }

    /// The colour that a person who asks for this seat gets.
    pub(super) fn seat(&mut self, seat: ColorChoice) -> Color {
        match seat {
            ColorChoice::White => Color::White,
            ColorChoice::Black => Color::Black,
            ColorChoice::Random => Color::from_white(self.rng.bool()),
        }
    }

    /// A move for the side to move, or `None` if it gives up; the game must not be over.
    pub(super) fn choose(&mut self, history: &History) -> Result<Option<Move>> {
        let choice = self.player.choose(history, &Limits::default(), &WallClock::start())?;
        Ok(self.unless_hopeless(history, &choice))
    }

    /// The move, unless a person would resign instead.
    fn unless_hopeless(&mut self, history: &History, choice: &Choice) -> Option<Move> {
        let is_human = matches!(self.spec, Spec::Human(_));
        let resigns = is_human && self.behaviour.action(history, choice, None).resigns;
        (!resigns).then_some(choice.mv)
    }

    /// A move within the limits, or `None` if it gives up, and the candidates it weighed.
    pub(super) fn think(
        &mut self,
        history: &History,
        limits: &Limits,
        watch: &dyn SearchControl,
    ) -> Result<(Option<Move>, Vec<Candidate>)> {
        // Several candidates cost a network nothing; a search would play worse for them.
        let lines = if matches!(self.spec, Spec::Human(_) | Spec::Maia(_)) { HINTS } else { limits.lines };
        let choice = self.player.choose(history, &Limits { lines, ..limits.clone() }, watch)?;
        let chosen = self.unless_hopeless(history, &choice);
        Ok((chosen, candidates(history.current(), &choice.lines)))
    }

    /// What it would play in this position, best first.
    pub(super) fn hint(&self, history: &History, watch: &dyn SearchControl) -> Result<Vec<Candidate>> {
        // Another player of the same kind, so that asking does not change the game.
        let mut player = self.players.make(&self.spec, self.seed)?;
        let limits = Limits { lines: HINTS, ..Limits::default() };
        Ok(candidates(history.current(), &player.choose(history, &limits, watch)?.lines))
    }
}

/// The rating a spec asks for, of a player who behaves like people of a rating.
fn rating(spec: &Spec) -> Option<Elo> {
    match spec {
        Spec::Human(human) => human.elo,
        _ => None,
    }
}

/// A model file plays as its heads allow; anything else is a player spec.
fn spec_of(text: Option<&str>, args: &PlayArgs, players: &PlayerFactory) -> Result<Spec> {
    let dialled = |pick| HumanPlay::Dialled(StrengthSettings { pick, ..StrengthSettings::RAW });
    let play = match (args.mode, args.temperature) {
        (Mode::Argmax, _) => dialled(Pick::Likeliest),
        (Mode::Sample, None) => HumanPlay::AsRated,
        (Mode::Sample, Some(temperature)) => dialled(Pick::Sampled { temperature, top_p: 1.0 }),
    };
    let elo = Some(Elo(args.elo));
    // People at the board take their time where clocks run.
    let pause = Some(Pause::On);
    let human = |file| Spec::Human(HumanSpec { file, elo, play, pool: None, pause, seed: None });
    let Some(text) = text else { return Ok(human(None)) };
    let path = Path::new(text);
    if !path.exists() {
        return text.parse().with_context(|| format!("{text:?} is neither a model file nor a player"));
    }
    let model = players.open(path).with_context(|| text.to_owned())?;
    Ok(if model.card().policy.is_some() {
        human(Some(path.to_owned()))
    } else {
        Spec::Net(NetSpec { file: path.to_owned(), search: NetSearch::OnePly })
    })
}
