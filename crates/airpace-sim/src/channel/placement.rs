//! Positions of radios.

use crate::rng::Stream;

/// A position in metres.
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
    /// The position with these coordinates.
    #[must_use]
    pub const fn new(x: f64, y: f64, z: f64) -> Self {
        Self { x, y, z }
    }

    /// The distance to another position in metres.
    #[must_use]
    pub fn distance(self, other: Self) -> f64 {
        (self.x - other.x)
            .hypot(self.y - other.y)
            .hypot(self.z - other.z)
    }
}

/// `count` random positions in a horizontal square of `side_m` metres around `centre`. Position
/// number i depends only on the seed, the name and i, so that adding positions does not move the
/// others.
#[must_use]
pub fn uniform_in_square(
    seed: u64,
    name: &str,
    count: usize,
    side_m: f64,
    centre: Position,
) -> Vec<Position> {
    let mut positions = Vec::with_capacity(count);
    for index in 0..count as u64 {
        let mut stream = Stream::new(seed, name, index);
        let mut offset = || (stream.unit() - 0.5) * side_m;
        positions.push(Position {
            x: centre.x + offset(),
            y: centre.y + offset(),
            z: centre.z,
        });
    }
    positions
}
