//! Any player as a Lichess bot, over the official [Bot API](https://lichess.org/api#tag/Bot).
//!
//! ```no_run
//! use std::sync::Arc;
//! use tabia_lichess::{Bot, BotSettings, Client, Notice, Observer, Timing, Token};
//! use tabia_players::{Level, LevelPlayer};
//!
//! struct Printed;
//!
//! impl Observer for Printed {
//!     fn notice(&self, notice: &Notice) {
//!         eprintln!("{notice}");
//!     }
//!
//!     fn finished(&self, _: &tabia_game::Game) {}
//! }
//!
//! let token = Token::read("token".as_ref())?;
//! let client = Arc::new(Client::new("https://lichess.org", token, Timing::default())?);
//! let account = client.account()?;
//! let level = Level::new(3).expect("1 to 5");
//! let player = Arc::new(move |seed| Ok(Box::new(LevelPlayer::new(level, seed)) as Box<_>));
//! let (bot, _handle) = Bot::new(client, &account, BotSettings::default(), player, Arc::new(Printed));
//! println!("{:?}", bot.run()?);
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! | to find | look in |
//! |---|---|
//! | the loop over challenges and games, and how it stops | [`Bot`], [`BotHandle`] |
//! | which challenges are accepted | [`Acceptance`] |
//! | one game: moves, offers, reconnecting | `game.rs` |
//! | a game as the server's lines tell it | [`Followed`] |
//! | requests, streams, rate limits | [`Client`], [`Timing`] |
//! | the token | [`Token`] |
//! | what the server sends | [`Event`], [`GameLine`] |
#![forbid(unsafe_code)]

mod acceptance;
mod bot;
mod client;
mod events;
mod followed;
mod game;
mod notice;
mod stream;
mod thinker;
mod timing;
mod token;

pub use acceptance::{Acceptance, DeclineReason, Only};
pub use bot::{Bot, BotHandle, BotSettings, Score, Stop};
pub use client::{AddressError, Client, RequestError};
pub use events::*;
pub use followed::{CannotFollow, Followed, News};
pub use notice::{Notice, Observer};
pub use thinker::BuildPlayer;
pub use timing::Timing;
pub use token::{Token, TokenError, readable_by_others};
