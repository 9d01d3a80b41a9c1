//! The report: one HTML file without scripts and without anything loaded from elsewhere.

use std::fmt::Write as _;

use shakmaty::Color;
use tabia_encoding::RatingPool;
use tabia_practice::{
    ESTIMATED, Estimate, GameReview, Place, PlaceFigures, PoolEstimate, RatingEstimate, SummaryReport,
    Weakness,
};
use tabia_report::{Axis, Chart, Even, Point, Series, Svg, escape, grouped};

pub(super) struct Page<'a> {
    pub(super) me: &'a str,
    pub(super) report: &'a SummaryReport,
    pub(super) games: &'a [(&'a GameReview, Color)],
    pub(super) broken: u64,
}

/// The openings shown, by number of games.
const MOST_OPENINGS: usize = 12;
/// The games listed, newest first.
const MOST_GAMES: usize = 500;

impl Page<'_> {
    pub(super) fn html(&self) -> String {
        let report = self.report;
        let mut body = format!(
            "<h1>{}</h1>\n<p>{} games: {} won, {} drawn, {} lost.{}</p>\n",
            escape(self.me),
            grouped(report.games),
            grouped(report.wins),
            grouped(report.draws),
            grouped(report.losses),
            if self.broken > 0 {
                format!(" {} broken games were skipped.", grouped(self.broken))
            } else {
                String::new()
            },
        );
        for of in &report.played_like {
            body += &played_like(of);
        }
        body += &weaknesses(&report.weaknesses);
        body += "<h2>Where the points go</h2>\n<p>Points of winning chance lost per move: yours (first bar) and those of people \
                 of your rating in the same positions (second bar), with 95% intervals over games.</p>\n";
        let kind =
            |is: fn(&Place) -> bool| report.places.iter().filter(|of| is(&of.place)).collect::<Vec<_>>();
        body += &section("Phase", &kind(|place| matches!(place, Place::Phase { .. })));
        body += &section("Colour", &kind(|place| matches!(place, Place::Color { .. })));
        body += &section("Time control", &kind(|place| matches!(place, Place::Time { .. })));
        body += &section("Time left", &kind(|place| matches!(place, Place::Clock { .. })));
        let mut openings = kind(|place| matches!(place, Place::Opening { .. }));
        openings.sort_by(|one, other| other.games.cmp(&one.games).then_with(|| one.label.cmp(&other.label)));
        openings.truncate(MOST_OPENINGS);
        body += &section("Opening", &openings);
        body += &self.trend();
        body += &self.list();
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{} - Tabia review</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n{body}</main>\n</body>\n</html>\n",
            escape(self.me)
        )
    }

    fn trend(&self) -> String {
        let months = &self.report.months;
        if months.len() < 2 {
            return String::new();
        }
        let at = |month: &str| {
            let mut parts = month.split('.').filter_map(|part| part.parse::<f64>().ok());
            let (year, number) = (parts.next().unwrap_or(0.0), parts.next().unwrap_or(1.0));
            year + (number - 1.0) / 12.0
        };
        let accuracy = months.iter().map(|month| {
            let Estimate { value, low, high } = month.accuracy;
            let note = format!("{}: {value:.1}% in {} games", month.month, month.games);
            let (low, high) = (low.unwrap_or(value).max(0.0), high.unwrap_or(value).min(100.0));
            Point { at: at(&month.month), value, low, high, note }
        });
        let across = |label| Axis { label, step: 1.0, unit: "" };
        let accuracy = Chart {
            title: "Accuracy by month",
            across: across("year"),
            up: Axis { label: "accuracy", step: 5.0, unit: "%" },
            even: Even::None,
            series: vec![Series { name: "accuracy".to_owned(), points: accuracy.collect() }],
        };
        let series = self.report.played_like.iter().map(|pool| {
            let points = months.iter().filter_map(|month| {
                let of = month.played_like.iter().find(|of| of.pool == pool.pool)?;
                let RatingEstimate { rating, low, high, .. } = of.estimate;
                let note = format!("{}: {rating:.0} ({low:.0} to {high:.0})", month.month);
                Some(Point { at: at(&month.month), value: rating, low, high, note })
            });
            Series { name: scale(pool.pool).to_owned(), points: points.collect() }
        });
        let ratings = Chart {
            title: "Estimated rating by month",
            across: across("year"),
            up: Axis { label: "played like", step: 200.0, unit: "" },
            even: Even::None,
            series: series.collect(),
        };
        format!("<h2>Trend</h2>\n<div class=\"charts\">{}{}</div>\n", accuracy.svg(), ratings.svg())
    }

    fn list(&self) -> String {
        let mut games: Vec<_> = self.games.iter().collect();
        games.sort_by(|(one, _), (other, _)| other.date.cmp(&one.date).then_with(|| one.key.cmp(&other.key)));
        let more = games.len().saturating_sub(MOST_GAMES);
        let mut text = "<h2>Games</h2>\n<table><thead><tr><th>Date<th>White<th>Black<th>Result<th>Opening\
                        <th class=\"n\">Accuracy<th class=\"n\">Played like<th class=\"n\">Rating</tr></thead>\n<tbody>\n"
            .to_owned();
        for (game, own) in games.into_iter().take(MOST_GAMES) {
            let side = game.side(*own);
            let name = |color: Color| {
                let name = escape(color.fold_wb(&game.white, &game.black));
                if color == *own { format!("<b>{name}</b>") } else { name }
            };
            let date = if game.date.is_empty() { "-" } else { &game.date };
            let date = link(&game.site, date);
            let accuracy = side.accuracy.map_or("-".to_owned(), |accuracy| format!("{accuracy:.0}%"));
            let like = side.played_like(game.pool, None).map_or("-".to_owned(), |like| {
                format!("{:.0} <small>({:.0}-{:.0})</small>", like.rating, like.low, like.high)
            });
            let rating = game.rating(*own).map_or("-".to_owned(), |rating| rating.to_string());
            let _infallible = writeln!(
                text,
                "<tr id=\"g{}\"><td>{date}<td>{}<td>{}<td>{}<td>{}<td class=\"n\">{accuracy}<td class=\"n\">{like}<td class=\"n\">{rating}</tr>",
                escape(&game.key),
                name(Color::White),
                name(Color::Black),
                escape(&game.result),
                escape(&game.opening),
            );
        }
        text += "</tbody></table>\n";
        if more > 0 {
            let _infallible = writeln!(text, "<p>And {} older games.</p>", grouped(more as u64));
        }
        text
    }
}

