//! Code, SQLSTATE and text of every error, as clients get them.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use pool::Off;
use wire::command::Kind;
use wire::{Capabilities, Codec, WireError, packet};

use super::{ClientError, Gone, NoPlace, TooFew};
use crate::state::pins::Pin;

const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const SERVER: &str = "db:3306";
const SECOND: Duration = Duration::from_secs(1);

/// Errors of the clients' and the users' limits, and of the login.
fn of_logins() -> Vec<ClientError> {
    let late = NoPlace::Late(SECOND, 2);
    vec![
        ClientError::TooManyConnections { max: 7, why: NoPlace::Refused },
        ClientError::TooManyConnections { max: 7, why: late },
        ClientError::TooManyFromAddress { address: ADDRESS, max: 7 },
        ClientError::ListenerFull { max: 7 },
        ClientError::NoDescriptor(TooFew { limit: 64 }),
        ClientError::too_many_user_connections(b"app", 7, NoPlace::Refused),
        ClientError::too_many_user_connections(b"a\xffp", 7, late),
        ClientError::access_denied(b"app", &ADDRESS, true),
        ClientError::access_denied(b"a\xffp", &ADDRESS, false),
        ClientError::unprotected_password(b"app", &ADDRESS),
        ClientError::bad_handshake(&WireError::TrailingBytes(3)),
        ClientError::CompressionLevel(23),
    ]
}

const OF_LOGINS: [&str; 12] = [
    "1040 08004 Too many connections (mysql-max_connections is 7)",
    "1040 08004 Too many connections (mysql-max_connections is 7); no place within 1000ms, 2 more clients wait",
    "1040 08004 Too many connections from 10.0.0.1 (mysql-max_connections_per_address is 7)",
    "1040 08004 Too many connections (max_connections of this listener is 7)",
    "1040 08004 Too many connections (the proxy may have 64 open files, and the rest is reserved; raise its limit (ulimit -n))",
    "1226 42000 User 'app' has exceeded the 'max_user_connections' resource (current value: 7)",
    "1226 42000 User 'a\u{fffd}p' has exceeded the 'max_user_connections' resource (current value: 7); no place within 1000ms, \
     2 more clients wait",
    "1045 28000 Access denied for user 'app'@'10.0.0.1' (using password: YES)",
    "1045 28000 Access denied for user 'a\u{fffd}p'@'10.0.0.1' (using password: NO)",
    "1045 28000 Access denied for user 'app'@'10.0.0.1' (using password: YES): the client sent its password unencrypted, which is \
     refused; use TLS, or make it encrypt the password with RSA (MariaDB's client: --skip-ssl)",
    "1043 08S01 Bad handshake: 3 bytes after the last field",
    "3923 HY000 Invalid zstd compression level 23: there are 1 to 22",
];

/// Errors about servers.
fn of_servers() -> Vec<ClientError> {
    let (down, left) = (Gone::Off(Off::Down), Gone::Off(Off::Left));
    let mut for_fast_forward = ClientError::no_backend(1, SECOND, &"tried a after b");
    if let ClientError::NoBackend(search) = for_fast_forward {
        for_fast_forward = ClientError::NoBackendForFastForward(search);
    }
    vec![
        ClientError::server_off(&SERVER, Off::Configured),
        ClientError::session_lost(&SERVER, left, Pin::TemporaryTable),
        ClientError::transaction_lost(&SERVER, Gone::Closed),
        ClientError::LayoutChanged,
        ClientError::PartFailed,
        ClientError::nothing_done(&SERVER, down),
        ClientError::outcome_unknown(&SERVER, Gone::Refused),
        ClientError::CommitUnknown(Box::new(ClientError::transaction_lost(&SERVER, Gone::Closed))),
        ClientError::CommitUnknown(Box::new(ClientError::setup_failed(&SERVER, &"no answer in time"))),
        ClientError::CommittedInPart("committed at hostgroup 1".into()),
        ClientError::server_lost(&SERVER),
        ClientError::file_not_expected(&SERVER),
        ClientError::setup_failed(&SERVER, &"no answer in time"),
        ClientError::login_failed(&SERVER, &"dialog"),
        ClientError::no_backend(1, SECOND, &"tried a after b"),
        for_fast_forward,
    ]
}

