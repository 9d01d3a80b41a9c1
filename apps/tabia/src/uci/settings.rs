//! UCI options of each kind of player.
//!
//! Clients send every default back before the first game. So an option set to its default restores what the spec says, which
//! may be more than the option can express: `Temperature 1` is both a calibrated player's and a raw one's.

use std::path::PathBuf;

use tabia_encoding::Elo;
use tabia_players::{EngineSettings, FileSetting, HumanSpec, Pick, Spec};
use tabia_search::EngineOptions;
use tabia_uci::message::{OptionSpec, OptionValue};

const DEFAULT_ELO: Elo = Elo(1500);
const DEFAULT_TEMPERATURE: f32 = 1.0;

/// The largest MultiPV: no position of a game has more moves.
pub(super) const MAX_LINES: usize = 256;

/// The player and its output, as the client has set them.
#[derive(Clone)]
pub(super) struct Settings {
    /// The player.
    pub(super) spec: Spec,
    /// The number of lines to report.
    pub(super) lines: usize,
    pub(super) show_wdl: bool,
    /// The player of the command line.
    initial: Spec,
    overrides: Overrides,
}

/// The options that the client has set to other values than their defaults.
#[derive(Clone, Default)]
struct Overrides {
    /// `Some(None)` is the built-in network.
    file: Option<Option<PathBuf>>,
    hash_mib: Option<u32>,
    threads: Option<u32>,
    syzygy: Option<String>,
    syzygy_limit: Option<u32>,
    syzygy_fifty: Option<bool>,
    sample: Option<bool>,
    temperature: Option<f32>,
    pause: Option<bool>,
    limit_strength: Option<bool>,
    elo: Option<Elo>,
}

impl Settings {
    pub(super) fn new(mut spec: Spec) -> Settings {
        // Games with clocks are played at a human pace.
        if let Some(pause) = spec.pause_mut() {
            pause.get_or_insert(true);
        }
        let overrides = Overrides::default();
        Settings { lines: 1, show_wdl: false, initial: spec.clone(), spec, overrides }
    }

    /// The options of this player, with the command line as defaults.
    pub(super) fn offered(&self) -> Vec<OptionSpec> {
        let mut options = Vec::new();
        let spec = &self.initial;
        if spec.reports_candidates() {
            options.push(OptionSpec::spin("MultiPV", 1, 1..=MAX_LINES as i64));
        }
        if spec.engine().is_some() || spec.pick().is_some() {
            options.push(OptionSpec::check("UCI_ShowWDL", false));
        }
        if spec.file_setting() != FileSetting::None {
            options.push(OptionSpec::string("Model", &shown_file(spec)));
        }
        if let Some(engine) = spec.engine() {
            let range = |range: std::ops::RangeInclusive<u32>| {
                let (least, most) = range.into_inner();
                i64::from(least)..=i64::from(most)
            };
            let (hash, threads) = (hash_mib(engine).into(), threads(engine).into());
            options.push(OptionSpec::spin("Hash", hash, range(EngineSettings::HASH_MIB)));
            options.push(OptionSpec::spin("Threads", threads, range(EngineSettings::THREADS)));
            options.push(OptionSpec::check("Ponder", false));
            options.push(OptionSpec::string("SyzygyPath", engine.syzygy.as_deref().unwrap_or_default()));
            let limits = range(EngineSettings::SYZYGY_LIMIT);
            options.push(OptionSpec::spin("SyzygyProbeLimit", syzygy_limit(engine).into(), limits));
            options.push(OptionSpec::check("Syzygy50MoveRule", syzygy_fifty(engine)));
        }
        if let Some(pick) = spec.pick() {
            let mode = if pick.is_sampled() { "sample" } else { "argmax" };
            options.push(OptionSpec::combo("Mode", mode, &["sample", "argmax"]));
            options.push(OptionSpec::string("Temperature", &temperature(pick).to_string()));
        }
        if let Some(pause) = spec.pause() {
            options.push(OptionSpec::check("HumanTime", pause));
        }
        if spec.clone().rating_mut().is_some() {
            options.push(OptionSpec::check("UCI_LimitStrength", spec.rating().is_some()));
            let (least, most) = HumanSpec::RATINGS.into_inner();
            let elo = spec.rating().unwrap_or(DEFAULT_ELO).0;
            options.push(OptionSpec::spin("UCI_Elo", elo.into(), least.into()..=most.into()));
        }
        options
    }

