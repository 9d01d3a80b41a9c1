//! The trainer on a real GPU, where there is one.

use std::path::Path;

use tabia_train::{TrainConfig, gpu};

use crate::configs::config;

#[test]
fn a_gpu_does_what_the_plain_trainer_does() {
    let there = Path::new("/dev/nvidiactl").exists().then_some(());
    let Some(()) = tabia_requires::of_machine("an NVIDIA GPU", there) else { return };
    let human = "name = 'small'\n[net]\nkind = 'human'\nwidth = 64\nheads = 2\nlayers = 2\ninner = 96\npair = 32\nhidden = 32\n[data]\nbatch = 64";
    for config in [TrainConfig::parse(human).unwrap(), config("nnue").0] {
        let mut said = Vec::new();
        let bad = gpu::check(&config, &mut said).unwrap();
        assert_eq!(bad, 0, "{}", String::from_utf8_lossy(&said));
    }
}
