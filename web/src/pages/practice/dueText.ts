const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'always' });

/** When a card is due: `in 3 days`. */
export function dueText(due: number, now = Date.now()): string {
  const left = due - now;
  if (left <= 0) return 'now';
  if (left < DAY / 2) return relative.format(Math.max(1, Math.round(left / MINUTE)), 'minute');
  const days = Math.max(1, Math.round(left / DAY));
  return days < 60 ? relative.format(days, 'day') : relative.format(Math.round(days / 30), 'month');
}
