//! Statements with their classes, and what is set and used.

use proptest::prelude::*;

use super::*;

#[test]
fn statements_have_their_class() {
    for (text, class) in [
        ("SELECT 1", Class::Select),
        ("select c from t where id=1", Class::Select),
        ("  /* hint */ Select 1", Class::Select),
        ("(SELECT 1) UNION (SELECT 2)", Class::Select),
        ("SELECT * FROM t WHERE id = 1 FOR UPDATE", Class::SelectForUpdate),
        ("select * from t for  update ;", Class::SelectForUpdate),
        ("SELECT 'x' FROM for_update", Class::Select),
        ("SELECT a_for update", Class::Select),
        ("SELECT update", Class::Select),
        ("TABLE t", Class::Select),
        ("VALUES ROW(1)", Class::Select),
        ("WITH a AS (SELECT 1) SELECT * FROM a FOR UPDATE", Class::SelectForUpdate),
        ("INSERT INTO t VALUES (1)", Class::Insert),
        ("replace t values (1)", Class::Replace),
        ("BEGIN", Class::Begin),
        ("START TRANSACTION READ ONLY", Class::StartTransaction),
        ("START SLAVE", Class::Unknown),
        ("COMMIT", Class::Commit),
        ("ROLLBACK", Class::Rollback),
        ("ROLLBACK TO SAVEPOINT a", Class::RollbackSavepoint),
        ("rollback work to a", Class::RollbackSavepoint),
        ("RELEASE SAVEPOINT a", Class::ReleaseSavepoint),
        ("SAVEPOINT a", Class::Savepoint),
        ("SET NAMES utf8mb4", Class::Set),
        ("SHOW TABLES", Class::Show),
        ("SHOW TABLE STATUS", Class::ShowTableStatus),
        ("CREATE TABLE t (a INT)", Class::CreateTable),
        ("CREATE OR REPLACE TABLE t (a INT)", Class::CreateTable),
        ("CREATE TEMPORARY TABLE t (a INT)", Class::CreateTemporary),
        ("CREATE UNIQUE INDEX i ON t (a)", Class::CreateIndex),
        ("CREATE OR REPLACE ALGORITHM = MERGE SQL SECURITY INVOKER VIEW v AS SELECT 1", Class::CreateView),
        ("create algorithm=merge definer=u@h sql security invoker view v as select 1", Class::CreateView),
        ("CREATE SQL SECURITY DEFINER VIEW v AS SELECT 1", Class::CreateView),
        ("CREATE DEFINER=`u`@`h` TRIGGER t BEFORE INSERT ON t FOR EACH ROW SET @a=1", Class::CreateTrigger),
        ("CREATE DEFINER='u v'@'10.0.%' VIEW v AS SELECT 1", Class::CreateView),
        ("CREATE DEFINER = u@10.0.0.1 VIEW v AS SELECT 1", Class::CreateView),
        ("CREATE DEFINER=CURRENT_USER() VIEW v AS SELECT 1", Class::CreateView),
        ("ALTER DEFINER=CURRENT_USER VIEW v AS SELECT 1", Class::AlterView),
        ("CREATE DEFINER=`u`@`h` PROCEDURE view() SELECT 1", Class::Unknown),
        ("CREATE DEFINER='u", Class::Unknown),
        ("CREATE DEFINER", Class::Unknown),
        ("CREATE PROCEDURE p() SELECT 1", Class::Unknown),
        ("CREATE FUNCTION f() RETURNS INT RETURN 1", Class::Unknown),
        ("DROP TEMPORARY TABLE t", Class::DropTable),
        ("DROP TABLES t, u", Class::DropTable),
        ("DROP SCHEMA s", Class::DropDatabase),
        ("ALTER TABLE t ADD b INT", Class::AlterTable),
        ("alter ignore table t add b int", Class::AlterTable),
        ("LOCK TABLES t READ", Class::LockTable),
        ("UNLOCK TABLES", Class::UnlockTables),
        ("unlock table", Class::UnlockTables),
        ("UNLOCK INSTANCE", Class::Unknown),
        ("ANALYZE LOCAL TABLE t", Class::AnalyzeTable),
        ("ANALYZE SELECT 1", Class::Unknown),
        ("RESET REPLICA", Class::ResetSlave),
        ("TRUNCATE t", Class::TruncateTable),
        ("EXPLAIN SELECT 1", Class::Explain),
        ("DO 0", Class::Unknown),
        ("", Class::Unknown),
        ("SELECT", Class::Select),
        ("SELECTED", Class::Unknown),
        ("1", Class::Unknown),
        ("averyveryverylongwordthatisnothing", Class::Unknown),
        ("desc t", Class::Describe),
    ] {
        assert_eq!(classify(text.as_bytes()), class, "{text}");
    }
}

#[test]
fn names_are_unique() {
    let names: std::collections::HashSet<_> = Class::ALL.iter().map(|class| class.name()).collect();
    assert_eq!(names.len(), Class::ALL.len());
    assert!(names.contains("UNKNOWN") && names.contains("SELECT_FOR_UPDATE"));
}

#[test]
fn what_is_set_and_used_is_seen() {
    for (text, of) in [
        ("SET NAMES utf8", SetOf::Names),
        ("set /**/ names 'utf8'", SetOf::Names),
        ("SET autocommit=0", SetOf::Autocommit),
        ("SET @@session.autocommit = ON", SetOf::Autocommit),
        ("SET SESSION autocommit=1", SetOf::Autocommit),
        ("SET @names=1", SetOf::Other),
        ("SET sql_mode=''", SetOf::Other),
    ] {
        assert_eq!(set_of(text.as_bytes()), of, "{text}");
    }
    assert_eq!(used_schema(b"USE shop"), Some(&b"shop"[..]));
    assert_eq!(used_schema(b"use `my shop` ;"), Some(&b"my shop"[..]));
    for text in [
        "/* c */ use $a_1;",
        "USE /* c */ $a_1",
        "USE $a_1 -- c",
        "use`$a_1`/* c */; # c",
        "USE -- c\n$a_1 /*! */",
    ] {
        assert_eq!(used_schema(text.as_bytes()), Some(&b"$a_1"[..]), "{text}");
    }
    for text in [
        "USE",
        "USE ``",
        "USE `a",
        "USE a`",
        "USE `a``b`",
        "USE a b",
        "USE a; SELECT 1",
        "USE `a`; SELECT 1",
        "USE `a`b",
        "USE a.b",
        "USE \"a\"",
        "USE a/*!50000b*/",
        "USE /*!50000 a */",
        "USE /* a",
        "USE a /* b",
    ] {
        assert_eq!(used_schema(text.as_bytes()), None, "{text}");
    }
}

proptest! {
    #[test]
    fn any_bytes_have_a_class(text: Vec<u8>) {
        classify(&text);
        set_of(&text);
        used_schema(&text);
    }
}
