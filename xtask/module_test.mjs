// Loads a built module of the page in Node and uses it as the page does. Arguments: the module's script, its wasm file,
// the folder of the bundled networks, and "rten" if the module runs any network.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [script, wasm, models, runtime] = process.argv.slice(2);
const any = runtime === 'rten';
const tabia = await import(pathToFileURL(script).href);
tabia.initSync({ module: readFileSync(wasm) });

let passed = 0;
function test(name, body) {
  try {
    body();
  } catch (error) {
    console.error(`FAILED: ${name}`);
    throw error;
  }
  passed += 1;
}
const network = (file) => new Uint8Array(readFileSync(join(models, file)));
const throws = (body, words) => assert.throws(body, (error) => error instanceof Error && words.test(error.message));

const engine = new tabia.Engine(1);

test('the fastest instructions are chosen', () => assert.match(engine.chooseKernels(), /simd/));

test('the version is told', () => assert.match(tabia.version(), /^\d+\.\d+\.\d+$/));

test('positions, openings and time controls', () => {
  assert.equal(tabia.checkFen('8/8/4k3/8/8/3QK3/8/8 b - -').ok, true);
  assert.match(tabia.checkFen(tabia.emptyFen()).problem, /illegal position/);
  assert.equal(tabia.openingBook().length, 25);
  assert.deepEqual(tabia.timeControl('5+3'), { base: 300, increment: 3, label: '5+3' });
  throws(() => tabia.timeControl('soon'), /invalid time control/);
});

test('a tree is played, walked and shown', () => {
  const tree = new tabia.GameTree();
  const view = tree.view();
  assert.deepEqual(view.destinations.e2, ['e3', 'e4']);
  assert.equal(view.nodes.length, 0);
  tree.play('e2e4');
  tree.play('e7e5');
  tree.back();
  tree.play('c7c5');
  const after = tree.view();
  assert.deepEqual(after.nodes.map((node) => [node.id, node.parent, node.san, node.mainline]), [
    [1, 0, 'e4', true],
    [2, 1, 'e5', true],
    [3, 1, 'c5', false],
  ]);
  assert.deepEqual(after.lastMove, ['c7', 'c5']);
  tree.setClock(3, 61.5);
  tree.setEvaluation(3, -35, undefined, 12);
  tree.setNags(3, [1, 2]);
  tree.makeMainline(3);
  assert.deepEqual(tree.clocks(), [null, 61.5]);
  assert.match(tree.pgn(), /\[%eval -0.35,12\] \[%clk 0:01:01.5\]/);
  throws(() => tree.play('e2e5'), /illegal move/);
  throws(() => tree.go(99), /99/);
  throws(() => tree.resign('green'), /invalid side/);
  throws(() => new tabia.GameTree('nonsense'), /invalid FEN/);
  throws(() => tabia.GameTree.fromMoves(undefined, ['e2e4', 'e2e4']), /move 2/);
  tree.resign('black');
  assert.deepEqual(tree.view().status, { over: true, result: '1-0', reason: 'resignation', claimable: false });
});

test('games come in as PGN, broken ones with a word', () => {
  const games = tabia.GameTree.fromPgn('[White "A"]\n\n1. e4 e5 (1... c5) 2. Nf3 1-0\n\n[White "B"]\n\n1. e4 e4 *\n');
  assert.deepEqual(games.games.map((game) => [game.title, game.result, game.plies]), [['A - ?', '1-0', 3], ['B - ?', '*', 1]]);
  assert.match(games.problems[0], /`e4` is not a legal move/);
  const again = tabia.GameTree.fromPgn(games.take(0).pgn());
  assert.deepEqual(again.take(0).view().nodes, games.take(0).view().nodes);
  throws(() => games.take(7), /7/);
});