    /// Sets an option to a value of its type.
    ///
    /// # Errors
    /// What is wrong with the value.
    pub(super) fn set(&mut self, name: &str, value: OptionValue) -> Result<(), String> {
        let (initial, overrides) = (&self.initial, &mut self.overrides);
        let (engine, pick) = (initial.engine(), initial.pick());
        let small = |n: i64| u32::try_from(n).unwrap_or(u32::MAX);
        match (name, value) {
            ("MultiPV", OptionValue::Spin(n)) => self.lines = usize::try_from(n).unwrap_or(1),
            ("UCI_ShowWDL", OptionValue::Check(on)) => self.show_wdl = on,
            ("Model", OptionValue::String(text)) => overrides.file = other_file(initial, &text)?,
            ("Hash", OptionValue::Spin(n)) => {
                overrides.hash_mib = unless(engine.map(hash_mib), small(n));
            }
            ("Threads", OptionValue::Spin(n)) => {
                overrides.threads = unless(engine.map(threads), small(n));
            }
            ("SyzygyPath", OptionValue::String(path)) => {
                let default = engine.and_then(|engine| engine.syzygy.as_deref()).unwrap_or_default();
                overrides.syzygy = (path.trim() != default.trim()).then(|| path.trim().to_owned());
            }
            ("SyzygyProbeLimit", OptionValue::Spin(n)) => {
                overrides.syzygy_limit = unless(engine.map(syzygy_limit), small(n));
            }
            ("Syzygy50MoveRule", OptionValue::Check(on)) => {
                overrides.syzygy_fifty = unless(engine.map(syzygy_fifty), on);
            }
            ("Mode", OptionValue::Combo(mode)) => {
                overrides.sample = unless(pick.map(Pick::is_sampled), mode == "sample");
            }
            ("Temperature", OptionValue::String(text)) => {
                let given = text.trim().parse().ok().filter(|t| Pick::TEMPERATURES.contains(t));
                let given = given.ok_or_else(|| {
                    let (least, most) = Pick::TEMPERATURES.into_inner();
                    format!("invalid temperature {text:?} (expected {least} to {most})")
                })?;
                overrides.temperature = unless(pick.map(temperature), given);
            }
            ("HumanTime", OptionValue::Check(on)) => overrides.pause = unless(initial.pause(), on),
            ("UCI_LimitStrength", OptionValue::Check(on)) => {
                overrides.limit_strength = unless(Some(initial.rating().is_some()), on);
            }
            ("UCI_Elo", OptionValue::Spin(n)) => {
                let elo = u16::try_from(n).map_or(DEFAULT_ELO, Elo);
                overrides.elo = unless(Some(initial.rating().unwrap_or(DEFAULT_ELO)), elo);
            }
            // Ponder needs no preparation.
            _ => {}
        }
        self.spec = self.overrides.over(&self.initial);
        Ok(())
    }
}

impl Overrides {
    fn over(&self, initial: &Spec) -> Spec {
        let mut spec = initial.clone();
        if let Some(file) = &self.file {
            spec.set_file(file.clone());
        }
        if let Some(engine) = spec.engine_mut() {
            engine.hash_mib = self.hash_mib.or(engine.hash_mib);
            engine.threads = self.threads.or(engine.threads);
            if let Some(path) = &self.syzygy {
                engine.syzygy = Some(path.clone()).filter(|path| !path.is_empty());
            }
            engine.syzygy_limit = self.syzygy_limit.or(engine.syzygy_limit);
            engine.syzygy_fifty = self.syzygy_fifty.or(engine.syzygy_fifty);
        }
        if let Some(pick) = spec.pick()
            && (self.sample.is_some() || self.temperature.is_some())
        {
            spec.set_pick(self.pick(pick));
        }
        if let Some(pause) = spec.pause_mut() {
            *pause = self.pause.or(*pause);
        }
        if let Some(rating) = spec.rating_mut() {
            let limited = self.limit_strength.unwrap_or(rating.is_some());
            *rating = limited.then(|| self.elo.or(*rating).unwrap_or(DEFAULT_ELO));
        }
        spec
    }

    fn pick(&self, initial: Pick) -> Pick {
        let temperature = self.temperature.unwrap_or(temperature(initial));
        match (self.sample.unwrap_or(initial.is_sampled()), initial) {
            (false, _) => Pick::Likeliest,
            (true, Pick::Sampled { top_p, .. }) => Pick::Sampled { temperature, top_p },
            (true, Pick::Likeliest) => Pick::Sampled { temperature, top_p: 1.0 },
        }
    }
}

/// The value, unless it is the default.
fn unless<T: PartialEq + Copy>(default: Option<T>, given: T) -> Option<T> {
    (default != Some(given)).then_some(given)
}

