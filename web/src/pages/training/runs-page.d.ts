// Types of the modules shared with the standalone page (crates/runs/page).

declare module '#runs/lines.mjs' {
  /** A line of metrics: numbers by name. */
  export type Line = Record<string, unknown>;
  export class Lines {
    steps: Line[];
    evaluations: Line[];
    unreadable: number;
    add(text: string): void;
    get last(): Line | undefined;
  }
}

declare module '#runs/feed.mjs' {
  import type { Lines } from '#runs/lines.mjs';
  export interface Run {
    name: string;
    lines: Lines;
    about: { config?: unknown; facts?: Record<string, unknown> } | null;
    loaded: boolean;
    /** The index of its colour; null while it is not shown. */
    slot: number | null;
    standing?: string;
    message?: string | null;
    modified?: number | null;
    started?: number | null;
    bytes?: number;
  }
  export class Feed {
    constructor(runs: Map<string, Run>, told: { changed: (redraw: boolean) => void; failed: (text: string | null) => void });
    /** The server's clock, in seconds since 1970. */
    now?: number;
    poll(): Promise<void>;
    stop(): void;
  }
}

declare module '#runs/list.mjs' {
  import type { Run } from '#runs/feed.mjs';
  export function status(run: Run, now: number, live: boolean): { kind: string; text: string };
  export function facts(run: Run): string;
}

declare module '#runs/series.mjs' {
  import type { Lines } from '#runs/lines.mjs';
  import type { Run } from '#runs/feed.mjs';
  export type Point = [x: number, y: number, marked?: boolean];
  export function about(key: string): { title: string; better?: 'lower' | 'higher'; share?: boolean };
  export function trainingKeys(runs: Run[]): string[];
  export function scoreKeys(runs: Run[]): string[];
  export function groupNames(runs: Run[]): string[];
  export function groupTitle(name: string): string;
  export function training(lines: Lines, key: string, axis: string): Point[];
  export function speed(lines: Lines, axis: string): Point[];
  export function heldOut(lines: Lines, group: string, key: string, axis: string): Point[];
  export function smooth(points: Point[], weight: number): Point[];
  export function outline(points: Point[], columns: number): Point[];
  export function nearest(points: Point[], x: number): number;
}

declare module '#runs/scale.mjs' {
  export function range(values: number[], how?: { cut?: boolean; log?: boolean }): [number, number] | null;
  export function short(x: number): string;
  export function score(x: number, share?: boolean): string;
  export function duration(seconds: number): string;
}
