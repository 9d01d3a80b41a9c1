// A few rows times weights in floats. An invocation has one output of one row.

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> weights: array<f32>;
@group(0) @binding(2) var<storage, read> start: array<f32>;
@group(0) @binding(3) var<storage, read_write> to: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) at: vec3u) {
  if (at.x >= OUTPUTS) { return; }
  let first = at.z * X_STEP + X_FIRST + at.y * X_STRIDE;
  var sum = 0.0;
  for (var input = 0u; input < WIDTH; input++) {
    sum = sum + x[first + input] * weights[input * OUTPUTS + at.x];
  }
  put(at.z, at.y, at.x, sum);
}
