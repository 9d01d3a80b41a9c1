//! Reading a player spec.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{fmt, ops::RangeInclusive, path::PathBuf, str::FromStr, time::Duration};

use tabia_encoding::{Elo, RatingPool};

use super::{
    BASELINE, Budget, EngineEvaluation, EngineSettings, EngineSpec, HumanPlay, HumanSpec, MaiaSpec,
    NetSearch, NetSpec, Pause, Spec, UciSpec,
};
use crate::{Level, Pick, SearchBlend, StrengthSettings};

const KINDS: &str = "level:N, net:FILE, human[:FILE], maia:FILE, engine[:FILE], random or uci:COMMAND";
const NET: &[&str] = &["search"];
const ENGINE: &[&str] = &["depth", "nodes", "movetime", "hash", "threads"];
const ENGINE_OR_BASELINE: &[&str] = &["eval", "depth", "nodes", "movetime", "hash", "threads"];
const NET_WITH_SEARCH: &[&str] = &["search", "depth", "nodes", "movetime", "hash", "threads"];
const HUMAN: &[&str] =
    &["elo", "strength", "pool", "mode", "temp", "top_p", "trust", "nodes", "mates", "pause", "seed"];
const MAIA: &[&str] = &["mode", "temp", "top_p", "seed"];
const UCI: &[&str] = &["elo", "depth", "nodes", "movetime", "option.NAME"];

/// A player spec that cannot be understood: which part of it, why, and what would be allowed there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("player {spec:?}: {problem} (allowed: {allowed})")]
pub struct SpecError {
    spec: String,
    problem: String,
    allowed: String,
}

/// What is wrong with one part, before it is known in which spec.
struct Wrong {
    problem: String,
    allowed: String,
}

fn wrong(problem: impl Into<String>, allowed: impl Into<String>) -> Wrong {
    Wrong { problem: problem.into(), allowed: allowed.into() }
}

impl FromStr for Spec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Spec, SpecError> {
        let parsed = parts(text).and_then(Parts::resolve);
        parsed.map_err(|Wrong { problem, allowed }| SpecError { spec: text.to_owned(), problem, allowed })
    }
}

/// A spec taken apart, before anything is known about its kind.
struct Parts {
    kind: String,
    about: Option<String>,
    settings: Settings,
}

/// `name=value` pairs; those that are understood are taken out.
struct Settings {
    pairs: Vec<(String, String)>,
    allowed: &'static [&'static str],
}

fn parts(text: &str) -> Result<Parts, Wrong> {
    let end = text.find([':', ',']).unwrap_or(text.len());
    let (kind, mut rest) = text.split_at(end);
    let mut about = None;
    if let Some(after) = rest.strip_prefix(':') {
        let (value, after) = value(after)?;
        about = Some(value);
        rest = after;
    }
    let mut pairs = Vec::new();
    while let Some(after) = rest.strip_prefix(',') {
        let end = after.find(['=', ',']).unwrap_or(after.len());
        let (name, after) = after.split_at(end);
        let Some(after) = after.strip_prefix('=') else {
            return Err(wrong(format!("{name:?} is no setting"), "name=value after each comma"));
        };
        let (value, after) = value(after)?;
        let name = name.trim().to_owned();
        if pairs.iter().any(|(earlier, _)| *earlier == name) {
            return Err(wrong(format!("{name} is set twice"), "each setting once"));
        }
        pairs.push((name, value));
        rest = after;
    }
    Ok(Parts { kind: kind.trim().to_owned(), about, settings: Settings { pairs, allowed: &[] } })
}

