//! `tabia model info`: what a network is, and what it thinks of a few positions.

use std::fmt::Write as _;
use std::time::Duration;

use anyhow::Result;
use serde_json::json;
use shakmaty::san::SanPlus;
use shakmaty::{Chess, Position};
use tabia_encoding::{Elo, PlayerInfo, RatingPool, Situation, TIME_BINS, time_bin_range};
use tabia_model::{Evaluation, Format, Model, Reading, Readings};

use super::{card, context, grouped, position};
use crate::cli::InfoArgs;

/// Positions on which a sound network shows its character: nothing known, a queen up, a queen down.
const SANITY: [(&str, &str); 3] = [
    ("start", "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"),
    ("a queen up", "rnb1kbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"),
    ("a queen down", "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNB1KBNR w KQkq - 0 1"),
];

/// A position of the table with its answer.
struct Entry {
    label: String,
    position: Chess,
    evaluation: Evaluation,
    /// Of a two-input network with a --context.
    readings: Option<Readings>,
}

pub(crate) fn run(args: &InfoArgs) -> Result<()> {
    let model = super::open(&args.file, args.layout.as_deref())?;
    let entries = evaluate(&model, args)?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&as_json(&model, &entries, args.top))?);
    } else {
        print!("{}", as_text(&model, &entries, args));
    }
    Ok(())
}

fn evaluate(model: &Model, args: &InfoArgs) -> Result<Vec<Entry>> {
    let asked: Vec<(String, &str)> = if args.fen.is_empty() {
        SANITY.iter().map(|(label, fen)| ((*label).to_owned(), *fen)).collect()
    } else {
        args.fen.iter().map(|fen| (fen.clone(), fen.as_str())).collect()
    };
    // Told one rating alone, a network takes the other player for anybody: the start position is no longer even.
    let context = context(model, args.context.as_deref())?;
    let seat = PlayerInfo { rating: Some(Elo(args.elo)), time_left: args.clock.map(Duration::from_secs) };
    asked
        .into_iter()
        .map(|(label, fen)| {
            let position = position(fen)?;
            // The scale `human,elo=N` plays on.
            let pool = RatingPool::Lichess;
            let situation = Situation { mover: seat, opponent: seat, pool, ..Situation::of(&position) };
            let situation = Situation { context: context.as_ref(), ..situation };
            let evaluation = model.evaluate(&[situation])?.remove(0);
            let readings = match &context {
                Some(context) => model.readings(&position, context)?,
                None => None,
            };
            Ok(Entry { label, position, evaluation, readings })
        })
        .collect()
}

fn as_text(model: &Model, entries: &[Entry], args: &InfoArgs) -> String {
    let (facts, graph) = (model.card(), model.graph());
    let mut text = format!("{}\n", args.file.display());
    let mut line = |label: &str, value: String| {
        writeln!(text, "  {label:<14}{value}").expect("writing to a String cannot fail");
    };
    let stated = |value: &Option<String>| value.clone().unwrap_or_else(|| "not stated".to_owned());
    if let Some(name) = &facts.name {
        line("name", name.clone());
    }
    line("format", model.format().to_string());
    line("size", format!("{} bytes, sha256 {}", grouped(model.file_bytes() as u64), model.sha256()));
    let rule = match model.format() {
        Format::Onnx => " (initializers and constants, as the Chess Challenge counts)",
        _ => "",
    };
    line("parameters", format!("{}{rule}", grouped(model.parameters())));
    line("work", format!("{} multiply-adds a position", grouped(graph.multiply_adds)));
    line("runtime", model.runtime().to_string());
    line("architecture", stated(&facts.architecture));
    line("encoding", format!("{} (version {})", facts.encoding, model.encoding().version()));
    for input in &graph.inputs {
        line("input", described(input));
    }
    for output in &graph.outputs {
        line("output", described(output));
    }
    if let Some(head) = &facts.policy {
        let promotions =
            head.promotion_output.as_ref().map_or(String::new(), |o| format!(", promotions {o:?}"));
        let values = if head.action_values { ", a value for each move" } else { "" };
        line("policy", format!("{:?} over {}{promotions}{values}", head.output, head.vocabulary));
    }
    if let Some(head) = &facts.value {
        let index = head.index.map_or_else(String::new, |index| format!("[{index}]"));
        line("value", format!("{:?}{index}: {}, for {}", head.output, head.unit, head.perspective));
    }
    if let Some(head) = &facts.wdl {
        line("WDL", format!("{:?}, for {}", head.output, head.perspective));
    }
    if let Some(head) = &facts.think_time {
        line("think time", format!("{:?}, {TIME_BINS} bins", head.output));
    }
    line("history", history(model));
    line("ratings", ratings(model).to_owned());
    line("licence", stated(&facts.licence));
    line("authors", stated(&facts.authors));
    line("training data", stated(&facts.training_data));
    if let Some(training) = &facts.training {
        line("training", card::effort(training));
        for command in &training.commands {
            line("command", command.clone());
        }
    }
    if let Some(rounding) = &facts.rounding {
        line("weights", card::exactness(rounding));
    }
    if let Some(all) = facts.held_out.iter().find(|held| held.group == "all") {
        line("held out", format!("{}; `tabia model card` shows every group", card::summary(all)));
    }
    if let Some(notes) = &facts.notes {
        line("notes", notes.clone());
    }

    if model.takes_ratings() {
        let clock = args.clock.map_or(String::new(), |seconds| format!(", {seconds} s on both clocks"));
        line("asked for", format!("two players rated {} on Lichess{clock}", args.elo));
    }

    text.push('\n');
    let width = entries.iter().map(|e| e.label.len()).max().unwrap_or(0).max("position".len());
    // A column of its own only where there is something to show.
    let think =
        |shown: &str| if facts.think_time.is_some() { format!("  {shown:>8}") } else { String::new() };
    let head = format!("{:<width$}  {:>8}  {:>15}", "position", "White", "W / D / L");
    text.push_str(&format!("{head}{}  likeliest moves\n", think("thinks")));
    for entry in entries {
        let turn = entry.position.turn();
        let score =
            entry.evaluation.score.map_or("-".to_owned(), |s| format!("{:+.2}", s.for_white(turn).0 / 100.0));
        let wdl = entry.evaluation.wdl.map_or("-".to_owned(), |w| {
            format!("{:.0} / {:.0} / {:.0}%", 100.0 * w.win, 100.0 * w.draw, 100.0 * w.loss)
        });
        let moves: Vec<_> = named_moves(entry, args.top)
            .into_iter()
            .map(|(san, probability)| format!("{san} {:.1}%", 100.0 * probability))
            .collect();
        let moves = if moves.is_empty() { "-".to_owned() } else { moves.join("  ") };
        let seconds = entry.evaluation.think_time.as_ref().map(typical_seconds);
        let thinks = think(&seconds.map_or("-".to_owned(), |seconds| format!("{seconds:.0} s")));
        text.push_str(&format!("{:<width$}  {score:>8}  {wdl:>15}{thinks}  {moves}\n", entry.label));
    }
    if let Some(context) = &args.context {
        text.push_str(&format!("\nin the context {context}\n"));
        text.push_str(&format!("{:<width$}  {:>22}  {:>22}\n", "position", "context-win", "compare"));
        let shown = |reading: Reading| format!("{:.4} = {:+.2}", reading.raw, reading.white_cp / 100.0);
        for Entry { label, readings, .. } in entries {
            let Some(Readings { context_win, compare }) = *readings else { continue };
            text.push_str(&format!("{label:<width$}  {:>22}  {:>22}\n", shown(context_win), shown(compare)));
        }
        text.push_str("The number of the network, and pawns for White.\n");
    }
    text
}

