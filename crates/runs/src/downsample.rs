//! Downsamples metrics by averaging neighbouring lines.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use serde_json::{Map, Number, Value};

/// Keys that are not averaged: the last value of a bucket is kept.
const LAST_VALUE_KEYS: [&str; 4] = ["step", "positions", "seconds", "lr"];

/// Keeps at most `max_lines` step lines and as many evaluation lines. Memory is bounded by that, not by the file size.
pub(crate) struct Downsampler {
    max_lines: usize,
    steps: Vec<Bucket>,
    lines_per_bucket: u64,
    evaluations: Vec<String>,
    evaluation_stride: u64,
    evaluations_seen: u64,
    last_evaluation: Option<String>,
    unreadable: u64,
}

/// Neighbouring step lines merged into one.
struct Bucket {
    lines: u64,
    /// Original text of a bucket of one line.
    text: Option<String>,
    means: Vec<(String, Mean)>,
    rest: Map<String, Value>,
}

#[derive(Clone, Copy)]
struct Mean {
    count: u64,
    sum: f64,
}

impl Downsampler {
    pub(crate) fn new(max_lines: usize) -> Self {
        Downsampler {
            max_lines: max_lines.max(2),
            steps: Vec::new(),
            lines_per_bucket: 1,
            evaluations: Vec::new(),
            evaluation_stride: 1,
            evaluations_seen: 0,
            last_evaluation: None,
            unreadable: 0,
        }
    }

    pub(crate) fn add(&mut self, line: &[u8]) {
        let Ok(object) = serde_json::from_slice::<Map<String, Value>>(line) else {
            self.unreadable += u64::from(!line.trim_ascii().is_empty());
            return;
        };
        let text = String::from_utf8_lossy(line).into_owned();
        match object.get("kind").and_then(Value::as_str) {
            Some("step") => self.add_step(object, text),
            Some("evaluation") => self.add_evaluation(text),
            // Kinds added by later versions are ignored.
            _ => {}
        }
    }

    fn add_step(&mut self, object: Map<String, Value>, text: String) {
        let line = Bucket::new(object, text);
        match self.steps.last_mut() {
            Some(last) if last.lines < self.lines_per_bucket => last.merge(line),
            _ => self.steps.push(line),
        }
        if self.steps.len() > self.max_lines {
            self.lines_per_bucket *= 2;
            let mut pairs = std::mem::take(&mut self.steps).into_iter();
            while let Some(mut first) = pairs.next() {
                if let Some(second) = pairs.next() {
                    first.merge(second);
                }
                self.steps.push(first);
            }
        }
    }

    /// Evaluations are thinned, not averaged. The last one is always kept.
    fn add_evaluation(&mut self, text: String) {
        if self.evaluations_seen.is_multiple_of(self.evaluation_stride) {
            self.evaluations.push(text);
            self.last_evaluation = None;
        } else {
            self.last_evaluation = Some(text);
        }
        self.evaluations_seen += 1;
        if self.evaluations.len() > self.max_lines {
            self.evaluation_stride *= 2;
            let mut keep = false;
            let last = self.evaluations.last().cloned();
            self.evaluations.retain(|_| {
                keep = !keep;
                keep
            });
            self.last_evaluation = last.filter(|last| self.evaluations.last() != Some(last));
        }
    }

    /// Number of lines that are not JSON objects.
    pub(crate) fn unreadable(&self) -> u64 {
        self.unreadable
    }

    pub(crate) fn finish(mut self) -> String {
        if self.last_evaluation.is_some() && self.evaluations.len() == self.max_lines {
            self.evaluations.pop();
        }
        let mut text = String::new();
        let steps = self.steps.into_iter().map(Bucket::into_text);
        for line in steps.chain(self.evaluations).chain(self.last_evaluation) {
            text.push_str(&line);
            text.push('\n');
        }
        text
    }
}

impl Bucket {
    fn new(object: Map<String, Value>, text: String) -> Self {
        let mut bucket = Bucket { lines: 1, text: Some(text), means: Vec::new(), rest: Map::new() };
        for (key, value) in object {
            let number = value.as_f64().filter(|_| !LAST_VALUE_KEYS.contains(&key.as_str()));
            match number {
                Some(number) => bucket.means.push((key, Mean { count: 1, sum: number })),
                None => drop(bucket.rest.insert(key, value)),
            }
        }
        bucket
    }

