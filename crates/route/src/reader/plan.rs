//! Making the plans of statements.

use super::Reading;
use crate::StatementPlan;

/// The plan of a text without a digest. Of a statement of which this is not all, `is_whole` is
/// false.
pub fn of(text: &[u8], is_whole: bool, reading: Reading) -> StatementPlan {
    let is_clear = is_whole && !reading.doubts(text, true, true);
    let plan = StatementPlan::read(text);
    loading(if is_clear { plan } else { plan.in_doubt() }, text, is_clear)
}

/// The same plan with whether the server may ask for a file. Where strings and comments end is not
/// certain unless it `is_clear`.
pub fn loading(plan: StatementPlan, text: &[u8], is_clear: bool) -> StatementPlan {
    let more = if is_clear { plan.several } else { text.contains(&b';') };
    StatementPlan { may_load: plan.may_load || more || may_begin_with_load(text), ..plan }
}

/// Whether a single statement may be a LOAD DATA LOCAL, judged by its first letter.
///
/// A server that asks for a file on any other statement is not to be trusted with one.
pub fn may_begin_with_load(statement: &[u8]) -> bool {
    let follows =
        |rest: &[u8], word: &[u8]| rest.get(..word.len()).is_some_and(|next| next.eq_ignore_ascii_case(word));
    match statement.trim_ascii_start().split_first() {
        // A comment may come first: `#`, `--` or `/*`.
        Some((b'L' | b'l' | b'#' | b'-' | b'/', _)) => true,
        // MariaDB: SET STATEMENT ... FOR LOAD DATA ...
        Some((b'S' | b's', rest)) => follows(rest, b"et"),
        // MariaDB: EXECUTE of a LOAD DATA that was prepared, or IMMEDIATE.
        Some((b'E' | b'e', rest)) => follows(rest, b"xe"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c19_only_statements_that_can_load_a_file_may_be_asked_for_one() {
        for yes in [
            "LOAD DATA LOCAL INFILE 'f' INTO TABLE t",
            " load data",
            "/* c */ LOAD",
            "SELECT 1; LOAD DATA LOCAL",
            "SET STATEMENT max_statement_time=1 FOR LOAD DATA LOCAL",
            "EXECUTE s",
            "execute immediate 'LOAD DATA LOCAL'",
        ] {
            assert!(of(yes.as_bytes(), true, Reading::default()).may_load, "{yes}");
        }
        for no in ["SELECT 'LOAD DATA LOCAL'", "INSERT INTO t VALUES (1)", "EXPLAIN t", "", "  "] {
            assert!(!of(no.as_bytes(), true, Reading::default()).may_load, "{no}");
        }
    }
}
