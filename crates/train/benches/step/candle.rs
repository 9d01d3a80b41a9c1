//! The networks and the step as one writes them with candle and candle-nn.

use std::time::{Duration, Instant};

use candle_core::{D, DType, Device, Result, Tensor};
use candle_nn::{
    AdamW, Conv2d, Conv2dConfig, Linear, Module, Optimizer, ParamsAdamW, RmsNorm, VarBuilder, VarMap, conv2d,
    linear, linear_no_bias, loss, ops, rms_norm,
};
use tabia_encoding::{CANONICAL_1968_ROWS, Column};
use tabia_train::nets::{
    AttentionBias, ChallengeConfig, HumanConfig, NnueActivation, NnueConfig, PolicyCnnConfig, PolicyCnnHead,
    ValueAttentionConfig,
};
use tabia_train::{LossFactors, NetConfig, ValueLoss};

use crate::case::Case;
use crate::{HYPER, Trainer};

const SQUARES: usize = 64;

/// A network with candle's optimiser.
pub(crate) struct CandleTrainer {
    net: Net,
    inputs: Vec<Tensor>,
    targets: Targets,
    optimiser: AdamW,
}

impl CandleTrainer {
    pub(crate) fn new(case: &Case) -> std::result::Result<Self, String> {
        Self::build(case).map_err(|error| error.to_string())
    }

    fn build(case: &Case) -> Result<Self> {
        let mut map = VarMap::new();
        let net = Net::new(&case.config.net, &VarBuilder::from_varmap(&map, DType::F32, &Device::Cpu))?;
        for entry in case.table.entries() {
            let values = Tensor::from_slice(entry.of(&case.weights), entry.shape.as_slice(), &Device::Cpu)?;
            map.set_one(&entry.name, values)?;
        }
        let settings = ParamsAdamW {
            lr: f64::from(HYPER.lr),
            beta1: f64::from(HYPER.beta1),
            beta2: f64::from(HYPER.beta2),
            eps: f64::from(HYPER.eps),
            weight_decay: f64::from(HYPER.weight_decay),
        };
        let inputs = &case.examples.inputs;
        let tensor = |(column, spec): (&Column, &tabia_encoding::InputSpec)| {
            let Column::Values(values) = column else { candle_core::bail!("inputs are no numbers") };
            let shape: Vec<usize> =
                std::iter::once(case.examples.rows()).chain(spec.shape.iter().copied()).collect();
            Tensor::from_slice(values, shape, &Device::Cpu)
        };
        Ok(CandleTrainer {
            net,
            inputs: inputs
                .columns()
                .iter()
                .zip(inputs.encoding().inputs())
                .map(tensor)
                .collect::<Result<_>>()?,
            targets: Targets::new(case)?,
            optimiser: AdamW::new(map.all_vars(), settings)?,
        })
    }

    fn step(&mut self) -> Result<f32> {
        let loss = self.targets.loss(&self.net, &self.inputs)?;
        self.optimiser.backward_step(&loss)?;
        loss.to_scalar()
    }
}

impl Trainer for CandleTrainer {
    fn name(&self) -> String {
        "candle".to_owned()
    }

    fn steps(&mut self, count: usize) -> std::result::Result<(Duration, f32), String> {
        let started = Instant::now();
        let mut loss = f32::NAN;
        for _ in 0..count {
            loss = self.step().map_err(|error| error.to_string())?;
        }
        Ok((started.elapsed(), loss))
    }
}

/// What there is to learn, as tensors.
enum Targets {
    Moves {
        played: Tensor,
        illegal: Tensor,
        promotion: Tensor,
        files: Tensor,
        outcome: Tensor,
        think: Tensor,
        factors: LossFactors,
    },
    Value {
        value: Tensor,
        kind: ValueLoss,
        logit_scale: f64,
    },
}

