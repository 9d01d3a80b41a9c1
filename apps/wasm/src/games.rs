//! The player's own games: importing, reviewing and summing them up.

use std::{collections::HashSet, io::Read};

use js_sys::Function;
use serde::{Deserialize, Serialize};
use shakmaty::{ByColor, Color};
use tabia_encoding::RatingPool;
use tabia_game::{Game, Problem, RawGames, ReadOptions, read_game};
use tabia_players::Limits;
use tabia_practice::{
    CardSubject, GameFigures, GameFilter, GameHead, GameReview, GameRows, Library, LibraryCounts, NameCount,
    PlayedMistake, ReviewInProgress, ReviewSettings, Reviewer, SummaryReport, deck::NewCard,
};
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::{Engine, Fault, GameInput, ReviewSummary, ReviewedMove, stopwatch::Stopwatch, tree::Bytes};

#[wasm_bindgen(typescript_custom_section)]
const NAMES: &str = r#"
/** A class of time controls. */
export type TimeClassName = "ultrabullet" | "bullet" | "blitz" | "rapid" | "classical" | "unknown";
/** A phase of the game. */
export type PhaseName = "opening" | "middlegame" | "endgame";
/** A rating pool. */
export type RatingPoolName = "unknown" | "over-the-board" | "online" | "puzzle" | "lichess" | "chess.com";
"#;

/// Where an import stands in its file: the place of the next game.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, Tsify)]
pub struct ImportPlace {
    /// Bytes before it.
    pub offset: f64,
    /// Games before it, broken ones included.
    pub games: f64,
    /// Lines before it.
    pub lines: f64,
}

/// A game to store.
#[derive(Clone, Debug, PartialEq, Serialize, Tsify)]
pub struct ImportedGame {
    /// What a list shows of it.
    pub head: GameHead,
    /// Its text.
    pub pgn: String,
}

/// The games an import found since it was last asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Tsify)]
pub struct ImportPart {
    /// The games that can be read to their end.
    pub games: Vec<ImportedGame>,
    /// What is wrong with others.
    pub broken: Vec<String>,
    /// Games without moves.
    pub empty: u32,
    /// Where to go on, now or later.
    pub next: ImportPlace,
    /// Whether this was all.
    pub done: bool,
}

/// Reads the games of a PGN file of any size, some at a time. It can go on later from where it was.
#[wasm_bindgen]
pub struct GamesImport(Import<Bytes>);

#[wasm_bindgen]
impl GamesImport {
    /// An import of what a function returns piece by piece, which begins at `from`: called with the most bytes it may return, it
    /// returns none at the end.
    #[wasm_bindgen(constructor)]
    pub fn new(
        #[wasm_bindgen(unchecked_param_type = "(most: number) => Uint8Array")] bytes: Function,
        from: &Ts<ImportPlace>,
    ) -> Result<GamesImport, Fault> {
        Ok(GamesImport(Import { games: RawGames::new(Bytes(bytes)), from: from.to_rust()? }))
    }

    /// Reads so many more games.
    pub fn step(&mut self, games: u32) -> Result<Ts<ImportPart>, Fault> {
        Ok(self.0.step(games)?.into_ts()?)
    }
}

struct Import<R> {
    games: RawGames<R>,
    from: ImportPlace,
}

impl<R: Read> Import<R> {
    fn step(&mut self, games: u32) -> Result<ImportPart, Fault> {
        let mut part = ImportPart::default();
        for _ in 0..games {
            let Some(raw) = self.games.next() else {
                part.done = true;
                break;
            };
            let game = raw.and_then(|raw| {
                let game = raw.read(ReadOptions::default())?;
                Ok((game, String::from_utf8_lossy(raw.bytes).trim_end().to_owned()))
            });
            match game {
                Ok((game, _)) if game.mainline().next().is_none() => part.empty += 1,
                Ok((game, pgn)) => part.games.push(ImportedGame { head: GameHead::of(&game), pgn }),
                Err(mut broken) => {
                    broken.place.game += self.from.games as u64;
                    broken.place.line += self.from.lines as u64;
                    broken.place.offset += self.from.offset as u64;
                    broken.offset = broken.offset.map(|offset| offset + self.from.offset as u64);
                    if matches!(broken.problem, Problem::Io(_)) {
                        return Err(Fault::new(broken.to_string()));
                    }
                    part.broken.push(broken.to_string());
                }
            }
        }
        let next = self.games.next_place();
        part.next = ImportPlace {
            offset: self.from.offset + next.offset as f64,
            games: self.from.games + (next.game - 1) as f64,
            lines: self.from.lines + (next.line - 1) as f64,
        };
        Ok(part)
    }
}

