use shakmaty::File;

/// Whether a queen or a knight on an empty board could move between these squares (a1 = 0, h8 = 63).
pub(super) const fn queen_or_knight(from: usize, to: usize) -> bool {
    let files = (from % 8).abs_diff(to % 8);
    let ranks = (from / 8).abs_diff(to / 8);
    from != to && (files == 0 || ranks == 0 || files == ranks || files * ranks == 2)
}

/// Whether a White pawn can promote between these squares.
pub(super) const fn promotes_up(from: usize, to: usize) -> bool {
    from / 8 == 6 && to / 8 == 7 && (from % 8).abs_diff(to % 8) <= 1
}

/// Whether a Black pawn can promote between these squares.
pub(super) const fn promotes_down(from: usize, to: usize) -> bool {
    from / 8 == 1 && to / 8 == 0 && (from % 8).abs_diff(to % 8) <= 1
}

/// Whether the squares are on a rank, file or diagonal.
const fn queen_line(from: usize, to: usize) -> bool {
    let files = (from % 8).abs_diff(to % 8);
    let ranks = (from / 8).abs_diff(to / 8);
    files == 0 || ranks == 0 || files == ranks
}

/// The number of a promotion among the 22 of one side, where files are in order and each has straight, left, right.
pub(super) fn promotion_number(from: File, to: File) -> u16 {
    let (from, to) = (from as u16, to as u16);
    let before = (3 * from).saturating_sub(1);
    // The a-file has no left.
    let sideways = if from == 0 || to < from { 1 } else { 2 };
    before + if from == to { 0 } else { sideways }
}

/// Moves of a queen or a knight from any square to any other.
pub(super) const PAIRS: u16 = 1792;

/// The order of the targets in [`pair_indices`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Targets {
    FromA1,
    FromH8,
}

/// The index of each pair of squares, at `from * 64 + to`: for each square from a1 the moves of a queen, then of a knight.
pub(super) const fn pair_indices(targets: Targets) -> [u16; 4096] {
    let mut indices = [u16::MAX; 4096];
    let (mut next, mut from) = (0, 0);
    while from < 64 {
        let mut rider = 0;
        while rider < 2 {
            let mut place = 0;
            while place < 64 {
                let to = match targets {
                    Targets::FromA1 => place,
                    Targets::FromH8 => 63 - place,
                };
                if queen_or_knight(from, to) && queen_line(from, to) == (rider == 0) {
                    indices[from * 64 + to] = next;
                    next += 1;
                }
                place += 1;
            }
            rider += 1;
        }
        from += 1;
    }
    assert!(next == PAIRS);
    indices
}