impl Targets {
    fn new(case: &Case) -> Result<Self> {
        let examples = &case.examples;
        let rows = examples.rows();
        let Some(policy) = &examples.policy else {
            return Ok(Targets::Value {
                value: Tensor::from_slice(&examples.values, rows, &Device::Cpu)?,
                kind: case.config.loss.value_kind,
                logit_scale: f64::from(case.logit_scale()),
            });
        };
        let classes = |values: Vec<u32>| Tensor::from_vec(values, rows, &Device::Cpu);
        let small = |values: &[u8]| classes(values.iter().map(|&class| u32::from(class)).collect());
        let mut illegal = vec![-1e30_f32; rows * policy.width];
        for (row, mask) in illegal.chunks_mut(policy.width).enumerate() {
            policy.legal_of(row).for_each(|index| mask[usize::from(index)] = 0.0);
        }
        let files = classes((0..rows).map(|row| u32::from(policy.to_file(row))).collect())?;
        Ok(Targets::Moves {
            played: classes(policy.played.iter().map(|&index| u32::from(index)).collect())?,
            illegal: Tensor::from_vec(illegal, (rows, policy.width), &Device::Cpu)?,
            promotion: small(&policy.promotions)?,
            files: files.reshape((rows, 1, 1))?.broadcast_as((rows, 1, 4))?.contiguous()?,
            outcome: small(&examples.outcomes)?,
            think: small(&examples.think)?,
            factors: case.config.loss,
        })
    }

    fn loss(&self, net: &Net, inputs: &[Tensor]) -> Result<Tensor> {
        match self {
            Targets::Value { value, kind, logit_scale } => {
                let found = net.value(&inputs[0])?.flatten_all()?;
                match kind {
                    ValueLoss::L1 => (found - value)?.abs()?.mean_all(),
                    ValueLoss::Squared => loss::mse(&found, value),
                    ValueLoss::Chance => loss::mse(&ops::sigmoid(&(found * *logit_scale)?)?, value),
                    ValueLoss::CrossEntropy => loss::binary_cross_entropy_with_logit(&found, value),
                }
            }
            Targets::Moves { played, illegal, promotion, files, outcome, think, factors } => {
                let heads = net.moves(inputs)?;
                let moves = loss::cross_entropy(&(heads.moves + illegal)?, played)?;
                let mut sum = (moves * f64::from(factors.policy))?;
                if let Some(other) = heads.other {
                    let piece = other.promotion.gather(files, 1)?.squeeze(1)?;
                    let parts = [
                        (loss::cross_entropy(&piece, promotion)?, factors.promotion),
                        (loss::cross_entropy(&other.outcome, outcome)?, factors.outcome),
                        (loss::cross_entropy(&other.think, think)?, factors.think),
                    ];
                    for (part, factor) in parts {
                        sum = (sum + (part * f64::from(factor))?)?;
                    }
                }
                Ok(sum)
            }
        }
    }
}

/// The networks of which there is a version here.
enum Net {
    Nnue(Nnue),
    Mlp(Mlp),
    PolicyCnn(PolicyCnn),
    Attention(ValueAttention),
    Human(Human),
}

struct MoveHeads {
    moves: Tensor,
    other: Option<OtherHeads>,
}

struct OtherHeads {
    promotion: Tensor,
    outcome: Tensor,
    think: Tensor,
}

impl Net {
    fn new(config: &NetConfig, vb: &VarBuilder) -> Result<Self> {
        Ok(match config {
            NetConfig::Nnue(config) => Net::Nnue(Nnue::new(config, vb)?),
            NetConfig::ValueMlp(config) => {
                let inputs = tabia_encoding::encoding(&config.encoding).map_or(0, |e| e.inputs()[0].shape[0]);
                Net::Mlp(Mlp::new(inputs, &config.hidden, 1, |at| format!("seq.linear-{at}"), vb)?)
            }
            NetConfig::PolicyMlp(config) => {
                Net::Mlp(Mlp::new(837, &config.hidden, 1968, |at| format!("net.{}", 2 * at), vb)?)
            }
            NetConfig::PolicyCnn(config) => Net::PolicyCnn(PolicyCnn::new(config, vb)?),
            NetConfig::Challenge(ChallengeConfig::Attention(config)) => {
                Net::Attention(ValueAttention::new(config, vb)?)
            }
            NetConfig::Human(config) => Net::Human(Human::new(config, vb)?),
            _ => candle_core::bail!("this kind of network is not written with candle"),
        })
    }

