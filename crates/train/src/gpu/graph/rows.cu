// Row-wise kernels of the graph: norms, softmax, sums down the columns; and the patches of a convolution.

#define MOST_WARPS 8

// The sum over a row's threads: neighbours within a warp, or a whole block of 256. `room` holds eight floats.
DEVICE float group_sum(float v, int lanes, float* room) {
    for (int o = lanes < 32 ? lanes / 2 : 16; o; o >>= 1) v += __shfl_xor_sync(FULL_WARP, v, o);
    if (lanes <= 32) return v;
    __syncthreads();
    if ((threadIdx.x & 31) == 0) room[threadIdx.x >> 5] = v;
    __syncthreads();
    v = 0;
    for (int w = 0; w < MOST_WARPS; w++) v += room[w];
    return v;
}

// h = x / sqrt(sum(x^2) / count + eps) * gain, by rows of `width`; `lanes` threads a row, a power
// of two up to 32, or 256.
KERNEL(norm_rows, 256, const bf16* x, const float* gain, bf16* h, int width, int count, float eps, int lanes,
       int rows) {
    SHARED(float, room, MOST_WARPS);
    int each = 256 / lanes, group = threadIdx.x / lanes, first = threadIdx.x % lanes * 8;
    for (long base = (long)blockIdx.x * each; base < rows; base += (long)gridDim.x * each) {
        long at = (base + group) * width;
        bool mine = base + group < rows;
        float squares = 0;
        for (int c = first; mine && c < width; c += lanes * 8) {
            float v[8];
            load8(x + at + c, v);
#pragma unroll
            for (int j = 0; j < 8; j++) squares += v[j] * v[j];
        }
        float scale = rsqrtf(group_sum(squares, lanes, room) / count + eps);
        for (int c = first; mine && c < width; c += lanes * 8) {
            float v[8], g[8];
            load8(x + at + c, v), load8(gain + c, g);
#pragma unroll
            for (int j = 0; j < 8; j++) v[j] *= scale * g[j];
            store8(h + at + c, v);
        }
    }
}
// dx = before + the gradient through the norm. That of the gain: where `partial` is given, which takes rows of at most
// eight elements a lane, partial[block][width] sums it over the block's rows; else scales[row] keeps one over the root
// mean square for `column_dots`.
KERNEL(norm_rows_backward, 256, const bf16* x, const float* gain, const bf16* dh, const bf16* before, bf16* dx,
       float* scales, float* partial, int width, int count, float eps, int lanes, int rows) {
    SHARED(float, room, MOST_WARPS);
    SHARED(float, sums, 256 * 8);
    int each = 256 / lanes, group = threadIdx.x / lanes, first = threadIdx.x % lanes * 8;
    float gained[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    for (long base = (long)blockIdx.x * each; base < rows; base += (long)gridDim.x * each) {
        long at = (base + group) * width;
        bool mine = base + group < rows;
        float squares = 0, inner = 0;
        for (int c = first; mine && c < width; c += lanes * 8) {
            float v[8], g[8], d[8];
            load8(x + at + c, v), load8(gain + c, g), load8(dh + at + c, d);
#pragma unroll
            for (int j = 0; j < 8; j++) squares += v[j] * v[j], inner += v[j] * g[j] * d[j];
        }
        float scale = rsqrtf(group_sum(squares, lanes, room) / count + eps);
        float along = group_sum(inner, lanes, room) * scale * scale / count;
        for (int c = first; mine && c < width; c += lanes * 8) {
            float v[8], g[8], d[8];
            load8(x + at + c, v), load8(gain + c, g), load8(dh + at + c, d);
#pragma unroll
            for (int j = 0; j < 8; j++) {
                gained[j] += d[j] * v[j] * scale;
                d[j] = scale * (g[j] * d[j] - v[j] * along);
            }
            add8(d, before, at + c);
            store8(dx + at + c, d);
        }
        if (mine && first == 0 && scales) scales[base + group] = scale;
    }
    if (!partial) return;
#pragma unroll
    for (int j = 0; j < 8; j++) sums[threadIdx.x * 8 + j] = gained[j];
    __syncthreads();
    for (int c = threadIdx.x; c < width; c += 256) {
        float total = 0;
        for (int g = 0; g < each; g++) total += sums[g * lanes * 8 + c];
        partial[(long)blockIdx.x * width + c] = total;
    }
}

// partial[block][width] = the sum over the block's rows of a, times b where it is given, times scales[row] where given.
KERNEL(column_dots, 256, const bf16* a, const bf16* b, const float* scales, float* partial, int width, int rows) {
    SHARED(float, sums, 256 * 8);
    int chunks = width / 8, across = chunks < 256 ? chunks : 256, down = 256 / across;
    int chunk = threadIdx.x % across, y = threadIdx.x / across;
    for (int base = 0; base < chunks; base += across) {
        int c = (base + chunk) * 8;
        float total[8] = {0, 0, 0, 0, 0, 0, 0, 0};
        if (y < down && base + chunk < chunks) {
            for (long r = (long)blockIdx.x * down + y; r < rows; r += (long)gridDim.x * down) {
                float v[8], w[8];
                load8(a + r * width + c, v);
                float scale = scales ? scales[r] : 1.f;
                if (b) {
                    load8(b + r * width + c, w);
#pragma unroll
                    for (int j = 0; j < 8; j++) v[j] *= w[j];
                }
#pragma unroll
                for (int j = 0; j < 8; j++) total[j] += v[j] * scale;
            }
        }
        __syncthreads();
#pragma unroll
        for (int j = 0; j < 8; j++) sums[threadIdx.x * 8 + j] = total[j];
        __syncthreads();
        if (y == 0 && base + chunk < chunks) {
            for (int other = 1; other < down; other++)
                for (int j = 0; j < 8; j++) total[j] += sums[(other * across + chunk) * 8 + j];
            for (int j = 0; j < 8; j++) partial[(long)blockIdx.x * width + c + j] = total[j];
        }
    }
}

// A softmax over the first `count` elements of every row; a warp a row.
KERNEL(softmax_rows_of, 256, const bf16* x, bf16* y, int width, int count, int rows) {
    int lane = threadIdx.x & 31;
    for (long r = blockIdx.x * 8 + (threadIdx.x >> 5); r < rows; r += gridDim.x * 8) {
        const bf16* from = x + r * width;
        float top = -1e30f, sum = 0;
        for (int c = lane; c < count; c += 32) top = fmaxf(top, widen(from[c]));
        top = warp_max(top);
        for (int c = lane; c < count; c += 32) sum += __expf(widen(from[c]) - top);
        sum = 1.f / warp_sum(sum);
        for (int c = lane; c < width; c += 32)
            y[r * width + c] = narrow(c < count ? __expf(widen(from[c]) - top) * sum : 0.f);
    }
}
KERNEL(softmax_rows_backward, 256, const bf16* y, const bf16* dy, const bf16* before, bf16* dx, int width, int rows) {
    int lane = threadIdx.x & 31;
    for (long r = blockIdx.x * 8 + (threadIdx.x >> 5); r < rows; r += gridDim.x * 8) {
        float inner = 0;
        for (int c = lane; c < width; c += 32) inner += widen(y[r * width + c]) * widen(dy[r * width + c]);
        inner = warp_sum(inner);
        for (int c = lane; c < width; c += 32) {
            long i = r * width + c;
            float d = widen(y[i]) * (widen(dy[i]) - inner);
            dx[i] = narrow(before ? widen(before[i]) + d : d);
        }
    }
}

// to[example][square][kernel^2][channels] = x[example][square's neighbours][channels], zeros beyond the edge.
KERNEL(patches, 256, const bf16* x, bf16* to, int height, int width, int channels, int kernel, int examples) {
    u32 each = channels / 8, size = kernel * kernel, squares = height * width;
    int reach = kernel / 2;
    EACH(i, examples * squares * size * each) {
        u32 place = i / each, square = place / size;
        long example = square / squares;
        int c = (i - place * each) * 8, k = place - square * size, s = square - (u32)example * squares;
        int y = s / width + k / kernel - reach, z = s % width + k % kernel - reach;
        uint4 raw;
        raw.x = raw.y = raw.z = raw.w = 0;
        if (y >= 0 && y < height && z >= 0 && z < width)
            raw = *(const uint4*)(x + ((example * height + y) * width + z) * channels + c);
        *(uint4*)(to + (long)i * 8) = raw;
    }
}
KERNEL(patches_backward, 256, const bf16* d_patches, const bf16* before, bf16* dx, int height, int width, int channels,
       int kernel, int examples) {
    u32 each = channels / 8, squares = height * width;
    int size = kernel * kernel, reach = kernel / 2;
    EACH(i, examples * squares * each) {
        u32 square = i / each;
        long example = square / squares;
        int c = (i - square * each) * 8, s = square - (u32)example * squares;
        float total[8] = {0, 0, 0, 0, 0, 0, 0, 0};
        add8(total, before, (long)i * 8);
        for (int k = 0; k < size; k++) {
            int y = s / width - k / kernel + reach, z = s % width - k % kernel + reach;
            if (y >= 0 && y < height && z >= 0 && z < width)
                add8(total, d_patches, (((example * height + y) * width + z) * size + k) * channels + c);
        }
        store8(dx + (long)i * 8, total);
    }
}
