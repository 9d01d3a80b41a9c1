// Plays against the network inside wasm/tabia_bg.wasm, built by `cargo xtask wasm --embed FILE`.
import init, { embeddedModel, Engine, GameTree } from './wasm/tabia.js';

const PIECES = { K: '♔', Q: '♕', R: '♖', B: '♗', N: '♘', P: '♙', k: '♚', q: '♛', r: '♜', b: '♝', n: '♞', p: '♟\ufe0e' };
const board = document.getElementById('board');
const status = document.getElementById('status');

await init({ module_or_path: new URL('./wasm/tabia_bg.wasm', import.meta.url) });
const engine = new Engine(Date.now());
engine.chooseKernels();
const facts = engine.loadEmbedded();
// A network with a policy head plays from it, others by a one-ply search.
const spec = facts.plays ? `maia:${embeddedModel()},mode=sample` : `net:${embeddedModel()}`;
const tree = new GameTree();
let chosen;
draw(`${spec}, ${facts.parameters.toLocaleString()} parameters. Your move.`);

/** The pieces of a FEN by square. */
function piecesOf(fen) {
  const found = {};
  fen.split(' ')[0].split('/').forEach((row, from8) => {
    let file = 0;
    for (const letter of row) {
      if (/\d/.test(letter)) file += Number(letter);
      else found['abcdefgh'[file++] + (8 - from8)] = letter;
    }
  });
  return found;
}

function draw(text) {
  const { fen, destinations, turn, status: game } = tree.view();
  const pieces = piecesOf(fen);
  const targets = (chosen && destinations[chosen]) ?? [];
  board.replaceChildren(
    ...Array.from({ length: 64 }, (_, index) => {
      const [file, rank] = [index % 8, 8 - Math.floor(index / 8)];
      const square = 'abcdefgh'[file] + rank;
      const button = document.createElement('button');
      button.textContent = PIECES[pieces[square]] ?? '';
      button.ariaLabel = `${square} ${pieces[square] ?? ''}`;
      button.classList.toggle('dark', (file + rank) % 2 === 1);
      button.classList.toggle('chosen', square === chosen);
      button.classList.toggle('target', targets.includes(square));
      button.disabled = game.over || turn !== 'white';
      button.onclick = () => choose(square, pieces, targets);
      return button;
    }),
  );
  status.textContent = game.over ? `${game.result}: ${game.reason}` : text;
}

function choose(square, pieces, targets) {
  if (!targets.includes(square)) {
    chosen = square;
    return draw('Your move.');
  }
  const promotes = pieces[chosen] === 'P' && square.endsWith('8');
  tree.play(chosen + square + (promotes ? 'q' : ''));
  chosen = undefined;
  draw('Thinking…');
  // Lets the browser draw. A larger network belongs in a worker.
  if (!tree.view().status.over) setTimeout(reply, 50);
}

function reply() {
  const { uci, san } = engine.choose(spec, { moves: tree.moves(), white: {}, black: {} }, {});
  tree.play(uci);
  draw(`${san}. Your move.`);
}
