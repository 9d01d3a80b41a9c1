//! The games of a player, reviewed or not.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::{Deserialize, Serialize};
use shakmaty::Color;
use tabia_game::{Game, TimeClass};

use crate::figures::GameFigures;
use crate::mark::MISTAKE;
use crate::names::{NameCount, NameCounter};
use crate::openings::opening_family;
use crate::summary::{Summary, SummaryReport};
use crate::{Side, game_key};

/// What a list shows of a game that was not reviewed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct GameHead {
    /// The [key](game_key) in hexadecimal.
    pub key: String,
    /// White's name.
    pub white: String,
    /// Black's name.
    pub black: String,
    /// White's rating.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub white_rating: Option<u16>,
    /// Black's rating.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub black_rating: Option<u16>,
    /// The date as PGN writes it, `2024.05.31`; empty if unknown.
    pub date: String,
    /// The time of day, `18:05:00`; empty if unknown.
    pub time: String,
    /// Where the game can be seen, or the event.
    pub site: String,
    /// `1-0`, `0-1`, `1/2-1/2` or `*`.
    pub result: String,
    /// The class of the time control.
    #[cfg_attr(feature = "tsify", tsify(type = "TimeClassName"))]
    pub time_class: TimeClass,
    /// The family of the opening; empty if it has no name.
    pub opening: String,
    /// Half-moves of the main line.
    pub plies: u32,
}

impl GameHead {
    /// The head of a game.
    pub fn of(game: &Game) -> GameHead {
        let headers = &game.headers;
        let tag = |name: &str| headers.get(name).unwrap_or("").trim().to_owned();
        let is_known = |value: &String| !value.is_empty() && !value.starts_with('?');
        let date = [tag("UTCDate"), tag("Date")].into_iter().find(is_known);
        let time = [tag("UTCTime"), tag("StartTime")].into_iter().find(is_known);
        let is_address = |site: &String| site.contains("://");
        let site = [tag("Link"), tag("Site")].into_iter().find(is_address).unwrap_or_else(|| tag("Event"));
        GameHead {
            key: format!("{:016x}", game_key(game)),
            white: tag("White"),
            black: tag("Black"),
            white_rating: headers.rating(Color::White).map(|rating| rating.0),
            black_rating: headers.rating(Color::Black).map(|rating| rating.0),
            date: date.unwrap_or_default(),
            time: time.unwrap_or_default(),
            site,
            result: game.result.to_string(),
            time_class: TimeClass::of(headers.time_control().pace()),
            opening: opening_family(game).unwrap_or_default().to_owned(),
            plies: u32::try_from(game.mainline().count()).unwrap_or(u32::MAX),
        }
    }

    fn name(&self, color: Color) -> &str {
        color.fold_wb(&self.white, &self.black)
    }
}

/// Which games to look at; an empty filter is all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase", default)]
pub struct GameFilter {
    /// That the player played with this colour.
    #[cfg_attr(feature = "tsify", tsify(type = "Side"))]
    pub color: Option<Side>,
    /// Of this class of time controls.
    #[cfg_attr(feature = "tsify", tsify(type = "TimeClassName"))]
    pub time_class: Option<TimeClass>,
    /// From this date on, `2024.05.31`.
    pub from: Option<String>,
    /// Up to this date.
    pub to: Option<String>,
}

impl GameFilter {
    fn accepts(&self, head: &GameHead, own: Color) -> bool {
        self.color.is_none_or(|color| color == own.into())
            && self.time_class.is_none_or(|class| class == head.time_class)
            && self.from.as_ref().is_none_or(|from| head.date >= *from)
            && self.to.as_ref().is_none_or(|to| !head.date.is_empty() && head.date <= *to)
    }
}

/// How many games there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct LibraryCounts {
    /// All games.
    pub games: usize,
    /// Those of the player.
    pub own: usize,
    /// Those of them that are reviewed.
    pub reviewed: usize,
    /// Half-moves of the others.
    pub plies_left: u64,
}

/// A game of the player, as a list shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct GameRow {
    /// The game.
    pub head: GameHead,
    /// The player's colour.
    #[cfg_attr(feature = "tsify", tsify(type = "Side"))]
    pub color: Side,
    /// `win`, `draw` or `loss` for the player; `None` without a result.
    #[cfg_attr(feature = "tsify", tsify(type = "\"win\" | \"draw\" | \"loss\" | undefined"))]
    pub score: Option<&'static str>,
    /// What the review says.
    pub figures: Option<GameRowFigures>,
}

