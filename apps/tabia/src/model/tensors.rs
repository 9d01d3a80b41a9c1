//! `tabia model tensors`: what goes into a network and what comes out, as bare numbers, for other programs to compare with.

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};
use shakmaty::Chess;
use tabia_encoding::{Batch, Column, Situation};
use tabia_model::{Model, Perspective, Source};
use tabia_runtime::{InputData, InputTensor, Session};

use super::{context, position};
use crate::cli::{RuntimeName, TensorsArgs};

/// Positions of every kind: the first, castling still possible, an en-passant capture, a pawn about to promote, few men.
pub(super) const POSITIONS: [&str; 5] = [
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r3k2r/pppq1ppp/2npbn2/2b1p3/2B1P3/2NPBN2/PPPQ1PPP/R3K2R b KQkq - 6 8",
    "rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 3",
    "8/P6k/8/8/8/8/6Kp/8 w - - 0 50",
    "8/5k2/8/3R4/8/4K3/5p2/8 b - - 3 60",
];

pub(crate) fn run(args: &TensorsArgs) -> Result<()> {
    let named = || args.file.display().to_string();
    let model = super::open(&args.file, args.layout.as_deref())?;
    let given: Vec<&str> =
        if args.fen.is_empty() { POSITIONS.to_vec() } else { args.fen.iter().map(String::as_str).collect() };
    let positions: Vec<Chess> = given.iter().map(|fen| position(fen)).collect::<Result<_>>()?;
    let context = context(&model, args.context.as_deref())?;
    let situations: Vec<Situation<'_>> = positions
        .iter()
        .map(|position| {
            let context = Some(context.as_ref().unwrap_or(position));
            Situation { context, ..Situation::of(position) }
        })
        .collect();
    let mut batch = Batch::new(model.encoding());
    let compares =
        model.card().value.as_ref().is_some_and(|head| head.perspective == Perspective::Comparison);
    for situation in &situations {
        match situation.context.filter(|_| compares) {
            // A comparing network takes the position first and the reference second.
            Some(reference) => {
                batch.push(&Situation { context: Some(situation.position), ..Situation::of(reference) });
            }
            None => batch.push(situation),
        }
    }
    let mut inputs = Map::new();
    let mut tensors = Vec::new();
    for ((column, spec), info) in
        batch.columns().iter().zip(batch.encoding().inputs()).zip(&model.graph().inputs)
    {
        let shape: Vec<usize> = std::iter::once(batch.rows()).chain(spec.shape.iter().copied()).collect();
        let (data, value) = match column {
            Column::Ids(ids) => (InputData::Ids(ids), json!({ "shape": shape, "ids": ids })),
            Column::Values(values) => {
                (InputData::Values(values), json!({ "shape": shape, "values": values }))
            }
        };
        inputs.insert(info.name.clone(), value);
        tensors.push((shape, data));
    }
    let (runtime, outputs) = match args.runtime {
        RuntimeName::Player => (model.runtime().to_string(), model.outputs(&situations)?),
        RuntimeName::Graph => {
            let sidecar = super::with_layout(Model::sidecar(&args.file)?, args.layout.as_deref())?;
            let source = Source::open_with(&args.file, sidecar.as_deref()).with_context(named)?;
            let session = Session::new(source.into_graph()?)?;
            let asked: Vec<_> =
                tensors.iter().map(|(shape, data)| InputTensor { shape, data: *data }).collect();
            ("general, the ONNX graph".to_owned(), session.run(&asked)?)
        }
    };
    let outputs: Map<String, Value> = outputs
        .into_iter()
        .map(|output| (output.name, json!({ "shape": output.shape, "values": output.values })))
        .collect();
    let mut answer = json!({ "positions": given, "runtime": runtime, "inputs": inputs, "outputs": outputs });
    if let Some(fen) = &args.context {
        answer["context"] = json!(fen);
    }
    println!("{answer}");
    Ok(())
}
