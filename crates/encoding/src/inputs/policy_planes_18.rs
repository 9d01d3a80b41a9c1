use shakmaty::Position;

use super::policy_837::{PLANES, Policy837};
use crate::{
    ElementKind, Encoding, EncodingId, FeatureList, InputSpec, Row, Situation, SparseEncoding, VocabularyId,
};

/// The planes of Learning a Chess Policy's convolutional network on the plain board: the 13 of `policy-planes-13`,
/// then a constant plane for each of its 5 meta numbers.
pub(crate) struct PolicyPlanes18;

impl Encoding for PolicyPlanes18 {
    fn id(&self) -> EncodingId {
        EncodingId("policy-planes-18")
    }

    fn inputs(&self) -> &'static [InputSpec] {
        &[InputSpec { name: "planes", shape: &[18, 8, 8], kind: ElementKind::Value }]
    }

    fn encode(&self, situation: &Situation<'_>, row: &mut Row<'_>) {
        let mut features = FeatureList::new();
        Policy837.features(situation.position, situation.position.turn(), &mut features);
        let values = row.values(0);
        for feature in features {
            let (index, value) = (usize::from(feature.index), f32::from(feature.amount));
            match index.checked_sub(PLANES) {
                None => values[index] = value,
                Some(meta) => values[PLANES + meta * 64..][..64].fill(value),
            }
        }
    }

    fn default_vocabulary(&self) -> Option<VocabularyId> {
        Some(VocabularyId("canonical-1968"))
    }
}
