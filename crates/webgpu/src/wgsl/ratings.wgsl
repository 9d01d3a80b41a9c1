// The vectors of both players' ratings.

@group(0) @binding(0) var<storage, read> own: array<f32>;
@group(0) @binding(1) var<storage, read> other: array<f32>;
@group(0) @binding(2) var<storage, read> slope: array<f32>;
@group(0) @binding(3) var<storage, read> base: array<f32>;
@group(0) @binding(4) var<storage, read_write> to: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) at: vec3u) {
  if (at.x >= 2u * WIDTH) { return; }
  let rating = select(other[at.z], own[at.z], at.x < WIDTH);
  let part = rating * SHARE;
  to[at.z * TO_STEP + at.x] = part * slope[at.x % WIDTH] + base[at.x % WIDTH];
}
