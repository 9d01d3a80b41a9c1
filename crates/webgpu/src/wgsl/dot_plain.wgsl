
fn dot4(inputs: u32, weights: u32) -> i32 {
  var sum = 0;
  for (var i = 0u; i < 32u; i += 8u) {
    sum += i32(extractBits(inputs, i, 8u)) * extractBits(i32(weights), i, 8u);
  }
  return sum;
}
