use crate::{Encoding, MoveVocabulary};

static ENCODINGS: &[&dyn Encoding] = &[];

static VOCABULARIES: &[&dyn MoveVocabulary] = &[];

/// Every encoding, in the order of the documentation.
pub fn encodings() -> impl ExactSizeIterator<Item = &'static dyn Encoding> {
    ENCODINGS.iter().copied()
}

/// The encoding with this id.
pub fn encoding(id: &str) -> Option<&'static dyn Encoding> {
    encodings().find(|e| e.id().0 == id)
}

/// Every move vocabulary, in the order of the documentation.
pub fn vocabularies() -> impl ExactSizeIterator<Item = &'static dyn MoveVocabulary> {
    VOCABULARIES.iter().copied()
}

/// The move vocabulary with this id.
pub fn vocabulary(id: &str) -> Option<&'static dyn MoveVocabulary> {
    vocabularies().find(|v| v.id().0 == id)
}
