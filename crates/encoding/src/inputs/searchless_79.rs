use std::fmt::Write as _;

use shakmaty::{EnPassantMode, fen::Fen};

use crate::placement::castling_rights;
use crate::{ElementKind, Encoding, EncodingId, InputSpec, Row, Situation, VocabularyId};

/// The 79 tokens of DeepMind's searchless action-value networks: 77 characters of the FEN at a fixed width, the move to value,
/// and a 0 in the place of the answer.
///
/// The characters are the side to move, the 64 squares from a8 with `.` for an empty one, four for the castling rights, two for
/// the en passant square, three for the counter of quiet plies and three for the move number, padded with `.` at the end. The
/// move is an index of `searchless-1968`; a row has one move, which is 0 unless it is [set](crate::Batch::push_move).
pub(crate) struct Searchless79;

/// The tokens of a position.
const POSITION: usize = 77;

/// The token of a character is its place. Bishops of Black share the letter of the b-file.
const CHARACTERS: &[u8] = b"0123456789abcdefghpnrkqPBNRQKw.";

fn token(character: u8) -> i32 {
    CHARACTERS.iter().position(|&known| known == character).unwrap_or(CHARACTERS.len() - 1) as i32
}

impl Encoding for Searchless79 {
    fn id(&self) -> EncodingId {
        EncodingId("searchless-79")
    }

    fn inputs(&self) -> &'static [InputSpec] {
        &[InputSpec { name: "sequences", shape: &[POSITION + 2], kind: ElementKind::Id }]
    }

    fn encode(&self, situation: &Situation<'_>, row: &mut Row<'_>) {
        let fen = Fen::from_position(situation.position, EnPassantMode::Legal).to_string();
        let mut fields = fen.split(' ');
        let mut field = || fields.next().unwrap_or_default();
        let (board, side, _, en_passant) = (field(), field(), field(), field());
        // By side: the field of a Chess960 position may name a file, for which there is no character.
        let rights = castling_rights(situation.position).into_iter().zip(['K', 'Q', 'k', 'q']);
        let castling: String = rights.filter_map(|(right, letter)| right.then_some(letter)).collect();
        let mut text = String::with_capacity(POSITION);
        text.push_str(side);
        for character in board.chars().filter(|&c| c != '/') {
            match character.to_digit(10) {
                Some(empty) => text.extend(std::iter::repeat_n('.', empty as usize)),
                None => text.push(character),
            }
        }
        let known = |field: &'_ str| if field == "-" { String::new() } else { field.to_owned() };
        for (field, width) in [(castling, 4), (known(en_passant), 2)] {
            write!(text, "{field:.<width$}").unwrap_or_default();
        }
        for _ in 0..2 {
            // A number of four digits has no place: the original takes at most 999.
            let number = field().parse().unwrap_or(0_u32).min(999);
            write!(text, "{number:.<3}").unwrap_or_default();
        }
        for (slot, character) in row.ids(0).iter_mut().zip(text.bytes()) {
            *slot = token(character);
        }
    }

    fn move_token(&self) -> Option<usize> {
        Some(POSITION)
    }

    fn system(&self) -> Option<&'static str> {
        Some("action values of DeepMind's searchless chess")
    }

    fn default_vocabulary(&self) -> Option<VocabularyId> {
        Some(VocabularyId("searchless-1968"))
    }
}
