//! What operators choose about digests: the variables `mysql-query_digests_...`.

/// The options of a digest, with ProxySQL's defaults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "one for each variable")]
pub struct Options {
    /// Bytes of the digest text that are hashed and shown (`query_digests_max_digest_length`).
    pub max_digest_length: usize,
    /// Bytes of digest text that are made at all (`query_digests_max_query_length`). A longer
    /// statement is read on as long as what it became fits.
    pub max_query_length: usize,
    /// How many values of a list stay before `...` (`query_digests_grouping_limit`); 0 keeps all.
    pub grouping_limit: usize,
    /// How many equal lists stay before `...` (`query_digests_groups_grouping_limit`); 0 keeps all.
    pub groups_grouping_limit: usize,
    /// Lower case everywhere (`query_digests_lowercase`).
    pub lowercase: bool,
    /// `NULL` is a value like any other (`query_digests_replace_null`).
    pub replace_null: bool,
    /// Digits in names become `?` too (`query_digests_no_digits`).
    pub no_digits: bool,
    /// Comments `/* */` stay (`query_digests_keep_comment`).
    pub keep_comment: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            max_digest_length: 2048,
            max_query_length: 65_000,
            grouping_limit: 3,
            groups_grouping_limit: 10,
            lowercase: false,
            replace_null: false,
            no_digits: false,
            keep_comment: false,
        }
    }
}
