// Self-attention. A workgroup has one head, an invocation one query.

@group(0) @binding(0) var<storage, read> qkv: array<f32>;
@group(0) @binding(1) var<storage, read> queries: array<f32>;
@group(0) @binding(2) var<storage, read> keys: array<f32>;
@group(0) @binding(3) var<storage, read> bias: array<f32>;
@group(0) @binding(4) var<storage, read_write> to: array<f32>;

/// The reciprocal root mean square of each key.
var<workgroup> units: array<f32, TOKENS>;

/// The sum of sixteen numbers, by halves.
fn reduced(lanes: ptr<function, array<f32, 16>>) -> f32 {
  for (var width = 8u; width > 0u; width /= 2u) {
    for (var i = 0u; i < width; i++) { (*lanes)[i] = (*lanes)[i] + (*lanes)[i + width]; }
  }
  return (*lanes)[0];
}

fn unit_of(first: u32) -> f32 {
  var lanes = array<f32, 16>();
  for (var i = 0u; i < HEAD; i++) {
    let value = qkv[first + i];
    lanes[i % 16u] = lanes[i % 16u] + value * value;
  }
  return 1.0 / sqrt(reduced(&lanes) / f32(HEAD) + EPS);
}

@compute @workgroup_size(TOKENS)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) own: u32) {
  let width = HEADS * HEAD;
  let first = group.z * QKV_STEP + group.x * HEAD;
  let row = first + own * 3u * width;
  var query: array<f32, HEAD>;
  if (NORMS == 1u) {
    units[own] = unit_of(row + width);
    let unit = unit_of(row);
    for (var i = 0u; i < HEAD; i++) { query[i] = qkv[row + i] * unit * queries[i]; }
  } else {
    for (var i = 0u; i < HEAD; i++) { query[i] = qkv[row + i] * FACTOR; }
  }
  workgroupBarrier();
  var scores: array<f32, TOKENS>;
  var most = -1e38;
  for (var other = 0u; other < TOKENS; other++) {
    let key = first + other * 3u * width + width;
    var sum = 0.0;
    if (NORMS == 1u) {
      let unit = units[other];
      for (var i = 0u; i < HEAD; i++) { sum = sum + query[i] * (qkv[key + i] * unit * keys[i]); }
    } else {
      for (var i = 0u; i < HEAD; i++) { sum = sum + query[i] * qkv[key + i]; }
    }
    sum = sum + bias[group.z * BIAS_STEP + (group.x * TOKENS + own) * TOKENS + other];
    scores[other] = sum;
    most = max(most, sum);
  }
  var total = 0.0;
  for (var other = 0u; other < TOKENS; other++) {
    let weight = exp_of(scores[other] + -most);
    scores[other] = weight;
    total = total + weight;
  }
  let share = 1.0 / total;
  for (var other = 0u; other < TOKENS; other++) { scores[other] = scores[other] * share; }
  for (var i = 0u; i < HEAD; i++) {
    var sum = 0.0;
    for (var other = 0u; other < TOKENS; other++) {
      sum = sum + scores[other] * qkv[first + other * 3u * width + 2u * width + i];
    }
    to[group.z * TO_STEP + own * width + group.x * HEAD + i] = sum;
  }
}