/// A value at the start of `text`, plain up to the next comma or in quotes, and what comes after it.
fn value(text: &str) -> Result<(String, &str), Wrong> {
    let Some(quoted) = text.strip_prefix('"') else {
        let (value, rest) = text.split_at(text.find(',').unwrap_or(text.len()));
        return Ok((value.to_owned(), rest));
    };
    let mut value = String::new();
    let mut chars = quoted.chars();
    loop {
        match chars.next() {
            Some('"') => break,
            Some('\\') => match chars.next() {
                Some(c @ ('"' | '\\')) => value.push(c),
                Some(c) => return Err(wrong(format!("\\{c} inside quotes"), "\\\" and \\\\")),
                None => return Err(wrong("a quote is not closed", "\"...\"")),
            },
            Some(c) => value.push(c),
            None => return Err(wrong("a quote is not closed", "\"...\"")),
        }
    }
    let rest = chars.as_str();
    if rest.is_empty() || rest.starts_with(',') {
        Ok((value, rest))
    } else {
        Err(wrong(format!("{rest:?} after a closing quote"), "a comma or the end"))
    }
}

impl Parts {
    fn resolve(self) -> Result<Spec, Wrong> {
        let Parts { kind, about, mut settings } = self;
        let spec = match kind.as_str() {
            "level" => Spec::Level(level(about.as_deref().unwrap_or_default())?),
            "net" => {
                let file = file(&kind, about.as_deref())?;
                Spec::Net(NetSpec { file, search: settings.net_search()? })
            }
            "human" => {
                settings.allowed = HUMAN;
                // `human:elo=1500` is how people write it who have no file.
                let about = settings.take_in(about)?;
                let file = optional_file(&kind, about.as_deref())?;
                let elo = settings.number("elo", "rating", HumanSpec::RATINGS)?.map(Elo);
                let (pool, seed) = (settings.pool()?, settings.seed()?);
                let play = settings.human_play()?;
                Spec::Human(HumanSpec { file, elo, play, pool, pause: settings.pause()?, seed })
            }
            "maia" => {
                let file = file(&kind, about.as_deref())?;
                settings.allowed = MAIA;
                let seed = settings.seed()?;
                Spec::Maia(MaiaSpec { file, pick: settings.pick(Pick::Likeliest)?, seed })
            }
            "engine" => {
                let file = optional_file(&kind, about.as_deref())?;
                settings.allowed = ENGINE_OR_BASELINE;
                let evaluation = settings.evaluation(file)?;
                Spec::Engine(EngineSpec { evaluation, settings: settings.engine()? })
            }
            "random" => {
                if about.is_some() {
                    return Err(wrong("random takes nothing after a colon", "random or random,seed=N"));
                }
                settings.allowed = &["seed"];
                Spec::Random { seed: settings.seed()? }
            }
            "uci" => {
                let command = about.filter(|command| !command.trim().is_empty());
                let command = command.ok_or_else(|| wrong("uci needs a command", "uci:COMMAND"))?;
                settings.allowed = UCI;
                let elo = settings.number("elo", "rating", 100..=4000)?.map(Elo);
                let budget = settings.budget()?;
                Spec::Uci(UciSpec { command, elo, budget, options: settings.take_options()? })
            }
            "" => return Err(wrong("it does not say who plays", KINDS)),
            other => return Err(wrong(format!("{other:?} is no kind of player"), KINDS)),
        };
        settings.finish(&kind)?;
        Ok(spec)
    }
}

fn level(number: &str) -> Result<Level, Wrong> {
    let problem =
        || if number.is_empty() { "no level is given".to_owned() } else { format!("{number} is no level") };
    number.parse().ok().and_then(Level::new).ok_or_else(|| wrong(problem(), "1, 2, 3, 4 or 5"))
}

fn file(kind: &str, about: Option<&str>) -> Result<PathBuf, Wrong> {
    let given = about.filter(|file| !file.is_empty());
    given
        .map(PathBuf::from)
        .ok_or_else(|| wrong(format!("{kind} needs a model file"), format!("{kind}:FILE")))
}

fn optional_file(kind: &str, about: Option<&str>) -> Result<Option<PathBuf>, Wrong> {
    about
        .map(|_| file(kind, about))
        .transpose()
        .map_err(|_| wrong(format!("no file after {kind}:"), format!("{kind} or {kind}:FILE")))
}

impl Settings {
    fn take(&mut self, name: &str) -> Option<String> {
        let at = self.pairs.iter().position(|(given, _)| given == name)?;
        Some(self.pairs.remove(at).1)
    }

