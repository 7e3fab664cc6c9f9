"""The checks that every DB-API driver goes through, by subject."""

import datetime
import decimal
import os
import tempfile
import threading
import time

from report import (BIG_ROW_BYTES, BIG_ROWS, CA, DATABASE, LOGIN_PASSWORD, LOGINS, PASSWORD, SERVER, SIZES, USER, Skip,
                    equal)

# How long a statement may take to show up among the running ones.
WAIT_SECONDS = 30
DIGITS = " UNION ALL ".join(f"SELECT {n} AS d" for n in range(10))
# Counts to 10^14: runs until somebody kills it.
ENDLESS = "SELECT COUNT(*) AS endless FROM " + ", ".join(f"({DIGITS}) t{n}" for n in range(14))


class Checks:
    def __init__(self, driver):
        self.driver = driver

    def all(self):
        """Pairs of a name and a function."""
        logins = [(f"login_{name}", lambda name=name: self.log_in(name)) for name in LOGINS]
        over_tls = [(f"tls_login_{name}", lambda name=name: self.log_in(name, **self.tls("no"))) for name in LOGINS]
        named = [(name[6:], getattr(self, name)) for name in dir(type(self)) if name.startswith("check_")]
        return logins + over_tls + named

    def connect(self, **options):
        return self.driver.connect(**options)

    def tls(self, verify):
        if not CA:
            raise Skip("no TLS here")
        return self.driver.tls(verify)

    def rows(self, connection, sql, parameters=None):
        cursor = connection.cursor()
        cursor.execute(sql, parameters) if parameters is not None else cursor.execute(sql)
        rows = [tuple(row) for row in cursor.fetchall()]
        cursor.close()
        return rows

    def do(self, connection, *statements):
        for sql in statements:
            cursor = connection.cursor()
            cursor.execute(sql)
            cursor.close()

    def fails(self, code, state, action):
        try:
            action()
        except self.driver.errors.Error as error:
            got_code, got_state = self.driver.error(error)
            equal((got_code, got_state), (code, state if got_state is not None else None))
            return
        raise AssertionError(f"no error {code}")

    # Logins

    def log_in(self, method, **options):
        reason = self.driver.without_logins.get(method)
        if method == "sha256" and not self.driver.rsa and not options:
            reason = "the driver has no RSA: only over TLS"
        if reason:
            raise Skip(reason)
        if method == "caching_sha2" and not self.driver.rsa and not options:
            # The fast exchange is only enough once the server has seen the password.
            self.log_in(method, **self.tls("no"))
        password = "" if method == "empty" else LOGIN_PASSWORD
        connection = self.connect(user=f"m_{method}", password=password, **options)
        user = self.rows(connection, "SELECT USER()")[0][0]
        equal(user.split("@")[0], f"m_{method}")
        connection.close()

    def check_login_caching_sha2_full_then_fast(self):
        if "caching_sha2" not in LOGINS:
            raise Skip("the server has no caching_sha2_password")
        # Without TLS the full exchange needs RSA, which not every driver has.
        options = {} if self.driver.rsa else self.tls("no")
        self.do(self.connect(), "FLUSH PRIVILEGES")
        # The account that everything else uses is forgotten, too.
        self.connect(**options).close()
        self.log_in("caching_sha2", **options)
        self.log_in("caching_sha2")

    def check_login_wrong_password(self):
        self.fails(1045, "28000", lambda: self.connect(password="wrong"))

    def check_login_unknown_user(self):
        # Servers ask a user that they do not have for any method, perhaps one that the driver has not.
        try:
            self.connect(user="nobody_here")
        except Exception:
            return
        raise AssertionError("nobody_here got in")

    def check_login_unknown_schema(self):
        def use():
            connection = self.connect(database="no_such_schema")
            self.rows(connection, "SELECT 1")

        self.fails(1049, "42000", use)

    def check_login_without_schema(self):
        connection = self.connect(database=None)
        equal(self.rows(connection, "SELECT DATABASE()"), [(None,)])

    # TLS and compression

    def check_tls_required(self):
        equal(self.rows(self.connect(**self.tls("no")), "SELECT 1"), [(1,)])

    def check_tls_verify_ca(self):
        equal(self.rows(self.connect(**self.tls("ca")), "SELECT 1"), [(1,)])

    def check_tls_verify_identity(self):
        equal(self.rows(self.connect(**self.tls("identity")), "SELECT 1"), [(1,)])

    def check_tls_untrusted(self):
        options = self.tls("untrusted")
        try:
            self.connect(**options)
        except Exception:
            return
        raise AssertionError("connected although the CA is another one")

    def check_tls_sizes(self):
        self.sizes(self.connect(**self.tls("no")))

    def check_compress_sizes(self):
        self.sizes(self.connect(**self.driver.compress("zlib")))

    def check_compress_tls_sizes(self):
        self.sizes(self.connect(**self.driver.compress("zlib"), **self.tls("no")))

    # Values

    # Without YEAR, which mysql-connector-python reads wrongly from a prepared statement.
    TYPES = """CREATE TABLE {name} (
        i8 TINYINT, u8 TINYINT UNSIGNED, i16 SMALLINT, i24 MEDIUMINT, i32 INT, u32 INT UNSIGNED, i64 BIGINT,
        u64 BIGINT UNSIGNED, f DOUBLE, f4 FLOAT, d DECIMAL(30,10), s VARCHAR(100), t TEXT, b VARBINARY(100), bl BLOB,
        da DATE, ti TIME(6), dt DATETIME(6), ts TIMESTAMP NULL, e ENUM('a','b'), se SET('x','y'), bi BIT(9),
        js JSON) CHARACTER SET utf8mb4"""
    ROW = (-128, 255, -32768, -8388608, -2147483648, 4294967295, -9223372036854775808, 18446744073709551615,
           1.5e300, 0.25, decimal.Decimal("12345678901234567890.0123456789"), "h\u00e9 \U0001f600 '\\\"",
           "text", bytes(range(100)), b"\x00\xff'\\", datetime.date(2024, 2, 29),
           datetime.timedelta(hours=-26, minutes=3, microseconds=5), datetime.datetime(2024, 2, 29, 1, 2, 3, 456789),
           datetime.datetime(2024, 2, 29, 1, 2, 3), "b", None, None, '{"a": 1}')

    def table(self, connection, name, columns):
        self.do(connection, f"DROP TABLE IF EXISTS {name}", f"CREATE TABLE {name} ({columns}) ENGINE=InnoDB")

    def types(self, connection, cursor, name):
        self.do(connection, f"DROP TABLE IF EXISTS {name}")
        self.do(connection, self.TYPES.format(name=name))
        marks = ",".join(["%s"] * len(self.ROW))
        cursor.execute(f"INSERT INTO {name} VALUES ({marks})", self.ROW)
        cursor.execute(f"INSERT INTO {name} VALUES ({marks})", (None,) * len(self.ROW))
        connection.commit()
        cursor.execute(f"SELECT * FROM {name} ORDER BY i8 IS NULL")
        first, nulls = [tuple(row) for row in cursor.fetchall()]
        for got, expected in zip(first, self.ROW):
            if isinstance(expected, str) and isinstance(got, (bytes, bytearray)):
                got = bytes(got).decode()
            if isinstance(expected, bytes):
                got = bytes(got)
            equal(got, expected)
        equal(nulls, (None,) * len(self.ROW))

    def check_text_types(self):
        connection = self.connect(charset="utf8mb4")
        self.types(connection, connection.cursor(), "text_types")

    def check_prepared_types(self):
        connection = self.connect(charset="utf8mb4")
        self.types(connection, self.driver.prepare(connection), "prepared_types")

    def sizes(self, connection, cursor=None):
        """Blobs go there and come back, through one prepared statement's cursor if it is given."""
        name = f"sizes_{os.getpid()}_{threading.get_ident()}"
        self.table(connection, name, "id INT PRIMARY KEY, b LONGBLOB")
        for number, size in enumerate(SIZES):
            if cursor and size > self.driver.prepared_bytes_max:
                continue
            # Repeats after a while: quick to compress, and a piece that is lost or doubled shows.
            data = (os.urandom(4099) * (size // 4099 + 1))[:size]
            writer = cursor or connection.cursor()
            writer.execute(f"INSERT INTO {name} VALUES (%s, %s)", (number, data))
            writer.execute(f"SELECT b, LENGTH(b) FROM {name} WHERE id = %s", (number,))
            (got, length), = writer.fetchall()
            equal(length, size)
            if bytes(got if not isinstance(got, str) else got.encode()) != data:
                raise AssertionError(f"{size} bytes came back changed")
        connection.commit()
        self.do(connection, f"DROP TABLE {name}")

    def check_text_sizes(self):
        self.sizes(self.connect())

    def check_prepared_sizes(self):
        connection = self.connect()
        self.sizes(connection, self.driver.prepare(connection))

    def check_prepared_many(self):
        connection = self.connect()
        cursors = [self.driver.prepare(connection) for _ in range(20)]
        for turn in range(3):
            for number, cursor in enumerate(cursors):
                cursor.execute(f"SELECT %s + {number}", (turn,))
                equal(int(cursor.fetchall()[0][0]), turn + number)

    def check_prepared_error(self):
        connection = self.connect()
        cursor = self.driver.prepare(connection)
        self.fails(1146, "42S02", lambda: cursor.execute("SELECT * FROM no_such_table WHERE a = %s", (1,)))
        equal(self.rows(connection, "SELECT 1"), [(1,)])

    # Transactions

    def check_tx_commit_and_rollback(self):
        connection, other = self.connect(), self.connect()
        self.table(connection, "tx", "id INT PRIMARY KEY")
        self.do(connection, "INSERT INTO tx VALUES (1)")
        equal(self.rows(other, "SELECT COUNT(*) FROM tx"), [(0,)])
        other.rollback()
        connection.commit()
        equal(self.rows(other, "SELECT COUNT(*) FROM tx"), [(1,)])
        self.do(connection, "INSERT INTO tx VALUES (2)")
        connection.rollback()
        equal(self.rows(connection, "SELECT id FROM tx"), [(1,)])

    def check_tx_isolation(self):
        connection, other = self.connect(), self.connect()
        self.table(connection, "isolation", "id INT PRIMARY KEY")
        connection.commit()
        self.do(connection, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
        equal(self.rows(connection, "SELECT COUNT(*) FROM isolation"), [(0,)])
        self.do(other, "INSERT INTO isolation VALUES (1)")
        other.commit()
        equal(self.rows(connection, "SELECT COUNT(*) FROM isolation"), [(1,)])
        self.do(connection, "COMMIT", "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        equal(self.rows(connection, "SELECT COUNT(*) FROM isolation"), [(1,)])
        self.do(other, "INSERT INTO isolation VALUES (2)")
        other.commit()
        equal(self.rows(connection, "SELECT COUNT(*) FROM isolation"), [(1,)])

    def check_tx_closed_connection_rolls_back(self):
        connection, other = self.connect(), self.connect()
        self.table(connection, "abandoned", "id INT PRIMARY KEY")
        self.do(connection, "INSERT INTO abandoned VALUES (1)")
        connection.close()
        self.do(other, "SET innodb_lock_wait_timeout = 20", "INSERT INTO abandoned VALUES (1)")

    # Results

    def check_big_rows(self):
        connection = self.connect()
        cursor = self.driver.unbuffered(connection)
        factors = ", ".join(f"({DIGITS}) t{n}" for n in range(5))
        cursor.execute(f"SELECT t0.d + 10*t1.d, REPEAT('x', {BIG_ROW_BYTES}) FROM {factors}, "
                       f"(SELECT 0 UNION ALL SELECT 1) u LIMIT {BIG_ROWS}")
        rows = size = 0
        while batch := cursor.fetchmany(1000):
            rows += len(batch)
            size += sum(len(row[1]) for row in batch)
        equal((rows, size), (BIG_ROWS, BIG_ROWS * BIG_ROW_BYTES))
        cursor.close()
        equal(self.rows(connection, "SELECT 1"), [(1,)])

    def check_empty_and_wide_results(self):
        connection = self.connect()
        equal(self.rows(connection, "SELECT 1 FROM DUAL WHERE 1 = 0"), [])
        columns = ", ".join(str(n) for n in range(1000))
        equal(self.rows(connection, f"SELECT {columns}"), [tuple(range(1000))])

    def check_affected_and_insert_id(self):
        connection = self.connect()
        self.table(connection, "counts", "id INT AUTO_INCREMENT PRIMARY KEY, v INT")
        cursor = connection.cursor()
        cursor.execute("INSERT INTO counts (v) VALUES (1), (1), (1)")
        equal((cursor.rowcount, cursor.lastrowid), (3, 1))
        cursor.execute("UPDATE counts SET v = 1 WHERE id < 3")
        found = cursor.rowcount
        cursor.execute("UPDATE counts SET v = 2 WHERE id < 3")
        equal(cursor.rowcount, 2)
        # Drivers differ in whether they count rows found or rows changed; they may not differ by the way.
        equal(found in (0, 2), True)

    def multi_results(self, connection, sql):
        cursor = connection.cursor()
        cursor.execute(sql)
        results = [list(cursor.fetchall()) if cursor.description else None]
        while cursor.nextset():
            results.append(list(cursor.fetchall()) if cursor.description else None)
        return results

    def check_multi_statements(self):
        connection = self.connect(**self.driver.multi)
        equal(self.multi_results(connection, "SELECT 1; SELECT 2, 3; SELECT 4"), [[(1,)], [(2, 3)], [(4,)]])
        equal(self.rows(connection, "SELECT 5"), [(5,)])

    def check_multi_error(self):
        connection = self.connect(**self.driver.multi)
        self.fails(1146, "42S02", lambda: self.multi_results(connection, "SELECT 1; SELECT * FROM no_such_table; SELECT 2"))
        connection.close()

    def check_procedure_results(self):
        connection = self.connect()
        self.do(connection, "DROP PROCEDURE IF EXISTS two_results",
                "CREATE PROCEDURE two_results() BEGIN SELECT 1; SELECT 2 UNION SELECT 3; END")
        results = self.multi_results(connection, "CALL two_results()")
        equal([result for result in results if result], [[(1,)], [(2,), (3,)]])

    def check_procedure_out(self):
        connection = self.connect()
        self.do(connection, "DROP PROCEDURE IF EXISTS double_it",
                "CREATE PROCEDURE double_it(IN a INT, OUT b INT) SET b = a * 2")
        equal(int(self.driver.call_out(connection)), 42)

    def check_load_local(self):
        with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
            file.writelines(f"{n}\tname {n}\n" for n in range(50_000))
            file.flush()
            connection = self.load_connection()
            self.table(connection, "loaded", "id INT PRIMARY KEY, name VARCHAR(40)")
            self.do(connection, f"LOAD DATA LOCAL INFILE '{file.name}' INTO TABLE loaded")
            connection.commit()
            equal(self.rows(connection, "SELECT COUNT(*), MAX(id) FROM loaded"), [(50_000, 49_999)])
            self.missing_file(connection)

    def load_connection(self):
        try:
            return self.connect(local_infile=True)
        except (TypeError, AttributeError):
            return self.connect(allow_local_infile=True)

    def missing_file(self, connection):
        """The connection is of use after the client could not open the file."""
        if not self.driver.survives_missing_file:
            return
        try:
            self.do(connection, "LOAD DATA LOCAL INFILE '/nonexistent/file' INTO TABLE loaded")
        except Exception:
            pass
        else:
            raise AssertionError("loaded a file that does not exist")
        equal(self.rows(connection, "SELECT 1"), [(1,)])

    # Charsets

    def charset(self, charset, text, stored):
        connection = self.connect(charset=charset)
        self.table(connection, f"charset_{charset}", "t VARCHAR(100) CHARACTER SET utf8mb4")
        cursor = connection.cursor()
        cursor.execute(f"INSERT INTO charset_{charset} VALUES (%s)", (text,))
        connection.commit()
        equal(self.rows(connection, f"SELECT t, HEX(t) FROM charset_{charset}"), [(text, stored)])
        equal(self.rows(connection, "SELECT @@character_set_client, @@character_set_results"), [(charset, charset)])

    def check_charset_utf8mb4(self):
        self.charset("utf8mb4", "\U0001f600", "F09F9880")

    def check_charset_gbk(self):
        if not self.driver.escapes_gbk:
            raise Skip("the driver escapes bytes instead of characters")
        # The second bytes of both are 0x5c, a backslash, and a quote follows.
        self.charset("gbk", "\u8aa0'\u7ac6", "E8AAA027E7AB86")

    def check_charset_latin1(self):
        self.charset("latin1", "h\u00e9", "68C3A9")

    # Errors, warnings, session

    def check_errors(self):
        connection = self.connect()
        self.table(connection, "errors", "id INT PRIMARY KEY")
        self.do(connection, "INSERT INTO errors VALUES (1)")
        self.fails(1064, "42000", lambda: self.rows(connection, "SELEC 1"))
        self.fails(1146, "42S02", lambda: self.rows(connection, "SELECT * FROM no_such_table"))
        self.fails(1062, "23000", lambda: self.rows(connection, "INSERT INTO errors VALUES (1)"))
        self.fails(1644, "45000", lambda: self.rows(connection, "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'mine'"))
        equal(self.rows(connection, "SELECT 1"), [(1,)])

    def check_warnings(self):
        connection = self.connect()
        self.rows(connection, "SELECT 1/0, CAST('x' AS SIGNED)")
        codes = sorted(code for _, code, _ in self.rows(connection, "SHOW WARNINGS"))
        equal(codes, [1292, 1365])

    def check_ping_and_schema(self):
        connection = self.connect()
        self.driver.ping(connection)
        self.do(connection, "CREATE DATABASE IF NOT EXISTS pm_other", "USE pm_other")
        equal(self.rows(connection, "SELECT DATABASE()"), [("pm_other",)])

    def check_session_variables(self):
        connection = self.connect()
        self.do(connection, "SET @a = 5, SESSION sql_mode = 'ANSI'", "CREATE TEMPORARY TABLE tmp (a INT)")
        equal(self.rows(connection, "SELECT @a FROM (SELECT COUNT(*) AS n FROM tmp) t WHERE n = 0"), [(5,)])

    def check_change_user(self):
        connection = self.connect()
        self.do(connection, "SET @a = 5")
        self.driver.change_user(connection, USER, PASSWORD, DATABASE)
        equal(self.rows(connection, "SELECT @a, DATABASE()"), [(None, DATABASE)])

    def check_change_user_other_method(self):
        for method in LOGINS:
            if method in self.driver.without_logins or (method == "sha256" and not self.driver.rsa):
                continue
            connection = self.connect()
            password = "" if method == "empty" else LOGIN_PASSWORD
            self.driver.change_user(connection, f"m_{method}", password, DATABASE)
            user = self.rows(connection, "SELECT USER()")[0][0]
            equal(user.split("@")[0], f"m_{method}")

    def check_change_user_refused(self):
        connection = self.connect()
        self.fails(1045, "28000", lambda: self.driver.change_user(connection, USER, "wrong", DATABASE))

    def check_reset_connection(self):
        connection = self.connect()
        self.do(connection, "SET @a = 5")
        self.driver.reset(connection)
        equal(self.rows(connection, "SELECT @a, DATABASE()"), [(None, DATABASE)])

    def check_query_attributes(self):
        value = self.driver.attributes(self.connect())
        equal(bytes(value) if isinstance(value, bytearray) else value, b"blue" if isinstance(value, bytearray) else "blue")

    def check_batch(self):
        connection = self.connect()
        self.table(connection, "batch", "id INT PRIMARY KEY, name VARCHAR(40)")
        cursor = connection.cursor()
        cursor.executemany("INSERT INTO batch VALUES (%s, %s)", [(n, f"name {n}") for n in range(5000)])
        connection.commit()
        equal(self.rows(connection, "SELECT COUNT(*), SUM(id) FROM batch"), [(5000, decimal.Decimal(12497500))])

    # Killing

    def killed_while_running(self, connection, statement, id):
        """The error of an endless query that another connection ends with `statement`."""
        seen = []

        def endless():
            try:
                self.rows(connection, ENDLESS)
            except Exception as error:
                seen.append(error)

        victim = threading.Thread(target=endless, daemon=True)
        victim.start()
        other = self.connect()
        running = ("SELECT COUNT(*) FROM information_schema.processlist "
                   f"WHERE info LIKE 'SELECT COUNT(*) AS endless%' AND db = '{DATABASE}'")
        deadline = time.monotonic() + WAIT_SECONDS
        while self.rows(other, running) == [(0,)]:
            if time.monotonic() > deadline:
                raise AssertionError("the statement never ran")
        self.do(other, f"{statement} {id}")
        victim.join(WAIT_SECONDS)
        if victim.is_alive():
            raise AssertionError(f"{statement} {id} did not end the statement")
        return self.driver.error(seen[0])[0] if seen else None

    def check_kill_query(self):
        connection = self.connect()
        equal(self.killed_while_running(connection, "KILL QUERY", self.driver.thread_id(connection)), 1317)
        equal(self.rows(connection, "SELECT 1"), [(1,)])

    def check_kill_query_by_connection_id(self):
        connection = self.connect()
        id = self.rows(connection, "SELECT CONNECTION_ID()")[0][0]
        equal(self.killed_while_running(connection, "KILL QUERY", id), 1317)

    def check_kill_connection_running(self):
        connection = self.connect()
        code = self.killed_while_running(connection, "KILL", self.driver.thread_id(connection))
        # Which of them is the driver's choice and the race between the server's last words and the end.
        equal(code in (1317, 2013, 2006, 1053, 1927, -1, 2055), True)

    def check_kill_connection_idle(self):
        connection, other = self.connect(), self.connect()
        self.do(other, f"KILL {self.driver.thread_id(connection)}")
        try:
            deadline = time.monotonic() + WAIT_SECONDS
            while time.monotonic() < deadline:
                self.rows(connection, "SELECT 1")
        except Exception:
            equal(self.rows(self.connect(), "SELECT 1"), [(1,)])
            return
        raise AssertionError("the connection lives on")

    def check_kill_unknown(self):
        connection = self.connect()
        self.fails(1094, "HY000", lambda: self.do(connection, "KILL 4123456789"))
