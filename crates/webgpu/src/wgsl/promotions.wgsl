// The scores of promotions, after those of all pairs of squares.

@group(0) @binding(0) var<storage, read> pieces: array<f32>;
@group(0) @binding(1) var<storage, read_write> to: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) at: vec3u) {
  if (at.x >= 256u) { return; }
  let source = at.x / 32u;
  let file = at.x / 4u % 8u;
  let step = to[at.z * TO_STEP + (48u + source) * 64u + 56u + file];
  to[at.z * TO_STEP + 4096u + at.x] = step + pieces[at.z * PIECES_STEP + at.x % 32u] * FACTOR;
}
