// Rows times weights in floats: tiles of 16 rows and 32 outputs, of which an invocation has 2 times 4.

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> weights: array<f32>;
@group(0) @binding(2) var<storage, read> start: array<f32>;
@group(0) @binding(3) var<storage, read_write> to: array<f32>;

var<workgroup> rows_tile: array<f32, 256>;
var<workgroup> weights_tile: array<f32, 512>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) tile: vec3u, @builtin(local_invocation_index) own: u32) {
  let first_output = tile.x * 32u;
  let first_row = tile.y * 16u;
  let row = own / 8u * 2u;
  let column = own % 8u * 4u;
  var above = vec4f();
  var below = vec4f();
  for (var part = 0u; part < WIDTH; part += 16u) {
    for (var i = own; i < 256u; i += 64u) {
      let source = first_row + i / 16u;
      let input = part + i % 16u;
      var value = 0.0;
      if (source < ROWS && input < WIDTH) { value = x[tile.z * X_STEP + X_FIRST + source * X_STRIDE + input]; }
      rows_tile[i] = value;
    }
    for (var i = own; i < 512u; i += 64u) {
      let input = part + i / 32u;
      let output = first_output + i % 32u;
      var value = 0.0;
      if (input < WIDTH && output < OUTPUTS) { value = weights[input * OUTPUTS + output]; }
      weights_tile[i] = value;
    }
    workgroupBarrier();
    for (var i = 0u; i < 16u; i++) {
      let at = i * 32u + column;
      let weight = vec4f(weights_tile[at], weights_tile[at + 1u], weights_tile[at + 2u], weights_tile[at + 3u]);
      above = above + rows_tile[row * 16u + i] * weight;
      below = below + rows_tile[row * 16u + 16u + i] * weight;
    }
    workgroupBarrier();
  }
  for (var i = 0u; i < 2u; i++) {
    let at = first_row + row + i;
    if (at >= ROWS) { break; }
    for (var j = 0u; j < 4u; j++) {
      let output = first_output + column + j;
      if (output >= OUTPUTS) { break; }
      put(tile.z, at, output, select(below[j], above[j], i == 0u));
    }
  }
}
