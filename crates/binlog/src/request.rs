//! What a replica sends in front of the stream.
//!
//! The session says what it understands ([`Replica::settings`]), introduces itself
//! ([`Replica::register`]) and asks for the stream ([`Replica::dump`]). It never asks for
//! semi-synchronous replication, so no commit waits for it.

mod set;
mod start;

use std::time::Duration;

use gtid::mysql;
use wire::command::{BinlogDump, BinlogDumpGtid, RegisterReplica};
use wire::{Capabilities, Codec as _};

pub use start::Start;

/// Bytes in front of the first event of a file.
const FILE_START: u32 = 4;

/// `BINLOG_DUMP_NON_BLOCK`: end at the end of the log.
const NON_BLOCK: u16 = 1;

/// `USE_HEARTBEAT_EVENT_V2` of MySQL: heartbeats with positions of more than 32 bits. Servers
/// before 8.0.26 do not know it.
const LONG_HEARTBEATS: u16 = 1 << 1;

/// A replica, as its source knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replica {
    /// The replica's `server_id`. Another replica with the same one ends this one's stream at
    /// MariaDB, so it is to be random.
    pub server_id: u32,
    /// The replica's UUID. MySQL ends the stream of another replica with the same one.
    pub uuid: u128,
    /// How often the server says that there is nothing to log.
    pub heartbeat: Duration,
    /// Whether the stream waits for more at the end of the log.
    pub waits: bool,
}

impl Replica {
    /// The statements in front of the command. Each returns no rows.
    ///
    /// Both servers know the names of variables with `master` and `slave`; MySQL 8.0.26 and later
    /// knows those with `source` and `replica` as well.
    pub fn settings(&self, start: &Start) -> Vec<String> {
        let heartbeat = self.heartbeat.as_nanos();
        let mut settings = vec![
            "SET @master_binlog_checksum = 'CRC32'".to_owned(),
            format!("SET @master_heartbeat_period = {heartbeat}"),
        ];
        match start {
            Start::MySql(_) => {
                let uuid = mysql::Source::of(self.uuid);
                settings.push("SET @source_binlog_checksum = 'CRC32'".to_owned());
                settings.push(format!("SET @source_heartbeat_period = {heartbeat}"));
                settings.push(format!("SET @slave_uuid = '{uuid}', @replica_uuid = '{uuid}'"));
            }
            Start::MariaDb(position) => {
                // GTIDs as they are, and no event replaced by another one.
                settings.push("SET @mariadb_slave_capability = 4".to_owned());
                settings.push(format!("SET @slave_connect_state = '{position}'"));
                // A position whose transaction the server does not have is an error.
                settings.push("SET @slave_gtid_strict_mode = 1".to_owned());
                settings.push("SET @slave_gtid_ignore_duplicates = 0".to_owned());
            }
        }
        settings
    }

    /// `COM_REGISTER_SLAVE`, which the server answers with an OK packet.
    pub fn register(&self) -> Vec<u8> {
        let command = RegisterReplica {
            server_id: self.server_id,
            host: b"",
            user: b"",
            password: b"",
            port: 0,
            rank: 0,
            source_id: 0,
        };
        command.encode(Capabilities::empty())
    }

    /// The command that the server answers with the stream.
    pub fn dump(&self, start: &Start) -> Vec<u8> {
        let flags = if self.waits { 0 } else { NON_BLOCK };
        let (server_id, file) = (self.server_id, &b""[..]);
        match start {
            Start::MySql(executed) => {
                let (flags, gtids) = (flags | LONG_HEARTBEATS, set::encode(executed));
                let position = FILE_START.into();
                let command = BinlogDumpGtid { flags, server_id, file, position, gtids: &gtids };
                command.encode(Capabilities::empty())
            }
            Start::MariaDb(_) => {
                let command = BinlogDump { position: FILE_START, flags, server_id, file };
                command.encode(Capabilities::empty())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPLICA: Replica =
        Replica { server_id: 7, uuid: 9, heartbeat: Duration::from_millis(500), waits: false };

    #[test]
    fn mariadb_is_told_the_position_in_front() {
        let start = Start::MariaDb("0-1-5,2-3-4".parse().unwrap());
        let settings = REPLICA.settings(&start);
        assert!(settings.contains(&"SET @slave_connect_state = '0-1-5,2-3-4'".to_owned()));
        assert!(settings.contains(&"SET @master_heartbeat_period = 500000000".to_owned()));
        assert_eq!(REPLICA.dump(&start), b"\x12\x04\0\0\0\x01\0\x07\0\0\0");
    }

    #[test]
    fn mysql_is_told_the_set_in_the_command() {
        let start = Start::MySql(mysql::Set::default());
        let settings = REPLICA.settings(&start);
        let uuid = "'00000000-0000-0000-0000-000000000009'";
        assert!(settings.contains(&format!("SET @slave_uuid = {uuid}, @replica_uuid = {uuid}")));
        let command = REPLICA.dump(&start);
        let decoded = BinlogDumpGtid::decode(&command, Capabilities::empty()).unwrap();
        assert_eq!((decoded.flags, decoded.position, decoded.gtids), (3, 4, &[0; 8][..]));
        assert_eq!(REPLICA.register()[..5], *b"\x15\x07\0\0\0");
    }
}
