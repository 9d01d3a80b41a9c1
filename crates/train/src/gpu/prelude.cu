// What every kernel builds on: bfloat16, vectors of eight, sums over a warp, tensor-core tiles.
//
// Compiled by NVRTC without any header, or as C++ over emulation.h. Sizes come from the configuration as macros:
// TOKENS, WIDTH, HEADS, HEAD, FFN, HIDDEN, TIME_BINS, OUTPUTS.
// No kernel adds atomically: sums over a batch go through partial rows in a fixed order, so a step is reproducible.

#ifndef EMULATED
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
#define KERNEL(name, threads, ...) extern "C" __global__ void __launch_bounds__(threads) name(__VA_ARGS__)
#define KERNEL_RESIDENT(name, threads, blocks, ...) \
    extern "C" __global__ void __launch_bounds__(threads, blocks) name(__VA_ARGS__)
#define DEVICE __device__ __forceinline__
#define SHARED(type, name, count) __shared__ __align__(16) type name[count]
#define DYNAMIC_SHARED(name) extern __shared__ __align__(16) u8 name[]

struct bf16 {
    u16 bits;
};

// Two floats rounded to nearest even; `low` in the lower half.
DEVICE u32 pack(float low, float high) {
    u32 both;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}

// c[16x8] += a[16x16] b[16x8], all operands in the register layout of the instruction.
DEVICE void multiply_tile(float* c, const u32* a, u32 b0, u32 b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Four 8x8 tiles, transposed; lane 8i+r points at row r of tile i, 16-byte aligned.
DEVICE void load_transposed(u32* tiles, const bf16* row) {
    u32 at = (u32)__cvta_generic_to_shared(row);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3},[%4];"
                 : "=r"(tiles[0]), "=r"(tiles[1]), "=r"(tiles[2]), "=r"(tiles[3])
                 : "r"(at)
                 : "memory");
}
#endif

#define FULL_WARP 0xffffffffu
#define NORM_EPSILON 1e-6f
#define LOG2_E 1.4426950408889634f

DEVICE float low_half(u32 both) { return __uint_as_float(both << 16); }
DEVICE float high_half(u32 both) { return __uint_as_float(both & 0xffff0000u); }
DEVICE float widen(bf16 value) { return __uint_as_float((u32)value.bits << 16); }
DEVICE bf16 narrow(float value) {
    bf16 out;
    out.bits = (u16)(pack(value, 0.f) & 0xffffu);
    return out;
}

DEVICE void unpack8(uint4 raw, float* v) {
    v[0] = low_half(raw.x), v[1] = high_half(raw.x), v[2] = low_half(raw.y), v[3] = high_half(raw.y);
    v[4] = low_half(raw.z), v[5] = high_half(raw.z), v[6] = low_half(raw.w), v[7] = high_half(raw.w);
}
DEVICE void load8(const bf16* from, float* v) { unpack8(*(const uint4*)from, v); }
DEVICE void load8(const float* from, float* v) {
    float4 a = ((const float4*)from)[0], b = ((const float4*)from)[1];
    v[0] = a.x, v[1] = a.y, v[2] = a.z, v[3] = a.w, v[4] = b.x, v[5] = b.y, v[6] = b.z, v[7] = b.w;
}
DEVICE void store8(bf16* to, const float* v) {
    uint4 raw;
    raw.x = pack(v[0], v[1]), raw.y = pack(v[2], v[3]), raw.z = pack(v[4], v[5]), raw.w = pack(v[6], v[7]);
    *(uint4*)to = raw;
}

// Sums over a whole warp, every lane gets the result.
DEVICE float warp_sum(float v) {
    for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(FULL_WARP, v, o);
    return v;
}
DEVICE float warp_max(float v) {
    for (int o = 16; o; o >>= 1) v = fmaxf(v, __shfl_xor_sync(FULL_WARP, v, o));
    return v;
}
// Sum and maximum over the four lanes that share a row of a score tile.
DEVICE float quad_sum(float v) {
    v += __shfl_xor_sync(FULL_WARP, v, 1);
    return v + __shfl_xor_sync(FULL_WARP, v, 2);
}
DEVICE float quad_max(float v) {
    v = fmaxf(v, __shfl_xor_sync(FULL_WARP, v, 1));
    return fmaxf(v, __shfl_xor_sync(FULL_WARP, v, 2));
}
// Whether a number is neither infinite nor NaN.
DEVICE bool finite(float v) { return fabsf(v) <= 3.402823466e38f; }
DEVICE float sigmoid(float v) { return 1.f / (1.f + __expf(-v)); }

// First and step of a loop over all threads of the grid.
DEVICE long grid_first() { return blockIdx.x * (long)blockDim.x + threadIdx.x; }
DEVICE long grid_step() { return (long)gridDim.x * blockDim.x; }