    fn value(&self, board: &Tensor) -> Result<Tensor> {
        match self {
            Net::Nnue(net) => net.forward(board),
            Net::Mlp(net) => net.forward(board),
            Net::Attention(net) => net.forward(board),
            _ => candle_core::bail!("has no value"),
        }
    }

    fn moves(&self, inputs: &[Tensor]) -> Result<MoveHeads> {
        match self {
            Net::Mlp(net) => Ok(MoveHeads { moves: net.forward(&inputs[0])?, other: None }),
            Net::PolicyCnn(net) => Ok(MoveHeads { moves: net.forward(&inputs[0])?, other: None }),
            Net::Human(net) => net.forward(&inputs[0], &inputs[1]),
            _ => candle_core::bail!("has no moves"),
        }
    }
}

struct Mlp(Vec<Linear>);

impl Mlp {
    fn new(
        inputs: usize,
        hidden: &[usize],
        outputs: usize,
        name: impl Fn(usize) -> String,
        vb: &VarBuilder,
    ) -> Result<Self> {
        let mut width = inputs;
        let mut layers = Vec::new();
        for (at, &next) in hidden.iter().chain([&outputs]).enumerate() {
            layers.push(linear(width, next, vb.pp(name(at)))?);
            width = next;
        }
        Ok(Mlp(layers))
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let mut x = self.0[0].forward(x)?;
        for layer in &self.0[1..] {
            x = layer.forward(&x.relu()?)?;
        }
        Ok(x)
    }
}

struct Nnue {
    features: Linear,
    output: Linear,
    view: Tensor,
    buckets: usize,
    activation: NnueActivation,
}

impl Nnue {
    fn new(config: &NnueConfig, vb: &VarBuilder) -> Result<Self> {
        let view: Vec<u32> = (0..768).map(|at| (at / 64 + 6) % 12 * 64 + ((at % 64) ^ 56)).collect();
        Ok(Nnue {
            features: linear(768, config.width, vb.pp("features"))?,
            output: linear(2 * config.width, config.buckets, vb.pp("output"))?,
            view: Tensor::from_vec(view, 768, &Device::Cpu)?,
            buckets: config.buckets,
            activation: config.activation,
        })
    }

    fn forward(&self, board: &Tensor) -> Result<Tensor> {
        let theirs = board.index_select(&self.view, 1)?;
        let half = |view: &Tensor| -> Result<Tensor> {
            let clipped = self.features.forward(view)?.clamp(0.0, 1.0)?;
            match self.activation {
                NnueActivation::Clipped => Ok(clipped),
                NnueActivation::SquaredClipped => clipped.sqr(),
            }
        };
        let values = self.output.forward(&Tensor::cat(&[half(board)?, half(&theirs)?], 1)?)?;
        let men = board.sum(1)?.to_vec1::<f32>()?;
        let bucket = |men: f32| ((men as usize).saturating_sub(1) * self.buckets / 32) as u32;
        let rows = men.len();
        let chosen =
            Tensor::from_vec(men.into_iter().map(bucket).collect::<Vec<u32>>(), (rows, 1), &Device::Cpu)?;
        values.gather(&chosen, 1)
    }
}

struct PolicyCnn {
    stem: Conv2d,
    blocks: Vec<[(RmsNorm, Conv2d); 2]>,
    norm: RmsNorm,
    from: Conv2d,
    to: Conv2d,
    bias: Tensor,
    places: Tensor,
    kinds: Tensor,
}

/// A norm over all features of a position, whose weights lie on its planes.
fn plane_norm(channels: usize, vb: &VarBuilder) -> Result<RmsNorm> {
    let weight = vb.get((channels, 8, 8), "weight")?.flatten_all()?;
    Ok(RmsNorm::new(weight, f64::from(f32::EPSILON)))
}

