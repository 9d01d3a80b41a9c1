use std::str::FromStr;

use serde::{Deserialize, Serialize};
use shakmaty::Color;
use tsify::Tsify;

use crate::Fault;

/// A colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Tsify)]
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

impl FromStr for Side {
    type Err = Fault;

    fn from_str(text: &str) -> Result<Side, Fault> {
        match text {
            "white" => Ok(Side::White),
            "black" => Ok(Side::Black),
            _ => Err(Fault::new(format!("invalid side {text:?} (expected \"white\" or \"black\")"))),
        }
    }
}
