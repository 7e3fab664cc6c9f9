//! Capability flags: what each side of a connection can do.

bitflags::bitflags! {
    /// Capabilities as both sides announce them at login (`CLIENT_*` in MySQL's `mysql_com.h`).
    ///
    /// The upper 32 bits are MariaDB's extended capabilities, which travel in the filler of the
    /// greeting and of the login packet when [`LONG_PASSWORD`](Self::LONG_PASSWORD) (which MariaDB
    /// calls `CLIENT_MYSQL`) is *not* announced by the server.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
    pub struct Capabilities: u64 {
        /// The improved version of the old authentication; MariaDB reads it as "speaks plain
        /// MySQL".
        const LONG_PASSWORD = 1 << 0;
        /// Affected rows count found rows instead of changed rows.
        const FOUND_ROWS = 1 << 1;
        /// Column flags have two bytes.
        const LONG_FLAG = 1 << 2;
        /// The login names a schema.
        const CONNECT_WITH_DB = 1 << 3;
        /// `schema.table.column` is refused.
        const NO_SCHEMA = 1 << 4;
        /// The compressed protocol with zlib.
        const COMPRESS = 1 << 5;
        /// An ODBC client; no effect since 3.22.
        const ODBC = 1 << 6;
        /// The client can send files for LOAD DATA LOCAL.
        const LOCAL_FILES = 1 << 7;
        /// Spaces before `(` are ignored.
        const IGNORE_SPACE = 1 << 8;
        /// The protocol of version 4.1 and later; without it this crate refuses the login.
        const PROTOCOL_41 = 1 << 9;
        /// `interactive_timeout` instead of `wait_timeout` applies.
        const INTERACTIVE = 1 << 10;
        /// TLS: the client sends a short login packet first.
        const SSL = 1 << 11;
        /// The client handles SIGPIPE itself; has no meaning on the wire.
        const IGNORE_SIGPIPE = 1 << 12;
        /// Status flags in OK and EOF packets.
        const TRANSACTIONS = 1 << 13;
        /// Once the 4.1 protocol, now without meaning.
        const RESERVED = 1 << 14;
        /// 4.1 authentication: the salt has 20 bytes.
        const SECURE_CONNECTION = 1 << 15;
        /// Several statements in one `COM_QUERY`.
        const MULTI_STATEMENTS = 1 << 16;
        /// Several results of one `COM_QUERY`.
        const MULTI_RESULTS = 1 << 17;
        /// Several results of one `COM_STMT_EXECUTE`.
        const PS_MULTI_RESULTS = 1 << 18;
        /// Login methods have names and can be switched.
        const PLUGIN_AUTH = 1 << 19;
        /// The login carries connection attributes.
        const CONNECT_ATTRS = 1 << 20;
        /// The login answer's length is length-encoded.
        const PLUGIN_AUTH_LENENC = 1 << 21;
        /// The client can handle expired passwords.
        const EXPIRED_PASSWORDS = 1 << 22;
        /// OK packets carry session state changes.
        const SESSION_TRACK = 1 << 23;
        /// Results end with an OK packet (header `0xfe`) and columns with nothing, instead of EOF
        /// packets.
        const DEPRECATE_EOF = 1 << 24;
        /// The client may ask to leave out column definitions.
        const OPTIONAL_RESULTSET_METADATA = 1 << 25;
        /// The compressed protocol with zstd.
        const ZSTD_COMPRESSION = 1 << 26;
        /// `COM_QUERY` and `COM_STMT_EXECUTE` carry named attributes.
        const QUERY_ATTRIBUTES = 1 << 27;
        /// Login with several factors.
        const MULTI_FACTOR_AUTH = 1 << 28;
        /// The client can handle an extended capability field; reserved by MySQL.
        const CAPABILITY_EXTENSION = 1 << 29;
        /// The client does not check the server's certificate; has no meaning on the wire.
        const SSL_VERIFY_SERVER_CERT = 1 << 30;
        /// The client remembers options after a failed login; has no meaning on the wire.
        const REMEMBER_OPTIONS = 1 << 31;
        /// MariaDB: progress reports as ERR packets with code `0xffff`.
        const MARIADB_PROGRESS = 1 << 32;
        /// MariaDB: the removed `COM_MULTI`.
        const MARIADB_COM_MULTI = 1 << 33;
        /// MariaDB: `COM_STMT_BULK_EXECUTE`.
        const MARIADB_STMT_BULK_OPERATIONS = 1 << 34;
        /// MariaDB: column definitions carry extended type information.
        const MARIADB_EXTENDED_METADATA = 1 << 35;
        /// MariaDB: metadata of prepared statements may be left out when unchanged.
        const MARIADB_CACHE_METADATA = 1 << 36;
        /// MariaDB: a bulk execute may answer with one result per row.
        const MARIADB_BULK_UNIT_RESULTS = 1 << 37;
        // Unknown bits round-trip: a proxy must be able to show what a peer announced.
        const _ = !0;
    }
}
