//! A shallow search that corrects the policy of a network: the filter and blend stages of a policy player.

use shakmaty::{Move, Position};
use tabia_game::History;
use tabia_model::Candidate;
use tabia_search::{Engine, EngineOptions, Evaluator, Limits, SearchControl, SearchError, winning_chance};

use crate::{policy::normalise, time_cap::TimeCap};

/// Less likely moves are dropped, but for the first [`FEWEST`].
const LEAST_PROBABILITY: f32 = 0.003;
/// The fewest and the most moves that are kept.
const FEWEST: usize = 2;
const MOST: usize = 16;

/// Moves that would come out less likely than this, relative to the likeliest, are not searched fully.
const NEGLIGIBLE: f32 = 0.02;

/// Above this weight the search overrides the policy.
const OVERRIDING_TRUST: f32 = 60.0;

/// A mate in one less likely than this is not seen.
const UNSEEN_MATE: f32 = 0.001;

/// How much a shallow search changes the policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchBlend {
    /// How much the log probability of a move falls that loses the whole winning chance; 0 disables the search.
    pub trust: f32,
    /// Nodes of a search.
    pub nodes: u32,
    /// The least probability of a mate in one.
    pub mates: f32,
}

impl SearchBlend {
    /// The default number of nodes: some milliseconds, on a phone some tens.
    pub const DEFAULT_NODES: u32 = 1000;

    /// The policy alone.
    pub const NONE: SearchBlend = SearchBlend { trust: 0.0, nodes: SearchBlend::DEFAULT_NODES, mates: 0.0 };

    /// Whether it changes anything.
    pub fn is_active(&self) -> bool {
        self.trust != SearchBlend::NONE.trust || self.mates != SearchBlend::NONE.mates
    }
}

/// A transposition table for the nodes of some moves.
fn table_mib(nodes: u32) -> usize {
    const POSITIONS_PER_MIB: u32 = 1 << 13;
    nodes.div_ceil(POSITIONS_PER_MIB).next_power_of_two().clamp(1, 16) as usize
}

/// The search and its weight. Its transposition table is kept within a game.
pub(crate) struct PolicySearch {
    engine: Engine,
    blend: SearchBlend,
}

impl PolicySearch {
    pub(crate) fn new(blend: SearchBlend, evaluator: Box<dyn Evaluator>) -> PolicySearch {
        let options = EngineOptions { hash_mib: table_mib(blend.nodes), ..EngineOptions::default() };
        PolicySearch { engine: Engine::new(options, evaluator), blend }
    }

    pub(crate) fn new_game(&mut self) {
        self.engine.new_game();
    }

    /// Keeps the moves that a person considers. Returns the likeliest mate in one, if a person may see it. The
    /// candidates are sorted, likeliest first.
    pub(crate) fn filter(&self, game: &History, candidates: &mut Vec<Candidate>) -> Option<Move> {
        let mate = self.mate(game, candidates);
        keep_considered(candidates, mate);
        mate
    }

    /// Weighs the candidates by the search and sorts them, likeliest first. Returns the number of nodes.
    pub(crate) fn blend(
        &mut self,
        game: &History,
        candidates: &mut [Candidate],
        mate: Option<Move>,
        time_cap: &TimeCap<'_>,
    ) -> Result<u64, SearchError> {
        let mut nodes = 0;
        if self.blend.trust > 0.0 && candidates.len() > 1 {
            nodes = self.search(game, candidates, time_cap)?;
        }
        // Temperature or nucleus may have dropped it.
        if let Some(mate) = mate.filter(|mate| candidates.iter().any(|candidate| candidate.mv == *mate)) {
            raise_to(candidates, mate, self.blend.mates);
        }
        candidates.sort_by(|a, b| b.probability.total_cmp(&a.probability));
        Ok(nodes)
    }

    fn mate(&self, game: &History, candidates: &[Candidate]) -> Option<Move> {
        let mates = |candidate: &&Candidate| {
            let mut after = game.current().clone();
            after.play_unchecked(candidate.mv);
            after.is_checkmate()
        };
        let likely = candidates.iter().take_while(|candidate| candidate.probability >= UNSEEN_MATE);
        likely.filter(|_| self.blend.mates > 0.0).find(mates).map(|candidate| candidate.mv)
    }

