// Attention of one (board, head) on tensor cores: TOKENS x TOKENS scores never leave the multiprocessor.
//
// Block = one head; it walks over boards, so that what is summed over boards (the gradients of the score bias and of the
// query and key gains) leaves the block once. Warp w owns query rows 16w..16w+15. In a tile of the accumulators, lane
// 4g+t holds columns 2t, 2t+1 of rows g and g+8.

#define PADDED ((TOKENS + 15) / 16 * 16)
#define ATTENTION_WARPS (PADDED / 16)
#define ATTENTION_THREADS (ATTENTION_WARPS * 32)
#define HEAD_STRIDE (HEAD + 8)
#define SCORE_STRIDE (PADDED + 8)
#define SCORE_TILES (PADDED / 8)
#define HEAD_TILES (HEAD / 8)
#define ROW_LANES (HEAD / 8)
#define LOADS (HEAD / 16)
#define QKV (3 * WIDTH)

struct Lane {
    int lane, g, t, row;  // row: the first of the warp's sixteen
};
DEVICE Lane this_lane() {
    Lane l;
    l.lane = threadIdx.x & 31, l.g = l.lane >> 2, l.t = l.lane & 3, l.row = (threadIdx.x >> 5) * 16;
    return l;
}

// One [TOKENS, HEAD] part of a row-major matrix into registers, zero rows up to PADDED.
DEVICE void fetch(const bf16* from, int stride, uint4* raw) {
#pragma unroll
    for (int n = 0; n < LOADS; n++) {
        int i = threadIdx.x + n * ATTENTION_THREADS, r = i / ROW_LANES, c = (i % ROW_LANES) * 8;
        if (r < TOKENS) raw[n] = *(const uint4*)(from + (long)r * stride + c);
        else raw[n].x = raw[n].y = raw[n].z = raw[n].w = 0;
    }
}
DEVICE void place(const uint4* raw, bf16* to) {
#pragma unroll
    for (int n = 0; n < LOADS; n++) {
        int i = threadIdx.x + n * ATTENTION_THREADS, r = i / ROW_LANES, c = (i % ROW_LANES) * 8;
        *(uint4*)(to + r * HEAD_STRIDE + c) = raw[n];
    }
}
// As `place`, through the norm of each row; scales[row], when wanted, keeps 1 / rms.
DEVICE void place_normed(const uint4* raw, bf16* to, const float* gain, float* scales) {
#pragma unroll
    for (int n = 0; n < LOADS; n++) {
        int i = threadIdx.x + n * ATTENTION_THREADS, r = i / ROW_LANES, c = (i % ROW_LANES) * 8;
        float v[8], squares = 0;
        unpack8(raw[n], v);
        for (int j = 0; j < 8; j++) squares += v[j] * v[j];
        for (int o = 1; o < ROW_LANES; o <<= 1) squares += __shfl_xor_sync(FULL_WARP, squares, o);
        float scale = rsqrtf(squares * (1.f / HEAD) + NORM_EPSILON);
        if (scales && c == 0) scales[r] = scale;
        for (int j = 0; j < 8; j++) v[j] *= scale * gain[c + j];
        store8(to + r * HEAD_STRIDE + c, v);
    }
}

