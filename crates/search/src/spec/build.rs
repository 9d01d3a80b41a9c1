//! From a spec to a player.

use std::{
    error::Error,
    path::{Path, PathBuf},
    sync::Arc,
};

use tabia_encoding::{Elo, RatingPool};
use tabia_model::Model;

use super::{
    EngineEvaluation, EngineSettings, EngineSpec, HumanPlay, HumanSpec, MaiaSpec, NetSearch, NetSpec, Pause,
    Spec, UciSpec, budgeted::Budgeted,
};
use crate::{
    BaselineEvaluator, Engine, EngineOptions, Evaluator, HumanBehaviour, HumanTiming, LevelPlayer,
    NoEvaluation, NoPolicy, OnePly, Persona, Player, PolicyPlayer, RandomPlayer, SearchBlend,
    StrengthSettings, evaluator_for, strength_at,
};

/// Half-moves of an opening that people of any rating play from memory.
const OPENING: usize = 8;

/// A network, or why there is none.
pub type Opened = Result<Arc<Model>, Box<dyn Error + Send + Sync>>;

/// Where players get what they are made of.
pub struct PlayerContext<'a> {
    /// Opens a model file.
    pub open: &'a dyn Fn(&Path) -> Opened,
    /// The human-like network that comes with the program.
    pub human: &'a dyn Fn() -> Opened,
    /// The evaluation that comes with the program, for engines whose spec names none.
    pub value: &'a dyn Fn() -> Opened,
    /// Decides the moves of players that play by chance and whose spec names no seed.
    pub seed: u64,
}

