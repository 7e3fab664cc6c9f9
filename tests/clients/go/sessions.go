package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/go-sql-driver/mysql"
)

var sessionChecks = []check{
	{"tx_commit_and_rollback", commitAndRollback},
	{"tx_isolation", isolation},
	{"tx_read_only", readOnly},
	{"errors", errorCodes},
	{"warnings", warnings},
	{"reconnect", reconnect},
	{"cancel_by_context", cancelByContext},
	{"cancel_by_deadline", cancelByDeadline},
	{"kill_query", killQuery},
	{"kill_unknown", func() error {
		db, err := open(nil)
		if err != nil {
			return err
		}
		defer db.Close()
		_, err = db.Exec("KILL 4123456789")
		return failed(err, 1094, "HY000")
	}},
}

// pair returns two connections.
func pair() (*sql.DB, *sql.DB, error) {
	one, err := open(nil)
	if err != nil {
		return nil, nil, err
	}
	other, err := open(nil)
	return one, other, err
}

func count(from interface {
	QueryRow(string, ...any) *sql.Row
}, table string) int {
	count := -1
	_ = from.QueryRow("SELECT COUNT(*) FROM " + table).Scan(&count)
	return count
}

func commitAndRollback() error {
	db, other, err := pair()
	if err != nil {
		return err
	}
	defer db.Close()
	defer other.Close()
	if err := run(db, "DROP TABLE IF EXISTS tx", "CREATE TABLE tx (id INT PRIMARY KEY)"); err != nil {
		return err
	}
	for _, commit := range []bool{true, false} {
		tx, err := db.Begin()
		if err != nil {
			return err
		}
		before := count(other, "tx")
		if _, err := tx.Exec("INSERT INTO tx VALUES (?)", before); err != nil {
			return err
		}
		if err := equal(count(other, "tx"), before); err != nil {
			return err
		}
		if commit {
			err = first(tx.Commit(), equal(count(other, "tx"), before+1))
		} else {
			err = first(tx.Rollback(), equal(count(other, "tx"), before))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func isolation() error {
	db, other, err := pair()
	if err != nil {
		return err
	}
	defer db.Close()
	defer other.Close()
	if err := run(db, "DROP TABLE IF EXISTS isolation", "CREATE TABLE isolation (id INT PRIMARY KEY)"); err != nil {
		return err
	}
	for level, seen := range map[sql.IsolationLevel]int{sql.LevelReadCommitted: 1, sql.LevelRepeatableRead: 0} {
		tx, err := db.BeginTx(context.Background(), &sql.TxOptions{Isolation: level})
		if err != nil {
			return err
		}
		before := count(tx, "isolation")
		if err := run(other, fmt.Sprint("INSERT INTO isolation VALUES (", before, ")")); err != nil {
			return err
		}
		if err := first(equal(count(tx, "isolation"), before+seen), tx.Rollback()); err != nil {
			return fmt.Errorf("%v: %w", level, err)
		}
	}
	return nil
}

func readOnly() error {
	db, err := open(nil)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := run(db, "DROP TABLE IF EXISTS read_only_table", "CREATE TABLE read_only_table (id INT)"); err != nil {
		return err
	}
	tx, err := db.BeginTx(context.Background(), &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	_, err = tx.Exec("INSERT INTO read_only_table VALUES (1)")
	return first(failed(err, 1792, "25006"), tx.Rollback())
}

func errorCodes() error {
	db, err := open(nil)
	if err != nil {
		return err
	}
	defer db.Close()
	for _, wrong := range []struct {
		statement string
		code      uint16
		state     string
	}{
		{"SELEC 1", 1064, "42000"},
		{"SELECT * FROM no_such_table", 1146, "42S02"},
		{"SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'mine'", 1644, "45000"},
	} {
		if err := failed(run(db, wrong.statement), wrong.code, wrong.state); err != nil {
			return err
		}
	}
	return run(db, "SELECT 1")
}

func warnings() error {
	db, err := open(nil)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := run(db, "DO 1/0, CAST('x' AS SIGNED)"); err != nil {
		return err
	}
	var level, message string
	var code int
	return first(db.QueryRow("SHOW WARNINGS").Scan(&level, &code, &message), equal(level, "Warning"))
}

func connectionID(db *sql.DB) (id int64, err error) {
	return id, db.QueryRow("SELECT CONNECTION_ID()").Scan(&id)
}

// reconnect sees that the pool of database/sql notices a connection that is gone.
func reconnect() error {
	db, other, err := pair()
	if err != nil {
		return err
	}
	defer db.Close()
	defer other.Close()
	id, err := connectionID(db)
	if err != nil {
		return err
	}
	if err := run(other, fmt.Sprint("KILL ", id)); err != nil {
		return err
	}
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		if now, err := connectionID(db); err == nil && now != id {
			return nil
		}
	}
	return errors.New("still the same connection")
}

func endless() string { return "SELECT COUNT(*) AS endless FROM " + digits(14) }

// untilRunning waits until the statement that never ends is among those that the server runs.
func untilRunning(db *sql.DB, running int) error {
	const find = "information_schema.processlist WHERE info LIKE 'SELECT COUNT(*) AS endless%' AND db = DATABASE()"
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		if count(db, find) == running {
			return nil
		}
	}
	return fmt.Errorf("never %d endless statements", running)
}

// cancelByContext sees that the server hears of a statement that nobody waits for: the driver closes the connection.
func cancelByContext() error {
	db, other, err := pair()
	if err != nil {
		return err
	}
	defer db.Close()
	defer other.Close()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		_, err := db.ExecContext(ctx, endless())
		done <- err
	}()
	if err := untilRunning(other, 1); err != nil {
		cancel()
		return err
	}
	cancel()
	err = <-done
	return first(equal(errors.Is(err, context.Canceled), true), run(db, "SELECT 1"), killEndless(other))
}

func cancelByDeadline() error {
	db, other, err := pair()
	if err != nil {
		return err
	}
	defer db.Close()
	defer other.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	_, err = db.ExecContext(ctx, endless())
	return first(equal(errors.Is(err, context.DeadlineExceeded), true), run(db, "SELECT 1"), killEndless(other))
}

// killEndless ends the statements that servers go on with when their client is gone.
func killEndless(db *sql.DB) error {
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		var id int64
		err := db.QueryRow("SELECT id FROM information_schema.processlist " +
			"WHERE info LIKE 'SELECT COUNT(*) AS endless%' AND db = DATABASE() LIMIT 1").Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		_ = run(db, fmt.Sprint("KILL ", id))
	}
	return errors.New("an endless statement cannot be killed")
}

func killQuery() error {
	db, other, err := pair()
	if err != nil {
		return err
	}
	defer db.Close()
	defer other.Close()
	id, err := connectionID(db)
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- run(db, endless()) }()
	if err := first(untilRunning(other, 1), run(other, fmt.Sprint("KILL QUERY ", id))); err != nil {
		return err
	}
	var mine *mysql.MySQLError
	if err := <-done; !errors.As(err, &mine) || mine.Number != 1317 {
		return fmt.Errorf("%v instead of error 1317", err)
	}
	now, err := connectionID(db)
	return first(err, equal(now, id))
}
