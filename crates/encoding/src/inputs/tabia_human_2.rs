use super::tabia_human_1::{CHANNELS, GAME, write_game, write_squares};
use crate::{ElementKind, Encoding, EncodingId, InputSpec, RatingPool, Row, Situation, VocabularyId};

/// `tabia-human-1` that also says which server the ratings are from: the same number means a different strength on each.
///
/// `squares` [64, 32] as in `tabia-human-1`. `game` [82]: 0-79 as in `tabia-human-1`, where both servers are `online`;
/// - 80 the ratings are those of Lichess;
/// - 81 the ratings are those of Chess.com.
pub(crate) struct TabiaHuman2;

const LICHESS: usize = GAME;
const CHESS_COM: usize = GAME + 1;

impl Encoding for TabiaHuman2 {
    fn id(&self) -> EncodingId {
        EncodingId("tabia-human-2")
    }

    fn inputs(&self) -> &'static [InputSpec] {
        &[
            InputSpec { name: "squares", shape: &[64, CHANNELS], kind: ElementKind::Value },
            InputSpec { name: "game", shape: &[GAME + 2], kind: ElementKind::Value },
        ]
    }

    fn encode(&self, situation: &Situation<'_>, row: &mut Row<'_>) {
        write_squares(situation, row.values(0));
        let game = row.values(1);
        write_game(situation, game);
        match situation.pool {
            RatingPool::Lichess => game[LICHESS] = 1.0,
            RatingPool::ChessCom => game[CHESS_COM] = 1.0,
            RatingPool::Unknown | RatingPool::OverTheBoard | RatingPool::Online | RatingPool::Puzzle => {}
        }
    }

    fn default_vocabulary(&self) -> Option<VocabularyId> {
        Some(VocabularyId("from-to-4096-mirrored"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Batch, encoding};

    #[test]
    fn servers_differ_in_their_flag_alone() {
        let start = shakmaty::Chess::default();
        let of = |pool| {
            let mut batch = Batch::new(encoding("tabia-human-2").unwrap());
            batch.push(&Situation { pool, ..Situation::of(&start) });
            batch.values(1).to_vec()
        };
        let online = of(RatingPool::Online);
        for (pool, flag) in [(RatingPool::Lichess, LICHESS), (RatingPool::ChessCom, CHESS_COM)] {
            let mut expected = online.clone();
            expected[flag] = 1.0;
            assert_eq!(of(pool), expected);
        }
    }
}
