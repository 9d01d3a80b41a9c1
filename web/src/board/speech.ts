import type { Side } from '../wasm/tabia.js';
import { read } from '@lichess-org/chessground/fen';

const NAMES: Record<string, string> = { K: 'king', Q: 'queen', R: 'rook', B: 'bishop', N: 'knight' };
const ROLES = ['king', 'queen', 'rook', 'bishop', 'knight', 'pawn'] as const;

/** A move in SAN as a sentence to hear: "Nxf3+" becomes "knight takes f3, check". */
export function spokenMove(san: string): string {
  const end = san.endsWith('#') ? ', checkmate' : san.endsWith('+') ? ', check' : '';
  const bare = san.replace(/[+#]$/, '');
  if (bare === 'O-O') return `castles kingside${end}`;
  if (bare === 'O-O-O') return `castles queenside${end}`;
  const parts = bare.match(/^([KQRBN]?)([a-h]?[1-8]?)(x?)([a-h][1-8])(?:=([QRBN]))?$/);
  if (!parts) return san;
  const [, piece = '', from = '', takes = '', to = '', promotion = ''] = parts;
  const words = [NAMES[piece] ?? 'pawn'];
  if (from) words.push(from);
  if (takes) words.push('takes');
  words.push(to);
  if (promotion) words.push(`becomes a ${NAMES[promotion]}`);
  return words.join(' ') + end;
}

/** What stands on a square: "white knight", or "empty". */
export function spokenSquare(fen: string, square: string): string {
  const piece = read(fen).get(square as 'a1');
  return piece ? `${piece.color} ${piece.role}` : 'empty';
}

/** One side's men in words: "king g1, queen d1, pawns a2 b2". */
export function spokenSide(fen: string, side: Side): string {
  const squares = new Map<string, string[]>();
  for (const [square, piece] of read(fen)) {
    if (piece.color !== side) continue;
    squares.set(piece.role, [...(squares.get(piece.role) ?? []), square]);
  }
  return ROLES.flatMap((role) => {
    const at = squares.get(role)?.sort();
    return at ? [`${role}${at.length > 1 ? 's' : ''} ${at.join(' ')}`] : [];
  }).join(', ');
}
