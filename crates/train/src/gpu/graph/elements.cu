// Elementwise kernels of the graph: inputs, activations, sums, copies.
//
// A value has `row` elements an example, a multiple of 8 with zeros as padding. Values are bfloat16, or 32-bit floats
// where a flag says so; gradients are bfloat16. `before`, where it is given, is a gradient to add to.

// Loops over all of `count` with 32-bit numbers, which divide faster; plans keep every count below 2^31.
#define EACH(i, count) for (u32 i = (u32)grid_first(); i < (u32)(count); i += (u32)grid_step())

DEVICE float number_at(const void* from, int full, long i) {
    return full ? ((const float*)from)[i] : widen(((const bf16*)from)[i]);
}
DEVICE void put_number(void* to, int full, long i, float v) {
    if (full) ((float*)to)[i] = v;
    else ((bf16*)to)[i] = narrow(v);
}
DEVICE void numbers8(const void* from, int full, long i, float* v) {
    if (full) load8((const float*)from + i, v);
    else load8((const bf16*)from + i, v);
}
DEVICE void put8(void* to, int full, long i, const float* v) {
    if (full) {
        float4 a, b;
        a.x = v[0], a.y = v[1], a.z = v[2], a.w = v[3], b.x = v[4], b.y = v[5], b.z = v[6], b.w = v[7];
        ((float4*)((float*)to + i))[0] = a, ((float4*)((float*)to + i))[1] = b;
    } else store8((bf16*)to + i, v);
}
DEVICE void add8(float* v, const bf16* before, long i) {
    if (!before) return;
    float e[8];
    load8(before + i, e);
#pragma unroll
    for (int j = 0; j < 8; j++) v[j] += e[j];
}

// to[rows][padded] = from[rows][width].
#define TO_ROWS(name, type)                                                                    \
    KERNEL(name, 256, const type* from, bf16* to, int rows, int width, int padded) {           \
        u32 each = padded / 8;                                                                 \
        EACH(i, rows * each) {                                                                 \
            u32 r = i / each;                                                                  \
            int c = (i - r * each) * 8;                                                        \
            float v[8];                                                                        \
            for (int j = 0; j < 8; j++) v[j] = c + j < width ? (float)from[(long)r * width + c + j] : 0.f; \
            store8(to + (long)i * 8, v);                                                       \
        }                                                                                      \
    }
TO_ROWS(bytes_to_rows, u8)
TO_ROWS(floats_to_rows, float)

// A one at each id: to[example][count][classes].
KERNEL(one_hot, 256, const int* ids, const u32* places, bf16* to, int ids_row, int count, int classes, int examples) {
    u32 each = classes / 8;
    EACH(i, examples * count * each) {
        u32 r = i / each, example = r / count;
        int c = (i - r * each) * 8, id = ids[(long)example * ids_row + places[r - example * count]];
        float v[8];
        for (int j = 0; j < 8; j++) v[j] = c + j == id ? 1.f : 0.f;
        store8(to + (long)i * 8, v);
    }
}

#define RELU 1
#define CLIPPED_RELU 2
#define SILU 3
#define GELU 4

DEVICE float activated(float x, int kind) {
    if (kind == RELU) return fmaxf(x, 0.f);
    if (kind == CLIPPED_RELU) return fminf(fmaxf(x, 0.f), 1.f);
    if (kind == SILU) return x * sigmoid(x);
    if (kind == GELU) return 0.5f * x * (1.f + erff(x * 0.70710678118654752f));
    return x;
}
DEVICE float slope(float x, int kind) {
    if (kind == RELU) return x > 0.f ? 1.f : 0.f;
    if (kind == CLIPPED_RELU) return x > 0.f && x < 1.f ? 1.f : 0.f;
    if (kind == SILU) {
        float s = sigmoid(x);
        return s * (1.f + x * (1.f - s));
    }
    if (kind == GELU)
        return 0.5f * (1.f + erff(x * 0.70710678118654752f)) + x * 0.39894228040143268f * __expf(-0.5f * x * x);
    return 1.f;
}

// y = activation(x + bias), the bias, unless null, repeated every `width` elements.
KERNEL(activate, 256, const void* x, int x_full, const float* bias, int width, void* y, int y_full, int kind,
       int examples, int row) {
    for (long i = grid_first() * 8; i < (long)examples * row; i += grid_step() * 8) {
        float v[8], b[8];
        numbers8(x, x_full, i, v);
        if (bias) {
            load8(bias + (u32)(i / 8) % (u32)(width / 8) * 8, b);
#pragma unroll
            for (int j = 0; j < 8; j++) v[j] += b[j];
        }
#pragma unroll
        for (int j = 0; j < 8; j++) v[j] = activated(v[j], kind);
        put8(y, y_full, i, v);
    }
}
KERNEL(activate_backward, 256, const void* x, int x_full, const float* bias, int width, const bf16* dy,
       const bf16* before, bf16* dx, int kind, int examples, int row) {
    for (long i = grid_first() * 8; i < (long)examples * row; i += grid_step() * 8) {
        float v[8], b[8], d[8];
        numbers8(x, x_full, i, v);
        load8(dy + i, d);
        if (bias) {
            load8(bias + (u32)(i / 8) % (u32)(width / 8) * 8, b);
#pragma unroll
            for (int j = 0; j < 8; j++) v[j] += b[j];
        }
#pragma unroll
        for (int j = 0; j < 8; j++) d[j] *= slope(v[j], kind);
        add8(d, before, i);
        store8(dx + i, d);
    }
}

