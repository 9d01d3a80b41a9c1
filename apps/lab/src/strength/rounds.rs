//! Playing rounds of games, and rating all players from all rounds.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use tabia_arena::statistics::{HeadToHead, PoolRating, Tally, rate_with_anchors};
use tabia_arena::{Budget, End, Entrant, GameRecord, Ledger, Openings, Rules, Run, Schedule, Stop};
use tabia_cli::{PlayerFactory, SpecEntrant, entrants, play_run, today};
use tabia_players::Spec;

use super::field::Field;

/// Games are drawn after this many plies.
const LONGEST: u32 = 400;

/// What all rounds share.
pub(super) struct RoundContext<'a> {
    pub(super) players: &'a PlayerFactory,
    pub(super) openings: Openings,
    /// The folder of the ledgers.
    pub(super) folder: PathBuf,
    pub(super) seed: u64,
    pub(super) jobs: NonZeroUsize,
    pub(super) stop: Arc<Stop>,
    /// What the games depend on besides the names of players.
    pub(super) facts: Vec<(String, String)>,
}

/// Results by the names of players, from all rounds.
#[derive(Default)]
pub(super) struct Results {
    names: Vec<String>,
    encounters: BTreeMap<(usize, usize), Tally>,
    anchors: BTreeMap<usize, f64>,
    pub(super) games: u64,
    pub(super) faults: Vec<String>,
}

impl RoundContext<'_> {
    /// Plays the missing games of a round and adds its results: each pairing `turns` times with both colours.
    pub(super) fn play(&self, name: &str, field: &Field, turns: u32, results: &mut Results) -> Result<()> {
        let players = entrants(&field.specs, &Budget::default(), self.players)?;
        let openings = self.openings.list().len();
        let schedule = Schedule::of_pairings(field.pairings.clone(), players.len(), turns, openings)?;
        let rules = Rules { max_plies: Some(LONGEST), ..Rules::default() };
        let run = Run {
            event: format!("Tabia strength, {name}"),
            date: today(),
            entrants: players.iter().map(|player| player as &dyn Entrant).collect(),
            openings: &self.openings,
            schedule: &schedule,
            rules: &rules,
            seed: self.seed,
            jobs: self.jobs,
            sprt: None,
        };
        let mut settings = run.settings();
        for known in players.iter().filter_map(SpecEntrant::file) {
            settings.set(&format!("contents of {}", known.file), &known.hash);
        }
        for (fact, value) in &self.facts {
            settings.set(fact, value);
        }
        let path = self.ledger(name);
        let mut ledger = Ledger::open(&path, &settings)?;
        let already = ledger.records().len();
        let again = if already > 0 { format!(", {already} of them played before") } else { String::new() };
        eprintln!(
            "{name}: {} games{again}, {} at a time, in {}",
            schedule.games(),
            self.jobs,
            path.display()
        );
        let finished = play_run(&run, Some(&mut ledger), &self.stop)?;
        let records = finished.records;
        if finished.end != End::Complete {
            bail!(
                "stopped after {} of {} games; they are in {}, and the same command resumes the run",
                records.len(),
                schedule.games(),
                path.display()
            );
        }
        results.add(&field.specs, &field.anchors, &records);
        Ok(())
    }

    /// Whether a round has been started.
    pub(super) fn began(&self, name: &str) -> bool {
        self.ledger(name).exists()
    }

    fn ledger(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{}.pgn", name.replace(' ', "-")))
    }
}

impl Results {
    fn add(&mut self, specs: &[Spec], anchors: &[(usize, f64)], records: &[GameRecord]) {
        let places: Vec<usize> = specs.iter().map(|spec| self.place(&spec.to_string())).collect();
        for (place, rating) in anchors {
            self.anchors.insert(places[*place], *rating);
        }
        for record in records {
            self.games += 1;
            if record.by_fault {
                self.faults.push(record.reason.clone());
            }
            let (white, black) = (places[record.white.0], places[record.black.0]);
            let (first, second) = (white.min(black), white.max(black));
            let color = if first == white { shakmaty::Color::White } else { shakmaty::Color::Black };
            self.encounters.entry((first, second)).or_default().record(record.result.points(color));
        }
    }

    fn place(&mut self, name: &str) -> usize {
        if let Some(place) = self.names.iter().position(|known| known == name) {
            return place;
        }
        self.names.push(name.to_owned());
        self.names.len() - 1
    }

    /// The ratings from all games, by name.
    pub(super) fn ratings(&self) -> Result<Vec<(String, PoolRating)>> {
        let encounters: Vec<HeadToHead> = self
            .encounters
            .iter()
            .map(|(&(first, second), &games)| HeadToHead { first, second, games })
            .collect();
        let anchors: Vec<(usize, f64)> =
            self.anchors.iter().map(|(place, rating)| (*place, *rating)).collect();
        let rated = rate_with_anchors(self.names.len(), &encounters, &anchors)?;
        Ok(self.names.iter().cloned().zip(rated).collect())
    }

    /// Whether a player is an anchor.
    pub(super) fn is_anchor(&self, name: &str) -> bool {
        self.names
            .iter()
            .position(|known| known == name)
            .is_some_and(|place| self.anchors.contains_key(&place))
    }
}

/// Makes the folder for ledgers.
pub(super) fn prepare(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())
}
