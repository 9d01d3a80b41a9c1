//! `tabia-lab data head`: prints records.

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Args;
use shakmaty::san::SanPlus;
use shakmaty::{Color, EnPassantMode, Position, fen::Epd};
use tabia_data::stats::{Category, GameResult, Pool};
use tabia_data::{AnyRecord, EvaluationRecord, GameRecord, LabelStrategy, Ply, RecordIndex, Set};
use tabia_encoding::Score;
use tabia_game::fen_of;

/// Line width of moves.
const WIDTH: usize = 100;

/// Print some records of a set.
#[derive(Args)]
#[command(after_help = "\
Examples:
  tabia-lab data head games
  tabia-lab data head evaluations -n 3 --random --labels win-chance")]
pub(crate) struct HeadArgs {
    /// Folder of the set.
    #[arg(value_name = "DIR")]
    set: PathBuf,
    /// Number of records.
    #[arg(short = 'n', long, default_value_t = 5, value_name = "N")]
    count: u64,
    /// First record, from 0.
    #[arg(long, default_value_t = 0, value_name = "INDEX", conflicts_with = "random")]
    from: u64,
    /// Select records at random.
    #[arg(long)]
    random: bool,
    /// Random seed.
    #[arg(long, default_value_t = 0, value_name = "S", requires = "random")]
    seed: u64,
    /// Policy labels of evaluations: deepest, sessions, best or win-chance, with an optional temperature after a colon.
    #[arg(long, default_value_t, value_name = "STRATEGY")]
    labels: LabelStrategy,
}

pub(crate) fn run(args: &HeadArgs) -> Result<()> {
    let set = Set::open(&args.set)?;
    let records = set.records();
    ensure!(
        args.from < records || records == 0,
        "no record {}: {} has {records}",
        args.from,
        args.set.display()
    );
    let mut random = fastrand::Rng::with_seed(args.seed);
    let indices: Vec<u64> = if args.random && records > 0 {
        (0..args.count).map(|_| random.u64(..records)).collect()
    } else {
        (args.from..records.min(args.from.saturating_add(args.count))).collect()
    };
    println!("{}: {records} records ({}), {} positions\n", args.set.display(), set.kind(), set.positions());
    for index in indices {
        let shown = match set.record(RecordIndex(index))? {
            AnyRecord::Game(game) => show_game(&game),
            AnyRecord::Evaluation(record) => show_evaluation(&record, args.labels),
        };
        println!("#{index}  {shown}");
    }
    Ok(())
}

fn show_game(game: &GameRecord) -> String {
    let head = &game.head;
    let rating = |color: Color| head.ratings[color].map_or("?".to_owned(), |elo| elo.0.to_string());
    let pace = head.pace.map_or("no time control".to_owned(), |pace| {
        format!("{}+{}", pace.base.as_secs_f64(), pace.increment.as_secs_f64())
    });
    let mut text = format!(
        "{} - {} ({}), {pace}, {}, {} plies\n",
        rating(Color::White),
        rating(Color::Black),
        Pool(head.pool).label(),
        GameResult::of(head).label(),
        game.plies.len()
    );
    if game.start != shakmaty::Chess::default() {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "    from {}", fen_of(&game.start));
    }
    let mut position = game.start.clone();
    let mut line = String::from("   ");
    for (index, ply) in game.plies.iter().enumerate() {
        let mut word = match (position.turn(), index) {
            (Color::White, _) => format!("{}.", position.fullmoves()),
            (Color::Black, 0) => format!("{}...", position.fullmoves()),
            (Color::Black, _) => String::new(),
        };
        word.push_str(&SanPlus::from_move_and_play_unchecked(&mut position, ply.played).to_string());
        word.push_str(&notes(ply));
        if line.len() + 1 + word.len() > WIDTH {
            text.push_str(&line);
            text.push('\n');
            line = String::from("   ");
        }
        line.push(' ');
        line.push_str(&word);
    }
    text + &line + "\n"
}

/// Annotations of a move: ` {clock evaluation}`.
fn notes(ply: &Ply) -> String {
    let clock = ply.clock.map(|clock| {
        let tenths = clock.as_millis() / 100;
        let (minutes, seconds, tenths) = (tenths / 600, tenths / 10 % 60, tenths % 10);
        if tenths == 0 {
            format!("{minutes}:{seconds:02}")
        } else {
            format!("{minutes}:{seconds:02}.{tenths}")
        }
    });
    let parts: Vec<String> =
        clock.into_iter().chain(ply.evaluation.map(|score| show_score(score.0))).collect();
    if parts.is_empty() { String::new() } else { format!("{{{}}}", parts.join(" ")) }
}

fn show_evaluation(record: &EvaluationRecord, strategy: LabelStrategy) -> String {
    let position = &record.position;
    let mut text = format!("{}\n", Epd::from_position(position, EnPassantMode::Legal));
    let mut labels = strategy.labels(record);
    labels.sort_by(|a, b| b.1.total_cmp(&a.1));
    let san = |m| SanPlus::from_move(position.clone(), m).to_string();
    let shown: Vec<String> =
        labels.iter().map(|&(m, probability)| format!("{} {:.1}%", san(m), 100.0 * probability)).collect();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "    {strategy}: {}", shown.join("  "));
    for session in &record.sessions {
        let lines: Vec<String> = session
            .lines
            .iter()
            .map(|line| format!("{} {}", san(line.first), show_score(line.score.0)))
            .collect();
        let _ = writeln!(text, "    depth {} knodes {}: {}", session.depth, session.knodes, lines.join("  "));
    }
    text
}

/// A score from White's point of view, in pawns or as a mate.
fn show_score(score: Score) -> String {
    match score {
        Score::Centipawns(cp) => format!("{:+.2}", f64::from(cp) / 100.0),
        Score::Mate(moves) => format!("#{}", moves.get()),
    }
}
