//! A minimal engine for [`serve`] that plays random legal moves, with options `Seed` and `Style`.

use std::{io, time::Duration};

use shakmaty::{Move, Position as _, uci::UciMove};
use tabia_uci::{
    BestMove, Control, Engine, SearchRequest,
    message::{Info, MoverScore, MoverWdl, OptionSpec, OptionValue},
    serve,
};

struct RandomMover {
    state: u64,
    captures_first: bool,
    lines: usize,
}

impl RandomMover {
    /// SplitMix64.
    fn random(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

impl Engine for RandomMover {
    fn name(&self) -> String {
        "Random Mover".to_owned()
    }

    fn author(&self) -> String {
        "the Tabia authors".to_owned()
    }

    fn options(&self) -> Vec<OptionSpec> {
        vec![
            OptionSpec::spin("Seed", 1, 0..=i64::MAX),
            OptionSpec::combo("Style", "Any", &["Any", "Captures"]),
            OptionSpec::spin("MultiPV", 1, 1..=218),
            OptionSpec::check("Ponder", false),
            OptionSpec::button("Clear Hash"),
            OptionSpec::string("Book File", ""),
        ]
    }

    fn set_option(&mut self, name: &str, value: OptionValue) -> Result<(), String> {
        match (name, value) {
            ("Seed", OptionValue::Spin(seed)) => self.state = seed.unsigned_abs(),
            ("Style", OptionValue::Combo(style)) => self.captures_first = style == "Captures",
            ("MultiPV", OptionValue::Spin(lines)) => {
                self.lines = usize::try_from(lines).map_err(|error| error.to_string())?;
            }
            ("Book File", OptionValue::String(file)) if !file.is_empty() => {
                return Err(format!("cannot open {file}: there are no books"));
            }
            _ => {}
        }
        Ok(())
    }

    fn new_game(&mut self) {}

    fn search(&mut self, request: &SearchRequest, control: &Control) -> Result<BestMove, String> {
        let position = request.game.current();
        let mut moves: Vec<Move> = if request.search_moves.is_empty() {
            position.legal_moves().into_iter().collect()
        } else {
            request.search_moves.clone()
        };
        moves.sort_by_cached_key(|_| self.random());
        if self.captures_first {
            moves.sort_by_key(|mv| !mv.is_capture());
        }
        for (rank, &mv) in (1..).zip(moves.iter().take(self.lines)) {
            control.report(Info {
                depth: Some(1),
                multipv: Some(rank),
                score: Some(MoverScore::Centipawns(0).into()),
                wdl: Some(MoverWdl { win: 333, draw: 334, loss: 333 }),
                nodes: Some(u64::from(rank)),
                pv: vec![UciMove::from_standard(mv)],
                ..Info::default()
            });
        }
        // Uses its time, so that there is something to interrupt.
        let wanted = request.go.move_time.map(|time| time.mul_f32(0.8)).unwrap_or_default();
        while !control.stopped() && (control.pondering() || control.elapsed() < wanted) {
            std::thread::sleep(Duration::from_millis(1));
        }
        let best = moves[0];
        let mut after = position.clone();
        after.play_unchecked(best);
        Ok(BestMove { best, ponder: after.legal_moves().first().copied() })
    }
}

fn main() -> io::Result<()> {
    let engine = RandomMover { state: 1, captures_first: false, lines: 1 };
    serve(engine, io::stdin().lock(), io::stdout())
}