/// The file a client sets, unless it is that of the spec. An empty name is the built-in network.
fn other_file(initial: &Spec, text: &str) -> Result<Option<Option<PathBuf>>, String> {
    // Line ends and surrounding blanks are lost on the way to the client and back.
    let shown = |text: &str| text.split(char::is_control).collect::<Vec<_>>().join(" ").trim().to_owned();
    if shown(text) == shown(&shown_file(initial)) {
        return Ok(None);
    }
    let file = (!text.trim().is_empty()).then(|| PathBuf::from(text.trim()));
    match (initial.file_setting(), &file) {
        (FileSetting::Required(_), None) => Err("this player needs a model file".to_owned()),
        _ => Ok(Some(file)),
    }
}

/// The model file as an option shows it.
fn shown_file(spec: &Spec) -> String {
    spec.file().map_or_else(String::new, |file| file.display().to_string())
}

fn temperature(pick: Pick) -> f32 {
    match pick {
        Pick::Sampled { temperature, .. } => temperature,
        Pick::Likeliest => DEFAULT_TEMPERATURE,
    }
}

fn hash_mib(settings: &EngineSettings) -> u32 {
    let default = || u32::try_from(EngineOptions::default().hash_mib).unwrap_or(u32::MAX);
    settings.hash_mib.unwrap_or_else(default)
}

fn threads(settings: &EngineSettings) -> u32 {
    let default = || u32::try_from(EngineOptions::default().threads).unwrap_or(u32::MAX);
    settings.threads.unwrap_or_else(default)
}

fn syzygy_limit(settings: &EngineSettings) -> u32 {
    settings.syzygy_limit.unwrap_or(*EngineSettings::SYZYGY_LIMIT.end())
}

fn syzygy_fifty(settings: &EngineSettings) -> bool {
    settings.syzygy_fifty.unwrap_or(true)
}

#[cfg(test)]
mod tests {
    use tabia_uci::message::{OptionKind, Reply};

    use super::*;

    /// Every kind of player with every setting that an option touches, at its ends too.
    const SPECS: [&str; 47] = [
        "level:3",
        "random,seed=4",
        "uci:stockfish,elo=1700,depth=3",
        "net:small.onnx",
        "net:\"one, two.onnx\"",
        "net: blanks  inside.onnx ",
        "net:small.onnx,search=ab",
        "net:small.onnx,search=ab,nodes=5000,movetime=200,hash=64,threads=2",
        "maia:maia-1500.pb.gz",
        "maia:maia-1500.pb.gz,mode=sample",
        "maia:maia-1500.pb.gz,temp=0.5,top_p=0.9,seed=7",
        "maia:maia-1500.pb.gz,temp=100",
        "engine",
        "engine,depth=8",
        "engine,eval=baseline",
        "engine,eval=baseline,movetime=50,hash=1,threads=1",
        "engine,hash=65536,threads=1024",
        "engine,threads=300",
        "engine:nets/big.onnx,nodes=1000",
        "engine,syzygy=/tables/3-4-5:/tables/6",
        "engine,syzygy=\"/tables, all\",syzygy_limit=5,syzygy_fifty=off",
        "net:small.onnx,search=ab,syzygy=tables,syzygy_fifty=on",
        "human",
        "human,seed=3",
        "human,elo=600",
        "human,elo=1500",
        "human,elo=2600",
        "human:h.safetensors,elo=1900",
        "human,elo=1500,strength=raw",
        "human,strength=raw",
        "human,elo=1500,mode=argmax",
        "human,mode=argmax,trust=5",
        "human,elo=1500,temp=0",
        "human,elo=1500,temp=0.8",
        "human,elo=1500,temp=0.1234567",
        "human,elo=1500,temp=20",
        "human,elo=1500,temp=100",
        "human,elo=1500,top_p=0.9",
        "human,elo=1500,top_p=0",
        "human,elo=1500,temp=0.7,top_p=0.95",
        "human,elo=1500,trust=12",
        "human,elo=1500,trust=1000,nodes=1000000",
        "human,elo=1500,mates=1",
        "human,elo=1500,nodes=500",
        "human,elo=1500,pool=over-the-board,pause=off",
        "human,pause=on,pool=unknown",
        "human,elo=1900,temp=0.8,trust=10,mates=0.8",
    ];

    fn settings(spec: &str) -> Settings {
        Settings::new(spec.parse().unwrap_or_else(|error| panic!("{error}")))
    }

    /// The option as a client reads it from the line that offers it.
    fn as_read(option: OptionSpec) -> OptionSpec {
        let line = Reply::Option(option).to_string();
        match line.parse() {
            Ok(Reply::Option(option)) => option,
            other => panic!("{line}: {other:?}"),
        }
    }

    fn default_of(kind: &OptionKind) -> Option<String> {
        match kind {
            OptionKind::Check { default } => Some(default.to_string()),
            OptionKind::Spin { default, .. } => Some(default.to_string()),
            OptionKind::Combo { default, .. } | OptionKind::String { default } => Some(default.clone()),
            OptionKind::Button => None,
        }
    }

