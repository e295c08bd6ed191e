//! The name that was probably meant.

/// The closest of `names` to `word`, if any is close enough to have been meant.
pub fn nearest<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let word = word.to_lowercase();
    // A third of the letters may be wrong: enough for typing errors, too little for another word.
    let close = |name: &str| name.chars().count().max(word.chars().count()).div_ceil(3);
    let candidates = names
        .into_iter()
        .map(|name| (distance(&word, &name.to_lowercase()), name));
    candidates
        .filter(|(distance, name)| *distance <= close(name))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, n)| n)
}

/// ``did you mean `x`?`` or else the list of what there is.
pub fn remedy<'n>(word: &str, names: impl IntoIterator<Item = &'n str> + Clone) -> String {
    match nearest(word, names.clone()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!(
            "use one of {}",
            names.into_iter().collect::<Vec<_>>().join(", ")
        ),
    }
}

/// Insertions, deletions, replacements and swaps of neighbouring letters that lead from `a` to `b` (optimal string alignment).
#[must_use]
pub fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut above: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut next = vec![i + 1];
        for j in 0..b.len() {
            let replaced = row[j] + usize::from(a[i] != b[j]);
            let mut least = replaced.min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                least = least.min(above[j - 1] + 1);
            }
            next.push(least);
        }
        above = core::mem::replace(&mut row, next);
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_errors_are_recognised_and_other_words_are_not() {
        let names = ["width", "beacons", "max_mpdus", "timing"];
        assert_eq!(nearest("widht", names), Some("width"));
        assert_eq!(nearest("msc", ["mcs", "nss"]), Some("mcs"));
        assert_eq!(nearest("max_mpdu", names), Some("max_mpdus"));
        assert_eq!(nearest("maxmpdus", names), Some("max_mpdus"));
        assert_eq!(nearest("colour", names), None);
        assert_eq!(remedy("colour", ["a", "b"]), "use one of a, b");
    }
}
