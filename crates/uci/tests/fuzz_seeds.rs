//! Every committed fuzz input goes through the parsers and comes back: what fuzzing found once stays fixed.

use std::path::Path;

use tabia_uci::{
    Lines,
    message::{Command, Reply},
};

#[test]
fn every_seed_is_read_and_what_is_read_comes_back() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/uci");
    let mut messages = 0;
    for entry in std::fs::read_dir(folder).expect("the parsers have a folder of seeds") {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        for line in Lines::new(bytes.as_slice(), 1 << 12).map(Result::unwrap) {
            if let Ok(command) = line.parse::<Command>() {
                assert_eq!(command.to_string().parse(), Ok(command), "{line}");
                messages += 1;
            }
            if let Ok(reply) = line.parse::<Reply>() {
                assert_eq!(reply.to_string().parse(), Ok(reply), "{line}");
                messages += 1;
            }
        }
    }
    assert!(messages > 30, "{messages}");
}
