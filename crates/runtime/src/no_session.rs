//! Stands in for the general runtime in builds without rten: no graph can be loaded.

use std::fmt;

use tabia_onnx::check::GraphInfo;
use tabia_onnx::proto::ModelProto;
use tabia_onnx::{ErrorKind, GraphError};

use crate::run::{InputTensor, OutputTensor, RunError};

/// A loaded graph; none exists in this build.
#[derive(Debug)]
pub enum Session {}

impl Session {
    /// # Errors
    /// Always [`ErrorKind::NoRuntime`].
    pub fn new(_: ModelProto) -> Result<Session, GraphError> {
        let message = "this build runs only transformers, MLPs and NNUEs (feature \"rten\" runs any graph)";
        Err(GraphError::new(ErrorKind::NoRuntime, message))
    }

    /// Inputs, outputs and cost of the graph.
    pub fn info(&self) -> &GraphInfo {
        match *self {}
    }

    /// The kernel of its integer products, if it has any.
    pub fn int8(&self) -> Option<Int8Kernel> {
        match *self {}
    }

    /// Runs the graph.
    ///
    /// # Errors
    /// None: there is no graph.
    pub fn run(&self, _: &[InputTensor<'_>]) -> Result<Vec<OutputTensor>, RunError> {
        match *self {}
    }
}

/// The kernel of integer products; none exists in this build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Int8Kernel {}

impl fmt::Display for Int8Kernel {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}
