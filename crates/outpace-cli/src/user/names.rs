//! Near matches for misspelt names.

/// The name nearest to the typed one, if it is near enough to be meant.
pub(crate) fn closest<'a>(
    typed: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    names
        .into_iter()
        .map(|name| (strsim::normalized_damerau_levenshtein(typed, name), name))
        .filter(|&(likeness, name)| likeness > 0.5 || (typed.len() >= 3 && name.starts_with(typed)))
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_finds_its_neighbour_and_nonsense_finds_none() {
        let names = ["lines", "ladder", "when"];
        assert_eq!(closest("laddr", names), Some("ladder"));
        assert_eq!(closest("lien", names), Some("lines"));
        assert_eq!(closest("lad", names), Some("ladder"));
        for nonsense in ["zzz", "nosuch", "hens"] {
            assert_eq!(closest(nonsense, names), None);
        }
    }
}
