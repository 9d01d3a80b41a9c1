//! `tabia lichess`: a player as a Lichess bot.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;
use tabia_cli::PlayerFactory;
use tabia_game::{Game, write_game};
use tabia_lichess::{
    Acceptance, Account, Bot, BotHandle, BotSettings, Client, Notice, Observer, Only, Speed, Stop, Timing,
    Token, readable_by_others,
};
use tabia_players::Spec;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  tabia lichess --token-file token --upgrade                   make the account a bot account, once
  tabia lichess --token-file token --player human,elo=1500
  tabia lichess --token-file token --player net.onnx --max-games 2 --speeds blitz,rapid --bots no
  tabia lichess --token-file token --rated no --base 60..900 --rating 800..1800 --pgn games.pgn

The token needs the scope bot:play. Ctrl-C stops after the games in progress, a second one leaves them as they are; the
same command goes on with them. See docs/guides/lichess.md.")]
pub(crate) struct Args {
    /// A file with the access token of the bot's account, and nothing else.
    #[arg(long, value_name = "FILE")]
    token_file: PathBuf,
    /// The player: a spec, or a model file.
    #[arg(long, value_name = "SPEC", default_value = "human,elo=1500", value_parser = tabia_cli::player_spec)]
    player: Spec,
    /// The server.
    #[arg(long, value_name = "URL", default_value = "https://lichess.org")]
    url: String,
    /// Make the account a bot account and exit. It must not have played any game, and cannot be a normal account again.
    #[arg(long)]
    upgrade: bool,
    /// Games at a time; further challenges are declined.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64))]
    max_games: u16,
    /// Stop after this many games.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    games: Option<u64>,
    /// Variants to accept.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "LIST", default_value = "standard")]
    variants: Vec<VariantName>,
    /// Speeds to accept.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        value_name = "LIST",
        default_value = "bullet,blitz,rapid,classical"
    )]
    speeds: Vec<SpeedName>,
    /// Seconds on the clock to accept.
    #[arg(long, value_name = "MIN..MAX", default_value = "0..10800", value_parser = range)]
    base: RangeInclusive<u32>,
    /// Seconds of increment to accept.
    #[arg(long, value_name = "MIN..MAX", default_value = "0..180", value_parser = range)]
    increment: RangeInclusive<u32>,
    /// Whether to accept rated games.
    #[arg(long, value_enum, default_value_t = Accept::Yes)]
    rated: Accept,
    /// Whether to accept challenges by bots.
    #[arg(long, value_enum, default_value_t = Accept::Yes)]
    bots: Accept,
    /// Ratings of challengers to accept.
    #[arg(long, value_name = "MIN..MAX", default_value = "0..4000", value_parser = range)]
    rating: RangeInclusive<u32>,
    /// Accept challenges by these users only.
    #[arg(long, value_delimiter = ',', value_name = "USERS")]
    opponents: Vec<String>,
    /// Decline the challenges of these users.
    #[arg(long, value_delimiter = ',', value_name = "USERS")]
    block: Vec<String>,
    /// Rematches in a row with one opponent [default: no limit].
    #[arg(long, value_name = "N")]
    rematches: Option<u32>,
    /// What the bot says when a game begins; {opponent} and {me} are filled in.
    #[arg(long, value_name = "TEXT", default_value = "Hello {opponent}, good luck!")]
    greeting: String,
    /// What the bot says when a game has ended.
    #[arg(long, value_name = "TEXT", default_value = "Good game, {opponent}.")]
    goodbye: String,
    /// Say nothing.
    #[arg(long)]
    no_chat: bool,
    /// Append finished games to this file.
    #[arg(long, value_name = "FILE")]
    pgn: Option<PathBuf>,
    /// Time that a move needs besides thinking, in milliseconds: network and server.
    #[arg(long, value_name = "MS", default_value_t = 500, value_parser = clap::value_parser!(u64).range(0..=10_000))]
    overhead: u64,
    /// What becomes of the games in progress at the first Ctrl-C.
    #[arg(long, value_enum, default_value_t = OnStop::Finish)]
    on_stop: OnStop,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Accept {
    /// Accept them too.
    Yes,
    /// Decline them.
    No,
    /// Accept nothing else.
    Only,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum VariantName {
    Standard,
    /// Standard chess from another position.
    FromPosition,
    Chess960,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SpeedName {
    Bullet,
    Blitz,
    Rapid,
    Classical,
    /// Days for a move, or no clock.
    Correspondence,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OnStop {
    /// They are played to their ends.
    Finish,
    /// They are left as they are.
    Leave,
    /// They are resigned.
    Resign,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let file = &args.token_file;
    let token = Token::read(file).with_context(|| format!("--token-file {}", file.display()))?;
    if readable_by_others(file) {
        let path = file.display();
        eprintln!("warning: {path} can be read by other users of this machine (chmod 600 {path} ends that)");
    }
    let client = Client::new(&args.url, token, Timing::default()).context("--url")?;
    let client = Arc::new(client);
    let server = client.server().to_owned();
    let account = client.account().with_context(|| server.clone())?;
    if args.upgrade {
        return upgrade(&client, &account);
    }
    let name = &account.username;
    if account.title.as_deref() != Some("BOT") {
        bail!(
            "{name} is not a bot account: --upgrade makes it one, if it has not played any game; this cannot be undone"
        );
    }
    let player = Player::new(&args.player)?;
    println!("{name} at {server} plays as {} (at most {})", player.name, games(args.max_games.into()));
    let observer = Arc::new(Printer { pgn: args.pgn.as_deref().map(append).transpose()? });
    let build = Arc::new(move |seed| player.build(seed));
    let (bot, handle) = Bot::new(client, &account, settings(args), build, observer);
    stop_on_interrupt(handle, args.on_stop)?;
    let score = bot.run().with_context(|| server)?;
    println!("{}: {} won, {} drawn, {} lost", games(score.games()), score.won, score.drawn, score.lost);
    Ok(())
}

fn games(count: u64) -> String {
    if count == 1 { "1 game".to_owned() } else { format!("{count} games") }
}

fn upgrade(client: &Client, account: &Account) -> Result<()> {
    let (name, server) = (&account.username, client.server());
    if account.title.as_deref() == Some("BOT") {
        println!("{name} is a bot account already");
        return Ok(());
    }
    if account.count.all > 0 {
        bail!(
            "{name} has played {}: only an account without games can become a bot account (make a new one at {server}/signup)",
            games(account.count.all)
        );
    }
    client.upgrade().with_context(|| format!("{name} cannot become a bot account"))?;
    println!("{name} is a bot account from now on");
    Ok(())
}

fn settings(args: &Args) -> BotSettings {
    let rating = |value: u32| u16::try_from(value).unwrap_or(u16::MAX);
    let said = |text: &str| (!args.no_chat && !text.is_empty()).then(|| text.to_owned());
    BotSettings {
        acceptance: Acceptance {
            variants: args.variants.iter().map(|variant| variant.key().to_owned()).collect(),
            speeds: args.speeds.iter().map(|speed| speed.speed()).collect(),
            base: args.base.clone(),
            increment: args.increment.clone(),
            rated: args.rated.only(),
            bots: args.bots.only(),
            rating: rating(*args.rating.start())..=rating(*args.rating.end()),
            opponents: args.opponents.clone(),
            blocked: args.block.clone(),
            rematches: args.rematches.unwrap_or(u32::MAX),
        },
        max_games: args.max_games.into(),
        games: args.games,
        greeting: said(&args.greeting),
        goodbye: said(&args.goodbye),
        overhead: Duration::from_millis(args.overhead),
        ..BotSettings::default()
    }
}

impl Accept {
    fn only(self) -> Only {
        match self {
            Accept::Yes => Only::Yes,
            Accept::No => Only::No,
            Accept::Only => Only::Only,
        }
    }
}

impl VariantName {
    fn key(self) -> &'static str {
        match self {
            VariantName::Standard => "standard",
            VariantName::FromPosition => "fromPosition",
            VariantName::Chess960 => "chess960",
        }
    }
}

impl SpeedName {
    fn speed(self) -> Speed {
        match self {
            SpeedName::Bullet => Speed::Bullet,
            SpeedName::Blitz => Speed::Blitz,
            SpeedName::Rapid => Speed::Rapid,
            SpeedName::Classical => Speed::Classical,
            SpeedName::Correspondence => Speed::Correspondence,
        }
    }
}

fn range(text: &str) -> Result<RangeInclusive<u32>, String> {
    let ends = text.split_once("..").and_then(|(low, high)| Some((low.parse().ok()?, high.parse().ok()?)));
    match ends {
        Some((low, high)) if low <= high => Ok(low..=high),
        _ => Err("expected two numbers, as in 60..900".to_owned()),
    }
}

/// The player of every game.
struct Player {
    spec: Spec,
    name: String,
    players: PlayerFactory,
}

impl Player {
    fn new(given: &Spec) -> Result<Player> {
        let mut spec = given.clone();
        // As people are used to from people.
        if let Some(pause) = spec.pause_mut() {
            pause.get_or_insert(true);
        }
        let players = PlayerFactory::default();
        // Built once, so that errors appear before the first game.
        let name = players.make(&spec, 0).with_context(|| format!("--player {given}"))?.name();
        Ok(Player { spec, name, players })
    }

    fn build(&self, seed: u64) -> Result<Box<dyn tabia_players::Player>, String> {
        self.players.make(&self.spec, seed).map_err(|error| format!("{error:#}"))
    }
}

fn append(path: &Path) -> Result<Mutex<File>> {
    let file = OpenOptions::new().create(true).append(true).open(path);
    file.map(Mutex::new).with_context(|| format!("--pgn {}", path.display()))
}

/// Prints what happens, and saves games.
struct Printer {
    pgn: Option<Mutex<File>>,
}

impl Observer for Printer {
    fn notice(&self, notice: &Notice) {
        println!("{notice}");
    }

    fn finished(&self, game: &Game) {
        let Some(file) = &self.pgn else { return };
        let mut text = Vec::new();
        let saved = write_game(game, &mut text).and_then(|()| {
            text.push(b'\n');
            let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
            // In one piece, so that a reader finds whole games.
            file.write_all(&text)?;
            file.flush()
        });
        if let Err(error) = saved {
            eprintln!("warning: a game was not saved: {error}");
        }
    }
}

fn stop_on_interrupt(bot: BotHandle, on_stop: OnStop) -> Result<()> {
    let pressed = AtomicU8::new(0);
    let handler = ctrlc::set_handler(move || match (pressed.fetch_add(1, Ordering::Relaxed), on_stop) {
        (0, OnStop::Finish) => {
            eprintln!("\nfinishing the games in progress; press Ctrl-C again to leave them");
            bot.stop(Stop::AfterGames);
        }
        (0, OnStop::Resign) => {
            eprintln!("\nresigning the games in progress; press Ctrl-C again to leave them");
            bot.stop(Stop::Resign);
        }
        (0, OnStop::Leave) | (1, _) => bot.stop(Stop::Leave),
        _ => std::process::exit(130),
    });
    handler.context("cannot handle Ctrl-C")
}
