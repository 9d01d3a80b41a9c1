use crate::Svg;

/// A chess board as a picture.
pub struct BoardPicture {
    /// The pieces as FEN writes them, from a1 to h8.
    pub pieces: [Option<char>; 64],
    /// Whether Black is at the bottom.
    pub flipped: bool,
    /// The squares of the last move.
    pub last: Option<(u8, u8)>,
    /// The square of a king in check.
    pub check: Option<u8>,
    /// Arrows over the pieces.
    pub arrows: Vec<Arrow>,
}

/// An arrow from square to square.
pub struct Arrow {
    /// Where it begins, from 0 (a1) to 63 (h8).
    pub from: u8,
    /// Where it ends.
    pub to: u8,
    /// How strong it is drawn, from 0 to 1.
    pub strength: f32,
}

impl Default for BoardPicture {
    fn default() -> Self {
        BoardPicture { pieces: [None; 64], flipped: false, last: None, check: None, arrows: Vec::new() }
    }
}

/// Side of a square.
const SIDE: f64 = 45.0;
const SIZE: f64 = 8.0 * SIDE;

// A board looks the same in a dark theme. The pieces are the text font's: solid ones, filled by colour.
const STYLE: &str = "
.light { fill: #eee6d5; } .dark { fill: #a8896a; } .last { fill: #e3d24a; opacity: .5; }
.check { fill: #d2402f; opacity: .55; } text { font-family: 'DejaVu Sans', 'Segoe UI Symbol', sans-serif; }
.piece { font-size: 36px; text-anchor: middle; stroke-width: .9; }
.white { fill: #fff; stroke: #222; } .black { fill: #222; stroke: #111; }
.place { font-size: 9px; fill: #4a3a2a; } .arrow { stroke: #1f6f8b; fill: #1f6f8b; stroke-linecap: round; }
";

impl BoardPicture {
    /// The picture as an SVG document with this title.
    pub fn svg(&self, title: &str) -> String {
        let mut svg = Svg::default();
        for square in 0..64 {
            let shade = if (square / 8 + square % 8) % 2 == 0 { "dark" } else { "light" };
            self.square(&mut svg, shade, square);
        }
        for square in self.last.iter().flat_map(|(from, to)| [*from, *to]) {
            self.square(&mut svg, "last", square);
        }
        if let Some(square) = self.check {
            self.square(&mut svg, "check", square);
        }
        for number in 0..8_u8 {
            let (x, _) = self.corner(number);
            let (_, y) = self.corner(number * 8);
            let file = char::from(b'a' + number).to_string();
            svg.text(format_args!(r#"class="place" x="{}" y="{}""#, x + SIDE - 7.0, SIZE - 3.0), &file);
            svg.text(format_args!(r#"class="place" x="2" y="{}""#, y + 10.0), &(number + 1).to_string());
        }
        for (square, piece) in (0_u8..).zip(self.pieces) {
            let Some((colour, figure)) = piece.and_then(figure) else { continue };
            let (x, y) = self.centre(square);
            svg.text(format_args!(r#"class="piece {colour}" x="{x}" y="{}""#, y + 13.0), figure);
        }
        for arrow in &self.arrows {
            self.arrow(&mut svg, arrow);
        }
        svg.finish((SIZE, SIZE), title, STYLE)
    }

    fn corner(&self, square: u8) -> (f64, f64) {
        let (file, rank) = (f64::from(square % 8), f64::from(square / 8 % 8));
        if self.flipped { ((7.0 - file) * SIDE, rank * SIDE) } else { (file * SIDE, (7.0 - rank) * SIDE) }
    }

    fn centre(&self, square: u8) -> (f64, f64) {
        let (x, y) = self.corner(square);
        (x + SIDE / 2.0, y + SIDE / 2.0)
    }

    fn square(&self, svg: &mut Svg, class: &str, square: u8) {
        let (x, y) = self.corner(square);
        let place = format_args!(r#"class="{class}" x="{x}" y="{y}" width="{SIDE}" height="{SIDE}""#);
        svg.element("rect", place, None);
    }

    fn arrow(&self, svg: &mut Svg, arrow: &Arrow) {
        let ((x1, y1), (x2, y2)) = (self.centre(arrow.from), self.centre(arrow.to));
        let length = (x2 - x1).hypot(y2 - y1);
        if length == 0.0 {
            return;
        }
        let strength = f64::from(arrow.strength).clamp(0.0, 1.0);
        let (along, width) = (((x2 - x1) / length, (y2 - y1) / length), 2.0 + 6.0 * strength.sqrt());
        let head = 2.2 * width;
        let (bx, by) = (x2 - head * along.0, y2 - head * along.1);
        let opacity = 0.3 + 0.55 * strength;
        svg.element(
            "line",
            format_args!(
                r#"class="arrow" opacity="{opacity:.2}" stroke-width="{width:.1}" x1="{x1}" y1="{y1}" x2="{bx:.1}" y2="{by:.1}""#
            ),
            None,
        );
        let (sx, sy) = (-along.1 * head * 0.6, along.0 * head * 0.6);
        svg.element(
            "polygon",
            format_args!(
                r#"class="arrow" opacity="{opacity:.2}" points="{x2},{y2} {:.1},{:.1} {:.1},{:.1}""#,
                bx + sx,
                by + sy,
                bx - sx,
                by - sy
            ),
            None,
        );
    }
}

/// The class and the character of a piece. Solid figures serve for both colours.
fn figure(piece: char) -> Option<(&'static str, &'static str)> {
    let colour = if piece.is_ascii_uppercase() { "white" } else { "black" };
    let figure = match piece.to_ascii_lowercase() {
        // The variation selector keeps a pawn from being shown as an emoji.
        'p' => "\u{265f}\u{fe0e}",
        'n' => "\u{265e}",
        'b' => "\u{265d}",
        'r' => "\u{265c}",
        'q' => "\u{265b}",
        'k' => "\u{265a}",
        _ => return None,
    };
    Some((colour, figure))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_stand_where_they_are_seen_from() {
        let mut picture = BoardPicture::default();
        picture.pieces[4] = Some('K');
        picture.pieces[60] = Some('k');
        let white = picture.svg("kings");
        assert_eq!(white.matches("<rect").count(), 64);
        assert!(white.contains(r#"class="piece white" x="202.5" y="350.5""#), "{white}");
        picture.flipped = true;
        assert!(picture.svg("kings").contains(r#"class="piece white" x="157.5" y="35.5""#));
    }

    #[test]
    fn the_last_move_a_check_and_arrows_are_marked() {
        let arrows = vec![Arrow { from: 12, to: 28, strength: 0.5 }, Arrow { from: 3, to: 3, strength: 1.0 }];
        let picture =
            BoardPicture { last: Some((52, 36)), check: Some(4), arrows, ..BoardPicture::default() };
        let svg = picture.svg("a <title>");
        assert_eq!(svg.matches("class=\"last\"").count(), 2);
        assert_eq!(svg.matches("class=\"check\"").count(), 1);
        assert_eq!(svg.matches("<polygon").count(), 1, "an arrow to its own square is left out");
        assert!(svg.contains("a &lt;title&gt;") && !svg.contains("NaN"));
    }
}
