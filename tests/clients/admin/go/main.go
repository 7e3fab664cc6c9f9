// go-sql-driver at the admin port: sets something, loads it, reads it back. Argument: port.
package main

import (
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/go-sql-driver/mysql"
)

func main() {
	// The admin port prepares no statements: the driver puts values into texts.
	db, err := sql.Open("mysql", "admin:admin@tcp(127.0.0.1:"+os.Args[1]+")/main?interpolateParams=true")
	check(err)
	db.SetMaxOpenConns(1)
	check(db.Ping())
	_, err = db.Exec("INSERT INTO mysql_users (username, password, comment) VALUES (?, ?, ?)", "driver", nil, "it's")
	check(err)
	_, err = db.Exec("LOAD MYSQL USERS TO RUNTIME")
	check(err)
	var user, comment, value string
	check(db.QueryRow("SELECT username, comment FROM runtime_mysql_users WHERE frontend=1 AND username=?", "driver").Scan(&user, &comment))
	_, err = db.Exec("SET mysql-max_connections=321")
	check(err)
	_, err = db.Exec("LOAD MYSQL VARIABLES TO RUNTIME")
	check(err)
	check(db.QueryRow("SELECT variable_value FROM runtime_global_variables WHERE variable_name='mysql-max_connections'").Scan(&value))
	fmt.Println(user, comment, value)
	transaction, err := db.Begin()
	check(err)
	check(transaction.Commit())
	_, err = db.Exec("LOAD NOTHING TO RUNTIME")
	var refused *mysql.MySQLError
	if errors.As(err, &refused) {
		fmt.Println(refused.Number)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
