// Runs the checks of the client matrix with go-sql-driver/mysql; tests/clients/README.md has the environment.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"os"
	"strings"

	"github.com/go-sql-driver/mysql"
)

var (
	host          = os.Getenv("PM_HOST")
	port          = os.Getenv("PM_PORT")
	user          = os.Getenv("PM_USER")
	password      = os.Getenv("PM_PASSWORD")
	database      = os.Getenv("PM_DATABASE")
	server        = os.Getenv("PM_SERVER")
	loginPassword = os.Getenv("PM_LOGIN_PASSWORD")
	logins        = strings.FieldsFunc(os.Getenv("PM_LOGINS"), func(r rune) bool { return r == ',' })
	ca            = os.Getenv("PM_CA")
	full          = os.Getenv("PM_SIZE") != "quick"
)

// config is how the account of everything else logs in, without TLS.
func config() *mysql.Config {
	config := mysql.NewConfig()
	config.User, config.Passwd, config.DBName = user, password, database
	config.Net, config.Addr = "tcp", host+":"+port
	config.MaxAllowedPacket = 1 << 26
	config.ParseTime = true
	config.Logger = &mysql.NopLogger{}
	return config
}

// open returns one connection: a pool would hide which of its connections did what.
func open(change func(*mysql.Config)) (*sql.DB, error) {
	config := config()
	if change != nil {
		change(config)
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	return db, db.Ping()
}

// withTLS asks for TLS; verify is "no", "ca" or "identity" (one and the same in Go), or "untrusted".
func withTLS(verify string) func(*mysql.Config) {
	return func(config *mysql.Config) {
		config.TLS = &tls.Config{ServerName: host, InsecureSkipVerify: verify == "no"}
		if verify == "identity" {
			config.TLS.RootCAs = x509.NewCertPool()
			pem, err := os.ReadFile(ca)
			if err != nil || !config.TLS.RootCAs.AppendCertsFromPEM(pem) {
				panic("no certificate in " + ca)
			}
		}
	}
}

func main() {
	var checks []check
	for _, method := range logins {
		checks = append(checks, check{"login_" + method, func() error { return logIn(method, nil) }})
	}
	for _, method := range logins {
		checks = append(checks, check{"tls_login_" + method, func() error { return logIn(method, withTLS("no")) }})
	}
	checks = append(checks, loginChecks...)
	checks = append(checks, valueChecks...)
	checks = append(checks, resultChecks...)
	checks = append(checks, sessionChecks...)
	os.Exit(runAll(checks))
}
