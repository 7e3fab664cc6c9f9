//! The valid name that is nearest to a misspelt one.

/// Names that differ in more than a third of their letters have nothing to do with each other.
const LETTERS_PER_MISTAKE: usize = 3;

/// Shorter words are the start of too much to be one of it.
const STEM_MIN_BYTES: usize = 3;

/// Longer words are no typing errors, and comparing them costs the square of their length.
const WORD_MAX_CHARS: usize = 100;

/// `; did you mean ...?` with the name among `valid` that is nearest to `word`; empty if none is
/// near.
pub fn suggestion<'a>(word: &str, valid: impl IntoIterator<Item = &'a str>) -> String {
    let valid: Vec<&str> = valid.into_iter().collect();
    let name = nearest(word, valid.iter().copied()).or_else(|| completed(word, &valid));
    name.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

/// How many letters of `name` are wrong in `word`, case not counted; nothing if the two are too far
/// apart to be taken for each other.
pub fn mistakes(word: &str, name: &str) -> Option<usize> {
    let target = name.to_lowercase();
    let away = distance(&word.to_lowercase(), &target)?;
    (away <= tolerated(&target)).then_some(away)
}

/// The one name among `valid` that `word` is the start of.
fn completed<'a>(word: &str, valid: &[&'a str]) -> Option<&'a str> {
    let mut names = valid.iter().filter(|name| word.len() >= STEM_MIN_BYTES && name.starts_with(word));
    names.next().filter(|_| names.next().is_none()).copied()
}

/// The name among `valid` that is nearest to `word`, if any is near. Case and the kind of dash do
/// not count, nor does the prefix that a variable has outside of configuration files. Of equally
/// near ones the first.
fn nearest<'a>(word: &str, valid: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase().replace('-', "_");
    let word = lower.strip_prefix("mysql_").or(lower.strip_prefix("admin_")).unwrap_or(&lower);
    valid
        .into_iter()
        .filter_map(|name| {
            let target = name.to_lowercase();
            let away = distance(&lower, &target)?.min(distance(word, &target)?);
            (away <= tolerated(&target)).then_some((away, name))
        })
        .min_by_key(|&(away, _)| away)
        .map(|(_, name)| name)
}

/// How many mistakes a name may be written with.
fn tolerated(name: &str) -> usize {
    (name.chars().count() / LETTERS_PER_MISTAKE).max(1)
}

/// How many letters must be changed, added, removed or swapped with their neighbour to make `b` of
/// `a` ("optimal string alignment"); nothing for words that are too long to be compared.
fn distance(a: &str, b: &str) -> Option<usize> {
    let is_long = |word: &str| word.chars().nth(WORD_MAX_CHARS).is_some();
    (!is_long(a) && !is_long(b)).then(|| strsim::osa_distance(a, b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_find_their_name() {
        let valid = ["threads", "max_connections", "wait_timeout", "query_cache_size_MB"];
        for (word, name) in [
            ("thraeds", "threads"),
            ("max_connection", "max_connections"),
            ("max-connections", "max_connections"),
            ("mysql-max_connections", "max_connections"),
            ("QUERY_CACHE_SIZE_MB", "query_cache_size_MB"),
            ("waittimeout", "wait_timeout"),
        ] {
            assert_eq!(nearest(word, valid), Some(name), "{word}");
        }
    }

    #[test]
    fn unrelated_words_find_nothing() {
        for word in ["", "x", "colour", "connect", &"m".repeat(1 << 20)] {
            assert_eq!(nearest(word, ["threads", "max_connections"]), None, "{word:.10}");
        }
    }

    #[test]
    fn the_start_of_one_name_is_completed() {
        let valid = ["username", "hostname", "hostgroup"];
        assert_eq!(suggestion("user", valid), "; did you mean `username`?");
        assert_eq!(suggestion("host", valid), "");
        assert_eq!(suggestion("u", valid), "");
    }

    #[test]
    fn a_swap_is_one_mistake() {
        assert_eq!(distance("ab", "ba"), Some(1));
        assert_eq!(distance("kitten", "sitting"), Some(3));
        assert_eq!(distance("", "abc"), Some(3));
    }
}
