//! Player specs: one line of text that names a player.
//!
//! A spec is a kind, a subject and settings: `kind[:subject][,name=value]...`. The subject and the values may be quoted
//! with double quotes, with `\"` and `\\` as escapes inside; they must be if they contain a comma or start with a quote.
//! `docs/guides/players.md` lists the kinds; `docs/guides/add-a-player.md` shows how to add one.

/// Declares [`Spec`] from the kinds of players: a variant and the type that implements [`PlayerKind`] and [`ParseKind`].
macro_rules! registry {
    ($($(#[$doc:meta])* $variant:ident($spec:ty),)*) => {
        /// The description of a player. [`str::parse`] reads it and `Display` writes it.
        ///
        /// ```
        /// use tabia_players::Spec;
        ///
        /// let spec: Spec = "human:maia.onnx,elo=1500,mode=argmax".parse()?;
        /// assert_eq!(spec.rating().map(|elo| elo.0), Some(1500));
        /// assert_eq!(spec.to_string(), "human:maia.onnx,elo=1500,mode=argmax");
        ///
        /// let error = "level:9".parse::<Spec>().expect_err("there are five levels");
        /// assert_eq!(error.to_string(), "player \"level:9\": invalid level 9 (expected 1 to 5)");
        /// # Ok::<_, tabia_players::SpecError>(())
        /// ```
        #[derive(Clone, Debug, PartialEq)]
        pub enum Spec {
            $($(#[$doc])* $variant($spec),)*
        }

        pub(super) const USAGES: &[&str] = &[$(<$spec as ParseKind>::USAGE),*];

        impl Spec {
            pub(super) fn parse_kind(
                kind: &str,
                subject: Option<String>,
                settings: &mut Settings,
            ) -> Result<Spec, SpecProblem> {
                $(if kind == <$spec as ParseKind>::NAME {
                    return <$spec as ParseKind>::parse(subject, settings).map(Spec::$variant);
                })*
                Err(SpecProblem::UnknownKind(kind.to_owned()))
            }

            pub(super) fn kind_name(&self) -> &'static str {
                match self { $(Spec::$variant(_) => <$spec as ParseKind>::NAME,)* }
            }
        }

        impl Deref for Spec {
            type Target = dyn PlayerKind;

            fn deref(&self) -> &(dyn PlayerKind + 'static) {
                match self { $(Spec::$variant(spec) => spec,)* }
            }
        }

        impl DerefMut for Spec {
            fn deref_mut(&mut self) -> &mut (dyn PlayerKind + 'static) {
                match self { $(Spec::$variant(spec) => spec,)* }
            }
        }
    };
}

mod context;
mod kinds;
mod settings;
mod write;

use std::{
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
};

use tabia_encoding::Elo;
use tabia_search::Limits;

pub use context::{BuildError, BuiltInNetwork, Opened, OpenedAdapter, PlayerContext, StartProcess};
pub use kinds::*;
use settings::{Parts, Settings};
pub use settings::{SpecError, SpecProblem};

use crate::{Persona, Pick, Player};

/// What a spec says of its player, whatever its kind. [`Spec`] dereferences to it.
///
/// The defaults describe a deterministic player without a network, a rating or limits.
pub trait PlayerKind {
    /// Writes the spec after the kind's name, in the shortest form that parses to the same.
    ///
    /// # Errors
    /// Those of the formatter.
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;

    /// Builds the player.
    ///
    /// # Errors
    /// If its network cannot be opened or lacks a head it needs, or if `context` cannot start processes.
    fn build(&self, context: &PlayerContext<'_>) -> Result<Box<dyn Player>, BuildError>;

    /// Whether it names a model file, may or must.
    fn file_setting(&self) -> FileSetting<'_> {
        FileSetting::None
    }

    /// The model file it names.
    fn file(&self) -> Option<&Path> {
        match self.file_setting() {
            FileSetting::None => None,
            FileSetting::Optional(file) => file,
            FileSetting::Required(file) => Some(file),
        }
    }

    /// Sets the model file of a player that takes one; `None` is the built-in network.
    fn set_file(&mut self, _: Option<PathBuf>) {}

    /// The network it needs of the program that builds it, where the spec names no file.
    fn built_in_network(&self) -> Option<BuiltInNetwork> {
        None
    }

    /// The name of its player, if that needs a built-in network and nothing from outside of the program: such a player can be
    /// named before the network is opened, and nothing that a user did makes building it fail.
    fn built_in_name(&self) -> Option<String> {
        None
    }

    /// Whether it needs a network, from a file or built in.
    fn needs_network(&self) -> bool {
        self.file().is_some() || self.built_in_network().is_some()
    }

    /// Whether it repeats its moves.
    fn determinism(&self) -> Determinism {
        match (self.engine(), self.pick()) {
            (Some(engine), _) => engine.determinism(),
            (None, Some(Pick::Sampled { .. })) => Determinism::Seeded,
            (None, Some(Pick::Likeliest) | None) => Determinism::Deterministic,
        }
    }

    /// Whether the same game always gives the same move.
    fn is_deterministic(&self) -> bool {
        self.determinism() == Determinism::Deterministic
    }

    /// The rating it plays at.
    fn rating(&self) -> Option<Elo> {
        None
    }

    /// The rating setting of a player that can play at any of [`HumanSpec::RATINGS`].
    fn rating_mut(&mut self) -> Option<&mut Option<Elo>> {
        None
    }

    /// The limits of a player that searches: unlimited where the spec sets none.
    fn limits(&self) -> Option<&Limits> {
        self.engine().map(|engine| &engine.limits)
    }

    /// The same, to be changed.
    fn limits_mut(&mut self) -> Option<&mut Limits> {
        self.engine_mut().map(|engine| &mut engine.limits)
    }

    /// Whether it reports several candidate moves when asked to.
    fn reports_candidates(&self) -> bool {
        self.engine().is_some() || self.pick().is_some()
    }

    /// The settings of a player that uses the alpha-beta engine.
    fn engine(&self) -> Option<&EngineSettings> {
        None
    }

    /// The same, to be changed.
    fn engine_mut(&mut self) -> Option<&mut EngineSettings> {
        None
    }

    /// How a player picks from its policy head, without the settings that a rating brings; `None` for players without a
    /// policy head. Such players report any number of candidates for free, and always use the clock.
    fn pick(&self) -> Option<Pick> {
        None
    }

    /// Sets how a player picks from its policy head.
    fn set_pick(&mut self, _: Pick) {}

    /// Whom a player with a policy head imitates.
    fn persona(&self) -> Option<Persona> {
        None
    }

    /// Whether it waits as long as a person thinks where clocks run; `None` where not set.
    fn pause(&self) -> Option<bool> {
        None
    }

    /// The setting of a player that can wait.
    fn pause_mut(&mut self) -> Option<&mut Option<bool>> {
        None
    }
}

/// How specs of a kind are parsed.
trait ParseKind: PlayerKind + Sized {
    /// What its specs start with.
    const NAME: &'static str;
    /// Its form, for errors: `level:N`.
    const USAGE: &'static str;

    /// Takes the settings it knows; what is left over is an error.
    fn parse(subject: Option<String>, settings: &mut Settings) -> Result<Self, SpecProblem>;
}

/// Whether a player names a model file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileSetting<'a> {
    /// It uses none.
    None,
    /// It may; `None` is the built-in network or evaluation.
    Optional(Option<&'a Path>),
    /// It must.
    Required(&'a Path),
}

/// Whether a player repeats its moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Determinism {
    /// The same game gives the same move.
    Deterministic,
    /// The same game and seed give the same move.
    Seeded,
    /// Time, threads or another program make a difference.
    Uncontrolled,
}

impl FromStr for Spec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Spec, SpecError> {
        let parsed = Parts::split(text).and_then(|Parts { kind, subject, mut settings }| {
            let spec = Spec::parse_kind(&kind, subject, &mut settings)?;
            settings.finish(&kind)?;
            Ok(spec)
        });
        parsed.map_err(|problem| SpecError { spec: text.to_owned(), problem })
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind_name())?;
        self.write(f)
    }
}