/// Why a player could not be made from its spec.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The model file cannot be opened.
    #[error("{}: {source}", file.display())]
    Open {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The network that comes with the program cannot be opened.
    #[error("the built-in {what}: {source}")]
    BuiltIn {
        /// Which of them.
        what: &'static str,
        /// What is wrong with it.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The network cannot say who is better.
    #[error("{}: {source}", file.display())]
    NoEvaluation {
        /// The model file.
        file: PathBuf,
        /// What is missing.
        source: NoEvaluation,
    },
    /// The network cannot say which moves are likely.
    #[error("{name}: {source}")]
    NoPolicy {
        /// The network.
        name: String,
        /// What is missing.
        source: NoPolicy,
    },
    /// Players of this kind are made elsewhere: they need another process.
    #[error("{0} is not a player that can be made here")]
    NotHere(Spec),
}

impl Spec {
    /// Makes the player.
    ///
    /// # Errors
    /// If its network cannot be opened or has not the head it needs, or if it is made elsewhere, as `uci` is.
    pub fn build(&self, context: &PlayerContext<'_>) -> Result<Box<dyn Player>, BuildError> {
        match self {
            Spec::Level(level) => Ok(Box::new(LevelPlayer::new(*level))),
            Spec::Net(NetSpec { file, search: NetSearch::OnePly }) => {
                let model = context.open(file)?;
                let player = OnePly::new(called(&model, file), &model);
                let player =
                    player.map_err(|source| BuildError::NoEvaluation { file: file.clone(), source })?;
                Ok(Box::new(player))
            }
            Spec::Human(human) => human.build(context),
            Spec::Maia(maia) => maia.build(context),
            Spec::Random { seed } => Ok(Box::new(RandomPlayer::new(seed.unwrap_or(context.seed)))),
            Spec::Net(NetSpec { file, search: NetSearch::AlphaBeta(settings) }) => {
                let (name, leaf) = context.network(file)?;
                Ok(settings.build(name, leaf))
            }
            Spec::Engine(EngineSpec { evaluation, settings }) => {
                let (name, leaf) = evaluation.build(context)?;
                Ok(settings.build(name, leaf))
            }
            Spec::Uci(UciSpec { .. }) => Err(BuildError::NotHere(self.clone())),
        }
    }
}

impl EngineEvaluation {
    /// What an engine with this evaluation is called, and the evaluation.
    ///
    /// # Errors
    /// If its network cannot be opened or has no evaluation head.
    pub fn build(&self, context: &PlayerContext<'_>) -> Result<(String, Box<dyn Evaluator>), BuildError> {
        let engine = "Tabia engine";
        match self {
            EngineEvaluation::File(file) => context.network(file),
            EngineEvaluation::Baseline => {
                Ok((format!("{engine}, hand-written evaluation"), Box::new(BaselineEvaluator)))
            }
            EngineEvaluation::Usual => {
                let faulty = |source| BuildError::BuiltIn { what: "evaluation", source };
                let model = (context.value)().map_err(faulty)?;
                let leaf = evaluator_for(&model).map_err(|source| faulty(source.into()))?;
                Ok((engine.to_owned(), leaf))
            }
        }
    }
}

impl EngineSettings {
    fn build(&self, name: String, leaf: Box<dyn Evaluator>) -> Box<dyn Player> {
        let usual = EngineOptions::default();
        let options = EngineOptions {
            hash_mib: self.hash_mib.map_or(usual.hash_mib, |mib| mib as usize),
            threads: self.threads.map_or(usual.threads, |threads| threads as usize),
            ..usual
        };
        let player = Box::new(Engine::new(name, options, leaf));
        Box::new(Budgeted::new(player, self.budget.clone()))
    }
}

impl HumanSpec {
    fn build(&self, context: &PlayerContext<'_>) -> Result<Box<dyn Player>, BuildError> {
        let (model, name) = match &self.file {
            Some(file) => {
                let model = context.open(file)?;
                let name = called(&model, file);
                (model, name)
            }
            None => {
                let what = "human-like network";
                let model = (context.human)().map_err(|source| BuildError::BuiltIn { what, source })?;
                let name = model.card().name.clone().unwrap_or_else(|| "Human".to_owned());
                (model, name)
            }
        };
        let name = self.elo.map_or(name.clone(), |elo| format!("{name} {}", elo.0));
        let seed = self.seed.unwrap_or(context.seed);
        // A number alone means what most people mean by it: a rating on a chess site.
        let pool = self.pool.or(self.elo.map(|_| RatingPool::Online));
        let (rating, StrengthSettings { pick, blend }) = self.dials(&model);
        let persona = Persona { rating, pool };
        let player = PolicyPlayer::new(name.clone(), model, persona, pick, seed)
            .map_err(|source| BuildError::NoPolicy { name, source })?;
        // A table is for calculating; what is set by hand holds from the first move.
        let known = if self.play == HumanPlay::AsRated { OPENING } else { 0 };
        let player = player.from_memory(known);
        let alone = blend.trust == SearchBlend::NONE.trust && blend.mates == SearchBlend::NONE.mates;
        let player = if alone { player } else { player.advised(blend, context.judge()) };
        Ok(match self.pause {
            Some(Pause::On) => {
                Box::new(HumanTiming::new(Box::new(player), HumanBehaviour::new(seed).of(self.elo)))
            }
            Some(Pause::Off) | None => Box::new(player),
        })
    }

    /// The rating to tell the network, and how to take its answer.
    fn dials(&self, model: &Model) -> (Option<Elo>, StrengthSettings) {
        match self.play {
            HumanPlay::Dialled(dials) => (self.elo, dials),
            HumanPlay::AsRated => {
                let fitted = self.elo.zip(model.card().strength.as_ref());
                let fitted = fitted.and_then(|(elo, table)| strength_at(table, elo));
                fitted.map_or((self.elo, StrengthSettings::RAW), |(told, dials)| (Some(told), dials))
            }
        }
    }
}

impl MaiaSpec {
    fn build(&self, context: &PlayerContext<'_>) -> Result<Box<dyn Player>, BuildError> {
        let model = context.open(&self.file)?;
        let name = called(&model, &self.file);
        let seed = self.seed.unwrap_or(context.seed);
        let player = PolicyPlayer::new(name.clone(), model, Persona::default(), self.pick, seed);
        Ok(Box::new(player.map_err(|source| BuildError::NoPolicy { name, source })?))
    }
}

impl PlayerContext<'_> {
    fn open(&self, file: &Path) -> Result<Arc<Model>, BuildError> {
        (self.open)(file).map_err(|source| BuildError::Open { file: file.to_owned(), source })
    }

    /// The evaluation that comes with the program, or the hand-written one where none does.
    fn judge(&self) -> Box<dyn Evaluator> {
        let usual = (self.value)().ok().and_then(|model| evaluator_for(&model).ok());
        usual.unwrap_or_else(|| Box::new(BaselineEvaluator))
    }

    /// A network that evaluates, and what it is called.
    fn network(&self, file: &Path) -> Result<(String, Box<dyn Evaluator>), BuildError> {
        let model = self.open(file)?;
        let leaf = evaluator_for(&model)
            .map_err(|source| BuildError::NoEvaluation { file: file.to_owned(), source })?;
        Ok((called(&model, file), leaf))
    }
}

