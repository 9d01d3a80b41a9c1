use candle_core::{CpuStorage, CustomOp1, Layout, Result, Shape, Tensor};

use super::rows::{floats, map, map2, read, tensor};

/// `min(max(x, 0), 1)`.
pub(crate) fn clipped_relu(x: &Tensor) -> Result<Tensor> {
    x.contiguous()?.apply_op1(ClippedRelu)
}

struct ClippedRelu;

impl CustomOp1 for ClippedRelu {
    fn name(&self) -> &'static str {
        "clipped-relu"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let y = map(floats(storage, layout)?, |x| x.clamp(0.0, 1.0));
        Ok((CpuStorage::F32(y), layout.shape().clone()))
    }

    fn bwd(&self, x: &Tensor, _: &Tensor, gradient: &Tensor) -> Result<Option<Tensor>> {
        // Zero at both corners, as the slope of a ReLU at zero is.
        let slope = |x, g| if x > 0.0 && x < 1.0 { g } else { 0.0 };
        let slopes = read(x, |x| read(gradient, |g| Ok(map2(x, g, slope))))?;
        tensor(slopes, x.shape()).map(Some)
    }
}
