//! `tabia play-move`: one move of a player as JSON.

use std::sync::Arc;

use anyhow::{Context, Result};
use serde_json::json;
use shakmaty::san::SanPlus;
use shakmaty::{ByColor, Chess, Position};
use tabia_cli::{PlayerFactory, WallClock};
use tabia_encoding::Score;
use tabia_game::{History, fen_of, position_from_fen};
use tabia_model::Model;
use tabia_players::{ChallengeRules, LevelSpec, Limits, NetSearch, NetSpec, OnePly, Player, Spec};
use tabia_search::{FixedContext, exact_evaluator_for};

use crate::cli::PlayMoveArgs;

pub(crate) fn run(args: &PlayMoveArgs) -> Result<()> {
    let (spec, fen) = match (&args.first, &args.second, args.baseline) {
        (fen, None, true) => (Spec::Level(strongest_level()?), fen),
        (player, Some(fen), false) => (player_of(player)?, fen),
        (_, Some(_), true) => anyhow::bail!("expected either a player or --baseline, and a FEN"),
        (_, None, false) => anyhow::bail!("expected a player (or --baseline) and a FEN"),
    };
    let position = position_from_fen(fen).with_context(|| format!("FEN {fen:?}"))?;
    let players = PlayerFactory::default();
    let (mut player, in_context) = match &args.context {
        Some(context) => {
            let in_context = InContext::open(&spec, context, &players)?;
            (in_context.player(&spec)?, Some(in_context))
        }
        None => (players.make(&spec, 0)?, None),
    };
    let history = History::new(position.clone(), ByColor::default());
    let limits = Limits { lines: args.lines, ..Limits::default() };
    player.check_start(&position)?;
    let choice = player.choose(&history, &limits, &WallClock::start())?;

    let named = |m| SanPlus::from_move(position.clone(), m).to_string();
    let uci = |m: shakmaty::Move| m.to_uci(position.castles().mode()).to_string();
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
    let mut answer = answer;
    if let Some(InContext { model, context }) = in_context {
        answer["context"] = json!(fen_of(&context));
        answer["readings_after"] = json!(model.readings(&after, &context)?);
    }
    println!("{answer}");
    Ok(())
}

/// A two-input network and the context it sees every position in.
struct InContext {
    model: Arc<Model>,
    context: Chess,
}

impl InContext {
    fn open(spec: &Spec, context: &str, players: &PlayerFactory) -> Result<InContext> {
        let (Spec::Net(_) | Spec::Engine(_), Some(file)) = (spec, spec.file()) else {
            anyhow::bail!(
                "--context: {spec} has no two-input network (expected a model file, net:FILE or engine:FILE)"
            );
        };
        let model = players.open(file).with_context(|| file.display().to_string())?;
        let context = crate::model::context(&model, Some(context))?.context("a context was given")?;
        Ok(InContext { model, context })
    }

    fn player(&self, spec: &Spec) -> Result<Box<dyn Player>> {
        let evaluator = FixedContext::new(exact_evaluator_for(&self.model)?, self.context.clone());
        let name = self.model.card().name.clone().unwrap_or_else(|| spec.to_string());
        Ok(match spec.engine() {
            Some(engine) => engine.build(name, Box::new(evaluator))?,
            None => Box::new(OnePly::over(name, Box::new(evaluator))),
        })
    }
}

/// A player spec, or a model file: one ply, as in the challenge.
fn player_of(text: &str) -> Result<Spec> {
    let path = std::path::Path::new(text);
    if path.is_file() {
        return Ok(Spec::Net(NetSpec { file: path.to_owned(), search: NetSearch::OnePly }));
    }
    Ok(text.parse()?)
}

/// The level of `--baseline`.
fn strongest_level() -> Result<LevelSpec> {
    let level = ChallengeRules::default().levels().next_back();
    Ok(level.context("a challenge has levels")?.into())
}