// out[SCORE_TILES] = the warp's rows of a[PADDED, HEAD] times b[PADDED, HEAD] transposed.
DEVICE void scores_of(float (*out)[4], const bf16* a, const bf16* b, Lane l) {
    u32 left[HEAD / 16][4];
#pragma unroll
    for (int k = 0; k < HEAD / 16; k++) {
        const bf16* p = a + (l.row + l.g) * HEAD_STRIDE + 16 * k + 2 * l.t;
        left[k][0] = *(const u32*)p, left[k][1] = *(const u32*)(p + 8 * HEAD_STRIDE);
        left[k][2] = *(const u32*)(p + 8), left[k][3] = *(const u32*)(p + 8 * HEAD_STRIDE + 8);
    }
#pragma unroll
    for (int j = 0; j < SCORE_TILES; j++) {
        out[j][0] = out[j][1] = out[j][2] = out[j][3] = 0;
#pragma unroll
        for (int k = 0; k < HEAD / 16; k++) {
            const bf16* p = b + (8 * j + l.g) * HEAD_STRIDE + 16 * k + 2 * l.t;
            multiply_tile(out[j], left[k], *(const u32*)p, *(const u32*)(p + 8));
        }
    }
}
// out[HEAD_TILES] += left[16x16] times rows k0..k0+15 of b[PADDED, HEAD].
DEVICE void accumulate(float (*out)[4], const u32* left, const bf16* b, int k0, int lane) {
#pragma unroll
    for (int h = 0; h < HEAD / 16; h++) {
        u32 right[4];
        int tile = lane >> 3, r = lane & 7;
        load_transposed(right, b + (k0 + (tile & 1) * 8 + r) * HEAD_STRIDE + h * 16 + (tile >> 1) * 8);
        multiply_tile(out[2 * h], left, right[0], right[1]);
        multiply_tile(out[2 * h + 1], left, right[2], right[3]);
    }
}
// Two neighbouring tiles of accumulators as the left operand of the next product.
DEVICE void as_left(u32* left, const float* first, const float* second) {
    left[0] = pack(first[0], first[1]), left[1] = pack(first[2], first[3]);
    left[2] = pack(second[0], second[1]), left[3] = pack(second[2], second[3]);
}

// Turns raw scores into exp(score / sqrt(HEAD) + bias - max); inverse[2] gets one over the sums of the two rows.
DEVICE void softmax_rows(float (*s)[4], const float* __restrict__ bias, Lane l, float* inverse) {
    const float scale = LOG2_E * (HEAD == 32 ? 0.17677669529663687f : HEAD == 64 ? 0.125f : rsqrtf((float)HEAD));
    float top0 = -1e30f, top1 = -1e30f, sum0 = 0, sum1 = 0;
    int first = l.row + l.g, second = first + 8;
#pragma unroll
    for (int j = 0; j < SCORE_TILES; j++) {
        int c = 8 * j + 2 * l.t;
        float b0[2] = {0, 0}, b1[2] = {0, 0};
        if (bias && c < TOKENS) {
            if (first < TOKENS) b0[0] = bias[first * TOKENS + c], b0[1] = bias[first * TOKENS + c + 1];
            if (second < TOKENS) b1[0] = bias[second * TOKENS + c], b1[1] = bias[second * TOKENS + c + 1];
        }
#pragma unroll
        for (int e = 0; e < 2; e++) {
            s[j][e] = c < TOKENS ? s[j][e] * scale + b0[e] * LOG2_E : -1e30f;
            s[j][2 + e] = c < TOKENS ? s[j][2 + e] * scale + b1[e] * LOG2_E : -1e30f;
            top0 = fmaxf(top0, s[j][e]), top1 = fmaxf(top1, s[j][2 + e]);
        }
    }
    top0 = quad_max(top0), top1 = quad_max(top1);
#pragma unroll
    for (int j = 0; j < SCORE_TILES; j++)
#pragma unroll
        for (int e = 0; e < 2; e++) {
            s[j][e] = exp2f(s[j][e] - top0), s[j][2 + e] = exp2f(s[j][2 + e] - top1);
            sum0 += s[j][e], sum1 += s[j][2 + e];
        }
    inverse[0] = 1.f / quad_sum(sum0), inverse[1] = 1.f / quad_sum(sum1);
}

DEVICE void clear(float (*tiles)[4]) {
#pragma unroll
    for (int n = 0; n < HEAD_TILES; n++) tiles[n][0] = tiles[n][1] = tiles[n][2] = tiles[n][3] = 0;
}

