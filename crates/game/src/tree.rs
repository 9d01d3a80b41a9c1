use std::num::NonZeroU32;

use shakmaty::{Chess, Move, Position};

use crate::{Headers, Notes, Outcome, Repetitions, Status, status};

/// One game: tag pairs, a start position, a tree of legal moves with notes, and a result.
///
/// The first child of a node continues its line; the others are variations. Nodes live in one arena and keep their
/// [`NodeId`] for the life of the game, also when variations are reordered. Every move in the tree is legal.
#[derive(Clone, Debug)]
pub struct Game {
    /// The tag pairs, without `Result`, `FEN` and `SetUp`.
    pub headers: Headers,
    /// The result, as the token at the end of the moves states it.
    pub result: shakmaty::Outcome,
    start: Chess,
    nodes: Vec<Node>,
}

/// A node of one game's tree: the root, or the position after a move.
///
/// An id belongs to its game. Using it with another game panics or returns another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(
    /// Index in the arena plus one, so that `Option<NodeId>` is as small.
    NonZeroU32,
);

impl NodeId {
    /// The start of every game.
    pub const ROOT: NodeId = NodeId(NonZeroU32::MIN);

    /// A stable number of the node: 0 for the root.
    pub fn number(self) -> u32 {
        self.0.get() - 1
    }

    fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

#[derive(Clone, Debug)]
struct Node {
    /// The move and the node it was played from; `None` for the root alone.
    arrival: Option<(NodeId, Move)>,
    first_child: Option<NodeId>,
    next_sibling: Option<NodeId>,
    notes: Notes,
}

/// An illegal move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not legal here")]
pub struct IllegalMove(pub Move);

impl Default for Game {
    fn default() -> Game {
        Game::from_position(Chess::default())
    }
}

impl Game {
    /// A game without moves that starts from this position.
    pub fn from_position(start: Chess) -> Game {
        let root = Node { arrival: None, first_child: None, next_sibling: None, notes: Notes::default() };
        Game { headers: Headers::default(), result: shakmaty::Outcome::Unknown, start, nodes: vec![root] }
    }

    /// The position before the first move.
    pub fn start(&self) -> &Chess {
        &self.start
    }

    /// Whether the game starts from the standard position, including move counters.
    pub fn starts_normally(&self) -> bool {
        self.start == Chess::default() && self.start.halfmoves() == 0 && self.start.fullmoves().get() == 1
    }

    /// The move that led to a node; `None` for the root.
    pub fn move_to(&self, node: NodeId) -> Option<Move> {
        self.nodes[node.index()].arrival.map(|(_, m)| m)
    }

    /// The node before; `None` for the root.
    pub fn parent(&self, node: NodeId) -> Option<NodeId> {
        self.nodes[node.index()].arrival.map(|(parent, _)| parent)
    }

    /// The node with this [`NodeId::number`]; `None` if there is none or it was removed.
    pub fn node(&self, number: u32) -> Option<NodeId> {
        let node = NodeId(NonZeroU32::new(number.checked_add(1)?)?);
        if node.index() >= self.nodes.len() {
            return None;
        }
        let mut at = node;
        while let Some(parent) = self.parent(at) {
            if !self.children(parent).any(|child| child == at) {
                return None;
            }
            at = parent;
        }
        Some(node)
    }

    /// The child nodes, the continuation of the line first.
    pub fn children(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        let first = self.nodes[node.index()].first_child;
        std::iter::successors(first, |child| self.nodes[child.index()].next_sibling)
    }

    /// Annotations of a node.
    pub fn notes(&self, node: NodeId) -> &Notes {
        &self.nodes[node.index()].notes
    }

    /// Annotations of a node.
    pub fn notes_mut(&mut self, node: NodeId) -> &mut Notes {
        &mut self.nodes[node.index()].notes
    }

    /// The nodes of the main line after the root.
    pub fn mainline(&self) -> impl Iterator<Item = NodeId> {
        self.line_after(NodeId::ROOT)
    }

    /// The nodes that continue a node's line.
    pub fn line_after(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        std::iter::successors(self.nodes[node.index()].first_child, |at| self.nodes[at.index()].first_child)
    }

    /// The moves of the main line.
    pub fn moves(&self) -> impl Iterator<Item = Move> {
        self.mainline().filter_map(|node| self.move_to(node))
    }

    /// The last node of the main line; the root when there are no moves.
    pub fn last(&self) -> NodeId {
        self.mainline().last().unwrap_or(NodeId::ROOT)
    }

    /// The nodes from the first move to `node`, which is the last of them; empty for the root.
    pub fn path(&self, node: NodeId) -> Vec<NodeId> {
        let mut path: Vec<NodeId> = std::iter::successors(Some(node), |at| self.parent(*at))
            .take_while(|at| *at != NodeId::ROOT)
            .collect();
        path.reverse();
        path
    }