    /// A number in a range, called `what` in errors.
    fn number<T>(&mut self, name: &str, what: &str, range: RangeInclusive<T>) -> Result<Option<T>, Wrong>
    where
        T: FromStr + PartialOrd + fmt::Display,
    {
        let Some(text) = self.take(name) else { return Ok(None) };
        match text.parse().ok().filter(|number| range.contains(number)) {
            Some(number) => Ok(Some(number)),
            None => Err(wrong(
                format!("{name}={text} is no {what}"),
                format!("{name}={} to {}", range.start(), range.end()),
            )),
        }
    }

    /// What a spec is about, unless that is a setting, which is then one of these.
    fn take_in(&mut self, about: Option<String>) -> Result<Option<String>, Wrong> {
        let setting = about.as_deref().and_then(|about| about.split_once('='));
        let Some((name, value)) = setting.filter(|(name, _)| self.allowed.contains(name)) else {
            return Ok(about);
        };
        if self.pairs.iter().any(|(earlier, _)| earlier == name) {
            return Err(wrong(format!("{name} is set twice"), "each setting once"));
        }
        self.pairs.insert(0, (name.to_owned(), value.to_owned()));
        Ok(None)
    }

    fn human_play(&mut self) -> Result<HumanPlay, Wrong> {
        let strength = self.take("strength");
        let pick = self.pick(Pick::AS_THE_NETWORK_SAYS)?;
        let usual = SearchBlend::NONE;
        let trust = self.number("trust", "weight of a search", 0.0..=1000.0)?;
        let nodes = self.number("nodes", "number of nodes", 1..=1_000_000)?;
        let mates = self.number("mates", "share of mates", 0.0..=1.0)?;
        let blend = SearchBlend {
            trust: trust.unwrap_or(usual.trust),
            nodes: nodes.unwrap_or(usual.nodes),
            mates: mates.unwrap_or(usual.mates),
        };
        let dials = StrengthSettings { pick, blend };
        match strength.as_deref() {
            Some("rated") | None if dials == StrengthSettings::RAW => Ok(HumanPlay::AsRated),
            Some("raw") | None => Ok(HumanPlay::Dialled(dials)),
            Some("rated") => Err(wrong(
                "strength=rated and a setting that changes the strength",
                "one of them: mode, temp, top_p, trust, nodes and mates change the strength",
            )),
            Some(other) => {
                Err(wrong(format!("strength={other} is no strength"), "strength=rated or strength=raw"))
            }
        }
    }

    fn pool(&mut self) -> Result<Option<RatingPool>, Wrong> {
        let Some(text) = self.take("pool") else { return Ok(None) };
        let allowed = "pool=online, pool=over-the-board, pool=puzzle, pool=unknown".to_owned();
        text.parse().map(Some).map_err(|_| wrong(format!("pool={text} is no pool of ratings"), allowed))
    }

    fn pause(&mut self) -> Result<Option<Pause>, Wrong> {
        match self.take("pause").as_deref() {
            None => Ok(None),
            Some("on") => Ok(Some(Pause::On)),
            Some("off") => Ok(Some(Pause::Off)),
            Some(other) => {
                Err(wrong(format!("pause={other} is neither on nor off"), "pause=on or pause=off"))
            }
        }
    }

    fn seed(&mut self) -> Result<Option<u64>, Wrong> {
        self.number("seed", "seed", 0..=u64::MAX)
    }

    fn budget(&mut self) -> Result<Budget, Wrong> {
        Ok(Budget {
            depth: self.number("depth", "depth", 1..=200)?,
            nodes: self.number("nodes", "number of nodes", 1..=u64::MAX)?,
            movetime: self
                .number("movetime", "time in milliseconds", 1..=86_400_000)?
                .map(Duration::from_millis),
        })
    }

