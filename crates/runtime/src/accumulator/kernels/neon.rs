//! NEON: four registers for the sixteen lanes.
#![expect(unsafe_code, reason = "vector instructions; `scalar` is the reference and the tests compare them")]

use std::arch::aarch64::*;
use std::arch::is_aarch64_feature_detected;

use crate::accumulator::block::LANES;

detected!(Neon, is_aarch64_feature_detected, ["neon"]);

lanes! {
    Neon: [float32x4_t; 4], [int32x4_t; _], registers 0 1 2 3;
    splat(x) = vdupq_n_f32(x);
    load(p) = vld1q_f32(p);
    store(p, x) = vst1q_f32(p, x);
    nonzero(x) = vaddvq_u32(vbicq_u32(vld1q_u32([1, 2, 4, 8].as_ptr()), vceqzq_f32(x)));
    load_ints(p) = vld1q_s32(p);
    store_ints(p, x) = vst1q_s32(p, x);
    to_floats(x) = vcvtq_f32_s32(x);
    floats {
        add(a, b) = vaddq_f32(a, b);
        mul(a, b) = vmulq_f32(a, b);
        at_least(x, low) = vbslq_f32(vcgtq_f32(x, low), x, low);
        at_most(x, high) = vbslq_f32(vcltq_f32(x, high), x, high);
        positive_or(x, other) = vbslq_f32(vcgtzq_f32(x), x, other);
    }
    ints {
        add_ints(a, b) = vaddq_s32(a, b);
        sub_ints(a, b) = vsubq_s32(a, b);
    }
}
