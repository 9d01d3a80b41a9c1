//! A UCI engine process as a player.

use std::{num::NonZeroI32, time::Duration};

use anyhow::{Context, Result};
use shakmaty::uci::UciMove;
use shakmaty::{CastlingMode, Chess, Move, Position};
use tabia_encoding::{ForMover, Score};
use tabia_game::History;
use tabia_model::Wdl;
use tabia_players::{
    Choice, Decision, Limits, Line, Player, PlayerError, SearchControl, SearchError, UciSpec,
};
use tabia_uci::client::{Client, EngineConfig, SearchResult};
use tabia_uci::message::{Bound, GameHistory, Go, Info, MoverScore};

/// How often a request to stop is checked for.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// How a command is started.
pub(crate) fn launch(command: &str) -> Result<EngineConfig> {
    let words = shlex::split(command).unwrap_or_default();
    let (program, arguments) =
        words.split_first().with_context(|| format!("{command:?} is not a command"))?;
    Ok(arguments.iter().fold(EngineConfig::new(program), EngineConfig::arg))
}

pub(crate) struct EngineProcess {
    client: Client,
    name: String,
    clears_hash: bool,
}

impl EngineProcess {
    pub(crate) fn start(spec: &UciSpec) -> Result<EngineProcess> {
        let mut launch = launch(&spec.command)?;
        if let Some(elo) = spec.elo {
            launch = launch.option("UCI_LimitStrength", "true").option("UCI_Elo", &elo.0.to_string());
        }
        for (name, value) in &spec.options {
            launch = launch.option(name, value);
        }
        let client = Client::start(launch)?;
        let elo = spec.elo.map_or_else(String::new, |elo| format!(" {}", elo.0));
        let name = format!("{}{elo}", client.info().name);
        Ok(EngineProcess { client, name, clears_hash: spec.clears_hash })
    }
}

impl Player for EngineProcess {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn new_game(&mut self) {
        // A failure here is reported by the next move.
        let _ignored = self.client.new_game();
    }

    fn check_start(&self, start: &Chess) -> Result<(), PlayerError> {
        if start.castles().mode().is_chess960() && !self.client.info().plays_chess960() {
            let problem = "does not play Chess960: it offers no option UCI_Chess960";
            return Err(PlayerError::External(format!("{} {problem}", self.name)));
        }
        Ok(())
    }

    fn decide(
        &mut self,
        game: &History,
        limits: &Limits,
        control: &dyn SearchControl,
    ) -> Result<Decision, PlayerError> {
        let so_far = so_far(game);
        if so_far.current().legal_moves().is_empty() {
            return Err(SearchError::GameOver.into());
        }
        if self.clears_hash {
            self.client.new_game().map_err(|fault| PlayerError::External(fault.to_string()))?;
        }
        let thinking = self.client.start_search(&so_far, &go(limits, so_far.castling_mode()), |_| {});
        let interrupt = thinking.handle();
        // The answer arrives on this thread; another polls for a stop.
        let thought = std::thread::scope(|scope| {
            let (done, finished) = std::sync::mpsc::channel::<()>();
            scope.spawn(move || {
                while finished.recv_timeout(POLL_INTERVAL) == Err(std::sync::mpsc::RecvTimeoutError::Timeout)
                {
                    if control.stopped() {
                        interrupt.stop();
                        return;
                    }
                }
            });
            let thought = thinking.wait();
            drop(done);
            thought
        });
        let thought = thought.map_err(|fault| PlayerError::External(fault.to_string()))?;
        Ok(Decision::by_score(game, choice(&thought, so_far.current())))
    }
}

fn so_far(game: &History) -> GameHistory {
    let situation = game.situation();
    let start = situation.earlier.last().unwrap_or(situation.position);
    let mut so_far = GameHistory::new(start.clone());
    for &m in situation.last_moves.iter().rev() {
        assert!(so_far.push(m), "a history holds legal moves");
    }
    so_far
}

fn go(limits: &Limits, mode: CastlingMode) -> Go {
    let mut go = Go {
        depth: limits.depth,
        nodes: limits.nodes,
        move_time: limits.movetime,
        moves_to_go: limits.moves_to_go,
        mate: limits.mate,
        infinite: limits.infinite,
        search_moves: limits.search_moves.iter().map(|m| m.to_uci(mode)).collect(),
        ..Go::default()
    };
    if let Some(clocks) = &limits.clocks {
        go.clock = clocks.map(|clock| Some(clock.remaining));
        go.increment = clocks.map(|clock| Some(clock.increment));
    }
    go
}

fn choice(thought: &SearchResult, position: &Chess) -> Choice {
    let lines: Vec<Line> =
        thought.lines.iter().zip(1..).map(|(info, rank)| line(info, rank, position)).collect();
    let nodes = lines.iter().map(|line| line.nodes).max().unwrap_or(0);
    Choice { mv: thought.best, ponder: thought.ponder, lines, nodes }
}

fn line(info: &Info, rank: usize, position: &Chess) -> Line {
    let score = info.score.and_then(|info| match info.score {
        MoverScore::Centipawns(cp) => Some(Score::Centipawns(cp)),
        MoverScore::Mate(moves) => NonZeroI32::new(moves).map(Score::Mate),
    });
    let thousandth = |n: u16| f32::from(n) / 1000.0;
    Line {
        rank,
        depth: info.depth.unwrap_or(0),
        seldepth: info.seldepth.unwrap_or(0),
        score: score.map(ForMover),
        upper_bound: info.score.is_some_and(|info| info.bound == Some(Bound::Upper)),
        wdl: info.wdl.map(|w| Wdl {
            win: thousandth(w.win),
            draw: thousandth(w.draw),
            loss: thousandth(w.loss),
        }),
        think_time: None,
        probability: None,
        nodes: info.nodes.unwrap_or(0),
        table_permille: info.hashfull.and_then(|n| u16::try_from(n).ok()),
        tablebase_hits: info.tbhits,
        moves: legal_prefix(&info.pv, position),
    }
}

/// The moves of a line as far as they are legal.
fn legal_prefix(pv: &[UciMove], position: &Chess) -> Vec<Move> {
    let mut position = position.clone();
    let mut moves = Vec::new();
    for uci in pv {
        let Ok(m) = uci.to_move(&position) else { break };
        position.play_unchecked(m);
        moves.push(m);
    }
    moves
}