// context[b][s][head] = softmax(q k / sqrt(HEAD) + bias) v. bias may be null. Grid: a multiple of HEADS.
KERNEL(attention_forward, ATTENTION_THREADS, const bf16* qkv, const float* gain_q, const float* gain_k,
       const float* __restrict__ bias, bf16* context, int boards) {
    SHARED(bf16, q, PADDED * HEAD_STRIDE);
    SHARED(bf16, k, PADDED * HEAD_STRIDE);
    SHARED(bf16, v, PADDED * HEAD_STRIDE);
    Lane l = this_lane();
    int head = blockIdx.x % HEADS, step = gridDim.x / HEADS;
    if (bias) bias += head * TOKENS * TOKENS;
    uint4 raw_q[LOADS], raw_k[LOADS], raw_v[LOADS];
    int board = blockIdx.x / HEADS;
    if (board < boards) {
        const bf16* from = qkv + (long)board * TOKENS * QKV + head * HEAD;
        fetch(from, QKV, raw_q), fetch(from + WIDTH, QKV, raw_k), fetch(from + 2 * WIDTH, QKV, raw_v);
    }
    for (; board < boards; board += step) {
        place_normed(raw_q, q, gain_q, nullptr), place_normed(raw_k, k, gain_k, nullptr), place(raw_v, v);
        __syncthreads();
        if (board + step < boards) {  // the next board travels while this one is computed
            const bf16* from = qkv + (long)(board + step) * TOKENS * QKV + head * HEAD;
            fetch(from, QKV, raw_q), fetch(from + WIDTH, QKV, raw_k), fetch(from + 2 * WIDTH, QKV, raw_v);
        }
        float s[SCORE_TILES][4], o[HEAD_TILES][4], inverse[2];
        scores_of(s, q, k, l);
        softmax_rows(s, bias, l, inverse);
        clear(o);
#pragma unroll
        for (int n = 0; n < PADDED / 16; n++) {
            u32 left[4];
            as_left(left, s[2 * n], s[2 * n + 1]);
            accumulate(o, left, v, 16 * n, l.lane);
        }
        bf16* to = context + (long)board * TOKENS * WIDTH + head * HEAD + 2 * l.t;
        int first = l.row + l.g, second = first + 8;
#pragma unroll
        for (int n = 0; n < HEAD_TILES; n++) {
            if (first < TOKENS) *(u32*)(to + first * WIDTH + 8 * n) = pack(o[n][0] * inverse[0], o[n][1] * inverse[0]);
            if (second < TOKENS)
                *(u32*)(to + second * WIDTH + 8 * n) = pack(o[n][2] * inverse[1], o[n][3] * inverse[1]);
        }
        __syncthreads();
    }
}

// The gradient d of the normed rows, back through the norm of the raw rows at `from`, to `to`; adds that of the gain.
DEVICE void norm_rows_backward(float (*d)[4], const bf16* from, bf16* to, const float* gain, const float* scales,
                               float (*d_gain)[2], Lane l) {
#pragma unroll
    for (int q = 0; q < 2; q++) {
        int r = l.row + l.g + 8 * q;
        float scale = scales[r], x[HEAD_TILES][2], along = 0;
#pragma unroll
        for (int n = 0; n < HEAD_TILES; n++) {
            u32 both = r < TOKENS ? *(const u32*)(from + (long)r * QKV + 8 * n + 2 * l.t) : 0u;
            x[n][0] = low_half(both) * scale, x[n][1] = high_half(both) * scale;
#pragma unroll
            for (int e = 0; e < 2; e++) {
                if (r < TOKENS) d_gain[n][e] += d[n][2 * q + e] * x[n][e];
                d[n][2 * q + e] *= gain[8 * n + 2 * l.t + e];
                along += d[n][2 * q + e] * x[n][e];
            }
        }
        along = quad_sum(along) * (1.f / HEAD);
        if (r < TOKENS) {
#pragma unroll
            for (int n = 0; n < HEAD_TILES; n++)
                *(u32*)(to + (long)r * QKV + 8 * n + 2 * l.t) =
                    pack(scale * (d[n][2 * q] - x[n][0] * along), scale * (d[n][2 * q + 1] - x[n][1] * along));
        }
    }
}

