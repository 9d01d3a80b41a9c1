//! `tabia-lab diversity`: the entropy of a player's openings, compared with people of its rating.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;
use serde_json::json;
use shakmaty::{ByColor, CastlingMode, Chess};
use tabia_cli::{PlayerFactory, write_json};
use tabia_data::{BytesRead, Chunks, GameRules, SourceFile};
use tabia_game::History;
use tabia_players::{Limits, NoControl, Spec};

#[derive(Args)]
#[command(after_help = "Example:
  tabia-lab diversity human,elo=1000 human,elo=1600 human,elo=2200 --games-of otb-rated.pgn.zst")]
pub(crate) struct DiversityArgs {
    /// Players, each of which plays against itself.
    #[arg(required = true, value_name = "SPEC")]
    players: Vec<Spec>,
    /// Number of games.
    #[arg(long, default_value_t = 200, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    games: u32,
    /// Plies of each game to compare.
    #[arg(long, default_value_t = 4, value_name = "N")]
    plies: usize,
    /// PGN file of human games to compare with, plain or compressed.
    #[arg(long, value_name = "GAMES")]
    games_of: Option<PathBuf>,
    /// Random seed.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Also write all figures to this file as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// How far from the rating people's ratings may be.
const NEAR: u16 = 100;

/// How often each opening line was played.
#[derive(Default)]
struct OpeningCounts(BTreeMap<String, u32>);

pub(crate) fn run(args: &DiversityArgs) -> Result<()> {
    let players = PlayerFactory::default();
    let mut rows = Vec::new();
    println!("{:<40} {:>5}  {:>5}  {:>9}  {:>6}  commonest", "who", "games", "bits", "different", "top");
    for spec in &args.players {
        let played = play(spec, args, &players)?;
        rows.push(show(&spec.to_string(), &played));
        if let (Some(elo), Some(games)) = (spec.rating(), &args.games_of) {
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

/// The openings of games of a player against itself.
fn play(spec: &Spec, args: &DiversityArgs, players: &PlayerFactory) -> Result<OpeningCounts> {
    let mut played = OpeningCounts::default();
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

/// The openings of as many games between people near a rating.
fn read(path: &Path, rating: u16, args: &DiversityArgs) -> Result<OpeningCounts> {
    let mut people = OpeningCounts::default();
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
        bail!("{}: no games of players rated near {rating}", path.display());
    }
    Ok(people)
}

impl OpeningCounts {
    fn add(&mut self, line: &[String]) {
        *self.0.entry(line.join(" ")).or_default() += 1;
    }

    fn games(&self) -> u32 {
        self.0.values().sum()
    }

    /// The entropy in bits.
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

fn show(who: &str, openings: &OpeningCounts) -> serde_json::Value {
    let (line, count) = openings.commonest().map_or(("", 0), |(line, count)| (line.as_str(), count));
    let games = openings.games();
    let top = f64::from(count) / f64::from(games.max(1));
    println!(
        "{who:<40} {games:>5}  {:>5.2}  {:>9}  {:>5.1}%  {line}",
        openings.bits(),
        openings.0.len(),
        100.0 * top
    );
    json!({ "who": who, "games": games, "bits": openings.bits(), "different": openings.0.len(),
        "top": top, "commonest": line })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entropy_of_openings() {
        let mut openings = OpeningCounts::default();
        for line in ["e2e4", "e2e4", "d2d4", "c2c4"] {
            openings.add(&[line.to_owned()]);
        }
        assert!((openings.bits() - 1.5).abs() < 1e-12);
        assert_eq!(openings.commonest(), Some((&"e2e4".to_owned(), 2)));
        let mut one = OpeningCounts::default();
        one.add(&["e2e4".to_owned()]);
        assert_eq!(one.bits(), 0.0);
    }
}
