//! What a client may set, for each kind of player.

use std::path::{Path, PathBuf};

use tabia_encoding::Elo;
use tabia_search::{
    Dials, EngineEvaluation, EngineSettings, EngineSpec, HumanPlay, NetSearch, NetSpec, Pause, Pick, Spec,
};
use tabia_uci::message::{OptionSpec, OptionValue};

const LEAST_ELO: u16 = 600;
const MOST_ELO: u16 = 2600;
const USUAL_ELO: u16 = 1500;
const MOST_LINES: i64 = 256;

/// The player and how it reports, as the client has set them.
pub(super) struct Settings {
    pub(super) spec: Spec,
    pub(super) lines: usize,
    pub(super) show_wdl: bool,
    elo: Elo,
    limit_strength: bool,
    temperature: f32,
    sample: bool,
}

impl Settings {
    pub(super) fn new(mut spec: Spec) -> Settings {
        if let Spec::Human(human) = &mut spec {
            // Who watches a game with clocks expects a person's pace.
            human.pause.get_or_insert(Pause::On);
        }
        let elo = match &spec {
            Spec::Human(human) => human.elo,
            _ => None,
        };
        let pick = pick_of(&spec);
        Settings {
            lines: 1,
            show_wdl: false,
            elo: elo.unwrap_or(Elo(USUAL_ELO)),
            limit_strength: elo.is_some(),
            temperature: match pick {
                Some(Pick::Sampled { temperature, .. }) => temperature,
                _ => 1.0,
            },
            sample: !matches!(pick, Some(Pick::Likeliest)),
            spec,
        }
    }

    /// The options this kind of player has.
    pub(super) fn offered(&self) -> Vec<OptionSpec> {
        let mut options = Vec::new();
        // Only players that weigh several candidates can report them.
        if engine_of(&self.spec).is_some() || pick_of(&self.spec).is_some() {
            options.push(OptionSpec::spin("MultiPV", 1, 1..=MOST_LINES));
            options.push(OptionSpec::check("UCI_ShowWDL", false));
        }
        if let Some(file) = self.file() {
            options.push(OptionSpec::string(
                "Model",
                &file.map_or_else(String::new, |f| f.display().to_string()),
            ));
        }
        if let Some(engine) = engine_of(&self.spec) {
            options.push(OptionSpec::spin("Hash", engine.hash_mib.unwrap_or(16).into(), 1..=65536));
            options.push(OptionSpec::spin("Threads", engine.threads.unwrap_or(1).into(), 1..=256));
            options.push(OptionSpec::check("Ponder", false));
        }
        if pick_of(&self.spec).is_some() {
            let mode = if self.sample { "sample" } else { "argmax" };
            options.push(OptionSpec::combo("Mode", mode, &["sample", "argmax"]));
            options.push(OptionSpec::string("Temperature", &self.temperature.to_string()));
        }
        if let Spec::Human(human) = &self.spec {
            options.push(OptionSpec::check("HumanTime", human.pause == Some(Pause::On)));
            options.push(OptionSpec::check("UCI_LimitStrength", self.limit_strength));
            let range = i64::from(LEAST_ELO)..=i64::from(MOST_ELO);
            options.push(OptionSpec::spin("UCI_Elo", self.elo.0.into(), range));
        }
        options
    }

    /// Takes a value the client set, which fits its option.
    ///
    /// # Errors
    /// Says what is wrong with the value.
    pub(super) fn set(&mut self, name: &str, value: OptionValue) -> Result<(), String> {
        match (name, value) {
            ("MultiPV", OptionValue::Spin(n)) => self.lines = usize::try_from(n).unwrap_or(1),
            ("UCI_ShowWDL", OptionValue::Check(on)) => self.show_wdl = on,
            ("Model", OptionValue::String(file)) => self.set_file(&file)?,
            ("Hash", OptionValue::Spin(n)) => self.change_engine(|e| e.hash_mib = u32::try_from(n).ok()),
            ("Threads", OptionValue::Spin(n)) => self.change_engine(|e| e.threads = u32::try_from(n).ok()),
            ("Mode", OptionValue::Combo(mode)) => {
                self.sample = mode == "sample";
                self.apply_pick();
            }
            ("Temperature", OptionValue::String(text)) => {
                self.temperature = match text.trim().parse::<f32>() {
                    Ok(t) if (0.0..=10.0).contains(&t) => t,
                    _ => return Err(format!("Temperature is a number from 0 to 10, not {text:?}")),
                };
                self.apply_pick();
            }
            ("HumanTime", OptionValue::Check(on)) => {
                if let Spec::Human(human) = &mut self.spec {
                    human.pause = Some(if on { Pause::On } else { Pause::Off });
                }
            }
            ("UCI_LimitStrength", OptionValue::Check(on)) => {
                self.limit_strength = on;
                self.apply_elo();
            }
            ("UCI_Elo", OptionValue::Spin(n)) => {
                self.elo = Elo(u16::try_from(n).unwrap_or(USUAL_ELO));
                self.apply_elo();
            }
            // Pondering is the client's to ask for; there is nothing to prepare.
            _ => {}
        }
        Ok(())
    }

