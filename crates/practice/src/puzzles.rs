//! Puzzles to solve: a choice of a large file, and solving one.

use serde::Serialize;
use shakmaty::{CastlingMode, Chess, Move, Position, uci::UciMove};
use tabia_game::{Puzzle, fen_of};

use crate::deck::{Answer, CardKind, NewCard, Origin};

/// Puzzles of ratings this far apart are chosen from together.
const BAND: u16 = 100;
/// Puzzles that are kept per band.
const PER_BAND: usize = 100;

/// An even choice of the puzzles of a file, whatever its size: at most 100 of every 100 rating points. The same file and
/// seed give the same choice.
#[derive(Clone, Debug)]
pub struct PuzzleChoice {
    /// By rating: the lines kept, and how many there were.
    bands: Vec<(Vec<String>, u64)>,
    random: u64,
    read: u64,
    invalid: u64,
    /// What is wrong with the first invalid line.
    problem: Option<String>,
}

impl PuzzleChoice {
    /// An empty choice.
    pub fn new(seed: u64) -> PuzzleChoice {
        PuzzleChoice { bands: Vec::new(), random: seed, read: 0, invalid: 0, problem: None }
    }

    /// Looks at a line of EPD or of the Lichess table. Only lines that are kept are read as a whole.
    pub fn add(&mut self, line: &str) {
        let Some(rating) = Puzzle::rating_of(line) else {
            // Comments, heads and puzzles without a rating.
            if let Err(error) = Puzzle::parse(line) {
                self.reject(&error);
            }
            return;
        };
        self.read += 1;
        let band = usize::from(rating.0 / BAND).min(40);
        if self.bands.len() <= band {
            self.bands.resize(band + 1, (Vec::new(), 0));
        }
        let random = self.next_random();
        let Some((kept, seen)) = self.bands.get_mut(band) else { return };
        *seen += 1;
        let place = if kept.len() < PER_BAND { kept.len() } else { (random % *seen) as usize };
        if place >= PER_BAND {
            return;
        }
        match Puzzle::parse(line) {
            Ok(Some(puzzle)) if !puzzle.moves.is_empty() => match kept.get_mut(place) {
                Some(former) => *former = line.trim().to_owned(),
                None => kept.push(line.trim().to_owned()),
            },
            Ok(_) => {}
            Err(error) => self.reject(&error),
        }
    }

    fn reject(&mut self, error: &tabia_game::PuzzleError) {
        self.invalid += 1;
        self.problem.get_or_insert_with(|| error.to_string());
    }

    /// SplitMix64.
    fn next_random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// The number of puzzles with a rating so far.
    pub fn read(&self) -> u64 {
        self.read
    }

    /// The number of invalid lines so far.
    pub fn invalid(&self) -> u64 {
        self.invalid
    }

    /// What is wrong with the first invalid line.
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// The chosen lines, by rating band.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.bands.iter().flat_map(|(kept, _)| kept).map(String::as_str)
    }
}

/// The verdict on a move in a puzzle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum PuzzleStep {
    /// The move is right, and this is the reply, in UCI notation.
    Right {
        /// The opponent's move.
        reply: String,
    },
    /// The puzzle is solved.
    Solved,
    /// The move is wrong.
    Wrong,
}

/// A puzzle that is being solved.
#[derive(Clone, Debug)]
pub struct PuzzleGame {
    puzzle: Puzzle,
    position: Chess,
    /// Moves of the solution made so far.
    made: usize,
    /// Where it was failed first: the position, the moves of the solution made before, and the wrong move, if any.
    failed: Option<(Chess, usize, Option<Move>)>,
}

impl PuzzleGame {
    /// The start of a puzzle.
    pub fn new(puzzle: Puzzle) -> PuzzleGame {
        PuzzleGame { position: puzzle.start.clone(), puzzle, made: 0, failed: None }
    }

    /// The puzzle.
    pub fn puzzle(&self) -> &Puzzle {
        &self.puzzle
    }

    /// Whether a move was wrong or the solution was asked for.
    pub fn is_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// Plays a move of the solver; every mate is right. `None` if it is not legal or there is nothing to find.
    pub fn play(&mut self, uci: &str) -> Option<PuzzleStep> {
        let expected = *self.puzzle.moves.get(self.made)?;
        let m = uci.parse::<UciMove>().ok()?.to_move(&self.position).ok()?;
        let mut after = self.position.clone();
        after.play_unchecked(m);
        if m != expected && !after.is_checkmate() {
            self.fail(Some(m));
            return Some(PuzzleStep::Wrong);
        }
        let Some(&reply) = self.puzzle.moves.get(self.made + 1).filter(|_| m == expected) else {
            self.made = self.puzzle.moves.len();
            self.position = after;
            return Some(PuzzleStep::Solved);
        };
        let reply_text = uci_of(reply);
        after.play_unchecked(reply);
        self.position = after;
        self.made += 2;
        // A line that ends with a reply has nothing more to find.
        if self.made >= self.puzzle.moves.len() {
            return Some(PuzzleStep::Solved);
        }
        Some(PuzzleStep::Right { reply: reply_text })
    }

