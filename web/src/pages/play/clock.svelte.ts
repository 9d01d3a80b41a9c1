import type { Side } from '../../wasm/tabia.js';

/** A chess clock, in seconds. It measures elapsed time, so that throttled timers do not make it slow. */
export class ChessClock {
  /** Seconds added after a move, by side. */
  readonly increment: Readonly<Record<Side, number>>;
  #left: Record<Side, number>;
  #since = 0;
  #timer: ReturnType<typeof setInterval> | undefined;
  #onFlag: (side: Side) => void;
  /** The side whose clock runs. */
  running = $state<Side>();
  /** The displayed times. */
  remaining = $state.raw() as Record<Side, number>;

  constructor(left: Record<Side, number>, increment: Record<Side, number>, onFlag: (side: Side) => void) {
    this.#left = { ...left };
    this.increment = increment;
    this.#onFlag = onFlag;
    this.remaining = { ...left };
  }

  left(side: Side): number {
    const elapsed = this.running === side ? (performance.now() - this.#since) / 1000 : 0;
    return Math.max(0, this.#left[side] - elapsed);
  }

  start(side: Side): void {
    if (this.running === side) return;
    this.stop();
    this.running = side;
    this.#since = performance.now();
    this.#timer = setInterval(() => this.#tick(), 100);
  }

  stop(): void {
    if (this.running) this.#left[this.running] = this.left(this.running);
    this.running = undefined;
    clearInterval(this.#timer);
    this.#show();
  }

  /** Stops a side's clock after its move and adds the increment. Returns its time. */
  press(side: Side): number {
    if (this.running === side) {
      this.stop();
      this.#left[side] += this.increment[side];
      this.#show();
    }
    return this.#left[side];
  }

  /** Sets both times, as after a takeback. */
  set(left: Record<Side, number>): void {
    this.stop();
    this.#left = { ...left };
    this.#show();
  }

  #show(): void {
    this.remaining = { white: this.left('white'), black: this.left('black') };
  }

  #tick(): void {
    this.#show();
    const side = this.running;
    if (side && this.left(side) === 0) {
      this.stop();
      this.#onFlag(side);
    }
  }
}
