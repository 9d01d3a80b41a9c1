//! `tabia model card`: what a network is and how it was made, as a page for people.

use std::fmt::Write as _;

use anyhow::Result;
use tabia_model::{Accuracy, Figures, HeldOut, Model, ModelCard, Rounding, Strength, StrengthKnot, Training};

use super::grouped;
use crate::cli::CardArgs;

pub(crate) fn run(args: &CardArgs) -> Result<()> {
    let model = super::open(&args.file, args.layout.as_deref())?;
    let name = args.file.file_name().unwrap_or_default().to_string_lossy();
    print!("{}", markdown(&name, &model));
    Ok(())
}

/// The card as Markdown without headings, to stand on a page of its own or within one.
fn markdown(file: &str, model: &Model) -> String {
    let card = model.card();
    let mut text = "| | |\n|---|---|\n".to_owned();
    let mut row = |label: &str, value: &str| {
        writeln!(text, "| {label} | {} |", value.replace('|', "\\|"))
            .expect("writing to a String cannot fail");
    };
    let bytes = grouped(model.file_bytes() as u64);
    row("file", &format!("`{file}`, {}, {bytes} bytes, sha256 `{}`", model.format(), model.sha256()));
    row("parameters", &grouped(model.parameters()));
    let known = |value: &Option<String>| value.clone().unwrap_or_else(|| "not stated".to_owned());
    row("architecture", &known(&card.architecture));
    row("inputs", &format!("`{}`", card.encoding));
    row("heads", &heads(card));
    row("weights", &card.rounding.as_ref().map_or("not stated".to_owned(), exactness));
    row("trained on", &known(&card.training_data));
    if let Some(training) = &card.training {
        row("training", &effort(training));
    }
    row("licence", &known(&card.licence));
    if let Some(authors) = &card.authors {
        row("authors", authors);
    }
    if let Some(notes) = &card.notes {
        row("notes", notes);
    }
    if let Some(training) = card.training.as_ref().filter(|training| !training.commands.is_empty()) {
        let _ = write!(text, "\nMade by\n\n```sh\n{}\n```\n", training.commands.join("\n"));
    }
    if !card.held_out.is_empty() {
        text.push_str("\nHeld-out positions, at the end of training:\n\n");
        let group = |held: &HeldOut| vec![held.group.clone(), grouped(held.positions)];
        let rows: Vec<_> = card.held_out.iter().map(|held| (group(held), held.figures)).collect();
        text.push_str(&table(&["positions held out", "count"], &rows));
    }
    if let Some(strength) = &card.strength {
        text.push_str(&ratings(strength));
    }
    if let Some(Rounding { weights, accuracy: Some(accuracy) }) = &card.rounding {
        let Accuracy { positions, trained, written, .. } = accuracy;
        let positions = grouped(*positions);
        let _ = write!(
            text,
            "\nThe network as trained and this file, on the same {positions} held-out positions:\n\n"
        );
        let rows =
            [(vec!["as trained".to_owned()], *trained), (vec![format!("this file, {weights}")], *written)];
        text.push_str(&table(&["weights"], &rows));
    }
    text
}

/// How each rating is played, and what was measured.
fn ratings(strength: &Strength) -> String {
    let Strength { method, knots } = strength;
    let mut text = format!(
        "\nPlayed at a rating. Measured by {method}.\n\n\
         | asked | shown | 95% | games | told | temperature | trust | nodes | mates seen |\n|---|---|---|---|---|---|---|---|---|\n"
    );
    for knot in knots {
        let (shown, interval, games) = match knot.shown {
            Some(shown) => (
                format!("{:.0}", shown.rating),
                format!("{:.0} to {:.0}", shown.low, shown.high),
                grouped(shown.games.into()),
            ),
            None => Default::default(),
        };
        let StrengthKnot { asked, told, temperature, trust, nodes, mates, .. } = knot;
        let _ = writeln!(
            text,
            "| {asked} | {shown} | {interval} | {games} | {told:.0} | {temperature:.2} | {trust:.1} | {nodes} | {:.0}% |",
            100.0 * mates
        );
    }
    text
}

