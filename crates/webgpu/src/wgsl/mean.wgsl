// The mean of all rows.

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> to: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) at: vec3u) {
  if (at.x >= WIDTH) { return; }
  let first = at.z * X_STEP + X_FIRST + at.x;
  var sum = 0.0;
  for (var row = 0u; row < ROWS; row++) { sum = sum + x[first + row * X_STRIDE]; }
  to[at.z * TO_STEP + at.x] = sum * SHARE;
}
