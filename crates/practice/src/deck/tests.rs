use super::*;

const DAY: UnixMillis = 24 * 60 * 60 * 1000;
const START: UnixMillis = 1_800_000_000_000;
/// Scholar's mate is possible.
const FEN: &str = "r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4";
const OTHER: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

fn answer(uci: &str) -> Answer {
    Answer { uci: uci.to_owned(), chance: Some(1.0), line: Vec::new() }
}

fn mistake(fen: &str, best: &str, loss: f32) -> NewCard {
    NewCard {
        kind: CardKind::Mistake,
        fen: fen.to_owned(),
        answers: vec![answer(best)],
        played: Some("a2a3".to_owned()),
        loss,
        peers: vec![Expectation { uci: best.to_owned(), probability: 0.4 }],
        stronger: Vec::new(),
        opening: Some("Italian Game: Scholar".to_owned()),
        phase: Some("opening".to_owned()),
        origin: Some(Origin { source: "A - B".to_owned(), ply: Some(7) }),
        tags: std::collections::BTreeSet::new(),
    }
}

fn deck() -> (Deck, CardId) {
    let mut deck = Deck::default();
    let (id, new) = deck.add(mistake(FEN, "h5f7", 0.5), START).unwrap();
    assert!(new);
    (deck, id)
}

#[test]
fn the_same_mistake_twice_is_one_card_with_two_origins() {
    let (mut deck, id) = deck();
    let again = NewCard {
        origin: Some(Origin { source: "C - D".to_owned(), ply: Some(7) }),
        // Counters do not make another position.
        fen: FEN.replace("4 4", "0 9"),
        ..mistake(FEN, "h5f7", 0.6)
    };
    assert_eq!(deck.add(again, START + DAY).unwrap(), (id.clone(), false));
    let card = deck.card(&id).unwrap();
    assert_eq!((card.origins.len(), card.loss), (2, 0.6));
}

#[test]
fn illegal_cards_are_refused() {
    let mut deck = Deck::default();
    let bad = deck.add(mistake("8/8/8/8/8/8/8/8 w - - 0 1", "a1a2", 0.1), START);
    assert!(matches!(bad, Err(CardError::Position { .. })), "{bad:?}");
    let bad = deck.add(mistake(FEN, "h5h9", 0.1), START);
    assert!(matches!(bad, Err(CardError::Move { .. })), "{bad:?}");
    let bad = deck.add(NewCard { answers: Vec::new(), ..mistake(FEN, "h5f7", 0.1) }, START);
    assert!(matches!(bad, Err(CardError::NoAnswer(_))), "{bad:?}");
    let bad = deck.add(mistake(FEN, "h5f7", f32::NAN), START);
    assert!(matches!(bad, Err(CardError::NotFinite(_))), "{bad:?}");
    assert_eq!(deck.counts(START), DeckCounts::default());
}

#[test]
fn intervals_grow_while_a_card_is_remembered_and_shrink_when_it_is_forgotten() {
    let (mut deck, id) = deck();
    let mut now = START;
    let mut intervals = Vec::new();
    for _ in 0..5 {
        let verdict = deck.answer(&id, "h5f7", 5.0, now).unwrap();
        assert!(verdict.correct);
        intervals.push(verdict.due - now);
        now = verdict.due;
    }
    assert!(intervals.windows(2).all(|pair| pair[1] > pair[0]), "{intervals:?}");
    assert!(intervals[4] > 30 * DAY, "{intervals:?}");
    let verdict = deck.answer(&id, "g1f3", 5.0, now).unwrap();
    assert_eq!((verdict.correct, verdict.grade), (false, Grade::Again));
    assert!(verdict.due - now < DAY, "it returns in the same session");
    let after = deck.answer(&id, "h5f7", 5.0, verdict.due).unwrap();
    assert!(after.due - verdict.due < intervals[4], "it is remembered less well than before");
}

#[test]
fn weeks_of_practice_leave_little_to_do_each_day() {
    let mut deck = Deck::default();
    let mut position = shakmaty::Chess::default();
    // Thirty positions of one game.
    for ply in 0..30 {
        use shakmaty::Position as _;
        let m = position.legal_moves()[ply % position.legal_moves().len()];
        let fen = shakmaty::fen::Fen::from_position(&position, shakmaty::EnPassantMode::Legal).to_string();
        let best = m.to_uci(shakmaty::CastlingMode::Standard).to_string();
        deck.add(NewCard { played: None, ..mistake(&fen, &best, ply as f32 / 100.0) }, START).unwrap();
        position.play_unchecked(m);
    }
    let mut answered = Vec::new();
    for day in 0..28 {
        let now = START + day * DAY;
        let due: Vec<_> =
            deck.due(now, &CardFilter::default()).iter().take(10).map(|card| card.id.clone()).collect();
        for id in &due {
            let best = deck.card(id).unwrap().answers[0].uci.clone();
            deck.answer(id, &best, 8.0, now).unwrap();
        }
        answered.push(due.len());
    }
    assert_eq!(answered[0], 10);
    assert_eq!(deck.counts(START + 28 * DAY).new, 0, "all cards were shown");
    assert!(answered[20..].iter().sum::<usize>() < 30, "{answered:?}");
    assert!(deck.cards().all(|card| card.schedule.repetitions().len() >= 2), "{answered:?}");
}