// d_qkv from d_context. partial_gain[block][2 * HEAD]: gradients of the query and key gains; partial_bias[step of the
// walk][HEADS][TOKENS][TOKENS], unless null: that of the score bias. Dynamic shared memory: see attention_memory in Rust.
KERNEL_RESIDENT(attention_backward, ATTENTION_THREADS, 3, const bf16* qkv, const float* gain_q, const float* gain_k,
                const float* __restrict__ bias, const bf16* d_context, bf16* d_qkv, float* partial_gain,
                float* partial_bias, int boards) {
    DYNAMIC_SHARED(memory);
    bf16* q = (bf16*)memory;
    bf16* k = q + PADDED * HEAD_STRIDE;
    bf16* v = k + PADDED * HEAD_STRIDE;
    bf16* d = v + PADDED * HEAD_STRIDE;
    bf16* share = d + PADDED * HEAD_STRIDE;
    bf16* d_score = share + PADDED * SCORE_STRIDE;
    float* scale_q = (float*)(d_score + PADDED * SCORE_STRIDE);
    float* scale_k = scale_q + PADDED;
    float* warp_gain = scale_k + PADDED;                                     // [ATTENTION_WARPS][2 * HEAD]
    float* bias_sum = warp_gain + ATTENTION_WARPS * 2 * HEAD;                // [SCORE_TILES][4][threads], own elements
    Lane l = this_lane();
    int head = blockIdx.x % HEADS, step = gridDim.x / HEADS, tid = threadIdx.x;
    if (bias) bias += head * TOKENS * TOKENS;
    float d_gain_q[HEAD_TILES][2], d_gain_k[HEAD_TILES][2];
#pragma unroll
    for (int n = 0; n < HEAD_TILES; n++) d_gain_q[n][0] = d_gain_q[n][1] = d_gain_k[n][0] = d_gain_k[n][1] = 0;
    if (partial_bias)
        for (int i = 0; i < SCORE_TILES * 4; i++) bias_sum[i * ATTENTION_THREADS + tid] = 0;

    for (int board = blockIdx.x / HEADS; board < boards; board += step) {
        const bf16* from = qkv + (long)board * TOKENS * QKV + head * HEAD;
        bf16* to = d_qkv + (long)board * TOKENS * QKV + head * HEAD;
        {
            uint4 raw_q[LOADS], raw_k[LOADS], raw_v[LOADS], raw_d[LOADS];
            fetch(from, QKV, raw_q), fetch(from + WIDTH, QKV, raw_k), fetch(from + 2 * WIDTH, QKV, raw_v);
            fetch(d_context + (long)board * TOKENS * WIDTH + head * HEAD, WIDTH, raw_d);
            place_normed(raw_q, q, gain_q, scale_q), place_normed(raw_k, k, gain_k, scale_k);
            place(raw_v, v), place(raw_d, d);
        }
        __syncthreads();
        float o[HEAD_TILES][4];
        {
            float s[SCORE_TILES][4], ds[SCORE_TILES][4], inverse[2], inner0 = 0, inner1 = 0;
            scores_of(s, q, k, l);
            softmax_rows(s, bias, l, inverse);
            scores_of(ds, d, v, l);
#pragma unroll
            for (int j = 0; j < SCORE_TILES; j++)
#pragma unroll
                for (int e = 0; e < 2; e++) {
                    s[j][e] *= inverse[0], s[j][2 + e] *= inverse[1];
                    inner0 += s[j][e] * ds[j][e], inner1 += s[j][2 + e] * ds[j][2 + e];
                }
            inner0 = quad_sum(inner0), inner1 = quad_sum(inner1);
            const float scale = HEAD == 32 ? 0.17677669529663687f : HEAD == 64 ? 0.125f : rsqrtf((float)HEAD);
#pragma unroll
            for (int j = 0; j < SCORE_TILES; j++) {
                bf16* share_at = share + (l.row + l.g) * SCORE_STRIDE + 8 * j + 2 * l.t;
                *(u32*)share_at = pack(s[j][0], s[j][1]);
                *(u32*)(share_at + 8 * SCORE_STRIDE) = pack(s[j][2], s[j][3]);
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    float g = s[j][e] * (ds[j][e] - (e < 2 ? inner0 : inner1));
                    if (partial_bias) bias_sum[(4 * j + e) * ATTENTION_THREADS + tid] += g;
                    ds[j][e] = g * scale;
                }
                bf16* score_at = d_score + (l.row + l.g) * SCORE_STRIDE + 8 * j + 2 * l.t;
                *(u32*)score_at = pack(ds[j][0], ds[j][1]);
                *(u32*)(score_at + 8 * SCORE_STRIDE) = pack(ds[j][2], ds[j][3]);
            }
            clear(o);
#pragma unroll
            for (int n = 0; n < PADDED / 16; n++) {
                u32 left[4];
                as_left(left, ds[2 * n], ds[2 * n + 1]);
                accumulate(o, left, k, 16 * n, l.lane);
            }
        }
        norm_rows_backward(o, from, to, gain_q, scale_q, d_gain_q, l);
        __syncthreads();
        float dv[HEAD_TILES][4];
        clear(o), clear(dv);
#pragma unroll
        for (int n = 0; n < PADDED / 16; n++) {  // the warp's rows are now keys: columns of the scores
            u32 left[4];
            int tile = l.lane >> 3, r = l.lane & 7;
            int at = (16 * n + (tile >> 1) * 8 + r) * SCORE_STRIDE + l.row + (tile & 1) * 8;
            load_transposed(left, share + at);
            accumulate(dv, left, d, 16 * n, l.lane);
            load_transposed(left, d_score + at);
            accumulate(o, left, q, 16 * n, l.lane);
        }
        int first = l.row + l.g, second = first + 8;
        bf16* to_v = to + 2 * WIDTH + 2 * l.t;
#pragma unroll
        for (int n = 0; n < HEAD_TILES; n++) {
            if (first < TOKENS) *(u32*)(to_v + (long)first * QKV + 8 * n) = pack(dv[n][0], dv[n][1]);
            if (second < TOKENS) *(u32*)(to_v + (long)second * QKV + 8 * n) = pack(dv[n][2], dv[n][3]);
        }
        norm_rows_backward(o, from + WIDTH, to + WIDTH, gain_k, scale_k, d_gain_k, l);
        __syncthreads();
    }

