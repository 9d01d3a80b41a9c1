
fn dot4(inputs: u32, weights: u32) -> i32 {
  return dot4I8Packed(inputs, weights);
}
