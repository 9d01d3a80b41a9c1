use std::path::PathBuf;
use std::sync::Arc;

use shakmaty::Position;
use tabia_data::{
    Analysed, Feed, FeedError, Filter, GameHead, Lane, RecordKind, Repeat, Sample, Set, Side, Split, SplitBy,
    Stream, StreamError, StreamOptions, StreamState, Target, repeats,
};

use crate::supply::{Poll, Supply, SupplyError};
use crate::{
    Choices, ExampleBuilder, Examples, HeldOutBy, NetConfig, Positions, RatingBalance, Root, Teacher,
    TrainConfig,
};

/// The order in which held-out positions come.
pub(crate) const HELD_OUT_SEED: u64 = 2;
/// Samples whose ratings are counted before balancing.
const BALANCE_SAMPLE: usize = 20_000;
/// Positions before one that a two-input network's context is taken from, and that teachers see.
const EARLIER: u32 = 8;
/// Batches each lane may be ahead.
const AHEAD: usize = 2;
/// Lanes and cursors of the held-out stream: few are held out, so more cursors would take long to fill.
const HELD_OUT_LANES: u32 = 8;
const HELD_OUT_CURSORS: u32 = 512;
/// Held-out positions kept in memory, for the next evaluation.
const REMEMBERED: usize = 40_000;

/// A position with all its moves is about as many positions.
const POSITIONS_A_ROOT: usize = 32;
/// No position has more legal moves.
const MOST_MOVES: usize = 218;
/// Positions looked at for each that has all its moves.
const LOOKED_AT: usize = 8;
/// Positions drawn at a time.
const DRAWN: usize = 64;

/// Where the examples of a run come from.
#[derive(Clone, Debug)]
pub struct SupplyOptions {
    /// The folders of the sets.
    pub sets: Vec<PathBuf>,
    /// How much each set counts, relative to the others; empty for as much as it has positions.
    pub mix: Vec<u32>,
    /// The seed of the order and of dropout.
    pub seed: u64,
    /// Threads that make batches. Their number changes nothing but the speed.
    pub threads: usize,
    /// Networks to learn from, beside people.
    pub teachers: Vec<Teacher>,
}

/// Examples from sets of shards, made by threads ahead of their use.
pub struct FeedSupply {
    config: TrainConfig,
    options: SupplyOptions,
    sets: Vec<Arc<Set>>,
    balance: RatingBalance,
    feed: Feed<Result<Examples, String>>,
    /// The first held-out batches, once they were made.
    remembered: Vec<Examples>,
    /// The last held-out positions to choose moves in, and how many there were to be.
    remembered_choices: Option<(usize, Vec<Choices>)>,
}

fn failed(error: impl std::fmt::Display) -> SupplyError {
    SupplyError::Failed(error.to_string())
}

fn not_fed(error: FeedError) -> SupplyError {
    match error {
        FeedError::Cancelled => SupplyError::Cancelled,
        other => failed(other),
    }
}

impl FeedSupply {
    /// Opens the sets and starts the threads, at the beginning or at the `place` of a checkpoint.
    ///
    /// # Errors
    /// If a set cannot be opened, the place is one in other sets, or the network's encoding is not known.
    pub fn open(
        config: &TrainConfig,
        options: SupplyOptions,
        place: Option<&serde_json::Value>,
    ) -> Result<Self, SupplyError> {
        let sets = options.sets.iter().map(|dir| Set::open(dir).map(Arc::new).map_err(failed));
        let sets: Vec<Arc<Set>> = sets.collect::<Result<_, _>>()?;
        if sets.is_empty() {
            return Err(SupplyError::Failed("no set was named".to_owned()));
        }
        if !options.mix.is_empty() && options.mix.len() != sets.len() {
            let (weights, sets) = (options.mix.len(), sets.len());
            return Err(SupplyError::Failed(format!("a mix of {weights} weights for {sets} sets")));
        }
        if config.data.siblings > 0
            && let Some(games) = sets.iter().find(|set| set.manifest().kind == RecordKind::Games)
        {
            let set = games.dir().display();
            return Err(SupplyError::Failed(format!(
                "data.siblings needs evaluations, and {set} holds games"
            )));
        }
        let mut stream_options = stream_options(config, Side::Training, options.seed);
        stream_options.mix.clone_from(&options.mix);
        let teachers: Arc<[Teacher]> = options.teachers.as_slice().into();
        if !teachers.is_empty() {
            stream_options.earlier = EARLIER;
        }
        let balance = balance(config, &sets, &stream_options)?;
        let stream = match place {
            Some(place) => {
                let state: StreamState = serde_json::from_value(place.clone()).map_err(failed)?;
                Stream::resume(sets.clone(), stream_options, &state).map_err(failed)?
            }
            None => Stream::new(sets.clone(), stream_options),
        };
        let sample = RecordSample::of(config, &sets);
        let feed = start(config, &balance, teachers, stream, sample, options.seed, options.threads)?;
        Ok(FeedSupply {
            config: config.clone(),
            options,
            sets,
            balance,
            feed,
            remembered: Vec::new(),
            remembered_choices: None,
        })
    }
}

