//! Clients that send every default back.

use super::MIDDLEGAME;
use super::session::{Session, field, with_file};

/// An option as it is offered: its name, and its default.
fn defaults(session: &mut Session) -> Vec<(String, String)> {
    session.send("uci");
    let lines = session.until("uciok");
    let option = |line: &String| {
        let (name, rest) = line.strip_prefix("option name ")?.split_once(" type ")?;
        let default = rest.split_once(" default ")?.1;
        let spin = field(rest, "min").zip(field(rest, "max"));
        let default = match spin {
            Some((min, max)) => {
                let default = field(rest, "default").expect("just found");
                let [default, min, max] = [default, min, max].map(|n| n.parse::<i64>().expect("a number"));
                assert!((min..=max).contains(&default), "{line}");
                default.to_string()
            }
            None => default.split(" var ").next().expect("the part before").to_owned(),
        };
        Some((name.to_owned(), default))
    };
    lines.iter().filter_map(option).collect()
}

/// What the player says of a position, without what depends on time.
fn said(spec: &str, echo: bool) -> Vec<String> {
    let mut session = Session::start(spec);
    let options = defaults(&mut session);
    if echo {
        for (name, default) in &options {
            session.send(&format!("setoption name {name} value {default}"));
        }
    }
    let complaints = session.ready();
    assert_eq!(complaints.len(), 1, "{spec}: {complaints:?}");
    if options.iter().any(|(name, _)| name == "MultiPV") {
        session.send("setoption name MultiPV value 4");
    }
    session.send(&format!("position fen {MIDDLEGAME}"));
    let mut lines = session.go("nodes 2000").infos;
    lines.extend((0..3).map(|_| session.go("nodes 2000").best));
    session.quit();
    let timeless = |line: &String| {
        let mut words = line.split(' ');
        let mut kept = Vec::new();
        while let Some(word) = words.next() {
            if matches!(word, "time" | "nps") {
                words.next();
            } else {
                kept.push(word);
            }
        }
        kept.join(" ")
    };
    lines.iter().map(timeless).collect()
}

#[test]
fn sending_every_default_back_changes_nothing() {
    let mut specs: Vec<String> = [
        "level:2,seed=1",
        "random,seed=1",
        "engine,eval=baseline",
        "engine,eval=baseline,hash=3,depth=5",
        "engine",
        "human,seed=1",
        "human,elo=600,seed=1",
        "human,elo=2600,seed=1",
        "human,elo=1500,strength=raw,seed=1",
        "human,elo=1500,mode=argmax",
        "human,elo=1500,temp=20,seed=1",
        "human,elo=1500,top_p=0.7,seed=1",
        "human,elo=1500,trust=50,nodes=500,seed=1",
        "human,elo=1500,mates=1,temp=0.3,seed=1",
    ]
    .map(str::to_owned)
    .into();
    specs.extend([
        with_file("net", "fixtures/models/challenge-mlp.onnx", ""),
        with_file("net", "fixtures/models/challenge-mlp.onnx", ",search=ab,threads=1"),
        with_file("maia", "fixtures/models/lc0-plain-conv.pb.gz", ",temp=15,top_p=0.9,seed=1"),
        with_file("human", "fixtures/models/human.safetensors", ",elo=1200,trust=9,seed=1"),
    ]);
    for spec in specs {
        assert_eq!(said(&spec, true), said(&spec, false), "{spec}");
    }
}
