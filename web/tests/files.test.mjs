// Model files of all formats and sizes.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { before, test } from 'node:test';
import { message, model, text, valueInfo } from '../bench/onnx.mjs';
import { drag, dropFile, fixture, moves, onPage, useBrowser, waitForMoves } from './harness.mjs';
import { GameTree, useRules } from './rules.mjs';

useBrowser();
before(useRules);

/** An ONNX file that returns its 768 inputs, which are neither a policy nor a value. */
function identityNetwork() {
  const node = message(text(1, 'squares'), text(2, 'copy'), text(4, 'Identity'));
  return model([node], [], valueInfo('squares', 768), valueInfo('copy', 768));
}

for (const [name, format] of /** @type {const} */ ([
  ['challenge-mlp.onnx', 'ONNX'],
  ['quantised-transformer.onnx', 'ONNX'],
  ['humchess-transformer.onnx', 'ONNX'],
  ['human.safetensors', 'safetensors'],
  ['perspective.safetensors', 'safetensors'],
  ['tflite_pair.tflite', 'TFLite'],
  ['tflite_single.tflite', 'TFLite'],
  ['lc0-plain-conv.pb.gz', 'lc0'],
  ['lc0-mish-conv.pb', 'lc0'],
])) {
  test(`${name} can be dropped on the page and plays`, () =>
    onPage({ stored: { 'play.settings': { opponent: { kind: 'challenge', level: 1 }, colour: 'white', instant: true } } }, async (page) => {
      await page.locator('cg-board').waitFor();
      await dropFile(page.locator('cg-board'), { name, bytes: await readFile(fixture(name)) });
      const dialog = page.getByRole('dialog', { name: 'New game' });
      await dialog.locator('.facts', { hasText: name }).waitFor();
      // Unknown facts are left out.
      const facts = (await dialog.locator('.facts').innerText()).replace(/\s+/g, ' ');
      assert.match(facts, new RegExp(`${format}, (\\S.*, )?[\\d,]+ parameters, [\\d.]+ [kM]B$`, 'i'));
      await dialog.getByRole('button', { name: 'Play' }).click();
      await page.getByText(name).first().waitFor();
      await drag(page, 'e2', 'e4');
      await waitForMoves(page, 2);
      const played = (await moves(page)).join(' ');
      assert.equal(GameTree.fromPgn(`${played} *`).take(0).view().nodes.length, 2, `${played} is legal`);
    }));
}

test('model files that cannot play are rejected and the game continues', () =>
  onPage({ stored: { 'play.settings': { opponent: { kind: 'challenge', level: 1 }, colour: 'white' } } }, async (page) => {
    const board = page.locator('cg-board');
    await board.waitFor();
    const whole = await readFile(fixture('lc0-plain-conv.pb.gz'));
    for (const [name, bytes] of /** @type {const} */ ([
      ['half.pb.gz', whole.subarray(0, whole.length / 2)],
      ['identity.onnx', identityNetwork()],
      ['half.tflite', (await readFile(fixture('tflite_full_int8.tflite'))).subarray(0, 4000)],
      ['broken.onnx', Buffer.from('not a model')],
      ['nothing.onnx', Buffer.alloc(0)],
    ])) {
      await dropFile(board, { name, bytes });
      await page.getByRole('alert').filter({ hasText: `Cannot open ${name}: ` }).waitFor();
    }
    await drag(page, 'e2', 'e4');
    await waitForMoves(page, 2);
  }));

/** A policy of Learning a Chess Policy that has some of the moves, and its vocab.npy. */
function countedPolicy() {
  // From, to, no promotion: a2a3 to h2h3, a7a6 to h7h6.
  const moves = [8, 48].flatMap((rank) => Array.from({ length: 8 }, (_, file) => [rank + file, rank === 8 ? 16 + file : 40 + file, 0]));
  const shapes = { 'backbone.0.bias': [2], 'backbone.0.weight': [2, 13, 1, 1], 'head.bias': [moves.length], 'head.weight': [moves.length, 2 * 64 + 5] };
  let end = 0;
  const entries = Object.entries(shapes).map(([name, shape]) => {
    const begin = end;
    end += 4 * shape.reduce((product, size) => product * size, 1);
    return [name, { dtype: 'F32', shape, data_offsets: [begin, end] }];
  });
  const header = Buffer.from(JSON.stringify(Object.fromEntries(entries)));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  const layout = `{'descr': '|u1', 'fortran_order': False, 'shape': (${moves.length}, 3), }`.padEnd(117) + '\n';
  const start = Buffer.from([0x93, ...Buffer.from('NUMPY'), 1, 0, layout.length, 0]);
  const mimeType = 'application/octet-stream';
  return {
    network: { name: 'counted.safetensors', mimeType, buffer: Buffer.concat([length, header, Buffer.alloc(end)]) },
    vocabulary: { name: 'vocab.npy', mimeType, buffer: Buffer.concat([start, Buffer.from(layout), Buffer.from(moves.flat())]) },
  };
}

