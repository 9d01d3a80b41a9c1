//! `tabia variety`: how many openings a player knows, against people of its rating.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, bail};
use serde_json::json;
use shakmaty::{ByColor, CastlingMode, Chess};
use tabia_data::{BytesRead, Chunks, GameRules, SourceFile};
use tabia_game::History;
use tabia_search::{Limits, NoControl, Spec};

use crate::arena::write_json;
use crate::cli::VarietyArgs;
use crate::players::PlayerFactory;

/// People within this of a rating are of that rating.
const NEAR: u16 = 100;

/// How often each way to begin was played.
#[derive(Default)]
struct Beginnings(BTreeMap<String, u32>);

pub(crate) fn run(args: &VarietyArgs) -> Result<()> {
    let players = PlayerFactory::default();
    let mut rows = Vec::new();
    println!("{:<40} {:>5}  {:>5}  {:>9}  {:>6}  commonest", "who", "games", "bits", "different", "top");
    for spec in &args.players {
        let played = play(spec, args, &players)?;
        rows.push(show(&spec.to_string(), &played));
        if let (Spec::Human(human), Some(games)) = (spec, &args.games_of)
            && let Some(elo) = human.elo
        {
            let people = read(games, elo.0, args)?;
            let name = format!("people of {} to {}", elo.0.saturating_sub(NEAR), elo.0 + NEAR);
            rows.push(show(&name, &people));
        }
    }
    match &args.json {
        Some(path) => write_json(path, &rows.into()),
        None => Ok(()),
    }
}

/// The first moves of games of a player against itself.
fn play(spec: &Spec, args: &VarietyArgs, players: &PlayerFactory) -> Result<Beginnings> {
    let mut played = Beginnings::default();
    for game in 0..args.games {
        let seed = args.seed.wrapping_add(u64::from(game));
        let mut players = [players.make(spec, 2 * seed)?, players.make(spec, 2 * seed + 1)?];
        let mut history = History::new(Chess::default(), ByColor::default());
        let mut line = Vec::new();
        for ply in 0..args.plies {
            let mv = players[ply % 2].choose(&history, &Limits::default(), &NoControl)?.mv;
            line.push(mv.to_uci(CastlingMode::Standard).to_string());
            history.push(mv, None);
        }
        played.add(&line);
    }
    Ok(played)
}

/// The first moves of as many games between people of about a rating.
fn read(path: &Path, rating: u16, args: &VarietyArgs) -> Result<Beginnings> {
    let mut people = Beginnings::default();
    let near = |elo: Option<tabia_encoding::Elo>| elo.is_some_and(|elo| elo.0.abs_diff(rating) <= NEAR);
    'files: for file in SourceFile::find(path)? {
        for chunk in Chunks::open(&file, &BytesRead::default())? {
            for game in chunk.read(&GameRules::default()).games {
                let whole = game.start == Chess::default() && game.plies.len() >= args.plies;
                if !(whole && near(game.head.ratings.white) && near(game.head.ratings.black)) {
                    continue;
                }
                let uci = |ply: &tabia_data::Ply| ply.played.to_uci(CastlingMode::Standard).to_string();
                people.add(&game.plies[..args.plies].iter().map(uci).collect::<Vec<_>>());
                if people.games() >= args.games {
                    break 'files;
                }
            }
        }
    }
    if people.games() == 0 {
        bail!("{}: no games of people rated about {rating}", path.display());
    }
    Ok(people)
}

impl Beginnings {
    fn add(&mut self, line: &[String]) {
        *self.0.entry(line.join(" ")).or_default() += 1;
    }

    fn games(&self) -> u32 {
        self.0.values().sum()
    }

    /// The entropy, in bits: a player with one opening has none.
    fn bits(&self) -> f64 {
        let games = f64::from(self.games());
        let each = |count: &u32| {
            let share = f64::from(*count) / games;
            -share * share.log2()
        };
        self.0.values().map(each).sum()
    }

    fn commonest(&self) -> Option<(&String, u32)> {
        self.0.iter().max_by_key(|(_, count)| **count).map(|(line, count)| (line, *count))
    }
}

fn show(who: &str, beginnings: &Beginnings) -> serde_json::Value {
    let (line, count) = beginnings.commonest().map_or(("", 0), |(line, count)| (line.as_str(), count));
    let games = beginnings.games();
    let top = f64::from(count) / f64::from(games.max(1));
    println!(
        "{who:<40} {games:>5}  {:>5.2}  {:>9}  {:>5.1}%  {line}",
        beginnings.bits(),
        beginnings.0.len(),
        100.0 * top
    );
    json!({ "who": who, "games": games, "bits": beginnings.bits(), "different": beginnings.0.len(),
        "top": top, "commonest": line })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entropy_counts_the_ways_to_begin() {
        let mut beginnings = Beginnings::default();
        for line in ["e2e4", "e2e4", "d2d4", "c2c4"] {
            beginnings.add(&[line.to_owned()]);
        }
        assert!((beginnings.bits() - 1.5).abs() < 1e-12);
        assert_eq!(beginnings.commonest(), Some((&"e2e4".to_owned(), 2)));
        let mut one = Beginnings::default();
        one.add(&["e2e4".to_owned()]);
        assert_eq!(one.bits(), 0.0);
    }
}
