import { turnOf } from '../board/squares';
import type { EngineClient } from '../engine/client';
import type { Answer, CardKind, Expectation, GameInput, NewCard, ReviewedMove, ThoughtLine } from '../wasm/tabia.js';

/** Moves that lose less of the winning chance than this are good too. */
const GOOD = 0.04;
/** Slope of the logistic win probability per centipawn, as in reviews. */
const WIN_SLOPE = 0.003_682_08;
const LINES = 5;
const SLICES = 3;
const LISTED = 4;
const STRONGER = 200;
const MAX_RATING = 2600;
/** A mistake can be learned from if stronger people find a good move at least this often. */
const LEARNABLE = 0.15;

interface Subject {
  kind: CardKind;
  /** The position with its history. */
  game: GameInput;
  fen: string;
  rating: number;
  played?: string;
  loss?: number;
  opening?: string;
  source: string;
  ply: number;
  tags?: string[];
}

/** A card for a position: the engine's good moves, and what people play. */
export async function newCard(client: EngineClient, subject: Subject, secondsPerSlice = 0.2): Promise<NewCard> {
  const { kind, game, fen, rating, played, loss = 0, opening, source, ply, tags } = subject;
  await Promise.all([client.loadBundled('human'), client.loadBundled('value')]);
  let lines: ThoughtLine[] = [];
  await client.stream('analysis', [game, LINES, secondsPerSlice, SLICES], (thought) => (lines = thought.lines));
  const stronger = Math.min(rating + STRONGER, MAX_RATING);
  const [peers, above] = await client.call('human', 'human', game, [rating, stronger]);
  return {
    kind,
    fen,
    answers: goodMoves(lines, turnOf(fen) === 'white'),
    ...(played === undefined ? {} : { played }),
    loss,
    peers: likeliest(peers?.moves ?? []),
    stronger: likeliest(above?.moves ?? []),
    ...(opening ? { opening } : {}),
    origin: { source, ply },
    ...(tags ? { tags } : {}),
  };
}

/** Whether people somewhat stronger find a good move of a mistake often enough to learn it. */
export function isLearnable(card: NewCard): boolean {
  const found = (card.stronger ?? []).filter(({ uci }) => card.answers.some((answer) => answer.uci === uci));
  return found.reduce((sum, { probability }) => sum + probability, 0) >= LEARNABLE;
}

/** The moves of a review that lost enough to be worth practising. */
export function mistakesOf(moves: readonly ReviewedMove[], mine: (ply: number) => boolean): ReviewedMove[] {
  return moves.filter((move) => mine(move.ply) && (move.mark === 'mistake' || move.mark === 'blunder'));
}

function goodMoves(lines: readonly ThoughtLine[], white: boolean): Answer[] {
  const chance = ({ cp, mate }: ThoughtLine) => {
    const forWhite = mate != null ? (mate > 0 ? 1 : 0) : 1 / (1 + Math.exp(-WIN_SLOPE * (cp ?? 0)));
    return white ? forWhite : 1 - forWhite;
  };
  const best = lines[0] ? chance(lines[0]) : 0;
  return lines
    .filter((line) => line.moves[0] !== undefined && best - chance(line) <= GOOD)
    .map((line) => ({ uci: line.moves[0] ?? '', chance: chance(line), line: line.moves.slice(1, 8) }));
}

function likeliest(moves: readonly Expectation[]): Expectation[] {
  return moves.slice(0, LISTED).map(({ uci, probability }) => ({ uci, probability }));
}
