// The scaled dot product of the first half of each row with the second half of each.

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> to: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) at: vec3u) {
  if (at.x >= ROWS) { return; }
  let first = at.z * X_STEP + X_FIRST;
  let source = first + at.y * X_STRIDE;
  let other = first + at.x * X_STRIDE + DEPTH;
  var sum = 0.0;
  for (var i = 0u; i < DEPTH; i++) { sum = sum + x[source + i] * (x[other + i] * SCALE); }
  to[at.z * TO_STEP + at.y * ROWS + at.x] = sum;
}
