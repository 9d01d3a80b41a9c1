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
    #[prost(int32, optional, tag = "8")]
    pub(super) smolgen_activation: Option<i32>,
    #[prost(int32, optional, tag = "9")]
    pub(super) ffn_activation: Option<i32>,
    #[prost(int32, optional, tag = "10")]
    pub(super) input_embedding: Option<i32>,
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
    #[prost(message, optional, tag = "37")]
    pub(super) ip_emb_preproc_w: Option<Layer>,
    #[prost(message, optional, tag = "38")]
    pub(super) ip_emb_preproc_b: Option<Layer>,
    #[prost(message, optional, tag = "25")]
    pub(super) ip_emb_w: Option<Layer>,
    #[prost(message, optional, tag = "26")]
    pub(super) ip_emb_b: Option<Layer>,
    #[prost(message, optional, tag = "39")]
    pub(super) ip_emb_ln_gammas: Option<Layer>,
    #[prost(message, optional, tag = "40")]
    pub(super) ip_emb_ln_betas: Option<Layer>,
    #[prost(message, optional, tag = "33")]
    pub(super) ip_mult_gate: Option<Layer>,
    #[prost(message, optional, tag = "34")]
    pub(super) ip_add_gate: Option<Layer>,
    #[prost(message, optional, tag = "41")]
    pub(super) ip_emb_ffn: Option<Ffn>,
    #[prost(message, optional, tag = "42")]
    pub(super) ip_emb_ffn_ln_gammas: Option<Layer>,
    #[prost(message, optional, tag = "43")]
    pub(super) ip_emb_ffn_ln_betas: Option<Layer>,
    #[prost(message, repeated, tag = "27")]
    pub(super) encoder: Vec<EncoderLayer>,
    #[prost(uint32, optional, tag = "28")]
    pub(super) headcount: Option<u32>,
    #[prost(message, repeated, tag = "21")]
    pub(super) pol_encoder: Vec<EncoderLayer>,
    #[prost(uint32, optional, tag = "24")]
    pub(super) pol_headcount: Option<u32>,
    #[prost(message, optional, tag = "11")]
    pub(super) policy1: Option<ConvBlock>,
    #[prost(message, optional, tag = "3")]
    pub(super) policy: Option<ConvBlock>,
    #[prost(message, optional, tag = "4")]
    pub(super) ip_pol_w: Option<Layer>,
    #[prost(message, optional, tag = "5")]
    pub(super) ip_pol_b: Option<Layer>,
    #[prost(message, optional, tag = "17")]
    pub(super) ip2_pol_w: Option<Layer>,
    #[prost(message, optional, tag = "18")]
    pub(super) ip2_pol_b: Option<Layer>,
    #[prost(message, optional, tag = "19")]
    pub(super) ip3_pol_w: Option<Layer>,
    #[prost(message, optional, tag = "20")]
    pub(super) ip3_pol_b: Option<Layer>,
    #[prost(message, optional, tag = "22")]
    pub(super) ip4_pol_w: Option<Layer>,
    #[prost(message, optional, tag = "6")]
    pub(super) value: Option<ConvBlock>,
    #[prost(message, optional, tag = "29")]
    pub(super) ip_val_w: Option<Layer>,
    #[prost(message, optional, tag = "30")]
    pub(super) ip_val_b: Option<Layer>,
    #[prost(message, optional, tag = "7")]
    pub(super) ip1_val_w: Option<Layer>,
    #[prost(message, optional, tag = "8")]
    pub(super) ip1_val_b: Option<Layer>,
    #[prost(message, optional, tag = "9")]
    pub(super) ip2_val_w: Option<Layer>,
    #[prost(message, optional, tag = "10")]
    pub(super) ip2_val_b: Option<Layer>,
    #[prost(message, optional, tag = "44")]
    pub(super) value_heads: Option<ValueHeads>,
    #[prost(message, optional, tag = "45")]
    pub(super) policy_heads: Option<PolicyHeads>,
    #[prost(message, optional, tag = "12")]
    pub(super) moves_left: Option<ConvBlock>,
    #[prost(message, optional, tag = "31")]
    pub(super) ip_mov_w: Option<Layer>,
    #[prost(message, optional, tag = "32")]
    pub(super) ip_mov_b: Option<Layer>,
    #[prost(message, optional, tag = "13")]
    pub(super) ip1_mov_w: Option<Layer>,
    #[prost(message, optional, tag = "14")]
    pub(super) ip1_mov_b: Option<Layer>,
    #[prost(message, optional, tag = "15")]
    pub(super) ip2_mov_w: Option<Layer>,
    #[prost(message, optional, tag = "16")]
    pub(super) ip2_mov_b: Option<Layer>,
    #[prost(message, optional, tag = "35")]
    pub(super) smolgen_w: Option<Layer>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Smolgen {
    #[prost(message, optional, tag = "1")]
    pub(super) compress: Option<Layer>,
    #[prost(message, optional, tag = "2")]
    pub(super) dense1_w: Option<Layer>,
    #[prost(message, optional, tag = "3")]
    pub(super) dense1_b: Option<Layer>,
    #[prost(message, optional, tag = "4")]
    pub(super) ln1_gammas: Option<Layer>,
    #[prost(message, optional, tag = "5")]
    pub(super) ln1_betas: Option<Layer>,
    #[prost(message, optional, tag = "6")]
    pub(super) dense2_w: Option<Layer>,
    #[prost(message, optional, tag = "7")]
    pub(super) dense2_b: Option<Layer>,
    #[prost(message, optional, tag = "8")]
    pub(super) ln2_gammas: Option<Layer>,
    #[prost(message, optional, tag = "9")]
    pub(super) ln2_betas: Option<Layer>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Mha {
    #[prost(message, optional, tag = "1")]
    pub(super) q_w: Option<Layer>,
    #[prost(message, optional, tag = "2")]
    pub(super) q_b: Option<Layer>,
    #[prost(message, optional, tag = "3")]
    pub(super) k_w: Option<Layer>,
    #[prost(message, optional, tag = "4")]
    pub(super) k_b: Option<Layer>,
    #[prost(message, optional, tag = "5")]
    pub(super) v_w: Option<Layer>,
    #[prost(message, optional, tag = "6")]
    pub(super) v_b: Option<Layer>,
    #[prost(message, optional, tag = "7")]
    pub(super) dense_w: Option<Layer>,
    #[prost(message, optional, tag = "8")]
    pub(super) dense_b: Option<Layer>,
    #[prost(message, optional, tag = "9")]
    pub(super) smolgen: Option<Smolgen>,
    #[prost(message, optional, tag = "10")]
    pub(super) rpe_q: Option<Unread>,
    #[prost(message, optional, tag = "11")]
    pub(super) rpe_k: Option<Unread>,
    #[prost(message, optional, tag = "12")]
    pub(super) rpe_v: Option<Unread>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Ffn {
    #[prost(message, optional, tag = "1")]
    pub(super) dense1_w: Option<Layer>,
    #[prost(message, optional, tag = "2")]
    pub(super) dense1_b: Option<Layer>,
    #[prost(message, optional, tag = "3")]
    pub(super) dense2_w: Option<Layer>,
    #[prost(message, optional, tag = "4")]
    pub(super) dense2_b: Option<Layer>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct EncoderLayer {
    #[prost(message, optional, tag = "1")]
    pub(super) mha: Option<Mha>,
    #[prost(message, optional, tag = "2")]
    pub(super) ln1_gammas: Option<Layer>,
    #[prost(message, optional, tag = "3")]
    pub(super) ln1_betas: Option<Layer>,
    #[prost(message, optional, tag = "4")]
    pub(super) ffn: Option<Ffn>,
    #[prost(message, optional, tag = "5")]
    pub(super) ln2_gammas: Option<Layer>,
    #[prost(message, optional, tag = "6")]
    pub(super) ln2_betas: Option<Layer>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct PolicyHead {
    #[prost(message, optional, tag = "1")]
    pub(super) ip_pol_w: Option<Layer>,
    #[prost(message, optional, tag = "2")]
    pub(super) ip_pol_b: Option<Layer>,
    #[prost(message, optional, tag = "3")]
    pub(super) ip2_pol_w: Option<Layer>,
    #[prost(message, optional, tag = "4")]
    pub(super) ip2_pol_b: Option<Layer>,
    #[prost(message, optional, tag = "5")]
    pub(super) ip3_pol_w: Option<Layer>,
    #[prost(message, optional, tag = "6")]
    pub(super) ip3_pol_b: Option<Layer>,
    #[prost(message, optional, tag = "7")]
    pub(super) ip4_pol_w: Option<Layer>,
    #[prost(message, repeated, tag = "8")]
    pub(super) pol_encoder: Vec<EncoderLayer>,
    #[prost(uint32, optional, tag = "9")]
    pub(super) pol_headcount: Option<u32>,
    #[prost(message, optional, tag = "10")]
    pub(super) policy1: Option<ConvBlock>,
    #[prost(message, optional, tag = "11")]
    pub(super) policy: Option<ConvBlock>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ValueHead {
    #[prost(message, optional, tag = "1")]
    pub(super) ip_val_w: Option<Layer>,
    #[prost(message, optional, tag = "2")]
    pub(super) ip_val_b: Option<Layer>,
    #[prost(message, optional, tag = "3")]
    pub(super) ip1_val_w: Option<Layer>,
    #[prost(message, optional, tag = "4")]
    pub(super) ip1_val_b: Option<Layer>,
    #[prost(message, optional, tag = "5")]
    pub(super) ip2_val_w: Option<Layer>,
    #[prost(message, optional, tag = "6")]
    pub(super) ip2_val_b: Option<Layer>,
    #[prost(message, optional, tag = "11")]
    pub(super) value: Option<ConvBlock>,
}

/// Of the several heads, the one that lc0 uses by default.
#[derive(Clone, PartialEq, Message)]
pub(super) struct PolicyHeads {
    #[prost(message, optional, tag = "1")]
    pub(super) ip_pol_w: Option<Layer>,
    #[prost(message, optional, tag = "2")]
    pub(super) ip_pol_b: Option<Layer>,
    #[prost(message, optional, tag = "3")]
    pub(super) vanilla: Option<PolicyHead>,
}

/// Of the several heads, the one that lc0 uses by default.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ValueHeads {
    #[prost(message, optional, tag = "1")]
    pub(super) winner: Option<ValueHead>,
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

impl Weights {
    /// The policy head that lc0 uses by default, with the prefix of its layers' names.
    pub(super) fn take_policy_head(&mut self) -> (PolicyHead, &'static str) {
        let Some(heads) = self.policy_heads.take() else {
            let head = PolicyHead {
                ip_pol_w: self.ip_pol_w.take(),
                ip_pol_b: self.ip_pol_b.take(),
                ip2_pol_w: self.ip2_pol_w.take(),
                ip2_pol_b: self.ip2_pol_b.take(),
                ip3_pol_w: self.ip3_pol_w.take(),
                ip3_pol_b: self.ip3_pol_b.take(),
                ip4_pol_w: self.ip4_pol_w.take(),
                pol_encoder: std::mem::take(&mut self.pol_encoder),
                pol_headcount: self.pol_headcount,
                policy1: self.policy1.take(),
                policy: self.policy.take(),
            };
            return (head, "");
        };
        // The heads may share their first layer.
        let head = heads.vanilla.unwrap_or_default();
        let own = |layer: Option<Layer>| layer.filter(|layer| !layer.is_empty());
        let ip_pol_w = own(head.ip_pol_w).or(heads.ip_pol_w).or_else(|| self.ip_pol_w.take());
        let ip_pol_b = own(head.ip_pol_b).or(heads.ip_pol_b).or_else(|| self.ip_pol_b.take());
        (PolicyHead { ip_pol_w, ip_pol_b, ..head }, "policy_heads.vanilla.")
    }

    /// The value head that lc0 uses by default, with the prefix of its layers' names.
    pub(super) fn take_value_head(&mut self) -> (ValueHead, &'static str) {
        if let Some(heads) = self.value_heads.take() {
            return (heads.winner.unwrap_or_default(), "value_heads.winner.");
        }
        let head = ValueHead {
            ip_val_w: self.ip_val_w.take(),
            ip_val_b: self.ip_val_b.take(),
            ip1_val_w: self.ip1_val_w.take(),
            ip1_val_b: self.ip1_val_b.take(),
            ip2_val_w: self.ip2_val_w.take(),
            ip2_val_b: self.ip2_val_b.take(),
            value: self.value.take(),
        };
        (head, "")
    }
}

impl Layer {
    pub(super) fn is_empty(&self) -> bool {
        self.params.as_ref().is_none_or(Vec::is_empty)
    }
}
