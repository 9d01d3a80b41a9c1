// Kernels over rows of the residual stream: input, norms, the gated product, sums over the batch.
//
// A warp owns a row of WIDTH numbers; a lane holds chunks of eight, 256 apart.

#define CHUNKS ((WIDTH + 255) / 256)
#define EACH_CHUNK(i, c) \
    _Pragma("unroll") for (int i = 0, c = lane * 8; i < CHUNKS; i++, c += 256) if (c < WIDTH)
#define ROW_WARPS 8

DEVICE void normalise_and_store(float (*v)[8], const float* gain, bf16* h, int lane) {
    float squares = 0;
    EACH_CHUNK(i, c) for (int j = 0; j < 8; j++) squares += v[i][j] * v[i][j];
    float scale = rsqrtf(warp_sum(squares) * (1.f / WIDTH) + NORM_EPSILON);
    EACH_CHUNK(i, c) {
        float g[8];
        load8(gain + c, g);
        for (int j = 0; j < 8; j++) g[j] *= v[i][j] * scale;
        store8(h + c, g);
    }
}

// x[b][s] = squares[b][s] + position[s] + game[b]; h = norm(x) * gain.
KERNEL(embed, 256, const bf16* squares, const float* position, const float* game, const float* gain, bf16* x, bf16* h,
       int rows) {
    int lane = threadIdx.x & 31;
    for (int r = blockIdx.x * ROW_WARPS + (threadIdx.x >> 5); r < rows; r += gridDim.x * ROW_WARPS) {
        int board = r / TOKENS, token = r - board * TOKENS;
        float v[CHUNKS][8];
        EACH_CHUNK(i, c) {
            float p[8], g[8];
            load8(squares + (long)r * WIDTH + c, v[i]);
            load8(position + token * WIDTH + c, p);
            load8(game + (long)board * WIDTH + c, g);
            for (int j = 0; j < 8; j++) v[i][j] += p[j] + g[j];
            store8(x + (long)r * WIDTH + c, v[i]);
        }
        normalise_and_store(v, gain, h + (long)r * WIDTH, lane);
    }
}

// h = norm(x) * gain.
KERNEL(norm_forward, 256, const bf16* x, const float* gain, bf16* h, int rows) {
    int lane = threadIdx.x & 31;
    for (int r = blockIdx.x * ROW_WARPS + (threadIdx.x >> 5); r < rows; r += gridDim.x * ROW_WARPS) {
        float v[CHUNKS][8];
        EACH_CHUNK(i, c) load8(x + (long)r * WIDTH + c, v[i]);
        normalise_and_store(v, gain, h + (long)r * WIDTH, lane);
    }
}

