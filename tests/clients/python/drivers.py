"""What the three drivers call the same things: one adapter each."""

import report
from report import CA, Skip


class Driver:
    """A DB-API driver with `%s` for parameters."""

    # Whether it can show a password without TLS, encrypted with the server's RSA key.
    rsa = True
    # Largest value that it can read from a prepared statement.
    prepared_bytes_max = 1 << 30
    # Whether a connection is of use after LOAD DATA LOCAL could not open the file.
    survives_missing_file = True
    # Whether it knows that 0x5c can be the second byte of a character.
    escapes_gbk = True
    # Methods of login that it does not have, with the reason.
    without_logins = {}

    def connect(self, *, user=report.USER, password=report.PASSWORD, database=report.DATABASE, **options):
        """A connection without TLS unless `options` ask for it."""
        raise NotImplementedError

    def tls(self, verify):
        """Options for TLS; `verify` is "no", "ca", "identity" or "untrusted": a CA that did not sign."""
        raise NotImplementedError

    def compress(self, method):
        raise Skip("the driver has no compression")

    def unbuffered(self, connection):
        """A cursor that does not hold the whole result."""
        raise NotImplementedError

    def prepare(self, connection):
        """A cursor for prepared statements."""
        raise Skip("the driver has no prepared statements of the server")

    def thread_id(self, connection):
        return connection.thread_id()

    def ping(self, connection):
        connection.ping(False)

    def change_user(self, connection, user, password, database):
        raise Skip("the driver cannot change the user")

    def reset(self, connection):
        raise Skip("the driver cannot reset a connection")

    def call_out(self, connection):
        """The value that procedure `double_it` gives back for 21."""
        cursor = connection.cursor()
        cursor.callproc("double_it", (21, 0))
        cursor.execute("SELECT @_double_it_1")
        return cursor.fetchone()[0]

    def error(self, error):
        """Code and SQLSTATE of an exception; None where the driver does not keep the SQLSTATE."""
        return error.args[0], None

    def attributes(self, connection):
        raise Skip("the driver has no query attributes")


class PyMySQL(Driver):
    def __init__(self):
        import pymysql
        import pymysql.cursors

        self.api, self.cursors = pymysql, pymysql.cursors
        self.errors = pymysql.err
        self.multi = {"client_flag": pymysql.constants.CLIENT.MULTI_STATEMENTS}

    def connect(self, *, user=report.USER, password=report.PASSWORD, database=report.DATABASE, **options):
        if "ssl" not in options:
            options["ssl_disabled"] = True
        return self.api.connect(
            host=report.HOST, port=report.PORT, user=user, password=password, database=database,
            **{"max_allowed_packet": 1 << 26, "connect_timeout": 20, **options})

    def tls(self, verify):
        import ssl

        if verify == "no":
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        else:
            context = ssl.create_default_context(cafile=None if verify == "untrusted" else CA)
            context.check_hostname = verify == "identity"
        return {"ssl": context}

    def unbuffered(self, connection):
        return connection.cursor(self.cursors.SSCursor)


class Mysqlclient(Driver):
    def __init__(self):
        import MySQLdb
        import MySQLdb.cursors

        self.api, self.cursors = MySQLdb, MySQLdb.cursors
        self.errors = MySQLdb
        self.multi = {}

    def connect(self, *, user=report.USER, password=report.PASSWORD, database=report.DATABASE, **options):
        options.setdefault("ssl_mode", "DISABLED")
        if database is not None:
            options["database"] = database
        return self.api.connect(host=report.HOST, port=report.PORT, user=user, password=password,
                                **{"charset": "utf8mb4", "connect_timeout": 20, **options})

    def tls(self, verify):
        mode = {"no": "REQUIRED", "ca": "VERIFY_CA", "identity": "VERIFY_IDENTITY", "untrusted": "VERIFY_CA"}[verify]
        if verify == "no":
            return {"ssl_mode": mode}
        return {"ssl_mode": mode, "ssl": {"ca": "/etc/ssl/certs/ca-certificates.crt" if verify == "untrusted" else CA}}

    def compress(self, method):
        return {"compress": True}

    def unbuffered(self, connection):
        return connection.cursor(self.cursors.SSCursor)

    def ping(self, connection):
        connection.ping()

    def change_user(self, connection, user, password, database):
        connection.change_user(user, password, database)


class Connector(Driver):
    """mysql-connector-python without its C extension, which its package for Linux does not have."""

    rsa = False
    # It takes rows of more than one packet (of 16 MB) for broken.
    prepared_bytes_max = (1 << 24) - 100
    survives_missing_file = False
    escapes_gbk = False
    without_logins = {"ed25519": "the driver has no client_ed25519"}

    def __init__(self):
        import mysql.connector

        self.api = mysql.connector
        self.errors = mysql.connector.errors
        self.multi = {}

    def connect(self, *, user=report.USER, password=report.PASSWORD, database=report.DATABASE, **options):
        if not any(name.startswith("ssl") for name in options):
            options["ssl_disabled"] = True
        return self.api.connect(
            host=report.HOST, port=report.PORT, user=user, password=password, database=database,
            use_pure=True, **{"connection_timeout": 60, **options})

    def tls(self, verify):
        if verify == "no":
            return {"ssl_disabled": False}
        ca = "/etc/ssl/certs/ca-certificates.crt" if verify == "untrusted" else CA
        return {"ssl_ca": ca, "ssl_verify_cert": True, "ssl_verify_identity": verify == "identity"}

    def compress(self, method):
        return {"compress": True}

    def unbuffered(self, connection):
        return connection.cursor(buffered=False)

    def prepare(self, connection):
        return connection.cursor(prepared=True)

    def thread_id(self, connection):
        return connection.connection_id

    def ping(self, connection):
        connection.ping(reconnect=False)

    def change_user(self, connection, user, password, database):
        connection.cmd_change_user(user, password, database)

    def reset(self, connection):
        connection.cmd_reset_connection()

    def call_out(self, connection):
        return connection.cursor().callproc("double_it", (21, 0))[1]

    def error(self, error):
        return error.errno, error.sqlstate

    def attributes(self, connection):
        if report.SERVER == "mariadb":
            raise Skip("MariaDB has no query attributes")
        cursor = connection.cursor()
        cursor.add_attribute("colour", "blue")
        cursor.execute("SELECT mysql_query_attribute_string('colour')")
        return cursor.fetchone()[0]