test('a policy that has some of the moves asks for its vocab.npy', () =>
  onPage({ stored: { 'play.settings': { opponent: { kind: 'challenge', level: 1 }, colour: 'white', instant: true } } }, async (page) => {
    const { network, vocabulary } = countedPolicy();
    const board = page.locator('cg-board');
    await board.waitFor();
    await dropFile(board, { name: network.name, bytes: network.buffer });
    await page.getByRole('alert').filter({ hasText: 'needs its vocab.npy' }).waitFor();
    await dropFile(board, { name: vocabulary.name, bytes: vocabulary.buffer });
    const dialog = page.getByRole('dialog', { name: 'New game' });
    await dialog.locator('.facts', { hasText: network.name }).waitFor();
    // The same in the dialog, one after the other.
    const files = dialog.locator('input[type=file]').first();
    await files.setInputFiles(network);
    await dialog.getByLabel('Its vocab.npy').setInputFiles({ ...vocabulary, buffer: vocabulary.buffer.subarray(0, 100) });
    await dialog.getByText(/vocab.npy: /).waitFor();
    await dialog.getByLabel('Its vocab.npy').setInputFiles(vocabulary);
    await dialog.getByLabel('Its vocab.npy').waitFor({ state: 'detached' });
    await dialog.getByRole('button', { name: 'Play' }).click();
    await drag(page, 'e2', 'e4');
    await waitForMoves(page, 2);
    assert.match((await moves(page)).at(-1) ?? '', /^[a-h]6$/, 'one of its moves');
  }));

test('a policy and its vocab.npy open together in the arena', () =>
  onPage({ at: '#/arena' }, async (page) => {
    const { network, vocabulary } = countedPolicy();
    const first = page.locator('form fieldset').first();
    await first.getByLabel('Player', { exact: true }).selectOption('Model file');
    await first.getByLabel('Model file of the first player').setInputFiles(network);
    await first.getByLabel('vocab.npy of the first player').setInputFiles(vocabulary);
    await first.getByLabel('Plays with').waitFor();
    const second = page.locator('form fieldset').nth(1);
    await second.getByLabel('Player', { exact: true }).selectOption('Model file');
    await second.getByLabel('Model file of the second player').setInputFiles([vocabulary, { ...network, name: 'again.safetensors' }]);
    await second.getByLabel('Plays with').waitFor();
  }));

/** Counts how often the page reads a file or passes one to a worker. */
function countReads() {
  const counted = /** @type {{ filesRead?: number }} */ (/** @type {unknown} */ (window));
  counted.filesRead = 0;
  const count = () => (counted.filesRead = (counted.filesRead ?? 0) + 1);
  for (const method of /** @type {const} */ (['arrayBuffer', 'text', 'stream'])) {
    const read = /** @type {() => never} */ (Blob.prototype[method]);
    Blob.prototype[method] = function () {
      count();
      return read.call(this);
    };
  }
  const post = Worker.prototype.postMessage;
  Worker.prototype.postMessage = function (/** @type {unknown} */ message) {
    if (Object.values(Object(message)).some((value) => value instanceof Blob)) count();
    post.call(this, message);
  };
}

for (const [at, name, target, message] of /** @type {const} */ ([
  ['#/play', 'huge.safetensors', 'cg-board', 'huge.safetensors: the file is too large: 500 MB'],
  ['#/analyse', 'huge.onnx', 'cg-board', 'huge.onnx: the file is too large: 500 MB'],
  ['#/analyse', 'huge.pgn', 'cg-board', 'huge.pgn: the file is too large: 477 MB'],
  ['#/arena', 'huge.pb.gz', 'form fieldset', 'huge.pb.gz: the file is too large: 500 MB'],
  ['#/challenge', 'huge.onnx', 'main', 'huge.onnx: the file is too large: 500 MB'],
])) {
  test(`${name} of 500 MB dropped on ${at} is rejected without being read`, () =>
    onPage({ at, init: countReads }, async (page) => {
      const place = page.locator(target).first();
      await place.waitFor();
      await dropFile(place, { name, bytes: Buffer.alloc(1e6), copies: 500 });
      await page.getByRole('alert').filter({ hasText: message }).waitFor();
      assert.equal(await page.evaluate('filesRead'), 0);
      // A small file is read, so the counter works.
      await dropFile(place, { name: 'small.onnx', bytes: Buffer.from('not a network') });
      await page.getByRole('alert').filter({ hasText: 'small.onnx' }).waitFor();
      assert.notEqual(await page.evaluate('filesRead'), 0);
    }));
}
