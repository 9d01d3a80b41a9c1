//! Moves scale from quantised inputs into the weights that take them, so that both are rounded well.
//!
//! Inputs of a product are rounded as it runs, those of a span over one range: an input of a large range makes the steps of
//! its span coarse for all. Divided where it is made (a norm's gain, a row of the weights before) and multiplied where it is used
//! (a column of the weights after), it computes the same network.

use tabia_runtime::transformer::{QUANT_GROUP, QUANT_STEPS};

use super::observe::{Inputs, Observed};
use crate::nets::HumanConfig;
use crate::{NetConfig, ParameterTable};

/// The exponents tried, of the inputs' size and of the weights'.
const EXPONENTS: [f32; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];
/// The smallest size an input or a column of weights is taken for, as a share of the largest.
const SMALLEST: f32 = 1e-3;

/// Inputs whose scale can be moved.
struct Link {
    /// What makes them: an element or a row for each, from `first` on.
    maker: String,
    first: usize,
    /// The matrices that take them rounded.
    rounded: Vec<String>,
    /// Those that take them as they are.
    exact: Vec<String>,
}

/// The links of a network whose inputs are rounded as it runs; the order does not matter.
fn links(net: &NetConfig) -> Vec<Link> {
    let NetConfig::Human(HumanConfig { width, layers, .. }) = net else { return Vec::new() };
    let named = |names: &[String]| names.iter().map(|name| format!("{name}.weight")).collect();
    let mut links = Vec::new();
    let mut link = |maker: String, first: usize, rounded: &[String], exact: &[String]| {
        let maker = format!("{maker}.weight");
        links.push(Link { maker, first, rounded: named(rounded), exact: named(exact) });
    };
    for i in 0..*layers {
        let name = |part: &str| format!("blocks.{i}.{part}");
        link(name("norm1"), 0, &[name("attn.qkv")], &[]);
        // What attention gives are means of values, so a scale of the values is one of theirs.
        link(name("attn.qkv"), 2 * width, &[name("attn.out")], &[]);
        link(name("norm2"), 0, &[name("ffn.w1"), name("ffn.w3")], &[]);
        link(name("ffn.w3"), 0, &[name("ffn.w2")], &[]);
    }
    let heads = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    link(
        "norm_final".to_owned(),
        0,
        &heads(&["from_head", "to_head"]),
        &heads(&["promotion_head", "value_hidden"]),
    );
    links
}

/// Moves scale wherever it makes the products more exact. `observed` become the inputs of the changed network.
pub(super) fn balance(net: &NetConfig, arena: &mut [f32], observed: &mut Observed) {
    let table = net.table();
    for link in links(net) {
        let Some(inputs) = link.rounded.first().and_then(|name| observed.get(name)) else { continue };
        let by = best(inputs, &columns(&table, arena, &link.rounded));
        let maker = table.get(&link.maker).expect("a link names parameters of its network");
        let row = maker.len() / maker.shape[0];
        let made = maker.of_mut(arena)[link.first * row..].chunks_mut(row);
        made.zip(&by).for_each(|(made, by)| made.iter_mut().for_each(|weight| *weight /= by));
        for name in link.rounded.iter().chain(&link.exact) {
            let taker = table.get(name).expect("a link names parameters of its network");
            for row in taker.of_mut(arena).chunks_mut(by.len()) {
                row.iter_mut().zip(&by).for_each(|(weight, by)| *weight *= by);
            }
            if let Some(inputs) = observed.get_mut(name) {
                inputs.divide(&by);
            }
        }
    }
}

/// The rows of several matrices.
fn columns(table: &ParameterTable, arena: &[f32], names: &[String]) -> Vec<f32> {
    let matrix = |name: &String| table.get(name).expect("a link names parameters of its network").of(arena);
    names.iter().flat_map(matrix).copied().collect()
}

/// What to divide each input by: powers of its own size and of its weights', those of the least error.
fn best(inputs: &Inputs, weights: &[f32]) -> Vec<f32> {
    let products = Products::of(inputs, weights);
    let above_zero = |values: &[f32]| {
        let largest = values.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
        values.iter().map(|value| (value / largest).max(SMALLEST)).collect::<Vec<f32>>()
    };
    let (sizes, strengths) = (above_zero(&products.sizes), above_zero(&products.strengths));
    let mut least = (f64::INFINITY, vec![1.0; inputs.width]);
    for a in EXPONENTS {
        for b in EXPONENTS {
            let by: Vec<f32> = sizes.iter().zip(&strengths).map(|(x, w)| x.powf(a) / w.powf(b)).collect();
            let error = products.error(&by);
            if error < least.0 {
                least = (error, by);
            }
        }
    }
    least.1
}

/// Rows of inputs and the weights that take them.
struct Products<'a> {
    inputs: &'a Inputs,
    weights: &'a [f32],
    /// The root mean square of each input.
    sizes: Vec<f32>,
    /// The root of the sum of the squares of each input's weights.
    strengths: Vec<f32>,
}

