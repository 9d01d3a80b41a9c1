use tabia_onnx::build::{Attribute, GraphBuilder};
use tabia_onnx::proto::ModelProto;

/// An MLP of these widths with ReLU between its layers and random weights, always the same. Its input is `board`, its output `out`.
pub fn random_mlp(widths: &[usize]) -> ModelProto {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |count: usize, scale: f32| -> Vec<f32> {
        let mut weight = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            scale * ((state >> 40) as f32 / (1 << 23) as f32 - 1.0)
        };
        (0..count).map(|_| weight()).collect()
    };
    let mut b = GraphBuilder::new("bench");
    let mut x = b.input("board", &widths[..1]);
    for (i, width) in widths.windows(2).enumerate() {
        let scale = 1.0 / (width[0].min(64) as f32).sqrt();
        let weights = b.weight(&format!("w{i}"), &[width[1], width[0]], &random(width[0] * width[1], scale));
        let bias = b.weight(&format!("b{i}"), &[width[1]], &random(width[1], scale));
        x = b.op("Gemm", &[&x, &weights, &bias], &[("transB", Attribute::Int(1))]);
        if i + 2 < widths.len() {
            x = b.op("Relu", &[&x], &[]);
        }
    }
    b.output(&x, "out", &widths[widths.len() - 1..]);
    b.finish()
}
