use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};

use super::overrides::DataOverrides;
use super::watch::TerminalWatch;
use super::{Configuration, outlook};
use crate::command_line;
use crate::finished_file::write_whole;
use tabia_encoding::{Elo, RatingPool};
use tabia_runs::{OpenRun, RunCard, RunOutcome};
use tabia_stdio::stdout;
use tabia_train::checkpoint::{self, Checkpoint};
use tabia_train::{
    Budget, Device, FeedSupply, RunEnd, RunSettings, Start, SupplyOptions, Teacher, TrainConfig,
    TrainerState, add_start, checkpoints_path, forecast, initial_weights, open_backend, starts_path, train,
};

#[derive(Args, Debug)]
pub(super) struct RunArgs {
    /// Configuration of the network and its training.
    #[arg(value_name = "CONFIG")]
    config: Option<PathBuf>,
    /// Training sets, from `data build`.
    #[arg(long, value_name = "DIR", num_args = 1..)]
    data: Vec<PathBuf>,
    /// Weights of the sets, in order: their shares of the positions trained on [default: as many positions as they have].
    #[arg(long, value_name = "W,...", value_delimiter = ',', value_parser = weight)]
    mix: Vec<f64>,
    #[command(flatten)]
    overrides: DataOverrides,
    /// Folder for metrics and checkpoints [default: runs/NAME of the configuration].
    #[arg(long, value_name = "RUNDIR")]
    out: Option<PathBuf>,
    /// Device.
    #[arg(long, value_enum, default_value = "auto")]
    device: DeviceName,
    /// Time limit in seconds, including setup; the learning rate schedule adapts to it.
    ///
    /// A final evaluation follows, for at most a tenth of that time or 5 seconds.
    #[arg(long, value_name = "N")]
    max_seconds: Option<f64>,
    /// Number of positions to train on; the learning rate schedule adapts to it.
    #[arg(long, value_name = "N")]
    max_positions: Option<u64>,
    /// Continue the run in RUNDIR from its latest complete checkpoint.
    #[arg(long, conflicts_with = "init")]
    resume: bool,
    /// Initialise with the weights of a model file (.safetensors, .pt, .npz, an .onnx of ours), a run or a checkpoint.
    #[arg(long, value_name = "FILE|RUN|CHECKPOINT")]
    init: Option<PathBuf>,
    /// Teacher with a policy head for distillation, such as a Maia; repeatable, each with its rating.
    ///
    /// Its share of the positions is `data.teaching` in the configuration.
    #[arg(long, value_name = "FILE")]
    teacher: Vec<PathBuf>,
    /// Rating of each --teacher, in the same order.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(100..=4000))]
    teacher_elo: Vec<u16>,
    /// Rating pool of the teachers.
    #[arg(long, value_name = "online|over-the-board|unknown", default_value = "online")]
    teacher_pool: RatingPool,
    /// Random seed of the weights and of the order of samples.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of data loader threads [default: one less than the number of cores].
    #[arg(long)]
    threads: Option<usize>,
    /// Seconds between checkpoints.
    #[arg(long, value_name = "N", default_value_t = 120.0)]
    checkpoint_seconds: f64,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DeviceName {
    Cpu,
    Gpu,
    Auto,
}

pub(super) fn run(args: &RunArgs) -> anyhow::Result<()> {
    let started = Instant::now();
    let Some(path) = &args.config else { bail!("missing configuration, such as configs/human.toml") };
    let Configuration { config, text } = Configuration::read_with(path, &args.overrides)?;
    if args.data.is_empty() {
        bail!("missing --data with at least one set");
    }
    let Some(budget) = Budget::new(args.max_seconds, args.max_positions) else {
        bail!("missing --max-seconds or --max-positions, greater than zero");
    };
    let teachers = teachers(args)?;
    let folder = args.out.clone().unwrap_or_else(|| Path::new("runs").join(&config.name));
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;

    let earlier = earlier(args, &config, &folder)?;
    let seed = earlier.as_ref().map_or(args.seed, |checkpoint| checkpoint.head.seed);
    let device = match args.device {
        DeviceName::Cpu => Device::Cpu,
        DeviceName::Gpu => Device::Gpu,
        DeviceName::Auto => Device::Auto,
    };
    let mut backend = open_backend(device, &config, seed)?;
    if let Some(from) = &args.init {
        let weights = initial_weights(from, &config.net)?;
        backend.load(&TrainerState::fresh(weights))?;
    }
    if let Some(checkpoint) = &earlier {
        backend.load(&checkpoint.state)?;
    }
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads = args.threads.unwrap_or(cores.saturating_sub(1).max(1));
    let options = SupplyOptions { sets: args.data.clone(), mix: mix(args)?, seed, threads, teachers };
    let head = earlier.as_ref().map(|checkpoint| &checkpoint.head);
    let mut supply = FeedSupply::open(&config, options, head.map(|head| &head.supply))?;
    let parameters = backend.table().parameters();
    let mut card = RunCard::new(now(), serde_json::to_value(&config)?);
    (card.max_seconds, card.max_positions) = (args.max_seconds, args.max_positions);
    let facts = [
        ("device", backend.device().into()),
        ("parameters", parameters.into()),
        ("seed", seed.into()),
        ("data", args.data.iter().map(|set| set.to_string_lossy()).collect()),
        ("mix", args.mix.clone().into()),
        ("teachers", args.teacher.iter().map(|file| file.to_string_lossy()).collect()),
        ("init", args.init.as_ref().map(|from| from.to_string_lossy()).into()),
    ];
    card.facts = facts.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    let mut watch = TerminalWatch::new(started)?;
    watch.prepare_games(&config, &folder, earlier.is_some(), || Ok(backend.state()?.ema))?;
    let mut open_run = OpenRun::start(&folder, card)?;
    write_whole(&folder.join("config.toml"), text.as_bytes())?;
    let step = earlier.as_ref().map_or(0, |checkpoint| checkpoint.state.step);
    let start = Start { step, command: command_line::typed()?, device: backend.device() };
    add_start(&starts_path(&folder), &start).with_context(|| folder.display().to_string())?;

    let settings = RunSettings { config, seed, budget, folder, checkpoint_seconds: args.checkpoint_seconds };
    writeln!(stdout(), "{} parameters on {}, {threads} loader threads", parameters, backend.device())?;
    let end = forecast(&settings, &mut *backend, &mut supply, &watch, head).and_then(|forecast| {
        if let Some(forecast) = forecast {
            let batch = settings.config.data.batch;
            watch.say(&outlook::expected(&forecast, batch));
            if let Some(warning) = outlook::warning(&forecast, batch, backend.micro_batch().is_some()) {
                watch.say(&warning);
            }
        }
        train(&settings, &mut *backend, &mut supply, &mut watch, head)
    });
    drop(watch);
    let ending = match &end {
        Ok(end) if end.complete => RunOutcome::Complete,
        Ok(_) => RunOutcome::Stopped,
        Err(error) => RunOutcome::Failed(error.to_string()),
    };
    if let Some(step) = end.as_ref().ok().and_then(|end| end.dropped_step) {
        open_run.set_dropped_step(step);
    }
    let noted = open_run.finish(ending, now());
    // Report a failed run first.
    let end = end?;
    noted?;
    report(&end, head.map_or(0, |head| head.positions))
}

fn weight(text: &str) -> Result<f64, String> {
    let weight = text.parse().ok().filter(|weight: &f64| (0.0..=1e6).contains(weight));
    weight.ok_or_else(|| "expected a number from 0 to 1000000".to_owned())
}

/// The weights of the sets in thousandths.
fn mix(args: &RunArgs) -> anyhow::Result<Vec<u32>> {
    let (weights, sets) = (args.mix.len(), args.data.len());
    if weights > 0 && weights != sets {
        bail!("--mix has {weights} weights for {sets} sets (expected one for each)");
    }
    let thousandths: Vec<u32> = args.mix.iter().map(|weight| (1000.0 * weight).round() as u32).collect();
    if weights > 0 && thousandths.iter().all(|&weight| weight == 0) {
        bail!("--mix leaves nothing to train on: all weights are 0");
    }
    Ok(thousandths)
}

fn teachers(args: &RunArgs) -> anyhow::Result<Vec<Teacher>> {
    let (files, ratings) = (args.teacher.len(), args.teacher_elo.len());
    if files != ratings {
        bail!("{files} --teacher but {ratings} --teacher-elo (expected one for each teacher)");
    }
    let open = |(file, &elo): (&PathBuf, &u16)| Teacher::open(file, Elo(elo), args.teacher_pool);
    Ok(args.teacher.iter().zip(&args.teacher_elo).map(open).collect::<Result<_, _>>()?)
}

/// The checkpoint to continue from.
fn earlier(args: &RunArgs, config: &TrainConfig, folder: &Path) -> anyhow::Result<Option<Checkpoint>> {
    let found = checkpoint::list(&checkpoints_path(folder))?;
    if !args.resume {
        if let Some(latest) = found.first() {
            let latest = latest.display();
            bail!("{latest} already exists: continue it with --resume, or choose another folder with --out");
        }
        return Ok(None);
    }
    let mut damaged = Vec::new();
    for folder in &found {
        match checkpoint::read(folder) {
            Ok(checkpoint) => {
                if checkpoint.head.config.net != config.net || checkpoint.head.config.data != config.data {
                    bail!("{}: it was trained with another network or other data settings", folder.display());
                }
                // Optimiser states are not interchangeable.
                if checkpoint.head.config.optimiser.kind != config.optimiser.kind {
                    bail!(
                        "{}: it was trained with another optimiser; --init takes its weights",
                        folder.display()
                    );
                }
                return Ok(Some(checkpoint));
            }
            Err(error) => damaged.push(error.to_string()),
        }
    }
    if damaged.is_empty() {
        bail!("{}: no checkpoint to continue from", folder.display());
    }
    bail!("no checkpoint can be read: {}", damaged.join("; "))
}

/// Seconds since 1970; 0 if the clock is before that.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// `positions` is the number of positions of earlier starts.
fn report(end: &RunEnd, positions: u64) -> anyhow::Result<()> {
    let mut out = stdout();
    if let Some(step) = end.dropped_step {
        let reason = if end.complete { "time limit reached" } else { "stopped" };
        writeln!(out, "{reason} in step {step}, which was dropped: the checkpoint is of step {}", end.step)?;
    }
    let spent = end.trained.max(1e-9);
    writeln!(
        out,
        "RESULT {} steps, {} positions, {:.1} s, {:.0} positions/s, {:.1}% of the time waiting for data; {} ({})",
        end.step,
        end.positions,
        end.seconds,
        (end.positions - positions) as f64 / spent,
        100.0 * end.waited / spent,
        end.checkpoint.display(),
        if end.complete { "complete" } else { "stopped; continue with --resume" }
    )?;
    Ok(())
}
