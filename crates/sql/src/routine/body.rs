//! Whether what a routine does outlives its call.

use super::{is_sign, word};
use crate::lexer::Kind;
use crate::shape::Effects;
use crate::shape::functions;
use crate::shape::pieces::Piece;

/// Words that begin what lasts, or what is not followed; not all of them are reserved, so that some
/// may be names that leave nothing.
const LASTING: &str = "\
    alter analyze backup binlog cache change check checksum clone create currval deallocate drop execute flush \
    found_rows grant help import install kill lastval load nextval optimize prepare procedure purge rename repair \
    reset restart revoke setval show shutdown sql_calc_found_rows stop temporary uninstall unlock xa";

/// Functions and schemas that tell of the connection that they run over, also where they are in
/// quotes.
const OF_CONNECTIONS: [&str; 9] = [
    "connection_id",
    "information_schema",
    "mysql",
    "optimizer_trace",
    "performance_schema",
    "processlist",
    "profiling",
    "ps_current_thread_id",
    "ps_thread_id",
];

/// What calling a function does that lasts, or asks about what was before the call.
const LASTS: Effects = Effects::NAMED_LOCKS.union(Effects::SEQUENCE);

/// What an `END` belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    /// A block, with how many variables there were in front of it.
    Block(usize),
    /// A `CASE` that is a statement, and one that is a value.
    Case,
    CaseValue,
}

/// Goes over a body's tokens from the first to the last.
#[expect(clippy::struct_excessive_bools, reason = "independent facts, not states")]
struct Walk<'a> {
    pieces: &'a [Piece],
    /// The token that is looked at.
    at: usize,
    open: Vec<Open>,
    /// Local variables that can be seen here, in lower case.
    variables: Vec<String>,
    /// How many parentheses are open.
    depth: usize,
    /// The statement may have a `SET` of its own, which sets no variables: it writes rows, or
    /// signals a condition.
    has_set: bool,
    /// The statement writes rows.
    writes: bool,
    /// A statement before this one, on every way to it, has written rows.
    has_written: bool,
    /// The depth of the `SET` that this is in.
    sets: Option<usize>,
    /// This is in what a handler does, if that is one statement, or in front of its block.
    handles: bool,
    /// The blocks that were open where a handler's block has begun that this is in.
    handled: Option<usize>,
}

/// Whether something outlives the call of a routine with this body and parameters of these names,
/// or may.
pub(super) fn outlives_its_call(pieces: &[Piece], parameters: Vec<String>) -> bool {
    let mut walk = Walk {
        pieces,
        at: 0,
        open: Vec::new(),
        variables: parameters,
        depth: 0,
        has_set: false,
        writes: false,
        has_written: false,
        sets: None,
        handles: false,
        handled: None,
    };
    // What is in another language.
    if matches!(word(pieces, 0), "" | "language" | "as") {
        return true;
    }
    while let Some(piece) = pieces.get(walk.at) {
        if walk.lasts(piece) {
            return true;
        }
        walk.at += 1;
    }
    !walk.open.is_empty()
}

