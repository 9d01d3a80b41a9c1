//! A light search beside a network that predicts people's moves: it talks the player out of some of its mistakes.

use shakmaty::{Move, Position};
use tabia_game::History;
use tabia_model::Candidate;

use crate::{
    Engine, EngineOptions, Evaluator, Limits, Player, PlayerError, SearchControl, policy::normalise,
    time_cap::TimeCap, winning_chance,
};

/// A move less likely than this is not thought of, unless there are too few others.
const UNTHINKABLE: f32 = 0.003;
/// At least and at most so many are, where there are as many.
const FEWEST: usize = 2;
const MOST: usize = 16;

/// What the search need not look at closely: moves that come out less likely than this, against the likeliest.
const NEGLIGIBLE: f32 = 0.02;

/// Who trusts the search more than this gives up habits for it.
const TRUSTING: f32 = 60.0;

/// A mate that the network holds for less likely than this is not seen.
const UNSEEN: f32 = 0.001;

/// How much a player listens to a light search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchBlend {
    /// How much a move that throws the whole game away, in the eyes of the search, loses of the logarithm of its
    /// probability; 0 is not to search.
    pub trust: f32,
    /// Positions the search visits for a move.
    pub nodes: u32,
    /// How often a mate in one is seen, at the least.
    pub mates: f32,
}

impl SearchBlend {
    /// The nodes of a search that nobody has set: some milliseconds, on a phone some tens.
    pub const USUAL_NODES: u32 = 1000;

    /// The network alone.
    pub const NONE: SearchBlend = SearchBlend { trust: 0.0, nodes: SearchBlend::USUAL_NODES, mates: 0.0 };
}

/// Room for the positions of some moves.
fn table_mib(nodes: u32) -> usize {
    const POSITIONS_A_MIB: u32 = 1 << 13;
    nodes.div_ceil(POSITIONS_A_MIB).next_power_of_two().clamp(1, 16) as usize
}

/// The search, and how much it counts. Within a game it remembers what it has looked at.
pub(crate) struct PolicySearch {
    engine: Engine,
    blend: SearchBlend,
}

impl PolicySearch {
    pub(crate) fn new(blend: SearchBlend, evaluator: Box<dyn Evaluator>) -> PolicySearch {
        let options = EngineOptions { hash_mib: table_mib(blend.nodes), ..EngineOptions::default() };
        PolicySearch { engine: Engine::new("policy_search", options, evaluator), blend }
    }

    /// Another game begins.
    pub(crate) fn new_game(&mut self) {
        self.engine.new_game();
    }

    /// Changes the probabilities of the candidates; they come out sorted, likeliest first. Returns how many positions
    /// were looked at.
    pub(crate) fn weigh(
        &mut self,
        game: &History,
        candidates: &mut [Candidate],
        mate: Option<Move>,
        time_cap: &TimeCap<'_>,
    ) -> Result<u64, PlayerError> {
        let mut nodes = 0;
        if self.blend.trust > 0.0 && candidates.len() > 1 {
            nodes = self.search(game, candidates, time_cap)?;
        }
        // A person may have lost sight of it on the way.
        if let Some(mate) = mate.filter(|mate| candidates.iter().any(|candidate| candidate.mv == *mate)) {
            show(candidates, mate, self.blend.mates);
        }
        candidates.sort_by(|a, b| b.probability.total_cmp(&a.probability));
        Ok(nodes)
    }

    /// The likeliest mate in one, if a person might see one at all. The candidates are sorted, likeliest first.
    pub(crate) fn mate(&self, game: &History, candidates: &[Candidate]) -> Option<Move> {
        let mates = |candidate: &&Candidate| {
            let mut after = game.current().clone();
            after.play_unchecked(candidate.mv);
            after.is_checkmate()
        };
        let likely = candidates.iter().take_while(|candidate| candidate.probability >= UNSEEN);
        likely.filter(|_| self.blend.mates > 0.0).find(mates).map(|candidate| candidate.mv)
    }

