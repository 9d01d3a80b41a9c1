//! The numbers of the search that are found by playing: all of selectivity in one place.

use std::fmt;

/// Defines [`Parameters`], with the defaults and bounds of each.
macro_rules! parameters {
    ($($(#[doc = $doc:literal])* $name:ident = $default:literal in $low:literal..=$high:literal;)*) => {
        /// The numbers of the search that are found by playing. Margins are centipawns, depths are plies left.
        ///
        /// The defaults are what the engine plays with; others are for tuning and for tests of a change.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Parameters {
            $($(#[doc = $doc])* pub $name: i32,)*
        }

        impl Default for Parameters {
            fn default() -> Parameters {
                Parameters { $($name: $default,)* }
            }
        }

        impl Parameters {
            /// The name, default and bounds of every parameter.
            pub const SPECS: &'static [ParameterSpec] = &[
                $(ParameterSpec { name: stringify!($name), default: $default, low: $low, high: $high },)*
            ];

            /// The value of a parameter; `None` for an unknown name.
            pub fn get(&self, name: &str) -> Option<i32> {
                match name {
                    $(stringify!($name) => Some(self.$name),)*
                    _ => None,
                }
            }

            fn place(&mut self, name: &str) -> Option<&mut i32> {
                match name {
                    $(stringify!($name) => Some(&mut self.$name),)*
                    _ => None,
                }
            }
        }
    };
}

parameters! {
    /// Aspiration windows: the first margin on both sides of the last value.
    aspiration = 16 in 5..=60;
    /// Reverse futility pruning: the margin above beta per ply.
    reverse_futility = 75 in 20..=200;
    /// How much smaller that margin is where the evaluation improves.
    reverse_futility_improving = 60 in 0..=150;
    /// The largest depth of reverse futility pruning.
    reverse_futility_depth = 8 in 2..=14;
    /// Razoring: the margin below alpha.
    razoring = 220 in 50..=600;
    /// What a ply adds to that margin.
    razoring_per_ply = 180 in 50..=500;
    /// The largest depth of razoring.
    razoring_depth = 3 in 1..=6;
    /// Null moves: the least reduction.
    null_move = 3 in 2..=6;
    /// The depth that adds a ply to that reduction.
    null_move_divisor = 3 in 2..=8;
    /// The surplus over beta that adds a ply to that reduction.
    null_move_surplus = 200 in 80..=500;
    /// Late move pruning: the quiet moves searched at depth zero.
    quiet_limit = 3 in 1..=10;
    /// The quiet moves added per squared ply, in hundredths.
    quiet_limit_per_ply = 100 in 40..=200;
    /// The largest depth of late move pruning.
    quiet_limit_depth = 8 in 3..=12;
    /// Futility pruning: the margin below alpha.
    futility = 100 in 20..=300;
    /// What a ply adds to that margin.
    futility_per_ply = 90 in 30..=200;
    /// The largest reduced depth of futility pruning.
    futility_depth = 7 in 3..=12;
    /// Pruning by static exchange: the loss allowed to a quiet move, per ply.
    quiet_exchange = 60 in 10..=150;
    /// The loss allowed to a capture, per squared ply.
    capture_exchange = 25 in 5..=80;
    /// The largest depth of pruning by static exchange.
    exchange_depth = 8 in 3..=14;
    /// History pruning: the history below which a quiet move is pruned, negated, per ply.
    history_pruning = 3_500 in 500..=10_000;
    /// The largest reduced depth of history pruning.
    history_pruning_depth = 4 in 1..=10;
    /// Delta pruning in quiescence: the margin above what a capture takes.
    delta = 200 in 50..=500;
    /// Late move reductions: plies in hundredths, whatever depth and place.
    reduction = 60 in 0..=150;
    /// Plies per squared binary logarithm, of depth times place, in hundredths.
    reduction_slope = 22 in 10..=40;
    /// The history that is worth a ply of reduction.
    reduction_history = 9_000 in 3_000..=25_000;
    /// The least depth of singular extensions.
    singular_depth = 8 in 5..=12;
    /// How far the other moves have to be below the table's value, per ply, in sixteenths.
    singular_margin = 32 in 8..=64;
    /// The history bonus of a cutoff, per ply.
    history_bonus = 170 in 50..=400;
    /// What is taken off that bonus.
    history_bonus_offset = 90 in 0..=300;
    /// The largest history bonus.
    history_bonus_limit = 1_900 in 500..=4_000;
    /// Correction history: the weight of the pawn structure, in 1/2048 of an entry's centipawns; 0 is none.
    correction_pawns = 0 in 0..=300;
    /// The weight of each side's pieces.
    correction_pieces = 0 in 0..=300;
    /// The weight of the last two moves.
    correction_moves = 0 in 0..=300;
    /// ProbCut: the margin above beta that a capture has to reach; 0 is none.
    probcut = 0 in 0..=400;
    /// Double extension of a singular move: how far the others have to be below its margin; 0 is never.
    double_extension = 0 in 0..=100;
    /// The share of the history bonus, in percent, that the opponent's move gets where every answer fails low.
    refutation_bonus = 0 in 0..=200;
    /// A reduced move that fails high this far above the best value is searched a ply deeper; 0 is never.
    deeper = 0 in 0..=150;
    /// One that fails high by less is searched a ply less deep; 0 is never.
    shallower = 0 in 0..=40;
    /// Cutoffs among a move's answers from which on later moves are reduced a ply more; 0 is never.
    answer_cutoffs = 0 in 0..=10;
    /// Whether quiet moves are reduced a ply more where the table's move is a capture: 0 or 1.
    reduction_after_capture = 0 in 0..=1;
    /// Whether quiescence stands pat on the table's value where it is a better bound: 0 or 1.
    stand_pat_on_table = 0 in 0..=1;
}

/// The name, default and bounds of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterSpec {
    /// Its name.
    pub name: &'static str,
    /// What the engine plays with.
    pub default: i32,
    /// The least value.
    pub low: i32,
    /// The largest value.
    pub high: i32,
}

/// A parameter that cannot be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParameterError {
    /// There is none of this name.
    Unknown(String),
    /// The value is outside the bounds.
    OutOfRange(ParameterSpec, i32),
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParameterError::Unknown(name) => write!(f, "the search has no parameter {name:?}"),
            ParameterError::OutOfRange(ParameterSpec { name, low, high, .. }, value) => {
                write!(f, "{name} is {value} (expected {low} to {high})")
            }
        }
    }
}

