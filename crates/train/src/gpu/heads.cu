// Kernels of the heads: the legal-masked move loss, promotion, pooling, outcome and think time.
//
// `share[b]` is an example's weight over the sum of all weights, so that sums over the batch are means. Losses are
// written for each example before weights and factors, 0 where the example has no such target.

#define MOVES 4096
#define NO_TARGET 255
#define OUTCOMES 3

// Cross entropy over the legal moves of one board, a block of 256 threads each. Targets are a row's list of (index,
// probability), or `played` where the list is empty or starts is null. rank counts legal moves above the played one.
KERNEL(move_loss, 256, const float* logits, const u8* legal, const u16* played, const u32* starts, const u16* indices,
       const float* probabilities, const float* share, float factor, float* loss, u16* rank, bf16* d_logits) {
    SHARED(float, tops, 8);
    SHARED(float, sums, 8);
    SHARED(float, above, 8);
    int board = blockIdx.x, tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
    const float* row = logits + (long)board * MOVES;
    bf16* d_row = d_logits + (long)board * MOVES;
    float played_logit = row[played[board]], v[16], top = -1e30f, sum = 0, higher = 0;
    load8(row + tid * 8, v), load8(row + MOVES / 2 + tid * 8, v + 8);
    u32 mask = (u32)legal[(long)board * (MOVES / 8) + tid] | (u32)legal[(long)board * (MOVES / 8) + 256 + tid] << 8;
#pragma unroll
    for (int j = 0; j < 16; j++) {
        if (!(mask >> j & 1)) v[j] = -1e30f;
        top = fmaxf(top, v[j]);
        higher += v[j] > played_logit ? 1.f : 0.f;
    }
    top = warp_max(top), higher = warp_sum(higher);
    if (lane == 0) tops[warp] = top, above[warp] = higher;
    __syncthreads();
    for (int w = 0; w < 8; w++) top = fmaxf(top, tops[w]);
#pragma unroll
    for (int j = 0; j < 16; j++) v[j] = __expf(v[j] - top), sum += v[j];
    sum = warp_sum(sum);
    if (lane == 0) sums[warp] = sum;
    __syncthreads();
    sum = 0, higher = 0;
    for (int w = 0; w < 8; w++) sum += sums[w], higher += above[w];
    float scale = factor * share[board];
#pragma unroll
    for (int j = 0; j < 16; j++) v[j] *= scale / sum;
    store8(d_row + tid * 8, v), store8(d_row + MOVES / 2 + tid * 8, v + 8);
    __syncthreads();  // the targets' gradients replace what was just stored
    if (warp == 0) {
        float expected = meet_targets(board, played, starts, indices, probabilities, row, d_row, top, sum, scale);
        if (lane == 0) loss[board] = logf(sum) + top - expected, rank[board] = (u16)higher;
    }
}

// Cross entropy of the promotion piece at the square the move ends on; a warp a board. d_logits[board][4].
KERNEL(promotion_loss, 256, const bf16* y, const bf16* weight, const u8* pieces, const u16* played, const float* share,
       float factor, float* loss, float* d_logits, int boards) {
    int lane = threadIdx.x & 31;
    for (int b = blockIdx.x * 8 + (threadIdx.x >> 5); b < boards; b += gridDim.x * 8) {
        int piece = pieces[b];
        float out = 0, d = 0;
        if (piece < 4) {
            const bf16* at = y + ((long)b * TOKENS + 56 + played[b] % 8) * WIDTH;
            float logit[4] = {0, 0, 0, 0};
            for (int c = lane; c < WIDTH; c += 32) {
                float v = widen(at[c]);
#pragma unroll
                for (int j = 0; j < 4; j++) logit[j] += v * widen(weight[j * WIDTH + c]);
            }
            float top = -1e30f, sum = 0, mine = 0;
#pragma unroll
            for (int j = 0; j < 4; j++) logit[j] = warp_sum(logit[j]), top = fmaxf(top, logit[j]);
#pragma unroll
            for (int j = 0; j < 4; j++) {
                sum += __expf(logit[j] - top);
                if (j == piece) out = -logit[j];
                if (j == lane) mine = logit[j];
            }
            out += logf(sum) + top;
            d = factor * share[b] * (__expf(mine - top) / sum - (lane == piece ? 1.f : 0.f));
        }
        if (lane < 4) d_logits[b * 4 + lane] = d;
        if (lane == 0) loss[b] = out;
    }
}

