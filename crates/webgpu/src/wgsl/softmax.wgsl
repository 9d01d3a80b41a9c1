// The softmax of one short row.

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> to: array<f32>;

@compute @workgroup_size(1)
fn main(@builtin(global_invocation_id) at: vec3u) {
  let first = at.z * X_STEP + X_FIRST;
  var most = x[first];
  for (var i = 1u; i < WIDTH; i++) { most = max(most, x[first + i]); }
  var values: array<f32, WIDTH>;
  var lanes = array<f32, 16>();
  for (var i = 0u; i < WIDTH; i++) {
    values[i] = exp_of(x[first + i] + -most);
    lanes[i % 16u] = lanes[i % 16u] + values[i];
  }
  for (var width = 8u; width > 0u; width /= 2u) {
    for (var i = 0u; i < width; i++) { lanes[i] = lanes[i] + lanes[i + width]; }
  }
  let share = 1.0 / lanes[0];
  for (var i = 0u; i < WIDTH; i++) { to[at.z * TO_STEP + i] = values[i] * share; }
}
