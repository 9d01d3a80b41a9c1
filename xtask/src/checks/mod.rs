//! Checks of the sources: sizes, links, dependency directions, licences.

pub(crate) mod directions;
pub(crate) mod licences;
pub(crate) mod links;
pub(crate) mod size;
