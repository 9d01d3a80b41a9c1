// Files of all kinds and sizes, given to the pages that take them.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { before, test } from 'node:test';
import { drag, dropFile, onPage, useBrowser } from './harness.mjs';
import { GameTree, useRules } from './rules.mjs';

/** @typedef {import('playwright-core').Page} Page */

useBrowser();
before(useRules);

/** @param {string} name */
const fixture = (name) => readFile(new URL(`../../fixtures/models/${name}`, import.meta.url));

/** An ONNX file that answers with its 768 inputs, which are neither a policy nor a value. */
function identityNetwork() {
  /** @type {(number: number, ...parts: (string | Buffer)[]) => Buffer} */
  const message = (number, ...parts) => {
    const body = Buffer.concat(parts.map((part) => Buffer.from(part)));
    return Buffer.concat([varint((number << 3) | 2), varint(body.length), body]);
  };
  /** @type {(number: number, value: number) => Buffer} */
  const integer = (number, value) => Buffer.concat([varint(number << 3), varint(value)]);
  /** @param {number} value */
  const varint = (value) => Buffer.from(value < 128 ? [value] : [(value & 127) | 128, value >> 7]);
  /** @type {(number: number, name: string) => Buffer} */
  const tensor = (number, name) => {
    const shape = message(2, message(1, message(2, 'batch')), message(1, integer(1, 768)));
    return message(number, message(1, name), message(2, message(1, integer(1, 1), shape)));
  };
  const node = message(1, message(1, 'squares'), message(2, 'copy'), message(4, 'Identity'));
  const graph = message(7, node, message(2, 'identity'), tensor(11, 'squares'), tensor(12, 'copy'));
  return Buffer.concat([integer(1, 8), graph, message(8, integer(2, 17))]);
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
  test(`${name} is dropped on the page and plays`, () =>
    onPage({ kept: { 'play.settings': { opponent: { kind: 'challenge', level: 1 }, colour: 'white', instant: true } } }, async (page) => {
      await page.locator('cg-board').waitFor();
      await dropFile(page.locator('cg-board'), { name, bytes: await fixture(name) });
      const dialog = page.getByRole('dialog', { name: 'New game' });
      await dialog.locator('.facts', { hasText: name }).waitFor();
      // Whatever the file does not say is left out, not a gap between two commas.
      const facts = (await dialog.locator('.facts').innerText()).replace(/\s+/g, ' ');
      assert.match(facts, new RegExp(`${format}, (\\S.*, )?[\\d,]+ parameters, [\\d.]+ [kM]B$`, 'i'));
      await dialog.getByRole('button', { name: 'Play' }).click();
      await page.getByText(name).first().waitFor();
      await drag(page, 'e2', 'e4');
      await page.waitForFunction(() => document.querySelectorAll('.moves .turn button.move').length === 2);
      const moves = await page.locator('.moves .turn button.move').allTextContents();
      const tree = GameTree.fromPgn(`${moves.join(' ')} *`).take(0);
      assert.equal(tree.view().nodes.length, 2, `${moves.join(' ')} is legal`);
    }));
}

test('a network that cannot play says why, and the game goes on', () =>
  onPage({ kept: { 'play.settings': { opponent: { kind: 'challenge', level: 1 }, colour: 'white' } } }, async (page) => {
    await page.locator('cg-board').waitFor();
    const whole = await fixture('lc0-plain-conv.pb.gz');
    await dropFile(page.locator('cg-board'), { name: 'half.pb.gz', bytes: whole.subarray(0, whole.length / 2) });
    await page.getByRole('alert').filter({ hasText: 'half.pb.gz cannot be read as a chess model' }).waitFor();
    for (const [name, bytes, why] of /** @type {const} */ ([
      ['identity.onnx', identityNetwork(), 'none of its outputs is a known head'],
      ['tflite_full_int8.tflite', await fixture('tflite_full_int8.tflite'), 'only FLOAT32 values are run'],
    ])) {
      await dropFile(page.locator('cg-board'), { name, bytes });
      await page.getByRole('alert').filter({ hasText: name }).filter({ hasText: why }).waitFor();
    }
    await dropFile(page.locator('cg-board'), { name: 'nothing.onnx', bytes: Buffer.alloc(0) });
    await page.getByRole('alert').filter({ hasText: 'nothing.onnx is empty' }).waitFor();
    await drag(page, 'e2', 'e4');
    await page.waitForFunction(() => document.querySelectorAll('.moves .turn button.move').length === 2);
  }));

/** Counts how often the page begins to read a file, or hands one to a worker. */
function countReading() {
  const counted = /** @type {{ filesRead?: number }} */ (/** @type {unknown} */ (window));
  counted.filesRead = 0;
  const count = () => (counted.filesRead = (counted.filesRead ?? 0) + 1);
  for (const way of /** @type {const} */ (['arrayBuffer', 'text', 'stream'])) {
    const read = /** @type {() => never} */ (Blob.prototype[way]);
    Blob.prototype[way] = function () {
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
  ['#/play', 'huge.safetensors', 'cg-board', 'huge.safetensors is 500 MB large'],
  ['#/analyse', 'huge.onnx', 'cg-board', 'huge.onnx cannot be asked: it is 500 MB large'],
  ['#/analyse', 'huge.pgn', 'cg-board', 'huge.pgn could not be read: it has 477 MB'],
  ['#/arena', 'huge.pb.gz', 'form fieldset', 'huge.pb.gz is 500 MB large'],
])) {
  test(`${name} of 500 MB dropped on ${at} is refused without being read`, () =>
    onPage({ at, init: countReading }, async (page) => {
      const place = page.locator(target).first();
      await place.waitFor();
      await dropFile(place, { name, bytes: Buffer.alloc(1e6), copies: 500 });
      await page.getByRole('alert').filter({ hasText: message }).waitFor();
      assert.equal(await page.evaluate('filesRead'), 0);
      // A small one is read: the counting works.
      await dropFile(place, { name: 'small.onnx', bytes: Buffer.from('no network') });
      await page.getByRole('alert').filter({ hasText: 'small.onnx' }).waitFor();
      assert.notEqual(await page.evaluate('filesRead'), 0);
    }));
}
