// Rows rounded to 0..=127, with a minimum and a scale for each span. An invocation has one span of one row.

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> words: array<u32>;
@group(0) @binding(2) var<storage, read_write> params: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) at: vec3u) {
  if (at.x >= ROWS * SPANS) { return; }
  let row = at.x / SPANS;
  let span = at.x % SPANS;
  let first = at.z * X_STEP + X_FIRST + row * X_STRIDE + span * 32u;
  let count = min(32u, WIDTH - span * 32u);
  var low = x[first];
  var high = low;
  for (var i = 1u; i < count; i++) {
    low = min(low, x[first + i]);
    high = max(high, x[first + i]);
  }
  let range = high - low;
  // 127, as the compiler must not know: it would multiply by the reciprocal of a constant, which rounds otherwise.
  let most = f32(127u + (at.z >> 31u));
  var scale = 0.0;
  var steps = 0.0;
  // The reciprocal of a smaller range may be infinite.
  if (range > 1e-30) {
    scale = range / most;
    steps = most / range;
  }
  let param = at.z * PARAMS_STEP + 2u * at.x;
  params[param] = low;
  params[param + 1u] = scale;
  let word = at.z * WORDS_STEP + 8u * at.x;
  for (var i = 0u; i < 8u; i++) {
    var packed = 0u;
    for (var j = 0u; j < 4u; j++) {
      if (4u * i + j < count) {
        packed |= u32(round((x[first + 4u * i + j] + -low) * steps)) << (8u * j);
      }
    }
    words[word + i] = packed;
  }
}
