//! Private keys do not appear in error messages.

use airpace_config::document::{DocumentError, Place};

/// From this length on, a text of base64 characters may be a key: one has 44 characters, a mistyped
/// one perhaps fewer.
const LIKE_A_KEY: usize = 40;

/// Masks the values in the line that the error shows, if one may be a private key.
pub(super) fn secrets_in_excerpt(mut error: DocumentError) -> DocumentError {
    if let Place::Line { excerpt, .. } = &mut error.place {
        // The line itself comes first; carets follow and stay in place, as masked characters keep
        // their number.
        let (line, carets) = excerpt.split_once('\n').unwrap_or((excerpt, ""));
        let line = masked(line);
        *excerpt = format!("{line}\n{carets}");
    }
    error
}

/// The line with every quoted text masked that may be a private key.
fn masked(line: &str) -> String {
    if line.contains("public") {
        return line.to_owned();
    }
    let names_a_secret = line.contains("private_key ") || line.contains("private_key=");
    let mut parts = Vec::new();
    // Between quotes stand the parts with odd numbers.
    for (index, part) in line.split('"').enumerate() {
        let quoted = index % 2 == 1;
        let base64 = |c: char| c.is_ascii_alphanumeric() || "+/=".contains(c);
        let like_a_key = part.len() >= LIKE_A_KEY && part.chars().all(base64);
        if quoted && (names_a_secret || like_a_key) {
            parts.push("*".repeat(part.chars().count()));
        } else {
            parts.push(part.to_owned());
        }
    }
    parts.join("\"")
}

#[cfg(test)]
mod tests {
    use super::masked;

    #[test]
    fn private_keys_are_masked_even_under_a_mistyped_name() {
        let key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
        let stars = "*".repeat(key.len());
        let line = format!("3 | privat_key = \"{key}\"");
        assert_eq!(masked(&line), format!("3 | privat_key = \"{stars}\""));
        assert_eq!(
            masked("3 | private_key = \"short\""),
            "3 | private_key = \"*****\""
        );
        let line = format!("3 | public_key = \"{key}\"");
        assert_eq!(masked(&line), line);
        let line = "3 | private_key_file = \"/etc/key\"";
        assert_eq!(masked(line), line);
    }
}
