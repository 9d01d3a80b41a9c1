//! The attention policy head: the logit of a move is the product of the vectors of its two squares.

use shakmaty::{Color, Move, Rank, Role, Square};
use tabia_onnx::build::{Attribute, Node};

use super::build::{Builder, Features, MOVES, SQUARES};
use super::encoder::{Generator, SMALL_EPSILON, Stack, head_count};
use super::format::{Activation, Architecture, Lc0Body};
use super::layers::{Dense, Matrix, Outputs};
use super::messages::{Layer, PolicyHead};
use super::refuse;
use crate::{LoadError, LoadErrorKind};

/// Pieces other than the knight, in the order of the vocabulary. The plain pair of squares is the knight.
const PROMOTIONS: [Role; 3] = [Role::Queen, Role::Rook, Role::Bishop];

impl Builder {
    pub(super) fn attention_policy(
        &mut self,
        x: &Features,
        head: PolicyHead,
        prefix: &str,
        smolgen: Option<Layer>,
        architecture: &Architecture,
    ) -> Result<Node, LoadError> {
        let part = |part: &str| format!("{prefix}{part}");
        let (x, width) = self.squares_of(x);
        // In residual towers, from before the file named its activations, this head has its own.
        let attention_body = architecture.body != Lc0Body::Residual;
        let (activation, ffn_activation) = if attention_body {
            (architecture.activation, architecture.ffn_activation)
        } else {
            (Activation::Selu, Activation::Selu)
        };

        let embedding =
            Dense::named(&part("ip_pol"), head.ip_pol_w, head.ip_pol_b, width, Outputs::AsStored)?;
        let width = embedding.outputs();
        let x = self.linear(&x, &part("ip_pol"), &embedding);
        let mut x = self.activate_by(&x, activation);
        if !head.pol_encoder.is_empty() {
            let generator = Generator::new(smolgen, architecture.smolgen_activation);
            let mut stack = Stack {
                heads: head_count(head.pol_headcount, &part("pol_headcount"))?,
                ffn_activation,
                smolgen: attention_body.then_some(generator),
                alpha: 1.0,
                epsilon: SMALL_EPSILON,
            };
            for (index, layer) in head.pol_encoder.into_iter().enumerate() {
                x = self.encoder(&x, width, &part(&format!("pol_encoder.{index}")), layer, &mut stack)?;
            }
        }

        let q = Dense::named(&part("ip2_pol"), head.ip2_pol_w, head.ip2_pol_b, width, Outputs::AsStored)?;
        let size = q.outputs();
        let k =
            Dense::named(&part("ip3_pol"), head.ip3_pol_w, head.ip3_pol_b, width, Outputs::Exactly(size))?;
        let promotion = Matrix::read(head.ip4_pol_w, &part("ip4_pol_w"), size, Outputs::Exactly(4))?;
        let from = self.linear(&x, &part("ip2_pol"), &q.scaled(1.0 / (size as f32).sqrt()));
        let from = self.reshape(&from, &[SQUARES, size]);
        let to = self.linear(&x, &part("ip3_pol"), &k);
        let to = self.reshape(&to, &[SQUARES, size]);
        let targets = self.transpose(&to, &[0, 2, 1]);
        let pairs = self.op("MatMul", &[&from, &targets]);

        let last_rank = self.slice(&to, 1, 56, 64);
        let offsets = self.project(&last_rank, &part("ip4_pol"), &promotion_offsets(promotion));
        let offsets = self.reshape(&offsets, &[1, 8, PROMOTIONS.len()]);
        let seventh = self.slice(&pairs, 1, 48, 56);
        let pawns = self.slice(&seventh, 2, 56, 64);
        let pawns = self.reshape(&pawns, &[8, 8, 1]);
        let promotions = self.op("Add", &[&pawns, &offsets]);

        let pairs = self.reshape(&pairs, &[SQUARES * SQUARES]);
        let promotions = self.reshape(&promotions, &[8 * 8 * PROMOTIONS.len()]);
        let all = self.concat(&[&pairs, &promotions], 1);
        let elements = self.graph.ints("policy.elements", &[MOVES], &elements()?);
        Ok(self.graph.op("Gather", &[&all, &elements], &[("axis", Attribute::Int(1))]))
    }
}

/// What each promotion adds to the plain move, from the vector of the square reached. The fourth row is part of the others.
fn promotion_offsets(promotion: Matrix) -> Matrix {
    let Matrix { mut weights, inputs, .. } = promotion;
    let common = weights.split_off(inputs * PROMOTIONS.len());
    for row in weights.chunks_exact_mut(inputs) {
        row.iter_mut().zip(&common).for_each(|(weight, common)| *weight += common);
    }
    Matrix { weights, inputs, outputs: PROMOTIONS.len() }
}

/// For each index of the vocabulary, `from * 64 + to`; promotions follow by file of origin, file reached, and piece.
fn elements() -> Result<Vec<i64>, LoadError> {
    let unknown = |what: &str| refuse(LoadErrorKind::UnknownNetwork, what);
    let vocabulary =
        tabia_encoding::vocabulary("lc0-1858").ok_or_else(|| unknown("no move vocabulary lc0-1858"))?;
    let mut elements = vec![None; vocabulary.width()];
    let mut put = |role, from, to, promotion, element: usize| {
        let m = Move::Normal { role, from, capture: None, to, promotion };
        let index = usize::from(vocabulary.slot(Color::White, m).index.0);
        // A pair that no piece moves between has no index.
        if let Some(slot) = elements.get_mut(index) {
            *slot = i64::try_from(element).ok();
        }
    };
    for from in Square::ALL {
        for to in Square::ALL {
            put(Role::Queen, from, to, None, usize::from(from) * SQUARES + usize::from(to));
        }
    }
    for from in Square::ALL.into_iter().filter(|from| from.rank() == Rank::Seventh) {
        for to in Square::ALL.into_iter().filter(|to| to.rank() == Rank::Eighth) {
            let (from_file, to_file) = (usize::from(from.file()), usize::from(to.file()));
            if from_file.abs_diff(to_file) > 1 {
                continue;
            }
            for (piece, role) in PROMOTIONS.into_iter().enumerate() {
                let element = SQUARES * SQUARES + (8 * from_file + to_file) * PROMOTIONS.len() + piece;
                put(Role::Pawn, from, to, Some(role), element);
            }
        }
    }
    let unmapped = || unknown("the lc0-1858 vocabulary has a move without a pair of squares");
    elements.into_iter().map(|element| element.ok_or_else(unmapped)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mapping_is_injective() {
        let mut elements = elements().unwrap();
        elements.sort_unstable();
        elements.dedup();
        assert_eq!(elements.len(), MOVES);
        assert!(elements.iter().all(|element| (0..64 * 64 + 8 * 24).contains(element)));
    }

    #[test]
    fn mapping_matches_the_public_table() {
        let elements = elements().unwrap();
        // (index of the move, element)
        for (index, element) in [
            (0, 1),               // a1b1
            (22, 63),             // a1h8
            (23, 64),             // b1a1
            (1792, 4096),         // a7a8q
            (1794, 4098),         // a7a8b
            (1795, 4099),         // a7b8q
            (1798, 4096 + 24),    // b7a8q
            (1857, 4096 + 191),   // h7h8b
            (1791, 63 * 64 + 62), // h8g8
        ] {
            assert_eq!(elements[index], element, "move {index}");
        }
    }
}