#[test]
fn the_most_overdue_come_first_and_then_the_worst_new_mistakes() {
    let (mut deck, seen) = deck();
    let (small, _) = deck.add(mistake(OTHER, "e2e4", 0.2), START).unwrap();
    let third = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1";
    let (large, _) = deck.add(NewCard { played: None, ..mistake(third, "e7e5", 0.7) }, START).unwrap();
    deck.grade(&seen, Grade::Good, START).unwrap();
    let due = |deck: &Deck, now| -> Vec<_> {
        deck.due(now, &CardFilter::default()).iter().map(|card| card.id.clone()).collect()
    };
    assert_eq!(due(&deck, START + 1000), [large.clone(), small.clone()]);
    assert_eq!(due(&deck, START + 100 * DAY), [seen, large.clone(), small.clone()]);
    deck.suspend(&large, true);
    assert_eq!(due(&deck, START + 1000), [small]);
    assert_eq!(deck.counts(START + 100 * DAY), DeckCounts { cards: 3, due: 1, new: 1, suspended: 1 });
}

#[test]
fn a_misclick_is_taken_back() {
    let (mut deck, id) = deck();
    let before = deck.card(&id).unwrap().clone();
    deck.answer(&id, "a2a3", 1.0, START).unwrap();
    assert_eq!(deck.undo(), Some(id.clone()));
    assert_eq!(deck.card(&id), Some(&before));
    assert_eq!(deck.undo(), None);
    deck.answer(&id, "a2a3", 1.0, START).unwrap();
    deck.delete(&id);
    assert_eq!(deck.undo(), None, "a deleted card stays deleted");
    assert_eq!(deck.cards().count(), 0);
}

#[test]
fn cards_are_filtered_by_kind_tag_opening_and_phase() {
    let (mut deck, id) = deck();
    deck.set_tags(&id, ["mate".to_owned(), "  ".to_owned()]);
    let passes = |filter: CardFilter| deck.due(START, &filter).len() == 1;
    assert!(passes(CardFilter { tag: Some("mate".to_owned()), ..CardFilter::default() }));
    assert!(!passes(CardFilter { tag: Some("  ".to_owned()), ..CardFilter::default() }));
    assert!(passes(CardFilter { opening: Some("Italian Game".to_owned()), ..CardFilter::default() }));
    assert!(!passes(CardFilter { opening: Some("Sicilian".to_owned()), ..CardFilter::default() }));
    assert!(passes(CardFilter { phase: Some("opening".to_owned()), ..CardFilter::default() }));
    assert!(!passes(CardFilter { kind: Some(CardKind::Puzzle), ..CardFilter::default() }));
}

#[test]
fn a_deck_survives_being_written_and_read() {
    let (mut deck, id) = deck();
    deck.answer(&id, "h5f7", 90.0, START).unwrap();
    let read = Deck::from_json(&deck.to_json()).unwrap();
    assert_eq!(read.cards().collect::<Vec<_>>(), deck.cards().collect::<Vec<_>>());
    assert_eq!(
        read.card(&id).unwrap().schedule.repetitions(),
        [Repetition { at: START, grade: Grade::Hard }]
    );
}

