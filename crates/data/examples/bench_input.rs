//! Generates deterministic input for `cargo xtask bench data`.
//!
//! ```text
//! cargo run --profile lab -p tabia-data --example bench_input -- games 20000 >games.pgn
//! cargo run --profile lab -p tabia-data --example bench_input -- rows 1000000 games.pgn >rows.jsonl
//! cargo run --profile lab -p tabia-data --example bench_input -- random-rows 100000000 rows 8
//! ```
//!
//! `games` are random games with clocks. `rows` are evaluations in the format of Lichess: positions of the games of a
//! PGN, each with the line that was played and one other move, with arbitrary scores. `random-rows` are evaluations of positions
//! of random games, in a folder of compressed files: one to four lines of a position in a row, 2.5 on average as in Lichess's
//! table, some of them in another file.

use std::{
    error::Error,
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use shakmaty::{CastlingMode, Chess, EnPassantMode, Move, Position, fen::Epd, san::SanPlus};
use tabia_data::{BytesRead, Chunks, GameRecord, GameRules, SourceFile};
use twox_hash::XxHash3_64;

/// How many moves of a game make a line.
const LINE: usize = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut out = BufWriter::new(io::stdout().lock());
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["games", count] => games(count.parse()?, &mut out)?,
        ["rows", count, path] => rows(count.parse()?, Path::new(path), &mut out)?,
        ["random-rows", count, folder, files] => {
            random_rows(count.parse()?, Path::new(folder), files.parse()?)?;
        }
        _ => {
            let usage = "usage: bench_input games COUNT | rows COUNT FILE | random-rows COUNT FOLDER FILES";
            return Err(usage.into());
        }
    }
    Ok(out.flush()?)
}

/// One of `count` things, by what is hashed.
fn draw(count: usize, what: &[u64]) -> usize {
    let bytes: Vec<u8> = what.iter().flat_map(|part| part.to_le_bytes()).collect();
    (XxHash3_64::oneshot(&bytes) % count as u64) as usize
}

fn games(count: u64, out: &mut impl Write) -> io::Result<()> {
    for game in 0..count {
        let plies = 40 + draw(80, &[game]);
        let rating = 800 + draw(2000, &[game, 1]);
        let tags = [("Event", "Rated Blitz game"), ("White", "a"), ("Black", "b"), ("TimeControl", "300+0")];
        for (name, value) in tags {
            writeln!(out, "[{name} \"{value}\"]")?;
        }
        writeln!(out, "[WhiteElo \"{rating}\"]\n[BlackElo \"{}\"]\n[Result \"*\"]\n", rating + 20)?;
        let mut position = Chess::default();
        for ply in 0..plies {
            let legal = position.legal_moves();
            if legal.is_empty() {
                break;
            }
            let played = legal[draw(legal.len(), &[game, ply as u64, 2])];
            let seconds = 300 - 2 * ply;
            let number =
                if ply % 2 == 0 { format!("{}.", ply / 2 + 1) } else { format!("{}...", ply / 2 + 1) };
            let san = SanPlus::from_move_and_play_unchecked(&mut position, played);
            write!(out, "{number} {san} {{[%clk 0:{:02}:{:02}]}} ", seconds / 60, seconds % 60)?;
        }
        writeln!(out, "*\n")?;
    }
    Ok(())
}

/// Writes `count` rows, or as many as the games give.
fn rows(count: u64, path: &Path, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let mut left = count;
    for file in SourceFile::find(path)? {
        for chunk in Chunks::open(&file, &BytesRead::default())? {
            for game in chunk.read(&GameRules::default()).games {
                game_rows(&game, &mut left, out)?;
                if left == 0 {
                    return Ok(());
                }
            }
        }
    }
    Ok(())
}