    /// Looks at the candidates and weighs them by what they lose.
    fn search(
        &mut self,
        game: &History,
        candidates: &mut [Candidate],
        time_cap: &TimeCap<'_>,
    ) -> Result<u64, PlayerError> {
        let trust = self.blend.trust;
        let nodes = time_cap.positions(u64::from(self.blend.nodes));
        if nodes == 0 {
            return Ok(0);
        }
        let likely = candidates.iter().map(|candidate| candidate.probability);
        let (least, most) = likely.fold((1.0, 0.0), |(least, most), p| (p.min(least), p.max(most)));
        // The best move may be the least likely: even then, the likeliest is negligible if it loses more. Who trusts the
        // search more than that plays nothing that loses so much, however likely.
        let stubborn = (most / least.max(f32::MIN_POSITIVE)).ln() * (TRUSTING / trust).min(1.0);
        let within = (stubborn - NEGLIGIBLE.ln()) / trust;
        let moves: Vec<Move> = candidates.iter().map(|candidate| candidate.mv).collect();
        let (mut verdicts, visited) = self.verdicts(game, &moves, nodes, within, time_cap)?;
        // The dials were fitted to searches of all their nodes, in which what has no value of its own counts as refuted where
        // the search is selective and as no loss where it is not. Of a search cut short by the clock or by a stop only that
        // counts which it has shown.
        let cut_short = nodes < u64::from(self.blend.nodes) || time_cap.stopped();
        if !cut_short && verdicts.iter().any(|verdict| matches!(verdict, Verdict::Costs(_))) {
            let other = if within < 1.0 { Verdict::Refuted } else { Verdict::Costs(0.0) };
            for verdict in verdicts.iter_mut().filter(|verdict| !matches!(verdict, Verdict::Costs(_))) {
                *verdict = other;
            }
        }
        reweigh(candidates, &verdicts, trust);
        Ok(visited)
    }

    /// What the search says of each move, and how many positions it visited. What costs more than `within` is not looked
    /// at closely.
    fn verdicts(
        &mut self,
        game: &History,
        moves: &[Move],
        nodes: u64,
        within: f32,
        time_cap: &TimeCap<'_>,
    ) -> Result<(Vec<Verdict>, u64), PlayerError> {
        let limits = Limits {
            nodes: Some(nodes),
            search_moves: moves.to_vec(),
            lines: moves.len(),
            within: (within < 1.0).then_some(within.into()),
            ..Limits::default()
        };
        let found = self.engine.choose(game, &limits, time_cap)?;
        let exact = found.lines.iter().filter(|line| !line.upper_bound);
        let best = exact.filter_map(|line| line.score.map(winning_chance)).fold(0.0, f64::max);
        let verdict = |mv: &Move| {
            let line = found.lines.iter().find(|line| line.moves.first() == Some(mv));
            match line.and_then(|line| Some((line.score?, line.upper_bound))) {
                Some((score, upper_bound)) => {
                    let loss = (best - winning_chance(score)) as f32;
                    if upper_bound { Verdict::CostsAtLeast(loss.max(0.0)) } else { Verdict::Costs(loss) }
                }
                None => Verdict::Unseen,
            }
        };
        Ok((moves.iter().map(verdict).collect(), found.nodes))
    }
}

/// What the search says of a candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Verdict {
    /// It costs this much of the chance to win, against the best.
    Costs(f32),
    /// It costs this much or more.
    CostsAtLeast(f32),
    /// It costs too much to be played.
    Refuted,
    /// The search ended before it came to it.
    Unseen,
}

/// Weighs the candidates against each other by what they cost. Those that were not seen keep their probability, and the
/// others share what they had together: a search says nothing of what it has not seen.
fn reweigh(candidates: &mut [Candidate], verdicts: &[Verdict], trust: f32) {
    let mass = |candidates: &[Candidate]| -> f32 {
        let pairs = candidates.iter().zip(verdicts);
        pairs
            .filter(|(_, verdict)| **verdict != Verdict::Unseen)
            .map(|(candidate, _)| candidate.probability)
            .sum()
    };
    let before = mass(candidates);
    for (candidate, verdict) in candidates.iter_mut().zip(verdicts) {
        candidate.probability *= match verdict {
            Verdict::Costs(loss) | Verdict::CostsAtLeast(loss) => (-trust * loss).exp(),
            Verdict::Refuted => 0.0,
            Verdict::Unseen => 1.0,
        };
    }
    if verdicts.contains(&Verdict::Unseen) {
        let after = mass(candidates);
        let share = if after > 0.0 { before / after } else { 1.0 };
        for (candidate, verdict) in candidates.iter_mut().zip(verdicts) {
            if *verdict != Verdict::Unseen {
                candidate.probability *= share;
            }
        }
    }
    normalise(candidates);
}

