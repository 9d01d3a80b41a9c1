//! The features of moves that an adapter weighs.

use std::time::Duration;

use shakmaty::{Bitboard, CastlingSide, Chess, Color, File, Move, Piece, Position, Role, Square, attacks};
use tabia_encoding::Situation;
use tabia_game::Phase;
use tabia_model::Candidate;

/// A feature of a move: an index below [`FEATURES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Feature(u16);

/// The number of features.
pub const FEATURES: usize = STYLE + SQUARES;

/// The number of features that are not squares.
const STYLE: usize = NAMES.len();

/// A piece of either colour that moves to a square.
const SQUARES: usize = 2 * 6 * 64;

/// The clock is low below this, or below a tenth of the time at the start.
const LOW_CLOCK: Duration = Duration::from_secs(20);

const NAMES: [&str; 59] = [
    "log-probability",
    "log-probability in the opening",
    "log-probability in the endgame",
    "log-probability with a low clock",
    "first choice",
    "second choice",
    "pawn in the opening",
    "pawn in the middlegame",
    "pawn in the endgame",
    "knight in the opening",
    "knight in the middlegame",
    "knight in the endgame",
    "bishop in the opening",
    "bishop in the middlegame",
    "bishop in the endgame",
    "rook in the opening",
    "rook in the middlegame",
    "rook in the endgame",
    "queen in the opening",
    "queen in the middlegame",
    "queen in the endgame",
    "king in the opening",
    "king in the middlegame",
    "king in the endgame",
    "capture",
    "capture by a pawn",
    "capture of a more valuable piece",
    "capture of a less valuable piece",
    "recapture",
    "queen exchange",
    "knight for bishop",
    "bishop for knight",
    "check",
    "castling short",
    "castling long",
    "queenside pawn",
    "centre pawn",
    "kingside pawn",
    "double pawn step",
    "pawn beyond the middle",
    "underpromotion",
    "retreat",
    "advance",
    "towards the centre",
    "towards the own king",
    "towards the enemy king",
    "same piece again",
    "back to where it came from",
    "away from an attack",
    "to an attacked square",
    "to a square attacked by a pawn",
    "to an undefended attacked square",
    "attack on a more valuable piece",
    "attack on an undefended piece",
    "fianchetto",
    "knight on the rim",
    "long move",
    "open file",
    "seventh rank",
];

const ROLES: [(Role, char); 6] = [
    (Role::Pawn, 'P'),
    (Role::Knight, 'N'),
    (Role::Bishop, 'B'),
    (Role::Rook, 'R'),
    (Role::Queen, 'Q'),
    (Role::King, 'K'),
];

impl Feature {
    /// Every feature.
    pub fn all() -> impl Iterator<Item = Feature> {
        (0..FEATURES as u16).map(Feature)
    }

    /// Its place among all.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// Whether it is a piece that moves to a square.
    pub fn is_square(self) -> bool {
        self.index() >= STYLE
    }

    /// Its name in files: `capture`, or `white Nf3` for a piece and a square.
    pub fn name(self) -> String {
        let Some(place) = self.index().checked_sub(STYLE) else { return NAMES[self.index()].to_owned() };
        let color = Color::from_white(place < SQUARES / 2);
        let (_, letter) = ROLES[place / 64 % 6];
        format!("{color} {letter}{}", Square::new(place as u32 % 64))
    }

    /// The feature of this name.
    pub fn named(name: &str) -> Option<Feature> {
        if let Some(index) = NAMES.iter().position(|known| *known == name) {
            return Some(Feature(index as u16));
        }
        let (color, rest) = name.split_once(' ')?;
        let color = match color {
            "white" => Color::White,
            "black" => Color::Black,
            _ => return None,
        };
        let mut letters = rest.chars();
        let letter = letters.next()?;
        let (role, _) = ROLES.into_iter().find(|(_, known)| *known == letter)?;
        let square: Square = letters.as_str().parse().ok()?;
        Some(Feature::square(color, role, square))
    }

