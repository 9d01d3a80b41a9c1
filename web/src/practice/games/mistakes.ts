import { sharedEngine } from '../../engine/client';
import type { GameFilter, NewCard, PlayedMistake } from '../../wasm/tabia.js';
import { loadSetting, openDatabase, writeSetting } from '../database';
import { storedDeck } from '../deck.svelte';
import type { Games } from './games.svelte';

/** The mistakes that were made into cards, or could not be learned from. */
const SETTING = 'practisedMistakes';
/** How many mistakes are looked at to find new ones. */
const MOST = 2000;

const nameOf = ({ game, ply }: PlayedMistake) => `${game} ${ply}`;

async function practised(): Promise<string[]> {
  const stored = await loadSetting(SETTING);
  return Array.isArray(stored) ? stored.filter((name) => typeof name === 'string') : [];
}

/** The costliest mistakes that were not practised yet. */
export async function freshMistakes(games: Games, filter: GameFilter, most: number): Promise<PlayedMistake[]> {
  const before = new Set(await practised());
  const mistakes = await games.mistakes(filter, MOST);
  return mistakes.filter((mistake) => !before.has(nameOf(mistake))).slice(0, most);
}

/** Adds a card for each mistake that somewhat stronger people avoid. When it is stopped, the cards so far are added. */
export async function addMistakes(
  mistakes: readonly PlayedMistake[],
  signal: AbortSignal,
  onDone: () => void,
): Promise<{ added: number; skipped: number }> {
  const engine = sharedEngine();
  await Promise.all([engine.loadBundled('human'), engine.loadBundled('value')]);
  const db = await openDatabase();
  const cards: NewCard[] = [];
  const tried: string[] = [];
  for (const mistake of mistakes) {
    if (signal.aborted) break;
    const stored = await db.get('pgns', mistake.game);
    const card = stored && (await engine.call('mistakeCard', 'human', stored.pgn, mistake.ply, mistake.loss));
    if (card) cards.push(card);
    tried.push(nameOf(mistake));
    onDone();
  }
  const added = await (await storedDeck()).add(cards);
  await writeSetting(SETTING, [...new Set([...(await practised()), ...tried])]);
  return { added, skipped: tried.length - cards.length };
}
