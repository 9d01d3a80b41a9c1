// The end of a step: the batch's losses, the gradient's norm, and AdamW with averaged weights over the whole arena.

// partial[block] = the sum of squares of the block's share of the gradient; `count` a multiple of 4.
KERNEL(square_sums, 256, const float* gradient, float* partial, long count) {
    SHARED(float, sums, 8);
    float total = 0;
    for (long i = grid_first() * 4; i < count; i += grid_step() * 4) {
        float4 g = *(const float4*)(gradient + i);
        total += g.x * g.x + g.y * g.y + g.z * g.z + g.w * g.w;
    }
    total = warp_sum(total);
    if ((threadIdx.x & 31) == 0) sums[threadIdx.x >> 5] = total;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < 8; w++) total += sums[w];
        partial[blockIdx.x] = total;
    }
}

#define LOSSES 5
#define TOTAL 5
#define NORM 6
#define STEP 7

// The report: the weighted mean loss of each head, then their sum by factors, the gradient's norm, and the step.
// losses[LOSSES][capacity]. One block.
KERNEL(report_step, 256, const float* losses, const float* share, const float* factors, const float* partial,
       int partials, float* report, int boards, int capacity) {
    SHARED(float, sums, (LOSSES + 1) * 8);
    float total[LOSSES + 1];
    for (int h = 0; h <= LOSSES; h++) total[h] = 0;
    for (int b = threadIdx.x; b < boards; b += 256)
        for (int h = 0; h < LOSSES; h++) total[h] += share[b] * losses[(long)h * capacity + b];
    for (int i = threadIdx.x; i < partials; i += 256) total[LOSSES] += partial[i];
    for (int h = 0; h <= LOSSES; h++) {
        total[h] = warp_sum(total[h]);
        if ((threadIdx.x & 31) == 0) sums[h * 8 + (threadIdx.x >> 5)] = total[h];
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        float loss = 0;
        for (int h = 0; h <= LOSSES; h++) {
            float sum = 0;
            for (int w = 0; w < 8; w++) sum += sums[h * 8 + w];
            if (h < LOSSES) report[h] = sum, loss += factors[h] * sum;
            else report[NORM] = sqrtf(sum);
        }
        report[TOTAL] = loss;
    }
}

// hyper: lr, beta1, beta2, eps, weight_decay, clip (0 = none), ema_decay.
// counter: steps made, then 1 / (1 - beta^steps) of both betas. A loss or norm that is not finite makes no step.
KERNEL(begin_update, 32, const float* hyper, float* report, float* counter) {
    if (threadIdx.x) return;
    float step = counter[0] + 1.f;
    report[STEP] = step;
    if (!finite(report[NORM]) || !finite(report[TOTAL])) return;
    counter[0] = step;
    counter[1] = 1.f / (1.f - powf(hyper[1], step)), counter[2] = 1.f / (1.f - powf(hyper[2], step));
}

// What the gradient is multiplied with so that its norm is at most `clip`.
DEVICE float clipping(const float* hyper, const float* report) {
    float norm = report[NORM], clip = hyper[5];
    return clip > 0.f && norm > clip ? clip / norm : 1.f;
}

// Moves the elements from `begin` to `count`, both multiples of 4; those before `decayed` decay. Leaves everything as it is when the loss or the norm is not finite.
KERNEL(adamw, 256, float* weights, float* first, float* second, float* averaged, const float* gradient, bf16* rounded,
       long begin, long count, long decayed, const float* hyper, const float* report, const float* counter) {
    if (!finite(report[NORM]) || !finite(report[TOTAL])) return;
    float lr = hyper[0], beta1 = hyper[1], beta2 = hyper[2], eps = hyper[3], ema = hyper[6];
    float scale = clipping(hyper, report);
    for (long i = begin + grid_first() * 4; i < count; i += grid_step() * 4) {
        float4 w4 = *(float4*)(weights + i), m4 = *(float4*)(first + i), v4 = *(float4*)(second + i);
        float4 e4 = *(float4*)(averaged + i), g4 = *(const float4*)(gradient + i);
        float *w = (float*)&w4, *m = (float*)&m4, *v = (float*)&v4, *e = (float*)&e4, *g = (float*)&g4;
        float decay = i < decayed ? hyper[4] : 0.f;
#pragma unroll
        for (int j = 0; j < 4; j++) {
            float d = g[j] * scale;
            m[j] = beta1 * m[j] + (1.f - beta1) * d;
            v[j] = beta2 * v[j] + (1.f - beta2) * d * d;
            w[j] -= lr * (m[j] * counter[1] / (sqrtf(v[j] * counter[2]) + eps) + decay * w[j]);
            e[j] = ema * e[j] + (1.f - ema) * w[j];
        }
        *(float4*)(weights + i) = w4, *(float4*)(first + i) = m4, *(float4*)(second + i) = v4;
        *(float4*)(averaged + i) = e4;
        *(u32*)(rounded + i) = pack(w[0], w[1]), *(u32*)(rounded + i + 2) = pack(w[2], w[3]);
    }
}