    fn merge(&mut self, later: Bucket) {
        self.lines += later.lines;
        self.text = None;
        self.rest.extend(later.rest);
        for (key, mean) in later.means {
            match self.means.iter_mut().find(|(known, _)| *known == key) {
                Some((_, known)) => {
                    *known = Mean { count: known.count + mean.count, sum: known.sum + mean.sum };
                }
                None => self.means.push((key, mean)),
            }
        }
    }

    fn into_text(self) -> String {
        if let Some(text) = self.text {
            return text;
        }
        let mut object = self.rest;
        for (key, Mean { count, sum }) in self.means {
            // NaN is written as null and does not enter the mean.
            object.insert(key, Number::from_f64(sum / count as f64).map_or(Value::Null, Value::Number));
        }
        object.insert("lines".to_owned(), self.lines.into());
        Value::Object(object).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(step: u64) -> String {
        format!(r#"{{"kind":"step","step":{step},"positions":{},"loss":{step}.0,"new":"x"}}"#, step * 10)
    }

    fn read(text: &str) -> Vec<Value> {
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn short_files_are_unchanged() {
        let mut downsampler = Downsampler::new(4);
        let lines: Vec<String> = (1..=4).map(step).collect();
        lines.iter().for_each(|line| downsampler.add(line.as_bytes()));
        assert_eq!(downsampler.finish(), lines.join("\n") + "\n");
    }

    #[test]
    fn every_line_enters_exactly_one_mean() {
        for count in [5, 8, 9, 100, 1000] {
            let mut downsampler = Downsampler::new(8);
            (1..=count).for_each(|number| downsampler.add(step(number).as_bytes()));
            let lines = read(&downsampler.finish());
            assert!((4..=8).contains(&lines.len()), "{count}: {}", lines.len());
            let last = lines.last().unwrap();
            assert_eq!((&last["step"], &last["positions"]), (&count.into(), &(count * 10).into()));
            assert_eq!(last["new"], "x");
            let covered = |line: &Value| line["lines"].as_u64().unwrap_or(1);
            assert_eq!(lines.iter().map(covered).sum::<u64>(), count);
            let total: f64 =
                lines.iter().map(|line| covered(line) as f64 * line["loss"].as_f64().unwrap()).sum();
            assert!((total - (count * (count + 1) / 2) as f64).abs() < 1e-6, "{count}: {total}");
        }
    }

    #[test]
    fn first_and_last_evaluation_are_kept() {
        for count in 1..50_u64 {
            let mut downsampler = Downsampler::new(6);
            for number in 0..count {
                downsampler
                    .add(format!(r#"{{"kind":"evaluation","step":{number},"groups":{{}}}}"#).as_bytes());
            }
            let steps: Vec<u64> =
                read(&downsampler.finish()).iter().map(|line| line["step"].as_u64().unwrap()).collect();
            assert!(steps.is_sorted_by(|a, b| a < b), "{steps:?}");
            assert_eq!((steps.first(), steps.last()), (Some(&0), Some(&(count - 1))));
            assert!(steps.len() <= 6 && steps.len() as u64 >= count.min(4), "{steps:?}");
        }
    }

    #[test]
    fn nulls_do_not_enter_means() {
        let mut downsampler = Downsampler::new(2);
        for line in [r#"{"kind":"step","step":1,"loss":null}"#, r#"{"kind":"step","step":2,"loss":4.0}"#] {
            downsampler.add(line.as_bytes());
        }
        (3..=4).for_each(|number| downsampler.add(step(number).as_bytes()));
        let lines = read(&downsampler.finish());
        assert_eq!(lines[0]["loss"], 4.0);
    }

    #[test]
    fn invalid_lines_are_counted_and_unknown_kinds_ignored() {
        let mut downsampler = Downsampler::new(4);
        for line in ["{\"kind\":\"step\",", "17", "", "{\"kind\":\"later\"}", "{}", "\u{fffd}"] {
            downsampler.add(line.as_bytes());
        }
        assert_eq!(downsampler.unreadable(), 3);
        assert_eq!(downsampler.finish(), "");
    }
}
