// What the kernels of a loss over moves share.

// The gradients of a board's target moves, for one warp: its list of (index, probability), or `played` where the list is
// empty or starts is null. top and sum are those of the softmax. Returns the expected logit of the targets.
DEVICE float meet_targets(int board, const u16* played, const u32* starts, const u16* indices, const float* probabilities,
                          const float* row, bf16* d_row, float top, float sum, float scale) {
    int lane = threadIdx.x & 31;
    u32 first = starts ? starts[board] : 0, end = starts ? starts[board + 1] : 0;
    bool soft = end > first;
    u32 count = soft ? end - first : 1;
    float expected = 0;
    for (u32 i = lane; i < (count + 31) / 32 * 32; i += 32) {
        bool mine = i < count;
        int index = mine ? (soft ? indices[first + i] : played[board]) : 0;
        float p = mine ? (soft ? probabilities[first + i] : 1.f) : 0.f, logit = row[index];
        expected += p * logit;
        if (mine) d_row[index] = narrow(scale * (__expf(logit - top) / sum - p));
    }
    return warp_sum(expected);
}