test('a long PGN is scanned piece by piece', () => {
  const game = (number) => `[White "A${number}"]\n\n1. e4 {\u00e9t\u00e9} e5 2. Nf3 1-0\n\n`;
  const text = new TextEncoder().encode(Array.from({ length: 40 }, (_, number) => game(number)).join('') + '1. e5 *\n');
  let at = 0;
  const scan = new tabia.PgnScan((most) => text.subarray(at, (at = Math.min(at + Math.min(most, 57), text.length))));
  const [games, problems, reads] = [[], [], []];
  for (let part; !part?.done; ) {
    part = scan.step(16);
    games.push(...part.games);
    problems.push(...part.problems);
    reads.push(part.read);
  }
  assert.deepEqual([games.length, problems.length], [40, 1]);
  assert.match(problems[0], /game 41/);
  assert.deepEqual([games[39].title, games[39].plies], ['A39 - ?', 3]);
  const taken = new TextDecoder().decode(text.subarray(games[39].offset, games[39].offset + games[39].length));
  assert.equal(tabia.GameTree.fromPgn(taken).take(0).view().headers.find(([name]) => name === 'White')[1], 'A39');
  assert.ok(reads.every((read, index) => index === 0 || read >= reads[index - 1]));
  assert.match(new tabia.PgnScan(() => 7).step(1).problems[0], /no bytes/);
});

test('models are opened, and junk is refused in words', () => {
  const facts = engine.addModel('human', network('human.safetensors'));
  assert.deepEqual([facts.plays, facts.thinks, facts.rated, facts.challenge], [true, true, true, false]);
  assert.equal(engine.addModel('value', network('value.safetensors')).evaluates, true);
  const small = () => engine.addModel('small', network('challenge-s.onnx'));
  if (any) assert.equal(small().challenge, true);
  else assert.throws(small, { name: 'NoRuntime', message: /^small: / });
  assert.equal(engine.models().length, any ? 3 : 2);
  throws(() => engine.addModel('junk', new Uint8Array(1000).fill(7)), /^junk: /);
  throws(() => engine.addModel('nothing', new Uint8Array()), /^nothing: /);
  throws(() => engine.addModel('huge', new Uint8Array(500 << 20)), /500 MiB/);
  for (const length of [10, 1000, 50_000]) {
    throws(() => engine.addModel('cut', network('human.safetensors').subarray(0, length)), /^cut: /);
  }
});

const untimed = { white: {}, black: {} };

test('players are named, and what cannot play says why', () => {
  assert.match(engine.describe('level:1'), /Level 1/);
  throws(() => engine.describe('human:lost'), /"lost"/);
  throws(() => engine.describe('uci:stockfish'), /cannot|not a player/);
  throws(() => engine.describe('level:9'), /level 9/);
  throws(() => engine.choose('level:1', { moves: ['e2e5'], ...untimed }, {}), /move 1 of the game/);
  throws(() => engine.choose('level:1', { moves: 7 }, {}), /GameInput/);
});

test('a person looks at ratings and clocks', () => {
  const moves = ['e2e4', 'e7e5', 'g1f3'];
  const game = { moves, white: { rating: 1500, remaining: 170 }, black: { rating: 1500, remaining: 175 }, timeControl: '3+0', clocks: [178, 177, 170] };
  const views = engine.human('human', game, [800, 2400, null]);
  assert.deepEqual(views.map((view) => view.rating), [800, 2400, null]);
  for (const view of views) {
    const sum = view.moves.reduce((sum, move) => sum + move.probability, 0);
    assert.ok(Math.abs(sum - 1) < 1e-3 && view.moves.length === 29 && view.pause.length === 20);
  }
  assert.notDeepEqual(views[0].moves, views[1].moves);
  const hurried = { ...game, white: { rating: 1500, remaining: 3 }, black: { rating: 1500, remaining: 3 } };
  assert.notDeepEqual(engine.human('human', hurried, [1500]), engine.human('human', game, [1500]));
  const thought = engine.choose('human,elo=1500', hurried, { lines: 3 });
  assert.ok(thought.pause <= hurried.white.remaining / 4, `a pause of ${thought.pause} s`);
  assert.equal(thought.lines.length, 3);
  throws(() => engine.human('human', game, [-5]), /rating/);
  throws(() => engine.human('value', game, [1500]), /no policy head/);
});

test('a person plays a whole game against level 1', () => {
  const tree = new tabia.GameTree();
  let person = engine.describe('human,elo=1200');
  assert.match(person, /1200/);
  while (!tree.view().status.over && tree.moves().length < 300) {
    const spec = tree.moves().length % 2 === 0 ? 'human,elo=1200' : 'level:1';
    const thought = engine.choose(spec, { moves: tree.moves(), white: { rating: 1200 }, black: {} }, {});
    tree.play(thought.uci);
    if (tree.view().status.claimable) tree.claimDraw();
  }
  const { status } = tree.view();
  assert.ok(status.over || tree.moves().length === 300, status.reason);
  const read = tabia.GameTree.fromPgn(tree.pgn());
  assert.deepEqual(read.problems, []);
  assert.deepEqual(read.games[0].plies, tree.moves().length);
});