/// A reviewed game of the player, as a list shows it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct GameRowFigures {
    /// The accuracy, from 0 to 100.
    pub accuracy: Option<f64>,
    /// "You played like N".
    pub played_like: Option<f64>,
    /// Moves that lost 0.1 of the winning chance or more.
    pub mistakes: usize,
}

/// A part of the list of games.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct GameRows {
    /// The number of games of the whole list.
    pub total: usize,
    /// The rows asked for.
    pub rows: Vec<GameRow>,
}

/// A mistake of the player.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct PlayedMistake {
    /// The key of the game.
    pub game: String,
    /// The ply of the move.
    pub ply: u32,
    /// The winning chance lost.
    pub loss: f64,
}

/// Games by key, and the figures of those that are reviewed.
#[derive(Clone, Debug, Default)]
pub struct Library {
    games: BTreeMap<String, GameHead>,
    figures: HashMap<String, GameFigures>,
    names: NameCounter,
    /// The player's names in lower case: people have one on every server.
    own_names: HashSet<String>,
    /// The summary that was asked for last.
    summary: Option<(GameFilter, Summary)>,
}

impl Library {
    /// Adds a game; returns whether it is new.
    pub fn add(&mut self, head: GameHead) -> bool {
        if self.games.contains_key(&head.key) {
            return false;
        }
        self.names.add_names(&head.white, &head.black);
        self.games.insert(head.key.clone(), head);
        // Its figures may have come first.
        self.summary = None;
        true
    }

    /// Adds the figures of a reviewed game, or replaces them.
    pub fn add_figures(&mut self, figures: GameFigures) {
        let own = self.games.get(&figures.key).and_then(|head| Some((head, self.color_in(head)?)));
        let is_new = !self.figures.contains_key(&figures.key);
        match (&mut self.summary, own) {
            (Some((filter, summary)), Some((head, own))) if is_new && figures.color == own.into() => {
                if filter.accepts(head, own) {
                    summary.add_figures(&figures);
                }
            }
            (summary, _) => *summary = None,
        }
        self.figures.insert(figures.key.clone(), figures);
    }

    /// Whose games they are.
    pub fn set_player(&mut self, names: &[String]) {
        self.own_names = names.iter().map(|name| name.trim().to_lowercase()).collect();
        self.summary = None;
    }

    /// The most frequent names.
    pub fn names(&self, most: usize) -> Vec<NameCount> {
        self.names.frequent(most)
    }

    /// The player's colour in a game.
    pub fn color_in(&self, head: &GameHead) -> Option<Color> {
        let is_own = |color: &Color| self.own_names.contains(&head.name(*color).trim().to_lowercase());
        Color::ALL.into_iter().find(is_own)
    }

    /// The number of games.
    pub fn counts(&self) -> LibraryCounts {
        let mut counts = LibraryCounts { games: self.games.len(), ..LibraryCounts::default() };
        for (head, own) in self.own() {
            counts.own += 1;
            if self.reviewed(head, own).is_some() {
                counts.reviewed += 1;
            } else {
                counts.plies_left += u64::from(head.plies);
            }
        }
        counts
    }

    /// The keys of the player's games that are to be reviewed next, newest first, without those in `busy`.
    pub fn queue(&self, most: usize, busy: &HashSet<String>) -> Vec<String> {
        let mut left: Vec<&GameHead> = self
            .own()
            .filter(|(head, own)| !busy.contains(&head.key) && self.reviewed(head, *own).is_none())
            .map(|(head, _)| head)
            .collect();
        left.sort_by(|a, b| newest_first(a, b));
        left.into_iter().take(most).map(|head| head.key.clone()).collect()
    }

    /// The figures of the player's reviewed games.
    pub fn report(&mut self, filter: &GameFilter) -> SummaryReport {
        if self.summary.as_ref().is_none_or(|(known, _)| known != filter) {
            let mut summary = Summary::default();
            for (head, own) in self.own().filter(|(head, own)| filter.accepts(head, *own)) {
                if let Some(figures) = self.reviewed(head, own) {
                    summary.add_figures(figures);
                }
            }
            self.summary = Some((filter.clone(), summary));
        }
        self.summary.as_ref().map(|(_, summary)| summary.report()).unwrap_or_default()
    }