    /// The solution is asked for: the puzzle counts as failed unless it is solved.
    pub fn give_up(&mut self) {
        if self.made < self.puzzle.moves.len() {
            self.fail(None);
        }
    }

    fn fail(&mut self, played: Option<Move>) {
        self.failed.get_or_insert((self.position.clone(), self.made, played));
    }

    /// What is left of the solution, in UCI notation.
    pub fn solution(&self) -> Vec<String> {
        self.puzzle.moves.iter().skip(self.made).map(|&m| uci_of(m)).collect()
    }

    /// A card of the position in which the puzzle was failed; `None` if it was not.
    pub fn card(&self) -> Option<NewCard> {
        let (position, made, played) = self.failed.as_ref()?;
        let mut rest = self.puzzle.moves.iter().skip(*made).map(|&m| uci_of(m));
        let answer = Answer { uci: rest.next()?, chance: None, line: rest.collect() };
        let rating = self.puzzle.rating.map(|rating| format!(", rated {}", rating.0)).unwrap_or_default();
        let id = if self.puzzle.id.is_empty() {
            "Puzzle".to_owned()
        } else {
            format!("Puzzle {}", self.puzzle.id)
        };
        Some(NewCard {
            kind: CardKind::Puzzle,
            fen: fen_of(position),
            answers: vec![answer],
            played: played.map(uci_of),
            loss: 0.0,
            peers: Vec::new(),
            stronger: Vec::new(),
            opening: None,
            phase: None,
            origin: Some(Origin { source: format!("{id}{rating}"), ply: u32::try_from(made + 1).ok() }),
            tags: ["puzzle".to_owned()].into(),
        })
    }
}

fn uci_of(m: Move) -> String {
    m.to_uci(CastlingMode::Standard).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str = "00008,r6k/pp2r2p/4Rp1Q/3p4/8/1N1P2R1/PqP2bPP/7K b - - 0 24,f2g3 e6e7 b2b1 b3c1 b1c1 h6c1,1760,76,95,6915,crushing,x,";
    const MATE: &str = "6k1/5ppp/8/8/8/8/8/RR4K1 w - - id \"m\"; pv Ra8#; c0 \"Rating: 400\";";

    fn game_of(line: &str) -> PuzzleGame {
        PuzzleGame::new(Puzzle::parse(line).unwrap().unwrap())
    }

    #[test]
    fn all_moves_of_the_line_are_asked_for() {
        let mut game = game_of(ROW);
        assert_eq!(game.play("e6e7"), Some(PuzzleStep::Right { reply: "b2b1".to_owned() }));
        assert_eq!(game.play("b3c1"), Some(PuzzleStep::Right { reply: "b1c1".to_owned() }));
        assert_eq!(game.play("h6c1"), Some(PuzzleStep::Solved));
        assert!(!game.is_failed() && game.card().is_none());
        assert_eq!(game.play("h6c1"), None);
    }

    #[test]
    fn the_card_shows_the_rest_of_the_solution() {
        let mut game = game_of(ROW);
        assert_eq!(game.play("h6f6"), Some(PuzzleStep::Wrong));
        assert_eq!(game.play("h6g5"), Some(PuzzleStep::Wrong));
        let card = game.card().unwrap();
        assert_eq!((card.kind, card.played.as_deref()), (CardKind::Puzzle, Some("h6f6")));
        assert_eq!(card.answers[0].uci, "e6e7");
        assert_eq!(card.answers[0].line.len(), 4);
        assert_eq!(card.origin.unwrap().source, "Puzzle 00008, rated 1760");
        let mut given_up = game_of(ROW);
        given_up.give_up();
        assert_eq!(given_up.card().unwrap().played, None);
        let mut deck = crate::deck::Deck::default();
        assert!(deck.add(game.card().unwrap(), 0).unwrap().1);
    }

    #[test]
    fn every_mate_is_right() {
        assert_eq!(game_of(MATE).play("b1b8"), Some(PuzzleStep::Solved));
        assert_eq!(game_of(MATE).play("a1a8"), Some(PuzzleStep::Solved));
        assert_eq!(game_of(MATE).play("a1a7"), Some(PuzzleStep::Wrong));
    }

    #[test]
    fn a_choice_is_even_over_ratings_and_repeatable() {
        let choose = |seed| {
            let mut choice = PuzzleChoice::new(seed);
            for number in 0..3000 {
                choice.add(
                    &MATE
                        .replace("400", &(400 + number % 3 * 100).to_string())
                        .replace("\"m\"", &format!("\"{number}\"")),
                );
            }
            choice.add("# comment");
            choice.add("x,nonsense,a,900");
            choice.add("");
            choice
        };
        let choice = choose(1);
        assert_eq!((choice.read(), choice.invalid(), choice.lines().count()), (3001, 1, 300));
        assert!(choice.problem().unwrap().starts_with("puzzle x: "));
        let ids = |choice: &PuzzleChoice| choice.lines().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(ids(&choice), ids(&choose(1)));
        assert_ne!(ids(&choice), ids(&choose(2)));
        assert!(
            choice
                .lines()
                .any(|line| Puzzle::parse(line).unwrap().unwrap().id.parse::<u32>().unwrap() > 2000)
        );
    }
}
