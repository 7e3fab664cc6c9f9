//! Functions that are called without parentheses as well, and those of the time.

/// Functions that are called without parentheses as well.
const WITHOUT_PARENTHESES: [&str; 10] = [
    "current_date",
    "current_role",
    "current_time",
    "current_timestamp",
    "current_user",
    "localtime",
    "localtimestamp",
    "utc_date",
    "utc_time",
    "utc_timestamp",
];

/// Whether a function with this name, in any case, is called without parentheses as well.
pub fn needs_no_parentheses(name: &str) -> bool {
    WITHOUT_PARENTHESES.iter().any(|one| one.eq_ignore_ascii_case(name))
}

/// Whether the value of the function with this name, in lower case, follows the variable
/// `timestamp`: it is the same on all servers where that is. `SYSDATE()` does not.
pub fn follows_timestamp(name: &str) -> bool {
    match name {
        "current_role" | "current_user" => false,
        "curdate" | "curtime" | "now" | "unix_timestamp" => true,
        _ => needs_no_parentheses(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_the_time_are_told_from_others() {
        assert!(needs_no_parentheses("CURRENT_USER") && needs_no_parentheses("utc_time"));
        assert!(!needs_no_parentheses("now"));
        assert!(["now", "utc_time", "localtime"].into_iter().all(follows_timestamp));
        assert!(!["sysdate", "current_user", "current_role", "rand"].into_iter().any(follows_timestamp));
    }
}