    fn engine(&mut self) -> Result<EngineSettings, Wrong> {
        Ok(EngineSettings {
            budget: self.budget()?,
            hash_mib: self.number("hash", "size in MiB", EngineSettings::HASH_MIB)?,
            threads: self.number("threads", "number of threads", EngineSettings::THREADS)?,
        })
    }

    fn evaluation(&mut self, file: Option<PathBuf>) -> Result<EngineEvaluation, Wrong> {
        match (self.take("eval").as_deref(), file) {
            (None, Some(file)) => Ok(EngineEvaluation::File(file)),
            (None, None) => Ok(EngineEvaluation::Usual),
            (Some(BASELINE), None) => Ok(EngineEvaluation::Baseline),
            (Some(BASELINE), Some(_)) => {
                Err(wrong("both a model file and eval=baseline", "engine:FILE or engine,eval=baseline"))
            }
            (Some(other), _) => {
                Err(wrong(format!("eval={other} is no evaluation"), "eval=baseline, or engine:FILE"))
            }
        }
    }

    fn net_search(&mut self) -> Result<NetSearch, Wrong> {
        self.allowed = NET;
        match self.take("search").as_deref() {
            Some("ab") => {
                self.allowed = NET_WITH_SEARCH;
                Ok(NetSearch::AlphaBeta(self.engine()?))
            }
            Some(other) => {
                Err(wrong(format!("search={other} is no search"), "search=ab, or none for one ply"))
            }
            None => match self.pairs.iter().find(|(name, _)| ENGINE.contains(&name.as_str())) {
                Some((name, _)) => {
                    Err(wrong(format!("{name} means nothing to one ply"), format!("search=ab with {name}")))
                }
                None => Ok(NetSearch::OnePly),
            },
        }
    }

    /// How moves are picked. A temperature or `top_p` asks for sampling by itself.
    fn pick(&mut self, usual: Pick) -> Result<Pick, Wrong> {
        let mode = self.take("mode");
        let temperature = self.number("temp", "temperature", Pick::TEMPERATURES)?;
        let top_p = self.number("top_p", "probability", 0.0..=1.0)?;
        let sampled =
            || Pick::Sampled { temperature: temperature.unwrap_or(1.0), top_p: top_p.unwrap_or(1.0) };
        let shaped = temperature.map(|_| "temp").or(top_p.map(|_| "top_p"));
        match (mode.as_deref(), shaped) {
            (Some("argmax"), Some(name)) => {
                Err(wrong(format!("{name} means nothing to mode=argmax"), format!("mode=sample with {name}")))
            }
            (Some("argmax"), None) => Ok(Pick::Likeliest),
            (Some("sample"), _) | (None, Some(_)) => Ok(sampled()),
            (None, None) => Ok(usual),
            (Some(other), _) => {
                Err(wrong(format!("mode={other} is no way to pick moves"), "mode=sample or mode=argmax"))
            }
        }
    }

    fn take_options(&mut self) -> Result<Vec<(String, String)>, Wrong> {
        let (options, rest) =
            std::mem::take(&mut self.pairs).into_iter().partition(|(name, _)| name.starts_with("option."));
        self.pairs = rest;
        let named = |(name, value): (String, String)| match name.strip_prefix("option.") {
            Some(name) if !name.is_empty() => Ok((name.to_owned(), value)),
            _ => Err(wrong("option. has no name", "option.NAME=VALUE")),
        };
        Vec::into_iter(options).map(named).collect()
    }

