// The functions of `tabia_runtime`'s exponential.rs, operation for operation.

fn exp_of(number: f32) -> f32 {
  let x = clamp(number, -87.0, 87.0);
  let powers = round(x * 1.442695);
  let rest = x - powers * 0.6933594 - powers * -2.1219444e-4;
  var tail = 1.9875691e-4;
  tail = tail * rest + 1.3982e-3;
  tail = tail * rest + 8.333452e-3;
  tail = tail * rest + 4.16658e-2;
  tail = tail * rest + 0.16666665;
  tail = tail * rest + 0.5;
  let value = tail * (rest * rest) + rest + 1.0;
  return bitcast<f32>(bitcast<u32>(value) + (bitcast<u32>(i32(powers)) << 23u));
}

fn silu(x: f32) -> f32 {
  return x / (1.0 + exp_of(-x));
}

fn gelu(x: f32) -> f32 {
  let at = abs(x) * 0.70710677;
  let t = 1.0 / (1.0 + 0.3275911 * at);
  var sum = 1.0614054;
  sum = sum * t + -1.453152;
  sum = sum * t + 1.4214137;
  sum = sum * t + -0.28449674;
  sum = sum * t + 0.2548296;
  let below = 0.5 * (sum * t * exp_of(-(at * at)));
  return x * select(1.0 - below, below, x < 0.0);
}
