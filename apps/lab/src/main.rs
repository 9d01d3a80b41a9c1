//! `tabia-lab`: the half of Tabia that builds data and trains networks.

fn main() {}
