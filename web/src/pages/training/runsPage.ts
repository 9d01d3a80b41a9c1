import { open } from '#runs/main.mjs';
import '#runs/page.css';
import view from '#runs/view.html?raw';
import { replaceQuery, route } from '../../lib/route.svelte';

/** Shows the server's training runs in an element; returns a function that stops following them. */
export function showRuns(root: Element): () => void {
  root.innerHTML = view;
  return open(null, new URLSearchParams(route().query), (chosen) => replaceQuery(Object.fromEntries(chosen)));
}
