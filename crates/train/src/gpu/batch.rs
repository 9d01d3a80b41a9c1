//! One batch on its way to a device: where its columns lie in the memory of a slot, and how they are written there.

use tabia_encoding::Column;

use crate::{ABSENT, BackendError, Examples, PolicyTargets, StepHyper};

/// Soft targets a batch has room for, by position: as many as a position has legal moves at most.
pub(crate) const SOFT_TARGETS: usize = 218;

/// How an input crosses to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Bytes where every number of the batch is a whole one from 0 to 255, else 32-bit floats.
    Numbers,
    /// Table indices, 32 bits each.
    Ids,
}

/// Where one input lies, in bytes from the start of the slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InputPlace {
    pub(crate) form: Form,
    /// Numbers a position.
    pub(crate) len: usize,
    /// Ids, floats, or bytes.
    pub(crate) at: usize,
    /// The floats of [`Form::Numbers`] where bytes do not do.
    pub(crate) floats: usize,
}

/// Where one batch lies within the memory of a slot, in bytes.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    pub(crate) inputs: Vec<InputPlace>,
    pub(crate) legal: usize,
    pub(crate) share: usize,
    pub(crate) starts: usize,
    pub(crate) probabilities: usize,
    pub(crate) indices: usize,
    pub(crate) played: usize,
    pub(crate) promotions: usize,
    pub(crate) outcomes: usize,
    pub(crate) think: usize,
    pub(crate) values: usize,
    pub(crate) siblings: usize,
    pub(crate) hyper: usize,
    /// All but the floats of [`Form::Numbers`].
    short: usize,
    pub(crate) len: usize,
    /// Length of the move head, if there is one.
    moves: Option<usize>,
}

/// Whether a batch has lists of soft targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Targets {
    Hard,
    Soft,
}

/// How the numbers of a batch were sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    Bytes,
    Floats,
}

/// One batch on the device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loaded {
    pub(crate) slot: usize,
    pub(crate) rows: usize,
    pub(crate) targets: Targets,
    pub(crate) numbers: Sent,
}

impl Places {
    /// Room for `rows` positions with inputs of these forms and lengths, and moves where the network has a move head.
    pub(crate) fn new(rows: usize, inputs: &[(Form, usize)], moves: Option<usize>) -> Self {
        let mut len = 0;
        let mut place = |bytes: usize| {
            let at = len;
            len = (len + bytes).next_multiple_of(256);
            at
        };
        let mut inputs: Vec<InputPlace> = inputs
            .iter()
            .map(|&(form, len)| {
                let size = if form == Form::Numbers { 1 } else { 4 };
                InputPlace { form, len, at: place(rows * len * size), floats: 0 }
            })
            .collect();
        let of_moves = if moves.is_some() { rows } else { 0 };
        let mut places = Places {
            legal: place(rows * moves.map_or(0, |width| width.div_ceil(8))),
            share: place(rows * 4),
            starts: place((of_moves + 1) * 4),
            probabilities: place(of_moves * SOFT_TARGETS * 4),
            indices: place(of_moves * SOFT_TARGETS * 2),
            played: place(of_moves * 2),
            promotions: place(of_moves),
            outcomes: place(rows),
            think: place(rows),
            values: place(rows * 4),
            siblings: place(rows * 4),
            hyper: place(16 * 4),
            short: 0,
            len: 0,
            inputs: Vec::new(),
            moves,
        };
        places.short = place(0);
        for input in inputs.iter_mut().filter(|input| input.form == Form::Numbers) {
            input.floats = place(rows * input.len * 4);
        }
        (places.len, places.inputs) = (len, inputs);
        places
    }