    /// Searches the candidates and weighs them by what they lose.
    fn search(
        &mut self,
        game: &History,
        candidates: &mut [Candidate],
        time_cap: &TimeCap<'_>,
    ) -> Result<u64, SearchError> {
        let trust = self.blend.trust;
        let nodes = time_cap.nodes(u64::from(self.blend.nodes));
        if nodes == 0 {
            return Ok(0);
        }
        let likely = candidates.iter().map(|candidate| candidate.probability);
        let (least, most) = likely.fold((1.0, 0.0), |(least, most), p| (p.min(least), p.max(most)));
        // The best move may be the least likely: even then, the likeliest is negligible if it loses more.
        let prior_gap = (most / least.max(f32::MIN_POSITIVE)).ln() * (OVERRIDING_TRUST / trust).min(1.0);
        let within = (prior_gap - NEGLIGIBLE.ln()) / trust;
        let moves: Vec<Move> = candidates.iter().map(|candidate| candidate.mv).collect();
        let (mut verdicts, visited) = self.verdicts(game, &moves, nodes, within, time_cap)?;
        // The strength settings were calibrated with complete searches, in which a move without a value of its own counts as
        // refuted where the search is selective and as no loss where it is not. Of an incomplete search only proven values
        // count.
        let incomplete = nodes < u64::from(self.blend.nodes) || time_cap.stopped();
        if !incomplete && verdicts.iter().any(|verdict| matches!(verdict, Verdict::Costs(_))) {
            let other = if within < 1.0 { Verdict::Refuted } else { Verdict::Costs(0.0) };
            for verdict in verdicts.iter_mut().filter(|verdict| !matches!(verdict, Verdict::Costs(_))) {
                *verdict = other;
            }
        }
        reweigh(candidates, &verdicts, trust);
        Ok(visited)
    }

