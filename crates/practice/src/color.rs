//! Colours as `white` and `black`.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use shakmaty::Color;

/// A colour that can be sorted and serialised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// White.
    White,
    /// Black.
    Black,
}

impl From<Color> for Side {
    fn from(color: Color) -> Side {
        color.fold_wb(Side::White, Side::Black)
    }
}

impl From<Side> for Color {
    fn from(side: Side) -> Color {
        match side {
            Side::White => Color::White,
            Side::Black => Color::Black,
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Side::White => "White",
            Side::Black => "Black",
        })
    }
}

pub(crate) fn serialize<S: Serializer>(color: &Color, to: S) -> Result<S::Ok, S::Error> {
    Side::from(*color).serialize(to)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Color, D::Error> {
    Ok(Side::deserialize(from)?.into())
}
