//! A player as a UCI engine.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Result;
use shakmaty::{ByColor, CastlingMode, Position};
use tabia_cli::PlayerFactory;
use tabia_encoding::{ForMover, PlayerInfo, Score};
use tabia_game::History;
use tabia_players::{Choice, Limits, Line, Player, SearchControl, Spec, TimeLeft};
use tabia_search::score_of_wdl;
use tabia_uci::message::{Bound, Go, Info, MoverScore, MoverWdl, OptionSpec, OptionValue, ScoreInfo};
use tabia_uci::{BestMove, Control, Engine, SearchRequest};

use super::settings::{MAX_LINES, Settings};

pub(super) struct Served {
    players: PlayerFactory,
    settings: Settings,
    /// Its name at the start.
    name: String,
    /// `None` until the client has been greeted, if it needs nothing from outside of the program.
    player: Option<Box<dyn Player>>,
    /// Counts games, so that random players vary between games.
    games: u64,
}

impl Served {
    pub(super) fn new(spec: Spec) -> Result<Served> {
        let players = PlayerFactory::default();
        let seed = fastrand::u64(..);
        let settings = Settings::new(spec);
        // Opening the built-in networks takes some tens of milliseconds, which clients need not wait for.
        let (name, player) = match settings.spec.built_in_name() {
            Some(name) => (name, None),
            None => {
                let player = players.make(&settings.spec, seed)?;
                (player.name(), Some(player))
            }
        };
        Ok(Served { players, settings, name, player, games: seed })
    }

    /// The player, built if it is not there yet.
    fn player(&mut self) -> Result<&mut dyn Player, String> {
        let player = match self.player.take() {
            Some(player) => player,
            None => self.players.make(&self.settings.spec, self.games).map_err(|e| format!("{e:#}"))?,
        };
        Ok(self.player.insert(player).as_mut())
    }
}

impl Engine for Served {
    fn name(&self) -> String {
        format!("Tabia {} ({})", env!("CARGO_PKG_VERSION"), self.name)
    }

    fn author(&self) -> String {
        "the Tabia developers".to_owned()
    }

    fn options(&self) -> Vec<OptionSpec> {
        self.settings.offered()
    }

    fn prepare(&mut self) {
        // A search says what is wrong.
        let _ = self.player();
    }

    fn set_option(&mut self, name: &str, value: OptionValue) -> Result<(), String> {
        let mut changed = self.settings.clone();
        changed.set(name, value)?;
        if changed.spec != self.settings.spec {
            let player = self.players.make(&changed.spec, self.games).map_err(|e| format!("{e:#}"))?;
            self.player = Some(player);
        }
        self.settings = changed;
        Ok(())
    }

    fn new_game(&mut self) {
        self.games = self.games.wrapping_add(1);
        if let Some(player) = &mut self.player {
            player.new_game();
        }
    }

    fn search(&mut self, task: &SearchRequest, control: &Control) -> Result<BestMove, String> {
        let history = history(task);
        // More lines cost a policy nothing, but weaken a search.
        let lines = if self.settings.spec.pick().is_some() { MAX_LINES } else { self.settings.lines };
        let limits = limits(task, lines);
        let mode = task.game.castling_mode();
        let listener =
            Listener { control, mode, show_wdl: self.settings.show_wdl, reported: AtomicBool::new(false) };
        let player = self.player()?;
        player.check_start(task.game.start()).map_err(|e| e.to_string())?;
        let choice = player.choose(&history, &limits, &listener).map_err(|e| e.to_string())?;
        // Only searches report as they go.
        if !listener.reported.load(Ordering::Relaxed) {
            for line in last_lines(&choice, self.settings.lines) {
                listener.report(&line);
            }
        }
        Ok(BestMove { best: choice.mv, ponder: choice.ponder })
    }
}

