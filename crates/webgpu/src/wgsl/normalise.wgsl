// The norm of each row. Sixteen invocations have a row, each every sixteenth number of it.

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> shift: array<f32>;
@group(0) @binding(2) var<storage, read> weight: array<f32>;
@group(0) @binding(3) var<storage, read> bias: array<f32>;
@group(0) @binding(4) var<storage, read_write> to: array<f32>;

var<workgroup> lanes: array<f32, 64>;

/// The sum over the sixteen lanes of a row, by halves.
fn reduced(own: u32, value: f32) -> f32 {
  lanes[own] = value;
  for (var width = 8u; width > 0u; width /= 2u) {
    workgroupBarrier();
    if (own % 16u < width) { lanes[own] = lanes[own] + lanes[own + width]; }
  }
  workgroupBarrier();
  let sum = lanes[own / 16u * 16u];
  workgroupBarrier();
  return sum;
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) own: u32) {
  // Rows past the last compute with the last and store nothing: all invocations have to reach the barriers.
  let row = group.x * 4u + own / 16u;
  let lane = own % 16u;
  let first = group.z * X_STEP + X_FIRST + min(row, ROWS - 1u) * X_STRIDE;
  var mean = 0.0;
  if (LAYER == 1u) {
    var sum = 0.0;
    for (var i = lane; i < WIDTH; i += 16u) { sum = sum + shifted(first, i); }
    mean = reduced(own, sum) / f32(WIDTH);
  }
  var squares = 0.0;
  for (var i = lane; i < WIDTH; i += 16u) {
    let value = shifted(first, i) + -mean;
    squares = squares + value * value;
  }
  let unit = 1.0 / sqrt(reduced(own, squares) / f32(WIDTH) + EPS);
  if (row >= ROWS) { return; }
  for (var i = lane; i < WIDTH; i += 16u) {
    var value = (shifted(first, i) + -mean) * unit * weight[i];
    if (LAYER == 1u) { value = value + bias[i]; }
    to[group.z * TO_STEP + row * WIDTH + i] = value;
  }
}

fn shifted(first: u32, i: u32) -> f32 {
  if (SHIFTED == 1u) { return x[first + i] + shift[i]; }
  return x[first + i];
}
