//! PyTorch's part, in a child that runs `tools/bench_torch.py`.

use std::cell::RefCell;
use std::path::PathBuf;
use std::process::Command;
use std::rc::Rc;
use std::time::Duration;

use safetensors::tensor::{Dtype, TensorView};
use tabia_bench::LineProcess;
use tabia_encoding::{CANONICAL_1968_ROWS, Column};
use tabia_train::{NetConfig, ParameterTable, PolicyTargets};

use crate::case::Case;
use crate::{HYPER, Trainer};

/// The child, and what it calls itself.
pub(crate) struct Torch {
    child: Rc<RefCell<LineProcess>>,
    name: String,
}

/// The network the child holds. Making another one replaces it.
pub(crate) struct TorchTrainer {
    child: Rc<RefCell<LineProcess>>,
    name: String,
}

impl Torch {
    pub(crate) fn start(threads: usize) -> Result<Self, String> {
        let python = std::env::var("TABIA_PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/bench_torch.py");
        let mut child = LineProcess::start(Command::new(&python).arg(script).arg(threads.to_string()))
            .map_err(|error| format!("{python}: {error}"))?;
        let greeting = child.answer().map_err(|error| format!("{python}: {error}"))?;
        let name = greeting.strip_prefix("ready: ").ok_or_else(|| greeting.clone())?.to_owned();
        Ok(Torch { child: Rc::new(RefCell::new(child)), name })
    }
}

impl TorchTrainer {
    pub(crate) fn new(torch: &Torch, case: &Case) -> Result<Self, String> {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("bench-step.safetensors");
        write(case, &path)?;
        let mut child = torch.child.borrow_mut();
        let said = child.say(&format!("open {}", path.display())).and_then(|()| child.answer());
        match said.map_err(|error| error.to_string())?.as_str() {
            "opened" => Ok(TorchTrainer { child: torch.child.clone(), name: torch.name.clone() }),
            why => Err(why.to_owned()),
        }
    }
}

impl Trainer for TorchTrainer {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn steps(&mut self, count: usize) -> Result<(Duration, f32), String> {
        let mut child = self.child.borrow_mut();
        let said = child.say(&format!("steps {count}")).and_then(|()| child.answer());
        let line = said.map_err(|error| error.to_string())?;
        let parsed = line.split_once(' ').and_then(|(nanoseconds, loss)| {
            Some((Duration::from_nanos(nanoseconds.parse().ok()?), loss.parse().ok()?))
        });
        parsed.ok_or(line)
    }
}

/// A tensor as bytes: name, type, shape.
struct Raw(String, Dtype, Vec<usize>, Vec<u8>);

impl Raw {
    fn floats(name: String, shape: &[usize], values: &[f32]) -> Self {
        Raw(name, Dtype::F32, shape.to_vec(), values.iter().flat_map(|v| v.to_le_bytes()).collect())
    }

    fn integers(name: &str, values: impl Iterator<Item = i64>) -> Self {
        let bytes: Vec<u8> = values.flat_map(i64::to_le_bytes).collect();
        Raw(name.to_owned(), Dtype::I64, vec![bytes.len() / 8], bytes)
    }
}

/// Weights, inputs and targets as tensors of one file; the configuration as its metadata.
fn write(case: &Case, path: &std::path::Path) -> Result<(), String> {
    let mut tensors = weights(&case.table, &case.weights);
    let examples = &case.examples;
    let specs = examples.inputs.encoding().inputs();
    for (at, (column, spec)) in examples.inputs.columns().iter().zip(specs).enumerate() {
        let Column::Values(values) = column else { return Err("has inputs that are no numbers".to_owned()) };
        let shape: Vec<usize> = std::iter::once(examples.rows()).chain(spec.shape.iter().copied()).collect();
        tensors.push(Raw::floats(format!("input.{at}"), &shape, values));
    }
    if let Some(policy) = &examples.policy {
        tensors.extend(moves(policy, examples.rows()));
        tensors.push(Raw::integers("outcome", examples.outcomes.iter().map(|&class| i64::from(class))));
        tensors.push(Raw::integers("think", examples.think.iter().map(|&class| i64::from(class))));
        if let NetConfig::PolicyCnn(_) = case.config.net {
            let rows = CANONICAL_1968_ROWS.iter();
            tensors.push(Raw::integers(
                "places",
                rows.clone().map(|row| i64::from(row[0]) * 64 + i64::from(row[1])),
            ));
            tensors.push(Raw::integers("kinds", rows.map(|row| i64::from(row[2]))));
        }
    } else {
        tensors.push(Raw::floats("value".to_owned(), &[examples.rows()], &examples.values));
    }
    let text = |error: serde_json::Error| error.to_string();
    let hyper = serde_json::json!({
        "lr": HYPER.lr, "betas": [HYPER.beta1, HYPER.beta2], "eps": HYPER.eps, "weight_decay": HYPER.weight_decay,
    });
    let metadata = [
        ("net", serde_json::to_string(&case.config.net).map_err(text)?),
        ("loss", serde_json::to_string(&case.config.loss).map_err(text)?),
        ("logit_scale", case.logit_scale().to_string()),
        ("hyper", hyper.to_string()),
    ];
    let metadata = metadata.map(|(key, value)| (key.to_owned(), value)).into_iter().collect();
    let views = tensors
        .iter()
        .map(|Raw(name, dtype, shape, bytes)| Ok((name, TensorView::new(*dtype, shape.clone(), bytes)?)))
        .collect::<Result<Vec<_>, safetensors::SafeTensorError>>();
    views
        .and_then(|views| safetensors::serialize_to_file(views, Some(metadata), path))
        .map_err(|error| format!("{}: {error}", path.display()))
}

fn weights(table: &ParameterTable, arena: &[f32]) -> Vec<Raw> {
    let raw = |entry: &tabia_train::Parameter| {
        Raw::floats(format!("net.{}", entry.name), &entry.shape, entry.of(arena))
    };
    table.entries().iter().map(raw).collect()
}

fn moves(policy: &PolicyTargets, rows: usize) -> [Raw; 4] {
    let mut legal = vec![0_u8; rows * policy.width];
    for (row, mask) in legal.chunks_mut(policy.width).enumerate() {
        policy.legal_of(row).for_each(|index| mask[usize::from(index)] = 1);
    }
    [
        Raw("legal".to_owned(), Dtype::BOOL, vec![rows, policy.width], legal),
        Raw::integers("played", policy.played.iter().map(|&index| i64::from(index))),
        Raw::integers("promotion", policy.promotions.iter().map(|&class| i64::from(class))),
        Raw::integers("file", (0..rows).map(|row| i64::from(policy.to_file(row)))),
    ]
}
