//! The limits of this crate, each with its unit and its reason.

use std::time::Duration;

/// Bytes of a text that PCRE searches from every position in turn. Longer ones take the slower ways
/// of [`pattern`](crate::Engine): what is quadratic in the length is harmless up to here.
pub const SHORT_TEXT_BYTES_MAX: usize = 1_024;

/// Backtracking steps that PCRE may take from one position of a short text: fractions of a
/// millisecond.
pub const MATCH_STEPS_MAX: u32 = 10_000;

/// Backtracking steps that PCRE may take in a long text, all positions together: some milliseconds.
pub const LONG_MATCH_STEPS_MAX: u32 = 1_000_000;

/// Bytes that a compiled expression of the linear engine may take: far more than expressions of
/// rules need.
pub const COMPILED_BYTES_MAX: usize = 1 << 20;

/// Bytes of scratch memory of an expression of the linear engine.
pub const DFA_BYTES_MAX: usize = 256 << 10;

/// Replacements in one text by one rule with GLOBAL.
pub const REPLACEMENTS_MAX: usize = 10_000;

/// Bytes of a statement after a rule has rewritten it: the default of `mysql-max_allowed_packet`.
pub const REWRITTEN_BYTES_MAX: usize = 64 << 20;

/// Rules looked at for one statement, after which the chain does not start again whatever
/// `mysql-query_processor_iterations` says: about a millisecond.
pub const CHAIN_STEPS_MAX: u32 = 100_000;

/// Verdicts that a worker remembers; with [`CANDIDATES_MAX`] about 8 MB at the very most, 1 MB as a
/// rule.
pub const VERDICTS_MAX: usize = 4_096;

/// Rules that a remembered verdict may list: more are looked at anew every time.
pub const CANDIDATES_MAX: usize = 256;

/// Bytes of user and schema together in a remembered verdict: names have at most 64 characters.
pub const CALLER_BYTES_MAX: usize = 1_024;

/// Steps that an explanation keeps; of those beyond only the number.
pub const EXPLAINED_STEPS_MAX: usize = 20_000;

/// Bytes of a text that an explanation shows.
pub const EXPLAINED_TEXT_BYTES_MAX: usize = 4_096;

/// Bytes of a statement within which is decided where it goes. Those of a longer one are waited
/// for, too; what is behind them only a server reads, so such a statement counts as one that
/// writes.
pub const JUDGED_BYTES_MAX: usize = 64_000;

/// Digests of which a worker remembers what statements do.
pub const SHAPES_MAX: usize = 4096;

/// Digests of which a worker remembers the tables, if answers are cached.
pub const TABLES_MAX: usize = 4096;

/// Sets of two statements of which a worker remembers the outline: of texts of a kilobyte, 2 MiB at
/// most with their digests.
pub const SEEN_SETS: usize = 512;

/// Largest answer that is cached where neither a rule nor the user nor the hostgroup says another
/// `max_answer`, in bytes.
pub const CACHED_ANSWER_BYTES_MAX: usize = 4 << 20;

/// How long equal queries wait for the answer of the first where no rule has `cache_timeout`.
pub const CACHE_TIMEOUT: Duration = Duration::from_secs(10);

/// How old answers in the mode `bounded` may be, by writes elsewhere, where nothing gives
/// `max_staleness_ms`.
pub const CACHE_STALENESS: Duration = Duration::from_millis(100);