const OF_SERVERS: [&str; 16] = [
    "1053 08S01 Server shutdown in progress: server db:3306 was set OFFLINE_HARD",
    "1053 08S01 Server shutdown in progress: server db:3306 has left the hostgroup; lost with it: temporary_table",
    "1213 40001 Transaction was rolled back: server db:3306 has closed the connection; try restarting transaction",
    "1213 40001 Transaction was rolled back: the layout of sharded tables has changed; try restarting transaction",
    "1213 40001 Transaction was rolled back: an earlier part of the statement has failed; try restarting transaction",
    "1213 40001 Nothing was changed: server db:3306 does not answer; try again",
    "9009 08007 Outcome unknown: server db:3306 has refused a setting of the session that it had taken before before it answered; \
     the statement may have been done, and is not repeated",
    "9009 08007 Outcome unknown: the transaction may have been committed, and is not repeated; Transaction was rolled back: server \
     db:3306 has closed the connection; try restarting transaction",
    "9009 08007 Outcome unknown: the transaction may have been committed, and is not repeated; Cannot prepare the session at \
     server db:3306: no answer in time",
    "9010 HY000 Committed in part, not to be repeated: committed at hostgroup 1",
    "2013 HY000 Lost connection to MySQL server during query (server db:3306)",
    "1148 42000 Server db:3306 asked for a local file that this statement does not load",
    "9008 HY000 Cannot prepare the session at server db:3306: no answer in time",
    "9002 HY000 Cannot log in to server db:3306: dialog",
    "9001 HY000 Max connect timeout reached while reaching hostgroup 1 after 1000ms: tried a after b",
    "9001 HY000 Max connect timeout reached while reaching hostgroup 1 for 'fast_forward' session after 1000ms: tried a after b",
];

/// Errors about what the client has sent, and about ends.
fn of_commands() -> Vec<ClientError> {
    vec![
        ClientError::UnknownCommand,
        ClientError::Shutdown,
        ClientError::Interrupted,
        ClientError::ConnectionKilled,
        ClientError::IdleTooLong,
        ClientError::QueryTimeout,
        ClientError::PacketTooLarge { max: 1024 },
        ClientError::malformed(WireError::OutOfOrder { expected: 0, got: 3 }),
        ClientError::malformed(WireError::BadFrame("too short")),
        ClientError::malformed(WireError::TrailingBytes(3)),
        ClientError::malformed(WireError::Truncated { field: "id", needed: 4, left: 1 }),
        ClientError::limit_reached(&"User 'app' has reached its limit"),
        ClientError::ByRule("Not here".into()),
        ClientError::OkIsNotPrepared,
        ClientError::Locked { locked_on: 1, hostgroup: 2 },
        ClientError::UnknownThread { id: 1 << 40 },
        ClientError::ThreadOfProxy { id: 7 },
        ClientError::kill_failed(7, &SERVER, &"no answer within 5ms"),
        ClientError::KillUnanswered { id: 7, waited: SECOND },
        ClientError::UnknownInternal,
        ClientError::NothingToExplain,
        ClientError::NotTraced,
        ClientError::not_sharded("DISTINCT", "no"),
        ClientError::NoIds("shop.orders: no".into()),
    ]
}