/// How far a network looks back.
fn history(model: &Model) -> String {
    match model.history() {
        0 => "none: the position alone".to_owned(),
        1 => "1 ply".to_owned(),
        plies => format!("{plies} plies"),
    }
}

/// Whose rating a network takes.
fn ratings(model: &Model) -> &'static str {
    match (model.takes_ratings(), model.takes_opponent_ratings()) {
        (false, _) => "none",
        (true, false) => "of the side to move",
        (true, true) => "of both players",
    }
}

fn as_json(model: &Model, entries: &[Entry], top: usize) -> serde_json::Value {
    let positions: Vec<_> = entries
        .iter()
        .map(|entry| {
            let moves: Vec<_> = named_moves(entry, top)
                .into_iter()
                .map(|(san, probability)| json!({"san": san, "probability": probability}))
                .collect();
            json!({
                "label": entry.label,
                "score_white_cp": entry.evaluation.score.map(|s| s.for_white(entry.position.turn()).0),
                "wdl_mover": entry.evaluation.wdl.map(|w| [w.win, w.draw, w.loss]),
                "think_time": entry.evaluation.think_time,
                "moves": moves,
                "readings": entry.readings,
            })
        })
        .collect();
    json!({
        "format": model.format().to_string(),
        "bytes": model.file_bytes(),
        "sha256": model.sha256(),
        "parameters": model.parameters(),
        "multiply_adds": model.graph().multiply_adds,
        "runtime": model.runtime().to_string(),
        "history_plies": model.history(),
        "ratings": ratings(model),
        "card": model.card(),
        "positions": positions,
    })
}

/// The likeliest moves in algebraic notation.
fn named_moves(entry: &Entry, top: usize) -> Vec<(String, f32)> {
    let candidates = entry.evaluation.policy.as_ref().map_or(&[][..], |p| p.candidates());
    let named = |c: &tabia_model::Candidate| {
        (SanPlus::from_move(entry.position.clone(), c.mv).to_string(), c.probability)
    };
    candidates.iter().take(top).map(named).collect()
}

/// The middle of the bin in which half of all thinking times are reached.
fn typical_seconds(chances: &[f32; TIME_BINS]) -> f32 {
    let mut sum = 0.0;
    let reached = chances.iter().position(|chance| {
        sum += chance;
        sum >= 0.5
    });
    let range = time_bin_range(reached.unwrap_or(TIME_BINS - 1));
    (range.start + range.end) / 2.0
}

fn described(tensor: &tabia_onnx::check::TensorInfo) -> String {
    let dims: Vec<_> = tensor.shape.iter().map(|d| d.map_or("batch".to_owned(), |d| d.to_string())).collect();
    format!("{:?} [{}]", tensor.name, dims.join(", "))
}