/// The lines of a player that has reported none: each with a score, and if only one is wanted, that of the move it plays,
/// which need not be the likeliest.
fn last_lines(choice: &Choice, wanted: usize) -> Vec<Line> {
    let unknown = Line { rank: 1, nodes: choice.nodes, moves: vec![choice.mv], ..Line::default() };
    let first = choice.lines.first().unwrap_or(&unknown);
    let of_wdl = first.wdl.map(|wdl| ForMover(Score::Centipawns(score_of_wdl(wdl).0.round() as i32)));
    let score = first.score.or(of_wdl).unwrap_or(ForMover(Score::Centipawns(0)));
    let with_score =
        |line: &Line| Line { score: line.score.or(Some(score)), wdl: line.wdl.or(first.wdl), ..line.clone() };
    if wanted > 1 {
        return choice.lines.iter().take(wanted).map(with_score).collect();
    }
    let played = choice.lines.iter().find(|line| line.moves.first() == Some(&choice.mv));
    vec![Line { rank: 1, ..with_score(played.unwrap_or(&unknown)) }]
}

/// The game so far, with the current clocks.
fn history(task: &SearchRequest) -> History {
    let seat = |time_left| PlayerInfo { rating: None, time_left };
    let clocks: ByColor<Option<Duration>> = task.go.clock;
    let mut history = History::new(task.game.start().clone(), clocks.map(seat));
    for &m in task.game.moves() {
        let mover = history.current().turn();
        history.push(m, clocks[mover]);
    }
    history
}

fn limits(task: &SearchRequest, lines: usize) -> Limits {
    let Go { clock, increment, moves_to_go, depth, nodes, mate, move_time, infinite, .. } = &task.go;
    let turn = task.game.current().turn();
    let clocks = clock[turn].is_some().then(|| {
        ByColor::new_with(|color| TimeLeft {
            remaining: clock[color].unwrap_or_default(),
            increment: increment[color].unwrap_or_default(),
        })
    });
    Limits {
        depth: *depth,
        nodes: *nodes,
        movetime: *move_time,
        clocks,
        moves_to_go: *moves_to_go,
        mate: *mate,
        // While pondering the time does not advance; the answer waits for `ponderhit`.
        infinite: *infinite,
        search_moves: task.search_moves.clone(),
        lines,
        within: None,
    }
}

/// Passes the output of a player on to the client.
struct Listener<'a> {
    control: &'a Control,
    /// How castling is written.
    mode: CastlingMode,
    show_wdl: bool,
    /// Whether the player has reported anything.
    reported: AtomicBool,
}

impl SearchControl for Listener<'_> {
    fn elapsed(&self) -> Duration {
        self.control.elapsed()
    }

    fn stopped(&self) -> bool {
        self.control.stopped()
    }

    fn wait_until(&self, moment: Duration) {
        self.control.wait_until(moment);
    }

    fn report(&self, line: &Line) {
        self.reported.store(true, Ordering::Relaxed);
        let thousandths = |p: f32| (1000.0 * p).round() as u16;
        let score = line.score.map(|score| match score.0 {
            Score::Centipawns(cp) => MoverScore::Centipawns(cp),
            Score::Mate(moves) => MoverScore::Mate(moves.get()),
        });
        let wdl = line.wdl.filter(|_| self.show_wdl).map(|w| {
            let (win, loss) = (thousandths(w.win), thousandths(w.loss));
            MoverWdl { win, draw: 1000_u16.saturating_sub(win + loss), loss }
        });
        self.control.report(Info {
            depth: Some(line.depth.max(1)),
            seldepth: (line.seldepth > 0).then_some(line.seldepth),
            multipv: u32::try_from(line.rank).ok().filter(|&rank| rank > 0),
            score: score.map(|score| ScoreInfo { score, bound: line.upper_bound.then_some(Bound::Upper) }),
            wdl,
            nodes: Some(line.nodes.max(1)),
            hashfull: line.table_permille.map(u32::from),
            tbhits: line.tablebase_hits,
            pv: line.moves.iter().map(|m| m.to_uci(self.mode)).collect(),
            string: line.probability.map(|p| format!("{:.1}%", 100.0 * p)),
            ..Info::default()
        });
    }
}
