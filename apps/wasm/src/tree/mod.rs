//! One game as a tree, for the board and the move list.

mod ending;
mod picture;
mod premoves;
mod scan;
mod several;
#[cfg(test)]
mod tests;

use std::{num::NonZeroI32, time::Duration};

use js_sys::{Array, JsString};
use shakmaty::{CastlingMode, Color, Position, Square};
use tabia_encoding::{ForWhite, Score, parse_uci};
use tabia_game::{Evaluation, Game, NodeId, position_from_fen, write_game};
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use crate::{Fault, Side};
use ending::Ending;
pub use picture::{Destinations, GameStatus, GameView, MoveNode, NodeEvaluation};
pub(crate) use scan::Bytes;
pub use scan::{PgnEntry, PgnPart, PgnScan};
pub use several::PgnGames;

/// The longest PGN text that is read, in characters.
const LARGEST_PGN: u32 = 64 << 20;

/// One game with its variations, and the move that is looked at. Ids of nodes stay what they are; 0 is the start.
#[wasm_bindgen]
pub struct GameTree {
    game: Game,
    current: NodeId,
    ending: Ending,
}

#[wasm_bindgen]
impl GameTree {
    /// A game that begins in a position, or as games usually do.
    #[wasm_bindgen(constructor)]
    pub fn new(fen: Option<String>) -> Result<GameTree, Fault> {
        let game = match fen {
            Some(fen) => Game::from_position(position_from_fen(&fen)?),
            None => Game::default(),
        };
        Ok(GameTree::of(game))
    }

    /// The games of a PGN text. Broken ones are reported, not fatal.
    #[wasm_bindgen(js_name = fromPgn)]
    pub fn from_pgn(
        #[wasm_bindgen(unchecked_param_type = "string")] text: &JsString,
    ) -> Result<PgnGames, Fault> {
        if text.length() > LARGEST_PGN {
            let (mib, most) = (text.length() >> 20, LARGEST_PGN >> 20);
            return Err(Fault::new(format!("{mib} MiB of PGN; texts of up to {most} MiB are read")));
        }
        Ok(PgnGames::read(text.into()))
    }

    /// A game from its moves in UCI notation.
    #[wasm_bindgen(js_name = fromMoves)]
    #[expect(clippy::needless_pass_by_value, reason = "a list crosses the border only as a whole")]
    pub fn from_moves(start_fen: Option<String>, moves: Vec<String>) -> Result<GameTree, Fault> {
        let mut tree = GameTree::new(start_fen)?;
        for (uci, ply) in moves.iter().zip(1..) {
            tree.play(uci).map_err(|fault| Fault::new(format!("move {ply}: {fault}")))?;
        }
        Ok(tree)
    }

    /// All there is to show.
    pub fn view(&self) -> Result<Ts<GameView>, Fault> {
        Ok(self.picture().into_ts()?)
    }

    /// Plays a move after the one looked at, as its continuation or a variation, and goes there.
    pub fn play(&mut self, uci: &str) -> Result<u32, Fault> {
        let m = parse_uci(&self.game.position(self.current), uci)?;
        self.current = self.game.add_move(self.current, m)?;
        self.settle();
        Ok(self.current.number())
    }

    /// Whether a pawn's move needs a piece to be chosen.
    #[wasm_bindgen(js_name = needsPromotion)]
    pub fn needs_promotion(&self, from: &str, to: &str) -> Result<bool, Fault> {
        let (from, to) = (square(from)?, square(to)?);
        let moves = self.game.position(self.current).legal_moves();
        Ok(moves.iter().any(|m| m.is_promotion() && m.from() == Some(from) && m.to() == to))
    }

    /// Where pieces of a side could go if the board were otherwise empty: moves to be made once it is their turn.
    #[wasm_bindgen(js_name = premoveDestinations)]
    pub fn premove_destinations(
        &self,
        #[wasm_bindgen(unchecked_param_type = "Side")] side: &str,
    ) -> Result<Ts<Destinations>, Fault> {
        let side: Color = side.parse::<Side>()?.into();
        Ok(premoves::destinations(&self.game.position(self.current), side).into_ts()?)
    }

