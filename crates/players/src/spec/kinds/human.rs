use std::{fmt, ops::RangeInclusive, path::PathBuf, sync::Arc};

use tabia_encoding::{Elo, RatingPool};
use tabia_model::Model;

use super::super::{
    BuildError, BuiltInNetwork, FileSetting, ParseKind, PlayerContext, PlayerKind, SpecProblem,
    settings::{Settings, optional_file},
    write::{Setting, Subject, quoted, sampling},
};
use crate::{
    Adapter, HumanBehaviour, HumanPlayer, Persona, Pick, Player, PolicyPlayer, SearchBlend, StrengthSettings,
    strength_at,
};

/// Plies from the initial position that a calibrated player plays without search.
const OPENING: usize = 8;

/// The name of the built-in network.
const BUILT_IN: &str = "human";

/// `human[:FILE]`: a human-like network that plays from its policy head. The file may be an adapter, which makes the
/// built-in network, or that of `net`, play like one person.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HumanSpec {
    /// The model file or adapter; `None` is the built-in network.
    pub file: Option<PathBuf>,
    /// The model file that an adapter is used with; `None` is the built-in network.
    pub net: Option<PathBuf>,
    /// The rating to play at; `None` is the rating that the game gives the player.
    pub elo: Option<Elo>,
    /// What determines its strength.
    pub play: HumanPlay,
    /// The pool of the rating; `None` is online where a rating is set, otherwise that of the game.
    pub pool: Option<RatingPool>,
    /// Whether it waits as long as a person thinks where clocks run; `None` leaves it to the caller and means no.
    pub pause: Option<bool>,
    /// The random seed; `None` takes that of the [context](PlayerContext::seed).
    pub seed: Option<u64>,
}

/// What determines the strength of a human-like player.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum HumanPlay {
    /// The calibration in the network's card for the rating asked for. Without a rating or a calibration, the network's
    /// own probabilities.
    #[default]
    Calibrated,
    /// These settings; the network is told the rating asked for.
    Fixed(StrengthSettings),
}

impl HumanSpec {
    /// The ratings that can be asked for.
    pub const RATINGS: RangeInclusive<u16> = 600..=2600;

    /// The rating to tell the network for the rating to play at, and the settings to play with.
    fn strength(&self, elo: Option<Elo>, model: &Model) -> (Option<Elo>, StrengthSettings) {
        match self.play {
            HumanPlay::Fixed(settings) => (elo, settings),
            HumanPlay::Calibrated => {
                let calibrated = elo.zip(model.card().strength.as_ref());
                let calibrated = calibrated.and_then(|(elo, table)| strength_at(table, elo));
                calibrated.map_or((elo, StrengthSettings::RAW), |(told, settings)| (Some(told), settings))
            }
        }
    }

    /// The network and the name of the player.
    fn network(
        &self,
        adapter: Option<&Adapter>,
        context: &PlayerContext<'_>,
    ) -> Result<(Arc<Model>, String), BuildError> {
        let built_in = || {
            let model = context.built_in(BuiltInNetwork::Human)?;
            Ok((model, BUILT_IN.to_owned()))
        };
        match (adapter, &self.file, &self.net) {
            (Some(adapter), _, net) => {
                let (model, _) = net.as_deref().map_or_else(built_in, |file| context.open_named(file))?;
                Ok((model, adapter.name.clone()))
            }
            (None, Some(file), Some(_)) => Err(BuildError::NotAdapter { file: file.clone() }),
            (None, Some(file), None) | (None, None, Some(file)) => context.open_named(file),
            (None, None, None) => built_in(),
        }
    }

    /// The pool of the rating: a bare number is a Lichess rating.
    fn rating_pool(&self) -> Option<RatingPool> {
        self.pool.or(self.elo.map(|_| RatingPool::Lichess))
    }
}

impl ParseKind for HumanSpec {
    const NAME: &'static str = "human";
    const USAGE: &'static str = "human[:FILE]";

    fn parse(subject: Option<String>, settings: &mut Settings) -> Result<HumanSpec, SpecProblem> {
        settings.known(&[
            "elo", "net", "strength", "pool", "mode", "temp", "top_p", "trust", "nodes", "mates", "pause",
            "seed",
        ]);
        let subject = settings.subject_or_setting(subject)?;
        Ok(HumanSpec {
            file: optional_file(subject, Self::USAGE)?,
            net: optional_file(settings.take("net"), Self::USAGE)?,
            elo: settings.number("elo", HumanSpec::RATINGS)?.map(Elo),
            pool: settings.word("pool", &RatingPool::ALL.map(|pool| (pool.name(), pool)))?,
            seed: settings.seed()?,
            play: parse_play(settings)?,
            pause: settings.word("pause", &[("on", true), ("off", false)])?,
        })
    }
}

/// The name of a network's player at a rating.
fn rated(name: &str, elo: Option<Elo>) -> String {
    elo.map_or_else(|| name.to_owned(), |elo| format!("{name} {}", elo.0))
}

