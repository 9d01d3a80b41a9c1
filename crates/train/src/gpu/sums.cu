// Rounding, and sums over the batch: what every network needs.

// to = from, rounded; `count` a multiple of 8.
KERNEL(round_to_bf16, 256, const float* from, bf16* to, long count) {
    for (long i = grid_first() * 8; i < count; i += grid_step() * 8) {
        float v[8];
        load8(from + i, v);
        store8(to + i, v);
    }
}

// out[c] = the sum over rows of in[rows][columns], in a fixed order, plus, when given, before[c]; 32 columns a block of
// 1024 threads.
KERNEL(column_sums, 1024, const float* in, float* out, const float* before, int rows, int columns) {
    SHARED(float, sums, 32 * 32);
    int x = threadIdx.x & 31, y = threadIdx.x >> 5, c = blockIdx.x * 32 + x;
    float total = 0;
    if (c < columns) {
#pragma unroll 4
        for (int r = y; r < rows; r += 32) total += in[(long)r * columns + c];
    }
    sums[y * 32 + x] = total;
    __syncthreads();
    if (y == 0 && c < columns) {
        for (int i = 1; i < 32; i++) total += sums[i * 32 + x];
        out[c] = before ? before[c] + total : total;
    }
}