/// What people call a network: what its card says, or its file.
fn called(model: &Model, file: &Path) -> String {
    let of_file = || file.file_stem().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
    model.card().name.clone().unwrap_or_else(of_file)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use shakmaty::{ByColor, Chess, Position};
    use tabia_game::History;

    use super::*;
    use crate::{Limits, NoControl, SearchControl, TimeLeft, test_networks, test_time::Passing};

    fn build(spec: &str) -> Result<Box<dyn Player>, BuildError> {
        let open = |file: &Path| match file.to_str() {
            Some("challenge.onnx") => Ok(test_networks::challenge()),
            Some("leela.pb") => Ok(test_networks::leela()),
            Some("human.onnx") => Ok(test_networks::human()),
            Some("human.safetensors") => Ok(test_networks::human_of_a_game()),
            _ => Err("no such file".into()),
        };
        let context = PlayerContext {
            open: &open,
            human: &|| Ok(test_networks::human()),
            value: &|| Ok(test_networks::challenge()),
            seed: 9,
        };
        spec.parse::<Spec>().unwrap().build(&context)
    }

    #[test]
    fn players_of_this_crate_are_built_and_move() {
        let named = [
            ("level:2", "Level 2 (Novice)"),
            ("net:challenge.onnx", "challenge"),
            ("human", "Human"),
            ("human:human.onnx,elo=1500", "human 1500"),
            ("maia:leela.pb,temp=0.5", "leela"),
            ("random,seed=1", "Random"),
            ("engine,depth=2", "Tabia engine"),
            ("engine:challenge.onnx,nodes=200", "challenge"),
            ("engine,eval=baseline,depth=2,hash=1", "Tabia engine, hand-written evaluation"),
            ("net:challenge.onnx,search=ab,depth=1", "challenge"),
        ];
        let game = History::new(Chess::default(), ByColor::default());
        for (spec, name) in named {
            let mut player = build(spec).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(player.name(), name);
            player.new_game();
            let choice = player.choose(&game, &Limits::default(), &NoControl).unwrap();
            assert!(game.current().is_legal(choice.mv), "{spec}");
            assert_eq!(choice.lines[0].rank, 1, "{spec}");
        }
    }

    /// The same network with a card that says how strong it is.
    fn fitted() -> Arc<Model> {
        let card = r#"{"strength": {"method": "none", "knots": [
            {"asked": 1000, "told": 700, "temperature": 1.5, "trust": 0.5, "nodes": 200, "mates": 0.5},
            {"asked": 2000, "told": 2300, "temperature": 0.5, "trust": 9.0, "nodes": 200, "mates": 1.0}]}}"#;
        let bytes = include_bytes!("../../../../fixtures/models/human.safetensors");
        Arc::new(Model::new(tabia_model::Source::read(bytes).unwrap(), Some(card)).unwrap())
    }

    #[test]
    fn a_rating_is_played_as_the_card_says_and_settings_go_before_the_card() {
        let fen = "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2";
        let game = History::new(tabia_game::position_from_fen(fen).unwrap(), ByColor::default());
        let said = |spec: &str| {
            let (open, human) = (|_: &Path| Err("no file".into()), || Ok(fitted()));
            let value = || Ok(test_networks::challenge());
            let context = PlayerContext { open: &open, human: &human, value: &value, seed: 9 };
            let mut player = spec.parse::<Spec>().unwrap().build(&context).unwrap();
            let limits = Limits { lines: 300, ..Limits::default() };
            let choice = player.choose(&game, &limits, &NoControl).unwrap();
            let lines: Vec<_> = choice.lines.iter().map(|line| (line.moves[0], line.probability)).collect();
            (lines, choice.mv)
        };
        assert_eq!(said("human,elo=1000"), said("human,elo=700,temp=1.5,trust=0.5,nodes=200,mates=0.5"));
        assert_eq!(said("human:elo=1500"), said("human,elo=1500,temp=1,trust=4.75,nodes=200,mates=0.75"));
        assert_ne!(said("human,elo=1000"), said("human,elo=1000,strength=raw"));
        assert_eq!(said("human,elo=1500,temp=1"), said("human,elo=1500"), "1 is no other temperature");
        assert_ne!(said("human,elo=1500,temp=0.9"), said("human,elo=1500"));
        assert_eq!(said("human"), said("human,strength=raw"), "no rating is asked for");
    }

    /// A game that the player of a spec plays against itself on 30 seconds: its moves and what each took.
    fn timed_game(spec: &str) -> Vec<(shakmaty::Move, Duration)> {
        let (open, human) = (|_: &Path| Err("no file".into()), || Ok(fitted()));
        let value = || Ok(test_networks::challenge());
        let context = PlayerContext { open: &open, human: &human, value: &value, seed: 9 };
        let mut player = spec.parse::<Spec>().unwrap().build(&context).unwrap();
        let mut game = History::new(Chess::default(), ByColor::default());
        let mut left = Duration::from_secs(30);
        let mut played = Vec::new();
        for _ in 0..10 {
            let clock = TimeLeft { remaining: left, increment: Duration::ZERO };
            let clocks = Some(ByColor { white: clock, black: clock });
            let watch = Passing::default();
            let choice = player.choose(&game, &Limits { clocks, ..Limits::default() }, &watch).unwrap();
            left -= watch.elapsed();
            played.push((choice.mv, watch.elapsed()));
            game.push(choice.mv, Some(left));
        }
        played
    }

    #[test]
    fn a_seed_decides_moves_and_pauses() {
        let first = timed_game("human,elo=1500,pause=on,seed=3");
        assert_eq!(first, timed_game("human,elo=1500,pause=on,seed=3"));
        assert_ne!(first, timed_game("human,elo=1500,pause=on,seed=4"));
        assert!(first.iter().any(|(_, taken)| *taken > Duration::ZERO), "{first:?}");
        let at_once = timed_game("human,elo=1500,pause=off,seed=3");
        assert!(at_once.iter().all(|(_, taken)| taken.is_zero()), "the switch");
    }

    #[test]
    fn a_pawn_becomes_what_people_make_of_it() {
        let position = tabia_game::position_from_fen("8/P6k/8/8/8/8/8/K7 w - - 0 1").unwrap();
        let game = History::new(position, ByColor::default());
        let said = test_networks::human_of_a_game().evaluate(&[game.situation()]).unwrap().remove(0);
        let under = |mv: shakmaty::Move| mv.promotion().is_some_and(|role| role != shakmaty::Role::Queen);
        let policy = said.policy.unwrap();
        let candidates = policy.candidates().iter().filter(|of| under(of.mv));
        assert_eq!(candidates.clone().count(), 3);
        let expected: f32 = candidates.map(|of| of.probability).sum();

        const GAMES: u32 = 400;
        let mut player = build("human:human.safetensors,seed=5").unwrap_or_else(|error| panic!("{error}"));
        let picked = (0..GAMES).map(|_| player.choose(&game, &Limits::default(), &NoControl).unwrap().mv);
        let share = picked.filter(|mv| under(*mv)).count() as f32 / GAMES as f32;
        // Four standard errors of an even chance.
        assert!((share - expected).abs() < 0.1, "{share} of {expected}");
        assert!(share > 0.0, "{expected}");
    }

    #[test]
    fn a_rating_alone_is_one_of_a_chess_site() {
        let game = History::new(Chess::default(), ByColor::default());
        let said = |spec: &str| {
            let mut player = build(spec).unwrap_or_else(|error| panic!("{error}"));
            player.choose(&game, &Limits { lines: 300, ..Limits::default() }, &NoControl).unwrap().lines
        };
        let rated = said("human:human.safetensors,elo=1200");
        assert_eq!(rated, said("human:human.safetensors,elo=1200,pool=online"));
        assert_ne!(rated, said("human:human.safetensors,elo=1200,pool=over-the-board"));
        let unrated = said("human:human.safetensors");
        assert_eq!(unrated, said("human:human.safetensors,pool=unknown"));
        assert_ne!(unrated, said("human:human.safetensors,pool=online"));
    }

    #[test]
    fn what_cannot_be_built_says_why() {
        let said = |spec| build(spec).err().unwrap().to_string();
        assert_eq!(said("net:lost.onnx"), "lost.onnx: no such file");
        assert!(said("net:human.onnx").starts_with("human.onnx: the network has no evaluation head"));
        assert_eq!(said("maia:challenge.onnx"), "challenge: the network has no move head");
        assert!(said("engine:human.onnx").starts_with("human.onnx: the network has no evaluation head"));
        let error = build("uci:stockfish").err().unwrap();
        assert!(matches!(&error, BuildError::NotHere(Spec::Uci(_))), "{error}");
    }
}