    /// The model file of a player that has one; `Some(None)` where it could have one.
    fn file(&self) -> Option<Option<&Path>> {
        match &self.spec {
            Spec::Net(net) => Some(Some(&net.file)),
            Spec::Maia(maia) => Some(Some(&maia.file)),
            Spec::Human(human) => Some(human.file.as_deref()),
            Spec::Engine(engine) => Some(engine.file()),
            Spec::Level(_) | Spec::Random { .. } | Spec::Uci(_) => None,
        }
    }

    fn set_file(&mut self, text: &str) -> Result<(), String> {
        let file = (!text.trim().is_empty()).then(|| PathBuf::from(text.trim()));
        match (&mut self.spec, file) {
            (Spec::Net(net), Some(file)) => net.file = file,
            (Spec::Maia(maia), Some(file)) => maia.file = file,
            (Spec::Human(human), file) => human.file = file,
            (Spec::Engine(engine), Some(file)) => engine.evaluation = EngineEvaluation::File(file),
            // Clients send back every default: nothing chosen leaves the hand-written evaluation as it is.
            (Spec::Engine(engine), None) if engine.file().is_some() => {
                engine.evaluation = EngineEvaluation::Usual;
            }
            (Spec::Engine(_), None) => {}
            _ => return Err("this player needs a model file".to_owned()),
        }
        Ok(())
    }

    fn change_engine(&mut self, change: impl FnOnce(&mut EngineSettings)) {
        match &mut self.spec {
            Spec::Engine(EngineSpec { settings, .. })
            | Spec::Net(NetSpec { search: NetSearch::AlphaBeta(settings), .. }) => change(settings),
            _ => {}
        }
    }

    fn apply_pick(&mut self) {
        let (sample, temperature) = (self.sample, self.temperature);
        let changed = |pick: Pick| match (sample, pick) {
            (false, _) => Pick::Likeliest,
            (true, Pick::Sampled { top_p, .. }) => Pick::Sampled { temperature, top_p },
            (true, Pick::Likeliest) => Pick::Sampled { temperature, top_p: 1.0 },
        };
        match &mut self.spec {
            // What clients send back unchanged leaves the fitted strength as it is.
            Spec::Human(human) if sample && temperature == 1.0 => human.play = HumanPlay::AsRated,
            Spec::Human(human) => {
                let dials = match human.play {
                    HumanPlay::AsRated => Dials::RAW,
                    HumanPlay::Dialled(dials) => dials,
                };
                human.play = HumanPlay::Dialled(Dials { pick: changed(dials.pick), ..dials });
            }
            Spec::Maia(maia) => maia.pick = changed(maia.pick),
            _ => {}
        }
    }

    fn apply_elo(&mut self) {
        if let Spec::Human(human) = &mut self.spec {
            human.elo = self.limit_strength.then_some(self.elo);
        }
    }
}

fn pick_of(spec: &Spec) -> Option<Pick> {
    match spec {
        Spec::Human(human) => Some(match human.play {
            HumanPlay::AsRated => Pick::AS_THE_NETWORK_SAYS,
            HumanPlay::Dialled(dials) => dials.pick,
        }),
        Spec::Maia(maia) => Some(maia.pick),
        _ => None,
    }
}

fn engine_of(spec: &Spec) -> Option<&EngineSettings> {
    match spec {
        Spec::Engine(EngineSpec { settings, .. })
        | Spec::Net(NetSpec { search: NetSearch::AlphaBeta(settings), .. }) => Some(settings),
        _ => None,
    }
}
