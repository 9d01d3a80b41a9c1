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