fn stream_options(config: &TrainConfig, side: Side, seed: u64) -> StreamOptions {
    let data = &config.data;
    let by = match data.held_out_by {
        HeldOutBy::Record => SplitBy::Record,
        HeldOutBy::Player => SplitBy::Player,
    };
    let earlier = if matches!(config.net, NetConfig::Pair(_)) { EARLIER } else { 0 };
    StreamOptions {
        seed,
        split: Split::of_training(data.held_out_ppm, by),
        side,
        lanes: data.lanes,
        cursors: data.cursors,
        repeat: if side == Side::Training { Repeat::Forever } else { Repeat::Once },
        filter: Filter { min_ply: data.first_ply, min_depth: data.min_depth, ..Filter::default() },
        earlier,
        analysed: analysed(config),
        mix: Vec::new(),
    }
}

fn analysed(config: &TrainConfig) -> Analysed {
    let most = config.data.children_per_record;
    if config.data.siblings > 0 {
        // The builder takes the moves of a record together.
        return Analysed::Roots;
    }
    match config.data.positions {
        Positions::Roots => Analysed::Roots,
        Positions::Children => Analysed::Children { most },
        Positions::Both => Analysed::Both { most },
    }
}

/// What the sets hold out, and the configuration that makes examples of it: an evaluation sees every condition that is known.
pub(crate) fn held_out_stream(config: &TrainConfig, sets: Vec<Arc<Set>>) -> (TrainConfig, Stream) {
    let mut config = config.clone();
    (config.data.lanes, config.data.cursors) = (HELD_OUT_LANES, HELD_OUT_CURSORS);
    config.data.dropout = crate::Dropout::default();
    config.data.mirror = 0.0;
    // Every move counts, one by one.
    config.data.siblings = 0;
    let options = stream_options(&config, Side::HeldOut, HELD_OUT_SEED);
    (config, Stream::new(sets, options))
}

/// Some of what training sees, as it sees it, in lanes short enough to begin quickly.
pub(crate) fn calibration_stream(config: &TrainConfig, sets: Vec<Arc<Set>>, seed: u64) -> Stream {
    let options = StreamOptions {
        lanes: HELD_OUT_LANES,
        cursors: HELD_OUT_CURSORS,
        repeat: Repeat::Once,
        ..stream_options(config, Side::Training, seed)
    };
    Stream::new(sets, options)
}

fn balance(
    config: &TrainConfig,
    sets: &[Arc<Set>],
    options: &StreamOptions,
) -> Result<RatingBalance, SupplyError> {
    if config.data.balance_ratings <= 1.0 {
        return Ok(RatingBalance::even());
    }
    let mut heads: Vec<GameHead> = Vec::new();
    let mut stream = Stream::new(sets.to_vec(), options.clone());
    let drawn = stream.draw(BALANCE_SAMPLE, |sample| {
        if let Target::Game(game) = &sample.target {
            heads.push(*game.head);
        }
    });
    drawn.map_err(failed)?;
    Ok(RatingBalance::of_sample(heads.iter(), config.data.balance_ratings))
}