/// One sentence on what the numbers of a file are and what that costs.
pub(super) fn exactness(rounding: &Rounding) -> String {
    let Rounding { weights, accuracy } = rounding;
    let Some(accuracy) = accuracy else {
        return match weights.as_str() {
            "f32" => weights.clone(),
            _ => format!("{weights}; what that costs was not measured"),
        };
    };
    let mut costs = Vec::new();
    if let Some(share) = accuracy.other_choices {
        costs.push(format!("{:.2}% of first choices are others", 100.0 * share));
    }
    if let (Some(before), Some(after)) = (accuracy.trained.top1, accuracy.written.top1) {
        costs.push(format!("top-1 {:.2}% became {:.2}%", 100.0 * before, 100.0 * after));
    }
    if let Some(difference) = accuracy.value_difference {
        costs.push(format!("values are {difference:.5} apart on average"));
    }
    if let (Some(before), Some(after)) = (accuracy.trained.value_loss, accuracy.written.value_loss) {
        costs.push(format!("the value loss {before:.5} became {after:.5}"));
    }
    format!("{weights}; on {} held-out positions {}", grouped(accuracy.positions), costs.join(", "))
}

/// How long it was trained, and where.
pub(super) fn effort(training: &Training) -> String {
    let Training { device, seed, steps, positions, minutes, .. } = training;
    let device = device.as_ref().map_or(String::new(), |device| format!(" on {device}"));
    format!(
        "{} positions, {} steps, {minutes} minutes{device}, seed {seed}",
        grouped(*positions),
        grouped(*steps)
    )
}

/// The figures of one group in a sentence.
pub(super) fn summary(held: &HeldOut) -> String {
    let number = |(title, of, write): &Column| Some(format!("{title} {}", write(of(&held.figures)?)));
    let numbers: Vec<String> = COLUMNS.iter().filter_map(number).collect();
    format!("{} positions, {}", grouped(held.positions), numbers.join(", "))
}

fn heads(card: &ModelCard) -> String {
    let mut heads = Vec::new();
    if let Some(head) = &card.policy {
        heads.push(format!("moves over `{}`", head.vocabulary));
    }
    if let Some(head) = &card.value {
        heads.push(format!("value: {}, for {}", head.unit, head.perspective));
    }
    if let Some(head) = &card.wdl {
        heads.push(format!("win/draw/loss for {}", head.perspective));
    }
    if card.think_time.is_some() {
        heads.push("think time".to_owned());
    }
    heads.join("; ")
}

/// A column of figures: its title, the number, and how it is written.
type Column = (&'static str, fn(&Figures) -> Option<f64>, fn(f64) -> String);

const COLUMNS: [Column; 11] = [
    ("top-1", |f| f.top1, percent),
    ("top-5", |f| f.top5, percent),
    ("log-loss", |f| f.log_loss, three_digits),
    ("result loss", |f| f.result_loss, three_digits),
    ("think-time loss", |f| f.think_loss, three_digits),
    ("value loss", |f| f.value_loss, five_digits),
    ("value error", |f| f.value_error, three_digits),
    ("value correlation", |f| f.value_correlation, three_digits),
    ("better side named", |f| f.value_sign, percent),
    ("best move one ply ahead", |f| f.best_move, percent),
    ("centipawns given away", |f| f.move_loss_cp, three_digits),
];

fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

fn three_digits(number: f64) -> String {
    format!("{number:.3}")
}

fn five_digits(number: f64) -> String {
    format!("{number:.5}")
}

/// Figures row by row, with the columns that any row has.
fn table(titles: &[&str], rows: &[(Vec<String>, Figures)]) -> String {
    let columns: Vec<&Column> =
        COLUMNS.iter().filter(|(_, of, _)| rows.iter().any(|(_, figures)| of(figures).is_some())).collect();
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let titles = titles.iter().copied().chain(columns.iter().map(|(title, ..)| *title));
    let titles: Vec<String> = titles.map(str::to_owned).collect();
    let mut text = line(&titles);
    text.push_str(&format!("|{}\n", "---|".repeat(titles.len())));
    for (first, figures) in rows {
        let numbers = columns.iter().map(|(_, of, write)| of(figures).map_or(String::new(), write));
        let cells: Vec<String> = first.iter().cloned().chain(numbers).collect();
        text.push_str(&line(&cells));
    }
    text
}
