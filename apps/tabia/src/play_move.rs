//! `tabia play-move`: one move of a player as JSON.

use anyhow::{Context, Result};
use serde_json::json;
use shakmaty::san::SanPlus;
use shakmaty::{ByColor, CastlingMode, Position};
use tabia_cli::{PlayerFactory, WallClock};
use tabia_encoding::Score;
use tabia_game::{History, fen_of, position_from_fen};
use tabia_players::{Level, LevelSpec, Limits, NetSearch, NetSpec, Spec};

use crate::cli::PlayMoveArgs;

pub(crate) fn run(args: &PlayMoveArgs) -> Result<()> {
    let (spec, fen) = match (&args.first, &args.second, args.baseline) {
        (fen, None, true) => (Spec::Level(LevelSpec(Level::ALL[4])), fen),
        (player, Some(fen), false) => (player_of(player)?, fen),
        (_, Some(_), true) => anyhow::bail!("expected either a player or --baseline, and a FEN"),
        (_, None, false) => anyhow::bail!("expected a player (or --baseline) and a FEN"),
    };
    let position = position_from_fen(fen).with_context(|| format!("FEN {fen:?}"))?;
    let mut player = PlayerFactory::default().make(&spec, 0)?;
    let history = History::new(position.clone(), ByColor::default());
    let limits = Limits { lines: args.lines, ..Limits::default() };
    let choice = player.choose(&history, &limits, &WallClock::start())?;

    let named = |m| SanPlus::from_move(position.clone(), m).to_string();
    let uci = |m: shakmaty::Move| m.to_uci(CastlingMode::Standard).to_string();
    let lines: Vec<_> = choice
        .lines
        .iter()
        .map(|line| {
            let score = line.score.map(|score| match score.0 {
                Score::Centipawns(cp) => json!({ "cp": cp }),
                Score::Mate(moves) => json!({ "mate": moves }),
            });
            let moves: Vec<_> = line.moves.iter().map(|&m| uci(m)).collect();
            json!({ "moves": moves, "score": score, "probability": line.probability })
        })
        .collect();
    let mut after = position.clone();
    after.play_unchecked(choice.mv);
    let answer = json!({
        "player": player.name(),
        "fen": fen_of(&position),
        "move": uci(choice.mv),
        "san": named(choice.mv),
        "fen_after": fen_of(&after),
        "nodes": choice.nodes,
        "lines": lines,
    });
    println!("{answer}");
    Ok(())
}

/// A player spec, or a model file: one ply, as in the challenge.
fn player_of(text: &str) -> Result<Spec> {
    let path = std::path::Path::new(text);
    if path.is_file() {
        return Ok(Spec::Net(NetSpec { file: path.to_owned(), search: NetSearch::OnePly }));
    }
    Ok(text.parse()?)
}
