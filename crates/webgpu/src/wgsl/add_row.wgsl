// A row that each position has, added to constant rows.

@group(0) @binding(0) var<storage, read> first: array<f32>;
@group(0) @binding(1) var<storage, read> second: array<f32>;
@group(0) @binding(2) var<storage, read_write> to: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) at: vec3u) {
  if (at.x >= ROWS * WIDTH) { return; }
  to[at.z * TO_STEP + at.x] = first[at.x] + second[at.z * SECOND_STEP + at.x % WIDTH];
}