/// Whose scale a rating is on.
pub(super) fn scale(pool: RatingPool) -> &'static str {
    match pool {
        RatingPool::Lichess => "Lichess",
        RatingPool::ChessCom => "Chess.com",
        RatingPool::OverTheBoard => "FIDE",
        RatingPool::Online => "chess servers",
        RatingPool::Puzzle => "puzzles",
        RatingPool::Unknown => "an unknown pool",
    }
}

/// A link, if the address is one that a browser opens safely.
fn link(address: &str, words: &str) -> String {
    if address.starts_with("https://") || address.starts_with("http://") {
        format!("<a href=\"{}\">{}</a>", escape(address), escape(words))
    } else {
        escape(words)
    }
}

fn played_like(of: &PoolEstimate) -> String {
    let PoolEstimate { pool, estimate, phases, rating_in_games } = of;
    let rated =
        rating_in_games.map_or(String::new(), |rating| format!(" Your rating in these games: {rating:.0}."));
    let mut text = format!(
        "<h2>You played like {:.0}</h2>\n<p>95%: {:.0} to {:.0} on the scale of {}, from {} moves.{rated}</p>\n",
        estimate.rating,
        estimate.low,
        estimate.high,
        scale(*pool),
        grouped(estimate.moves.into()),
    );
    let parts = ["opening", "middlegame", "endgame"].iter().zip(phases).filter_map(|(name, phase)| {
        let phase = phase.as_ref()?;
        Some(format!("{name} {:.0} ({:.0} to {:.0})", phase.rating, phase.low, phase.high))
    });
    let parts: Vec<String> = parts.collect();
    if !parts.is_empty() {
        let _infallible = writeln!(text, "<p>By phase: {}.</p>", parts.join(", "));
    }
    text + &curve(estimate)
}