/// Leaves the moves a person thinks of, and the mate.
pub(crate) fn keep_thinkable(candidates: &mut Vec<Candidate>, mate: Option<Move>) {
    let mut place = 0;
    candidates.retain(|candidate| {
        let thought_of = place < FEWEST || (place < MOST && candidate.probability >= UNTHINKABLE);
        place += 1;
        (thought_of && candidate.probability > 0.0) || mate == Some(candidate.mv)
    });
    normalise(candidates);
}

/// Makes one of the candidates at least so likely.
fn show(candidates: &mut [Candidate], mate: Move, least: f32) {
    let now = candidates.iter().find(|candidate| candidate.mv == mate).map_or(1.0, |found| found.probability);
    if now >= least.min(1.0) {
        return;
    }
    for candidate in candidates {
        let share = (1.0 - least) / (1.0 - now);
        candidate.probability = if candidate.mv == mate { least } else { candidate.probability * share };
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use shakmaty::ByColor;
    use tabia_encoding::parse_uci;
    use tabia_game::position_from_fen;

    use super::*;
    use crate::{BaselineEvaluator, NoControl};

    fn weighed(fen: &str, blend: SearchBlend, moves: &[(&str, f32)]) -> Vec<(String, f32)> {
        hurried(fen, blend, moves, &Limits::default(), &NoControl)
    }

    fn hurried(
        fen: &str,
        blend: SearchBlend,
        moves: &[(&str, f32)],
        limits: &Limits,
        watch: &dyn SearchControl,
    ) -> Vec<(String, f32)> {
        let game = History::new(position_from_fen(fen).unwrap(), ByColor::default());
        let mv = |uci: &str| parse_uci(game.current(), uci).unwrap();
        let mut candidates: Vec<Candidate> = moves
            .iter()
            .map(|(uci, probability)| Candidate { mv: mv(uci), probability: *probability })
            .collect();
        let mut policy_search = PolicySearch::new(blend, Box::new(BaselineEvaluator));
        let mate = policy_search.mate(&game, &candidates);
        keep_thinkable(&mut candidates, mate);
        let time_cap = TimeCap::of(limits, game.current().turn(), watch);
        policy_search.weigh(&game, &mut candidates, mate, &time_cap).unwrap();
        let sum: f32 = candidates.iter().map(|candidate| candidate.probability).sum();
        assert!((sum - 1.0).abs() < 1e-4, "{sum}");
        assert!(candidates.is_sorted_by(|a, b| a.probability >= b.probability));
        let uci = |mv: Move| mv.to_uci(shakmaty::CastlingMode::Standard).to_string();
        candidates.iter().map(|candidate| (uci(candidate.mv), candidate.probability)).collect()
    }

    /// The rook can be taken, or given away.
    const HANGING: &str = "4k3/8/8/3r4/8/1B6/5P2/4K3 w - - 0 1";

    #[test]
    fn what_loses_becomes_unlikely_as_far_as_the_search_is_trusted() {
        let moves = [("e1e2", 0.6), ("b3d5", 0.3), ("b3c2", 0.1)];
        let taking = |trust| {
            let blend = SearchBlend { trust, ..SearchBlend::NONE };
            let weighed = weighed(HANGING, blend, &moves);
            weighed.iter().find(|(uci, _)| uci == "b3d5").unwrap().1
        };
        assert!((taking(0.0) - 0.3).abs() < 1e-5);
        assert!(taking(2.0) > taking(0.0));
        assert!(taking(30.0) > 0.95);
    }

    /// Somebody who wants the move now.
    struct Stopped;

    impl SearchControl for Stopped {
        fn elapsed(&self) -> Duration {
            Duration::ZERO
        }

        fn stopped(&self) -> bool {
            true
        }
    }

    #[test]
    fn a_search_that_saw_nothing_changes_nothing() {
        let moves = [("e1e2", 0.6), ("b3d5", 0.3), ("b3c2", 0.1)];
        // Selective, and not.
        for trust in [2.0, 30.0, 900.0] {
            let blend = SearchBlend { trust, nodes: 100_000, mates: 0.0 };
            let said = hurried(HANGING, blend, &moves, &Limits::default(), &Stopped);
            for ((uci, probability), (_, found)) in moves.iter().zip(&said) {
                assert!((probability - found).abs() < 1e-5, "{trust}: {uci}: {said:?}");
            }
        }
    }

    #[test]
    fn little_time_moves_the_probabilities_only_as_far_as_the_search_got() {
        let moves = [("e1e2", 0.6), ("b3d5", 0.3), ("b3c2", 0.1)];
        let blend = SearchBlend { trust: 100.0, nodes: 100_000, mates: 0.0 };
        let taking = |millis: u64| {
            let remaining = Duration::from_millis(1500) + Duration::from_millis(millis);
            let clock = crate::TimeLeft { remaining, increment: Duration::ZERO };
            let limits = Limits { clocks: Some(ByColor { white: clock, black: clock }), ..Limits::default() };
            let said = hurried(HANGING, blend, &moves, &limits, &NoControl);
            said.iter().find(|(uci, _)| uci == "b3d5").unwrap().1
        };
        // Two positions a millisecond: a clock without time to look ahead, then with a little more each time.
        assert!((taking(0) - 0.3).abs() < 1e-5);
        for millis in 1..200 {
            assert!(taking(millis) > 0.3 - 1e-5, "{millis}: {}", taking(millis));
        }
        assert!(taking(5_000) > 0.95);
    }

    #[test]
    fn what_was_not_seen_keeps_its_probability() {
        let after = |verdicts: [Verdict; 4]| {
            let moves = shakmaty::Chess::default().legal_moves();
            let mut candidates: Vec<Candidate> = [0.4, 0.3, 0.2, 0.1]
                .iter()
                .zip(&moves)
                .map(|(&probability, &mv)| Candidate { mv, probability })
                .collect();
            reweigh(&mut candidates, &verdicts, 10.0);
            candidates.iter().map(|candidate| candidate.probability).collect::<Vec<f32>>()
        };
        let near = |found: &[f32], expected: [f32; 4]| {
            found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-5)
        };
        let [free, refuted, unseen] = [Verdict::Costs(0.0), Verdict::Refuted, Verdict::Unseen];
        let partly = after([refuted, unseen, free, unseen]);
        assert!(near(&partly, [0.0, 0.3, 0.6, 0.1]), "{partly:?}");
        let nothing = after([unseen; 4]);
        assert!(near(&nothing, [0.4, 0.3, 0.2, 0.1]), "{nothing:?}");
        let one = after([free, unseen, unseen, unseen]);
        assert!(near(&one, [0.4, 0.3, 0.2, 0.1]), "{one:?}");
        let all = after([Verdict::Costs(100.0), refuted, free, refuted]);
        assert!(near(&all, [0.0, 0.0, 1.0, 0.0]), "{all:?}");
    }

    #[test]
    fn nobody_plays_what_nobody_thinks_of() {
        let moves = [("e1e2", 0.6), ("b3c2", 0.398), ("b3d5", 0.002)];
        let kept = weighed(HANGING, SearchBlend { trust: 100.0, ..SearchBlend::NONE }, &moves);
        assert!(kept.iter().all(|(uci, _)| uci != "b3d5"), "{kept:?}");
        let only = weighed(HANGING, SearchBlend::NONE, &[("e1e2", 1.0), ("b3c2", 0.0)]);
        assert_eq!(only.len(), 1, "what is impossible stays so: {only:?}");
    }

    #[test]
    fn a_mate_in_one_is_seen_as_often_as_asked() {
        let fen = "6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1";
        let moves = [("g1f1", 0.5), ("h2h3", 0.498), ("a1a8", 0.002)];
        let of_mate = |blend: SearchBlend| {
            let weighed = weighed(fen, blend, &moves);
            weighed.iter().find(|(uci, _)| uci == "a1a8").map(|(_, probability)| *probability)
        };
        let seen = SearchBlend { mates: 0.9, ..SearchBlend::NONE };
        assert!((of_mate(seen).unwrap() - 0.9).abs() < 1e-4);
        assert_eq!(of_mate(SearchBlend::NONE), None, "too unlikely to be thought of");
        assert!(of_mate(SearchBlend { trust: 100.0, ..seen }).unwrap() > 0.95, "the search sees it too");
    }
}
