//! Labels: the known rule is kept to the bit, the others keep their promises.

use crate::random_games::{evaluation, position};
use shakmaty::Position;
use tabia_data::{EvaluationRecord, LabelStrategy, Line, Session, entropy};
use tabia_encoding::{Analysis, ForWhite, Score, TEMPERATURE_CP, parse_uci, soft_labels};

#[test]
fn deepest_matches_learning_a_chess_policy() {
    for seed in 0..200 {
        let record = evaluation(seed);
        let mut analyses = Vec::new();
        for session in &record.sessions {
            for line in &session.lines {
                analyses.push(Analysis { mv: line.first, depth: session.depth.into(), score: line.score });
            }
        }
        for temperature_cp in [TEMPERATURE_CP, 120.0] {
            let labels = LabelStrategy::Deepest { temperature_cp }.labels(&record);
            assert_eq!(labels, soft_labels(&analyses, record.position.turn(), temperature_cp));
        }
    }
    assert_eq!(LabelStrategy::default(), LabelStrategy::Deepest { temperature_cp: 50.0 });
}

#[test]
fn every_strategy_sums_to_one_and_prefers_the_best() {
    for text in ["deepest", "sessions", "best", "win-chance", "deepest:80", "win-chance:0.1"] {
        let strategy: LabelStrategy = text.parse().unwrap();
        assert_eq!(strategy.to_string(), text);
        let json = serde_json::to_string(&strategy).unwrap();
        assert_eq!(
            (json.as_str(), serde_json::from_str(&json).ok()),
            (&*format!("\"{text}\""), Some(strategy))
        );
        for seed in 0..100 {
            let record = evaluation(seed);
            let labels = strategy.labels(&record);
            let sum: f32 = labels.iter().map(|label| label.1).sum();
            assert!((sum - 1.0).abs() < 1e-5, "{text}: {sum}");
            if !text.starts_with("sessions") {
                let best = record.sessions[0].lines[0].first;
                let likeliest = labels.iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
                assert_eq!(likeliest.0, best, "{text}");
            }
            assert!(entropy(&labels) >= 0.0 && entropy(&labels) <= (labels.len() as f32).ln() + 1e-5);
        }
    }
    for text in ["", "deep", "best:3", "deepest:", "deepest:-1", "deepest:nan", "sessions:0"] {
        assert!(text.parse::<LabelStrategy>().is_err(), "{text}");
    }
}

fn record(sessions: &[(u8, &[(&str, i32)])]) -> EvaluationRecord {
    let position = position("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1");
    let sessions = sessions.iter().map(|&(depth, lines)| Session {
        depth,
        knodes: 1,
        lines: lines
            .iter()
            .map(|&(m, cp)| Line {
                first: parse_uci(&position, m).unwrap(),
                score: ForWhite(Score::Centipawns(cp)),
            })
            .collect(),
    });
    EvaluationRecord { sessions: sessions.collect(), position: position.clone() }
}

#[test]
fn deeper_sessions_weigh_more() {
    let record = record(&[(39, &[("e2e4", 30)]), (19, &[("d2d4", 40)])]);
    let labels = LabelStrategy::Sessions { temperature_cp: 50.0 }.labels(&record);
    assert!((labels[0].1 - 40.0 / 60.0).abs() < 1e-6 && (labels[1].1 - 20.0 / 60.0).abs() < 1e-6);
    assert_eq!(LabelStrategy::Best.labels(&record), [(labels[0].0, 1.0)]);
    assert_eq!(entropy(&LabelStrategy::Best.labels(&record)), 0.0);
}

#[test]
fn win_chance_labels_are_softer_in_decided_positions() {
    let strategy: LabelStrategy = "win-chance".parse().unwrap();
    let even = strategy.labels(&record(&[(30, &[("e2e4", 20), ("d2d4", -60)])]));
    let won = strategy.labels(&record(&[(30, &[("e2e4", 920), ("d2d4", 840)])]));
    assert!(even[1].1 < 0.2 && won[1].1 > 0.4, "{even:?} {won:?}");
    let nothing = record(&[]);
    assert!(
        ["deepest", "sessions", "best", "win-chance"].iter().all(|text| text
            .parse::<LabelStrategy>()
            .unwrap()
            .labels(&nothing)
            .is_empty())
    );
}