    /// The player's games, newest first, from the row `first` on.
    pub fn rows(&self, filter: &GameFilter, first: usize, most: usize) -> GameRows {
        let mut games: Vec<(&GameHead, Color)> =
            self.own().filter(|(head, own)| filter.accepts(head, *own)).collect();
        games.sort_by(|(a, _), (b, _)| newest_first(a, b));
        let rows = games.iter().skip(first).take(most).map(|(head, own)| self.row(head, *own)).collect();
        GameRows { total: games.len(), rows }
    }

    /// The player's mistakes and blunders that lost most.
    pub fn mistakes(&self, filter: &GameFilter, most: usize) -> Vec<PlayedMistake> {
        let mut mistakes: Vec<PlayedMistake> = self
            .own()
            .filter(|(head, own)| filter.accepts(head, *own))
            .filter_map(|(head, own)| self.reviewed(head, own))
            .flat_map(|game| game.moves.iter().map(move |m| (game, m)))
            .filter(|(_, m)| m.loss >= MISTAKE && m.mark.is_error())
            .map(|(game, m)| PlayedMistake { game: game.key.clone(), ply: m.ply, loss: m.loss })
            .collect();
        mistakes
            .sort_by(|a, b| b.loss.total_cmp(&a.loss).then_with(|| (&a.game, a.ply).cmp(&(&b.game, b.ply))));
        mistakes.truncate(most);
        mistakes
    }

    fn row(&self, head: &GameHead, own: Color) -> GameRow {
        let score = match (head.result.as_str(), own) {
            ("1-0", Color::White) | ("0-1", Color::Black) => Some("win"),
            ("1/2-1/2", _) => Some("draw"),
            ("1-0" | "0-1", _) => Some("loss"),
            _ => None,
        };
        let figures = self.reviewed(head, own).map(|figures| GameRowFigures {
            accuracy: figures.accuracy,
            played_like: figures.played_like().map(|like| like.rating),
            mistakes: figures.moves.iter().filter(|m| m.loss >= MISTAKE).count(),
        });
        GameRow { head: head.clone(), color: own.into(), score, figures }
    }

    fn own(&self) -> impl Iterator<Item = (&GameHead, Color)> {
        self.games.values().filter_map(|head| Some((head, self.color_in(head)?)))
    }

    /// The figures of a game, if they are those of the player.
    fn reviewed(&self, head: &GameHead, own: Color) -> Option<&GameFigures> {
        self.figures.get(&head.key).filter(|figures| figures.color == own.into())
    }
}

fn newest_first(a: &GameHead, b: &GameHead) -> std::cmp::Ordering {
    (&b.date, &b.time, &b.key).cmp(&(&a.date, &a.time, &a.key))
}

#[cfg(test)]
mod tests {
    use tabia_encoding::RatingPool;
    use tabia_game::{Phase, read_game};

    use super::*;
    use crate::Mark;
    use crate::difficulty::Peers;
    use crate::figures::MoveFigures;
    use crate::rating::RatingEvidence;

    fn head(white: &str, black: &str, date: &str) -> GameHead {
        let pgn = format!(
            "[White \"{white}\"]\n[Black \"{black}\"]\n[UTCDate \"{date}\"]\n[TimeControl \"300+0\"]\n\n1. e4 c5 1-0"
        );
        GameHead::of(&read_game(pgn.as_bytes()).unwrap())
    }

    fn figures(head: &GameHead, color: Side, loss: f64) -> GameFigures {
        let one = MoveFigures {
            ply: 1,
            san: "e4".to_owned(),
            mark: if loss >= 0.2 { Mark::Blunder } else { Mark::None },
            phase: Phase::Opening,
            clock: Some(300.0),
            loss,
            accuracy: 80.0,
            peers: Peers { loss: 0.05, errs: 0.1 },
        };
        GameFigures {
            key: head.key.clone(),
            color,
            name: "Ann".to_owned(),
            opponent: "Bob".to_owned(),
            rating: Some(1500),
            date: head.date.clone(),
            site: String::new(),
            result: head.result.clone(),
            pool: RatingPool::Lichess,
            time_class: head.time_class,
            opening: head.opening.clone(),
            accuracy: Some(80.0),
            evidence: [RatingEvidence { moves: 1, log_likelihoods: [-1.0; 12] }; 3],
            moves: vec![one],
        }
    }