// y = a + b.
KERNEL(add_values, 256, const void* a, int a_full, const void* b, int b_full, void* y, int y_full, int examples,
       int row) {
    for (long i = grid_first() * 8; i < (long)examples * row; i += grid_step() * 8) {
        float v[8], w[8];
        numbers8(a, a_full, i, v), numbers8(b, b_full, i, w);
#pragma unroll
        for (int j = 0; j < 8; j++) v[j] += w[j];
        put8(y, y_full, i, v);
    }
}
// y = a * b + before.
KERNEL(multiply_values, 256, const void* a, int a_full, const void* b, int b_full, const bf16* before, void* y,
       int y_full, int examples, int row) {
    for (long i = grid_first() * 8; i < (long)examples * row; i += grid_step() * 8) {
        float v[8], w[8];
        numbers8(a, a_full, i, v), numbers8(b, b_full, i, w);
#pragma unroll
        for (int j = 0; j < 8; j++) v[j] *= w[j];
        add8(v, before, i);
        put8(y, y_full, i, v);
    }
}
// y = activation(gate) * up.
KERNEL(gated, 256, const bf16* gate, const bf16* up, bf16* y, int kind, int examples, int row) {
    for (long i = grid_first() * 8; i < (long)examples * row; i += grid_step() * 8) {
        float g[8], u[8];
        load8(gate + i, g), load8(up + i, u);
#pragma unroll
        for (int j = 0; j < 8; j++) u[j] *= activated(g[j], kind);
        store8(y + i, u);
    }
}
KERNEL(gated_backward, 256, const bf16* gate, const bf16* up, const bf16* dy, const bf16* before_gate,
       const bf16* before_up, bf16* d_gate, bf16* d_up, int kind, int examples, int row) {
    for (long i = grid_first() * 8; i < (long)examples * row; i += grid_step() * 8) {
        float g[8], u[8], d[8];
        load8(gate + i, g), load8(up + i, u), load8(dy + i, d);
#pragma unroll
        for (int j = 0; j < 8; j++) u[j] *= d[j] * slope(g[j], kind), d[j] *= activated(g[j], kind);
        add8(u, before_gate, i), add8(d, before_up, i);
        store8(d_gate + i, u), store8(d_up + i, d);
    }
}
// y = x * factor + before.
KERNEL(scale_values, 256, const void* x, int x_full, float factor, const bf16* before, void* y, int y_full,
       int examples, int row) {
    for (long i = grid_first() * 8; i < (long)examples * row; i += grid_step() * 8) {
        float v[8];
        numbers8(x, x_full, i, v);
#pragma unroll
        for (int j = 0; j < 8; j++) v[j] *= factor;
        add8(v, before, i);
        put8(y, y_full, i, v);
    }
}

// y[example][i] = x[example][i] + parameter[i], or parameter[chosen[i]] of the first `count` elements.
KERNEL(add_parameter, 256, const void* x, int x_full, const float* parameter, const u32* chosen, int count, void* y,
       int y_full, int examples, int row) {
    for (long i = grid_first() * 8; i < (long)examples * row; i += grid_step() * 8) {
        float v[8], p[8];
        int c = (u32)(i / 8) % (u32)(row / 8) * 8;
        numbers8(x, x_full, i, v);
        if (!chosen) load8(parameter + c, p);
        else
            for (int j = 0; j < 8; j++) p[j] = c + j < count ? parameter[chosen[c + j]] : 0.f;
#pragma unroll
        for (int j = 0; j < 8; j++) v[j] += p[j];
        put8(y, y_full, i, v);
    }
}
// to[i] = from[indices[i]], i < count.
KERNEL(choose, 256, const float* from, const u32* indices, float* to, int count) {
    for (long i = grid_first(); i < count; i += grid_step()) to[i] = from[indices[i]];
}

// to[i] = before[i] + the sum of from[] at places[starts[i]..starts[i + 1]].
KERNEL(fold_chosen, 256, const float* from, const u32* starts, const u32* places, const float* before, float* to,
       int count) {
    for (long i = grid_first(); i < count; i += grid_step()) {
        float total = before ? before[i] : 0.f;
        for (u32 p = starts[i]; p < starts[i + 1]; p++) total += from[places[p]];
        to[i] = total;
    }
}