    /// What of the examples does not fit, if anything does not.
    pub(crate) fn check(&self, examples: &Examples, capacity: usize) -> Result<(), BackendError> {
        let mismatch = |message: String| Err(BackendError::Mismatch(message));
        let rows = examples.rows();
        if rows == 0 || rows > capacity {
            return mismatch(format!("a batch of {rows} positions, where there is room for 1 to {capacity}"));
        }
        let mut lengths = vec![("weights", examples.weights.len(), rows)];
        for (column, place) in examples.inputs.columns().iter().zip(&self.inputs) {
            match column {
                Column::Values(values) => lengths.push(("inputs", values.len(), rows * place.len)),
                Column::Ids(ids) => lengths.push(("ids", ids.len(), rows * place.len)),
            }
        }
        let columns = [
            ("outcomes", examples.outcomes.len()),
            ("think times", examples.think.len()),
            ("values", examples.values.len()),
            ("siblings", examples.siblings.len()),
        ];
        lengths.extend(columns.into_iter().filter(|(_, len)| *len > 0).map(|(what, len)| (what, len, rows)));
        let policy = match (self.moves, &examples.policy) {
            (Some(_), None) => return mismatch("the examples have no moves".to_owned()),
            (Some(moves), Some(policy)) => Some((moves, policy)),
            (None, _) => None,
        };
        if let Some((moves, policy)) = policy {
            lengths.push(("moves played", policy.played.len(), rows));
            lengths.push(("legal moves", policy.legal.len(), rows * moves.div_ceil(8)));
            lengths.push(("moves to choose from", policy.width, moves));
            if !policy.promotions.is_empty() {
                lengths.push(("promotions", policy.promotions.len(), rows));
            }
        }
        if let Some((what, have, want)) = lengths.into_iter().find(|(_, have, want)| have != want) {
            return mismatch(format!("{what}: {have} numbers, not {want}"));
        }
        let Some((moves, policy)) = policy else { return Ok(()) };
        let (starts, entries) = (policy.soft.starts.len(), policy.soft.indices.len());
        if starts != 0 && starts != rows + 1 {
            return mismatch(format!("soft targets of {} rows in a batch of {rows}", starts - 1));
        }
        if entries > capacity * SOFT_TARGETS || entries != policy.soft.probabilities.len() {
            return mismatch(format!("{entries} soft targets, more than {SOFT_TARGETS} a position"));
        }
        let indices = policy.played.iter().chain(&policy.soft.indices);
        if let Some(index) = indices.copied().find(|&index| usize::from(index) >= moves) {
            return mismatch(format!("move index {index}, where there are {moves}"));
        }
        Ok(())
    }

    /// Writes a batch, which was checked, into the memory of a slot. Says how the numbers were written and how many
    /// bytes are to cross.
    pub(crate) fn fill(&self, memory: &mut [u8], examples: &Examples, hyper: &StepHyper) -> (Sent, usize) {
        let rows = examples.rows();
        let mut sent = Sent::Bytes;
        for (column, place) in examples.inputs.columns().iter().zip(&self.inputs) {
            match column {
                Column::Values(values) if place.form == Form::Numbers => {
                    if !narrow(values, &mut memory[place.at..place.at + values.len()]) {
                        sent = Sent::Floats;
                    }
                }
                Column::Values(values) => put(memory, place.at, values),
                Column::Ids(ids) => put(memory, place.at, ids),
            }
        }
        if sent == Sent::Floats {
            for (column, place) in examples.inputs.columns().iter().zip(&self.inputs) {
                if let (Column::Values(values), Form::Numbers) = (column, place.form) {
                    put(memory, place.floats, values);
                }
            }
        }
        let absent = vec![ABSENT; rows];
        let mut classes = vec![(self.outcomes, &examples.outcomes), (self.think, &examples.think)];
        if let (Some(_), Some(policy)) = (self.moves, &examples.policy) {
            self.fill_moves(memory, policy);
            classes.push((self.promotions, &policy.promotions));
        }
        for (at, column) in classes {
            put(memory, at, if column.is_empty() { &absent } else { column });
        }
        match examples.values.as_slice() {
            [] => put(memory, self.values, &vec![f32::NAN; rows]),
            values => put(memory, self.values, values),
        }
        match examples.siblings.as_slice() {
            [] => put(memory, self.siblings, &vec![0_f32; rows]),
            siblings => put(memory, self.siblings, siblings),
        }
        let total = examples.total_weight().max(f32::MIN_POSITIVE);
        let shares: Vec<f32> = examples.weights.iter().map(|weight| weight / total).collect();
        put(memory, self.share, &shares);
        let StepHyper { lr, beta1, beta2, eps, weight_decay, clip, ema_decay } = *hyper;
        put(memory, self.hyper, &[lr, beta1, beta2, eps, weight_decay, clip, ema_decay]);
        (sent, if sent == Sent::Bytes { self.short } else { self.len })
    }

