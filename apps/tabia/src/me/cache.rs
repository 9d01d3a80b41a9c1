//! What a network said before, in a file, so that adapters can be learned again without it.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result};
use shakmaty::Position as _;
use tabia_encoding::TIME_BINS;
use tabia_model::{Candidate, Model};
use tabia_practice::{Asked, Predict, Prediction};
use tabia_runtime::RunError;

/// A network that is asked about each move once.
pub(super) struct Cached<'a> {
    model: &'a Model,
    network: u64,
    known: Mutex<HashMap<u64, Vec<f32>>>,
    file: Option<Mutex<File>>,
}

impl Cached<'_> {
    /// Reads what is in the file. A part that was not written to the end is ignored.
    pub(super) fn open<'a>(model: &'a Model, path: Option<&Path>) -> Result<Cached<'a>> {
        let mut known = HashMap::new();
        let mut file = None;
        if let Some(path) = path {
            let at = || path.display().to_string();
            let mut opened =
                OpenOptions::new().read(true).append(true).create(true).open(path).with_context(at)?;
            let mut bytes = Vec::new();
            opened.read_to_end(&mut bytes).with_context(at)?;
            let mut rest = bytes.as_slice();
            while let Some((key, values, after)) = record(rest) {
                known.insert(key, values);
                rest = after;
            }
            file = Some(Mutex::new(opened));
        }
        let network = u64::from_str_radix(model.sha256().get(..16).unwrap_or("0"), 16).unwrap_or(0);
        Ok(Cached { model, network, known: Mutex::new(known), file })
    }

    fn keep(&self, key: u64, values: Vec<f32>) {
        if let Some(file) = &self.file {
            let mut bytes = key.to_le_bytes().to_vec();
            bytes.extend((values.len() as u32).to_le_bytes());
            bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
            let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
            // A cache that cannot be written is asked again next time.
            let _ = file.write_all(&bytes);
        }
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(key, values);
    }
}

fn record(bytes: &[u8]) -> Option<(u64, Vec<f32>, &[u8])> {
    let (key, rest) = bytes.split_first_chunk::<8>()?;
    let (count, rest) = rest.split_first_chunk::<4>()?;
    let (values, rest) = rest.split_at_checked(4 * u32::from_le_bytes(*count) as usize)?;
    let values = values.chunks_exact(4).filter_map(|four| Some(f32::from_le_bytes(four.try_into().ok()?)));
    Some((u64::from_le_bytes(*key), values.collect(), rest))
}

impl Predict for Cached<'_> {
    fn predict(&self, asked: &Asked<'_>) -> Result<Vec<Prediction>, RunError> {
        let legal = asked.history.current().legal_moves();
        let key = |rating: &Option<tabia_encoding::Elo>| {
            let parts = [asked.game, asked.ply as u64, rating.map_or(0, |elo| u64::from(elo.0))];
            parts.iter().fold(self.network, |hash, part| {
                let mixed = (hash ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                mixed ^ (mixed >> 29)
            })
        };
        let keys: Vec<u64> = asked.ratings.iter().map(key).collect();
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let missing: Vec<usize> =
            (0..keys.len()).filter(|place| !known.contains_key(&keys[*place])).collect();
        drop(known);
        if !missing.is_empty() {
            let ratings: Vec<_> = missing.iter().map(|place| asked.ratings[*place]).collect();
            let said = self.model.predict(&Asked { ratings: &ratings, ..*asked })?;
            for (place, said) in missing.iter().zip(said) {
                let probability =
                    |m| said.candidates.iter().find(|of| of.mv == m).map_or(0.0, |of| of.probability);
                let mut values: Vec<f32> = legal.iter().map(|m| probability(*m)).collect();
                values.extend(said.think_time.iter().flatten());
                self.keep(keys[*place], values);
            }
        }
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let nothing = Vec::new();
        let said = keys.iter().map(|key| {
            let values = known.get(key).unwrap_or(&nothing);
            let (policy, time) = values.split_at(legal.len().min(values.len()));
            let mut candidates: Vec<Candidate> = legal
                .iter()
                .zip(policy)
                .map(|(mv, probability)| Candidate { mv: *mv, probability: *probability })
                .collect();
            candidates.sort_by(|a, b| b.probability.total_cmp(&a.probability));
            Prediction { candidates, think_time: <[f32; TIME_BINS]>::try_from(time).ok() }
        });
        Ok(said.collect())
    }
}