// Adds the promotion head's gradient to dy; partial[block][4][WIDTH] sums that of its weights over the block's boards.
KERNEL(promotion_backward, 256, const bf16* y, const bf16* weight, const u8* pieces, const u16* played,
       const float* d_logits, bf16* dy, float* partial, int boards) {
    for (int c = threadIdx.x; c < WIDTH; c += 256) {
        float total[4] = {0, 0, 0, 0}, w[4];
#pragma unroll
        for (int j = 0; j < 4; j++) w[j] = widen(weight[j * WIDTH + c]);
        for (int b = blockIdx.x; b < boards; b += gridDim.x) {
            if (pieces[b] >= 4) continue;
            long at = ((long)b * TOKENS + 56 + played[b] % 8) * WIDTH + c;
            float v = widen(y[at]), d = widen(dy[at]);
#pragma unroll
            for (int j = 0; j < 4; j++) {
                float g = d_logits[b * 4 + j];
                total[j] += g * v, d += g * w[j];
            }
            dy[at] = narrow(d);
        }
#pragma unroll
        for (int j = 0; j < 4; j++) partial[((long)blockIdx.x * 4 + j) * WIDTH + c] = total[j];
    }
}

// pooled[b] = the mean of y[b] over tokens; a warp a board.
KERNEL(pool, 256, const bf16* y, bf16* pooled, int boards) {
    int lane = threadIdx.x & 31;
    for (int b = blockIdx.x * 8 + (threadIdx.x >> 5); b < boards; b += gridDim.x * 8) {
        for (int c = lane * 8; c < WIDTH; c += 256) {
            float total[8] = {0, 0, 0, 0, 0, 0, 0, 0};
#pragma unroll 8
            for (int s = 0; s < TOKENS; s++) {
                float v[8];
                load8(y + ((long)b * TOKENS + s) * WIDTH + c, v);
                for (int j = 0; j < 8; j++) total[j] += v[j];
            }
            for (int j = 0; j < 8; j++) total[j] *= 1.f / TOKENS;
            store8(pooled + (long)b * WIDTH + c, total);
        }
    }
}

// hidden = silu(before + bias), and back: d_hidden becomes the gradient of `before`, also rounded.
KERNEL(hidden_forward, 256, const float* before, const float* bias, bf16* hidden, int boards) {
    for (long i = grid_first(); i < (long)boards * HIDDEN; i += grid_step()) {
        float a = before[i] + bias[i % HIDDEN];
        hidden[i] = narrow(a * sigmoid(a));
    }
}
KERNEL(hidden_backward, 256, const float* before, const float* bias, float* d_hidden, bf16* d_before, int boards) {
    for (long i = grid_first(); i < (long)boards * HIDDEN; i += grid_step()) {
        float a = before[i] + bias[i % HIDDEN], s = sigmoid(a), d = d_hidden[i] * s * (1.f + a * (1.f - s));
        d_hidden[i] = d;
        d_before[i] = narrow(d);
    }
}

// Cross entropy of one group of lanes, and its gradient into *d; a target outside the group means none.
DEVICE float group_loss(float logit, int first, int count, int target, float scale, float* d) {
    int lane = threadIdx.x & 31;
    bool inside = lane >= first && lane < first + count, known = target < count;
    float top = warp_max(inside ? logit : -1e30f), e = inside ? __expf(logit - top) : 0.f, sum = warp_sum(e);
    float of_target = warp_sum(lane == first + target ? logit : 0.f);
    if (inside && known) *d += scale * (e / sum - (lane == first + target ? 1.f : 0.f));
    return known ? logf(sum) + top - of_target : 0.f;
}

// Outcome (lanes 0..2) and think time (the TIME_BINS after) of logits[b][OUTPUTS = 32]; a warp a board.
KERNEL(outcome_loss, 256, const float* logits, const float* bias, const u8* outcomes, const u8* think,
       const float* share, float outcome_factor, float think_factor, float* outcome_losses, float* think_losses,
       float* d_logits, bf16* d_rounded, int boards) {
    int lane = threadIdx.x & 31;
    for (int b = blockIdx.x * 8 + (threadIdx.x >> 5); b < boards; b += gridDim.x * 8) {
        float logit = logits[(long)b * OUTPUTS + lane] + bias[lane], d = 0;
        float a = group_loss(logit, 0, OUTCOMES, outcomes[b], outcome_factor * share[b], &d);
        float t = group_loss(logit, OUTCOMES, TIME_BINS, think[b], think_factor * share[b], &d);
        d_logits[(long)b * OUTPUTS + lane] = d;
        d_rounded[(long)b * OUTPUTS + lane] = narrow(d);
        if (lane == 0) outcome_losses[b] = a, think_losses[b] = t;
    }
}