fn start(
    config: &TrainConfig,
    balance: &RatingBalance,
    teachers: Arc<[Teacher]>,
    stream: Stream,
    sample: Option<RecordSample>,
    seed: u64,
    threads: usize,
) -> Result<Feed<Result<Examples, String>>, SupplyError> {
    let unknown = || SupplyError::Failed(format!("the encoding {} is not known", config.net.encoding()));
    ExampleBuilder::new(config, balance.clone()).ok_or_else(unknown)?;
    let (config, balance) = (config.clone(), balance.clone());
    let make = move |lane: &mut Lane| -> Result<Option<Result<Examples, String>>, StreamError> {
        let builder = ExampleBuilder::new(&config, balance.clone()).expect("was made once before");
        let mut builder = builder.taught_by(Arc::clone(&teachers));
        let mut skipped = 0;
        while builder.rows() < config.data.batch {
            match lane.draw()? {
                Some(drawn) if sample.as_ref().is_some_and(|sample| !sample.contains(&drawn)) => {
                    skipped += 1;
                    // None of the sample may be in this lane.
                    if sample.as_ref().is_some_and(|sample| skipped > 2 * sample.positions) {
                        break;
                    }
                }
                Some(drawn) => builder.push(&drawn, seed),
                None => break,
            }
        }
        if builder.rows() == 0 {
            return Ok(None);
        }
        builder.pad(config.data.batch);
        Ok(Some(builder.hold_distillation().map(|()| builder.take())))
    };
    Feed::start(stream, threads, AHEAD, make).map_err(failed)
}

/// A random sample of the records of sets, the same in every run.
#[derive(Clone, Copy, Debug)]
struct RecordSample {
    /// Of `out_of` records so many are in it.
    count: u64,
    out_of: u64,
    /// All positions of the sets.
    positions: u64,
}

impl RecordSample {
    /// The sample that the configuration asks for; `None` if it asks for all records.
    fn of(config: &TrainConfig, sets: &[Arc<Set>]) -> Option<RecordSample> {
        let out_of: u64 = sets.iter().map(|set| set.records()).sum();
        let count = config.data.num_samples.filter(|count| *count < out_of)?;
        Some(RecordSample { count, out_of, positions: sets.iter().map(|set| set.positions()).sum() })
    }

    fn contains(&self, sample: &Sample<'_>) -> bool {
        let place = sample.record.0 ^ u64::from(sample.set) << 56;
        let mixed = place.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31);
        mixed.wrapping_mul(0xbf58_476d_1ce4_e5b9) % self.out_of < self.count
    }
}

/// What was collected, in at least one row: no backend evaluates nothing.
fn choices(builder: &mut ExampleBuilder, roots: &mut Vec<Root>) -> Choices {
    builder.pad(1);
    Choices { examples: builder.take(), roots: std::mem::take(roots) }
}

/// How many of a batch are not padding.
fn counting(examples: &Examples) -> usize {
    examples.weights.iter().filter(|weight| **weight > 0.0).count()
}

impl FeedSupply {
    fn start_held_out(&self) -> Result<Feed<Result<Examples, String>>, SupplyError> {
        let (config, stream) = held_out_stream(&self.config, self.sets.clone());
        start(&config, &self.balance, Arc::default(), stream, None, HELD_OUT_SEED, self.options.threads)
    }
}

impl FeedSupply {
    /// Makes the first `roots` held-out positions whose every move was evaluated, as many at a time as a batch has room for.
    fn make_choices(
        &self,
        roots: usize,
        poll: Poll<'_>,
        each: &mut dyn FnMut(Choices) -> Result<(), SupplyError>,
    ) -> Result<(), SupplyError> {
        let options = StreamOptions {
            analysed: Analysed::Roots,
            lanes: HELD_OUT_LANES,
            cursors: HELD_OUT_CURSORS,
            ..stream_options(&self.config, Side::HeldOut, HELD_OUT_SEED)
        };
        let analysed = self.sets.iter().filter(|set| set.manifest().kind == RecordKind::Evaluations);
        let mut stream = Stream::new(analysed.cloned().collect(), options);
        let unknown =
            || SupplyError::Failed(format!("the encoding {} is not known", self.config.net.encoding()));
        let mut config = self.config.clone();
        config.data.siblings = 0;
        let mut builder = ExampleBuilder::new(&config, self.balance.clone()).ok_or_else(unknown)?;
        let most_rows = self.config.data.batch.max(MOST_MOVES);
        let (mut pending, mut looked_at, mut found) = (Vec::new(), 0, 0);
        // Where few positions have all their moves, looking for more would take too long.
        while found < roots && looked_at < LOOKED_AT * roots {
            if poll().is_break() {
                return Err(SupplyError::Cancelled);
            }
            let mut full = Vec::new();
            let drawn = stream.draw((roots - found).min(DRAWN), |sample| {
                let Target::Evaluation(record) = &sample.target else { return };
                if builder.rows() + record.position.legal_moves().len() > most_rows {
                    full.push(choices(&mut builder, &mut pending));
                }
                if let Some(root) = builder.push_root(record) {
                    pending.push(root);
                    found += 1;
                }
            });
            let drawn = drawn.map_err(failed)?;
            if drawn == 0 {
                break;
            }
            looked_at += drawn;
            full.into_iter().try_for_each(&mut *each)?;
        }
        if pending.is_empty() { Ok(()) } else { each(choices(&mut builder, &mut pending)) }
    }
}

