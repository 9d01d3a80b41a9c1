import type { Side } from '../wasm/tabia.js';
import { read } from '@lichess-org/chessground/fen';

// Moves and positions in words, for screen readers.

const NAMES: Record<string, string> = { K: 'king', Q: 'queen', R: 'rook', B: 'bishop', N: 'knight' };
const ROLES = ['king', 'queen', 'rook', 'bishop', 'knight', 'pawn'] as const;

/** A move in SAN: "Nxf3+" becomes "knight takes f3, check". */
export function describeMove(san: string): string {
  const end = san.endsWith('#') ? ', checkmate' : san.endsWith('+') ? ', check' : '';
  const bare = san.replace(/[+#]$/, '');
  if (bare === 'O-O') return `castles kingside${end}`;
  if (bare === 'O-O-O') return `castles queenside${end}`;
  const parts = bare.match(/^([KQRBN]?)([a-h]?[1-8]?)(x?)([a-h][1-8])(?:=([QRBN]))?$/);
  if (!parts) return san;
  const [, piece = '', from = '', takes = '', to = '', promotion = ''] = parts;
  const words = [NAMES[piece] ?? 'pawn', from, takes && 'takes', to, promotion && `promotes to ${NAMES[promotion]}`];
  return words.filter(Boolean).join(' ') + end;
}

/** The contents of a square: "white knight" or "empty". */
export function describeSquare(fen: string, square: string): string {
  const piece = read(fen).get(square as 'a1');
  return piece ? `${piece.color} ${piece.role}` : 'empty';
}

/** The pieces of a side: "king g1, queen d1, pawns a2 b2". */
export function describePieces(fen: string, side: Side): string {
  const own = [...read(fen)].filter(([, { color }]) => color === side);
  return ROLES.flatMap((role) => {
    const squares = own.filter(([, piece]) => piece.role === role).map(([square]) => square);
    return squares.length ? [`${role}${squares.length > 1 ? 's' : ''} ${squares.sort().join(' ')}`] : [];
  }).join(', ');
}
