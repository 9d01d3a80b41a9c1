// Writes a small network of Maia-3's architecture with random weights, as safetensors.

const [WIDTH, HEADS, INNER, RATING, HEAD, BIAS] = [48, 3, 80, 8, 32, 16];

/** @returns {Buffer} */
export function maia3() {
  /** @type {Record<string, number[]>} */
  const shapes = {
    'elo_embedding_low.weight': [1, RATING],
    'elo_embedding_high.weight': [1, RATING],
    ...layer('token_projection', WIDTH, 12 + 2 * RATING),
    ...layer('fc_value_hid', HEAD, WIDTH),
    ...layer('fc_value', 3, HEAD),
    'proj_sq_from.weight': [HEAD, WIDTH],
    'proj_sq_to.weight': [HEAD, WIDTH],
    'promo_bias_proj.weight': [4, HEAD],
    gab_shared_weight: [4096, BIAS],
    ...norm('transformer.norm', WIDTH),
    ...norm('last_ln', WIDTH),
  };
  for (const name of ['transformer.layers.0', 'transformer.layers.1'])
    Object.assign(shapes, {
      [`${name}.self_attn.mha.in_proj_weight`]: [3 * WIDTH, WIDTH],
      ...layer(`${name}.self_attn.mha.out_proj`, WIDTH, WIDTH),
      ...layer(`${name}.self_attn.sm1`, BIAS, WIDTH),
      ...layer(`${name}.self_attn.sm2`, BIAS, 64 * BIAS),
      ...layer(`${name}.self_attn.sm3`, HEADS * BIAS, BIAS),
      ...norm(`${name}.self_attn.ln1`, BIAS),
      ...norm(`${name}.self_attn.ln2`, HEADS * BIAS),
      ...layer(`${name}.linear1`, INNER, WIDTH),
      ...layer(`${name}.linear2`, WIDTH, INNER),
      [`${name}.norm1.weight`]: [WIDTH],
      [`${name}.norm2.weight`]: [WIDTH],
    });
  return safetensors(shapes);
}

/** @param {string} name @param {number} outputs @param {number} inputs */
function layer(name, outputs, inputs) {
  return { [`${name}.weight`]: [outputs, inputs], [`${name}.bias`]: [outputs] };
}

/** @param {string} name @param {number} width */
function norm(name, width) {
  return { [`${name}.weight`]: [width], [`${name}.bias`]: [width] };
}

/** @param {Record<string, number[]>} shapes */
function safetensors(shapes) {
  let state = 1;
  const random = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  };
  /** @type {Record<string, object>} */
  const header = {};
  const parts = [];
  let end = 0;
  for (const [name, shape] of Object.entries(shapes)) {
    const [outputs = 1, inputs] = shape;
    const scale = inputs ? 2 / Math.sqrt(inputs) : 1;
    const numbers = Float32Array.from({ length: outputs * (inputs ?? 1) }, () => scale * random());
    parts.push(Buffer.from(numbers.buffer));
    header[name] = { dtype: 'F32', shape, data_offsets: [end, (end += 4 * numbers.length)] };
  }
  const text = Buffer.from(JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([length, text, ...parts]);
}