impl Walk<'_> {
    /// Goes past a token, and maybe some behind it.
    fn lasts(&mut self, piece: &Piece) -> bool {
        if piece.is_name() && OF_CONNECTIONS.iter().any(|name| piece.written.eq_ignore_ascii_case(name)) {
            return true;
        }
        match piece.kind {
            Kind::UserVariable | Kind::SystemVariable | Kind::Parameter => return true,
            Kind::Sign(b'(') => self.depth += 1,
            Kind::Sign(b')') => self.depth = self.depth.saturating_sub(1),
            Kind::Sign(b';') => self.end_statement(),
            Kind::Sign(b',') if self.sets == Some(self.depth) => return !self.is_local(self.at + 1),
            // MariaDB's range of numbers: what is behind it may be a keyword.
            Kind::Sign(b'.') => return self.is_behind(b'.'),
            // A member of something is no keyword.
            Kind::Word if !self.is_behind(b'.') => return self.word_lasts(&piece.text),
            _ => {}
        }
        false
    }

    fn word_lasts(&mut self, text: &str) -> bool {
        let next = word(self.pieces, self.at + 1);
        let is_call = is_sign(self.pieces, self.at + 1, b'(');
        match text {
            "begin" => return !self.begin(),
            "case" => {
                let case = if self.starts() { Open::Case } else { Open::CaseValue };
                self.open.push(case);
            }
            "end" => return !self.end(),
            "then" | "else" | "do" | "loop" => self.begin_statement(),
            "repeat" if !is_call => self.begin_statement(),
            "declare" => self.declare(),
            "set" => return self.set(),
            "update" if !matches!(self.before(), "for" | "key") => self.write(),
            "insert" | "replace" if !is_call => self.write(),
            "delete" => self.writes = true,
            "signal" | "resignal" => self.has_set = true,
            "row_count" => return !self.has_written,
            // What was before the call is there until something has run.
            "diagnostics" => return !self.has_written && !self.handles && self.handled.is_none(),
            "handler" => return !self.handler(),
            "use" => return !matches!(next, "index" | "key"),
            "lock" => return next != "in",
            "next" | "previous" => return next == "value",
            _ => {
                let effects = functions::effects(text, true).filter(|_| is_call);
                let calls = effects.is_some_and(|effects| effects.intersects(LASTS));
                return calls || LASTING.split(' ').any(|word| word == text);
            }
        }
        false
    }

    fn before(&self) -> &str {
        self.at.checked_sub(1).map_or("", |before| word(self.pieces, before))
    }

    /// Whether the sign `byte` is in front of this token.
    fn is_behind(&self, byte: u8) -> bool {
        self.at > 0 && is_sign(self.pieces, self.at - 1, byte)
    }

    /// Whether a statement may begin with this token.
    fn starts(&self) -> bool {
        let opens = ["begin", "then", "else", "do", "loop", "repeat"];
        self.at == 0 || self.is_behind(b';') || self.is_behind(b':') || opens.contains(&self.before())
    }

    /// A statement begins that may not be run.
    const fn begin_statement(&mut self) {
        (self.has_set, self.writes, self.has_written) = (false, false, false);
    }

    const fn write(&mut self) {
        (self.has_set, self.writes) = (true, true);
    }

    const fn end_statement(&mut self) {
        // What a handler does is not done here.
        self.has_written |= self.writes && !self.handles;
        (self.has_set, self.writes, self.sets, self.handles) = (false, false, None, false);
    }

    /// A `BEGIN`; false if it is a name, for all that is known.
    fn begin(&mut self) -> bool {
        let begins = self.starts() || self.handles;
        if self.handles && self.handled.is_none() {
            self.handled = Some(self.open.len());
        }
        self.open.push(Open::Block(self.variables.len()));
        self.begin_statement();
        self.handles = false;
        begins
    }

    /// Goes past an `END`; false if nothing has begun that ends here, or if it may be a name.
    fn end(&mut self) -> bool {
        if self.open.last() == Some(&Open::CaseValue) {
            self.open.pop();
            return true;
        }
        self.has_written = false;
        let ends = self.is_behind(b';') || self.before() == "begin";
        match word(self.pieces, self.at + 1) {
            // They have no variables of their own.
            "if" | "loop" | "while" | "repeat" | "for" => {
                self.at += 1;
                true
            }
            "case" => {
                self.at += 1;
                ends && self.open.pop() == Some(Open::Case)
            }
            _ => match self.open.pop() {
                Some(Open::Block(variables)) => {
                    self.variables.truncate(variables);
                    self.handled.take_if(|handled| *handled >= self.open.len());
                    ends
                }
                _ => false,
            },
        }
    }

    /// `DECLARE ... HANDLER FOR`; false if it is something else.
    fn handler(&mut self) -> bool {
        self.handles = true;
        matches!(self.before(), "continue" | "exit" | "undo")
    }

    /// Takes note of what a `DECLARE` declares: variables, if it is no cursor, condition or
    /// handler.
    fn declare(&mut self) {
        let mut at = self.at + 1;
        if matches!(word(self.pieces, at), "continue" | "exit" | "undo") {
            return;
        }
        let mut names = Vec::new();
        while let Some(name) = self.pieces.get(at).filter(|piece| piece.is_name()) {
            names.push(name.written.to_ascii_lowercase());
            at += 1;
            if !is_sign(self.pieces, at, b',') {
                break;
            }
            at += 1;
        }
        if !matches!(word(self.pieces, at), "cursor" | "condition") {
            self.variables.append(&mut names);
        }
        self.at = at.saturating_sub(1);
    }

    /// A `SET`: that of another statement, or one that sets variables. Whether these may be others
    /// than local ones.
    fn set(&mut self) -> bool {
        if matches!(self.before(), "character" | "char") || std::mem::take(&mut self.has_set) {
            return false;
        }
        self.sets = Some(self.depth);
        !self.is_local(self.at + 1)
    }

    /// Whether a local variable is set at `at`, or a column of a trigger's new row.
    fn is_local(&self, at: usize) -> bool {
        if word(self.pieces, at) == "new" && is_sign(self.pieces, at + 1, b'.') {
            return true;
        }
        let is_assigned = is_sign(self.pieces, at + 1, b'=')
            || is_sign(self.pieces, at + 1, b':') && is_sign(self.pieces, at + 2, b'=');
        let name = self.pieces.get(at).filter(|piece| piece.is_name());
        is_assigned && name.is_some_and(|name| self.variables.contains(&name.written.to_ascii_lowercase()))
    }
}