/// How to review a game.
#[derive(Clone, Debug, PartialEq, Deserialize, Tsify)]
pub struct GameReviewSettings {
    /// The player's names.
    pub names: Vec<String>,
    /// Nodes that the engine searches in each position.
    pub nodes: f64,
}

/// A reviewed game, to store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Tsify)]
pub struct ReviewedGame {
    /// The review as JSON.
    pub review: String,
    /// The figures of the player as JSON.
    pub figures: String,
}

/// One in so many of the player's moves is no evidence of the rating. The network takes most of the time of a review, and most of
/// that is for the evidence; many games narrow the estimate anyway.
const LEFT_OUT: usize = 3;

/// The review of one of the player's games in progress. It needs the models `value` and `human`.
#[wasm_bindgen]
pub struct GameReviewTask {
    reviewer: Reviewer,
    game: Game,
    own: Color,
    review: ReviewInProgress,
    moves: Vec<tabia_practice::ReviewedMove>,
}

#[wasm_bindgen]
impl GameReviewTask {
    /// A review of a game, as PGN.
    #[wasm_bindgen(constructor)]
    pub fn new(
        engine: &Engine,
        pgn: &str,
        settings: &Ts<GameReviewSettings>,
    ) -> Result<GameReviewTask, Fault> {
        GameReviewTask::of(engine, pgn, &settings.to_rust()?)
    }

    /// Reviews the next move; whether there was one.
    pub fn step(&mut self) -> Result<bool, Fault> {
        // Both players have moved in two half-moves.
        let is_evidence = !(1 + self.moves.len() / 2).is_multiple_of(LEFT_OUT);
        self.review.set_evidence(self.own, is_evidence);
        let reviewed = self.reviewer.step(&mut self.review, &|| Box::new(Stopwatch::start()))?;
        let more = reviewed.is_some();
        self.moves.extend(reviewed);
        Ok(more)
    }

    /// The number of moves reviewed so far.
    pub fn done(&self) -> usize {
        self.moves.len()
    }

    /// The result, after the last step.
    pub fn result(&mut self) -> Result<Ts<ReviewedGame>, Fault> {
        Ok(self.finish()?.into_ts()?)
    }
}

impl GameReviewTask {
    fn of(engine: &Engine, pgn: &str, settings: &GameReviewSettings) -> Result<GameReviewTask, Fault> {
        let game = read_game(pgn.as_bytes())?;
        let is_own = |color: Color| {
            let name = game.headers.get(color.fold_wb("White", "Black")).unwrap_or("").trim().to_lowercase();
            settings.names.iter().any(|own| own.trim().to_lowercase() == name)
        };
        let own = Color::ALL.into_iter().find(|color| is_own(*color));
        let own = own.ok_or_else(|| Fault::new("neither player of the game is you"))?;
        let only = ByColor::new_with(|color| color == own);
        let settings = ReviewSettings {
            limits: Limits { nodes: Some(settings.nodes.max(1.0) as u64), ..Limits::default() },
            peers: only,
            evidence: only,
            ..ReviewSettings::default()
        };
        let mut reviewer = engine.reviewer("human")?;
        let review = reviewer.start(&game, settings);
        Ok(GameReviewTask { reviewer, game, own, review, moves: Vec::new() })
    }

    fn finish(&mut self) -> Result<ReviewedGame, Fault> {
        let left = self.review.moves_left();
        if left > 0 {
            return Err(Fault::new(format!("{left} moves are not reviewed yet")));
        }
        let review = GameReview::new(&self.game, &self.review, std::mem::take(&mut self.moves));
        let figures = GameFigures::of(&review, self.own);
        Ok(ReviewedGame {
            review: serde_json::to_string(&review)?,
            figures: serde_json::to_string(&figures)?,
        })
    }
}

