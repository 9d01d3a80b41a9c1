use shakmaty::{CastlingSide, Chess, Color, Position};

use super::challenge_768::index;
use crate::placement::{Placement, placements, rights_of};
use crate::{
    ElementKind, Encoding, EncodingId, InputSpec, Orientation, Row, Situation, Unit, ValueConvention,
    VocabularyId,
};

/// lc0's classic 112 planes: the last 8 positions, 13 planes each, then 8 planes about the current one.
///
/// Everything is from the perspective of the current side to move, also earlier positions; ranks flipped for Black. A position is
/// own P N B R Q K, the opponent's, and ones if it occurred before in the known history. Then planes filled with: own
/// castling queen side, king side, the opponent's queen side, king side, Black to move, plies since a capture or pawn
/// move (not scaled), zeros, ones.
///
/// With fewer than 8 known positions the earliest is repeated, unless it is the start position. If its en passant square is set, the repeats show the board before that pawn's double step.
pub(crate) static LC0_112: Lc0112 = Lc0112 { id: "lc0-112", castling: Castling::Rights };

/// The same with other castling planes: the first marks the rooks of both sides that may castle queen side, the second king side,
/// and two are zeros.
pub(crate) static LC0_112_CASTLING: Lc0112 = Lc0112 { id: "lc0-112-castling", castling: Castling::Rooks };

pub(crate) struct Lc0112 {
    id: &'static str,
    castling: Castling,
}

/// How castling rights are written.
enum Castling {
    Rights,
    Rooks,
}

const HISTORY: usize = 8;
const PLANES_PER_POSITION: usize = 13;
const REPEATED: usize = 12;
const AUXILIARY: usize = HISTORY * PLANES_PER_POSITION;

impl Encoding for Lc0112 {
    fn id(&self) -> EncodingId {
        EncodingId(self.id)
    }

    fn inputs(&self) -> &'static [InputSpec] {
        &[InputSpec { name: "/input/planes", shape: &[112, 8, 8], kind: ElementKind::Value }]
    }

    fn history(&self) -> u32 {
        // An earlier position may be marked as a repetition of one before it, however far back.
        u32::MAX
    }

    fn encode(&self, situation: &Situation<'_>, row: &mut Row<'_>) {
        let position = situation.position;
        let mover = position.turn();
        let values = row.values(0);
        let (history, auxiliary) = values.split_at_mut(AUXILIARY * 64);
        let mut slots = history.chunks_exact_mut(PLANES_PER_POSITION * 64);

        let known = std::iter::once(position).chain(situation.earlier);
        for (i, (then, planes)) in known.zip(&mut slots).enumerate() {
            write_pieces(mover, placements(then.board()), planes);
            if situation.earlier[i..].contains(then) {
                planes[REPEATED * 64..].fill(1.0);
            }
        }
        let earliest = situation.earlier.last().unwrap_or(position);
        if *earliest != Chess::default() {
            for planes in slots {
                write_pieces(mover, before_double_step(earliest), planes);
            }
        }

        match self.castling {
            Castling::Rights => {
                let [own_king_side, own_queen_side] = rights_of(position, mover);
                let [their_king_side, their_queen_side] = rights_of(position, !mover);
                let rights = [own_queen_side, own_king_side, their_queen_side, their_king_side];
                for (plane, right) in auxiliary.chunks_exact_mut(64).zip(rights) {
                    plane.fill(f32::from(u8::from(right)));
                }
            }
            Castling::Rooks => {
                let sides = [CastlingSide::QueenSide, CastlingSide::KingSide];
                for (plane, side) in auxiliary.chunks_exact_mut(64).zip(sides) {
                    for rook in
                        Color::ALL.into_iter().filter_map(|color| position.castles().rook(color, side))
                    {
                        plane[usize::from(Orientation::Mirrored.square(mover, rook))] = 1.0;
                    }
                }
            }
        }
        auxiliary[4 * 64..5 * 64].fill(f32::from(u8::from(mover == Color::Black)));
        auxiliary[5 * 64..6 * 64].fill(position.halfmoves() as f32);
        auxiliary[7 * 64..].fill(1.0);
    }

    fn value_convention(&self) -> ValueConvention {
        ValueConvention { unit: Unit::Expectation, ..ValueConvention::default() }
    }

    fn default_vocabulary(&self) -> Option<VocabularyId> {
        Some(VocabularyId("lc0-1858"))
    }
}

fn write_pieces(perspective: Color, pieces: impl Iterator<Item = Placement>, planes: &mut [f32]) {
    for placed in pieces {
        planes[index(perspective, placed)] = 1.0;
    }
}

/// The pieces of a position, with the pawn that made an en passant square put back where it came from.
fn before_double_step(position: &Chess) -> impl Iterator<Item = Placement> {
    let forward = (!position.turn()).fold_wb(8, -8);
    let step = position.maybe_ep_square().and_then(|s| s.offset(forward).zip(s.offset(-forward)));
    placements(position.board()).map(move |placed| match step {
        Some((to, from)) if placed.square == to => Placement { square: from, ..placed },
        _ => placed,
    })
}
