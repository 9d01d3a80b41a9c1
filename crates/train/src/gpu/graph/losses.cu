// The losses of any network's heads, from full-float logits to brain-float gradients.
//
// `share[example]` is its weight over the sum of all weights. Losses are written before weights and factors, 0 where the
// example has no such target.

// Cross entropy over the legal moves, a block an example. Targets are a row's list of (index, probability), or `played`
// where the list is empty or starts is null. rank counts legal moves above the played one. Rows of `stride` logits, of
// which `moves` mean something; the gradient of the others is zero.
KERNEL(any_move_loss, 256, const float* logits, const u8* legal, const u16* played, const u32* starts,
       const u16* indices, const float* probabilities, const float* share, float factor, float* loss, u16* rank,
       bf16* d_logits, int moves, int stride) {
    SHARED(float, tops, 8);
    SHARED(float, sums, 8);
    SHARED(float, above, 8);
    int board = blockIdx.x, tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
    const float* row = logits + (long)board * stride;
    const u8* mask = legal + (long)board * ((moves + 7) / 8);
    bf16* d_row = d_logits + (long)board * stride;
    float played_logit = row[played[board]], top = -1e30f, sum = 0, higher = 0;
    for (int i = tid; i < moves; i += 256)
        if (mask[i >> 3] >> (i & 7) & 1) {
            float v = row[i];
            top = fmaxf(top, v), higher += v > played_logit ? 1.f : 0.f;
        }
    top = warp_max(top), higher = warp_sum(higher);
    if (lane == 0) tops[warp] = top, above[warp] = higher;
    __syncthreads();
    for (int w = 0; w < 8; w++) top = fmaxf(top, tops[w]);
    for (int i = tid; i < moves; i += 256)
        if (mask[i >> 3] >> (i & 7) & 1) sum += __expf(row[i] - top);
    sum = warp_sum(sum);
    if (lane == 0) sums[warp] = sum;
    __syncthreads();
    sum = 0, higher = 0;
    for (int w = 0; w < 8; w++) sum += sums[w], higher += above[w];
    float scale = factor * share[board];
    for (int i = tid; i < stride; i += 256) {
        bool allowed = i < moves && (mask[i >> 3] >> (i & 7) & 1);
        d_row[i] = narrow(allowed ? scale * __expf(row[i] - top) / sum : 0.f);
    }
    __syncthreads();  // the targets' gradients replace what was just stored
    if (warp == 0) {
        float expected = meet_targets(board, played, starts, indices, probabilities, row, d_row, top, sum, scale);
        if (lane == 0) loss[board] = logf(sum) + top - expected, rank[board] = (u16)higher;
    }
}

// Cross entropy of one class among `classes` (at most 32), a warp an example. A head of several groups of `stride`
// logits is read at the group of the file the move played ends on.
KERNEL(class_loss, 256, const float* logits, const u8* targets, const u16* played, const float* share, float factor,
       float* loss, bf16* d_logits, int classes, int stride, int groups, int examples) {
    int lane = threadIdx.x & 31, row = stride * groups;
    for (long e = blockIdx.x * 8 + (threadIdx.x >> 5); e < examples; e += gridDim.x * 8) {
        int target = targets[e], first = groups > 1 ? played[e] % 8 * stride : 0;
        bool known = target < classes, inside = lane < classes;
        float logit = inside ? logits[e * row + first + lane] : -1e30f;
        float top = warp_max(logit), share_of = inside ? __expf(logit - top) : 0.f, sum = warp_sum(share_of);
        float wanted = warp_sum(lane == target && inside ? logit : 0.f);
        float scale = known ? factor * share[e] : 0.f;
        for (int c = lane; c < row; c += 32) {
            bool mine = c >= first && c < first + classes;
            float d = mine ? __expf(logits[e * row + c] - top) / sum - (c == first + target ? 1.f : 0.f) : 0.f;
            d_logits[e * row + c] = narrow(scale * d);
        }
        if (lane == 0) loss[e] = known ? logf(sum) + top - wanted : 0.f;
    }
}

