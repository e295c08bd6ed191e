use super::claim::Claim;
pub(super) const CLAIMS: &[Claim] = &[];
