#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{collections::BTreeMap, io::Read};

use shakmaty::{ByColor, Color};
use tabia_game::{BrokenGame, Game, PgnReader, RawGames, ReadOptions, Variations, fen_of};

use crate::{GameResult, PlayerId, ResultRow, Standings};

/// Results read from PGN.
#[derive(Clone, Debug)]
pub struct PgnResults {
    /// Standings; players are in order of first appearance.
    pub standings: Standings,
    /// Counted games with the names of their openings.
    pub rows: Vec<(ResultRow, String)>,
    /// Number of games without a result.
    pub unfinished: usize,
    /// Errors of games that cannot be read.
    pub broken: Vec<String>,
}

/// Reads results from PGN.
///
/// Two games are a pair if the same players play the same round (`12` and `12`, or `12.1` and `12.2`) from the same
/// start position with reversed colours. Without rounds, games from the same set-up position are paired in file order.
///
/// # Errors
/// On I/O errors. Invalid games are collected in [`PgnResults::broken`].
pub fn read_results(input: impl Read) -> Result<PgnResults, Box<BrokenGame>> {
    let options = ReadOptions { variations: Variations::Skip, ..ReadOptions::default() };
    let mut names: Vec<String> = Vec::new();
    let mut pairs: BTreeMap<_, Vec<(u64, PlayerId)>> = BTreeMap::new();
    let mut rows = Vec::new();
    let (mut unfinished, mut broken) = (0, Vec::new());
    let mut next_pair = 0;
    for game in PgnReader::with_options(RawGames::new(input), options) {
        let game = match game {
            Ok(game) => game,
            Err(error) if matches!(error.problem, tabia_game::Problem::Io(_)) => return Err(Box::new(error)),
            Err(error) => {
                broken.push(error.to_string());
                continue;
            }
        };
        let Some(result) = GameResult::from_outcome(game.result) else {
            unfinished += 1;
            continue;
        };
        let players = ByColor::new_with(|color| id_of(&mut names, &game, color));
        let pair = pair_key(&game).map(|(round, start)| {
            let ByColor { white, black } = players;
            let open = pairs.entry((white.min(black), white.max(black), round, start)).or_default();
            // The oldest unpaired game with reversed colours.
            match open.iter().position(|(_, had_white)| *had_white != white) {
                Some(at) => open.remove(at).0,
                None => {
                    next_pair += 1;
                    open.push((next_pair, white));
                    next_pair
                }
            }
        });
        let label = game.headers.get("Opening").map_or_else(|| fen_of(game.start()), str::to_owned);
        rows.push((ResultRow { players, result, pair }, label));
    }
    let standings = Standings::of(names, rows.iter().map(|(row, _)| *row));
    Ok(PgnResults { standings, rows, unfinished, broken })
}

fn id_of(names: &mut Vec<String>, game: &Game, color: Color) -> PlayerId {
    let name = game.headers.get(color.fold_wb("White", "Black")).unwrap_or("?");
    let known = names.iter().position(|known| known == name);
    PlayerId(known.unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    }))
}

/// Round without game number, and start position; `None` if neither is given.
fn pair_key(game: &Game) -> Option<(String, String)> {
    let round = game.headers.get("Round").filter(|round| !matches!(*round, "" | "?" | "-"));
    let round = round.map(|round| round.rsplit_once('.').map_or(round, |(pair, _)| pair).to_owned());
    let start = (!game.starts_normally()).then(|| fen_of(game.start()));
    (round.is_some() || start.is_some()).then(|| (round.unwrap_or_default(), start.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::{Pairs, Tally};

    fn pgn(games: &[(&str, &str, &str, &str, &str)]) -> String {
        let text = |(white, black, round, fen, result): &(&str, &str, &str, &str, &str)| {
            let setup =
                if fen.is_empty() { String::new() } else { format!("[SetUp \"1\"]\n[FEN \"{fen}\"]\n") };
            format!(
                "[White \"{white}\"]\n[Black \"{black}\"]\n[Round \"{round}\"]\n[Result \"{result}\"]\n{setup}\n{result}\n\n"
            )
        };
        games.iter().map(text).collect()
    }

    #[test]
    fn pairs_are_found_by_round_or_by_position() {
        let queen = "8/8/4k3/8/8/3QK3/8/8 w - - 0 1";
        let text = pgn(&[
            ("a", "b", "1.1", "", "1-0"),
            ("b", "a", "1.2", "", "0-1"),
            ("a", "b", "7", "", "1/2-1/2"),
            ("b", "a", "7", "", "1-0"),
            ("a", "b", "?", queen, "1-0"),
            ("b", "a", "?", queen, "1-0"),
            ("a", "b", "?", "", "0-1"),
            ("b", "a", "?", "", "*"),
        ]);
        let results = read_results(format!("{text}[White \"a\"]\n\n1. e5 1-0\n").as_bytes()).unwrap();
        let seen = results.standings.between(PlayerId(0), PlayerId(1));
        assert_eq!(results.standings.names(), ["a", "b"]);
        assert_eq!(seen.games, Tally { wins: 3, draws: 1, losses: 3 });
        assert_eq!((seen.pairs, seen.unpaired()), (Pairs([0, 1, 1, 0, 1]), 1));
        assert_eq!((results.unfinished, results.broken.len()), (1, 1));
    }
}