    /// Goes to a move.
    pub fn go(&mut self, id: u32) -> Result<(), Fault> {
        self.current = self.node(id)?;
        Ok(())
    }

    /// Goes a move back; whether there was one.
    pub fn back(&mut self) -> bool {
        self.move_to(self.game.parent(self.current))
    }

    /// Goes a move on along the line; whether there was one.
    pub fn forward(&mut self) -> bool {
        let next = self.game.children(self.current).next();
        self.move_to(next)
    }

    /// Goes to the start.
    #[wasm_bindgen(js_name = toStart)]
    pub fn to_start(&mut self) {
        self.current = NodeId::ROOT;
    }

    /// Goes to the end of the line.
    #[wasm_bindgen(js_name = toEnd)]
    pub fn to_end(&mut self) {
        self.current = self.game.line_after(self.current).last().unwrap_or(self.current);
    }

    /// Goes to another move that could be played instead, so many places on; whether there was one.
    pub fn sibling(&mut self, step: i32) -> bool {
        let Some(parent) = self.game.parent(self.current) else { return false };
        let siblings: Vec<NodeId> = self.game.children(parent).collect();
        let here = siblings.iter().position(|node| *node == self.current);
        let there = here.and_then(|here| here.checked_add_signed(step as isize));
        self.move_to(there.and_then(|there| siblings.get(there).copied()))
    }

    /// Takes a move and all that follows it out.
    pub fn remove(&mut self, id: u32) -> Result<(), Fault> {
        let node = self.move_node(id)?;
        if self.game.path(self.current).contains(&node) {
            self.current = self.game.parent(node).unwrap_or(NodeId::ROOT);
        }
        self.game.delete(node);
        self.settle();
        Ok(())
    }

    /// Moves a variation one place up.
    pub fn promote(&mut self, id: u32) -> Result<(), Fault> {
        let node = self.move_node(id)?;
        self.game.promote(node);
        self.settle();
        Ok(())
    }

    /// Makes the line through a move the main line.
    #[wasm_bindgen(js_name = makeMainline)]
    pub fn make_mainline(&mut self, id: u32) -> Result<(), Fault> {
        let node = self.move_node(id)?;
        self.game.make_mainline(node);
        self.settle();
        Ok(())
    }

    /// Takes back the last moves of the main line and goes to its end. The game goes on, however it ended.
    #[wasm_bindgen(js_name = takeBack)]
    pub fn take_back(&mut self, plies: u32) {
        for _ in 0..plies {
            let last = self.game.last();
            if last == NodeId::ROOT {
                break;
            }
            self.game.delete(last);
        }
        self.current = self.game.last();
        self.ending = Ending::ByRule;
        self.settle();
    }

    /// Notes what the mover's clock showed after a move, in seconds.
    #[wasm_bindgen(js_name = setClock)]
    pub fn set_clock(&mut self, id: u32, seconds: f64) -> Result<(), Fault> {
        let node = self.move_node(id)?;
        let clock = Duration::try_from_secs_f64(seconds);
        let clock = clock.map_err(|_| Fault::new(format!("{seconds} seconds is not what a clock shows")))?;
        self.game.notes_mut(node).clock = Some(clock);
        Ok(())
    }

    /// Notes an opinion of the position after a move, for White: hundredths of a pawn or a mate; neither takes it away.
    #[wasm_bindgen(js_name = setEvaluation)]
    pub fn set_evaluation(
        &mut self,
        id: u32,
        cp: Option<f64>,
        mate: Option<i32>,
        depth: Option<u32>,
    ) -> Result<(), Fault> {
        let node = self.move_node(id)?;
        let score = match (cp, mate.map(NonZeroI32::new)) {
            (None, None) => None,
            (Some(cp), None) if cp.is_finite() => Some(Score::Centipawns(cp.round() as i32)),
            (None, Some(Some(moves))) => Some(Score::Mate(moves)),
            _ => return Err(Fault::new("an evaluation is centipawns or a mate in at least one move")),
        };
        let evaluation = score.map(|score| Evaluation { score: ForWhite(score), depth });
        self.game.notes_mut(node).evaluation = evaluation;
        Ok(())
    }

