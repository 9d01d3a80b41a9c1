// Quantised rows times 8-bit weights: tiles of 16 rows and 32 outputs, of which an invocation has 2 times 4.

@group(0) @binding(0) var<storage, read> words: array<u32>;
@group(0) @binding(1) var<storage, read> params: array<f32>;
@group(0) @binding(2) var<storage, read> weights: array<u32>;
@group(0) @binding(3) var<storage, read> sums: array<f32>;
@group(0) @binding(4) var<storage, read> scales: array<f32>;
@group(0) @binding(5) var<storage, read> start: array<f32>;
@group(0) @binding(6) var<storage, read_write> to: array<f32>;

var<workgroup> rows_tile: array<u32, 128>;
var<workgroup> weights_tile: array<u32, 256>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) tile: vec3u, @builtin(local_invocation_index) own: u32) {
  let first_output = tile.x * 32u;
  let first_row = tile.y * 16u;
  let row = own / 8u * 2u;
  let column = own % 8u * 4u;
  var above = vec4f();
  var below = vec4f();
  for (var span = 0u; span < SPANS; span++) {
    for (var i = own; i < 128u; i += 64u) {
      let source = first_row + i / 8u;
      var word = 0u;
      if (source < ROWS) { word = words[tile.z * WORDS_STEP + (source * SPANS + span) * 8u + i % 8u]; }
      rows_tile[i] = word;
    }
    for (var i = own; i < 256u; i += 64u) {
      let output = first_output + i % 32u;
      var word = 0u;
      if (output < OUTPUTS) { word = weights[(span * 8u + i / 32u) * OUTPUTS + output]; }
      weights_tile[i] = word;
    }
    workgroupBarrier();
    var above_sums = vec4i();
    var below_sums = vec4i();
    for (var i = 0u; i < 8u; i++) {
      let upper = rows_tile[row * 8u + i];
      let lower = rows_tile[row * 8u + 8u + i];
      for (var j = 0u; j < 4u; j++) {
        let weight = weights_tile[i * 32u + column + j];
        above_sums[j] += dot4(upper, weight);
        below_sums[j] += dot4(lower, weight);
      }
    }
    var of_weights = vec4f();
    for (var j = 0u; j < 4u; j++) {
      if (first_output + column + j < OUTPUTS) {
        of_weights[j] = sums[span * OUTPUTS + first_output + column + j];
      }
    }
    let upper = tile.z * PARAMS_STEP + 2u * (min(first_row + row, ROWS - 1u) * SPANS + span);
    let lower = tile.z * PARAMS_STEP + 2u * (min(first_row + row + 1u, ROWS - 1u) * SPANS + span);
    above = above + (vec4f(above_sums) * params[upper + 1u] + params[upper] * of_weights);
    below = below + (vec4f(below_sums) * params[lower + 1u] + params[lower] * of_weights);
    workgroupBarrier();
  }
  for (var i = 0u; i < 2u; i++) {
    let at = first_row + row + i;
    if (at >= ROWS) { break; }
    for (var j = 0u; j < 4u; j++) {
      let output = first_output + column + j;
      if (output >= OUTPUTS) { break; }
      let value = select(below[j], above[j], i == 0u) * scales[output];
      put(tile.z, at, output, value);
    }
  }
}
