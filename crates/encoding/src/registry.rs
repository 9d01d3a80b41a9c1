use crate::inputs::{
    challenge_768::Challenge768,
    challenge_1540::Challenge1540,
    humchess_68::HumChess68,
    humchess_74::HumChess74,
    lc0_112::{LC0_112, LC0_112_CASTLING},
    maia2_18::Maia218,
    maia3::{MAIA3_12, MAIA3_96},
    pair_769::Pair769,
    policy_837::Policy837,
    policy_planes_13::PolicyPlanes13,
    policy_planes_17::PolicyPlanes17,
    policy_planes_18::PolicyPlanes18,
    rusty_774::Rusty774,
    rusty_902::Rusty902,
    rusty_planes_15::RustyPlanes15,
    searchless_79::Searchless79,
    tabia_human_1::TabiaHuman1,
    tabia_human_2::TabiaHuman2,
};
use crate::moves::{
    canonical_1968::{CANONICAL_1968, CANONICAL_1968_MOVER},
    from_to_4096::{FROM_TO_4096, FROM_TO_4096_MIRRORED},
    lc0_1858::Lc01858,
    maia2_1880::Maia21880,
    maia3_4352::Maia34352,
    searchless_1968::Searchless1968,
};
use crate::{Encoding, MoveVocabulary};

static ENCODINGS: &[&dyn Encoding] = &[
    &HumChess68,
    &HumChess74,
    &Rusty774,
    &Rusty902,
    &RustyPlanes15,
    &Pair769,
    &Challenge768,
    &Challenge1540,
    &Policy837,
    &PolicyPlanes13,
    &PolicyPlanes17,
    &PolicyPlanes18,
    &LC0_112,
    &LC0_112_CASTLING,
    &TabiaHuman1,
    &TabiaHuman2,
    &MAIA3_96,
    &MAIA3_12,
    &Maia218,
    &Searchless79,
];

static VOCABULARIES: &[&dyn MoveVocabulary] = &[
    &FROM_TO_4096,
    &FROM_TO_4096_MIRRORED,
    &CANONICAL_1968,
    &CANONICAL_1968_MOVER,
    &Lc01858,
    &Maia34352,
    &Maia21880,
    &Searchless1968,
];

/// Every encoding, in documentation order.
pub fn encodings() -> impl ExactSizeIterator<Item = &'static dyn Encoding> {
    ENCODINGS.iter().copied()
}

/// The encoding with this id.
pub fn encoding(id: &str) -> Option<&'static dyn Encoding> {
    encodings().find(|e| e.id().0 == id)
}

/// Every move vocabulary, in documentation order.
pub fn vocabularies() -> impl ExactSizeIterator<Item = &'static dyn MoveVocabulary> {
    VOCABULARIES.iter().copied()
}

/// The move vocabulary with this id.
pub fn vocabulary(id: &str) -> Option<&'static dyn MoveVocabulary> {
    vocabularies().find(|v| v.id().0 == id)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::{Perspective, Unit, ValueConvention};

    #[test]
    fn ids_are_unique_and_found() {
        let ids: HashSet<_> = encodings().map(Encoding::id).collect();
        assert_eq!(ids.len(), encodings().len());
        assert!(encodings().all(|e| encoding(e.id().0).is_some_and(|found| found.id() == e.id())));
        let ids: HashSet<_> = vocabularies().map(MoveVocabulary::id).collect();
        assert_eq!(ids.len(), vocabularies().len());
        assert!(encoding("humchess").is_none() && vocabulary("").is_none());
    }

    #[test]
    fn encodings_say_how_their_systems_read_values() {
        let read = |id| encoding(id).unwrap().value_convention();
        for id in ["rusty-774", "rusty-902", "rusty-planes-15"] {
            assert_eq!(read(id).perspective, Perspective::White, "{id}");
        }
        assert_eq!(read("lc0-112").unit, Unit::Expectation);
        assert_eq!(read("pair-769").perspective, Perspective::ContextMover);
        assert_eq!(read("challenge-768"), ValueConvention::default());
        let challenge: Vec<_> = encodings().filter(|e| e.is_challenge()).map(|e| e.id().0).collect();
        assert_eq!(challenge, ["challenge-768", "challenge-1540"]);
    }

    #[test]
    fn default_vocabularies_exist() {
        for id in encodings().filter_map(Encoding::default_vocabulary) {
            assert!(vocabulary(id.0).is_some(), "{id}");
        }
    }
}
