//! The name that a user probably meant.

/// The closest of `names` to `word`, if any is close enough to be a misspelling.
pub fn nearest<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let word = word.to_lowercase();
    let mut best: Option<(usize, &str)> = None;
    for name in names {
        let distance = strsim::osa_distance(&word, &name.to_lowercase());
        // A third of the letters may differ: enough for typing errors, too little for another word.
        let longest = name.chars().count().max(word.chars().count());
        let close_enough = distance <= longest.div_ceil(3);
        if close_enough && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, name));
        }
    }
    best.map(|(_, name)| name)
}

/// ``did you mean `x`?`` or, if no name is close to `word`, the list of all names.
pub fn remedy<'n>(word: &str, names: impl IntoIterator<Item = &'n str> + Clone) -> String {
    match nearest(word, names.clone()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => {
            let names: Vec<&str> = names.into_iter().collect();
            format!("use one of {}", names.join(", "))
        }
    }
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
