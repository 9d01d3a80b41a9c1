// Numbers as text.

/** 12345 as "12,345". */
export function grouped(n: number): string {
  return n.toLocaleString('en');
}

/** Bytes as "4.2 MB". */
export function fileSize(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`;
  const [unit, name] = bytes < 1e6 ? [1e3, 'kB'] : [1e6, 'MB'];
  return `${Number((bytes / unit).toPrecision(3))} ${name}`;
}

/** Points as "7½". */
export function points(n: number): string {
  const whole = Math.floor(n);
  return n === whole ? String(n) : `${whole || ''}½`;
}

/** The points of won and drawn games. */
export function pointsOf({ wins, draws }: { wins: number; draws: number }): string {
  return points(wins + draws / 2);
}

/** A signed integer with a real minus sign. */
function signed(n: number): string {
  const rounded = Math.round(n);
  if (rounded === 0) return '±0';
  return rounded < 0 ? `−${-rounded}` : `+${rounded}`;
}

/** A probability as "42%", with one decimal below 10%. */
export function percent(probability: number): string {
  const value = probability * 100;
  if (value > 0 && value < 0.05) return '<0.1%';
  return `${value >= 9.95 || value === 0 ? Math.round(value) : value.toFixed(1)}%`;
}

/** A score from White's point of view: centipawns or moves to mate. */
export interface Score {
  cp?: number | null | undefined;
  mate?: number | null | undefined;
}

/** A score as "+0.35" or "#−3". */
export function scoreText({ cp, mate }: Score): string {
  if (mate != null) return mate < 0 ? `#−${-mate}` : `#${mate}`;
  if (cp == null) return '';
  return `${cp < 0 ? '−' : '+'}${(Math.abs(cp) / 100).toFixed(2)}`;
}

/** An Elo difference with its interval: "+35 (−20 to +95)". A missing bound is open. */
export function eloText(elo: number | null | undefined, low: number | null | undefined, high: number | null | undefined): string {
  const [from, to] = [low == null ? undefined : signed(low), high == null ? undefined : signed(high)];
  const interval = from && to ? `${from} to ${to}` : from ? `above ${from}` : to ? `below ${to}` : 'unknown';
  return elo == null ? interval : `${signed(elo)} (${interval})`;
}

/** Seconds as "5:00" or "1:02:03". */
export function clockText(seconds: number): string {
  const whole = Math.floor(seconds);
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const twoDigits = (n: number) => String(n).padStart(2, '0');
  return hours ? `${hours}:${twoDigits(minutes)}:${twoDigits(rest)}` : `${minutes}:${twoDigits(rest)}`;
}
