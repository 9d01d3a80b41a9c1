// A function of each number.

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> shift: array<f32>;
@group(0) @binding(2) var<storage, read_write> to: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) at: vec3u) {
  if (at.x >= ROWS * OUTPUTS) { return; }
  let column = at.x % OUTPUTS;
  let source = at.z * X_STEP + X_FIRST + at.x / OUTPUTS * X_STRIDE + column;
  var value = x[source];
  if (SHIFTED == 1u) { value = value + shift[column]; }
  switch (ACTIVATION) {
    case 0u: { value = max(value, 0.0); }
    case 1u: { value = silu(value); }
    case 2u: { value = gelu(value); }
    default: { value = silu(value) * x[source + OUTPUTS]; }
  }
  to[at.z * TO_STEP + at.x] = value;
}