    /// The position at a node, replayed from the start.
    pub fn position(&self, node: NodeId) -> Chess {
        let mut position = self.start.clone();
        for m in self.path(node).into_iter().filter_map(|at| self.move_to(at)) {
            position.play_unchecked(m);
        }
        position
    }

    /// The status at a node, with the repetitions on its path.
    pub fn status(&self, node: NodeId) -> Status {
        let mut position = self.start.clone();
        let mut repetitions = Repetitions::from_start(&position);
        for m in self.path(node).into_iter().filter_map(|at| self.move_to(at)) {
            position.play_unchecked(m);
            repetitions.push(&position);
        }
        status(&position, &repetitions)
    }

    /// Adds a move after `node`: as its continuation when it has none, else as its last variation. A move that is
    /// already there is not added again; its node is returned.
    ///
    /// # Errors
    /// When the move is not legal there.
    pub fn add_move(&mut self, node: NodeId, m: Move) -> Result<NodeId, IllegalMove> {
        if self.position(node).is_legal(m) { Ok(self.add_legal(node, m)) } else { Err(IllegalMove(m)) }
    }

    /// [`add_move`](Self::add_move) for a legal move.
    pub(crate) fn add_legal(&mut self, parent: NodeId, m: Move) -> NodeId {
        let mut last = None;
        for child in self.children(parent) {
            if self.move_to(child) == Some(m) {
                return child;
            }
            last = Some(child);
        }
        self.nodes.push(Node {
            arrival: Some((parent, m)),
            first_child: None,
            next_sibling: None,
            notes: Notes::default(),
        });
        let count = u32::try_from(self.nodes.len()).ok().and_then(NonZeroU32::new);
        let child = NodeId(count.expect("a game's moves fit in memory, and so in a u32"));
        match last {
            Some(sibling) => self.nodes[sibling.index()].next_sibling = Some(child),
            None => self.nodes[parent.index()].first_child = Some(child),
        }
        child
    }

    /// Moves a variation one place up among its siblings; nothing happens to the first and the root.
    pub fn promote(&mut self, node: NodeId) {
        self.reorder(node, |children, at| {
            if let Some(above) = at.checked_sub(1) {
                children.swap(above, at);
            }
        });
    }

    /// Makes the line through `node` the main line, from the first move on. Siblings keep their order.
    pub fn make_mainline(&mut self, node: NodeId) {
        for at in self.path(node) {
            self.reorder(at, |children, at| children[..=at].rotate_right(1));
        }
    }

    /// Removes a node and its descendants from the tree; the root stays. Their ids become invalid.
    pub fn delete(&mut self, node: NodeId) {
        self.reorder(node, |children, at| {
            children.remove(at);
        });
    }

    /// Relinks the children of `node`'s parent after `change`, which gets them and the place of `node`.
    fn reorder(&mut self, node: NodeId, change: impl FnOnce(&mut Vec<NodeId>, usize)) {
        let Some(parent) = self.parent(node) else { return };
        let mut children: Vec<NodeId> = self.children(parent).collect();
        let Some(at) = children.iter().position(|child| *child == node) else { return };
        change(&mut children, at);
        self.nodes[parent.index()].first_child = children.first().copied();
        for (place, child) in children.iter().enumerate() {
            self.nodes[child.index()].next_sibling = children.get(place + 1).copied();
        }
    }

