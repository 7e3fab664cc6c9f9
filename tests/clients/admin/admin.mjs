// mysql2 at the admin port: sets something, loads it, reads it back. Arguments: folder with the driver, port.
//
// It puts values into texts as MySQL reads them, whatever the server says of backslashes: quotes in values are not for SQLite.
import { createRequire } from "node:module";

const [folder, port] = process.argv.slice(2);
const mysql = createRequire(`${folder}/main.mjs`)("mysql2/promise");
const connection = await mysql.createConnection({
  host: "127.0.0.1", port: Number(port), user: "admin", password: "admin", database: "main",
});
await connection.query("INSERT INTO mysql_users (username, password, comment) VALUES (?, ?, ?)", ["driver", null, "its"]);
await connection.query("LOAD MYSQL USERS TO RUNTIME");
const [users] = await connection.query("SELECT username, comment FROM runtime_mysql_users WHERE frontend=1 AND username=?", ["driver"]);
await connection.query("SET mysql-max_connections=321");
await connection.query("LOAD MYSQL VARIABLES TO RUNTIME");
const [value] = await connection.query("SELECT variable_value v FROM runtime_global_variables WHERE variable_name='mysql-max_connections'");
console.log(users[0].username, users[0].comment, value[0].v);
await connection.query("BEGIN");
await connection.query("COMMIT");
try {
  await connection.query("LOAD NOTHING TO RUNTIME");
} catch (error) {
  console.log(error.errno);
}
await connection.ping();
await connection.end();