    fn fill_moves(&self, memory: &mut [u8], policy: &PolicyTargets) {
        put(memory, self.legal, &policy.legal);
        put(memory, self.played, &policy.played);
        put(memory, self.starts, &policy.soft.starts);
        put(memory, self.indices, &policy.soft.indices);
        put(memory, self.probabilities, &policy.soft.probabilities);
    }
}

fn put<T: bytemuck::NoUninit>(memory: &mut [u8], at: usize, column: &[T]) {
    let bytes: &[u8] = bytemuck::cast_slice(column);
    memory[at..at + bytes.len()].copy_from_slice(bytes);
}

/// Two to the 23rd: added to a smaller whole number, it leaves that number in the lowest bits.
const WHOLE: f32 = 8_388_608.0;

/// Numbers as bytes; false where one is not a whole number from 0 to 255, and the bytes then mean nothing.
fn narrow(from: &[f32], to: &mut [u8]) -> bool {
    // Pieces that stay in the nearest cache, each without a branch inside: this is all a host thread does with most of
    // a batch, and a cast that saturates takes ten times as long.
    from.chunks(4096).zip(to.chunks_mut(4096)).all(|(from, to)| {
        let mut difference = 0;
        for (&number, byte) in from.iter().zip(to) {
            let bits = (number + WHOLE).to_bits();
            *byte = bits as u8;
            let back = f32::from_bits(bits & 0xff | WHOLE.to_bits()) - WHOLE;
            difference |= back.to_bits() ^ number.to_bits();
        }
        difference == 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_become_bytes_and_others_are_refused() {
        let numbers: Vec<f32> = (0..=255_u8).map(f32::from).collect();
        let mut bytes = vec![0; 256];
        assert!(narrow(&numbers, &mut bytes));
        assert!(bytes.iter().copied().eq(0..=255));
        for bad in [0.5, -1.0, 256.0, 1e9, f32::NAN, f32::INFINITY, 254.999] {
            assert!(!narrow(&[1.0, bad], &mut bytes[..2]), "{bad}");
        }
    }

    #[test]
    fn every_move_of_the_position_with_the_most_may_be_a_target() {
        let most = "R6R/3Q4/1Q4Q1/4Q3/2Q4Q/Q4Q2/pp1Q4/kBNN1KB1 w - - 0 1";
        let fen: shakmaty::fen::Fen = most.parse().unwrap();
        let position: shakmaty::Chess = fen.into_position(shakmaty::CastlingMode::Standard).unwrap();
        assert_eq!(shakmaty::Position::legal_moves(&position).len(), SOFT_TARGETS);
    }

    #[test]
    fn columns_do_not_overlap() {
        let places = Places::new(5, &[(Form::Numbers, 768), (Form::Ids, 7)], Some(1968));
        let [board, ids] = places.inputs[..] else { panic!("two inputs") };
        let mut ends = [
            (board.at, 5 * 768),
            (ids.at, 5 * 7 * 4),
            (places.legal, 5 * 246),
            (places.share, 5 * 4),
            (places.starts, 6 * 4),
            (places.probabilities, 5 * SOFT_TARGETS * 4),
            (places.indices, 5 * SOFT_TARGETS * 2),
            (places.played, 10),
            (places.promotions, 5),
            (places.outcomes, 5),
            (places.think, 5),
            (places.values, 20),
            (places.siblings, 20),
            (places.hyper, 28),
            (board.floats, 5 * 768 * 4),
        ];
        ends.sort_unstable();
        assert!(ends.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0));
        assert!(places.short <= board.floats && ends[14].0 + ends[14].1 <= places.len);
    }
}
