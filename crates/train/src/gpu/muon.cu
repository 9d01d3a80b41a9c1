// Muon's part of a step, before and after the products that make matrices orthogonal. A block has a tile of 32 by 32
// elements of one matrix.

struct Body {
    int at, rows, columns;      // in the arenas, rows one after the other
    int place, stride, turned;  // in the workspace, as columns where it is turned
    int first, tiles;           // its blocks
    float factor;               // what the workspace is multiplied with for a step
};

#define SIDE 32
#define LINES 8

// Where a block's tile begins.
DEVICE void tile_of(const Body& matrix, int& row, int& column) {
    int across = (matrix.columns + SIDE - 1) / SIDE, tile = blockIdx.x - matrix.first;
    row = tile / across * SIDE, column = tile % across * SIDE;
}

// The momentum takes in the gradient; partial[block] = the sum of squares of what it becomes, looking ahead.
KERNEL(muon_momentum, 256, const Body* bodies, const int* owners, float* momentum, const float* gradient, float* partial,
       float beta, const float* hyper, const float* report) {
    SHARED(float, sums, 8);
    if (!finite(report[NORM]) || !finite(report[TOTAL])) return;
    Body matrix = bodies[owners[blockIdx.x]];
    float scale = clipping(hyper, report), total = 0;
    int row, column, x = threadIdx.x & 31;
    tile_of(matrix, row, column);
    for (int y = threadIdx.x >> 5; y < SIDE; y += LINES) {
        if (row + y >= matrix.rows || column + x >= matrix.columns) continue;
        long i = matrix.at + (long)(row + y) * matrix.columns + column + x;
        float g = gradient[i] * scale, m = beta * momentum[i] + g, u = g + beta * m;
        momentum[i] = m;
        total += u * u;
    }
    total = warp_sum(total);
    if (x == 0) sums[threadIdx.x >> 5] = total;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < 8; w++) total += sums[w];
        partial[blockIdx.x] = total;
    }
}

// work = the same, over the length of the matrix, rounded; turned where that makes the shorter side the first.
KERNEL(muon_normalise, 256, const Body* bodies, const int* owners, const float* momentum, const float* gradient,
       const float* partial, bf16* work, float beta, float eps, const float* hyper, const float* report) {
    SHARED(float, sums, 8);
    SHARED(float, tile, SIDE * (SIDE + 1));
    if (!finite(report[NORM]) || !finite(report[TOTAL])) return;
    Body matrix = bodies[owners[blockIdx.x]];
    int row, column, x = threadIdx.x & 31, line = threadIdx.x >> 5;
    tile_of(matrix, row, column);
    float square = 0;
    for (int i = threadIdx.x; i < matrix.tiles; i += 256) square += partial[matrix.first + i];
    square = warp_sum(square);
    if (x == 0) sums[line] = square;
    __syncthreads();
    square = 0;
    for (int w = 0; w < 8; w++) square += sums[w];
    float scale = clipping(hyper, report), over = 1.f / (sqrtf(square) + eps);
    for (int y = line; y < SIDE; y += LINES) {
        if (row + y >= matrix.rows || column + x >= matrix.columns) continue;
        long i = matrix.at + (long)(row + y) * matrix.columns + column + x;
        float u = (gradient[i] * scale + beta * momentum[i]) * over;
        if (matrix.turned) tile[y * (SIDE + 1) + x] = u;
        else work[matrix.place + (long)(row + y) * matrix.stride + column + x] = narrow(u);
    }
    if (!matrix.turned) return;
    __syncthreads();
    for (int y = line; y < SIDE; y += LINES)
        if (row + x < matrix.rows && column + y < matrix.columns)
            work[matrix.place + (long)(column + y) * matrix.stride + row + x] = narrow(tile[x * (SIDE + 1) + y]);
}

// The step, with decay and averaging.
KERNEL(muon_apply, 256, const Body* bodies, const int* owners, const bf16* work, float* weights, float* averaged,
       bf16* rounded, const float* hyper, const float* report) {
    SHARED(float, tile, SIDE * (SIDE + 1));
    if (!finite(report[NORM]) || !finite(report[TOTAL])) return;
    Body matrix = bodies[owners[blockIdx.x]];
    float lr = hyper[0], decay = hyper[4], ema = hyper[6];
    int row, column, x = threadIdx.x & 31, line = threadIdx.x >> 5;
    tile_of(matrix, row, column);
    if (matrix.turned) {
        for (int y = line; y < SIDE; y += LINES)
            if (row + x < matrix.rows && column + y < matrix.columns)
                tile[x * (SIDE + 1) + y] =
                    widen(work[matrix.place + (long)(column + y) * matrix.stride + row + x]);
        __syncthreads();
    }
    for (int y = line; y < SIDE; y += LINES) {
        if (row + y >= matrix.rows || column + x >= matrix.columns) continue;
        long i = matrix.at + (long)(row + y) * matrix.columns + column + x;
        float o = matrix.turned ? tile[y * (SIDE + 1) + x]
                                : widen(work[matrix.place + (long)(row + y) * matrix.stride + column + x]);
        float w = weights[i];
        w -= lr * (matrix.factor * o + decay * w);
        weights[i] = w;
        averaged[i] = ema * averaged[i] + (1.f - ema) * w;
        rounded[i] = narrow(w);
    }
}