    /// Nothing may be left over.
    fn finish(self, kind: &str) -> Result<(), Wrong> {
        let Some((name, _)) = self.pairs.first() else { return Ok(()) };
        let allowed = match self.allowed {
            [] => "no settings".to_owned(),
            names => names.join(", "),
        };
        Err(wrong(format!("{name:?} is no setting of {kind}"), allowed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(text: &str) -> Spec {
        text.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn specs_are_read_and_written_back() {
        let same = [
            "level:3",
            "net:nets/small.onnx",
            "net:small.onnx,search=ab",
            "net:small.onnx,search=ab,depth=6",
            "net:small.onnx,search=ab,nodes=5000,movetime=200,hash=64,threads=2",
            "human",
            "human,elo=1500",
            "human:h.onnx,elo=1500,mode=argmax",
            "human,elo=1500,strength=raw",
            "human,elo=1500,temp=0.8,trust=6,nodes=500,mates=0.9",
            "human,elo=1500,pause=on,seed=1",
            "human,pause=off",
            "human,elo=1200,pool=online",
            "human:h.onnx,elo=2100,pool=over-the-board,temp=0.5",
            "human,pool=unknown,seed=3",
            "human:h.onnx,temp=0.8,top_p=0.95,seed=7",
            "maia:maia-1500.pb.gz",
            "maia:maia-1500.pb.gz,mode=sample",
            "maia:maia-1500.pb.gz,mode=sample,temp=0.5,seed=18446744073709551615",
            "engine",
            "engine,depth=8",
            "engine,eval=baseline",
            "engine,eval=baseline,movetime=50",
            "engine:C:\\nets\\big.onnx,movetime=50",
            "random",
            "random,seed=4",
            "uci:stockfish",
            "uci:nice -n 5 stockfish,elo=1700,nodes=10000",
            "uci:stockfish,depth=5,option.Threads=2,option.Skill Level=3",
            "uci:\"run, \\\"fast\\\" C:\\\\engine\",option.Path=\"a,b\"",
            "net:\"one, two.onnx\"",
        ];
        for text in same {
            assert_eq!(spec(text).to_string(), text);
            assert_eq!(spec(&spec(text).to_string()), spec(text));
        }
        let shorter = [
            ("human:h.onnx,elo=1500,mode=sample,temp=1.0,top_p=0.95", "human:h.onnx,elo=1500,top_p=0.95"),
            ("human:elo=1500", "human,elo=1500"),
            ("human:elo=1500,seed=2", "human,elo=1500,seed=2"),
            ("human,elo=1500,strength=rated,mode=sample", "human,elo=1500"),
            ("human,temp=0.5,strength=raw", "human,temp=0.5"),
            ("maia:m.pb,temp=0.5", "maia:m.pb,mode=sample,temp=0.5"),
            ("maia:m.pb,mode=argmax", "maia:m.pb"),
            ("level:\"2\"", "level:2"),
            ("engine:\"plain.onnx\"", "engine:plain.onnx"),
        ];
        for (text, written) in shorter {
            assert_eq!(spec(text).to_string(), written);
            assert_eq!(spec(written), spec(text));
        }
    }

    #[test]
    fn settings_mean_what_they_say() {
        let Spec::Human(human) = spec("human:h.onnx,elo=1500,mode=sample,temp=0.7,top_p=0.9,seed=3") else {
            panic!("another kind");
        };
        assert_eq!(human.file, Some(PathBuf::from("h.onnx")));
        assert_eq!((human.elo, human.seed), (Some(Elo(1500)), Some(3)));
        let pick = Pick::Sampled { temperature: 0.7, top_p: 0.9 };
        assert_eq!(human.play, HumanPlay::Dialled(StrengthSettings { pick, ..StrengthSettings::RAW }));
        let Spec::Uci(uci) = spec("uci:sf --bench,elo=1700,movetime=25,option.Hash=16") else {
            panic!("another kind");
        };
        assert_eq!((uci.command.as_str(), uci.elo), ("sf --bench", Some(Elo(1700))));
        assert_eq!(uci.budget.movetime, Some(Duration::from_millis(25)));
        assert_eq!(uci.options, [("Hash".to_owned(), "16".to_owned())]);
        assert_eq!(
            spec("maia:m.pb"),
            Spec::Maia(MaiaSpec { file: "m.pb".into(), pick: Pick::Likeliest, seed: None })
        );
    }

    #[test]
    fn mistakes_name_the_part_and_what_is_allowed() {
        let mistakes = [
            ("", "it does not say who plays", KINDS),
            ("stockfish", "\"stockfish\" is no kind of player", KINDS),
            ("level", "no level is given", "1, 2, 3, 4 or 5"),
            ("level:6", "6 is no level", "1, 2, 3, 4 or 5"),
            ("level:2,depth=3", "\"depth\" is no setting of level", "no settings"),
            ("net", "net needs a model file", "net:FILE"),
            ("net:", "net needs a model file", "net:FILE"),
            ("net:x,search=mcts", "search=mcts is no search", "search=ab, or none for one ply"),
            ("net:x,depth=6", "depth means nothing to one ply", "search=ab with depth"),
            ("net:x,serach=ab", "\"serach\" is no setting of net", "search"),
            (
                "net:x,search=ab,dpeth=6",
                "\"dpeth\" is no setting of net",
                "search, depth, nodes, movetime, hash, threads",
            ),
            ("human:", "no file after human:", "human or human:FILE"),
            ("human,elo=strong", "elo=strong is no rating", "elo=600 to 2600"),
            ("human,elo=2700", "elo=2700 is no rating", "elo=600 to 2600"),
            ("human,elo=500", "elo=500 is no rating", "elo=600 to 2600"),
            ("uci:sf,elo=9000", "elo=9000 is no rating", "elo=100 to 4000"),
            (
                "human,pool=fide",
                "pool=fide is no pool of ratings",
                "pool=online, pool=over-the-board, pool=puzzle, pool=unknown",
            ),
            ("human,mode=best", "mode=best is no way to pick moves", "mode=sample or mode=argmax"),
            ("human,mode=argmax,temp=2", "temp means nothing to mode=argmax", "mode=sample with temp"),
            ("human,temp=-1", "temp=-1 is no temperature", "temp=0 to 100"),
            ("human,temp=NaN", "temp=NaN is no temperature", "temp=0 to 100"),
            ("human,top_p=1.5", "top_p=1.5 is no probability", "top_p=0 to 1"),
            ("human:elo=1500,elo=1600", "elo is set twice", "each setting once"),
            ("human,strength=full", "strength=full is no strength", "strength=rated or strength=raw"),
            ("human,pause=1", "pause=1 is neither on nor off", "pause=on or pause=off"),
            ("human,trust=-1", "trust=-1 is no weight of a search", "trust=0 to 1000"),
            ("human,elo=1500,elo=1600", "elo is set twice", "each setting once"),
            ("human,elo", "\"elo\" is no setting", "name=value after each comma"),
            ("human,", "\"\" is no setting", "name=value after each comma"),
            ("maia", "maia needs a model file", "maia:FILE"),
            ("maia:m,elo=1500", "\"elo\" is no setting of maia", "mode, temp, top_p, seed"),
            ("engine:", "no file after engine:", "engine or engine:FILE"),
            ("engine,eval=nnue", "eval=nnue is no evaluation", "eval=baseline, or engine:FILE"),
            (
                "engine:x,eval=baseline",
                "both a model file and eval=baseline",
                "engine:FILE or engine,eval=baseline",
            ),
            ("engine,depth=0", "depth=0 is no depth", "depth=1 to 200"),
            ("engine,threads=many", "threads=many is no number of threads", "threads=1 to 1024"),
            ("random:5", "random takes nothing after a colon", "random or random,seed=N"),
            ("random,seed=-1", "seed=-1 is no seed", "seed=0 to 18446744073709551615"),
            ("uci:", "uci needs a command", "uci:COMMAND"),
            ("uci:sf,option.=3", "option. has no name", "option.NAME=VALUE"),
            ("uci:sf,hash=3", "\"hash\" is no setting of uci", "elo, depth, nodes, movetime, option.NAME"),
            ("net:\"open", "a quote is not closed", "\"...\""),
            ("net:\"a\"b", "\"b\" after a closing quote", "a comma or the end"),
            ("net:\"a\\n\"", "\\n inside quotes", "\\\" and \\\\"),
        ];
        for (text, problem, allowed) in mistakes {
            let error = text.parse::<Spec>().expect_err(text);
            assert_eq!((error.problem.as_str(), error.allowed.as_str()), (problem, allowed), "{text}");
        }
    }
}
