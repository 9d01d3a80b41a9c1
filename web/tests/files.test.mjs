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
      ['tflite_full_int8.tflite', await readFile(fixture('tflite_full_int8.tflite'))],
      ['broken.onnx', Buffer.from('not a model')],
      ['nothing.onnx', Buffer.alloc(0)],
    ])) {
      await dropFile(board, { name, bytes });
      await page.getByRole('alert').filter({ hasText: `Cannot open ${name}: ` }).waitFor();
    }
    await drag(page, 'e2', 'e4');
    await waitForMoves(page, 2);
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