/// The moves of a stored review, as the page shows them.
#[wasm_bindgen(js_name = storedReview)]
pub fn stored_review(text: &str) -> Result<Vec<Ts<ReviewedMove>>, Fault> {
    let review: GameReview = serde_json::from_str(text)?;
    review.moves.into_iter().map(|reviewed| Ok(ReviewedMove::from(reviewed).into_ts()?)).collect()
}

/// What a stored review says about the whole game. Only the player's rating is estimated.
#[wasm_bindgen(js_name = storedSummary)]
pub fn stored_summary(text: &str) -> Result<Ts<ReviewSummary>, Fault> {
    let review: GameReview = serde_json::from_str(text)?;
    let chances: Vec<(Color, f64, f64)> = review
        .moves
        .iter()
        .map(|reviewed| (reviewed.color, reviewed.win_before, reviewed.win_after))
        .collect();
    let evidence = ByColor::new_with(|color| &review.side(color).evidence);
    Ok(ReviewSummary::new(review.pool, evidence, &chances).into_ts()?)
}

/// The key of the game of a stored review; throws if it cannot be read.
#[wasm_bindgen(js_name = reviewKey)]
pub fn review_key(text: &str) -> Result<String, Fault> {
    let review: GameReview = serde_json::from_str(text)?;
    Ok(review.key)
}

/// What a list shows of a game, as PGN; throws if it cannot be read.
#[wasm_bindgen(js_name = gameHead)]
pub fn game_head(pgn: &str) -> Result<Ts<GameHead>, Fault> {
    Ok(GameHead::of(&read_game(pgn.as_bytes())?).into_ts()?)
}

/// The games of a player, reviewed or not.
#[wasm_bindgen]
pub struct GameLibrary {
    library: Library,
}

#[wasm_bindgen]
impl GameLibrary {
    /// An empty library.
    #[wasm_bindgen(constructor)]
    #[expect(clippy::new_without_default, reason = "TypeScript has constructors only")]
    pub fn new() -> GameLibrary {
        GameLibrary { library: Library::default() }
    }

    /// Adds games: an array of heads as JSON. Returns how many are new.
    #[wasm_bindgen(js_name = addGames)]
    pub fn add_games(&mut self, heads: &str) -> Result<usize, Fault> {
        let heads: Vec<GameHead> = serde_json::from_str(heads)?;
        Ok(heads.into_iter().map(|head| self.library.add(head)).filter(|new| *new).count())
    }

    /// Adds the figures of reviewed games, each as JSON. Returns how many cannot be read.
    #[wasm_bindgen(js_name = addFigures)]
    pub fn add_figures(&mut self, figures: Vec<String>) -> usize {
        let mut unreadable = 0;
        for text in figures {
            match serde_json::from_str(&text) {
                Ok(figures) => self.library.add_figures(figures),
                Err(_) => unreadable += 1,
            }
        }
        unreadable
    }

    /// Sets whose games they are.
    #[wasm_bindgen(js_name = setPlayer)]
    #[expect(clippy::needless_pass_by_value, reason = "the bindings pass arrays by value")]
    pub fn set_player(&mut self, names: Vec<String>) {
        self.library.set_player(&names);
    }

    /// The most frequent names.
    pub fn names(&self, most: usize) -> Result<Vec<Ts<NameCount>>, Fault> {
        self.library.names(most).iter().map(|name| Ok(name.into_ts()?)).collect()
    }

    /// The number of games.
    pub fn counts(&self) -> Result<Ts<LibraryCounts>, Fault> {
        Ok(self.library.counts().into_ts()?)
    }

    /// The keys of the games to review next, without those in `busy`.
    pub fn queue(&self, most: usize, busy: Vec<String>) -> Vec<String> {
        self.library.queue(most, &busy.into_iter().collect::<HashSet<String>>())
    }

