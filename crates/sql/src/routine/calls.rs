//! Which routines a text calls.

use super::{is_sign, word};
use crate::lexer;
use crate::shape::functions;
use crate::shape::pieces::Piece;

/// Most routines that one text is followed to.
const CALLED_MAX: usize = 8;

/// Words in front of a parenthesis that are reserved at MySQL and at MariaDB, or always mean the
/// same in their grammars.
const RESERVED: &str = "\
    all and as asc between by case char character check collate cross date decimal default desc distinct \
    distinctrow div double else elseif except exists float for force from group having if ignore in index inner \
    insert int integer intersect interval into is join key left like limit loop match mod natural not null \
    numeric on or order outer over partition real regexp replace return right rlike row select set bigint \
    mediumint smallint tinyint straight_join table then time timestamp to union unique unsigned update use using \
    values varbinary varchar when where while window with xor year";

/// Functions that MySQL has from 8.0 on and MariaDB from 10.6 on. Others may be stored ones at a
/// server that does not have them.
const EVERYWHERE: &str = "\
    abs acos adddate addtime aes_decrypt aes_encrypt ascii asin atan atan2 avg benchmark bin bit_and bit_count \
    bit_length bit_or bit_xor cast ceil ceiling char_length character_length charset coalesce coercibility \
    compress concat concat_ws conv convert convert_tz cos cot count crc32 cume_dist curdate current_date \
    current_time current_timestamp current_user curtime database date_add date_format date_sub datediff day \
    dayname dayofmonth dayofweek dayofyear degrees dense_rank elt exp export_set extract extractvalue field \
    find_in_set first_value floor format from_base64 from_days from_unixtime get_format greatest group_concat hex \
    hour ifnull inet6_aton inet6_ntoa inet_aton inet_ntoa instr is_ipv4 is_ipv6 isnull json_array \
    json_array_append json_array_insert json_arrayagg json_contains json_contains_path json_depth json_extract \
    json_insert json_keys json_length json_merge_patch json_merge_preserve json_object json_objectagg \
    json_quote json_remove json_replace json_search json_set json_type json_unquote json_valid lag \
    last_day last_insert_id last_value lcase lead least length ln localtime localtimestamp locate log log10 log2 \
    lower lpad ltrim make_set makedate maketime max microsecond mid min minute month monthname now nth_value \
    ntile nullif oct octet_length ord percent_rank period_add period_diff pi position pow power quarter quote \
    radians rand rank regexp_instr regexp_replace regexp_substr repeat reverse round row_count row_number rpad \
    rtrim schema sec_to_time second session_user sign sin sleep soundex space sqrt std stddev \
    stddev_pop stddev_samp str_to_date strcmp subdate substr substring substring_index subtime sum sysdate \
    system_user tan time_format time_to_sec timediff timestampadd timestampdiff to_base64 to_days to_seconds trim \
    truncate ucase uncompress uncompressed_length unhex unix_timestamp updatexml upper user utc_date utc_time \
    utc_timestamp uuid uuid_short var_pop var_samp variance version week weekday weekofyear weight_string yearweek";

/// What is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// By `CALL`.
    Procedure,
    /// In an expression.
    Function,
}

/// A routine that is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Called {
    /// What it is.
    pub kind: Kind,
    /// The schema that is named with it.
    pub schema: Option<String>,
    /// Its name; letters, digits, `_` and `$`.
    pub name: String,
}

/// All that is called; `None` if one has a name that is not plain, or if there are more than
/// [`CALLED_MAX`].
pub(super) fn all(pieces: &[Piece]) -> Option<Vec<Called>> {
    let mut found = Vec::new();
    for at in 0..pieces.len() {
        let called = if word(pieces, at) == "call" && !is_sign(pieces, at + 1, b'(') {
            Some(procedure(pieces, at + 1)?)
        } else if is_sign(pieces, at + 1, b'(') {
            function(pieces, at)?
        } else {
            None
        };
        if let Some(called) = called.filter(|called| !found.contains(called)) {
            found.push(called);
        }
    }
    (found.len() <= CALLED_MAX).then_some(found)
}

/// All names that a routine may be called by, whatever is in them.
pub(super) fn named(pieces: &[Piece]) -> Vec<Called> {
    let mut found: Vec<Called> = Vec::new();
    for at in 0..pieces.len() {
        let called = if word(pieces, at) == "call" {
            let is_member = is_sign(pieces, at + 2, b'.');
            named_at(pieces, Kind::Procedure, at + if is_member { 3 } else { 1 })
        } else if is_sign(pieces, at + 1, b'(') && !is_built_in(pieces, at) {
            named_at(pieces, Kind::Function, at)
        } else {
            None
        };
        let is_new =
            |called: &Called| !found.iter().any(|one| one.schema == called.schema && one.name == called.name);
        if let Some(called) = called.filter(is_new) {
            found.push(called);
        }
    }
    found
}

/// What the name at `at` calls, with the name in front of it.
fn named_at(pieces: &[Piece], kind: Kind, at: usize) -> Option<Called> {
    let name = |at: usize| pieces.get(at).filter(|piece| piece.is_name()).map(|piece| piece.written.clone());
    let is_member = at > 0 && is_sign(pieces, at - 1, b'.');
    let first = if is_member { at.checked_sub(2)? } else { at };
    if kind == Kind::Function && first.checked_sub(1).is_some_and(|before| word(pieces, before) == "into") {
        // A table's columns.
        return None;
    }
    let schema = if is_member { name(first) } else { None };
    Some(Called { kind, schema, name: name(at)? })
}

