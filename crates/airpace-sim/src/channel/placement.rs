//! Where radios are.

use crate::rng::Stream;

/// A place in metres.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Position {
    /// East.
    pub x: f64,
    /// North.
    pub y: f64,
    /// Up.
    pub z: f64,
}

impl Position {
    /// The place with these coordinates.
    #[must_use]
    pub const fn new(x: f64, y: f64, z: f64) -> Self {
        Self { x, y, z }
    }

    /// The distance to another place in metres.
    #[must_use]
    pub fn distance(self, other: Self) -> f64 {
        (self.x - other.x)
            .hypot(self.y - other.y)
            .hypot(self.z - other.z)
    }
}

/// `count` places at random in a horizontal square of `side_m` metres around `centre`. Place number i depends on the seed, the name and
/// i only, so that more places leave the others where they are.
#[must_use]
pub fn uniform_in_square(
    seed: u64,
    name: &str,
    count: usize,
    side_m: f64,
    centre: Position,
) -> Vec<Position> {
    let place = |index| {
        let mut stream = Stream::new(seed, name, index);
        let mut offset = || (stream.unit() - 0.5) * side_m;
        Position {
            x: centre.x + offset(),
            y: centre.y + offset(),
            z: centre.z,
        }
    };
    (0..count as u64).map(place).collect()
}