    /// What each move costs, and the number of nodes. Moves that cost more than `within` are not searched fully.
    fn verdicts(
        &mut self,
        game: &History,
        moves: &[Move],
        nodes: u64,
        within: f32,
        time_cap: &TimeCap<'_>,
    ) -> Result<(Vec<Verdict>, u64), SearchError> {
        let limits = Limits {
            nodes: Some(nodes),
            search_moves: moves.to_vec(),
            lines: moves.len(),
            within: (within < 1.0).then_some(within.into()),
            ..Limits::default()
        };
        let found = self.engine.search(game, &limits, time_cap)?;
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

/// What a candidate costs.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Verdict {
    /// This much of the winning chance, against the best.
    Costs(f32),
    /// At least this much.
    CostsAtLeast(f32),
    /// Too much to be played.
    Refuted,
    /// The search ended first.
    Unseen,
}

/// Weighs the candidates by what they cost. Unseen ones keep their probability; the others share the rest.
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

/// Keeps the likely moves and the mate.
fn keep_considered(candidates: &mut Vec<Candidate>, mate: Option<Move>) {
    let mut place = 0;
    candidates.retain(|candidate| {
        let considered = place < FEWEST || (place < MOST && candidate.probability >= LEAST_PROBABILITY);
        place += 1;
        (considered && candidate.probability > 0.0) || mate == Some(candidate.mv)
    });
    normalise(candidates);
}

/// Raises the probability of one candidate to at least this.
fn raise_to(candidates: &mut [Candidate], mate: Move, least: f32) {
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
    use tabia_search::{BaselineEvaluator, NoControl, TimeLeft};

    use super::*;

    fn blended(fen: &str, blend: SearchBlend, moves: &[(&str, f32)]) -> Vec<(String, f32)> {
        blended_with(fen, blend, moves, &Limits::default(), &NoControl)
    }

    fn blended_with(
        fen: &str,
        blend: SearchBlend,
        moves: &[(&str, f32)],
        limits: &Limits,
        control: &dyn SearchControl,
    ) -> Vec<(String, f32)> {
        let game = History::new(position_from_fen(fen).unwrap(), ByColor::default());
        let mv = |uci: &str| parse_uci(game.current(), uci).unwrap();
        let mut candidates: Vec<Candidate> = moves
            .iter()
            .map(|(uci, probability)| Candidate { mv: mv(uci), probability: *probability })
            .collect();
        let mut policy_search = PolicySearch::new(blend, Box::new(BaselineEvaluator));
        let mate = policy_search.filter(&game, &mut candidates);
        let time_cap = TimeCap::of(limits, game.current().turn(), control);
        policy_search.blend(&game, &mut candidates, mate, &time_cap).unwrap();
        let sum: f32 = candidates.iter().map(|candidate| candidate.probability).sum();
        assert!((sum - 1.0).abs() < 1e-4, "{sum}");
        assert!(candidates.is_sorted_by(|a, b| a.probability >= b.probability));
        let uci = |mv: Move| mv.to_uci(shakmaty::CastlingMode::Standard).to_string();
        candidates.iter().map(|candidate| (uci(candidate.mv), candidate.probability)).collect()
    }

    /// The rook can be taken, or given away.
    const HANGING: &str = "4k3/8/8/3r4/8/1B6/5P2/4K3 w - - 0 1";

    #[test]
    fn losing_moves_become_less_likely_with_trust() {
        let moves = [("e1e2", 0.6), ("b3d5", 0.3), ("b3c2", 0.1)];
        let taking = |trust| {
            let blend = SearchBlend { trust, ..SearchBlend::NONE };
            let blended = blended(HANGING, blend, &moves);
            blended.iter().find(|(uci, _)| uci == "b3d5").unwrap().1
        };
        assert!((taking(0.0) - 0.3).abs() < 1e-5);
        assert!(taking(2.0) > taking(0.0));
        assert!(taking(30.0) > 0.95);
    }

    /// Stops at once.
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
    fn stopped_search_changes_nothing() {
        let moves = [("e1e2", 0.6), ("b3d5", 0.3), ("b3c2", 0.1)];
        // Selective, and not.
        for trust in [2.0, 30.0, 900.0] {
            let blend = SearchBlend { trust, nodes: 100_000, mates: 0.0 };
            let said = blended_with(HANGING, blend, &moves, &Limits::default(), &Stopped);
            for ((uci, probability), (_, found)) in moves.iter().zip(&said) {
                assert!((probability - found).abs() < 1e-5, "{trust}: {uci}: {said:?}");
            }
        }
    }

    #[test]
    fn short_search_only_counts_proven_values() {
        let moves = [("e1e2", 0.6), ("b3d5", 0.3), ("b3c2", 0.1)];
        let blend = SearchBlend { trust: 100.0, nodes: 100_000, mates: 0.0 };
        let taking = |millis: u64| {
            let remaining = Duration::from_millis(1500) + Duration::from_millis(millis);
            let clock = TimeLeft { remaining, increment: Duration::ZERO };
            let limits = Limits { clocks: Some(ByColor { white: clock, black: clock }), ..Limits::default() };
            let said = blended_with(HANGING, blend, &moves, &limits, &NoControl);
            said.iter().find(|(uci, _)| uci == "b3d5").unwrap().1
        };
        // Two nodes per millisecond: first without time to search, then with a little more each time.
        assert!((taking(0) - 0.3).abs() < 1e-5);
        for millis in 1..200 {
            assert!(taking(millis) > 0.3 - 1e-5, "{millis}: {}", taking(millis));
        }
        assert!(taking(5_000) > 0.95);
    }

    #[test]
    fn unseen_moves_keep_their_probability() {
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
    fn unlikely_moves_are_dropped() {
        let moves = [("e1e2", 0.6), ("b3c2", 0.398), ("b3d5", 0.002)];
        let kept = blended(HANGING, SearchBlend { trust: 100.0, ..SearchBlend::NONE }, &moves);
        assert!(kept.iter().all(|(uci, _)| uci != "b3d5"), "{kept:?}");
        let only = blended(HANGING, SearchBlend::NONE, &[("e1e2", 1.0), ("b3c2", 0.0)]);
        assert_eq!(only.len(), 1, "impossible moves are dropped: {only:?}");
    }

    #[test]
    fn mate_in_one_has_the_least_probability_asked_for() {
        let fen = "6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1";
        let moves = [("g1f1", 0.5), ("h2h3", 0.498), ("a1a8", 0.002)];
        let of_mate = |blend: SearchBlend| {
            let blended = blended(fen, blend, &moves);
            blended.iter().find(|(uci, _)| uci == "a1a8").map(|(_, probability)| *probability)
        };
        let seen = SearchBlend { mates: 0.9, ..SearchBlend::NONE };
        assert!((of_mate(seen).unwrap() - 0.9).abs() < 1e-4);
        assert_eq!(of_mate(SearchBlend::NONE), None, "too unlikely");
        assert!(of_mate(SearchBlend { trust: 100.0, ..seen }).unwrap() > 0.95, "the search finds it too");
    }
}