const OF_COMMANDS: [&str; 24] = [
    "1047 08S01 Unknown command",
    "1053 08S01 Server shutdown in progress",
    "1317 70100 Query execution was interrupted",
    "1927 70100 Connection was killed",
    "4031 HY000 The client was disconnected by the server because of inactivity. See wait_timeout and interactive_timeout for \
     configuring this behavior.",
    "1907 70100 Query execution was interrupted, query_timeout exceeded",
    "1153 08S01 Got a packet bigger than 'max_allowed_packet' bytes (1024)",
    "1156 08S01 Got packets out of order: sequence id 3, expected 0",
    "1157 08S01 Couldn't uncompress communication packet: compressed frame: too short",
    "1835 HY000 Malformed communication packet: 3 bytes after the last field",
    "1835 HY000 Malformed communication packet: truncated: id needs 4 bytes, 1 left",
    "1226 42000 User 'app' has reached its limit",
    "1148 42000 Not here",
    "1295 HY000 This command is not supported in the prepared statement protocol yet: a query rule answers it with OK",
    "9006 Y0000 connection is locked to hostgroup 1 but trying to reach hostgroup 2: the session has set something there that \
     cannot be set elsewhere",
    "1094 HY000 Unknown thread id: 1099511627776",
    "1094 HY000 Unknown thread id: 7: this id is the proxy's, and the server, which was asked, does not know it; send KILL 7 as a \
     statement of its own",
    "1105 HY000 Cannot kill 7 at server db:3306: no answer within 5ms",
    "1105 HY000 Cannot kill 7: no answer within 1000ms",
    "1064 42000 Unknown PROXYSQL INTERNAL command",
    "1065 42000 Query was empty: EXPLAIN ROUTE needs a statement to explain",
    "1235 42000 This session keeps no trace; SET pointsman_trace = 1 makes it keep one",
    "1235 42000 This version of Pointsman doesn't yet support 'DISTINCT' over sharded tables: no",
    "1467 HY000 Cannot make an id for a row of shop.orders: no",
];

/// Errors about prepared statements.
fn of_statements() -> Vec<ClientError> {
    vec![
        ClientError::NeedReprepare,
        ClientError::UnknownStatement { id: 7 },
        ClientError::NoTypes { id: 7 },
        ClientError::NoCursor { id: 7, is_mariadb: true },
        ClientError::NoCursor { id: 7, is_mariadb: false },
        ClientError::NoLastStatement(Kind::StmtExecute),
        ClientError::NoLastStatement(Kind::StmtFetch),
        ClientError::NoLastStatement(Kind::StmtReset),
        ClientError::NoLastStatement(Kind::StmtBulkExecute),
    ]
}

const OF_STATEMENTS: [&str; 9] = [
    "1615 HY000 Prepared statement needs to be re-prepared",
    "1243 HY000 Unknown prepared statement handler (7) given to Pointsman",
    "1210 HY000 Incorrect arguments to EXECUTE: statement 7 was executed at another server before, and this execution is too \
     large to add the types of its parameters",
    "1421 HY000 The statement (7) has no open cursor",
    "1421 HY000 The statement (7) has no open cursor.",
    "1243 HY000 Unknown prepared statement handler (4294967295) given to mysqld_stmt_execute",
    "1243 HY000 Unknown prepared statement handler (4294967295) given to mysqld_stmt_fetch",
    "1243 HY000 Unknown prepared statement handler (4294967295) given to mysqld_stmt_reset",
    "1243 HY000 Unknown prepared statement handler (4294967295) given to mysqld_stmt_bulk_execute",
];

/// Code, SQLSTATE and text of the packet that a client gets.
fn told(error: &ClientError) -> String {
    let caps = Capabilities::PROTOCOL_41;
    let bytes = error.to_packet(1, caps);
    let packet = packet::Err::decode(&bytes[4..], caps).unwrap();
    let sql_state = packet.sql_state.unwrap();
    assert_eq!(packet.code, error.code());
    let (sql_state, message) = (String::from_utf8_lossy(&sql_state), String::from_utf8_lossy(packet.message));
    format!("{} {sql_state} {message}", packet.code)
}

#[test]
fn clients_get_these_codes_sql_states_and_texts() {
    let errors = [of_logins(), of_servers(), of_commands(), of_statements()].concat();
    let expected = [&OF_LOGINS[..], &OF_SERVERS, &OF_COMMANDS, &OF_STATEMENTS].concat();
    assert_eq!(errors.iter().map(told).collect::<Vec<_>>(), expected);
}

/// Futures of sessions hold results with an error.
#[test]
fn an_error_stays_small() {
    let bytes = size_of::<ClientError>();
    assert!(bytes <= 32, "an error has {bytes} bytes");
}
