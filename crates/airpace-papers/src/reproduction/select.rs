use super::claim::Claim;
use thiserror::Error;

/// A name that is neither that of a paper nor that of a row.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error(
    "no paper and no row is called `{id}`: did you mean {nearest}? `airpace reproduce` lists them all"
)]
pub struct UnknownId {
    /// The name.
    pub id: String,
    /// The names that are most similar, as the message lists them.
    pub nearest: String,
}

/// How many similar names the error proposes.
const PROPOSALS: usize = 3;

/// The claims that `ids` name, each once and in the order of `all`. A name is a paper (`004`), a
/// row (`004-T2`), or one figure of a row that covers several (`003-F3` of `003-F2/3`). A paper
/// does not include its rows of real packets.
///
/// # Errors
/// The first name that is none of these.
pub fn select(all: &[Claim], ids: &[String]) -> Result<Vec<Claim>, UnknownId> {
    for id in ids {
        if !all.iter().any(|claim| is_named(claim, id)) {
            return Err(UnknownId {
                id: id.clone(),
                nearest: nearest(all, id),
            });
        }
    }
    Ok(all
        .iter()
        .filter(|claim| ids.iter().any(|id| is_named(claim, id)))
        .copied()
        .collect())
}

fn is_named(claim: &Claim, id: &str) -> bool {
    let is = |name: &str| name.eq_ignore_ascii_case(id);
    (is(claim.paper()) && !claim.only_by_id)
        || is(claim.id)
        || aliases(claim.id).iter().any(|alias| is(alias))
}

/// The single figures of a row that covers two: `003-F2` and `003-F3` of `003-F2/3`.
fn aliases(id: &str) -> Vec<String> {
    let Some((first, second)) = id.split_once('/') else {
        return Vec::new();
    };
    let stem = first.trim_end_matches(|c: char| c.is_ascii_digit());
    vec![first.to_owned(), format!("{stem}{second}")]
}

/// The names of papers and rows that are most similar to `id`.
fn nearest(all: &[Claim], id: &str) -> String {
    let mut names: Vec<&str> = all
        .iter()
        .flat_map(|claim| [claim.paper(), claim.id])
        .collect();
    names.sort_unstable();
    names.dedup();
    let word = id.to_lowercase();
    names.sort_by_key(|name| strsim::osa_distance(&word, &name.to_lowercase()));
    let nearest: Vec<String> = names
        .iter()
        .take(PROPOSALS)
        .map(|name| format!("`{name}`"))
        .collect();
    nearest.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;

    fn selected(names: &[&str]) -> Result<Vec<&'static str>, UnknownId> {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let claims = select(&catalogue(), &names)?;
        Ok(claims.iter().map(|claim| claim.id).collect())
    }

    #[test]
    fn a_row_is_named_by_its_id_or_by_one_of_its_figures() {
        assert_eq!(selected(&["004-T1"]).unwrap(), ["004-T1"]);
        assert_eq!(
            selected(&["003-f3", "003-F2", "003-F2/3"]).unwrap(),
            ["003-F2/3"]
        );
        assert_eq!(selected(&["004-F10", "004-F9"]).unwrap(), ["004-F9/10"]);
    }

    #[test]
    fn a_paper_includes_all_its_rows_except_those_of_real_packets() {
        let rows = selected(&["003", "004"]).unwrap();
        assert_eq!(rows.iter().filter(|id| id.starts_with("003")).count(), 4);
        assert_eq!(rows.iter().filter(|id| id.starts_with("004")).count(), 10);
        assert!(!selected(&["002"]).unwrap().contains(&"002-F9-live"));
        assert_eq!(selected(&["002-F9-live"]).unwrap(), ["002-F9-live"]);
    }

    #[test]
    fn the_error_for_an_unknown_id_proposes_similar_ids() {
        let error = selected(&["004-T7"]).unwrap_err();
        assert!(
            error.nearest.contains("`004-T1`") && error.nearest.contains("`004-T2`"),
            "{error}"
        );
        assert!(selected(&["5"]).is_err());
    }

    #[test]
    fn no_two_rows_have_the_same_id() {
        let mut all: Vec<_> = catalogue().iter().map(|claim| claim.id).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
