// Runs the checks of the client matrix with mysql2; tests/clients/README.md has the environment.

import { createHash, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { Readable } from "node:stream";
import mysql from "mysql2/promise";
import { equal, runAll, Skip } from "./report.mjs";

const env = process.env;
const full = env.PM_SIZE !== "quick";
const logins = (env.PM_LOGINS ?? "").split(",").filter(Boolean);
const SIZES = full ? [0, 1, 2 ** 14, 2 ** 24 - 1, 2 ** 24, 2 ** 24 + 1] : [0, 1, 2 ** 14, 2 ** 20];
const ten = `(${[...Array(10).keys()].map((n) => `SELECT ${n} AS d`).join(" UNION ALL ")})`;
const digits = (tables) => [...Array(tables).keys()].map((n) => `${ten} t${n}`).join(", ");
const opened = [];

async function connect(options = {}) {
  const connection = await mysql.createConnection({
    host: env.PM_HOST, port: Number(env.PM_PORT), user: env.PM_USER, password: env.PM_PASSWORD,
    database: env.PM_DATABASE, connectTimeout: 20_000, ...options,
  });
  connection.on("error", () => {});
  opened.push(connection);
  return connection;
}

async function value(connection, sql, ...parameters) {
  const [rows] = await connection.query({ sql, rowsAsArray: true }, parameters);
  return rows[0]?.[0];
}

async function fails(code, state, action) {
  try {
    await action();
  } catch (error) {
    equal([error.errno, error.sqlState], [code, state]);
    return;
  }
  throw new Error(`no error ${code}`);
}

async function logIn(method, options = {}) {
  if (method === "ed25519") throw new Skip("the driver has no client_ed25519");
  const account = { user: `m_${method}`, password: method === "empty" ? "" : env.PM_LOGIN_PASSWORD };
  const connection = await connect({ ...account, ...options });
  equal(await value(connection, "SELECT SUBSTRING_INDEX(USER(), '@', 1)"), `m_${method}`);
  await connection.end();
}

const tls = { ssl: { rejectUnauthorized: false } };

async function withTable(connection, name, columns) {
  await connection.query(`DROP TABLE IF EXISTS ${name}`);
  await connection.query(`CREATE TABLE ${name} (${columns}) CHARACTER SET utf8mb4`);
}

async function sizes(options, how) {
  const connection = await connect(options);
  await withTable(connection, "sizes", "id INT PRIMARY KEY, b LONGBLOB");
  for (const [id, size] of SIZES.entries()) {
    // Repeats after a while: quick to compress, and a piece that is lost or doubled shows.
    const data = Buffer.alloc(size, randomBytes(4099));
    await connection[how]("INSERT INTO sizes VALUES (?, ?)", [id, data]);
    const [[row]] = await connection[how]("SELECT b FROM sizes WHERE id = ?", [id]);
    if (!row.b.equals(data)) throw new Error(`${size} bytes came back changed`);
  }
  await connection.end();
}

const columns = `i8 TINYINT, u8 TINYINT UNSIGNED, i24 MEDIUMINT, i32 INT, u32 INT UNSIGNED, i64 BIGINT, u64 BIGINT UNSIGNED,
  f DOUBLE, f4 FLOAT, d DECIMAL(30,10), s VARCHAR(100), b VARBINARY(100), da DATE, ti TIME(6), dt DATETIME(6), y YEAR,
  e ENUM('a','b'), se SET('x','y'), bi BIT(9)`;
const row = [-128, 255, -8388608, -2147483648, 4294967295, "-9223372036854775808", "18446744073709551615", 1.5e300, 0.25,
  "12345678901234567890.0123456789", "h\u00e9 \u{1f600} '\\\"", Buffer.from([0, 255, 0x27, 0x5c]), "2024-02-29",
  "-26:03:00.000005", "2024-02-29 01:02:03.456789", 2024, "b", "x,y", Buffer.from([1, 0x55])];

async function types(how) {
  const connection = await connect({ charset: "utf8mb4", dateStrings: true, supportBigNumbers: true, bigNumberStrings: true });
  const table = `types_${how}`;
  await withTable(connection, table, columns);
  const marks = row.map(() => "?").join(",");
  await connection[how](`INSERT INTO ${table} VALUES (${marks})`, row);
  await connection[how](`INSERT INTO ${table} VALUES (${marks})`, row.map(() => null));
  const [rows] = await connection[how]({ sql: `SELECT * FROM ${table} ORDER BY i8 IS NULL`, rowsAsArray: true });
  // How numbers come out is the driver's choice, so they are compared as text.
  const plain = (values) => values.map((one) => (Buffer.isBuffer(one) ? one.toString("hex") : one === null ? null : `${one}`));
  equal(plain(rows[0]), plain(row));
  equal(rows[1], row.map(() => null));
}

async function bigRows(how) {
  const connection = await connect();
  const count = full ? 200_000 : 20_000;
  const sql = `SELECT t0.d + 10*t1.d AS n, REPEAT('x', 500) AS x FROM ${digits(5)}, (SELECT 0 UNION ALL SELECT 1) u LIMIT ${count}`;
  let [rows, bytes] = [0, 0];
  for await (const one of connection.connection[how](sql).stream()) {
    rows += 1;
    bytes += one.x.length;
  }
  equal([rows, bytes], [count, count * 500]);
  equal(await value(connection, "SELECT 1"), 1);
}

async function killed(kill) {
  const [connection, other] = [await connect(), await connect()];
  const endless = connection.query(`SELECT COUNT(*) AS endless FROM ${digits(14)}`).then(() => null, (error) => error);
  const running = "SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE() AND info LIKE 'SELECT COUNT(*) AS endless%'";
  for (const deadline = Date.now() + 30_000; (await value(other, running)) !== 1;) {
    if (Date.now() > deadline) throw new Error("the statement never ran");
  }
  await other.query(`${kill} ${connection.threadId}`);
  return [await endless, connection];
}

const checks = [
  ...logins.map((method) => [`login_${method}`, () => logIn(method)]),
  ...logins.map((method) => [`tls_login_${method}`, () => logIn(method, tls)]),
  ["login_caching_sha2_full_then_fast", async () => {
    if (!logins.includes("caching_sha2")) throw new Skip("the server has no caching_sha2_password");
    await (await connect()).query("FLUSH PRIVILEGES");
    await logIn("caching_sha2");
    await logIn("caching_sha2");
    await connect();
  }],
  ["login_wrong_password", () => fails(1045, "28000", () => connect({ password: "wrong" }))],
  ["login_unknown_user", () => fails(1045, "28000", () => connect({ user: "nobody_here" }))],
  ["login_unknown_schema", () => fails(1049, "42000", async () => (await connect({ database: "no_such_schema" })).query("SELECT 1"))],
  ["login_without_schema", async () => equal(await value(await connect({ database: undefined }), "SELECT DATABASE()"), null)],
  ["tls_required", async () => equal(await value(await connect(tls), "SELECT 1"), 1)],
  ["tls_verify_ca", async () => equal(await value(await connect({ ssl: { ca: readFileSync(env.PM_CA) } }), "SELECT 1"), 1)],
  ["tls_verify_identity", async () =>
    equal(await value(await connect({ ssl: { ca: readFileSync(env.PM_CA), verifyIdentity: true } }), "SELECT 1"), 1)],
  ["tls_untrusted", async () => {
    const outcome = await connect({ ssl: { rejectUnauthorized: true } }).then(() => "connected", (error) => error.code);
    equal(outcome, "HANDSHAKE_SSL_ERROR");
  }],
  ["tls_sizes", () => sizes(tls, "execute")],
  ["compress_sizes", () => sizes({ compress: true }, "query")],
  ["compress_prepared_sizes", () => sizes({ compress: true }, "execute")],
  ["compress_tls_sizes", () => sizes({ compress: true, ...tls }, "query")],
  ["text_sizes", () => sizes({}, "query")],
  ["prepared_sizes", () => sizes({}, "execute")],
  ["text_types", () => types("query")],
  ["prepared_types", () => types("execute")],
  ["prepared_many", async () => {
    const connection = await connect();
    const statements = [];
    for (let n = 0; n < 20; n += 1) statements.push(await connection.prepare(`SELECT ? + ${n} AS v`));
    for (let turn = 0; turn < 3; turn += 1) {
      for (const [n, statement] of statements.entries()) {
        const [[one]] = await statement.execute([turn]);
        equal(Number(one.v), turn + n);
      }
    }
    for (const statement of statements) await statement.close();
    equal(await value(connection, "SELECT 1"), 1);
  }],
  ["prepared_error", async () => {
    const connection = await connect();
    await fails(1146, "42S02", () => connection.execute("SELECT * FROM no_such_table WHERE a = ?", [1]));
    equal(await value(connection, "SELECT 1"), 1);
  }],
  ["pipelined", async () => {
    // The driver's queue sends one after the other; they are given all at once.
    const connection = await connect();
    const all = await Promise.all([...Array(200).keys()].map((n) => value(connection, "SELECT ?", n)));
    equal(all, [...Array(200).keys()]);
  }],
  ["big_rows", () => bigRows("query")],
  ["big_rows_prepared", () => bigRows("execute")],
  ["affected_and_insert_id", async () => {
    const connection = await connect();
    await withTable(connection, "counts", "id INT AUTO_INCREMENT PRIMARY KEY, v INT");
    const [inserted] = await connection.query("INSERT INTO counts (v) VALUES (1), (1), (1)");
    const [updated] = await connection.query("UPDATE counts SET v = 1 WHERE id < 3");
    equal([inserted.insertId, inserted.affectedRows, updated.affectedRows, updated.changedRows], [1, 3, 2, 0]);
  }],
  ["multi_statements", async () => {
    const connection = await connect({ multipleStatements: true });
    const [results] = await connection.query({ sql: "SELECT 1; SELECT 2, 3; DO 4; SELECT 5", rowsAsArray: true });
    equal(results.map((one) => (Array.isArray(one) ? one : null)), [[[1]], [[2, 3]], null, [[5]]]);
    await fails(1064, "42000", async () => (await connect()).query("SELECT 1; SELECT 2"));
  }],
  ["multi_error", async () => {
    const connection = await connect({ multipleStatements: true });
    await fails(1146, "42S02", () => connection.query("SELECT 1; SELECT * FROM no_such_table; SELECT 2"));
    equal(await value(connection, "SELECT 1"), 1);
  }],
  ["procedure_results", async () => {
    const connection = await connect();
    await connection.query("DROP PROCEDURE IF EXISTS two_results");
    await connection.query("CREATE PROCEDURE two_results() BEGIN SELECT 1; SELECT 2 UNION SELECT 3; END");
    for (const how of ["query", "execute"]) {
      const [results] = await connection[how]({ sql: "CALL two_results()", rowsAsArray: true });
      equal(results.slice(0, 2), [[[1]], [[2], [3]]]);
    }
  }],
  ["load_local", async () => {
    const connection = await connect();
    await withTable(connection, "loaded", "id INT PRIMARY KEY, name VARCHAR(40)");
    const lines = [...Array(50_000).keys()].map((n) => `${n}\tname ${n}\n`).join("");
    await connection.query({ sql: "LOAD DATA LOCAL INFILE 'lines' INTO TABLE loaded", infileStreamFactory: () => Readable.from([Buffer.from(lines)]) });
    equal(await value(connection, "SELECT COUNT(*) FROM loaded"), 50_000);
  }],
  ...[["utf8mb4", "\u{1f600}", "F09F9880"], ["gbk", "\u8aa0'\u7ac6", "E8AAA027E7AB86"], ["latin1", "h\u00e9", "68C3A9"]].map(
    ([charset, text, stored]) => [`charset_${charset}`, async () => {
      const connection = await connect({ charset });
      await withTable(connection, `charset_${charset}`, "t VARCHAR(100)");
      await connection.execute(`INSERT INTO charset_${charset} VALUES (?)`, [text]);
      const [[one]] = await connection.query(`SELECT t, HEX(t) AS h, @@character_set_client AS c FROM charset_${charset}`);
      equal([one.t, one.h, one.c], [text, stored, charset]);
    }]),
  ["tx_commit_and_rollback", async () => {
    const [connection, other] = [await connect(), await connect()];
    await withTable(connection, "tx", "id INT PRIMARY KEY");
    await connection.beginTransaction();
    await connection.query("INSERT INTO tx VALUES (1)");
    equal(await value(other, "SELECT COUNT(*) FROM tx"), 0);
    await connection.commit();
    equal(await value(other, "SELECT COUNT(*) FROM tx"), 1);
    await connection.beginTransaction();
    await connection.query("INSERT INTO tx VALUES (2)");
    await connection.rollback();
    equal(await value(connection, "SELECT COUNT(*) FROM tx"), 1);
  }],
  ["errors", async () => {
    const connection = await connect();
    await fails(1064, "42000", () => connection.query("SELEC 1"));
    await fails(1146, "42S02", () => connection.query("SELECT * FROM no_such_table"));
    await fails(1644, "45000", () => connection.query("SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'mine'"));
    equal(await value(connection, "SELECT 1"), 1);
  }],
  ["warnings", async () => {
    const connection = await connect();
    const [outcome] = await connection.query("DO 1/0");
    const [warnings] = await connection.query("SHOW WARNINGS");
    equal([outcome.warningStatus, warnings.map((one) => one.Code)], [1, [1365]]);
  }],
  ["ping", async () => { await (await connect()).ping(); }],
  ["change_user", async () => {
    const connection = await connect();
    await connection.query("SET @a = 5");
    await connection.changeUser({ user: env.PM_USER, password: env.PM_PASSWORD, database: env.PM_DATABASE });
    equal([await value(connection, "SELECT @a"), await value(connection, "SELECT DATABASE()")], [null, env.PM_DATABASE]);
  }],
  ["change_user_other_method", async () => {
    // With an empty password the driver takes the one before.
    for (const method of logins.filter((one) => !["ed25519", "empty"].includes(one))) {
      const connection = await connect();
      await connection.changeUser({ user: `m_${method}`, password: method === "empty" ? "" : env.PM_LOGIN_PASSWORD });
      equal(await value(connection, "SELECT SUBSTRING_INDEX(USER(), '@', 1)"), `m_${method}`);
    }
  }],
  ["change_user_refused", async () => {
    const connection = await connect();
    await fails(1045, "28000", () => connection.changeUser({ user: env.PM_USER, password: "wrong" }));
  }],
  ["reset_connection", async () => {
    const connection = await connect();
    if (!connection.reset) throw new Skip("the driver cannot reset a connection");
    await connection.query("SET @a = 5");
    await connection.reset();
    equal(await value(connection, "SELECT @a"), null);
  }],
  ["connect_attributes", async () => {
    const connection = await connect({ connectAttributes: { purpose: createHash("sha256").update("x").digest("hex") } });
    equal(await value(connection, "SELECT 1"), 1);
  }],
  ["batch", async () => {
    const connection = await connect();
    await withTable(connection, "batch", "id INT PRIMARY KEY, name VARCHAR(40)");
    await connection.query("INSERT INTO batch VALUES ?", [[...Array(5000).keys()].map((n) => [n, `name ${n}`])]);
    equal(Number(await value(connection, "SELECT SUM(id) FROM batch")), 12497500);
  }],
  ["pool_after_kill", async () => {
    // A pool notices connections that are gone.
    const pool = mysql.createPool({
      host: env.PM_HOST, port: Number(env.PM_PORT), user: env.PM_USER, password: env.PM_PASSWORD, connectionLimit: 1 });
    const [other, connection] = [await connect(), await pool.getConnection()];
    const { threadId } = connection;
    const gone = new Promise((resolve) => { connection.connection.stream.once("close", resolve); });
    connection.release();
    await other.query(`KILL ${threadId}`);
    await gone;
    const [[one]] = await pool.query("SELECT 1 AS v");
    equal(one.v, 1);
    await pool.end();
  }],
  ["query_timeout", async () => {
    const [connection, other] = [await connect(), await connect()];
    const outcome = await connection.query({ sql: `SELECT COUNT(*) AS endless FROM ${digits(14)}`, timeout: 300 })
      .then(() => "no error", (error) => error.code);
    equal(outcome, "PROTOCOL_SEQUENCE_TIMEOUT");
    await other.query(`KILL ${connection.threadId}`);
  }],
  ["kill_query", async () => {
    const [error, connection] = await killed("KILL QUERY");
    equal([error?.errno, error?.sqlState], [1317, "70100"]);
    equal(await value(connection, "SELECT 1"), 1);
  }],
  ["kill_connection_running", async () => {
    const [error] = await killed("KILL");
    if (!error) throw new Error("no error");
  }],
  ["kill_unknown", async () => {
    const connection = await connect();
    await fails(1094, "HY000", () => connection.query("KILL 4123456789"));
  }],
];

const code = await runAll(checks.map(([name, check]) => [name, async () => {
  try {
    await check();
  } finally {
    for (const connection of opened.splice(0)) connection.destroy();
  }
}]));
process.exit(code);
