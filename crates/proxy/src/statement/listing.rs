//! Statements that show connection ids: `SELECT CONNECTION_ID()` and `SHOW [FULL] PROCESSLIST`.

use super::words::Words;

/// Whether it is exactly one of these, whose answer has the id in its first column.
pub(crate) fn is_one(text: &[u8]) -> bool {
    let mut words = Words::new(text);
    let known = if words.keyword("SELECT") {
        words.keyword("CONNECTION_ID") && words.sign(b'(') && words.sign(b')')
    } else {
        words.keyword("SHOW") && {
            words.keyword("FULL");
            words.keyword("PROCESSLIST")
        }
    };
    known && words.ends()
}

#[cfg(test)]
mod tests {
    use super::is_one;

    #[test]
    fn only_the_plain_forms_are_known() {
        for text in [
            "SELECT CONNECTION_ID()",
            "select\n connection_id ( ) ;",
            "/* who am I? */ SELECT Connection_Id()",
            "SHOW PROCESSLIST",
            "show full processlist;",
        ] {
            assert!(is_one(text.as_bytes()), "{text}");
        }
        for text in [
            "SELECT CONNECTION_ID() AS id",
            "SELECT CONNECTION_ID(), 1",
            "SELECT CONNECTION_ID()+1",
            "SELECT 1, CONNECTION_ID()",
            "SELECT CONNECTION_ID(1)",
            "SELECT 'CONNECTION_ID()'",
            "SELECT c FROM sbtest1 WHERE id=42",
            "SHOW FULL TABLES",
            "SHOW PROCESSLIST LIKE 'x'",
            "SHOW PROCESSLIST; SELECT 1",
            "",
        ] {
            assert!(!is_one(text.as_bytes()), "{text}");
        }
    }
}
