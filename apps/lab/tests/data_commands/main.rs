//! `tabia-lab data` as a user meets it: commands typed, files and text read.

mod annotate;
#[cfg(feature = "query")]
mod export;
mod faulty_disks;
mod folder;
mod head;
mod label;
mod label_sets;
mod made;
mod mates;
mod program;
mod stats;
mod verify;