#[cfg(test)]
mod tests {
    use crate::lexer::Modes;
    use crate::routine::definition;

    /// The names of what a body calls, or what may outlive it.
    fn judged(text: &str) -> String {
        let text = format!(
            "CREATE DEFINER=`a`@`%` PROCEDURE `x`(p INT, OUT `Total` INT)\n    READS SQL DATA\n{text}"
        );
        definition(text.as_bytes(), Modes::default()).map_or("lasts".to_owned(), |uses| {
            uses.routines.into_iter().map(|called| called.name).collect::<Vec<_>>().join(" ")
        })
    }

    #[test]
    fn what_is_over_with_the_call_leaves_nothing() {
        for text in [
            "SELECT 1",
            "RETURN p * 2",
            "RETURN (SELECT COUNT(*) FROM t)",
            "SET total = p",
            "SET total = p, `p` := (SELECT MAX(a), b FROM t)",
            "BEGIN DECLARE a, b INT DEFAULT 0; SET a = 1; SET b = a, A = CASE a WHEN 1 THEN 2 ELSE 3 END; END",
            "BEGIN DECLARE n TINYINT(1); UPDATE t SET a = n, sql_mode = 3 WHERE id = p; SET n = ROW_COUNT(); END",
            "BEGIN INSERT INTO t SET a = 1 ON DUPLICATE KEY UPDATE a = 2; SET total = LAST_INSERT_ID(); END",
            "BEGIN DECLARE done INT DEFAULT FALSE; DECLARE c CURSOR FOR SELECT id FROM t;
             DECLARE CONTINUE HANDLER FOR NOT FOUND SET done = TRUE;
             OPEN c; l: LOOP FETCH c INTO p; IF done THEN LEAVE l; END IF; END LOOP; CLOSE c; END",
            "BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END; START TRANSACTION; COMMIT; END",
            "a: BEGIN DECLARE x VARCHAR(9) CHARACTER SET utf8mb4; WHILE p < 3 DO SET p = p + 1; END WHILE; END a",
            "BEGIN IF (p > 1) THEN SET p = 2; ELSEIF (p = 0) THEN SET p = 1; ELSE SET p = 0; END IF; END",
            "BEGIN CASE p WHEN 1 THEN SET p = 2; ELSE BEGIN END; END CASE; SET p = 3; END",
            "BEGIN REPEAT SET p = p + 1; UNTIL p > 5 END REPEAT; SELECT REPEAT('x', p) FOR UPDATE; END",
            "IF p THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no', MYSQL_ERRNO = 3; END IF",
            "BEGIN SELECT 'it''s', `a``b`, 'don\\'t', 0x1F, 1.5 FROM t; SET p = 1; END",
            "BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN GET DIAGNOSTICS CONDITION 1 p = MYSQL_ERRNO; END; SELECT 1; END",
            "BEGIN DECLARE CONTINUE HANDLER FOR 1062, SQLWARNING BEGIN END; l: BEGIN END l; SELECT 1; END",
            "BEGIN SELECT CASE p WHEN 1 THEN 2 END FROM t FOR UPDATE; SET p = CASE WHEN p THEN 1 ELSE 2 END; END",
            "BEGIN DECLARE EXIT HANDLER FOR NOT FOUND GET DIAGNOSTICS CONDITION 1 p = MYSQL_ERRNO; SELECT 'ä', `ö`; /* ü */ END",
            "SELECT a INTO p FROM t USE INDEX (i) LIMIT 1 LOCK IN SHARE MODE",
        ] {
            assert_eq!(judged(text), "", "{text}");
        }
    }