fn norm_planes(norm: &RmsNorm, x: &Tensor) -> Result<Tensor> {
    norm.forward_diff(&x.flatten_from(1)?)?.reshape(x.shape())
}

impl PolicyCnn {
    fn new(config: &PolicyCnnConfig, vb: &VarBuilder) -> Result<Self> {
        let PolicyCnnHead::Bilinear(depth) = config.head else { candle_core::bail!("has another head") };
        let (c, k) = (config.channels, config.kernel);
        let same = Conv2dConfig { padding: k / 2, ..Conv2dConfig::default() };
        let planes = tabia_encoding::encoding(NetConfig::PolicyCnn(*config).encoding())
            .map_or(0, |encoding| encoding.inputs()[0].shape[0]);
        let half = |vb: &VarBuilder, at: usize| -> Result<(RmsNorm, Conv2d)> {
            let norm = plane_norm(c, &vb.pp(format!("ln{at}")))?;
            Ok((norm, conv2d(c, c, k, same, vb.pp(format!("conv{at}")))?))
        };
        let block = |at: usize| {
            let vb = vb.pp(format!("layers.{at}"));
            Ok([half(&vb, 1)?, half(&vb, 2)?])
        };
        let column = |of: fn(&[u8; 3]) -> u32| {
            let column: Vec<u32> = CANONICAL_1968_ROWS.iter().map(of).collect();
            Tensor::from_slice(&column, column.len(), &Device::Cpu)
        };
        Ok(PolicyCnn {
            stem: conv2d(planes, c, k, same, vb.pp("layers.0"))?,
            blocks: (2..2 + config.blocks).map(block).collect::<Result<_>>()?,
            norm: plane_norm(c, &vb.pp("head.norm"))?,
            from: conv2d(c, depth, 1, Conv2dConfig::default(), vb.pp("head.from_proj"))?,
            to: conv2d(c, depth, 1, Conv2dConfig::default(), vb.pp("head.to_proj"))?,
            bias: vb.get(5, "head.promo_bias")?,
            places: column(|row| u32::from(row[0]) * SQUARES as u32 + u32::from(row[1]))?,
            kinds: column(|row| u32::from(row[2]))?,
        })
    }

    fn forward(&self, board: &Tensor) -> Result<Tensor> {
        let mut x = self.stem.forward(board)?.gelu_erf()?;
        for block in &self.blocks {
            let mut y = x.clone();
            for (norm, conv) in block {
                y = conv.forward(&norm_planes(norm, &y)?)?.gelu_erf()?;
            }
            x = (x + y)?;
        }
        let y = norm_planes(&self.norm, &x)?;
        let from = self.from.forward(&y)?.flatten_from(2)?.transpose(1, 2)?.contiguous()?;
        let to = self.to.forward(&y)?.flatten_from(2)?;
        let moves = from.matmul(&to)?.flatten_from(1)?.index_select(&self.places, 1)?;
        moves.broadcast_add(&self.bias.index_select(&self.kinds, 0)?)
    }
}

/// Attention and what follows it, with or without a gate.
struct Block {
    norm1: RmsNorm,
    qkv: Linear,
    q_norm: RmsNorm,
    k_norm: RmsNorm,
    bias: Bias,
    out: Linear,
    norm2: RmsNorm,
    w1: Linear,
    w3: Option<Linear>,
    w2: Linear,
    heads: usize,
}

/// What is added to the products of attention: a number for each pair of squares, or for each distance.
enum Bias {
    Pairs(Tensor),
    Distances { table: Tensor, places: Tensor },
}

impl Bias {
    fn pairs(heads: usize, vb: &VarBuilder) -> Result<Self> {
        Ok(Bias::Pairs(vb.get((heads, SQUARES, SQUARES), "attn.bias")?))
    }

