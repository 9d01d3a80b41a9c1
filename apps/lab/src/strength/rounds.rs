//! Playing rounds of games, and rating all players from all rounds.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use tabia_arena::statistics::{HeadToHead, PoolRating, RatingScale, Tally, rate_on_scales};
use tabia_arena::{Budget, End, Entrant, GameRecord, Ledger, Openings, Rules, Run, Schedule, Stop};
use tabia_cli::{PlayerFactory, SpecEntrant, entrants, play_run, today};
use tabia_players::Spec;

use super::errors::{self, Errors, Matched};
use super::field::{Field, Leg, Rated};
use super::people::{self, PeopleTerms};

/// Games are drawn after this many plies.
const LONGEST: u32 = 400;

/// What all rounds share.
pub(super) struct RoundContext<'a> {
    pub(super) players: &'a PlayerFactory,
    pub(super) openings: Openings,
    /// The folder of the ledgers.
    pub(super) folder: PathBuf,
    /// The file of the measured network, unless it is the bundled one.
    pub(super) measured: Option<PathBuf>,
    pub(super) seed: u64,
    pub(super) jobs: NonZeroUsize,
    pub(super) stop: Arc<Stop>,
    /// What the games depend on besides the names of players.
    pub(super) facts: Vec<(String, String)>,
    /// People's games, as a scale.
    pub(super) people: Option<PeopleTerms>,
}

/// Results by the names of players, from all rounds.
#[derive(Default)]
pub(super) struct Results {
    names: Vec<String>,
    encounters: BTreeMap<(usize, usize), Tally>,
    anchors: BTreeMap<usize, (Leg, f64)>,
    /// The ratings of players by what they lose in people's positions.
    matched: BTreeMap<usize, Matched>,
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
        // The measured network is among the facts: its card changes with every fit.
        let measured = |file: &str| self.measured.as_deref().is_some_and(|path| path == Path::new(file));
        for known in players.iter().filter_map(SpecEntrant::file).filter(|known| !measured(&known.file)) {
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

    /// What people and these players lose in the same positions, where there are games of people.
    pub(super) fn people(&self, rated: &[Rated], results: &mut Results) -> Result<Vec<Errors>> {
        let Some(terms) = &self.people else { return Ok(Vec::new()) };
        let rows = people::judge(self, terms, rated)?;
        let names: Vec<String> = rated.iter().map(|rated| rated.spec.to_string()).collect();
        for (name, matched) in names.iter().zip(errors::matched(&rows, &names, self.seed)) {
            if let Some(matched) = matched {
                results.add_matched(name, matched);
            }
        }
        Ok(errors::errors(&rows))
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
    fn add(&mut self, specs: &[Spec], anchors: &[(usize, Leg, f64)], records: &[GameRecord]) {
        let places: Vec<usize> = specs.iter().map(|spec| self.place(&spec.to_string())).collect();
        for (place, leg, rating) in anchors {
            self.anchors.insert(places[*place], (*leg, *rating));
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

    /// Adds what a player loses in people's positions.
    pub(super) fn add_matched(&mut self, name: &str, matched: Matched) {
        let place = self.place(name);
        self.matched.insert(place, matched);
    }

    /// The scales that rate a player.
    pub(super) fn legs(&self) -> Vec<Leg> {
        let rates = |leg: &Leg| !self.scale(*leg, 0.0).anchors.is_empty();
        Leg::ALL.into_iter().filter(rates).collect()
    }

    fn scale(&self, leg: Leg, offset_deviation: f64) -> RatingScale {
        let anchors = match leg {
            Leg::People => self.matched.iter().map(|(place, of)| (*place, of.rating, of.deviation)).collect(),
            _ => {
                let own = self.anchors.iter().filter(|(_, (of, _))| *of == leg);
                own.map(|(place, (_, rating))| (*place, *rating, leg.deviation())).collect()
            }
        };
        RatingScale { anchors, offset_deviation }
    }

    /// The ratings of all players on these scales, by name; `offset_deviation` is how far scales may lie apart.
    pub(super) fn ratings(&self, legs: &[Leg], offset_deviation: f64) -> Result<Vec<(String, PoolRating)>> {
        let encounters: Vec<HeadToHead> = self
            .encounters
            .iter()
            .map(|(&(first, second), &games)| HeadToHead { first, second, games })
            .collect();
        let scales: Vec<RatingScale> = legs.iter().map(|leg| self.scale(*leg, offset_deviation)).collect();
        let rated = rate_on_scales(self.names.len(), &encounters, &scales)?;
        Ok(self.names.iter().cloned().zip(rated).collect())
    }

    /// The scale that a player is known on, and its rating there.
    pub(super) fn anchor(&self, name: &str) -> Option<(Leg, f64)> {
        let place = self.names.iter().position(|known| known == name)?;
        self.anchors.get(&place).copied()
    }

    /// The names of all players.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }
}

/// Makes the folder for ledgers.
pub(super) fn prepare(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())
}