    fn set(settings: &mut Settings, name: &str, value: &str) -> Result<(), String> {
        let offered = settings.offered();
        let option = OptionSpec::find(&offered, name).unwrap_or_else(|fault| panic!("{fault}"));
        let value = option.parse_value(Some(value)).unwrap_or_else(|fault| panic!("{fault}"));
        settings.set(&option.name, value)
    }

    #[test]
    fn sending_all_defaults_back_changes_nothing() {
        for spec in SPECS {
            let mut settings = settings(spec);
            let before = settings.spec.clone();
            let offered = settings.offered();
            // Forwards and backwards: the order is the client's.
            for option in offered.iter().chain(offered.iter().rev()) {
                let read = as_read(option.clone());
                let default = default_of(&read.kind);
                let value =
                    read.parse_value(default.as_deref()).unwrap_or_else(|fault| panic!("{spec}: {fault}"));
                settings.set(&read.name, value).unwrap_or_else(|fault| panic!("{spec}: {fault}"));
                assert_eq!(settings.spec, before, "{spec}: {}", read.name);
            }
            assert_eq!((settings.lines, settings.show_wdl), (1, false), "{spec}");
        }
    }

    #[test]
    fn setting_the_default_restores_the_spec() {
        let changes = [
            ("human,elo=1500", "Temperature", "0.5", "human,elo=1500,temp=0.5,pause=on"),
            ("human,elo=1500", "Mode", "argmax", "human,elo=1500,mode=argmax,pause=on"),
            ("human,elo=1500", "UCI_Elo", "2600", "human,elo=2600,pause=on"),
            ("human,elo=1500", "UCI_LimitStrength", "false", "human,pause=on"),
            ("human,elo=1500", "HumanTime", "false", "human,elo=1500,pause=off"),
            ("human,elo=1500", "Model", "h.onnx", "human:h.onnx,elo=1500,pause=on"),
            ("human,elo=1500,top_p=0.9", "Temperature", "2", "human,elo=1500,temp=2,top_p=0.9,pause=on"),
            ("human,elo=1500,temp=0.5", "Temperature", "1", "human,elo=1500,strength=raw,pause=on"),
            ("human,elo=1500,trust=9", "Mode", "argmax", "human,elo=1500,mode=argmax,trust=9,pause=on"),
            ("human,mode=argmax", "Mode", "sample", "human,strength=raw,pause=on"),
            ("human", "UCI_LimitStrength", "true", "human,elo=1500,pause=on"),
            ("maia:m.pb", "Mode", "sample", "maia:m.pb,mode=sample"),
            ("maia:m.pb,temp=0.5", "Temperature", "20", "maia:m.pb,mode=sample,temp=20"),
            ("engine", "Threads", "300", "engine,threads=300"),
            ("engine,hash=64", "Hash", "16", "engine,hash=16"),
            ("engine,eval=baseline", "Model", "n.onnx", "engine:n.onnx"),
            ("engine:n.onnx", "Model", "", "engine"),
            ("engine", "SyzygyPath", "/tables", "engine,syzygy=/tables"),
            ("engine,syzygy=/tables", "SyzygyPath", "", "engine"),
            ("engine", "SyzygyProbeLimit", "5", "engine,syzygy_limit=5"),
            ("engine", "Syzygy50MoveRule", "false", "engine,syzygy_fifty=off"),
            ("net:n.onnx,search=ab", "Hash", "8", "net:n.onnx,search=ab,hash=8"),
        ];
        for (spec, name, value, changed) in changes {
            let mut settings = settings(spec);
            let before = settings.spec.clone();
            let default = settings.offered().into_iter().find(|option| option.name == name).unwrap();
            set(&mut settings, name, value).unwrap();
            assert_eq!(settings.spec.to_string(), changed, "{spec}: {name}");
            let back = default_of(&default.kind).unwrap();
            set(&mut settings, name, &back).unwrap();
            assert_eq!(settings.spec, before, "{spec}: {name}");
        }
    }

    #[test]
    fn a_temperature_out_of_range_is_refused() {
        let mut settings = settings("human,elo=1500");
        let before = settings.spec.clone();
        for wrong in ["hot", "-1", "100.5", "NaN"] {
            let fault = set(&mut settings, "Temperature", wrong).unwrap_err();
            assert!(fault.contains("expected 0 to 100"), "{fault}");
        }
        let fault = other_file(&"net:x.onnx".parse().unwrap(), " ").unwrap_err();
        assert!(fault.contains("needs a model file"), "{fault}");
        assert_eq!(settings.spec, before);
    }
}
