// Writes small ONNX files.

/**
 * A multilayer perceptron with random weights and ReLU, for boards of 768 inputs.
 *
 * @param {number[]} widths
 * @returns {Buffer}
 */
export function mlp(widths) {
  let state = 1;
  const random = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  };
  const tensor = (/** @type {string} */ name, /** @type {number[]} */ shape, /** @type {number} */ scale) => {
    const numbers = Float32Array.from({ length: shape.reduce((a, b) => a * b) }, () => scale * random());
    return message(...shape.map((size) => integer(1, size)), integer(2, 1), text(8, name), bytes(9, Buffer.from(numbers.buffer)));
  };
  const nodes = [];
  const weights = [];
  let from = 'board';
  for (let layer = 0; layer + 1 < widths.length; layer++) {
    const [inputs = 0, outputs = 0] = [widths[layer], widths[layer + 1]];
    const last = layer + 2 === widths.length;
    const scale = 1 / Math.sqrt(Math.min(inputs, 64));
    weights.push(tensor(`w${layer}`, [outputs, inputs], scale), tensor(`b${layer}`, [outputs], scale));
    const sum = last ? 'out' : `sum${layer}`;
    const transposed = message(text(1, 'transB'), integer(3, 1), integer(20, 2));
    nodes.push(message(text(1, from), text(1, `w${layer}`), text(1, `b${layer}`), text(2, sum), text(4, 'Gemm'), bytes(5, transposed)));
    from = `rectified${layer}`;
    if (!last) nodes.push(message(text(1, sum), text(2, from), text(4, 'Relu')));
  }
  return model(nodes, weights, valueInfo('board', widths[0] ?? 0), valueInfo('out', widths.at(-1) ?? 0));
}

// Protocol buffers, with the field numbers of onnx.proto.

/** @param {Buffer[]} nodes @param {Buffer[]} initializers @param {Buffer} input @param {Buffer} output */
export function model(nodes, initializers, input, output) {
  const graph = message(
    ...nodes.map((node) => bytes(1, node)),
    text(2, 'graph'),
    ...initializers.map((tensor) => bytes(5, tensor)),
    bytes(11, input),
    bytes(12, output),
  );
  return message(integer(1, 8), bytes(7, graph), bytes(8, integer(2, 17)));
}

/** An input or output of shape [batch, width]. @param {string} name @param {number} width */
export function valueInfo(name, width) {
  const shape = message(bytes(1, text(2, 'batch')), bytes(1, integer(1, width)));
  return message(text(1, name), bytes(2, bytes(1, message(integer(1, 1), bytes(2, shape)))));
}

/** @param {Buffer[]} fields */
export function message(...fields) {
  return Buffer.concat(fields);
}

/** @param {number} field @param {string} content */
export function text(field, content) {
  return bytes(field, Buffer.from(content));
}

/** @param {number} field @param {Buffer} content */
function bytes(field, content) {
  return Buffer.concat([varint((field << 3) | 2), varint(content.length), content]);
}

/** @param {number} field @param {number} value */
function integer(field, value) {
  return Buffer.concat([varint(field << 3), varint(value)]);
}

/** @param {number} value */
function varint(value) {
  const out = [];
  for (; value > 127; value = Math.floor(value / 128)) out.push((value % 128) | 128);
  return Buffer.from([...out, value]);
}
