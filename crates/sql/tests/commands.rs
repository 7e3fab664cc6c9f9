//! What statements are counted as: ProxySQL's commands.

use sql::StatementKind::{self, *};
use sql::{Modes, Shape};

/// Statements, and what they are counted as.
const COUNTED: &[(&str, StatementKind)] = &[
    ("SELECT 1", Select),
    ("select c from t where id=1", Select),
    ("  /* hint */ Select 1", Select),
    ("(SELECT 1) UNION (SELECT 2)", Select),
    ("SELECT * FROM t WHERE id = 1 FOR UPDATE", SelectForUpdate),
    ("select * from t for  update ;", SelectForUpdate),
    ("SELECT 'x' FROM for_update", Select),
    ("SELECT a_for update", Select),
    ("SELECT update", Select),
    ("TABLE t", Select),
    ("VALUES ROW(1)", Select),
    ("WITH a AS (SELECT 1) SELECT * FROM a FOR UPDATE", SelectForUpdate),
    ("WITH a AS (SELECT 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14) SELECT * FROM a", Select),
    ("CREATE DEFINER=user@h TRIGGER t BEFORE INSERT ON t FOR EACH ROW SET @a=1", CreateTrigger),
    ("INSERT INTO t VALUES (1)", Insert),
    ("replace t values (1)", Replace),
    ("BEGIN", Begin),
    ("START TRANSACTION READ ONLY", StartTransaction),
    ("START SLAVE", Unknown),
    ("COMMIT", Commit),
    ("ROLLBACK", Rollback),
    ("ROLLBACK TO SAVEPOINT a", RollbackSavepoint),
    ("rollback work to a", RollbackSavepoint),
    ("RELEASE SAVEPOINT a", ReleaseSavepoint),
    ("SAVEPOINT a", Savepoint),
    ("SET NAMES utf8mb4", Set),
    ("SHOW TABLES", Show),
    ("SHOW TABLE STATUS", ShowTableStatus),
    ("CREATE TABLE t (a INT)", CreateTable),
    ("CREATE OR REPLACE TABLE t (a INT)", CreateTable),
    ("CREATE TEMPORARY TABLE t (a INT)", CreateTemporary),
    ("CREATE UNIQUE INDEX i ON t (a)", CreateIndex),
    ("CREATE OR REPLACE ALGORITHM = MERGE SQL SECURITY INVOKER VIEW v AS SELECT 1", CreateView),
    ("create algorithm=merge definer=u@h sql security invoker view v as select 1", CreateView),
    ("CREATE SQL SECURITY DEFINER VIEW v AS SELECT 1", CreateView),
    ("CREATE DEFINER=`u`@`h` TRIGGER t BEFORE INSERT ON t FOR EACH ROW SET @a=1", CreateTrigger),
    ("CREATE DEFINER='u v'@'10.0.%' VIEW v AS SELECT 1", CreateView),
    ("CREATE DEFINER = u@10.0.0.1 VIEW v AS SELECT 1", CreateView),
    ("CREATE DEFINER=CURRENT_USER() VIEW v AS SELECT 1", CreateView),
    ("ALTER DEFINER=CURRENT_USER VIEW v AS SELECT 1", AlterView),
    ("CREATE DEFINER=`u`@`h` PROCEDURE view() SELECT 1", Unknown),
    ("CREATE DEFINER='u", Unknown),
    ("CREATE DEFINER", Unknown),
    ("CREATE PROCEDURE p() SELECT 1", Unknown),
    ("CREATE FUNCTION f() RETURNS INT RETURN 1", Unknown),
    ("DROP TEMPORARY TABLE t", DropTable),
    ("DROP TABLES t, u", DropTable),
    ("DROP SCHEMA s", DropDatabase),
    ("ALTER TABLE t ADD b INT", AlterTable),
    ("alter ignore table t add b int", AlterTable),
    ("LOCK TABLES t READ", LockTable),
    ("UNLOCK TABLES", UnlockTables),
    ("unlock table", UnlockTables),
    ("UNLOCK INSTANCE", Unknown),
    ("ANALYZE LOCAL TABLE t", AnalyzeTable),
    ("ANALYZE SELECT 1", Unknown),
    ("RESET REPLICA", ResetSlave),
    ("TRUNCATE t", TruncateTable),
    ("EXPLAIN SELECT 1", Explain),
    ("DO 0", Unknown),
    ("", Unknown),
    ("SELECT", Select),
    ("SELECTED", Unknown),
    ("1", Unknown),
    ("averyveryverylongwordthatisnothing", Unknown),
    ("desc t", Describe),
];

#[test]
fn statements_have_their_command() {
    for (text, command) in COUNTED {
        assert_eq!(Shape::of(text.as_bytes(), Modes::default()).kind.command(), *command, "{text}");
        assert_eq!(StatementKind::of(text.as_bytes()).command(), *command, "{text}, by its first words");
    }
}

/// The value of an option may be called like what is defined.
#[test]
fn semicolons_of_a_body_part_no_statements() {
    for definer in ["", "DEFINER=user@h", "DEFINER = `t`@`h`"] {
        let sql = format!("CREATE {definer} TRIGGER t BEFORE INSERT ON t FOR EACH ROW BEGIN DO 1; DO 2; END");
        assert!(!Shape::of(sql.as_bytes(), Modes::default()).several, "{sql}");
    }
}

#[test]
fn names_of_commands_are_unique() {
    let names: std::collections::HashSet<_> =
        StatementKind::COMMANDS.iter().map(|command| command.name()).collect();
    assert_eq!(names.len(), StatementKind::COMMANDS.len());
    for (place, command) in StatementKind::COMMANDS.iter().enumerate() {
        assert_eq!((*command as usize, command.command()), (place, *command));
    }
}