    fn distances(heads: usize, vb: &VarBuilder) -> Result<Self> {
        let place = |i: usize, j: usize| ((7 + j / 8 - i / 8) * 16 + 7 + j % 8 - i % 8) as u32;
        let places: Vec<u32> = (0..SQUARES).flat_map(|i| (0..SQUARES).map(move |j| place(i, j))).collect();
        Ok(Bias::Distances {
            table: vb.get((heads, 16, 16), "attn.bias")?,
            places: Tensor::from_vec(places, SQUARES * SQUARES, &Device::Cpu)?,
        })
    }

    fn of_pairs(&self) -> Result<Tensor> {
        match self {
            Bias::Pairs(bias) => Ok(bias.clone()),
            Bias::Distances { table, places } => {
                table.flatten_from(1)?.index_select(places, 1)?.reshape(((), SQUARES, SQUARES))
            }
        }
    }
}

/// Whether the layer after attention has a gate.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gate {
    None,
    Gated,
}

impl Block {
    fn new(
        width: usize,
        heads: usize,
        inner: usize,
        gate: Gate,
        bias: Bias,
        vb: &VarBuilder,
    ) -> Result<Self> {
        Ok(Block {
            norm1: rms_norm(width, 1e-6, vb.pp("norm1"))?,
            qkv: linear_no_bias(width, 3 * width, vb.pp("attn.qkv"))?,
            q_norm: rms_norm(width / heads, 1e-6, vb.pp("attn.q_norm"))?,
            k_norm: rms_norm(width / heads, 1e-6, vb.pp("attn.k_norm"))?,
            bias,
            out: linear_no_bias(width, width, vb.pp("attn.out"))?,
            norm2: rms_norm(width, 1e-6, vb.pp("norm2"))?,
            w1: linear_no_bias(width, inner, vb.pp("ffn.w1"))?,
            w3: match gate {
                Gate::None => None,
                Gate::Gated => Some(linear_no_bias(width, inner, vb.pp("ffn.w3"))?),
            },
            w2: linear_no_bias(inner, width, vb.pp("ffn.w2"))?,
            heads,
        })
    }

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let (batch, squares, width) = x.dims3()?;
        let head = width / self.heads;
        let qkv = self.qkv.forward(&self.norm1.forward_diff(x)?)?;
        let part = |at: usize| {
            qkv.narrow(D::Minus1, at * width, width)?
                .contiguous()?
                .reshape((batch, squares, self.heads, head))
        };
        let q = self.q_norm.forward_diff(&part(0)?)?.transpose(1, 2)?.contiguous()?;
        let k = self.k_norm.forward_diff(&part(1)?)?.permute((0, 2, 3, 1))?.contiguous()?;
        let v = part(2)?.transpose(1, 2)?.contiguous()?;
        let scores = (q.matmul(&k)? / (head as f64).sqrt())?.broadcast_add(&self.bias.of_pairs()?)?;
        let mixed = ops::softmax(&scores, D::Minus1)?.matmul(&v)?;
        let mixed = mixed.transpose(1, 2)?.reshape((batch, squares, width))?;
        let x = (x + self.out.forward(&mixed)?)?;
        let h = self.norm2.forward_diff(&x)?;
        let mut inner = ops::silu(&self.w1.forward(&h)?)?;
        if let Some(w3) = &self.w3 {
            inner = (inner * w3.forward(&h)?)?;
        }
        x + self.w2.forward(&inner)?
    }
}

struct ValueAttention {
    squares: Linear,
    position: Tensor,
    blocks: Vec<Block>,
    norm: RmsNorm,
    hidden: Linear,
    output: Linear,
}

