//! Evaluation of a network in training by playing.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};
use tabia_arena::challenge::Ladder;
use tabia_arena::statistics::Tally;
use tabia_arena::{
    Adjudication, Agreement, Budget, DrawAdjudication, Entrant, Format, Openings, PlayerId,
    ResignAdjudication, Rules, Run, Schedule, Stop, StopRequest, WallTimer,
};
use tabia_cli::{PlayerFactory, entrants, jobs, today, write_atomically};
use tabia_players::{ChallengeRules, Limits, NetSearch, NetSpec, Spec};
use tabia_report::Progress;
use tabia_train::export::{ExportFormat, Precision, Provenance, export};
use tabia_train::{EvaluationConfig, GroupScore, TrainConfig};

/// The network in training, in a spec.
const NEW: &str = "new";
/// The network of the evaluation before, in a spec.
const PREVIOUS: &str = "previous";

/// Seed of the levels' choice among equally good moves.
const SEED: u64 = 1;

/// Plays the games of a run's evaluations.
pub(super) struct Games {
    /// Folder of the networks that play.
    folder: PathBuf,
    contest: Option<[Spec; 2]>,
    /// Set by Ctrl-C.
    stop: Arc<AtomicBool>,
}

impl Games {
    /// The games that the configuration asks for; `None` if it asks for none. `run` is the folder of the run.
    pub(super) fn of(config: &EvaluationConfig, run: &Path, stop: Arc<AtomicBool>) -> Result<Option<Games>> {
        if !config.plays() {
            return Ok(None);
        }
        if let Some(level) = config.ladder
            && ChallengeRules::Original.level(level).is_none()
        {
            let levels = ChallengeRules::Original.levels().len();
            bail!("evaluation.ladder: no level {level} (expected 1 to {levels})");
        }
        let contest = config.contest.as_deref().map(contest).transpose().context("evaluation.match")?;
        Ok(Some(Games { folder: run.join("playing"), contest, stop }))
    }

    fn path(&self, config: &TrainConfig, name: &str) -> PathBuf {
        let extension = if config.net.is_detectable() { "safetensors" } else { "onnx" };
        self.folder.join(format!("{name}.{extension}"))
    }

    /// Writes the network that the first one plays against as the previous one.
    pub(super) fn begin(&self, config: &TrainConfig, weights: &[f32]) -> Result<()> {
        if self.contest.is_none() { Ok(()) } else { self.write(config, weights, PREVIOUS) }
    }

    fn write(&self, config: &TrainConfig, weights: &[f32], name: &str) -> Result<()> {
        let path = self.path(config, name);
        let format = ExportFormat::of(&path).context("the format of the network is not known")?;
        let provenance = Provenance {
            name: format!("{} ({name})", config.name),
            value_unit_cp: Some(config.value_unit_cp()),
            ..Provenance::default()
        };
        let exported = export(&config.net, weights, format, Precision::F32, &provenance)?;
        std::fs::create_dir_all(&self.folder).with_context(|| self.folder.display().to_string())?;
        write_atomically(&path, &exported.bytes)
    }

    /// Plays with the network of these weights, which becomes the previous one.
    pub(super) fn play(&self, config: &TrainConfig, weights: &[f32]) -> Result<Vec<(String, GroupScore)>> {
        self.write(config, weights, NEW)?;
        let mut played = Vec::new();
        if let Some(level) = config.evaluation.ladder {
            played.extend(self.climb(config, level)?);
        }
        if let Some([first, second]) = &self.contest {
            played.extend(self.play_match(config, first, second)?);
            std::fs::rename(self.path(config, NEW), self.path(config, PREVIOUS))
                .with_context(|| self.folder.display().to_string())?;
        }
        Ok(played)
    }

    /// The network one move ahead against a level of the challenge, from openings that are not the challenge's.
    fn climb(&self, config: &TrainConfig, number: u8) -> Result<Option<(String, GroupScore)>> {
        let rules = ChallengeRules::Original;
        let level = rules.level(number).with_context(|| format!("no level {number}"))?;
        let players = PlayerFactory::default();
        let challenger =
            Spec::Net(NetSpec { file: self.path(config, NEW), search: NetSearch::Challenge(rules) });
        let players = entrants(&[challenger, Spec::Level(level.into())], &Budget::default(), &players)?;
        let [challenger, opponent] = players.as_slice() else { bail!("two players") };
        let openings = Openings::balanced();
        let ladder = Ladder {
            challenger,
            parameters: config.net.table().parameters() as u64,
            rules,
            seed: SEED,
            levels: vec![(u32::from(number), opponent as &dyn Entrant)],
            openings: &openings,
            jobs: jobs(None),
            folder: None,
            date: today(),
        };
        let progress = Progress::of(2 * openings.list().len() as u64, "games");
        let stop = Stop::new();
        let scorecard = ladder.climb(&WallTimer::new(), &stop, &mut |level| {
            progress.set(level.games.games(), "");
            self.forward(&stop);
        })?;
        progress.finish();
        if scorecard.interrupted {
            return Ok(None);
        }
        Ok(scorecard.levels.first().map(|score| (format!("against level {number}"), group(score.games))))
    }

