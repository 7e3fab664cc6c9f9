package main

import (
	"bytes"
	"database/sql"
	"fmt"
	"io"
	"strings"

	"github.com/go-sql-driver/mysql"
)

var resultChecks = []check{
	{"big_rows", func() error { return bigRows(true) }},
	{"big_rows_prepared", func() error { return bigRows(false) }},
	{"abandoned_result", abandonedResult},
	{"affected_and_insert_id", affected},
	{"multi_statements", multiStatements},
	{"multi_error", multiError},
	{"procedure_results", procedureResults},
	{"load_local", loadLocal},
}

func digits(tables int) string {
	ten := "SELECT 0 AS d"
	for n := 1; n < 10; n++ {
		ten += fmt.Sprint(" UNION ALL SELECT ", n)
	}
	var all []string
	for n := range tables {
		all = append(all, fmt.Sprintf("(%s) t%d", ten, n))
	}
	return strings.Join(all, ", ")
}

func bigRows(text bool) error {
	db, err := open(func(c *mysql.Config) { c.InterpolateParams = text })
	if err != nil {
		return err
	}
	defer db.Close()
	count := 20_000
	if full {
		count = 200_000
	}
	rows, err := db.Query("SELECT t0.d + 10*t1.d, REPEAT('x', 500) FROM "+digits(5)+
		", (SELECT 0 UNION ALL SELECT 1) u WHERE ? = 1 LIMIT "+fmt.Sprint(count), 1)
	if err != nil {
		return err
	}
	defer rows.Close()
	seen, size := 0, 0
	for rows.Next() {
		var n int
		var text sql.RawBytes
		if err := rows.Scan(&n, &text); err != nil {
			return err
		}
		seen, size = seen+1, size+len(text)
	}
	return first(rows.Err(), equal([]int{seen, size}, []int{count, count * 500}))
}

// abandonedResult closes a result early: the driver reads the rest, and the connection is of use.
func abandonedResult() error {
	db, err := open(nil)
	if err != nil {
		return err
	}
	defer db.Close()
	rows, err := db.Query("SELECT t0.d, REPEAT('x', 500) FROM " + digits(4))
	if err != nil {
		return err
	}
	rows.Next()
	return first(rows.Close(), run(db, "SELECT 1"))
}

func affected() error {
	for _, found := range []bool{false, true} {
		db, err := open(func(c *mysql.Config) { c.ClientFoundRows = found })
		if err != nil {
			return err
		}
		defer db.Close()
		if err := run(db, "DROP TABLE IF EXISTS counts",
			"CREATE TABLE counts (id INT AUTO_INCREMENT PRIMARY KEY, v INT)"); err != nil {
			return err
		}
		result, err := db.Exec("INSERT INTO counts (v) VALUES (1), (1), (1)")
		if err != nil {
			return err
		}
		id, _ := result.LastInsertId()
		inserted, _ := result.RowsAffected()
		result, err = db.Exec("UPDATE counts SET v = 1 WHERE id < 3")
		if err != nil {
			return err
		}
		updated, _ := result.RowsAffected()
		expected := []int64{1, 3, 0}
		if found {
			expected[2] = 2
		}
		if err := equal([]int64{id, inserted, updated}, expected); err != nil {
			return err
		}
	}
	return nil
}

func withMulti(c *mysql.Config) { c.MultiStatements = true }

// results are the first columns of all results of a statement.
func results(db *sql.DB, statement string) ([][]int, error) {
	rows, err := db.Query(statement)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all [][]int
	for {
		var one []int
		for rows.Next() {
			var n int
			if err := rows.Scan(&n); err != nil {
				return all, err
			}
			one = append(one, n)
		}
		all = append(all, one)
		if !rows.NextResultSet() {
			return all, rows.Err()
		}
	}
}

func multiStatements() error {
	db, err := open(withMulti)
	if err != nil {
		return err
	}
	defer db.Close()
	got, err := results(db, "SELECT 1; SELECT 2; SELECT 3 UNION SELECT 4")
	return first(err, equal(got, [][]int{{1}, {2}, {3, 4}}), run(db, "SELECT 5"))
}

func multiError() error {
	db, err := open(withMulti)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = results(db, "SELECT 1; SELECT * FROM no_such_table; SELECT 2")
	if err := failed(err, 1146, "42S02"); err != nil {
		return err
	}
	other, err := open(nil)
	if err != nil {
		return err
	}
	defer other.Close()
	_, err = other.Exec("SELECT 1; SELECT 2")
	return first(failed(err, 1064, "42000"), run(db, "SELECT 5"))
}

func procedureResults() error {
	db, err := open(nil)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := run(db, "DROP PROCEDURE IF EXISTS two_results",
		"CREATE PROCEDURE two_results() BEGIN SELECT 1; SELECT 2 UNION SELECT 3; END"); err != nil {
		return err
	}
	got, err := results(db, "CALL two_results()")
	if len(got) > 2 {
		got = got[:2]
	}
	return first(err, equal(got, [][]int{{1}, {2, 3}}))
}

func loadLocal() error {
	db, err := open(nil)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := run(db, "DROP TABLE IF EXISTS loaded", "CREATE TABLE loaded (id INT PRIMARY KEY, name VARCHAR(40))"); err != nil {
		return err
	}
	var lines bytes.Buffer
	for n := range 50_000 {
		fmt.Fprintf(&lines, "%d\tname %d\n", n, n)
	}
	mysql.RegisterReaderHandler("lines", func() io.Reader { return &lines })
	if err := run(db, "LOAD DATA LOCAL INFILE 'Reader::lines' INTO TABLE loaded"); err != nil {
		return err
	}
	var count int
	if err := first(db.QueryRow("SELECT COUNT(*) FROM loaded").Scan(&count)); err != nil || count != 50_000 {
		return fmt.Errorf("%d rows, %v", count, err)
	}
	if run(db, "LOAD DATA LOCAL INFILE '/not/registered' INTO TABLE loaded") == nil {
		return fmt.Errorf("loaded a file that nobody has registered")
	}
	return run(db, "SELECT 1")
}
