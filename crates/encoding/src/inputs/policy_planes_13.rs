use shakmaty::Position;

use super::policy_837::{META, PLANES, Policy837};
use crate::{
    ElementKind, Encoding, EncodingId, FeatureList, InputSpec, Row, Situation, SparseEncoding, VocabularyId,
};

/// `policy-837` as two inputs, as in the data files of Learning a Chess Policy: 13 planes [plane, rank, file] and 5 meta
/// numbers.
pub(crate) struct PolicyPlanes13;

impl Encoding for PolicyPlanes13 {
    fn id(&self) -> EncodingId {
        EncodingId("policy-planes-13")
    }

    fn inputs(&self) -> &'static [InputSpec] {
        &[
            InputSpec { name: "planes", shape: &[13, 8, 8], kind: ElementKind::Value },
            InputSpec { name: "meta", shape: &[META], kind: ElementKind::Value },
        ]
    }

    fn encode(&self, situation: &Situation<'_>, row: &mut Row<'_>) {
        let mut features = FeatureList::new();
        Policy837.features(situation.position, situation.position.turn(), &mut features);
        for feature in features {
            let (index, value) = (usize::from(feature.index), f32::from(feature.amount));
            match index.checked_sub(PLANES) {
                None => row.values(0)[index] = value,
                Some(index) => row.values(1)[index] = value,
            }
        }
    }

    fn default_vocabulary(&self) -> Option<VocabularyId> {
        Some(VocabularyId("canonical-1968"))
    }
}