    /// The figures of the reviewed games.
    pub fn report(&mut self, filter: &Ts<GameFilter>) -> Result<Ts<SummaryReport>, Fault> {
        Ok(self.library.report(&filter.to_rust()?).into_ts()?)
    }

    /// The games, newest first, from the row `first` on.
    pub fn rows(&self, filter: &Ts<GameFilter>, first: usize, most: usize) -> Result<Ts<GameRows>, Fault> {
        Ok(self.library.rows(&filter.to_rust()?, first, most).into_ts()?)
    }

    /// The mistakes that lost most.
    pub fn mistakes(&self, filter: &Ts<GameFilter>, most: usize) -> Result<Vec<Ts<PlayedMistake>>, Fault> {
        let mistakes = self.library.mistakes(&filter.to_rust()?, most);
        mistakes.iter().map(|mistake| Ok(mistake.into_ts()?)).collect()
    }
}

/// Nodes of the search for the good moves of a card.
const CARD_NODES: u64 = 60_000;

#[wasm_bindgen]
impl Engine {
    /// A card for the current position of a game, by the engine and a model with a policy head; `undefined` if the game is over.
    #[wasm_bindgen(js_name = newCard)]
    pub fn new_card(
        &self,
        model: &str,
        game: &Ts<GameInput>,
        subject: &Ts<CardSubject>,
    ) -> Result<Option<Ts<NewCard>>, Fault> {
        let (game, subject) = (game.to_rust()?, subject.to_rust()?);
        Ok(self.card_of(model, &game, subject)?.map(|card| card.into_ts()).transpose()?)
    }

    /// A card for the position before a half-move of a game, as PGN, that lost so much of the winning chance; `undefined` if
    /// few people somewhat stronger would find a good move.
    #[wasm_bindgen(js_name = mistakeCard)]
    pub fn mistake_card(
        &self,
        model: &str,
        pgn: &str,
        ply: u32,
        loss: f64,
    ) -> Result<Option<Ts<NewCard>>, Fault> {
        Ok(self.card_of_mistake(model, pgn, ply, loss)?.map(|card| card.into_ts()).transpose()?)
    }
}

impl Engine {
    pub(crate) fn reviewer(&self, model: &str) -> Result<Reviewer, Fault> {
        let player = self.store().player(&"engine".parse()?, 0)?;
        Reviewer::new(player, self.store().model(model)?)
            .map_err(|_| Fault::new(format!("the model {model:?} has no policy head")))
    }

    fn card_of(&self, model: &str, game: &GameInput, subject: CardSubject) -> Result<Option<NewCard>, Fault> {
        let mut history = game.history()?;
        if game.pool.is_none() {
            // A number alone means what most people mean by it: a rating on a chess site.
            let pace = history.situation().pace;
            history = history.under(RatingPool::Online, pace);
        }
        self.card(model, &history, subject)
    }

    fn card_of_mistake(&self, model: &str, pgn: &str, ply: u32, loss: f64) -> Result<Option<NewCard>, Fault> {
        let game = read_game(pgn.as_bytes())?;
        let subject = CardSubject::of_mistake(&game, ply, loss as f32);
        let (history, subject) = subject.ok_or_else(|| Fault::new(format!("the game has no ply {ply}")))?;
        Ok(self.card(model, &history, subject)?.filter(NewCard::is_learnable))
    }

    fn card(
        &self,
        model: &str,
        history: &tabia_game::History,
        subject: CardSubject,
    ) -> Result<Option<NewCard>, Fault> {
        let limits = Limits { nodes: Some(CARD_NODES), ..Limits::default() };
        Ok(self.reviewer(model)?.new_card(history, subject, &limits, &|| Box::new(Stopwatch::start()))?)
    }
}