impl Supply for FeedSupply {
    fn next_polling(&mut self, poll: Poll<'_>) -> Result<Examples, SupplyError> {
        let nothing =
            || SupplyError::Failed("there is nothing in these sets that the network could learn".to_owned());
        self.feed.next_polling(poll).map_err(not_fed)?.ok_or_else(nothing)?.map_err(failed)
    }

    fn put_back(&mut self, examples: Examples) {
        self.feed.put_back(Ok(examples));
    }

    fn positions(&self, side: Side) -> Option<u64> {
        // How many positions lie behind the moves of a record is not written anywhere.
        if self.config.data.positions != Positions::Roots {
            return None;
        }
        let positions: Vec<u64> = self.sets.iter().map(|set| set.positions()).collect();
        let mix: &[u32] = if side == Side::Training { &self.options.mix } else { &[] };
        let repeats = repeats(&positions, mix);
        let all: f64 = positions.iter().zip(repeats).map(|(&count, repeats)| count as f64 * repeats).sum();
        let held_out = f64::from(self.config.data.held_out_ppm) / 1e6;
        let share = match side {
            Side::Training => 1.0 - held_out,
            Side::HeldOut => held_out,
            Side::All => 1.0,
        };
        Some((all * share) as u64)
    }

    fn place(&self) -> serde_json::Value {
        serde_json::to_value(self.feed.state()).expect("a stream's state holds only numbers and text")
    }

    fn held_out(
        &mut self,
        positions: usize,
        poll: Poll<'_>,
        each: &mut dyn FnMut(&Examples) -> Result<(), SupplyError>,
    ) -> Result<(), SupplyError> {
        if self.config.data.held_out_ppm == 0 {
            return Ok(());
        }
        let mut seen = 0;
        let mut batches = self.remembered.iter();
        while seen < positions
            && let Some(examples) = batches.next()
        {
            each(examples)?;
            seen += counting(examples);
        }
        if seen >= positions {
            return Ok(());
        }
        let mut feed = self.start_held_out()?;
        let mut from_start = 0;
        while from_start < positions {
            let Some(examples) = feed.next_polling(poll).map_err(not_fed)? else { break };
            let examples = examples.map_err(failed)?;
            from_start += counting(&examples);
            if from_start <= seen {
                continue;
            }
            each(&examples)?;
            if from_start <= REMEMBERED {
                self.remembered.push(examples);
            }
        }
        Ok(())
    }

    fn choices(
        &mut self,
        roots: usize,
        poll: Poll<'_>,
        each: &mut dyn FnMut(&Choices) -> Result<(), SupplyError>,
    ) -> Result<(), SupplyError> {
        let data = &self.config.data;
        if data.held_out_ppm == 0 || data.positions == Positions::Roots {
            return Ok(());
        }
        if let Some((wanted, choices)) = &self.remembered_choices
            && *wanted == roots
        {
            return choices.iter().try_for_each(each);
        }
        let mut remembered = Vec::new();
        self.make_choices(roots, poll, &mut |choices| {
            each(&choices)?;
            if roots <= REMEMBERED / POSITIONS_A_ROOT {
                remembered.push(choices);
            }
            Ok(())
        })?;
        self.remembered_choices = (!remembered.is_empty()).then_some((roots, remembered));
        Ok(())
    }

    fn describe(&self) -> String {
        let set = |set: &Arc<Set>| {
            let manifest = set.manifest();
            let mut sources: Vec<&str> = manifest.sources.iter().map(|source| source.name.as_str()).collect();
            // A set that does not say where it comes from is at least called something.
            if sources.is_empty() {
                sources.extend(set.dir().file_name().and_then(|name| name.to_str()));
            }
            format!("{} {} of {}", manifest.records, manifest.kind, sources.join(", "))
        };
        self.sets.iter().map(set).collect::<Vec<_>>().join("; ")
    }
}