impl<'a> Products<'a> {
    fn of(inputs: &'a Inputs, weights: &'a [f32]) -> Self {
        let width = inputs.width;
        let sizes = (0..width).map(|i| inputs.moments[i * width + i].sqrt() as f32).collect();
        let mut strengths = vec![0.0_f32; width];
        for row in weights.chunks(width) {
            strengths.iter_mut().zip(row).for_each(|(sum, weight)| *sum += weight * weight);
        }
        strengths.iter_mut().for_each(|sum| *sum = sum.sqrt());
        Products { inputs, weights, sizes, strengths }
    }

    /// The mean square of what rounding changes in all outputs, inputs divided and weights multiplied by `by`: every number
    /// rounded is off by a step over the root of 12.
    fn error(&self, by: &[f32]) -> f64 {
        let width = by.len();
        let rows = self.inputs.rows.chunks(width);
        let count = rows.len().max(1) as f64;
        let mut of_inputs = 0.0;
        for row in rows {
            let numbers = row.iter().zip(by).zip(&self.strengths).map(|((x, by), w)| (x / by, w * by));
            let numbers: Vec<(f32, f32)> = numbers.collect();
            for span in numbers.chunks(QUANT_GROUP) {
                let (mut low, mut high, mut strength) = (f32::INFINITY, f32::NEG_INFINITY, 0.0);
                for &(x, w) in span {
                    (low, high, strength) = (low.min(x), high.max(x), strength + w * w);
                }
                let step = (high - low) / QUANT_STEPS;
                of_inputs += f64::from(step * step * strength);
            }
        }
        let input: f32 = self.sizes.iter().zip(by).map(|(x, by)| (x / by).powi(2)).sum();
        let step =
            |row: &[f32]| row.iter().zip(by).fold(0.0_f32, |most, (w, by)| most.max((w * by).abs())) / 127.0;
        let of_weights: f64 =
            self.weights.chunks(width).map(|row| f64::from(step(row).powi(2) * input)).sum();
        (of_inputs / count + of_weights) / 12.0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Rows in which one input is far larger than the others.
    fn uneven(width: usize) -> Inputs {
        let mut random = fastrand::Rng::with_seed(7);
        let number = |at: usize| (random.f32() - 0.5) * if at % width == 3 { 40.0 } else { 1.0 };
        let rows: Vec<f32> = (0..200 * width).map(number).collect();
        Inputs::of_rows(width, rows)
    }

    fn small() -> NetConfig {
        NetConfig::Human(HumanConfig {
            width: 32,
            heads: 2,
            layers: 1,
            inner: 64,
            pair: 32,
            hidden: 16,
            sites: false,
        })
    }

    #[test]
    fn dividing_a_large_input_reduces_the_error() {
        let inputs = uneven(64);
        let mut random = fastrand::Rng::with_seed(8);
        let weights: Vec<f32> = (0..64 * 16).map(|_| random.f32() - 0.5).collect();
        let by = best(&inputs, &weights);
        let others = by.iter().enumerate().filter(|(at, _)| *at != 3).map(|(_, by)| *by);
        assert!(by[3] > 2.0 * others.fold(0.0, f32::max), "{by:?}");
        let products = Products::of(&inputs, &weights);
        assert!(products.error(&by) < 0.3 * products.error(&[1.0; 64]));
    }

    #[test]
    fn balancing_keeps_the_product() {
        let net = small();
        let table = net.table();
        let before = table.initial(1);
        let mut after = before.clone();
        let names: Vec<String> = links(&net).into_iter().flat_map(|link| link.rounded).collect();
        let width = |name: &str| table.get(name).unwrap().shape[1];
        let mut observed: Observed =
            names.iter().map(|name| (name.clone(), uneven(width(name)))).collect::<BTreeMap<_, _>>();
        balance(&net, &mut after, &mut observed);
        assert_ne!(before, after);
        // A gain and the column behind it have the same product as before.
        let at = |arena: &[f32], name: &str, i: usize| table.get(name).unwrap().of(arena)[i];
        for i in 0..32 {
            for (maker, taker) in [
                ("blocks.0.norm1.weight", "blocks.0.attn.qkv.weight"),
                ("blocks.0.norm2.weight", "blocks.0.ffn.w1.weight"),
                ("norm_final.weight", "to_head.weight"),
                ("norm_final.weight", "value_hidden.weight"),
            ] {
                let whole = |arena: &[f32]| at(arena, maker, i) * at(arena, taker, i);
                let (was, is) = (whole(&before), whole(&after));
                assert!((was - is).abs() <= 1e-5 * was.abs(), "{maker} {taker} {i}: {was} {is}");
            }
        }
        // The inputs it tells of are those of the changed network: the large one is no longer so much larger.
        let inputs = &observed["blocks.0.ffn.w2.weight"];
        let size = |i: usize| inputs.moments[i * inputs.width + i].sqrt();
        assert!(size(3) < 10.0 * size(4), "{} {}", size(3), size(4));
    }
}