/// Whether people somewhat stronger find a good move of a card often enough to learn it.
#[wasm_bindgen(js_name = isLearnable)]
pub fn is_learnable(card: &Ts<NewCard>) -> Result<bool, Fault> {
    Ok(card.to_rust()?.is_learnable())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAMES: &str = "[White \"Ann\"]\n[Black \"Bob\"]\n\n1. e4 e5 2. Qh5 Nc6 3. Bc4 Nf6 4. Qxf7# 1-0\n\n\
        [White \"Bob\"]\n[Black \"Ann\"]\n\n1. e4 e5 2. Ke8 1-0\n\n[White \"Cem\"]\n[Black \"Ann\"]\n\n*\n\n\
        [White \"Dan\"]\n[Black \"Ann\"]\n\n1. d4 d5 1/2-1/2\n";

    fn import(text: &str, from: ImportPlace) -> Import<&[u8]> {
        Import { games: RawGames::new(text.get(from.offset as usize..).unwrap().as_bytes()), from }
    }

    #[test]
    fn an_import_names_broken_games_and_goes_on_where_it_was() {
        let whole = import(GAMES, ImportPlace::default()).step(10).unwrap();
        assert_eq!((whole.games.len(), whole.empty, whole.done), (2, 1, true));
        assert_eq!(whole.broken.len(), 1);
        assert!(whole.broken[0].starts_with("game 2 (line 6, byte "), "{:?}", whole.broken);
        let mut found = ImportPart::default();
        let mut from = ImportPlace::default();
        // As if the page were reloaded after every game.
        while !found.done {
            let part = import(GAMES, from).step(1).unwrap();
            found.games.extend(part.games);
            found.broken.extend(part.broken);
            found.empty += part.empty;
            (found.done, from) = (part.done, part.next);
        }
        assert_eq!((&found.games, &found.broken, found.empty), (&whole.games, &whole.broken, whole.empty));
        assert_eq!(from.games, 4.0);
    }

    #[test]
    fn a_game_is_reviewed_for_its_player_and_opened_again() {
        let mut engine = Engine::new(1.0);
        engine.open("value", include_bytes!("../../../models/value.safetensors")).unwrap();
        engine.open("human", include_bytes!("../../../fixtures/models/human.safetensors")).unwrap();
        let game = &import(GAMES, ImportPlace::default()).step(1).unwrap().games[0];
        let settings = GameReviewSettings { names: vec!["me".to_owned(), " BOB".to_owned()], nodes: 300.0 };
        let mut task = GameReviewTask::of(&engine, &game.pgn, &settings).unwrap();
        assert!(task.finish().is_err(), "too early");
        while task.step().unwrap() {}
        assert_eq!(task.done(), 7);
        let reviewed = task.finish().unwrap();
        let figures: GameFigures = serde_json::from_str(&reviewed.figures).unwrap();
        assert_eq!((figures.name.as_str(), figures.moves.len()), ("Bob", 3));
        assert_eq!(figures.evidence[0].moves, 2, "the first two");
        assert_eq!(figures.key, game.head.key);
        let review: GameReview = serde_json::from_str(&reviewed.review).unwrap();
        assert_eq!(review.moves.len(), 7);
        assert_eq!(review_key(&reviewed.review).unwrap(), game.head.key);
        assert!(review_key("{}").is_err());

        let mut library = GameLibrary::new();
        let heads = serde_json::to_string(&[&game.head]).unwrap();
        assert_eq!(library.add_games(&heads).unwrap(), 1);
        assert_eq!(library.add_games(&heads).unwrap(), 0);
        library.set_player(vec!["bob".to_owned()]);
        assert_eq!(library.queue(5, Vec::new()), std::slice::from_ref(&game.head.key));
        assert_eq!(library.add_figures(vec![reviewed.figures, "nonsense".to_owned()]), 1);
        assert!(library.queue(5, Vec::new()).is_empty());
        assert_eq!(library.library.report(&GameFilter::default()).losses, 1);

        let nobody = GameReviewSettings { names: vec!["Eve".to_owned()], nodes: 300.0 };
        assert!(GameReviewTask::of(&engine, &game.pgn, &nobody).is_err());
        // The network is random, so that whether people find the move is too.
        let loss = library.library.mistakes(&GameFilter::default(), 1)[0].loss;
        assert!(engine.card_of_mistake("human", &game.pgn, 6, loss).is_ok());
        assert!(engine.card_of_mistake("human", &game.pgn, 9, loss).is_err());
    }
}