#[test]
fn other_files_and_newer_versions_are_refused_by_name() {
    assert!(matches!(Deck::from_json("[1, 2"), Err(DeckError::Json(_))));
    assert!(matches!(
        Deck::from_json(r#"{"format": "tabia-backup", "version": 1}"#),
        Err(DeckError::Format(_))
    ));
    assert!(matches!(
        Deck::from_json(r#"{"format": "tabia-deck", "version": 99}"#),
        Err(DeckError::Version(99))
    ));
    let (deck, _) = deck();
    let json = deck.to_json().replace("h5f7", "h5f8");
    assert!(matches!(
        Deck::from_json(&json),
        Err(DeckError::Card { number: 1, error: CardError::Move { .. } })
    ));
    let json = deck.to_json().replace("PPPP1PPP", "PPPPQPPP");
    assert!(matches!(Deck::from_json(&json), Err(DeckError::Card { number: 1, .. })));
}

#[test]
fn merging_keeps_the_longer_history() {
    let (mut one, id) = deck();
    let mut other = Deck::from_json(&one.to_json()).unwrap();
    other.grade(&id, Grade::Good, START).unwrap();
    other.add(mistake(OTHER, "e2e4", 0.2), START).unwrap();
    let schedule = other.card(&id).unwrap().schedule.clone();
    assert_eq!(one.merge(other), 1);
    assert_eq!(one.card(&id).unwrap().schedule, schedule);
    let empty = Deck::from_json(&Deck::default().to_json()).unwrap();
    assert_eq!(one.merge(empty), 0);
    assert_eq!(one.card(&id).unwrap().schedule, schedule);
}

#[test]
fn exports_hold_every_card() {
    let (mut deck, _) = deck();
    deck.add(mistake(OTHER, "e2e4", 0.2), START).unwrap();
    let pgn = deck.to_pgn();
    assert_eq!(pgn.matches("[CardId ").count(), 2);
    assert!(pgn.contains("4. Qxf7# (4. a3 $2) *"), "{pgn}");
    let anki = deck.to_anki();
    let notes: Vec<_> = anki.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(notes.len(), 2);
    assert!(notes.iter().all(|note| note.split('\t').count() == 4));
    assert!(anki.contains("<b>Qxf7#</b>") && anki.contains('♔'));
}

/// A repertoire with one position and some moves in it.
fn prepared(name: &str, fen: &str, moves: &[&str]) -> RepertoireCards {
    let card = NewCard {
        kind: CardKind::Repertoire,
        answers: moves.iter().map(|uci| answer(uci)).collect(),
        played: None,
        peers: Vec::new(),
        opening: Some(name.to_owned()),
        origin: Some(Origin { source: name.to_owned(), ply: Some(1) }),
        tags: [name.to_owned()].into(),
        ..mistake(fen, "a2a3", 0.0)
    };
    RepertoireCards { name: name.to_owned(), cards: vec![card] }
}

fn ucis(card: &Card) -> Vec<&str> {
    card.answers.iter().map(|answer| answer.uci.as_str()).collect()
}

#[test]
fn cards_follow_their_repertoire() {
    let (mut deck, mistake) = deck();
    let synced = deck.sync_repertoires(vec![prepared("Mine", OTHER, &["e2e4"])], &[], START).unwrap();
    assert_eq!((synced.added, synced.changed.len()), (1, 1));
    let id = synced.changed[0].clone();
    deck.set_tags(&id, ["Mine".to_owned(), "easy".to_owned()]);
    deck.grade(&id, Grade::Good, START);

    let same = deck.sync_repertoires(vec![prepared("Mine", OTHER, &["e2e4"])], &[], START).unwrap();
    assert_eq!(same, SyncedCards::default());

    let edited = deck.sync_repertoires(vec![prepared("Mine", OTHER, &["d2d4"])], &[], START).unwrap();
    assert_eq!((edited.added, edited.updated), (0, 1));
    let card = deck.card(&id).unwrap();
    assert_eq!((ucis(card), card.schedule.repetitions().len()), (vec!["d2d4"], 1));
    assert!(card.tags.contains("easy"));

    let removed = deck.sync_repertoires(Vec::new(), &["Mine".to_owned()], START).unwrap();
    assert_eq!(removed.suspended, 1);
    let card = deck.card(&id).unwrap();
    assert!(card.suspended && card.tags.contains(REMOVED_LINE));
    assert!(!deck.card(&mistake).unwrap().suspended);
    // By hand it stays.
    deck.suspend(&id, false);
    assert_eq!(deck.sync_repertoires(Vec::new(), &["Mine".to_owned()], START).unwrap().suspended, 0);
    deck.suspend(&id, true);

    let back = deck.sync_repertoires(vec![prepared("Mine", OTHER, &["d2d4"])], &[], START).unwrap();
    assert_eq!((back.resumed, back.added), (1, 0));
    let card = deck.card(&id).unwrap();
    assert!(!card.suspended && !card.tags.contains(REMOVED_LINE));
}

#[test]
fn two_repertoires_share_a_position() {
    let mut deck = Deck::default();
    let both = || vec![prepared("A", OTHER, &["e2e4"]), prepared("B", OTHER, &["d2d4"])];
    let id = deck.sync_repertoires(both(), &[], START).unwrap().changed[0].clone();
    let card = deck.card(&id).unwrap();
    assert_eq!((ucis(card), card.tags.len()), (vec!["e2e4", "d2d4"], 2));
    // One is renamed, the other deleted.
    let left = vec![prepared("C", OTHER, &["d2d4"])];
    let synced = deck.sync_repertoires(left, &["A".to_owned(), "B".to_owned()], START).unwrap();
    assert_eq!((synced.updated, synced.suspended), (1, 0));
    let card = deck.card(&id).unwrap();
    assert_eq!((ucis(card), card.tags.iter().map(String::as_str).collect()), (vec!["d2d4"], vec!["C"]));
}

#[test]
fn cards_of_unknown_repertoires_are_left_alone() {
    let mut deck = Deck::default();
    deck.sync_repertoires(vec![prepared("From a backup", OTHER, &["e2e4"])], &[], START).unwrap();
    let synced = deck.sync_repertoires(vec![prepared("Mine", FEN, &["h5f7"])], &[], START).unwrap();
    assert_eq!((synced.added, synced.suspended), (1, 0));
}