/// Whether the word at `at`, with a parenthesis behind it, is a function of all servers, or none.
fn is_built_in(pieces: &[Piece], at: usize) -> bool {
    let is_member = at > 0 && is_sign(pieces, at - 1, b'.');
    let has = |words: &str| words.split(' ').any(|one| one == word(pieces, at));
    // With a blank in front of the parenthesis some of them are stored functions.
    let is_glued = pieces.get(at).is_some_and(|piece| piece.is_glued);
    !word(pieces, at).is_empty() && !is_member && (has(RESERVED) || is_glued && has(EVERYWHERE))
}

/// What the `CALL` in front of `at` calls.
fn procedure(pieces: &[Piece], at: usize) -> Option<Called> {
    let first = plain(pieces, at)?;
    let (schema, name, behind) = if is_sign(pieces, at + 1, b'.') {
        (Some(first), plain(pieces, at + 2)?, at + 3)
    } else {
        (None, first, at + 1)
    };
    let is_whole = behind >= pieces.len() || is_sign(pieces, behind, b'(') || is_sign(pieces, behind, b';');
    is_whole.then_some(Called { kind: Kind::Procedure, schema, name })
}

/// What is in front of the parenthesis behind `at`, if that is a function which is not built in.
#[expect(clippy::option_option, reason = "nothing is called, or nobody knows")]
fn function(pieces: &[Piece], at: usize) -> Option<Option<Called>> {
    let Some(piece) = pieces.get(at) else { return Some(None) };
    let is_member = at > 0 && is_sign(pieces, at - 1, b'.');
    let first = if is_member { at.checked_sub(2)? } else { at };
    let before = first.checked_sub(1).map_or("", |before| word(pieces, before));
    if is_member && first > 0 && is_sign(pieces, first - 1, b'.') {
        // MariaDB's packages have a schema.
        return None;
    }
    let is_native = || functions::effects(&piece.written.to_ascii_lowercase(), true).is_some();
    match piece.kind {
        // A table's columns, or a procedure's arguments.
        _ if matches!(before, "into" | "call") => Some(None),
        lexer::Kind::Word if is_built_in(pieces, at) => Some(None),
        // Servers look among their own functions first, whatever they have by that name besides.
        lexer::Kind::Name if !is_member && is_native() => None,
        lexer::Kind::Word | lexer::Kind::Name => {
            let schema = if is_member { Some(plain(pieces, first)?) } else { None };
            Some(Some(Called { kind: Kind::Function, schema, name: plain(pieces, at)? }))
        }
        // A name, in the mode `ANSI_QUOTES`.
        lexer::Kind::Text => None,
        _ => Some(None),
    }
}

/// The name at `at`, if it can be compared without knowing a collation.
fn plain(pieces: &[Piece], at: usize) -> Option<String> {
    let piece = pieces.get(at).filter(|piece| piece.is_name())?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$');
    (!piece.written.is_empty() && piece.written.bytes().all(is_plain)).then(|| piece.written.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routine::called;

    fn names(statement: &str) -> Option<Vec<String>> {
        let all = called(statement.as_bytes(), lexer::Modes::default())?;
        let name = |called: &Called| {
            let schema = called.schema.as_ref().map_or(String::new(), |schema| format!("{schema}."));
            let arguments = if called.kind == Kind::Function { "()" } else { "" };
            format!("{schema}{}{arguments}", called.name)
        };
        Some(all.iter().map(name).collect())
    }

    fn found(statement: &str) -> String {
        names(statement).map_or("?".to_owned(), |names| names.join(" "))
    }

    #[test]
    fn what_is_called_is_named() {
        for (statement, all) in [
            ("CALL p", "p"),
            ("CALL p('a@b', @@version)", "p"),
            ("SELECT f(@a)", "f()"),
            ("call `p`(1, ?);", "p"),
            ("/* why */ CALL a.p()", "a.p"),
            ("CALL a . `p` (f(1), g(f(2), COUNT(*)))", "a.p f() g()"),
            ("SELECT f(a), `g`(b), concat(c) FROM t WHERE id IN (1, 2)", "f() g()"),
            ("SELECT nvl(1), to_char(2), mid (3), mid(4)", "nvl() to_char() mid()"),
            ("SELECT s.f (1)", "s.f()"),
            ("SELECT s.concat(1)", "s.concat()"),
            ("INSERT INTO t (a) VALUES (f(1))", "f()"),
            ("INSERT INTO s.t(a) SELECT f(1) UNION (SELECT 2)", "f()"),
            ("SELECT 1", ""),
            ("SELECT 'f(1)', \"g(2)\"", ""),
        ] {
            assert_eq!(found(statement), all, "{statement}");
        }
    }

    #[test]
    fn what_does_not_tell_is_not_guessed() {
        for statement in [
            "CALL",
            "CALL a.b.c()",
            "CALL p(1, @a)",
            "SELECT db.shop.f(1)",
            "CALL p(1 --\u{a0}'\n, f(1) -- '\n)",
            "CALL 'p'()",
            "CALL `p q`()",
            "CALL päpste()",
            "SELECT \"f\"(1)",
            "SELECT `get_lock`('a', 1)",
            "SELECT s.\"f\"(1)",
            "SELECT `f``g`(1)",
            "SELECT /*!50000 f(1), */ 2",
            "SELECT \"a\\\", f(1), \"",
            "SELECT 'open",
            "SELECT a(1), b(1), c(1), d(1), e(1), f(1), g(1), h(1), i(1)",
        ] {
            assert_eq!(names(statement), None, "{statement}");
        }
    }
}
