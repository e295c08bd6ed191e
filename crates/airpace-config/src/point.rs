//! Coordinates.

use crate::declaration::Kind;
use crate::quantity::Length;
use crate::setting::Setting;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// A point in the plane: `["3 m", "4 m"]`.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Point(pub Length, pub Length);

impl Setting for Point {
    fn kind() -> Kind {
        Kind::Value {
            what: "pair of coordinates",
            example: "[\"3 m\", \"4 m\"]",
        }
    }
    fn from_text(text: &str) -> Option<Self> {
        let (x, y) = text.split_once(',')?;
        Some(Self(x.parse().ok()?, y.parse().ok()?))
    }
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let point = Self::deserialize(deserializer)?;
        // Greater coordinates than the size of the Earth are typing errors.
        let plausible = |length: Length| length.0.abs() <= 1e7;
        if plausible(point.0) && plausible(point.1) {
            Ok(point)
        } else {
            Err(D::Error::custom("coordinates must be within 10000 km"))
        }
    }
}