fn parse_play(settings: &mut Settings) -> Result<HumanPlay, SpecProblem> {
    let raw = settings.word("strength", &[("rated", false), ("raw", true)])?;
    let pick = settings.pick(Pick::RAW)?;
    let default = SearchBlend::NONE;
    let blend = SearchBlend {
        trust: settings.number("trust", 0.0..=1000.0)?.unwrap_or(default.trust),
        nodes: settings.number("nodes", 1..=1_000_000)?.unwrap_or(default.nodes),
        mates: settings.number("mates", 0.0..=1.0)?.unwrap_or(default.mates),
    };
    let strength = StrengthSettings { pick, blend };
    match raw {
        Some(false) | None if strength == StrengthSettings::RAW => Ok(HumanPlay::Calibrated),
        Some(true) | None => Ok(HumanPlay::Fixed(strength)),
        Some(false) => Err(SpecProblem::Conflict(
            "strength=rated and a setting that changes the strength".to_owned(),
            "one of them: mode, temp, top_p, trust, nodes and mates change the strength".to_owned(),
        )),
    }
}

impl PlayerKind for HumanSpec {
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let elo = Setting("elo", self.elo.map(|elo| elo.0));
        let net = self.net.as_deref().map(|file| file.to_string_lossy());
        let net = Setting("net", net.as_ref().map(|file| quoted(file)));
        write!(f, "{}{elo}{net}{}", Subject(self.file.as_deref()), Setting("pool", self.pool))?;
        if let HumanPlay::Fixed(settings) = self.play {
            write_strength(f, settings)?;
        }
        let pause = self.pause.map(|on| if on { "on" } else { "off" });
        write!(f, "{}{}", Setting("pause", pause), Setting("seed", self.seed))
    }

    fn build(&self, context: &PlayerContext<'_>) -> Result<Box<dyn Player>, BuildError> {
        let adapter = self.file.as_deref().map(|file| context.adapter(file)).transpose()?.flatten();
        let (model, name) = self.network(adapter.as_deref(), context)?;
        let name = rated(&name, self.elo);
        let seed = self.seed.unwrap_or(context.seed);
        let elo = self.elo.or(adapter.as_ref().and_then(|adapter| adapter.rating));
        let (rating, StrengthSettings { pick, blend }) = self.strength(elo, &model);
        // An adapter was learned with the network told the person's own rating.
        let rating = if adapter.is_some() { elo } else { rating };
        let pool = self.pool.or(adapter.as_ref().map(|adapter| adapter.pool)).or(self.rating_pool());
        let persona = Persona { rating, pool };
        let mut player = PolicyPlayer::new(name.clone(), model, persona, pick, seed)
            .map_err(|source| BuildError::NoPolicy { name, source })?;
        if let Some(adapter) = adapter {
            player = player.with_adapter(adapter);
        }
        if self.play == HumanPlay::Calibrated {
            player = player.with_opening(OPENING);
        }
        if blend.is_active() {
            player = player.with_search(blend, context.any_evaluator());
        }
        let player = HumanPlayer::new(Box::new(player), HumanBehaviour::new(seed).rated(elo));
        Ok(Box::new(if self.pause == Some(true) { player.waiting() } else { player }))
    }

    fn file_setting(&self) -> FileSetting<'_> {
        FileSetting::Optional(self.file.as_deref())
    }

    fn set_file(&mut self, file: Option<PathBuf>) {
        self.file = file;
    }

    fn built_in_name(&self) -> Option<String> {
        self.built_in_network().map(|_| rated(BUILT_IN, self.elo))
    }

    fn built_in_network(&self) -> Option<BuiltInNetwork> {
        (self.file.is_none() && self.net.is_none()).then_some(BuiltInNetwork::Human)
    }

    fn rating(&self) -> Option<Elo> {
        self.elo
    }

    fn rating_mut(&mut self) -> Option<&mut Option<Elo>> {
        Some(&mut self.elo)
    }

    fn pick(&self) -> Option<Pick> {
        Some(match self.play {
            HumanPlay::Calibrated => Pick::RAW,
            HumanPlay::Fixed(settings) => settings.pick,
        })
    }

    fn set_pick(&mut self, pick: Pick) {
        let settings = match self.play {
            HumanPlay::Calibrated => StrengthSettings::RAW,
            HumanPlay::Fixed(settings) => settings,
        };
        self.play = HumanPlay::Fixed(StrengthSettings { pick, ..settings });
    }

    fn persona(&self) -> Option<Persona> {
        Some(Persona { rating: self.elo, pool: self.rating_pool() })
    }

    fn pause(&self) -> Option<bool> {
        self.pause
    }

    fn pause_mut(&mut self) -> Option<&mut Option<bool>> {
        Some(&mut self.pause)
    }
}

fn write_strength(f: &mut fmt::Formatter<'_>, settings: StrengthSettings) -> fmt::Result {
    if settings == StrengthSettings::RAW {
        return f.write_str(",strength=raw");
    }
    let mode = (!settings.pick.is_sampled()).then_some("argmax");
    write!(f, "{}", Setting("mode", mode))?;
    sampling(f, settings.pick)?;
    let (blend, default) = (settings.blend, SearchBlend::NONE);
    let trust = (blend.trust != default.trust).then_some(blend.trust);
    let nodes = (blend.nodes != default.nodes).then_some(blend.nodes);
    let mates = (blend.mates != default.mates).then_some(blend.mates);
    write!(f, "{}{}{}", Setting("trust", trust), Setting("nodes", nodes), Setting("mates", mates))
}
