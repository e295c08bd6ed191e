use super::claim::Claim;
use thiserror::Error;

/// Neither a paper nor a row goes by this name.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error(
    "no paper and no row is called `{id}`: did you mean {nearest}? `airpace reproduce` lists them all"
)]
pub struct UnknownId {
    /// The name.
    pub id: String,
    /// The nearest that exist.
    pub nearest: String,
}

/// How many names a complaint proposes.
const PROPOSALS: usize = 3;

/// The claims that `ids` name, in the order of the catalogue, each once. A name is a paper (`004`), a row (`004-T2`), or one figure of a row
/// of several (`003-F3` of `003-F2/3`). Rows of real packets come by their own id only.
///
/// # Errors
/// The first name that is neither.
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

/// The single figures of a row of several: `003-F2` and `003-F3` of `003-F2/3`.
fn aliases(id: &str) -> Vec<String> {
    let Some((first, second)) = id.split_once('/') else {
        return Vec::new();
    };
    let stem = first.trim_end_matches(|c: char| c.is_ascii_digit());
    vec![first.to_owned(), format!("{stem}{second}")]
}

/// The names that are fewest letters away.
fn nearest(all: &[Claim], id: &str) -> String {
    let mut names: Vec<&str> = all
        .iter()
        .flat_map(|claim| [claim.paper(), claim.id])
        .collect();
    names.sort_unstable();
    names.dedup();
    let word = id.to_lowercase();
    names.sort_by_key(|name| strsim::osa_distance(&word, &name.to_lowercase()));
    names
        .iter()
        .take(PROPOSALS)
        .map(|name| format!("`{name}`"))
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::claim::catalogue;
    use super::*;

    fn ids(of: &[&str]) -> Result<Vec<&'static str>, UnknownId> {
        let of: Vec<String> = of.iter().map(|&id| id.to_owned()).collect();
        select(&catalogue(), &of).map(|claims| claims.iter().map(|claim| claim.id).collect())
    }

    #[test]
    fn a_row_comes_by_its_id_or_by_one_of_its_figures() {
        assert_eq!(ids(&["004-T1"]).unwrap(), ["004-T1"]);
        assert_eq!(
            ids(&["003-f3", "003-F2", "003-F2/3"]).unwrap(),
            ["003-F2/3"]
        );
        assert_eq!(ids(&["004-F10", "004-F9"]).unwrap(), ["004-F9/10"]);
    }

    #[test]
    fn a_paper_brings_all_its_rows_but_those_of_real_packets() {
        let rows = ids(&["003", "004"]).unwrap();
        assert_eq!(rows.iter().filter(|id| id.starts_with("003")).count(), 4);
        assert_eq!(rows.iter().filter(|id| id.starts_with("004")).count(), 9);
        assert!(!ids(&["002"]).unwrap().contains(&"002-F9-live"));
        assert_eq!(ids(&["002-F9-live"]).unwrap(), ["002-F9-live"]);
    }

    #[test]
    fn an_unknown_id_is_answered_with_the_nearest() {
        let error = ids(&["004-T7"]).unwrap_err();
        assert!(
            error.nearest.contains("`004-T1`") && error.nearest.contains("`004-T2`"),
            "{error}"
        );
        assert!(ids(&["5"]).is_err());
    }

    #[test]
    fn ids_are_different() {
        let mut all: Vec<_> = catalogue().iter().map(|claim| claim.id).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
