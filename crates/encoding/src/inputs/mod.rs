//! Positions as input tensors: one file per encoding.

pub(crate) mod challenge_1540;
pub(crate) mod challenge_768;
pub(crate) mod humchess_68;
pub(crate) mod humchess_74;
pub(crate) mod lc0_112;
pub(crate) mod maia2_18;
pub(crate) mod maia3;
pub(crate) mod pair_769;
pub(crate) mod policy_837;
pub(crate) mod policy_planes_13;
pub(crate) mod policy_planes_17;
pub(crate) mod policy_planes_18;
pub(crate) mod rusty_774;
pub(crate) mod rusty_902;
pub(crate) mod rusty_planes_15;
pub(crate) mod searchless_79;
pub(crate) mod tabia_human_1;
pub(crate) mod tabia_human_2;
