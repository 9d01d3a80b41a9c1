import type { Side } from '../../wasm/tabia.js';

const CASTLING_RIGHTS = ['K', 'Q', 'k', 'q'] as const;
export type CastlingRight = (typeof CASTLING_RIGHTS)[number];

/** The position in the board editor, legal or not: the fields of a FEN. */
export class EditorPosition {
  /** The piece placement field. */
  placement = $state('');
  turn = $state<Side>('white');
  castling = $state<Record<CastlingRight, boolean>>({ K: false, Q: false, k: false, q: false });
  /** The file of a pawn that has just moved two squares, or empty. */
  enPassantFile = $state('');
  #counters = ['0', '1'];

  constructor(fen: string) {
    this.load(fen);
  }

  load(fen: string): void {
    const [placement = '', turn, castling = '', enPassant = '-', ...counters] = fen.trim().split(/\s+/);
    this.placement = placement;
    this.turn = turn === 'b' ? 'black' : 'white';
    for (const right of CASTLING_RIGHTS) this.castling[right] = castling.includes(right);
    this.enPassantFile = /^[a-h]/.test(enPassant) ? enPassant.charAt(0) : '';
    this.#counters = [counters[0] ?? '0', counters[1] ?? '1'];
  }

  get fen(): string {
    const castling = CASTLING_RIGHTS.filter((right) => this.castling[right]).join('') || '-';
    const enPassant = this.enPassantFile ? this.enPassantFile + (this.turn === 'white' ? '6' : '3') : '-';
    return [this.placement, this.turn === 'white' ? 'w' : 'b', castling, enPassant, ...this.#counters].join(' ');
  }
}
