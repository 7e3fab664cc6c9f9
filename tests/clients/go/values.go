package main

import (
	"bytes"
	"crypto/rand"
	"database/sql"
	"fmt"
	"time"

	"github.com/go-sql-driver/mysql"
)

var valueChecks = []check{
	{"text_types", func() error { return types(true) }},
	{"prepared_types", func() error { return types(false) }},
	{"text_sizes", func() error { return sizes(nil, false) }},
	{"prepared_sizes", func() error { return sizes(nil, true) }},
	{"prepared_many", preparedMany},
	{"prepared_error", preparedError},
	{"charset_utf8mb4", func() error { return charset("utf8mb4", "\U0001f600", "F09F9880") }},
	{"charset_gbk", func() error { return charset("gbk", "\xd5\x5c'\xb8\x5c", "E8AAA027E7AB86") }},
	{"charset_latin1", func() error { return charset("latin1", "h\xe9", "68C3A9") }},
	{"batch", batch},
}

const columns = `i8 TINYINT, u8 TINYINT UNSIGNED, i16 SMALLINT, i24 MEDIUMINT, i32 INT, u32 INT UNSIGNED, i64 BIGINT,
	u64 BIGINT UNSIGNED, f DOUBLE, f4 FLOAT, d DECIMAL(30,10), s VARCHAR(100), b VARBINARY(100), bl BLOB, da DATE,
	ti TIME(6), dt DATETIME(6), ts TIMESTAMP NULL, y YEAR, e ENUM('a','b'), se SET('x','y'), bi BIT(9), js JSON`

var row = []any{int64(-128), int64(255), int64(-32768), int64(-8388608), int64(-2147483648), int64(4294967295),
	int64(-9223372036854775808), uint64(18446744073709551615), 1.5e300, float64(0.25),
	"12345678901234567890.0123456789", "h\u00e9 \U0001f600 '\\\"", []byte("\x00\xff'\\"), []byte{},
	time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC), "-26:03:00.000005",
	time.Date(2024, 2, 29, 1, 2, 3, 456789000, time.UTC), time.Date(2024, 2, 29, 1, 2, 3, 0, time.UTC),
	int64(2024), "b", "x,y", []byte{1, 0x55}, `{"a": 1}`}

// types stores and reads a row of values and one of NULLs, as text or by prepared statements.
func types(text bool) error {
	db, err := open(func(c *mysql.Config) { c.InterpolateParams = text })
	if err != nil {
		return err
	}
	defer db.Close()
	marks := "?"
	for range row[1:] {
		marks += ",?"
	}
	name := "prepared_types"
	if text {
		name = "text_types"
	}
	if err := run(db, "DROP TABLE IF EXISTS "+name, "CREATE TABLE "+name+" ("+columns+") CHARACTER SET utf8mb4"); err != nil {
		return err
	}
	_, err = db.Exec("INSERT INTO "+name+" VALUES ("+marks+")", row...)
	if err == nil {
		_, err = db.Exec("INSERT INTO "+name+" VALUES ("+marks+")", make([]any, len(row))...)
	}
	if err != nil {
		return err
	}
	for null := range 2 {
		got, targets := make([]any, len(row)), make([]any, len(row))
		for i := range got {
			targets[i] = &got[i]
		}
		if err := db.QueryRow("SELECT * FROM "+name+" WHERE (i8 IS NULL) = ?", null).Scan(targets...); err != nil {
			return err
		}
		for i, value := range got {
			expected, value := fmt.Sprint(row[i]), value
			if bytes, ok := value.([]byte); ok {
				value = string(bytes)
				if text, ok := row[i].([]byte); ok {
					expected = string(text)
				}
			}
			if null == 1 {
				expected = "<nil>"
			}
			if err := equal(fmt.Sprint(value), expected); err != nil {
				return fmt.Errorf("column %d: %w", i, err)
			}
		}
	}
	return nil
}

