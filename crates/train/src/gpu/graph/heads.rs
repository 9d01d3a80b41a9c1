//! The plan of the losses: from the heads' logits to the loss of every example and the logits' gradients.

use super::plan::Planner;
use super::record::Head;
use super::work::{Given, Grid, at, float, int};
use crate::ValueLoss;
use crate::losses::ValueRule;
use tabia_gpu::{Address, Device, DeviceError, Element};

/// The places of the heads' losses.
const POLICY: usize = 0;
const PROMOTION: usize = 1;
const OUTCOME: usize = 2;
const THINK: usize = 3;
const VALUE: usize = 4;

/// The most classes a warp compares.
const MOST_CLASSES: usize = 32;

impl<D: Device> Planner<'_, D> {
    /// The losses of every head there is. Those of the others stay zero.
    pub(super) fn losses(&mut self, rule: ValueRule) -> Result<(), DeviceError> {
        let heads = &self.record.heads;
        let places = self.training.places.clone();
        if let Some(head) = heads.policy {
            let gradient = self.begin(&head)?;
            let factor = self.training.factors[POLICY];
            let arguments = [
                at(self.values[head.of]),
                Given::Column(places.legal),
                Given::Column(places.played),
                Given::SoftStarts,
                Given::Column(places.indices),
                Given::Column(places.probabilities),
                Given::Column(places.share),
                float(factor),
                at(self.training.losses(POLICY)),
                at(self.training.ranks()),
                at(gradient),
                int(head.width),
                int(head.stride),
            ];
            self.launch("any_move_loss", Grid::Examples, &arguments);
        }
        let classes = [
            (heads.promotion, PROMOTION, places.promotions),
            (heads.outcome, OUTCOME, places.outcomes),
            (heads.think, THINK, places.think),
        ];
        for (head, number, targets) in classes {
            let Some(head) = head else { continue };
            if head.width > MOST_CLASSES {
                return Err(DeviceError::new("planning the network", "a head of more than 32 classes"));
            }
            let gradient = self.begin(&head)?;
            let arguments = [
                at(self.values[head.of]),
                Given::Column(targets),
                Given::Column(places.played),
                Given::Column(places.share),
                float(self.training.factors[number]),
                at(self.training.losses(number)),
                at(gradient),
                int(head.width),
                int(head.stride),
                int(head.rows),
                Given::Examples(1),
            ];
            self.launch("class_loss", Grid::Threads(32), &arguments);
        }
        if let Some(head) = heads.value {
            let gradient = self.begin(&head)?;
            let kind = match rule.loss {
                ValueLoss::L1 => 0,
                ValueLoss::Squared => 1,
                ValueLoss::Chance => 2,
                ValueLoss::CrossEntropy => 3,
            };
            let arguments = [
                at(self.values[head.of]),
                Given::Column(places.values),
                Given::Column(places.share),
                float(self.training.factors[VALUE]),
                at(self.training.losses(VALUE)),
                at(self.training.values()),
                at(gradient),
                int(kind),
                float(rule.logit_scale),
                Given::Column(places.siblings),
                int(rule.siblings),
                float(rule.ranking),
                float(rule.temperature),
                Given::Examples(1),
            ];
            self.launch("value_loss", Grid::Threads(1), &arguments);
        }
        Ok(())
    }

    /// A buffer for the gradient of a head's logits, which are to be 32-bit floats.
    fn begin(&mut self, head: &Head) -> Result<Address, DeviceError> {
        if self.elements[head.of] != Element::F32 || self.gradients[head.of] != Address::NULL {
            return Err(DeviceError::new("planning the network", "two heads of one value"));
        }
        let gradient = self.room(self.row(head.of), Element::Bf16)?;
        self.gradients[head.of] = gradient;
        Ok(gradient)
    }
}
