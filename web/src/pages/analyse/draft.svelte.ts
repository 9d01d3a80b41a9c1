import type { Side } from '../../wasm/tabia.js';

const RIGHTS = ['K', 'Q', 'k', 'q'] as const;
export type Right = (typeof RIGHTS)[number];

/** A position being set up: anything at all, legal or not. Only the words of a FEN, no rules. */
export class Draft {
  /** The first word of a FEN. */
  board = $state('');
  turn = $state<Side>('white');
  rights = $state<Record<Right, boolean>>({ K: false, Q: false, k: false, q: false });
  /** The file of a pawn that has just moved two squares, or empty. */
  passant = $state('');
  #clocks = ['0', '1'];

  constructor(fen: string) {
    this.read(fen);
  }

  read(fen: string): void {
    const [board = '', turn, rights = '', passant = '-', ...clocks] = fen.trim().split(/\s+/);
    this.board = board;
    this.turn = turn === 'b' ? 'black' : 'white';
    for (const right of RIGHTS) this.rights[right] = rights.includes(right);
    this.passant = /^[a-h]/.test(passant) ? passant.charAt(0) : '';
    this.#clocks = [clocks[0] ?? '0', clocks[1] ?? '1'];
  }

  get fen(): string {
    const rights = RIGHTS.filter((right) => this.rights[right]).join('') || '-';
    const passant = this.passant ? this.passant + (this.turn === 'white' ? '6' : '3') : '-';
    return [this.board, this.turn === 'white' ? 'w' : 'b', rights, passant, ...this.#clocks].join(' ');
  }
}