/// The posterior as a curve.
fn curve(estimate: &RatingEstimate) -> String {
    const SIZE: (f64, f64) = (560.0, 120.0);
    let highest = estimate.curve.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let last = (estimate.curve.len().max(2) - 1) as f64;
    let x = |place: f64| 10.0 + place / last * (SIZE.0 - 20.0);
    let points = estimate.curve.iter().enumerate().map(|(place, share)| {
        format!("{:.1},{:.1}", x(place as f64), SIZE.1 - 22.0 - share / highest * (SIZE.1 - 32.0))
    });
    let mut svg = Svg::default();
    let points = points.collect::<Vec<_>>().join(" ");
    svg.element("polyline", format_args!(r#"class="line" points="{points}""#), None);
    let (from, to, _) = ESTIMATED;
    for rating in (from..=to).step_by(200) {
        let place = x(f64::from(rating - from) / f64::from(to - from) * last);
        svg.text(
            format_args!(r#"x="{place:.1}" y="{}" text-anchor="middle""#, SIZE.1 - 6.0),
            &rating.to_string(),
        );
    }
    svg.finish(SIZE, "The likelihood of each rating", CURVE_STYLE)
}

fn weaknesses(weaknesses: &[Weakness]) -> String {
    if weaknesses.is_empty() {
        return "<h2>Against your peers</h2>\n<p>There is no place where you lose more than people of your rating.</p>\n".to_owned();
    }
    let mut text = "<h2>Where you lose most against your peers</h2>\n<ol>\n".to_owned();
    for weakness in weaknesses {
        let moments = weakness.moments.iter().map(|moment| {
            let words = format!("{} (-{:.0})", moment.title, 100.0 * moment.loss);
            let address = if moment.site.contains("lichess.org/") {
                format!("{}#{}", moment.site, moment.ply)
            } else {
                moment.site.clone()
            };
            if address.is_empty() {
                format!("<a href=\"#g{}\">{}</a>", escape(&moment.game), escape(&words))
            } else {
                link(&address, &words)
            }
        });
        let moments: Vec<String> = moments.collect();
        let _infallible =
            writeln!(text, "<li>{}<br><small>{}</small></li>", escape(&weakness.text), moments.join("; "));
    }
    text + "</ol>\n"
}

fn section(title: &str, places: &[&PlaceFigures]) -> String {
    if places.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "<h3>{title}</h3>\n{}\n<table><thead><tr><th>{title}<th class=\"n\">Games<th class=\"n\">Moves\
         <th class=\"n\">Accuracy<th class=\"n\">You lose<th class=\"n\">Peers lose<th class=\"n\">Difference\
         <th class=\"n\">Errors<th class=\"n\">Peers' errors</tr></thead>\n<tbody>\n",
        bars(title, places)
    );
    for of in places {
        let _infallible = writeln!(
            text,
            "<tr><td>{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{:.1}%<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{:.1}%<td class=\"n\">{:.1}%</tr>",
            escape(&of.label),
            grouped(of.games),
            grouped(of.moves),
            of.accuracy.value,
            points(of.loss, false),
            points(of.peers, false),
            points(of.excess, true),
            100.0 * of.errors.value,
            100.0 * of.peers_errors.value,
        );
    }
    text + "</tbody></table>\n"
}

/// Points of winning chance, with half the interval.
fn points(Estimate { value, low, high }: Estimate, signed: bool) -> String {
    let value = 100.0 * value;
    let number = if signed { format!("{value:+.2}") } else { format!("{value:.2}") };
    let (Some(low), Some(high)) = (low, high) else { return number };
    format!("{number} <small>±{:.2}</small>", 50.0 * (high - low))
}

/// Two bars for each place: the player's loss and that of peers.
fn bars(title: &str, places: &[&PlaceFigures]) -> String {
    const LEFT: f64 = 210.0;
    const WIDTH: f64 = 560.0;
    const ROW: f64 = 34.0;
    let top = |of: &Estimate| of.high.unwrap_or(of.value);
    let longest = places.iter().flat_map(|of| [top(&of.loss), top(&of.peers)]).fold(1e-6, f64::max);
    let x = |value: f64| LEFT + value.max(0.0) / longest * (WIDTH - LEFT - 10.0);
    let mut svg = Svg::default();
    for (row, of) in places.iter().enumerate() {
        let y = ROW * row as f64;
        svg.text(format_args!(r#"x="{}" y="{:.1}" text-anchor="end""#, LEFT - 8.0, y + 20.0), &of.label);
        for (place, (class, whose, loss)) in
            [("s0", "you", of.loss), ("s1", "peers", of.peers)].into_iter().enumerate()
        {
            let (y, end) = (y + 6.0 + 11.0 * place as f64, x(loss.value));
            let note = format!("{}, {whose}: {:.2} points a move", of.label, 100.0 * loss.value);
            svg.element(
                "rect",
                format_args!(
                    r#"class="{class}" x="{LEFT}" y="{y:.1}" width="{:.1}" height="10""#,
                    end - LEFT
                ),
                Some(&note),
            );
            if let (Some(low), Some(high)) = (loss.low, loss.high) {
                let (low, high, middle) = (x(low), x(high), y + 5.0);
                let ends = format_args!(
                    r#"class="bar" x1="{low:.1}" y1="{middle:.1}" x2="{high:.1}" y2="{middle:.1}""#
                );
                svg.element("line", ends, None);
            }
        }
    }
    svg.finish((WIDTH, ROW * places.len() as f64 + 4.0), title, BAR_STYLE)
}

const BAR_STYLE: &str =
    "svg { font: 12px sans-serif; } text { fill: currentColor; } .bar { stroke: currentColor; }
.s0 { fill: #1f6f8b; } .s1 { fill: #b5651d; }
@media (prefers-color-scheme: dark) { .s0 { fill: #6cc0dc; } .s1 { fill: #e8a565; } }";

const CURVE_STYLE: &str = "svg { font: 12px sans-serif; } text { fill: currentColor; } .line { fill: none; stroke: #1f6f8b; stroke-width: 2; }";

const STYLE: &str = "
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0; }
svg { overflow: visible; }
main { max-width: 60rem; margin: 0 auto; padding: 1rem; }
table { border-collapse: collapse; font-size: 0.875rem; width: 100%; margin: 0.5rem 0 1.5rem; display: block; overflow-x: auto; }
th, td { text-align: left; padding: 0.25rem 0.6rem 0.25rem 0; border-bottom: 1px solid #8884; white-space: nowrap; }
.n { text-align: right; font-variant-numeric: tabular-nums; }
small { opacity: 0.75; }
svg { max-width: 100%; height: auto; }
.charts { display: flex; flex-wrap: wrap; gap: 1rem; }
";
