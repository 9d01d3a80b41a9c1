//! The messages of a weight file, from `net.proto` of lczero-common. Unused fields are skipped. Enums are plain numbers, so that
//! errors can name unknown values.

use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub(super) struct Net {
    #[prost(fixed32, optional, tag = "1")]
    pub(super) magic: Option<u32>,
    #[prost(string, optional, tag = "2")]
    pub(super) license: Option<String>,
    #[prost(message, optional, tag = "3")]
    pub(super) min_version: Option<EngineVersion>,
    #[prost(message, optional, tag = "4")]
    pub(super) format: Option<Format>,
    #[prost(message, optional, tag = "5")]
    pub(super) training_params: Option<TrainingParams>,
    #[prost(message, optional, tag = "10")]
    pub(super) weights: Option<Weights>,
    #[prost(message, optional, tag = "11")]
    pub(super) onnx_model: Option<Unread>,
}

/// A message of which only the presence matters.
#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct Unread {}

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct EngineVersion {
    #[prost(uint32, optional, tag = "1")]
    pub(super) major: Option<u32>,
    #[prost(uint32, optional, tag = "2")]
    pub(super) minor: Option<u32>,
    #[prost(uint32, optional, tag = "3")]
    pub(super) patch: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct Format {
    #[prost(int32, optional, tag = "1")]
    pub(super) weights_encoding: Option<i32>,
    #[prost(message, optional, tag = "2")]
    pub(super) network_format: Option<NetworkFormat>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct NetworkFormat {
    #[prost(int32, optional, tag = "1")]
    pub(super) input: Option<i32>,
    #[prost(int32, optional, tag = "3")]
    pub(super) network: Option<i32>,
    #[prost(int32, optional, tag = "4")]
    pub(super) policy: Option<i32>,
    #[prost(int32, optional, tag = "5")]
    pub(super) value: Option<i32>,
    #[prost(int32, optional, tag = "6")]
    pub(super) moves_left: Option<i32>,
    #[prost(int32, optional, tag = "7")]
    pub(super) default_activation: Option<i32>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TrainingParams {
    #[prost(uint32, optional, tag = "1")]
    pub(super) training_steps: Option<u32>,
    #[prost(float, optional, tag = "2")]
    pub(super) learning_rate: Option<f32>,
    #[prost(float, optional, tag = "3")]
    pub(super) mse_loss: Option<f32>,
    #[prost(float, optional, tag = "4")]
    pub(super) policy_loss: Option<f32>,
    #[prost(float, optional, tag = "5")]
    pub(super) accuracy: Option<f32>,
    #[prost(string, optional, tag = "6")]
    pub(super) lc0_params: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Weights {
    #[prost(message, optional, tag = "1")]
    pub(super) input: Option<ConvBlock>,
    #[prost(message, repeated, tag = "2")]
    pub(super) residual: Vec<Residual>,
    #[prost(message, optional, tag = "11")]
    pub(super) policy1: Option<ConvBlock>,
    #[prost(message, optional, tag = "3")]
    pub(super) policy: Option<ConvBlock>,
    #[prost(message, optional, tag = "4")]
    pub(super) ip_pol_w: Option<Layer>,
    #[prost(message, optional, tag = "5")]
    pub(super) ip_pol_b: Option<Layer>,
    #[prost(message, optional, tag = "6")]
    pub(super) value: Option<ConvBlock>,
    #[prost(message, optional, tag = "7")]
    pub(super) ip1_val_w: Option<Layer>,
    #[prost(message, optional, tag = "8")]
    pub(super) ip1_val_b: Option<Layer>,
    #[prost(message, optional, tag = "9")]
    pub(super) ip2_val_w: Option<Layer>,
    #[prost(message, optional, tag = "10")]
    pub(super) ip2_val_b: Option<Layer>,
    #[prost(message, optional, tag = "12")]
    pub(super) moves_left: Option<ConvBlock>,
    #[prost(message, optional, tag = "13")]
    pub(super) ip1_mov_w: Option<Layer>,
    #[prost(message, optional, tag = "14")]
    pub(super) ip1_mov_b: Option<Layer>,
    #[prost(message, optional, tag = "15")]
    pub(super) ip2_mov_w: Option<Layer>,
    #[prost(message, optional, tag = "16")]
    pub(super) ip2_mov_b: Option<Layer>,
    #[prost(message, optional, tag = "21")]
    pub(super) pol_encoder: Option<Unread>,
    #[prost(message, optional, tag = "27")]
    pub(super) encoder: Option<Unread>,
    #[prost(message, optional, tag = "35")]
    pub(super) smolgen_w: Option<Unread>,
    #[prost(message, optional, tag = "44")]
    pub(super) value_heads: Option<Unread>,
    #[prost(message, optional, tag = "45")]
    pub(super) policy_heads: Option<Unread>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Residual {
    #[prost(message, optional, tag = "1")]
    pub(super) conv1: Option<ConvBlock>,
    #[prost(message, optional, tag = "2")]
    pub(super) conv2: Option<ConvBlock>,
    #[prost(message, optional, tag = "3")]
    pub(super) se: Option<SqueezeExcite>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ConvBlock {
    #[prost(message, optional, tag = "1")]
    pub(super) weights: Option<Layer>,
    #[prost(message, optional, tag = "2")]
    pub(super) biases: Option<Layer>,
    #[prost(message, optional, tag = "3")]
    pub(super) bn_means: Option<Layer>,
    #[prost(message, optional, tag = "4")]
    pub(super) bn_stddivs: Option<Layer>,
    #[prost(message, optional, tag = "5")]
    pub(super) bn_gammas: Option<Layer>,
    #[prost(message, optional, tag = "6")]
    pub(super) bn_betas: Option<Layer>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SqueezeExcite {
    #[prost(message, optional, tag = "1")]
    pub(super) w1: Option<Layer>,
    #[prost(message, optional, tag = "2")]
    pub(super) b1: Option<Layer>,
    #[prost(message, optional, tag = "3")]
    pub(super) w2: Option<Layer>,
    #[prost(message, optional, tag = "4")]
    pub(super) b2: Option<Layer>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Layer {
    #[prost(float, optional, tag = "1")]
    pub(super) min_val: Option<f32>,
    #[prost(float, optional, tag = "2")]
    pub(super) max_val: Option<f32>,
    #[prost(bytes = "vec", optional, tag = "3")]
    pub(super) params: Option<Vec<u8>>,
    #[prost(int32, optional, tag = "4")]
    pub(super) encoding: Option<i32>,
}
