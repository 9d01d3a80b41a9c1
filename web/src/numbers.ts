// Numbers as people read them.

/** 12345 as "12,345". */
export function grouped(n: number): string {
  return n.toLocaleString('en');
}

/** Bytes as "4.2 MB". */
export function size(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`;
  const [unit, name] = bytes < 1e6 ? [1e3, 'kB'] : [1e6, 'MB'];
  return `${Number((bytes / unit).toPrecision(3))} ${name}`;
}

/** Points as "7½". */
export function points(n: number): string {
  const whole = Math.floor(n);
  return n === whole ? String(n) : `${whole || ''}½`;
}

/** A signed whole number with a real minus. */
export function signed(n: number): string {
  const rounded = Math.round(n);
  if (rounded === 0) return '±0';
  return rounded < 0 ? `−${-rounded}` : `+${rounded}`;
}

/** A share of one as "42%", small ones with a digit more. */
export function percent(share: number): string {
  const hundred = share * 100;
  return `${hundred >= 9.95 || hundred === 0 ? Math.round(hundred) : hundred.toFixed(1)}%`;
}

/** A score for White as "+0.35" or "#−3". */
export function scored({ cp, mate }: { cp?: number | undefined; mate?: number | undefined }): string {
  if (mate !== undefined) return mate < 0 ? `#−${-mate}` : `#${mate}`;
  if (cp === undefined) return '';
  return `${cp < 0 ? '−' : '+'}${(Math.abs(cp) / 100).toFixed(2)}`;
}

/** A difference in Elo with its interval: "+35 (−20 to +95)". An end that is not there is open. */
export function elo(likeliest: number | null | undefined, low: number | null | undefined, high: number | null | undefined): string {
  const [from, to] = [low == null ? undefined : signed(low), high == null ? undefined : signed(high)];
  const range = from && to ? `${from} to ${to}` : from ? `above ${from}` : to ? `below ${to}` : 'anything';
  return likeliest == null ? range : `${signed(likeliest)} (${range})`;
}
