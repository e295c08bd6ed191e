//! Values by number where the numbers that occur are near each other.

use core::iter::repeat_with;

/// Values by number. Memory is that of the numbers from the lowest to the highest that occurs, so
/// that the tables of many nodes, each of which knows few others, stay small.
#[derive(Clone, Debug)]
pub(crate) struct Row<T> {
    first: usize,
    values: Vec<Option<T>>,
}

impl<T> Default for Row<T> {
    fn default() -> Self {
        Self {
            first: 0,
            values: Vec::new(),
        }
    }
}

impl<T> Row<T> {
    /// Sets the value of a number.
    pub(crate) fn set(&mut self, number: usize, value: T) {
        if self.values.is_empty() {
            self.first = number;
        }
        if number < self.first {
            let missing = self.first - number;
            self.values.splice(0..0, repeat_with(|| None).take(missing));
            self.first = number;
        }
        let place = number - self.first;
        if self.values.len() <= place {
            self.values.resize_with(place + 1, || None);
        }
        self.values[place] = Some(value);
    }

    /// The value of a number, if it has one.
    #[inline]
    pub(crate) fn get(&self, number: usize) -> Option<&T> {
        self.values.get(number.wrapping_sub(self.first))?.as_ref()
    }

    /// The same, to be changed.
    #[inline]
    pub(crate) fn get_mut(&mut self, number: usize) -> Option<&mut T> {
        self.values
            .get_mut(number.wrapping_sub(self.first))?
            .as_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_what_was_set_and_is_as_long_as_the_numbers_are_apart() {
        let mut row = Row::default();
        assert_eq!(row.get(0), None);
        for number in [1_000, 1_003, 997] {
            row.set(number, number);
        }
        for number in 0..2_000 {
            let expected = [997, 1_000, 1_003].contains(&number).then_some(number);
            assert_eq!(row.get(number).copied(), expected);
        }
        assert_eq!(row.values.len(), 7);
        if let Some(value) = row.get_mut(1_000) {
            *value = 5;
        }
        assert_eq!(row.get(1_000), Some(&5));
        assert_eq!(row.get_mut(998), None);
    }
}