impl std::error::Error for ParameterError {}

impl Parameters {
    /// Sets a parameter.
    ///
    /// # Errors
    /// If there is none of this name, or the value is outside its bounds.
    pub fn set(&mut self, name: &str, value: i32) -> Result<(), ParameterError> {
        let unknown = || ParameterError::Unknown(name.to_owned());
        let spec = Parameters::SPECS.iter().find(|spec| spec.name == name).ok_or_else(unknown)?;
        if !(spec.low..=spec.high).contains(&value) {
            return Err(ParameterError::OutOfRange(*spec, value));
        }
        *self.place(name).ok_or_else(unknown)? = value;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_is_reached_by_its_name_within_its_bounds() {
        for spec in Parameters::SPECS {
            let mut parameters = Parameters::default();
            assert_eq!(parameters.get(spec.name), Some(spec.default));
            assert!((spec.low..=spec.high).contains(&spec.default), "{spec:?}");
            for value in [spec.low, spec.high] {
                parameters.set(spec.name, value).unwrap();
                assert_eq!(parameters.get(spec.name), Some(value));
            }
            let error = parameters.set(spec.name, spec.high + 1).unwrap_err();
            assert!(error.to_string().starts_with(spec.name), "{error}");
        }
        let error = Parameters::default().set("contempt", 1).unwrap_err();
        assert_eq!(error.to_string(), "the search has no parameter \"contempt\"");
        assert_eq!(Parameters::default().get("contempt"), None);
    }
}