// to[example][to_places[i]] = from[example][from_places[i]], i < count.
KERNEL(gather, 256, const void* from, int from_full, int from_row, void* to, int to_full, int to_row,
       const u32* from_places, const u32* to_places, int count, int examples) {
    EACH(i, examples * count) {
        long example = i / (u32)count;
        int at = i - (u32)example * count;
        float v = number_at(from, from_full, example * from_row + from_places[at]);
        put_number(to, to_full, example * to_row + to_places[at], v);
    }
}
// The same with eight bfloat16 for each place.
KERNEL(gather8, 256, const bf16* from, int from_row, bf16* to, int to_row, const u32* from_places,
       const u32* to_places, int count, int examples) {
    EACH(i, examples * count) {
        long example = i / (u32)count;
        int at = i - (u32)example * count;
        *(uint4*)(to + example * to_row + to_places[at]) = *(const uint4*)(from + example * from_row + from_places[at]);
    }
}
// dx[example][i] = before + the sum of dy[example] at places[starts[i]..starts[i + 1]].
KERNEL(gather_backward, 256, const bf16* dy, int dy_row, const u32* starts, const u32* places, const bf16* before,
       bf16* dx, int examples, int row) {
    EACH(i, examples * row) {
        long example = i / (u32)row;
        int at = i - (u32)example * row;
        float total = before ? widen(before[i]) : 0.f;
        for (u32 p = starts[at]; p < starts[at + 1]; p++) total += widen(dy[example * dy_row + places[p]]);
        dx[i] = narrow(total);
    }
}
KERNEL(gather8_backward, 256, const bf16* dy, int dy_row, const u32* starts, const u32* places, const bf16* before,
       bf16* dx, int examples, int row) {
    u32 each = row / 8;
    EACH(i, examples * each) {
        long example = i / each;
        int at = i - (u32)example * each;
        float total[8] = {0, 0, 0, 0, 0, 0, 0, 0};
        add8(total, before, (long)i * 8);
        for (u32 p = starts[at]; p < starts[at + 1]; p++) add8(total, dy, example * dy_row + places[p]);
        store8(dx + (long)i * 8, total);
    }
}

// y[example] = the mean of the rows of x[example][rows][width].
KERNEL(mean_rows, 256, const bf16* x, bf16* y, int rows, int width, int examples) {
    u32 each = width / 8;
    EACH(i, examples * each) {
        long example = i / each;
        int c = (i - (u32)example * each) * 8;
        float total[8] = {0, 0, 0, 0, 0, 0, 0, 0};
        for (int r = 0; r < rows; r++) add8(total, x, (example * rows + r) * width + c);
        for (int j = 0; j < 8; j++) total[j] /= rows;
        store8(y + (long)i * 8, total);
    }
}
KERNEL(mean_rows_backward, 256, const bf16* dy, const bf16* before, bf16* dx, int rows, int width, int examples) {
    u32 each = width / 8;
    float share = 1.f / rows;
    EACH(i, examples * rows * each) {
        u32 r = i / each;
        float d[8];
        load8(dy + (long)(r / (u32)rows) * width + (i - r * each) * 8, d);
        for (int j = 0; j < 8; j++) d[j] *= share;
        add8(d, before, (long)i * 8);
        store8(dx + (long)i * 8, d);
    }
}

// y[example][0] = the sum of the first `count` elements; y has rows of 8 32-bit floats. A warp an example.
KERNEL(sum_elements, 256, const void* x, int x_full, float* y, int count, int examples, int row) {
    int lane = threadIdx.x & 31;
    for (long e = blockIdx.x * 8 + (threadIdx.x >> 5); e < examples; e += gridDim.x * 8) {
        float total = 0;
        for (int c = lane; c < count; c += 32) total += number_at(x, x_full, e * row + c);
        total = warp_sum(total);
        if (lane == 0) y[e * 8] = total;
    }
}
KERNEL(sum_elements_backward, 256, const bf16* dy, const bf16* before, bf16* dx, int count, int examples, int row) {
    EACH(i, examples * row) {
        long example = i / (u32)row;
        float d = i - example * row < count ? widen(dy[example * 8]) : 0.f;
        dx[i] = narrow(before ? widen(before[i]) + d : d);
    }
}

// y[example] = table[x[example][0]], `width` 32-bit floats in rows of `row`; x has rows of 8.
KERNEL(look_up, 256, const float* x, const float* table, float* y, int width, int examples, int row) {
    EACH(i, examples * row) {
        long example = i / (u32)row;
        int c = i - (u32)example * row;
        y[i] = c < width ? table[(long)x[example * 8] * width + c] : 0.f;
    }
}
