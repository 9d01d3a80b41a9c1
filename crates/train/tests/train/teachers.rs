//! What teachers say stands in the targets, and what the student is told belongs to the teacher.

use std::path::{Path, PathBuf};

use tabia_encoding::{Elo, RatingPool};
use tabia_train::{ABSENT, Examples, FeedSupply, Supply, SupplyOptions, Teacher, Teaching};
use tempfile::tempdir;

use crate::configs::config;
use crate::sets;

fn network(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

fn teacher(elo: u16) -> Teacher {
    Teacher::open(&network("fixtures/models/statedict/policy-mlp.pt"), Elo(elo), RatingPool::Online).unwrap()
}

/// A batch of which the share of positions given is taught, whatever is known of the players.
fn batch(share: f32, teachers: Vec<Teacher>) -> Examples {
    let folder = tempdir().unwrap();
    let dir = folder.path().join("games");
    sets::games(&dir);
    let (mut config, _) = config("human");
    config.data.teaching = Teaching { rated: share, unrated: share };
    let options = SupplyOptions { sets: vec![dir], mix: Vec::new(), seed: 1, threads: 2, teachers };
    FeedSupply::open(&config, options, None).unwrap().next().unwrap()
}

#[test]
fn distilled_position_has_teacher_rating_and_policy_but_no_result() {
    let examples = batch(1.0, vec![teacher(1300)]);
    let policy = examples.policy.as_ref().unwrap();
    assert_eq!(policy.soft.starts.len(), examples.rows() + 1);
    for row in 0..examples.rows() {
        let target: Vec<_> = policy.target_of(row).collect();
        let sum: f32 = target.iter().map(|(_, probability)| probability).sum();
        assert!((sum - 1.0).abs() < 1e-4, "row {row} adds up to {sum}");
        let legal: Vec<u16> = policy.legal_of(row).collect();
        assert!(target.iter().all(|(index, _)| legal.contains(index)), "row {row}");
        assert!(target.windows(2).all(|pair| pair[0].0 < pair[1].0), "row {row}: an index twice");
        let likeliest = target.iter().map(|(_, probability)| *probability).fold(0.0, f32::max);
        assert!(target.contains(&(policy.played[row], likeliest)), "row {row}");
        assert_eq!((examples.facts[row].rating, examples.facts[row].pool), (1300, 2));
        assert_eq!(
            (examples.outcomes[row], examples.think[row], policy.promotions[row]),
            (ABSENT, ABSENT, ABSENT)
        );
    }
    let several = |row: &usize| policy.target_of(*row).count() > 1;
    assert!((0..examples.rows()).any(|row| several(&row)), "a teacher is rarely sure");
}

#[test]
fn configured_share_of_positions_is_distilled() {
    let plain = batch(0.5, Vec::new());
    assert!(plain.policy.as_ref().unwrap().soft.starts.is_empty());
    let mixed = batch(0.5, vec![teacher(1300), teacher(1700)]);
    let taught =
        |rating: u16| mixed.facts.iter().filter(|facts| facts.rating == rating && facts.pool == 2).count();
    assert!(taught(1300) > 0 && taught(1700) > 0);
    let soft = &mixed.policy.as_ref().unwrap().soft.starts;
    let with_targets = soft.windows(2).filter(|ends| ends[0] < ends[1]).count();
    assert!((1..mixed.rows()).contains(&with_targets), "{with_targets} of {}", mixed.rows());
}

#[test]
fn same_seed_gives_same_distillation_targets() {
    let twice = [0, 1].map(|_| batch(0.5, vec![teacher(1300), teacher(1700)]));
    let [first, second] = twice.map(|examples| examples.policy.unwrap());
    assert_eq!(first, second);
}

#[test]
fn value_network_cannot_be_a_teacher() {
    let error =
        Teacher::open(&network("models/challenge-s.onnx"), Elo(1500), RatingPool::Online).unwrap_err();
    assert!(error.to_string().contains("challenge-s.onnx"), "{error}");
}
