//! `tabia-lab data` as a user meets it: commands typed, files and text read.

mod annotate;
mod export;
mod faulty_disks;
mod folder;
mod head;
mod label;
mod made;
mod program;
mod stats;
mod verify;
