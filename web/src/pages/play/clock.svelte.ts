import type { Side } from '../../wasm/tabia.js';

/** A chess clock with two faces. Seconds; time is measured, not counted, so that a page that sleeps loses none. */
export class ChessClock {
  readonly increment: number;
  #left: Record<Side, number>;
  #since = 0;
  #timer: ReturnType<typeof setInterval> | undefined;
  #onFlag: (side: Side) => void;
  /** Whose time runs. */
  running = $state<Side>();
  /** What the faces show. */
  faces = $state.raw() as Record<Side, number>;

  constructor(left: Record<Side, number>, increment: number, onFlag: (side: Side) => void) {
    this.#left = { ...left };
    this.increment = increment;
    this.#onFlag = onFlag;
    this.faces = { ...left };
  }

  /** Seconds a side has now. */
  left(side: Side): number {
    const ran = this.running === side ? (performance.now() - this.#since) / 1000 : 0;
    return Math.max(0, this.#left[side] - ran);
  }

  /** Lets a side's time run. */
  start(side: Side): void {
    if (this.running === side) return;
    this.stop();
    this.running = side;
    this.#since = performance.now();
    this.#timer = setInterval(() => this.#look(), 100);
  }

  /** Lets nobody's time run. */
  stop(): void {
    if (this.running) this.#left[this.running] = this.left(this.running);
    this.running = undefined;
    clearInterval(this.#timer);
    this.#show();
  }

  /** A side has moved: its time stops and grows by the increment. Returns what it then has. */
  press(side: Side): number {
    if (this.running === side) {
      this.stop();
      this.#left[side] += this.increment;
      this.#show();
    }
    return this.#left[side];
  }

  /** Sets both faces, as when moves are taken back. */
  set(left: Record<Side, number>): void {
    this.stop();
    this.#left = { ...left };
    this.#show();
  }

  #show(): void {
    this.faces = { white: this.left('white'), black: this.left('black') };
  }

  #look(): void {
    this.#show();
    const side = this.running;
    if (side && this.left(side) === 0) {
      this.stop();
      this.#onFlag(side);
    }
  }
}

/** Seconds as a clock shows them: "5:00", and tenths when few are left. */
export function clockText(seconds: number): string {
  if (seconds < 20) return `0:${seconds.toFixed(1).padStart(4, '0')}`;
  const whole = Math.floor(seconds);
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const two = (n: number) => String(n).padStart(2, '0');
  return hours ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}