#pragma unroll
    for (int n = 0; n < HEAD_TILES; n++)
#pragma unroll
        for (int e = 0; e < 2; e++) {
            float a = d_gain_q[n][e], b = d_gain_k[n][e];
            for (int o = 4; o < 32; o <<= 1)
                a += __shfl_xor_sync(FULL_WARP, a, o), b += __shfl_xor_sync(FULL_WARP, b, o);
            if (l.g == 0) {
                float* gain_at = warp_gain + (tid >> 5) * 2 * HEAD + 8 * n + 2 * l.t + e;
                gain_at[0] = a, gain_at[HEAD] = b;
            }
        }
    __syncthreads();
    for (int c = tid; c < 2 * HEAD; c += ATTENTION_THREADS) {
        float total = 0;
        for (int w = 0; w < ATTENTION_WARPS; w++) total += warp_gain[w * 2 * HEAD + c];
        partial_gain[(long)blockIdx.x * 2 * HEAD + c] = total;
    }
    if (partial_bias) {
        float* out = partial_bias + (long)blockIdx.x / HEADS * HEADS * TOKENS * TOKENS + (long)head * TOKENS * TOKENS;
        for (int j = 0; j < SCORE_TILES; j++)
            for (int e = 0; e < 4; e++) {
                int r = l.row + l.g + (e >> 1) * 8, c = 8 * j + 2 * l.t + (e & 1);
                if (r < TOKENS && c < TOKENS) out[r * TOKENS + c] = bias_sum[(4 * j + e) * ATTENTION_THREADS + tid];
            }
    }
}