impl ValueAttention {
    fn new(config: &ValueAttentionConfig, vb: &VarBuilder) -> Result<Self> {
        let &ValueAttentionConfig { width, heads, layers, inner, hidden, bias, distinct } = config;
        if distinct.is_some_and(|distinct| distinct < layers) {
            candle_core::bail!("has layers that share their weights");
        }
        let block = |at: usize| {
            let vb = vb.pp(format!("blocks.{at}"));
            let bias = match bias {
                AttentionBias::EachLayer => Bias::pairs(heads, &vb)?,
                AttentionBias::Relative => Bias::distances(heads, &vb)?,
                _ => candle_core::bail!("has another bias of attention"),
            };
            Block::new(width, heads, inner, Gate::None, bias, &vb)
        };
        Ok(ValueAttention {
            squares: linear_no_bias(12, width, vb.pp("squares"))?,
            position: vb.get((SQUARES, width), "position.weight")?,
            blocks: (0..layers).map(block).collect::<Result<_>>()?,
            norm: rms_norm(width, 1e-6, vb.pp("norm_final"))?,
            hidden: linear(width, hidden, vb.pp("hidden"))?,
            output: linear(hidden, 1, vb.pp("output"))?,
        })
    }

    fn forward(&self, board: &Tensor) -> Result<Tensor> {
        let board = board.reshape(((), 12, SQUARES))?.transpose(1, 2)?.contiguous()?;
        let mut x = self.squares.forward(&board)?.broadcast_add(&self.position)?;
        for block in &self.blocks {
            x = block.forward(&x)?;
        }
        let pooled = self.norm.forward_diff(&x)?.mean(1)?;
        self.output.forward(&ops::silu(&self.hidden.forward(&pooled)?)?)
    }
}

struct Human {
    squares: Linear,
    position: Tensor,
    game: Linear,
    blocks: Vec<Block>,
    norm: RmsNorm,
    from: Linear,
    to: Linear,
    promotion: Linear,
    hidden: Linear,
    outcome: Linear,
    think: Linear,
    pair: usize,
}

impl Human {
    fn new(config: &HumanConfig, vb: &VarBuilder) -> Result<Self> {
        let &HumanConfig { width, heads, layers, inner, pair, hidden } = config;
        let block = |at: usize| {
            let vb = vb.pp(format!("blocks.{at}"));
            Block::new(width, heads, inner, Gate::Gated, Bias::pairs(heads, &vb)?, &vb)
        };
        Ok(Human {
            squares: linear_no_bias(32, width, vb.pp("squares"))?,
            position: vb.get((SQUARES, width), "position.weight")?,
            game: linear_no_bias(80, width, vb.pp("game"))?,
            blocks: (0..layers).map(block).collect::<Result<_>>()?,
            norm: rms_norm(width, 1e-6, vb.pp("norm_final"))?,
            from: linear_no_bias(width, pair, vb.pp("from_head"))?,
            to: linear_no_bias(width, pair, vb.pp("to_head"))?,
            promotion: linear_no_bias(width, 4, vb.pp("promotion_head"))?,
            hidden: linear(width, hidden, vb.pp("value_hidden"))?,
            outcome: linear(hidden, 3, vb.pp("wdl_head"))?,
            think: linear(hidden, tabia_encoding::TIME_BINS, vb.pp("time_head"))?,
            pair,
        })
    }

    fn forward(&self, squares: &Tensor, game: &Tensor) -> Result<MoveHeads> {
        let mut x = self.squares.forward(squares)?.broadcast_add(&self.position)?;
        x = x.broadcast_add(&self.game.forward(game)?.unsqueeze(1)?)?;
        for block in &self.blocks {
            x = block.forward(&x)?;
        }
        let y = self.norm.forward_diff(&x)?;
        let to = self.to.forward(&y)?.transpose(1, 2)?.contiguous()?;
        let moves = (self.from.forward(&y)?.matmul(&to)? / (self.pair as f64).sqrt())?.flatten_from(1)?;
        let hidden = ops::silu(&self.hidden.forward(&y.mean(1)?)?)?;
        let other = OtherHeads {
            promotion: self.promotion.forward(&y.narrow(1, 56, 8)?.contiguous()?)?,
            outcome: self.outcome.forward(&hidden)?,
            think: self.think.forward(&hidden)?,
        };
        Ok(MoveHeads { moves, other: Some(other) })
    }
}