    fn square(color: Color, role: Role, square: Square) -> Feature {
        let role = role as usize - 1;
        let place = color.fold_wb(0, SQUARES / 2) + 64 * role + usize::from(square);
        Feature((STYLE + place) as u16)
    }

    /// A named feature.
    ///
    /// # Panics
    /// If there is none: a mistake of this file.
    const fn of(name: &str) -> Feature {
        let mut index = 0;
        while index < NAMES.len() {
            if same(NAMES[index], name) {
                return Feature(index as u16);
            }
            index += 1;
        }
        panic!("no such feature")
    }
}

const fn same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len() != other.len() {
        return false;
    }
    let mut at = 0;
    while at < one.len() {
        if one[at] != other[at] {
            return false;
        }
        at += 1;
    }
    true
}

/// A feature that is checked when the program is compiled.
macro_rules! feature {
    ($name:literal) => {
        const { Feature::of($name) }
    };
}

/// What all moves of a position share.
pub(super) struct Scene<'a> {
    position: &'a Chess,
    turn: Color,
    phase: Phase,
    low_clock: bool,
    /// The last move of the opponent and the one before, by the mover.
    last: Option<Move>,
    own_last: Option<Move>,
}

impl<'a> Scene<'a> {
    pub(super) fn of(situation: &Situation<'a>) -> Scene<'a> {
        let low = situation.pace.map_or(LOW_CLOCK, |pace| LOW_CLOCK.min(pace.base / 10));
        Scene {
            position: situation.position,
            turn: situation.position.turn(),
            phase: Phase::of(situation.position.board()),
            low_clock: situation.mover.time_left.is_some_and(|left| left < low),
            last: situation.last_moves.first().copied(),
            own_last: situation.last_moves.get(1).copied(),
        }
    }

    /// Passes the features of a candidate of this rank (0 is the likeliest) to `add`, with their values.
    pub(super) fn features(&self, candidate: &Candidate, rank: usize, add: &mut impl FnMut(Feature, f32)) {
        let m = candidate.mv;
        let log = candidate.probability.max(f32::MIN_POSITIVE).ln();
        add(feature!("log-probability"), log);
        match self.phase {
            Phase::Opening => add(feature!("log-probability in the opening"), log),
            Phase::Endgame => add(feature!("log-probability in the endgame"), log),
            Phase::Middlegame => {}
        }
        if self.low_clock {
            add(feature!("log-probability with a low clock"), log);
        }
        match rank {
            0 => add(feature!("first choice"), 1.0),
            1 => add(feature!("second choice"), 1.0),
            _ => {}
        }
        let role = m.role();
        let by_phase = feature!("pawn in the opening").0 + 3 * (role as u16 - 1) + self.phase as u16;
        add(Feature(by_phase), 1.0);
        let mut flag = |holds: bool, feature: Feature| {
            if holds {
                add(feature, 1.0);
            }
        };
        self.captures(m, role, &mut flag);
        flag(m.castling_side() == Some(CastlingSide::KingSide), feature!("castling short"));
        flag(m.castling_side() == Some(CastlingSide::QueenSide), feature!("castling long"));
        let (Some(from), to) = (m.from(), destination(m, self.turn)) else { return };
        flag(true, Feature::square(self.turn, role, to));
        if role == Role::Pawn {
            self.pawn(m, from, to, &mut flag);
        }
        let again = self.own_last.filter(|own| !own.is_castle() && own.to() == from);
        flag(again.is_some(), feature!("same piece again"));
        flag(again.is_some_and(|own| own.from() == Some(to)), feature!("back to where it came from"));
        if m.castling_side().is_none() {
            self.attacks(m, role, from, to, &mut flag);
        }
        self.squares(role, from, to, add);
    }

    fn captures(&self, m: Move, role: Role, flag: &mut impl FnMut(bool, Feature)) {
        let Some(victim) = m.capture() else { return };
        flag(true, feature!("capture"));
        flag(role == Role::Pawn, feature!("capture by a pawn"));
        flag(value(victim) > value(role), feature!("capture of a more valuable piece"));
        flag(value(victim) < value(role), feature!("capture of a less valuable piece"));
        let recaptures = self.last.is_some_and(|last| last.is_capture() && last.to() == m.to());
        flag(recaptures, feature!("recapture"));
        flag(role == Role::Queen && victim == Role::Queen, feature!("queen exchange"));
        flag(role == Role::Knight && victim == Role::Bishop, feature!("knight for bishop"));
        flag(role == Role::Bishop && victim == Role::Knight, feature!("bishop for knight"));
    }

    fn pawn(&self, m: Move, from: Square, to: Square, flag: &mut impl FnMut(bool, Feature)) {
        let wing = match from.file() {
            File::A | File::B | File::C => feature!("queenside pawn"),
            File::D | File::E => feature!("centre pawn"),
            File::F | File::G | File::H => feature!("kingside pawn"),
        };
        flag(true, wing);
        flag(from.distance(to) == 2, feature!("double pawn step"));
        flag(height(to, self.turn) >= 4, feature!("pawn beyond the middle"));
        flag(m.promotion().is_some_and(|piece| piece != Role::Queen), feature!("underpromotion"));
    }

    fn attacks(&self, m: Move, role: Role, from: Square, to: Square, flag: &mut impl FnMut(bool, Feature)) {
        let board = self.position.board();
        let (us, them) = (self.turn, !self.turn);
        let occupied = board.occupied().without(from).with(to);
        let attackers = board.attacks_to(to, them, occupied).without(to);
        let defended = board.attacks_to(to, us, occupied).without(from).any();
        let was_attacked = board.attacks_to(from, them, board.occupied()).any();
        flag(was_attacked && role != Role::Pawn, feature!("away from an attack"));
        flag(attackers.any(), feature!("to an attacked square"));
        flag((attackers & board.pawns()).any(), feature!("to a square attacked by a pawn"));
        flag(attackers.any() && !defended, feature!("to an undefended attacked square"));
        let piece = Piece { color: us, role: m.promotion().unwrap_or(role) };
        let targets = attacks::attacks(to, piece, occupied) & board.by_color(them).without(to);
        let more = |square: Square| board.role_at(square).is_some_and(|of| value(of) > value(piece.role));
        flag(targets.into_iter().any(more), feature!("attack on a more valuable piece"));
        let loose = |square: Square| {
            board.role_at(square).is_some_and(|of| !matches!(of, Role::King | Role::Pawn))
                && board.attacks_to(square, them, occupied).is_empty()
        };
        flag(targets.into_iter().any(loose), feature!("attack on an undefended piece"));
        let mut after = self.position.clone();
        after.play_unchecked(m);
        flag(after.is_check(), feature!("check"));
    }

    /// Where a piece goes.
    fn squares(&self, role: Role, from: Square, to: Square, add: &mut impl FnMut(Feature, f32)) {
        let board = self.position.board();
        let steps = |before: u32, after: u32| (before as f32 - after as f32) / 4.0;
        let (rises, was) = (height(to, self.turn), height(from, self.turn));
        if !matches!(role, Role::Pawn | Role::King) {
            if rises < was {
                add(feature!("retreat"), 1.0);
            } else if rises > was {
                add(feature!("advance"), 1.0);
            }
            if from.distance(to) >= 4 {
                add(feature!("long move"), 1.0);
            }
        }
        add(feature!("towards the centre"), steps(from_centre(from), from_centre(to)));
        if let Some(king) = board.king_of(!self.turn) {
            add(feature!("towards the enemy king"), steps(from.distance(king), to.distance(king)));
        }
        if role != Role::King
            && let Some(king) = board.king_of(self.turn)
        {
            add(feature!("towards the own king"), steps(from.distance(king), to.distance(king)));
        }
        match role {
            Role::Bishop if rises == 1 && matches!(to.file(), File::B | File::G) => {
                add(feature!("fianchetto"), 1.0);
            }
            Role::Knight if matches!(to.file(), File::A | File::H) => add(feature!("knight on the rim"), 1.0),
            Role::Rook => {
                let own = board.pawns() & board.by_color(self.turn);
                if (own & Bitboard::from_file(to.file())).is_empty() && from.file() != to.file() {
                    add(feature!("open file"), 1.0);
                }
                if rises == 6 {
                    add(feature!("seventh rank"), 1.0);
                }
            }
            _ => {}
        }
    }
}

/// Where the moving piece ends: for castling, the king.
fn destination(m: Move, turn: Color) -> Square {
    m.castling_side().map_or(m.to(), |side| side.king_to(turn))
}

/// Ranks from the mover's first, from 0.
fn height(square: Square, turn: Color) -> u32 {
    turn.fold_wb(square.rank(), square.rank().flip_vertical()).to_u32()
}

/// King steps to the nearest of the four central squares.
fn from_centre(square: Square) -> u32 {
    let off = |place: u32| if place < 4 { 3 - place } else { place - 4 };
    off(square.file().to_u32()).max(off(square.rank().to_u32()))
}

fn value(role: Role) -> u8 {
    match role {
        Role::Pawn => 1,
        Role::Knight | Role::Bishop => 3,
        Role::Rook => 5,
        Role::Queen => 9,
        Role::King => 100,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use tabia_encoding::parse_uci;
    use tabia_game::position_from_fen;

    use super::*;

    fn of(fen: &str, uci: &str) -> BTreeMap<String, f32> {
        let position = position_from_fen(fen).unwrap();
        let candidate = Candidate { mv: parse_uci(&position, uci).unwrap(), probability: 0.5 };
        let mut found = BTreeMap::new();
        Scene::of(&Situation::of(&position)).features(&candidate, 0, &mut |feature, value| {
            assert!(found.insert(feature.name(), value).is_none(), "{} twice", feature.name());
        });
        found
    }

    #[test]
    fn names_and_features_are_one_to_one() {
        for feature in Feature::all() {
            assert_eq!(Feature::named(&feature.name()), Some(feature), "{}", feature.name());
        }
        for unknown in ["", "white", "white ", "white Xf3", "green Nf3", "white Nf9", "whiteNf3", "captures"]
        {
            assert_eq!(Feature::named(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn moves_have_the_features_of_the_board() {
        let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
        let e4 = of(start, "e2e4");
        for feature in ["first choice", "pawn in the opening", "centre pawn", "double pawn step", "white Pe4"]
        {
            assert_eq!(e4.get(feature), Some(&1.0), "{feature}");
        }
        assert_eq!(e4["log-probability"], 0.5_f32.ln());
        let castled = of("r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1", "e8c8");
        assert_eq!((castled.get("castling long"), castled.get("black Kc8")), (Some(&1.0), Some(&1.0)));
        let hung = of("4k3/8/3p4/8/8/5N2/8/4K3 w - - 0 1", "f3e5");
        assert!(hung.contains_key("to an undefended attacked square"));
        assert!(hung.contains_key("to a square attacked by a pawn"));
        assert!(hung.contains_key("advance"));
        let exchange = of("3qk3/8/8/8/8/8/8/3QK3 w - - 0 1", "d1d8");
        for feature in ["capture", "queen exchange", "check", "long move", "queen in the endgame"] {
            assert!(exchange.contains_key(feature), "{feature}: {exchange:?}");
        }
        assert!(!exchange.contains_key("capture of a more valuable piece"));
    }

    #[test]
    fn colours_mirror_but_for_the_squares() {
        let white = of("4k3/8/8/8/8/2n5/1P6/4K3 w - - 0 1", "b2c3");
        let black = of("4k3/1p6/2N5/8/8/8/8/4K3 b - - 0 1", "b7c6");
        let unsquared = |of: BTreeMap<String, f32>| -> BTreeMap<String, f32> {
            of.into_iter().filter(|(name, _)| !Feature::named(name).unwrap().is_square()).collect()
        };
        assert_eq!(unsquared(white), unsquared(black));
    }
}
