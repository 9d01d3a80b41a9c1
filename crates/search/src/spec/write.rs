//! Writing a player spec, as short as it reads back the same.

use std::{borrow::Cow, fmt, path::Path};

use super::{BASELINE, Budget, EngineEvaluation, EngineSettings, HumanPlay, NetSearch, Pause, Spec};
use crate::{Pick, SearchBlend, StrengthSettings};

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Spec::Level(level) => write!(f, "level:{level}"),
            Spec::Net(net) => {
                write!(f, "net:{}", quoted(&net.file.to_string_lossy()))?;
                match &net.search {
                    NetSearch::OnePly => Ok(()),
                    NetSearch::AlphaBeta(settings) => write!(f, ",search=ab{settings}"),
                }
            }
            Spec::Human(human) => {
                let elo = Setting("elo", human.elo.map(|elo| elo.0));
                write!(f, "human{}{elo}", About(human.file.as_deref()))?;
                Setting("pool", human.pool).fmt(f)?;
                match human.play {
                    HumanPlay::AsRated => {}
                    HumanPlay::Dialled(dials) => dials.fmt(f)?,
                }
                let pause = human.pause.map(|pause| match pause {
                    Pause::Off => "off",
                    Pause::On => "on",
                });
                write!(f, "{}{}", Setting("pause", pause), Setting("seed", human.seed))
            }
            Spec::Maia(maia) => {
                write!(f, "maia:{}", quoted(&maia.file.to_string_lossy()))?;
                if let Pick::Sampled { temperature, top_p } = maia.pick {
                    f.write_str(",mode=sample")?;
                    sampling(f, temperature, top_p)?;
                }
                Setting("seed", maia.seed).fmt(f)
            }
            Spec::Engine(engine) => {
                let baseline = (engine.evaluation == EngineEvaluation::Baseline).then_some(BASELINE);
                let (about, eval) = (About(engine.file()), Setting("eval", baseline));
                write!(f, "engine{about}{eval}{}", engine.settings)
            }
            Spec::Random { seed } => write!(f, "random{}", Setting("seed", *seed)),
            Spec::Uci(uci) => {
                write!(f, "uci:{}{}", quoted(&uci.command), Setting("elo", uci.elo.map(|elo| elo.0)))?;
                uci.budget.fmt(f)?;
                uci.options.iter().try_for_each(|(name, value)| write!(f, ",option.{name}={}", quoted(value)))
            }
        }
    }
}

impl fmt::Display for StrengthSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == StrengthSettings::RAW {
            return f.write_str(",strength=raw");
        }
        match self.pick {
            Pick::Likeliest => f.write_str(",mode=argmax")?,
            Pick::Sampled { temperature, top_p } => sampling(f, temperature, top_p)?,
        }
        let (blend, usual) = (self.blend, SearchBlend::NONE);
        let trust = (blend.trust != usual.trust).then_some(blend.trust);
        let nodes = (blend.nodes != usual.nodes).then_some(blend.nodes);
        let mates = (blend.mates != usual.mates).then_some(blend.mates);
        write!(f, "{}{}{}", Setting("trust", trust), Setting("nodes", nodes), Setting("mates", mates))
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let movetime = self.movetime.map(|time| time.as_millis());
        write!(f, "{}{}", Setting("depth", self.depth), Setting("nodes", self.nodes))?;
        Setting("movetime", movetime).fmt(f)
    }
}

impl fmt::Display for EngineSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.budget, Setting("hash", self.hash_mib), Setting("threads", self.threads))
    }
}

fn sampling(f: &mut fmt::Formatter<'_>, temperature: f32, top_p: f32) -> fmt::Result {
    let unusual = |value: f32| (value != 1.0).then_some(value);
    write!(f, "{}{}", Setting("temp", unusual(temperature)), Setting("top_p", unusual(top_p)))
}

/// What a spec is about, where it may be left out.
struct About<'a>(Option<&'a Path>);

impl fmt::Display for About<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |file| write!(f, ":{}", quoted(&file.to_string_lossy())))
    }
}

/// A setting with its comma; nothing if it is not set.
struct Setting<T>(&'static str, Option<T>);

impl<T: fmt::Display> fmt::Display for Setting<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.1.as_ref().map_or(Ok(()), |value| write!(f, ",{}={value}", self.0))
    }
}

/// In quotes where it must be.
fn quoted(text: &str) -> Cow<'_, str> {
    if text.contains(',') || text.starts_with('"') {
        Cow::Owned(format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")))
    } else {
        Cow::Borrowed(text)
    }
}
