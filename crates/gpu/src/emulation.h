// The part of CUDA the kernels use, on a CPU: blocks run one after the other, the threads of a block are fibres that
// switch at barriers. Slow and faithful: register layouts of tensor-core tiles and warp exchanges are the real ones.
#define EMULATED
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <setjmp.h>
#include <string>
#include <ucontext.h>
#include <utility>
#include <vector>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
struct uint4 { u32 x, y, z, w; };
struct alignas(16) float4 { float x, y, z, w; };
struct bf16 { u16 bits; };
struct Index { unsigned x, y, z; };
static Index threadIdx, blockIdx, blockDim, gridDim;

#define DEVICE static inline
#define SHARED(type, name, count) alignas(16) static type name[count]
alignas(16) static u8 emulated_shared[1 << 18];
#define DYNAMIC_SHARED(name) u8* name = emulated_shared

typedef std::map<std::string, std::function<void(void**)>> Kernels;
static Kernels& kernels() {
    static Kernels all;
    return all;
}
template <class... A, size_t... I> static void call(void (*f)(A...), void** p, std::index_sequence<I...>) {
    f(*(std::remove_cv_t<A>*)p[I]...);
}
struct Registered {
    template <class... A> Registered(const char* name, void (*f)(A...)) {
        kernels()[name] = [f](void** p) { call(f, p, std::index_sequence_for<A...>{}); };
    }
};
#define KERNEL(name, threads, ...)                          \
    static void name(__VA_ARGS__);                          \
    static Registered registered_##name(#name, &name);      \
    static void name(__VA_ARGS__)
#define KERNEL_RESIDENT(name, threads, blocks, ...) KERNEL(name, threads, __VA_ARGS__)

// ---- fibres: made once, they run one block after the other
struct Barrier { unsigned count = 0, generation = 0; };
struct Fibre {
    ucontext_t start;
    jmp_buf resume;
    std::vector<char> stack;
    bool started = false, done = false;
    unsigned* generation;
    unsigned waited, exchanges;
};
static std::vector<Fibre> fibres(1024);
static jmp_buf scheduler;
static Barrier block_barrier, warp_barriers[32];
static std::function<void()> body;
static void fail(const char* what) {
    fprintf(stderr, "emulation: %s (block %u, thread %u)\n", what, blockIdx.x, threadIdx.x);
    abort();
}
static void leave(Fibre& self) {
    if (_setjmp(self.resume) == 0) _longjmp(scheduler, 1);
}
static void run_fibre() {
    Fibre& self = fibres[threadIdx.x];
    for (;;) {
        body();
        self.done = true;
        leave(self);
    }
}
static void enter(Fibre& fibre) {
    if (_setjmp(scheduler)) return;
    if (fibre.started) _longjmp(fibre.resume, 1);
    fibre.started = true;
    fibre.stack.resize(1 << 16);
    getcontext(&fibre.start);
    fibre.start.uc_stack.ss_sp = fibre.stack.data(), fibre.start.uc_stack.ss_size = fibre.stack.size();
    fibre.start.uc_link = nullptr;
    makecontext(&fibre.start, run_fibre, 0);
    setcontext(&fibre.start);
}
static void arrive(Barrier& barrier, unsigned threads) {
    if (++barrier.count == threads) {
        barrier.count = 0, barrier.generation++;
        return;
    }
    Fibre& self = fibres[threadIdx.x];
    self.generation = &barrier.generation, self.waited = barrier.generation;
    leave(self);
}
static void run_block(unsigned threads) {
    block_barrier = Barrier();
    for (Barrier& b : warp_barriers) b = Barrier();
    for (unsigned t = 0; t < threads; t++) fibres[t].done = false, fibres[t].generation = nullptr, fibres[t].exchanges = 0;
    for (unsigned done = 0; done < threads;) {
        bool progress = false;
        for (unsigned warp = 0; warp * 32 < threads; warp++)
            for (bool moved = true; moved;) {  // a warp runs until it ends or waits for the others
                moved = false;
                for (unsigned t = warp * 32; t < warp * 32 + 32; t++) {
                    Fibre& f = fibres[t];
                    if (f.done || (f.generation && *f.generation == f.waited)) continue;
                    f.generation = nullptr, threadIdx.x = t;
                    enter(f);
                    moved = progress = true, done += f.done;
                }
            }
        if (!progress) fail("threads wait for each other for ever");
    }
}
extern "C" int emulate(const char* name, unsigned grid, unsigned threads, unsigned shared, void** arguments) {
    auto found = kernels().find(name);
    if (found == kernels().end()) return 1;
    if (threads % 32 || threads > 1024 || shared > sizeof emulated_shared) return 2;
    blockDim.x = threads, gridDim.x = grid;
    body = [&] { found->second(arguments); };
    for (unsigned b = 0; b < grid; b++) {
        blockIdx.x = b;
        memset(emulated_shared, 0xff, sizeof emulated_shared);  // what is not written reads as NaN
        run_block(threads);
    }
    return 0;
}