    fn play_match(
        &self,
        config: &TrainConfig,
        first: &Spec,
        second: &Spec,
    ) -> Result<Option<(String, GroupScore)>> {
        let named = |spec: &Spec| {
            let mut spec = spec.clone();
            for name in [NEW, PREVIOUS] {
                if spec.file().is_some_and(|file| file == Path::new(name)) {
                    spec.set_file(Some(self.path(config, name)));
                }
            }
            spec
        };
        let factory = PlayerFactory::default();
        let limits = Limits { nodes: Some(config.evaluation.nodes), ..Limits::default() };
        let budget = Budget { limits, ..Budget::default() };
        let players = entrants(&[named(first), named(second)], &budget, &factory)?;
        let openings = Openings::balanced();
        let rounds = config.evaluation.games.div_ceil(2);
        let schedule = Schedule::new(Format::Match, 2, rounds, openings.list().len())?;
        let rules = Rules {
            adjudication: Adjudication {
                resign: Some(ResignAdjudication {
                    move_count: 3,
                    score: 600,
                    agreement: Agreement::TwoSided,
                }),
                draw: Some(DrawAdjudication { move_number: 34, move_count: 8, score: 20 }),
            },
            ..Rules::default()
        };
        let run = Run {
            event: format!("Training of {}", config.name),
            date: today(),
            entrants: players.iter().map(|player| player as &dyn Entrant).collect(),
            openings: &openings,
            schedule: &schedule,
            rules: &rules,
            seed: SEED,
            jobs: jobs(None),
            sprt: None,
        };
        let progress = Progress::of(schedule.games().into(), "games");
        let stop = Stop::new();
        let finished = run.play(None, &WallTimer::new(), &stop, &mut |game| {
            progress.set(game.done.into(), "");
            self.forward(&stop);
        })?;
        progress.finish();
        if let Some(fault) = finished.records.iter().find(|record| record.by_fault) {
            bail!("game {}: {}", fault.game + 1, fault.reason);
        }
        if self.stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let score = finished.standings.between(PlayerId(0), PlayerId(1));
        Ok(Some((format!("against {second}"), group(score.games))))
    }

    /// Passes on a Ctrl-C.
    fn forward(&self, stop: &Stop) {
        if self.stop.load(Ordering::Relaxed) {
            stop.request(StopRequest::Now);
        }
    }
}

/// The players of a match: `engine vs engine:previous`. A first player without a file plays with the network in training.
fn contest(text: &str) -> Result<[Spec; 2]> {
    let (first, second) = text.split_once(" vs ").context("expected PLAYER vs PLAYER")?;
    let parse = |text: &str| text.trim().parse::<Spec>().with_context(|| format!("the player {text:?}"));
    let (mut first, second) = (parse(first)?, parse(second)?);
    if first.file().is_none() {
        first.set_file(Some(PathBuf::from(NEW)));
    }
    if first.file().is_none_or(|file| file != Path::new(NEW)) {
        bail!(
            "the first player does not play with the network in training (expected engine, net:new or human:new)"
        );
    }
    Ok([first, second])
}

fn group(games: Tally) -> GroupScore {
    let points = games.score();
    GroupScore {
        count: games.games(),
        points,
        elo: points.and_then(tabia_arena::statistics::elo_of_score),
        ..GroupScore::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_player_is_the_network_in_training() {
        let files = |text: &str| contest(text).unwrap().map(|spec| spec.file().map(Path::to_owned));
        let [new, previous] = [NEW, PREVIOUS].map(|name| Some(PathBuf::from(name)));
        assert_eq!(files("engine vs engine:previous"), [new.clone(), previous]);
        assert_eq!(files("net:new,search=ab vs engine,nodes=100"), [new, None]);
        for wrong in ["engine", "level:1 vs engine", "engine:other.onnx vs engine", "engine vs nobody"] {
            assert!(contest(wrong).is_err(), "{wrong}");
        }
    }
}
