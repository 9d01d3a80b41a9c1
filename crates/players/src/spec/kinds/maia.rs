use std::{fmt, path::PathBuf};

use super::super::{
    BuildError, FileSetting, ParseKind, PlayerContext, PlayerKind, SpecProblem,
    settings::{Settings, required_file},
    write::{Setting, Subject, sampling},
};
use crate::{HumanBehaviour, HumanPlayer, Persona, Pick, Player, PolicyPlayer};

/// `maia:FILE`: a Leela network that plays from its policy head.
#[derive(Clone, Debug, PartialEq)]
pub struct MaiaSpec {
    /// The model file.
    pub file: PathBuf,
    /// How it picks its moves.
    pub pick: Pick,
    /// The random seed; `None` takes that of the [context](PlayerContext::seed).
    pub seed: Option<u64>,
}

impl ParseKind for MaiaSpec {
    const NAME: &'static str = "maia";
    const USAGE: &'static str = "maia:FILE";

    fn parse(subject: Option<String>, settings: &mut Settings) -> Result<MaiaSpec, SpecProblem> {
        settings.known(&["mode", "temp", "top_p", "seed"]);
        let file = required_file(subject, Self::USAGE)?;
        Ok(MaiaSpec { file, pick: settings.pick(Pick::Likeliest)?, seed: settings.seed()? })
    }
}

impl PlayerKind for MaiaSpec {
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = self.pick.is_sampled().then_some("sample");
        write!(f, "{}{}", Subject(Some(&self.file)), Setting("mode", mode))?;
        sampling(f, self.pick)?;
        write!(f, "{}", Setting("seed", self.seed))
    }

    fn build(&self, context: &PlayerContext<'_>) -> Result<Box<dyn Player>, BuildError> {
        let (model, name) = context.open_named(&self.file)?;
        let seed = self.seed.unwrap_or(context.seed);
        let player = PolicyPlayer::new(name.clone(), model, Persona::default(), self.pick, seed)
            .map_err(|source| BuildError::NoPolicy { name, source })?;
        Ok(Box::new(HumanPlayer::new(Box::new(player), HumanBehaviour::new(seed))))
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
        Some(Persona::default())
    }
}