// ---- the instructions
static inline void __syncthreads() { arrive(block_barrier, blockDim.x); }
static inline float __uint_as_float(u32 bits) {
    float f;
    memcpy(&f, &bits, 4);
    return f;
}
static inline float rsqrtf(float x) { return 1.f / sqrtf(x); }
#define __expf expf
static inline u32 round_bits(float f) {
    u32 u;
    memcpy(&u, &f, 4);
    if ((u & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
    return (u + 0x7fff + (u >> 16 & 1)) >> 16;
}
static inline u32 pack(float low, float high) { return round_bits(low) | round_bits(high) << 16; }

// What the lanes of a warp show each other. Two sets, used in turn: one barrier an exchange is then enough.
struct Shown { float value; u32 tile[6]; const bf16* row; };
static Shown shown[2][1024];
static Shown* show(const Shown& mine) {
    Fibre& self = fibres[threadIdx.x];
    Shown* set = shown[self.exchanges++ & 1];
    set[threadIdx.x] = mine;
    arrive(warp_barriers[threadIdx.x >> 5], 32);
    return set + (threadIdx.x & ~31u);
}
static inline float __shfl_xor_sync(u32, float value, int mask) {
    Shown mine = {};
    mine.value = value;
    return show(mine)[(threadIdx.x & 31) ^ mask].value;
}
static inline float half_of(u32 both, int upper) { return __uint_as_float(upper ? both & 0xffff0000u : both << 16); }
static inline void multiply_tile(float* c, const u32* a, u32 b0, u32 b1) {
    Shown mine = {};
    for (int i = 0; i < 4; i++) mine.tile[i] = a[i];
    mine.tile[4] = b0, mine.tile[5] = b1;
    Shown* warp = show(mine);
    int lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3;
    for (int i = 0; i < 4; i++) {
        int r = g + 8 * (i >> 1), n = 2 * t + (i & 1);
        for (int k = 0; k < 16; k++) {
            u32 left = warp[(r & 7) * 4 + ((k & 7) >> 1)].tile[(r >> 3) + 2 * (k >> 3)];
            u32 right = warp[n * 4 + ((k & 7) >> 1)].tile[4 + (k >> 3)];
            c[i] += half_of(left, k & 1) * half_of(right, k & 1);
        }
    }
}
static inline void load_transposed(u32* tiles, const bf16* row) {
    if ((uintptr_t)row & 15) fail("a tile row is not 16-byte aligned");
    Shown mine = {};
    mine.row = row;
    Shown* warp = show(mine);
    int lane = threadIdx.x & 31, g = lane >> 2, t = lane & 3;
    for (int i = 0; i < 4; i++)
        tiles[i] = (u32)warp[8 * i + 2 * t].row[g].bits | (u32)warp[8 * i + 2 * t + 1].row[g].bits << 16;
}
