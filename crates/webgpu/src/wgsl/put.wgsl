// Stores an output of a product.
fn put(position: u32, row: u32, output: u32, value: f32) {
  var sum = value;
  if (START_ROWS == 1u) { sum = start[position * START_STEP + output] + value; }
  if (START_ROWS > 1u) { sum = start[position * START_STEP + row * OUTPUTS + output] + value; }
  to[position * TO_STEP + row * OUTPUTS + output] = sum;
}
