use std::{fmt, path::PathBuf};

use tabia_encoding::{Elo, RatingPool};

use super::super::{
    BuildError, FileSetting, ParseKind, PlayerContext, PlayerKind, SpecProblem,
    settings::{Settings, required_file},
    write::{Setting, Subject, sampling},
};
use super::human::HumanSpec;
use crate::{HumanBehaviour, HumanPlayer, Persona, Pick, Player, PolicyPlayer};

/// `maia:FILE`: a network that plays from its policy head: Maia of any version, and other Leela networks.
#[derive(Clone, Debug, PartialEq)]
pub struct MaiaSpec {
    /// The model file.
    pub file: PathBuf,
    /// How it picks its moves.
    pub pick: Pick,
    /// The rating to imitate, for networks that take one; `None` is the rating that the game gives the player.
    pub elo: Option<Elo>,
    /// The random seed; `None` takes that of the [context](PlayerContext::seed).
    pub seed: Option<u64>,
}

impl MaiaSpec {
    fn whom(&self) -> Persona {
        Persona { rating: self.elo, pool: self.elo.map(|_| RatingPool::Lichess) }
    }
}

impl ParseKind for MaiaSpec {
    const NAME: &'static str = "maia";
    const USAGE: &'static str = "maia:FILE";

    fn parse(subject: Option<String>, settings: &mut Settings) -> Result<MaiaSpec, SpecProblem> {
        settings.known(&["elo", "mode", "temp", "top_p", "seed"]);
        let file = required_file(subject, Self::USAGE)?;
        let elo = settings.number("elo", HumanSpec::RATINGS)?.map(Elo);
        Ok(MaiaSpec { file, elo, pick: settings.pick(Pick::Likeliest)?, seed: settings.seed()? })
    }
}

impl PlayerKind for MaiaSpec {
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = self.pick.is_sampled().then_some("sample");
        let elo = Setting("elo", self.elo.map(|elo| elo.0));
        write!(f, "{}{elo}{}", Subject(Some(&self.file)), Setting("mode", mode))?;
        sampling(f, self.pick)?;
        write!(f, "{}", Setting("seed", self.seed))
    }

    fn build(&self, context: &PlayerContext<'_>) -> Result<Box<dyn Player>, BuildError> {
        let (model, name) = context.open_named(&self.file)?;
        let seed = self.seed.unwrap_or(context.seed);
        let name = self.elo.map_or(name.clone(), |elo| format!("{name} {}", elo.0));
        let player = PolicyPlayer::new(name.clone(), model, self.whom(), self.pick, seed)
            .map_err(|source| BuildError::NoPolicy { name, source })?;
        Ok(Box::new(HumanPlayer::new(Box::new(player), HumanBehaviour::new(seed).rated(self.elo))))
    }

    fn file_setting(&self) -> FileSetting<'_> {
        FileSetting::Required(&self.file)
    }

    fn set_file(&mut self, file: Option<PathBuf>) {
        if let Some(file) = file {
            self.file = file;
        }
    }

    fn pick(&self) -> Option<Pick> {
        Some(self.pick)
    }

    fn set_pick(&mut self, pick: Pick) {
        self.pick = pick;
    }

    fn persona(&self) -> Option<Persona> {
        Some(self.whom())
    }

    fn rating(&self) -> Option<Elo> {
        self.elo
    }

    /// Most of these networks take no rating, so that it can only be changed where it is set.
    fn rating_mut(&mut self) -> Option<&mut Option<Elo>> {
        self.elo.is_some().then_some(&mut self.elo)
    }
}