// dx_out = dx_in + the gradient through h = norm(x) * gain, where the gradient of h is dh plus, when `shared_by_board`
// is given, shared_by_board[b] / TOKENS. dx_in may be null, and may be dx_out. partial[block][WIDTH] sums the gradient
// of the gain over the block's rows.
KERNEL(norm_backward, 256, const bf16* x, const float* gain, const bf16* dh, const float* shared_by_board,
       const bf16* dx_in, bf16* dx_out, float* partial, int rows) {
    SHARED(float, sums, ROW_WARPS * WIDTH);
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    float g[CHUNKS][8], gained[CHUNKS][8];
    EACH_CHUNK(i, c) {
        load8(gain + c, g[i]);
        for (int j = 0; j < 8; j++) gained[i][j] = 0;
    }
    for (int r = blockIdx.x * ROW_WARPS + warp; r < rows; r += gridDim.x * ROW_WARPS) {
        long at = (long)r * WIDTH;
        float v[CHUNKS][8], d[CHUNKS][8], squares = 0, inner = 0;
        EACH_CHUNK(i, c) {
            load8(x + at + c, v[i]);
            load8(dh + at + c, d[i]);
            if (shared_by_board) {
                float s[8];
                load8(shared_by_board + (long)(r / TOKENS) * WIDTH + c, s);
                for (int j = 0; j < 8; j++) d[i][j] += s[j] * (1.f / TOKENS);
            }
            for (int j = 0; j < 8; j++) squares += v[i][j] * v[i][j], inner += v[i][j] * d[i][j] * g[i][j];
        }
        squares = warp_sum(squares), inner = warp_sum(inner);
        float scale = rsqrtf(squares * (1.f / WIDTH) + NORM_EPSILON), along = inner * scale * scale * (1.f / WIDTH);
        EACH_CHUNK(i, c) {
            float o[8];
            for (int j = 0; j < 8; j++) {
                gained[i][j] += d[i][j] * v[i][j] * scale;
                o[j] = scale * (g[i][j] * d[i][j] - v[i][j] * along);
            }
            if (dx_in) {
                float e[8];
                load8(dx_in + at + c, e);
                for (int j = 0; j < 8; j++) o[j] += e[j];
            }
            store8(dx_out + at + c, o);
        }
    }
    EACH_CHUNK(i, c) for (int j = 0; j < 8; j++) sums[warp * WIDTH + c + j] = gained[i][j];
    __syncthreads();
    for (int c = threadIdx.x; c < WIDTH; c += 256) {
        float total = 0;
        for (int w = 0; w < ROW_WARPS; w++) total += sums[w * WIDTH + c];
        partial[(long)blockIdx.x * WIDTH + c] = total;
    }
}

// product = silu(gate) * up, where a row of `both` is gate[FFN] | up[FFN].
KERNEL(gated_forward, 256, const bf16* both, bf16* product, int rows) {
    for (long i = grid_first(); i < (long)rows * (FFN / 8); i += grid_step()) {
        long r = i / (FFN / 8);
        int c = (int)(i - r * (FFN / 8)) * 8;
        float gate[8], up[8];
        load8(both + r * 2 * FFN + c, gate);
        load8(both + r * 2 * FFN + FFN + c, up);
        for (int j = 0; j < 8; j++) gate[j] *= sigmoid(gate[j]) * up[j];
        store8(product + r * FFN + c, gate);
    }
}
KERNEL(gated_backward, 256, const bf16* both, const bf16* d_product, bf16* d_both, int rows) {
    for (long i = grid_first(); i < (long)rows * (FFN / 8); i += grid_step()) {
        long r = i / (FFN / 8);
        int c = (int)(i - r * (FFN / 8)) * 8;
        float gate[8], up[8], d[8];
        load8(both + r * 2 * FFN + c, gate);
        load8(both + r * 2 * FFN + FFN + c, up);
        load8(d_product + r * FFN + c, d);
        for (int j = 0; j < 8; j++) {
            float s = sigmoid(gate[j]), through = d[j] * up[j] * s * (1.f + gate[j] * (1.f - s));
            up[j] = d[j] * gate[j] * s;
            gate[j] = through;
        }
        store8(d_both + r * 2 * FFN + c, gate);
        store8(d_both + r * 2 * FFN + FFN + c, up);
    }
}

// Of dx[b][s]: d_game[b] = the sum over tokens; partial[block][TOKENS][WIDTH] = the sum over the block's boards.
KERNEL(embed_backward, 256, const bf16* dx, bf16* d_game, float* partial, int boards) {
    for (int c = threadIdx.x; c < WIDTH; c += 256) {
        float position[TOKENS];
#pragma unroll
        for (int s = 0; s < TOKENS; s++) position[s] = 0;
        for (int b = blockIdx.x; b < boards; b += gridDim.x) {
            const bf16* from = dx + (long)b * TOKENS * WIDTH + c;
            float game = 0;
#pragma unroll
            for (int s = 0; s < TOKENS; s++) {
                float v = widen(from[s * WIDTH]);
                position[s] += v, game += v;
            }
            d_game[(long)b * WIDTH + c] = narrow(game);
        }
#pragma unroll
        for (int s = 0; s < TOKENS; s++) partial[((long)blockIdx.x * TOKENS + s) * WIDTH + c] = position[s];
    }
}