test('the engine finds a mate', () => {
  const game = { startFen: '6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1', moves: [], ...untimed };
  const thought = engine.choose('engine', game, { movetime: 0.2, lines: 2 });
  assert.deepEqual([thought.uci, thought.lines[0].mate, thought.lines.length], ['a1a8', 1, 2]);
});

test('analysis goes deeper with every slice', () => {
  const game = { moves: ['e2e4', 'c7c5'], ...untimed };
  const first = engine.analyse(game, 3, 0.1);
  const second = engine.analyse(game, 3, 0.1);
  assert.equal(second.lines.length, 3);
  assert.ok(second.nodes > first.nodes && second.lines[0].depth >= first.lines[0].depth);
  throws(() => engine.analyse({ startFen: '7k/5Q2/6K1/8/8/8/8/8 b - - 0 1', moves: [], ...untimed }, 1, 0.1), /game is over/);
});

test('a game is reviewed move by move', () => {
  // The scholar's mate: the last black move is a blunder.
  const moves = ['e2e4', 'e7e5', 'd1h5', 'b8c6', 'f1c4', 'g8f6', 'h5f7'];
  const review = new tabia.Review(engine, { moves, ...untimed }, 'human', 1500, 0.15);
  assert.equal(review.total(), 7);
  const marks = [];
  for (let moves = review.step(); moves.length > 0; moves = review.step()) marks.push(...moves);
  assert.equal(marks.length, 7);
  assert.deepEqual(marks.map((move) => move.ply), [1, 2, 3, 4, 5, 6, 7]);
  assert.equal(marks[5].mark, 'blunder');
  assert.deepEqual([marks[6].san, marks[6].winAfter, marks[6].after.mate], ['Qxf7#', 1, 1]);
  assert.ok(marks.every((move) => move.probability >= 0 && move.probability <= 1 && move.best !== ''));
});

test('a match is played a move at a time', () => {
  const setup = { first: 'human,elo=1000', second: 'level:1', games: 2, openings: 'balanced', maxPlies: 20, limits: {}, lines: [2, 0], seed: 1 };
  const contest = new tabia.Match(engine, setup);
  const kinds = new Map();
  let event;
  do {
    event = contest.step();
    kinds.set(event.kind, (kinds.get(event.kind) ?? 0) + 1);
    if (event.kind === 'move') assert.ok(event.thought.lines.length > 0 && event.fen !== '' && event.ply > 0);
  } while (event.kind !== 'done');
  assert.deepEqual([kinds.get('game-start'), kinds.get('game-end')], [2, 2]);
  const results = contest.results();
  assert.equal(results.games, 2);
  assert.equal(results.byColour.length, 2);
  assert.equal(tabia.GameTree.fromPgn(contest.pgn()).games.length, 2);
  assert.equal(JSON.parse(contest.json()).games.length, 2);
  throws(() => new tabia.Match(engine, { ...setup, first: 'net:lost' }), /"lost"/);
  throws(() => new tabia.Match(engine, { ...setup, games: 0 }), /0 games/);
});

if (any) test('a network climbs the ladder a game at a time', () => {
  const challenge = new tabia.Challenge(engine, 'small', 'original', 0, 1, 'challenge');
  const event = challenge.step();
  assert.deepEqual([event.kind, event.level, event.game, event.of], ['game', 1, 1, 50]);
  assert.equal(event.lastMove.length, 2);
  const card = JSON.parse(challenge.scorecard());
  assert.deepEqual([card.levels[0].records.length, card.interrupted], [1, true]);
  assert.match(challenge.text(), /net:small/);
  throws(() => new tabia.Challenge(engine, 'human', 'original', 0, 1, 'challenge'), /the challenge takes ONNX files/);
});

test('the engine is whole after all that', () => {
  assert.equal(engine.models().length, any ? 3 : 2);
  engine.newGame();
  engine.removeModel('small');
  throws(() => engine.describe('net:small'), /no model named/);
});

console.log(`${passed} tests of the module passed`);