#define BY_DISTANCE 0
#define BY_SQUARE 1
#define BY_CHANCE 2
#define BY_ENTROPY 3

DEVICE float as_logit(float target, int kind, float logit_scale) {
    if (kind == BY_DISTANCE || kind == BY_SQUARE) return target * logit_scale;
    float chance = fminf(fmaxf(target, 1e-4f), 1.f - 1e-4f);
    return logf(chance / (1.f - chance));
}

// The value loss of rows of 8, of which the first is the value; `predicted` is in the units of the target. Groups of `size`
// siblings are ranked: `siblings` is the sign of those that are.
KERNEL(value_loss, 256, const float* values, const float* targets, const float* share, float factor, float* loss,
       float* predicted, bf16* d_values, int kind, float logit_scale, const float* siblings, int size, float ranking,
       float temperature, int examples) {
    for (long e = grid_first(); e < examples; e += grid_step()) {
        float v = values[e * 8], t = targets[e], out = v, l = 0, d[8] = {0, 0, 0, 0, 0, 0, 0, 0};
        if (kind == BY_CHANCE) out = 0.5f + 0.5f * tanhf(0.5f * v * logit_scale);
        if (kind == BY_ENTROPY) out = 0.5f + 0.5f * tanhf(0.5f * v);
        predicted[e] = out;
        if (t == t) {
            float off = out - t;
            if (kind == BY_DISTANCE) l = fabsf(off), d[0] = off >= 0.f ? 1.f : -1.f;
            if (kind == BY_SQUARE) l = off * off, d[0] = 2.f * off;
            if (kind == BY_CHANCE) l = off * off, d[0] = 2.f * off * out * (1.f - out) * logit_scale;
            if (kind == BY_ENTROPY) l = fmaxf(v, 0.f) + logf(1.f + expf(-fabsf(v))) - v * t, d[0] = off;
        }
        d[0] *= share[e];
        if (ranking > 0.f && siblings[e] != 0.f && t == t) {
            long first = e / size * size, end = first + size < examples ? first + size : examples;
            float unit = (kind == BY_ENTROPY ? 1.f : logit_scale) / temperature;
            float top_wanted = -1e30f, top_given = -1e30f, of_group = 0;
            for (long i = first; i < end; i++) {
                if (siblings[i] == 0.f || targets[i] != targets[i]) continue;
                float wanted = siblings[i] * as_logit(targets[i], kind, logit_scale) / temperature;
                top_wanted = fmaxf(top_wanted, wanted);
                top_given = fmaxf(top_given, siblings[i] * values[i * 8] * unit);
                of_group += share[i];
            }
            float sum_wanted = 0, sum_given = 0;
            for (long i = first; i < end; i++) {
                if (siblings[i] == 0.f || targets[i] != targets[i]) continue;
                float wanted = siblings[i] * as_logit(targets[i], kind, logit_scale) / temperature;
                sum_wanted += expf(wanted - top_wanted);
                sum_given += expf(siblings[i] * values[i * 8] * unit - top_given);
            }
            float log_wanted = top_wanted + logf(sum_wanted), log_given = top_given + logf(sum_given), divergence = 0;
            for (long i = first; i < end; i++) {
                if (siblings[i] == 0.f || targets[i] != targets[i]) continue;
                float wanted = siblings[i] * as_logit(targets[i], kind, logit_scale) / temperature - log_wanted;
                float given = siblings[i] * values[i * 8] * unit - log_given;
                divergence += expf(wanted) * (wanted - given);
                if (i == e) d[0] += ranking * of_group * siblings[e] * unit * (expf(given) - expf(wanted));
            }
            l += ranking * divergence;
        }
        loss[e] = l;
        d[0] *= factor;
        store8(d_values + e * 8, d);
    }
}
