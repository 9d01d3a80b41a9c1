//! Training: losses, the loop, checkpoints, export.
//!
//! | to find | look in |
//! |---|---|
//! | a run as its file describes it | [`TrainConfig`] |
//! | a network's parameters and where they lie | [`ParameterTable`] |
//! | one batch of inputs and targets | [`Examples`] |
//! | a network being trained on a device | [`Backend`] |
//! | the same on an NVIDIA GPU | [`gpu`] |
#![deny(unsafe_code)]

mod backend;
mod builder;
pub mod checkpoint;
mod choices;
mod config;
mod cpu;
mod device;
mod evaluation;
mod examples;
pub mod export;
mod feed_supply;
mod forecast;
#[cfg(feature = "fuzzing")]
pub mod fuzz;
pub mod gpu;
mod graph_weights;
mod initial_weights;
mod judge;
mod kernels;
mod losses;
mod metrics;
mod optimiser;
mod run;
mod schedule;
mod starts;
mod supply;
pub mod synthetic;
mod teacher;
mod tensors;
mod value_curve;

pub use backend::{Backend, BackendError, Losses, Scores, StepHyper, StepReport, TrainerState, Weights};
pub use builder::{ExampleBuilder, RatingBalance};
pub use choices::{After, Choice, Choices, Reading, Root};
pub use config::{
    ConfigError, DataConfig, Dropout, EvaluationConfig, HeldOutBy, LossFactors, OptimiserConfig,
    OptimiserKind, Positions, QuietOnly, ScheduleConfig, ScheduleKind, Teaching, TrainConfig, ValueLoss,
    ValueSource,
};
pub use cpu::CpuBackend;
pub use device::{Device, open_backend};
pub use evaluation::{Evaluation, GroupScore};
pub use examples::{ABSENT, Examples, Facts, PolicyTargets, SoftTargets};
pub use feed_supply::{FeedSupply, SupplyOptions};
pub use forecast::{Forecast, Rates, forecast};
pub use initial_weights::{InitialWeightsError, initial_weights};
pub use judge::{JudgeError, PositionJudge};
pub use metrics::{MetricsLine, StepLine, Window, metrics_path, read_lines};
pub use run::{RunEnd, RunSettings, TrainError, Watch, Work, checkpoints_path, train};
pub use schedule::Budget;
pub use starts::{Start, add_start, read_starts, starts_path};
pub use supply::{Poll, Supply, SupplyError};
pub use tabia_nets as nets;
pub use tabia_nets::{ALIGNMENT, Decay, Initial, NetConfig, Parameter, ParameterTable};
pub use teacher::{Teacher, TeacherError};
pub use value_curve::ValueCurve;
