package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-sql-driver/mysql"
)

var loginChecks = []check{
	{"login_caching_sha2_full_then_fast", fullThenFast},
	{"login_native_refused_by_option", nativeRefused},
	{"login_wrong_password", func() error {
		_, err := open(func(c *mysql.Config) { c.Passwd = "wrong" })
		return failed(err, 1045, "28000")
	}},
	{"login_unknown_user", func() error {
		_, err := open(func(c *mysql.Config) { c.User = "nobody_here" })
		return failed(err, 1045, "28000")
	}},
	{"login_unknown_schema", func() error {
		db, err := open(func(c *mysql.Config) { c.DBName = "no_such_schema" })
		if err == nil {
			_, err = db.Exec("SELECT 1")
		}
		return failed(err, 1049, "42000")
	}},
	{"login_without_schema", func() error {
		return selects(func(c *mysql.Config) { c.DBName = "" }, "SELECT COALESCE(DATABASE(), 'none')", "none")
	}},
	{"tls_required", func() error { return selects(withTLS("no"), "SELECT 'x'", "x") }},
	{"tls_verify_identity", func() error { return selects(withTLS("identity"), "SELECT 'x'", "x") }},
	{"tls_untrusted", func() error {
		if _, err := open(withTLS("untrusted")); err == nil || !strings.Contains(err.Error(), "x509") {
			return fmt.Errorf("%v instead of a complaint about the certificate", err)
		}
		return nil
	}},
	{"tls_sizes", func() error { return sizes(withTLS("no"), false) }},
	{"compress_sizes", func() error { return sizes(compressed, false) }},
	{"compress_prepared_sizes", func() error { return sizes(compressed, true) }},
	{"compress_tls_sizes", func() error {
		return sizes(func(c *mysql.Config) { compressed(c); withTLS("no")(c) }, false)
	}},
}

func compressed(c *mysql.Config) {
	if err := c.Apply(mysql.EnableCompression(true)); err != nil {
		panic(err)
	}
}

func logIn(method string, change func(*mysql.Config)) error {
	return selects(func(c *mysql.Config) {
		c.User, c.Passwd = "m_"+method, loginPassword
		if method == "empty" {
			c.Passwd = ""
		}
		if change != nil {
			change(c)
		}
	}, "SELECT SUBSTRING_INDEX(USER(), '@', 1)", "m_"+method)
}

func selects(change func(*mysql.Config), statement, expected string) error {
	db, err := open(change)
	if err != nil {
		return err
	}
	defer db.Close()
	var got string
	if err := db.QueryRow(statement).Scan(&got); err != nil {
		return err
	}
	return equal(got, expected)
}

func fullThenFast() error {
	if !strings.Contains(","+strings.Join(logins, ",")+",", ",caching_sha2,") {
		return skip("the server has no caching_sha2_password")
	}
	db, err := open(nil)
	if err != nil {
		return err
	}
	_, err = db.Exec("FLUSH PRIVILEGES")
	return first(err, logIn("caching_sha2", nil), logIn("caching_sha2", nil))
}

// nativeRefused sees that a client that will not use the method hears of it, and nobody waits.
func nativeRefused() error {
	if logins[0] != "native" {
		return skip("the server has no mysql_native_password")
	}
	_, err := open(func(c *mysql.Config) {
		c.User, c.Passwd, c.AllowNativePasswords = "m_native", loginPassword, false
	})
	return equal(errors.Is(err, mysql.ErrNativePassword), true)
}

// failed says whether err is the server's error with this code and SQLSTATE.
func failed(err error, code uint16, state string) error {
	var mine *mysql.MySQLError
	if !errors.As(err, &mine) {
		return fmt.Errorf("%v instead of error %d", err, code)
	}
	return first(equal(mine.Number, code), equal(string(mine.SQLState[:]), state))
}
