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
        div(a, b) = vdivq_f32(a, b);
        raise(x, power) = vreinterpretq_f32_s32(vaddq_s32(
            vreinterpretq_s32_f32(x),
            vshlq_n_s32::<23>(vreinterpretq_s32_f32(power)),
        ));
        at_least(x, low) = vbslq_f32(vcgtq_f32(x, low), x, low);
        at_most(x, high) = vbslq_f32(vcltq_f32(x, high), x, high);
        positive_or(x, other) = vbslq_f32(vcgtzq_f32(x), x, other);
    }
    ints {
        add_ints(a, b) = vaddq_s32(a, b);
        sub_ints(a, b) = vsubq_s32(a, b);
    }
    #[inline(always)]
    fn bytes(self, x: [float32x4_t; 4]) -> [u8; LANES] {
        let mut to = [0; LANES];
        // SAFETY: `self` proves NEON, and the array holds sixteen bytes.
        unsafe {
            let [a, b, c, d] = x.map(|x| vmovn_u32(vreinterpretq_u32_f32(x)));
            let bytes = vcombine_u8(vmovn_u16(vcombine_u16(a, b)), vmovn_u16(vcombine_u16(c, d)));
            vst1q_u8(to.as_mut_ptr(), bytes);
        }
        to
    }
}
