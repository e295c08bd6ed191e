//! The settings that a sweep varies, and the grid of their values.

use crate::file::Override;
use std::str::FromStr;

/// A setting and its values: `--over key=a,b,c`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Axis {
    /// The key, as for `--set`.
    pub key: String,
    /// Its values.
    pub values: Vec<String>,
}

/// One point of the grid: a value for each key.
pub type Point = Vec<Override>;

impl FromStr for Axis {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let Override { key, value } = text.parse()?;
        let values = split(&value);
        if values.iter().any(String::is_empty) {
            return Err(format!(
                "`{text}` has an empty value: write for example node.station.count=1,2,5"
            ));
        }
        Ok(Self { key, values })
    }
}

/// Splits at the commas outside brackets, braces and quotes.
fn split(text: &str) -> Vec<String> {
    let (mut depth, mut quoted) = (0_i32, false);
    let mut values = vec![String::new()];
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            '[' | '{' if !quoted => depth += 1,
            ']' | '}' if !quoted => depth -= 1,
            _ => {}
        }
        if c == ',' && depth == 0 && !quoted {
            values.push(String::new());
        } else if let Some(last) = values.last_mut() {
            last.push(c);
        }
    }
    values
        .into_iter()
        .map(|value| value.trim().to_owned())
        .collect()
}

/// Every combination of the axes' values; the last axis varies fastest. Without axes there is one
/// point without settings.
#[must_use]
pub fn grid(axes: &[Axis]) -> Vec<Point> {
    let mut points = vec![Vec::new()];
    for axis in axes {
        let mut extended = Vec::new();
        for point in &points {
            for value in &axis.values {
                let mut point: Point = point.clone();
                point.push(Override {
                    key: axis.key.clone(),
                    value: value.clone(),
                });
                extended.push(point);
            }
        }
        points = extended;
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_has_every_combination() {
        let axes: Vec<Axis> = ["a=1,2", "b=x , y,z"]
            .iter()
            .map(|text| text.parse().unwrap())
            .collect();
        let points: Vec<String> = grid(&axes)
            .iter()
            .map(|point| {
                point
                    .iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
                    .join(" ")
            })
            .collect();
        assert_eq!(
            points,
            [
                "a=1 b=x", "a=1 b=y", "a=1 b=z", "a=2 b=x", "a=2 b=y", "a=2 b=z"
            ]
        );
        assert_eq!(grid(&[]), [Vec::new()]);
    }

    #[test]
    fn commas_within_values_stay() {
        let axis: Axis = "node.0.position=[\"1 m\", \"2 m\"],[\"3 m\",\"4 m\"]"
            .parse()
            .unwrap();
        assert_eq!(axis.values, ["[\"1 m\", \"2 m\"]", "[\"3 m\",\"4 m\"]"]);
        assert!("a=1,,2".parse::<Axis>().is_err());
        assert!("a".parse::<Axis>().is_err());
    }
}