fn game_rows(game: &GameRecord, left: &mut u64, out: &mut impl Write) -> io::Result<()> {
    let moves: Vec<Move> = game.plies.iter().map(|ply| ply.played).collect();
    let mut position = game.start.clone();
    for (ply, &played) in moves.iter().enumerate() {
        let fen = Epd::from_position(&position, EnPassantMode::Legal).to_string();
        let legal = position.legal_moves();
        let other = legal[draw(legal.len(), &[ply as u64, legal.len() as u64])];
        let line: Vec<String> = moves[ply..].iter().take(LINE).map(uci).collect();
        let lines = [line.join(" "), uci(&other)];
        for line in lines.iter().take(if other == played { 1 } else { 2 }) {
            if *left == 0 {
                return Ok(());
            }
            *left -= 1;
            let number = draw(4000, &[*left]);
            let (depth, knodes) = (20 + number % 30, 1000 + 17 * number);
            let cp = number as i64 / 4 - 500;
            writeln!(
                out,
                r#"{{"fen":"{fen}","line":"{line}","depth":{depth},"knodes":{knodes},"cp":{cp},"mate":null}}"#
            )?;
        }
        position.play_unchecked(played);
    }
    Ok(())
}

/// Writes `count` rows into `files` files of `folder`, a thread for each processor.
fn random_rows(count: u64, folder: &Path, files: u64) -> Result<(), Box<dyn Error>> {
    std::fs::create_dir_all(folder)?;
    let threads = std::thread::available_parallelism()?.get() as u64;
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let work = || -> io::Result<()> {
            loop {
                let file = next.fetch_add(1, Ordering::Relaxed);
                if file >= files {
                    return Ok(());
                }
                let rows = count / files + u64::from(file < count % files);
                let out = File::create(folder.join(format!("rows-{file:04}.jsonl.zst")))?;
                let mut out = BufWriter::with_capacity(1 << 16, zstd::Encoder::new(out, 1)?.auto_finish());
                random_file(rows, file, files, &mut out)?;
                out.flush()?;
            }
        };
        let workers: Vec<_> = (0..threads.min(files)).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("no panic"))
    })?;
    Ok(())
}

/// Evaluations of the positions of random games. Of every eighth game, the previous file has evaluations too.
fn random_file(rows: u64, file: u64, files: u64, out: &mut impl Write) -> io::Result<()> {
    let mut left = rows;
    for game in 0.. {
        let owner = if game % 8 == 7 { (file + 1) % files } else { file };
        let mut random = fastrand::Rng::with_seed(owner << 40 | game);
        let mut scores = fastrand::Rng::with_seed(file << 40 | game);
        let mut position = Chess::default();
        let (mut fens, mut moves) = (Vec::new(), Vec::new());
        for _ in 0..40 + random.usize(0..80) {
            let legal = position.legal_moves();
            if legal.is_empty() {
                break;
            }
            let (played, other) = (legal[random.usize(0..legal.len())], legal[random.usize(0..legal.len())]);
            fens.push((Epd::from_position(&position, EnPassantMode::Legal).to_string(), uci(&other)));
            moves.push(uci(&played));
            position.play_unchecked(played);
        }
        for (ply, (fen, other)) in fens.iter().enumerate() {
            let end = moves.len().min(ply + LINE);
            for line in 0..scores.u32(1..5) {
                let moves = if line % 2 == 0 { &moves[ply..end] } else { std::slice::from_ref(other) };
                let (depth, knodes) = (18 + scores.u32(0..30), 1000 + scores.u32(0..60_000));
                let (cp, line) = (scores.i32(-600..600), moves.join(" "));
                writeln!(
                    out,
                    r#"{{"fen":"{fen}","line":"{line}","depth":{depth},"knodes":{knodes},"cp":{cp},"mate":null}}"#
                )?;
                left -= 1;
                if left == 0 {
                    return Ok(());
                }
            }
        }
    }
    Ok(())
}

fn uci(m: &Move) -> String {
    m.to_uci(CastlingMode::Chess960).to_string()
}