    /// Writes a comment after a move, or about the game at its start.
    #[wasm_bindgen(js_name = setComment)]
    pub fn set_comment(&mut self, id: u32, text: &str) -> Result<(), Fault> {
        let node = self.node(id)?;
        self.game.notes_mut(node).after = text.trim().to_owned();
        Ok(())
    }

    /// Sets the judgements of a move: 1 is `!`, 2 `?`, and so on as PGN numbers them.
    #[wasm_bindgen(js_name = setNags)]
    pub fn set_nags(
        &mut self,
        id: u32,
        #[wasm_bindgen(unchecked_param_type = "number[]")] nags: &Array,
    ) -> Result<(), Fault> {
        let number = |nag: JsValue| {
            let number = nag.as_f64().filter(|number| (0.0..256.0).contains(number) && number.fract() == 0.0);
            number.map(|number| number as u8).ok_or_else(|| Fault::new("a judgement is a number below 256"))
        };
        self.judge(id, nags.iter().map(number).collect::<Result<_, _>>()?)
    }

    /// Sets a tag pair of the PGN; an empty value takes it away.
    #[wasm_bindgen(js_name = setHeader)]
    pub fn set_header(&mut self, name: &str, value: &str) -> Result<(), Fault> {
        if value.is_empty() {
            self.game.headers.remove(name);
            return Ok(());
        }
        Ok(self.game.headers.set(name, value)?)
    }

    /// The moves from the start to the one looked at, in UCI notation.
    pub fn moves(&self) -> Vec<String> {
        self.uci_line(self.current)
    }

    /// The moves from the start to a node.
    #[wasm_bindgen(js_name = movesTo)]
    pub fn moves_to(&self, id: u32) -> Result<Vec<String>, Fault> {
        Ok(self.uci_line(self.node(id)?))
    }

    /// Beside [`moves`](Self::moves): what each mover's clock showed after the move, in seconds.
    #[wasm_bindgen(unchecked_return_type = "(number | null)[]")]
    pub fn clocks(&self) -> Array {
        self.clock_line().into_iter().map(|clock| clock.map_or(JsValue::NULL, JsValue::from_f64)).collect()
    }

    /// The game as PGN, with clocks and evaluations.
    pub fn pgn(&self) -> Result<String, Fault> {
        let mut out = Vec::new();
        write_game(&self.game, &mut out)?;
        Ok(String::from_utf8(out)?)
    }
}

impl GameTree {
    pub(crate) fn of(game: Game) -> GameTree {
        let ending = if game.result == shakmaty::Outcome::Unknown { Ending::ByRule } else { Ending::Told };
        let mut tree = GameTree { game, current: NodeId::ROOT, ending };
        tree.settle();
        tree
    }

    fn node(&self, id: u32) -> Result<NodeId, Fault> {
        self.game.node(id).ok_or_else(|| Fault::new(format!("the game has no move number {id}")))
    }

    fn move_node(&self, id: u32) -> Result<NodeId, Fault> {
        match self.node(id)? {
            NodeId::ROOT => Err(Fault::new("the start of the game is not a move")),
            node => Ok(node),
        }
    }

    /// Whether there is somewhere to go.
    fn move_to(&mut self, node: Option<NodeId>) -> bool {
        self.current = node.unwrap_or(self.current);
        node.is_some()
    }

    fn judge(&mut self, id: u32, nags: Vec<u8>) -> Result<(), Fault> {
        let node = self.move_node(id)?;
        self.game.notes_mut(node).nags = nags.into_iter().map(Into::into).collect();
        Ok(())
    }

    fn uci_line(&self, node: NodeId) -> Vec<String> {
        let mode: CastlingMode = self.game.start().castles().mode();
        let moves = self.game.path(node).into_iter().filter_map(|at| self.game.move_to(at));
        moves.map(|m| m.to_uci(mode).to_string()).collect()
    }

    fn clock_line(&self) -> Vec<Option<f64>> {
        let clock = |node: NodeId| self.game.notes(node).clock.map(|clock| clock.as_secs_f64());
        self.game.path(self.current).into_iter().map(clock).collect()
    }
}

fn square(name: &str) -> Result<Square, Fault> {
    name.parse().map_err(|_| Fault::new(format!("{name:?} is not a square")))
}