    fn library() -> (Library, [GameHead; 3]) {
        let heads = [
            head("Ann", "Bob", "2024.01.02"),
            head("Cem", "ANN", "2024.03.04"),
            head("Ann", "Dan", "2023.05.06"),
        ];
        let mut library = Library::default();
        for head in &heads {
            assert!(library.add(head.clone()));
        }
        library.set_player(&["ann".to_owned()]);
        (library, heads)
    }

    #[test]
    fn a_game_counts_once() {
        let (mut library, heads) = library();
        assert!(!library.add(heads[0].clone()));
        assert_eq!(library.names(2), [NameCount::new("Ann", 3), NameCount::new("Bob", 1)]);
        let (one, two) = (figures(&heads[0], Side::White, 0.3), figures(&heads[0], Side::White, 0.1));
        library.add_figures(one);
        assert_eq!(library.report(&GameFilter::default()).games, 1);
        library.add_figures(two);
        let report = library.report(&GameFilter::default());
        assert_eq!((report.games, report.wins), (1, 1));
        assert!((report.places[0].loss.value - 0.1).abs() < 1e-12, "replaced, not added");
    }

    #[test]
    fn the_newest_game_is_next_and_other_players_are_left_out() {
        let (mut library, heads) = library();
        library.add(head("Eve", "Fay", "2025.01.01"));
        let counts = LibraryCounts { games: 4, own: 3, reviewed: 0, plies_left: 6 };
        assert_eq!(library.counts(), counts);
        let order = [&heads[1].key, &heads[0].key, &heads[2].key].map(Clone::clone);
        assert_eq!(library.queue(9, &HashSet::new()), order);
        let busy = HashSet::from([heads[1].key.clone()]);
        assert_eq!(library.queue(1, &busy), [heads[0].key.clone()]);
        library.add_figures(figures(&heads[1], Side::Black, 0.3));
        assert_eq!(library.queue(1, &HashSet::new()), [heads[0].key.clone()]);
        let rows = library.rows(&GameFilter::default(), 0, 1);
        assert_eq!((rows.total, rows.rows[0].score, rows.rows[0].color), (3, Some("loss"), Side::Black));
        assert_eq!(rows.rows[0].figures.map(|figures| figures.mistakes), Some(1));
    }

    #[test]
    fn figures_of_the_other_player_do_not_count() {
        let (mut library, heads) = library();
        library.add_figures(figures(&heads[0], Side::Black, 0.3));
        assert_eq!(library.counts().reviewed, 0);
        assert_eq!(library.report(&GameFilter::default()).games, 0);
        library.set_player(&["Bob".to_owned()]);
        assert_eq!((library.counts().own, library.counts().reviewed), (1, 1));
        assert_eq!(library.report(&GameFilter::default()).games, 1);
    }

    #[test]
    fn filters_choose_games() {
        let (mut library, heads) = library();
        for (head, color) in heads.iter().zip([Side::White, Side::Black, Side::White]) {
            library.add_figures(figures(head, color, 0.25));
        }
        let count = |library: &mut Library, filter: GameFilter| {
            let rows = library.rows(&filter, 0, 9).total;
            assert_eq!(library.report(&filter).games, rows as u64);
            assert_eq!(library.mistakes(&filter, 9).len(), rows);
            rows
        };
        let all = GameFilter::default;
        assert_eq!(count(&mut library, all()), 3);
        assert_eq!(count(&mut library, GameFilter { color: Some(Side::Black), ..all() }), 1);
        assert_eq!(count(&mut library, GameFilter { time_class: Some(TimeClass::Blitz), ..all() }), 3);
        assert_eq!(count(&mut library, GameFilter { time_class: Some(TimeClass::Rapid), ..all() }), 0);
        assert_eq!(count(&mut library, GameFilter { from: Some("2024.01.01".to_owned()), ..all() }), 2);
        assert_eq!(count(&mut library, GameFilter { to: Some("2024.01.02".to_owned()), ..all() }), 2);
        // A game that comes later is in the summary of the current filter.
        let late = head("Ann", "Gus", "2025.01.01");
        library.add(late.clone());
        assert_eq!(library.report(&all()).games, 3);
        library.add_figures(figures(&late, Side::White, 0.0));
        assert_eq!(library.report(&all()).games, 4);
    }
}
