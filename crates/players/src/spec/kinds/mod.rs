//! The kinds of players, one file each.

mod engine;
#[cfg(test)]
#[expect(unreachable_pub, reason = "the example of docs/guides/add-a-player.md, which is not registered")]
mod greedy;
mod human;
mod level;
mod maia;
mod net;
mod random;
#[cfg(test)]
mod tests;
mod uci;

pub use self::{
    engine::{EngineEvaluation, EngineSettings, EngineSpec},
    human::{HumanPlay, HumanSpec},
    level::LevelSpec,
    maia::MaiaSpec,
    net::{NetSearch, NetSpec},
    random::{RandomPlayer, RandomSpec},
    uci::UciSpec,
};
use std::ops::{Deref, DerefMut};

use super::{ParseKind, PlayerKind, SpecProblem, settings::Settings};

registry! {
    /// `level:N`: a level of the Chess Challenge.
    Level(LevelSpec),
    /// `net:FILE`: a network that searches one ply, or leads an alpha-beta search.
    Net(NetSpec),
    /// `human[:FILE]`: a human-like network that plays from its policy head.
    Human(HumanSpec),
    /// `maia:FILE`: a Leela network that plays from its policy head.
    Maia(MaiaSpec),
    /// `engine[:FILE]`: alpha-beta over a network or the hand-written evaluation.
    Engine(EngineSpec),
    /// `random`: any legal move.
    Random(RandomSpec),
    /// `uci:COMMAND`: another program that speaks UCI.
    Uci(UciSpec),
}
