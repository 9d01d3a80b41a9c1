use std::io::{self, Write};

use shakmaty::{Chess, Color, Position, san::SanPlus};

use crate::{Game, NodeId, SEVEN_TAG_ROSTER, fen_of};

/// The longest line, where words allow.
const WIDTH: usize = 80;

/// Writes a game as PGN in export style: the seven-tag roster first, lines of at most 80 columns, and an empty line
/// at the end so that games can follow each other.
///
/// A comment cannot hold a `}` in PGN; in one that does, braces become parentheses.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write_game(game: &Game, out: &mut impl Write) -> io::Result<()> {
    write_tags(game, out)?;
    let mut words = Words { out, column: 0, pending: String::new(), opening: "" };
    write_moves(game, &mut words)?;
    words.push(&game.result.to_string())?;
    words.flush()?;
    out.write_all(b"\n\n")
}

fn write_tags(game: &Game, out: &mut impl Write) -> io::Result<()> {
    let result = game.result.to_string();
    for name in SEVEN_TAG_ROSTER {
        let unknown = match name {
            "Date" => "????.??.??",
            "Result" => result.as_str(),
            _ => "?",
        };
        write_tag(name, game.headers.get(name).unwrap_or(unknown), out)?;
    }
    if !game.starts_normally() {
        write_tag("SetUp", "1", out)?;
        write_tag("FEN", &fen_of(game.start()), out)?;
    }
    if game.start().castles().mode().is_chess960() && game.headers.get("Variant").is_none() {
        write_tag("Variant", "Chess960", out)?;
    }
    for (name, value) in game.headers.iter().filter(|(name, _)| !SEVEN_TAG_ROSTER.contains(name)) {
        write_tag(name, value, out)?;
    }
    out.write_all(b"\n")
}

fn write_tag(name: &str, value: &str, out: &mut impl Write) -> io::Result<()> {
    let mut escaped = String::with_capacity(value.len());
    for c in value.chars() {
        if matches!(c, '"' | '\\') {
            escaped.push('\\');
        }
        // A tag is one line.
        escaped.push(if c.is_control() { ' ' } else { c });
    }
    writeln!(out, "[{name} \"{escaped}\"]")
}

/// What is left to write, the next item last. An explicit stack, as variations can be nested deeply.
enum Task {
    Move { node: NodeId, before: Chess },
    LineAfter { node: NodeId, position: Chess },
    Open,
    Close,
}

fn write_moves<W: Write>(game: &Game, words: &mut Words<'_, W>) -> io::Result<()> {
    let mut number = Number::Needed;
    write_comment(&game.notes(NodeId::ROOT).comment(), words, &mut number)?;
    let mut tasks = vec![Task::LineAfter { node: NodeId::ROOT, position: game.start().clone() }];
    while let Some(task) = tasks.pop() {
        match task {
            Task::LineAfter { node, position } => {
                let after = |node| {
                    let mut after = position.clone();
                    if let Some(m) = game.move_to(node) {
                        after.play_unchecked(m);
                    }
                    after
                };
                let mut children = game.children(node);
                let Some(main) = children.next() else { continue };
                let mut ahead = vec![Task::Move { node: main, before: position.clone() }];
                for other in children {
                    ahead.push(Task::Open);
                    ahead.push(Task::Move { node: other, before: position.clone() });
                    ahead.push(Task::LineAfter { node: other, position: after(other) });
                    ahead.push(Task::Close);
                }
                ahead.push(Task::LineAfter { node: main, position: after(main) });
                tasks.extend(ahead.into_iter().rev());
            }
            Task::Move { node, before } => write_move(game, node, before, words, &mut number)?,
            Task::Open => {
                words.opening = "(";
                number = Number::Needed;
            }
            Task::Close => {
                words.append(")");
                number = Number::Needed;
            }
        }
    }
    Ok(())
}

/// Whether the next move shows its number even if it is Black's.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Number {
    Needed,
    Known,
}

fn write_move<W: Write>(
    game: &Game,
    node: NodeId,
    mut before: Chess,
    words: &mut Words<'_, W>,
    number: &mut Number,
) -> io::Result<()> {
    let Some(m) = game.move_to(node) else { return Ok(()) };
    let notes = game.notes(node);
    write_comment(&notes.before, words, number)?;
    let numbered = match before.turn() {
        Color::White => format!("{}. ", before.fullmoves()),
        Color::Black if *number == Number::Needed => format!("{}... ", before.fullmoves()),
        Color::Black => String::new(),
    };
    *number = Number::Known;
    words.push(&format!("{numbered}{}", SanPlus::from_move_and_play_unchecked(&mut before, m)))?;
    for nag in &notes.nags {
        words.push(&format!("${}", nag.0))?;
    }
    write_comment(&notes.comment(), words, number)
}

fn write_comment<W: Write>(text: &str, words: &mut Words<'_, W>, number: &mut Number) -> io::Result<()> {
    if text.trim().is_empty() {
        return Ok(());
    }
    *number = Number::Needed;
    let mut text = text.trim().replace(['\r', '\n'], " ");
    if text.contains('}') {
        text = text.replace('{', "(").replace('}', ")");
    }
    let mut open = "{";
    let mut rest = Some(text.as_str());
    while let Some(left) = rest {
        let end = end_of_word(left);
        words.push_comment_word(&format!("{open}{}", &left[..end]))?;
        rest = left.get(end + 1..);
        open = "";
    }
    words.append("}");
    Ok(())
}

/// Where the first word of a comment ends. A command (`[%clk 0:03:00]`) is one word, since programs look for it in one
/// line.
fn end_of_word(text: &str) -> usize {
    let command = if text.starts_with("[%") { text.find(']').unwrap_or(0) } else { 0 };
    text[command..].find(' ').map_or(text.len(), |blank| command + blank)
}

/// Puts words into lines. The last word is held back, since a closing bracket may still join it.
struct Words<'a, W> {
    out: &'a mut W,
    column: usize,
    pending: String,
    /// A bracket that waits for the word it opens.
    opening: &'static str,
}

impl<W: Write> Words<'_, W> {
    fn push(&mut self, word: &str) -> io::Result<()> {
        self.flush()?;
        self.pending.push_str(std::mem::take(&mut self.opening));
        self.pending.push_str(word);
        Ok(())
    }

    /// A line of a comment must not look like a tag pair or an escaped line to programs that read line by line: a
    /// word that would stays with the one before it. The comment's first word begins with its brace.
    fn push_comment_word(&mut self, word: &str) -> io::Result<()> {
        if word.is_empty() || word.starts_with(['[', '%', ';']) {
            self.pending.push(' ');
            self.pending.push_str(word);
            return Ok(());
        }
        self.push(word)
    }

    fn append(&mut self, text: &str) {
        self.pending.push_str(text);
    }

    fn flush(&mut self) -> io::Result<()> {
        let width = self.pending.chars().count();
        if self.column == 0 {
            // The first word of all.
        } else if self.column + 1 + width > WIDTH {
            self.out.write_all(b"\n")?;
            self.column = 0;
        } else {
            self.out.write_all(b" ")?;
            self.column += 1;
        }
        self.out.write_all(self.pending.as_bytes())?;
        self.column += width;
        self.pending.clear();
        Ok(())
    }
}