    /// Ends the game: sets the result and the `Termination` tag.
    pub fn finish(&mut self, outcome: Outcome) {
        self.result = outcome.result();
        self.headers.set("Termination", outcome.termination()).expect("a plain word can be a tag's name");
    }
}

/// Games are equal when they read the same: tags, start, result, and the same tree with the same notes, whatever
/// order the nodes were added in.
impl PartialEq for Game {
    fn eq(&self, other: &Game) -> bool {
        let counters = |position: &Chess| (position.halfmoves(), position.fullmoves());
        if self.headers != other.headers
            || self.result != other.result
            || self.start != other.start
            || counters(&self.start) != counters(&other.start)
        {
            return false;
        }
        let mut pending = vec![(NodeId::ROOT, NodeId::ROOT)];
        while let Some((ours, theirs)) = pending.pop() {
            if self.move_to(ours) != other.move_to(theirs) || self.notes(ours) != other.notes(theirs) {
                return false;
            }
            let (our_children, their_children) =
                (self.children(ours).count(), other.children(theirs).count());
            if our_children != their_children {
                return false;
            }
            pending.extend(self.children(ours).zip(other.children(theirs)));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::san::San;

    use super::*;
    use crate::{DrawReason, fen_of};

    fn play(game: &mut Game, mut at: NodeId, moves: &str) -> NodeId {
        for san in moves.split_whitespace() {
            let m = san.parse::<San>().unwrap().to_move(&game.position(at)).unwrap();
            at = game.add_move(at, m).unwrap();
        }
        at
    }

    fn line(game: &Game) -> String {
        let mut position = game.start().clone();
        let sans: Vec<String> = game
            .moves()
            .map(|m| shakmaty::san::SanPlus::from_move_and_play_unchecked(&mut position, m).to_string())
            .collect();
        sans.join(" ")
    }

    #[test]
    fn adding_a_move_twice_gives_one_node() {
        let mut game = Game::default();
        let first = play(&mut game, NodeId::ROOT, "e4 e5");
        let again = play(&mut game, NodeId::ROOT, "e4 e5");
        assert_eq!(first, again);
        assert_eq!(game.mainline().count(), 2);
    }

    #[test]
    fn a_node_is_found_by_number_until_removed() {
        let mut game = Game::default();
        let end = play(&mut game, NodeId::ROOT, "e4 e5 Nf3");
        assert_eq!((NodeId::ROOT.number(), end.number()), (0, 3));
        assert_eq!((game.node(0), game.node(3)), (Some(NodeId::ROOT), Some(end)));
        assert_eq!((game.node(4), game.node(u32::MAX)), (None, None));
        let second = game.parent(end).unwrap();
        game.delete(second);
        assert_eq!((game.node(second.number()), game.node(end.number())), (None, None));
    }

    #[test]
    fn an_illegal_move_is_an_error() {
        let mut game = Game::default();
        let m = Move::Castle { king: shakmaty::Square::E1, rook: shakmaty::Square::H1 };
        assert_eq!(game.add_move(NodeId::ROOT, m), Err(IllegalMove(m)));
        assert_eq!(game.last(), NodeId::ROOT);
    }

    #[test]
    fn positions_follow_the_path_of_their_own_line() {
        let mut game = Game::default();
        play(&mut game, NodeId::ROOT, "e4 e5 Nf3");
        let sicilian = play(&mut game, NodeId::ROOT, "e4 c5 Nf3 d6");
        assert_eq!(game.path(sicilian).len(), 4);
        assert_eq!(
            fen_of(&game.position(sicilian)),
            "rnbqkbnr/pp2pppp/3p4/2p5/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 0 3"
        );
        assert_eq!(line(&game), "e4 e5 Nf3");
    }

    #[test]
    fn promoting_and_deleting_reorder_the_tree() {
        let mut game = Game::default();
        let e4 = play(&mut game, NodeId::ROOT, "e4");
        let d4 = play(&mut game, NodeId::ROOT, "d4");
        let c4 = play(&mut game, NodeId::ROOT, "c4");
        let reply = play(&mut game, c4, "e5");
        play(&mut game, c4, "c5");
        let symmetrical = game.children(c4).last().unwrap();

        game.promote(c4);
        assert_eq!(game.children(NodeId::ROOT).collect::<Vec<_>>(), [e4, c4, d4]);
        game.make_mainline(symmetrical);
        assert_eq!(game.children(NodeId::ROOT).collect::<Vec<_>>(), [c4, e4, d4]);
        assert_eq!(game.children(c4).collect::<Vec<_>>(), [symmetrical, reply]);
        assert_eq!(line(&game), "c4 c5");
        game.delete(c4);
        assert_eq!(line(&game), "e4");
        game.promote(e4);
        game.delete(NodeId::ROOT);
        assert_eq!(game.children(NodeId::ROOT).collect::<Vec<_>>(), [e4, d4]);
    }

    #[test]
    fn equality_does_not_depend_on_the_order_of_adding() {
        let mut one = Game::default();
        play(&mut one, NodeId::ROOT, "e4 e5");
        play(&mut one, NodeId::ROOT, "d4 d5");
        let mut other = Game::default();
        play(&mut other, NodeId::ROOT, "e4");
        play(&mut other, NodeId::ROOT, "d4 d5");
        assert_ne!(one, other);
        play(&mut other, NodeId::ROOT, "e4 e5");
        assert_eq!(one, other);
        let last = other.last();
        other.notes_mut(last).after = "?".to_owned();
        assert_ne!(one, other);
    }

    #[test]
    fn the_status_counts_repetitions_on_the_path() {
        let mut game = Game::default();
        let end = play(&mut game, NodeId::ROOT, "Nf3 Nf6 Ng1 Ng8 Nf3 Nf6 Ng1 Ng8");
        // Adding the same moves again adds no nodes.
        assert_eq!(game.mainline().count(), 8);
        assert_eq!(game.status(end), Status::Ongoing { claim: Some(DrawReason::ThreefoldRepetition) });
    }

    #[test]
    fn node_ids_are_small() {
        assert_eq!(size_of::<Option<NodeId>>(), 4);
    }
}