// sizes sends blobs there and back.
func sizes(change func(*mysql.Config), prepared bool) error {
	db, err := open(func(c *mysql.Config) {
		c.InterpolateParams = !prepared
		if change != nil {
			change(c)
		}
	})
	if err != nil {
		return err
	}
	defer db.Close()
	if err := run(db, "DROP TABLE IF EXISTS sizes", "CREATE TABLE sizes (id INT PRIMARY KEY, b LONGBLOB)"); err != nil {
		return err
	}
	lengths := []int{0, 1, 1 << 14, 1<<24 - 1, 1 << 24, 1<<24 + 1}
	if !full {
		lengths = []int{0, 1, 1 << 14, 1 << 20}
	}
	for id, length := range lengths {
		data, got := blob(length), []byte(nil)
		if _, err := db.Exec("INSERT INTO sizes VALUES (?, ?)", id, data); err != nil {
			return fmt.Errorf("%d bytes: %w", length, err)
		}
		if err := db.QueryRow("SELECT b FROM sizes WHERE id = ?", id).Scan(&got); err != nil {
			return fmt.Errorf("%d bytes: %w", length, err)
		}
		if !bytes.Equal(got, data) {
			return fmt.Errorf("%d bytes came back changed", length)
		}
	}
	return nil
}

// blob returns bytes that repeat after a while: quick to compress, and a piece that is lost or doubled shows.
func blob(length int) []byte {
	pattern := make([]byte, 4099)
	rand.Read(pattern)
	return bytes.Repeat(pattern, length/len(pattern)+1)[:length]
}

func preparedMany() error {
	db, err := open(nil)
	if err != nil {
		return err
	}
	defer db.Close()
	var statements []*sql.Stmt
	for number := range 20 {
		statement, err := db.Prepare(fmt.Sprintf("SELECT ? + %d", number))
		if err != nil {
			return err
		}
		statements = append(statements, statement)
	}
	for turn := range 3 {
		for number, statement := range statements {
			var got int
			if err := first(statement.QueryRow(turn).Scan(&got), equal(got, turn+number)); err != nil && got != turn+number {
				return err
			}
		}
	}
	return nil
}

func preparedError() error {
	db, err := open(nil)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.Prepare("SELECT * FROM no_such_table WHERE a = ?")
	return first(failed(err, 1146, "42S02"), run(db, "SELECT 1"))
}

// charset stores bytes that are text in a charset, in which a naive reader finds backslashes, and looks at what is there.
func charset(name, text, stored string) error {
	db, err := open(func(c *mysql.Config) {
		if err := c.Apply(mysql.Charset(name, "")); err != nil {
			panic(err)
		}
	})
	if err != nil {
		return err
	}
	defer db.Close()
	table := "charset_" + name
	if err := run(db, "DROP TABLE IF EXISTS "+table, "CREATE TABLE "+table+" (t VARCHAR(100) CHARACTER SET utf8mb4)"); err != nil {
		return err
	}
	if _, err := db.Exec("INSERT INTO "+table+" VALUES (?)", text); err != nil {
		return err
	}
	var got, hex, client string
	if err := db.QueryRow("SELECT t, HEX(t), @@character_set_client FROM "+table).Scan(&got, &hex, &client); err != nil {
		return err
	}
	return equal([]string{got, hex, client}, []string{text, stored, name})
}

func batch() error {
	db, err := open(nil)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := run(db, "DROP TABLE IF EXISTS batch", "CREATE TABLE batch (id INT PRIMARY KEY, name VARCHAR(40))"); err != nil {
		return err
	}
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	statement, err := tx.Prepare("INSERT INTO batch VALUES (?, ?)")
	if err != nil {
		return err
	}
	for n := range 5000 {
		if _, err := statement.Exec(n, fmt.Sprint("name ", n)); err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	var sum int
	return first(db.QueryRow("SELECT SUM(id) FROM batch").Scan(&sum), equal(sum, 12497500))
}

func run(db *sql.DB, statements ...string) error {
	for _, statement := range statements {
		if _, err := db.Exec(statement); err != nil {
			return fmt.Errorf("%.80s: %w", statement, err)
		}
	}
	return nil
}
