//! Scripted players.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use shakmaty::{Chess, Move, Position as _, Square};
use tabia_arena::{Entrant, PlayerLifetime, Timer};
use tabia_encoding::{ForMover, Score};
use tabia_game::{History, fen_of};
use tabia_players::{Choice, Decision, Limits, Line, Player, PlayerError, SearchControl};

/// A manually advanced clock.
#[derive(Clone, Default)]
pub(crate) struct FakeTimer(Arc<AtomicU64>);

impl FakeTimer {
    pub(crate) fn advance(&self, time: Duration) {
        self.0.fetch_add(time.as_nanos() as u64, Ordering::SeqCst);
    }
}

impl Timer for FakeTimer {
    fn now(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::SeqCst))
    }
}

/// Behaviour of a scripted player.
#[derive(Clone)]
pub(crate) enum Script {
    /// Deterministic, by a hash of the position and this number.
    Hashed(u64),
    /// Prefers mates and captures of valuable pieces, otherwise as `Hashed`.
    Greedy(u64),
    /// Random, with a seed per game.
    Dice,
    /// Moves between these squares with scores in centipawns, cyclically.
    Squares(Vec<(Square, Square, i32)>),
    /// As `Hashed`, with this time per move.
    Slow(FakeTimer, Duration),
    /// Fails on its nth move.
    Fails(usize),
    /// Panics on its nth move.
    Panics(usize),
    /// Moves a king from a1 to h8 on its nth move.
    Cheats(usize),
    /// Plays standard chess alone.
    Standard,
    /// Cannot be built.
    Missing,
}

pub(crate) struct Scripted {
    pub(crate) name: &'static str,
    pub(crate) script: Script,
}

pub(crate) fn scripted(name: &'static str, script: Script) -> Scripted {
    Scripted { name, script }
}

impl Entrant for Scripted {
    fn name(&self) -> String {
        self.name.to_owned()
    }

    fn build(&self, seed: u64) -> Result<Box<dyn Player>, String> {
        match self.script {
            Script::Missing => Err("its file is not there".to_owned()),
            _ => Ok(self.player(seed)),
        }
    }

    fn lifetime(&self) -> PlayerLifetime {
        match self.script {
            Script::Dice => PlayerLifetime::PerGame,
            _ => PlayerLifetime::PerWorker,
        }
    }
}

impl Scripted {
    pub(crate) fn player(&self, seed: u64) -> Box<dyn Player> {
        Box::new(Actor { name: self.name, script: self.script.clone(), state: seed, moves: 0 })
    }
}

struct Actor {
    name: &'static str,
    script: Script,
    state: u64,
    moves: usize,
}

fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn hashed(position: &Chess, salt: u64) -> Move {
    let hash = fen_of(position).bytes().fold(salt, |hash, byte| mix(hash ^ u64::from(byte)));
    let moves = position.legal_moves();
    moves[(hash % moves.len() as u64) as usize]
}

fn greedy(position: &Chess, salt: u64) -> Move {
    let worth = |m: &Move| {
        let mut after = position.clone();
        after.play_unchecked(*m);
        if after.is_checkmate() { 100 } else { m.capture().map_or(0, |role| role as u32) }
    };
    let moves = position.legal_moves();
    let best = moves.iter().map(worth).max().unwrap_or(0);
    if best == 0 { hashed(position, salt) } else { *moves.iter().find(|m| worth(m) == best).unwrap() }
}

impl Player for Actor {
    fn name(&self) -> String {
        self.name.to_owned()
    }

    fn new_game(&mut self) {
        self.moves = 0;
    }

    fn check_start(&self, start: &Chess) -> Result<(), PlayerError> {
        match self.script {
            Script::Standard if start.castles().mode().is_chess960() => {
                Err(PlayerError::External("it knows no Chess960".into()))
            }
            _ => Ok(()),
        }
    }

    fn decide(
        &mut self,
        game: &History,
        limits: &Limits,
        watch: &dyn SearchControl,
    ) -> Result<Decision, PlayerError> {
        let position = game.current();
        self.moves += 1;
        let mut score = None;
        let mv = match &self.script {
            Script::Hashed(salt) => hashed(position, *salt),
            Script::Greedy(salt) => greedy(position, *salt),
            Script::Dice => {
                self.state = mix(self.state);
                let moves = position.legal_moves();
                moves[(self.state % moves.len() as u64) as usize]
            }
            Script::Squares(list) => {
                let (from, to, cp) = list[(self.moves - 1) % list.len()];
                score = Some(ForMover(Score::Centipawns(cp)));
                let moves = position.legal_moves();
                *moves.iter().find(|m| m.from() == Some(from) && m.to() == to).expect("a legal script")
            }
            Script::Slow(timer, time) => {
                assert_eq!(watch.elapsed(), Duration::ZERO);
                timer.advance(*time);
                assert_eq!(watch.elapsed(), *time);
                if let Some(clocks) = &limits.clocks {
                    let left = clocks[position.turn()].remaining;
                    assert_eq!(watch.stopped(), *time > left, "{left:?}");
                }
                hashed(position, 1)
            }
            Script::Fails(at) if self.moves == *at => {
                return Err(PlayerError::External("the engine is gone".into()));
            }
            Script::Panics(at) if self.moves == *at => panic!("out of ideas"),
            Script::Cheats(at) if self.moves == *at => {
                let role = shakmaty::Role::King;
                let (from, to) = (Square::A1, Square::H8);
                Move::Normal { role, from, capture: None, to, promotion: None }
            }
            Script::Fails(_) | Script::Panics(_) | Script::Cheats(_) | Script::Standard | Script::Missing => {
                hashed(position, 2)
            }
        };
        let line = Line { rank: 1, depth: 3, score, moves: vec![mv], ..Line::default() };
        Ok(Choice { mv, ponder: None, lines: vec![line], nodes: 17 }.into())
    }
}

/// An empty folder for a test.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("arena-{name}"));
    if folder.exists() {
        std::fs::remove_dir_all(&folder).unwrap();
    }
    std::fs::create_dir_all(&folder).unwrap();
    folder
}