    #[test]
    fn what_outlives_the_call_is_found() {
        for text in [
            "SET sql_mode = ''",
            "SET SESSION total = 1",
            "SET total = 1, sql_mode = ''",
            "SET NAMES utf8mb4",
            "SET TRANSACTION READ ONLY",
            "SET @a = 1",
            "SELECT 1 INTO @a",
            "SELECT @@sql_mode",
            "SELECT GET_LOCK('a', 1)",
            "DO RELEASE_ALL_LOCKS()",
            "SELECT NEXTVAL(s)",
            "SELECT NEXT VALUE FOR s",
            "SELECT ROW_COUNT()",
            "SELECT FOUND_ROWS()",
            "BEGIN IF p THEN UPDATE t SET a = 1; END IF; SELECT ROW_COUNT(); END",
            "CREATE TEMPORARY TABLE t (a INT)",
            "DROP TABLE t",
            "BEGIN PREPARE s FROM 'SELECT 1'; EXECUTE s; DEALLOCATE PREPARE s; END",
            "FLUSH TABLES WITH READ LOCK",
            "HANDLER t OPEN",
            // Another variable of that name is over.
            "BEGIN BEGIN DECLARE sql_mode INT; SET sql_mode = 1; END; SET sql_mode = ''; END",
            "BEGIN IF p THEN BEGIN DECLARE rand_seed1 INT; END; END IF; SET rand_seed1 = 1; END",
            // A cursor's name is no variable's.
            "BEGIN DECLARE sql_mode CURSOR FOR SELECT 1; SET sql_mode = ''; END",
            "BEGIN DECLARE CONTINUE HANDLER FOR NOT FOUND SET sql_mode = ''; END",
            "BEGIN SELECT a FROM t FOR UPDATE; SET sql_mode = ''; END",
            "BEGIN UPDATE t SET a = 1; SET sql_mode = ''; END",
            "BEGIN SIGNAL c; SET sql_mode = ''; END",
            "BEGIN INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE a = 1; SET sql_mode = ''; END",
            "BEGIN SELECT INSERT('a', 1, 1, 'b'); SET sql_mode = ''; END",
            "BEGIN CASE p WHEN 1 THEN SET sql_mode = ''; END CASE; END",
            // What a literal or a name in quotes hides.
            "BEGIN SELECT 'it''s'; SET @x = 1; SELECT 'it''s'; END",
            "BEGIN SELECT 1 AS `a``b`; SET @x = 4; SELECT 1 AS `c``d`; END",
            "BEGIN --\x7f '\nSET group_concat_max_len = 80; -- '\nEND",
            // Names that are no keywords.
            "BEGIN BEGIN DECLARE rand_seed1 INT; SELECT 1 AS begin; END; SET rand_seed1 = 7; SELECT 1 AS end; END",
            "BEGIN BEGIN DECLARE rand_seed1 INT; SELECT CASE 1 WHEN 1 THEN 2 END FOR UPDATE; END; \
             SET rand_seed1 = 7; SELECT 1 AS end; END",
            "BEGIN BEGIN DECLARE rand_seed1 INT; SELECT CASE 1 WHEN 1 THEN 1.END; END; SET rand_seed1 = 1; END",
            "BEGIN FOR i IN 1..NEXT VALUE FOR s DO SELECT 1; END FOR; END",
            "BEGIN FOR i IN a..NEXT VALUE FOR s DO SELECT 1; END FOR; END",
            // What is asked about the session before.
            "INSERT INTO t VALUES (ROW_COUNT(), 1)",
            "BEGIN UPDATE t SET a = ROW_COUNT(); END",
            "BEGIN GET DIAGNOSTICS p = NUMBER; END",
            "BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION UPDATE log SET a = 1; SELECT ROW_COUNT(); END",
            "BEGIN DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END; GET DIAGNOSTICS p = NUMBER; END",
            "SHOW WARNINGS",
            "IF (SELECT a FROM t WHERE a = 1e0FOR UPDATE) = 1e0THEN SET sql_mode = ''; END IF",
            "IF (SELECT a FROM t WHERE a = .5FOR UPDATE) = .5THEN SET sql_mode = ''; END IF",
            "SET\u{a0}sql_mode = ''",
            "BEGIN SELECT /*+ QB_NAME(`*/ '`) */ 1; SET sql_mode = DEFAULT; SELECT /* ' */ 2; END",
            "REPLACE INTO ctx VALUES (CONNECTION_ID(), p)",
            "SELECT `connection_id`()",
            "SELECT * FROM `information_schema`.PROCESSLIST",
            "LANGUAGE JAVASCRIPT AS 'x'",
            "BEGIN SELECT 1",
            "END",
            "SET p",
            "SELECT 1 /*! , @a := 2 */",
            "XA START 'a'",
            "SELECT ?",
        ] {
            assert_eq!(judged(text), "lasts", "{text}");
        }
    }

    #[test]
    fn what_else_is_called_is_told() {
        assert_eq!(judged("BEGIN CALL a.b(f(1)); SET p = g(CONCAT('x')); END"), "b f g");
        // Built in at one server only, or if it has no blank behind it.
        assert_eq!(
            judged("SELECT nvl(1, uuid_to_bin('a')), MID (p, 1), mid(p, 1), above(1)"),
            "nvl uuid_to_bin MID above"
        );
        assert_eq!(judged("CALL `a b`()"), "lasts");
    }
}
