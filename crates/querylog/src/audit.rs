//! The audit log: who has come, been refused, chosen a schema, and left, as a JSON object in one
//! line each.
//!
//! Names, their order and the forms of values are those of ProxySQL 2.7
//! (`MySQL_Event::write_auth`). It has no changes of the user, and says in `extra_info` where in
//! its code a session was closed; here it says why.

use serde::ser::{Serialize, SerializeMap as _, Serializer};

use crate::Zone;
use crate::json::{self, text};
use crate::limits::RECORD_BYTES;

/// Something that a client did, or that happened to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRecord {
    /// What.
    pub event: AuditEvent,
    /// When, in microseconds of Unix time.
    pub time_us: u64,
    /// The connection id that the client was told; 0 if it was told none.
    pub thread_id: u32,
    /// The user; empty if the client has named none.
    pub user: Box<[u8]>,
    /// The schema; empty if there is none.
    pub schema: Box<[u8]>,
    /// The client's address with its port; empty on a Unix socket.
    pub client: Box<str>,
    /// The server that the session has a connection to, with its port; empty if there is none.
    pub server: Box<str>,
    /// The address that the client has connected to; empty if it is not known.
    pub proxy: Box<str>,
    /// Whether the client uses TLS.
    pub tls: bool,
    /// Why; empty if there is nothing to say.
    pub extra: Box<str>,
    /// Microseconds that the connection was there, where it ends.
    pub lifetime_us: Option<u64>,
}

/// Which port a client has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Port {
    /// One for statements that go to servers.
    Traffic,
    /// The admin port.
    Admin,
}

/// What has happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditEvent {
    /// A client has logged in.
    ConnectOk(Port),
    /// A login was refused.
    ConnectErr(Port),
    /// A client has become another user (`COM_CHANGE_USER`).
    ChangeUserOk(Port),
    /// It was refused as another user.
    ChangeUserErr(Port),
    /// A client has chosen a schema: `COM_INIT_DB` or `USE`.
    InitDb,
    /// A client has said goodbye.
    Quit(Port),
    /// A connection has ended.
    Close(Port),
}

impl AuditEvent {
    /// ProxySQL's name. Of changes of the user, which it does not log, it is made as the others
    /// are.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ConnectOk(Port::Traffic) => "MySQL_Client_Connect_OK",
            Self::ConnectErr(Port::Traffic) => "MySQL_Client_Connect_ERR",
            Self::ChangeUserOk(Port::Traffic) => "MySQL_Client_Change_User_OK",
            Self::ChangeUserErr(Port::Traffic) => "MySQL_Client_Change_User_ERR",
            Self::InitDb => "MySQL_Client_Init_DB",
            Self::Quit(Port::Traffic) => "MySQL_Client_Quit",
            Self::Close(Port::Traffic) => "MySQL_Client_Close",
            Self::ConnectOk(Port::Admin) => "Admin_Connect_OK",
            Self::ConnectErr(Port::Admin) => "Admin_Connect_ERR",
            Self::ChangeUserOk(Port::Admin) => "Admin_Change_User_OK",
            Self::ChangeUserErr(Port::Admin) => "Admin_Change_User_ERR",
            Self::Quit(Port::Admin) => "Admin_Quit",
            Self::Close(Port::Admin) => "Admin_Close",
        }
    }
}

impl AuditRecord {
    /// An event of which nothing but its time and the connection's id is known.
    pub fn of(event: AuditEvent, time_us: u64, thread_id: u32) -> Self {
        Self {
            event,
            time_us,
            thread_id,
            user: Box::default(),
            schema: Box::default(),
            client: Box::default(),
            server: Box::default(),
            proxy: Box::default(),
            tls: false,
            extra: Box::default(),
            lifetime_us: None,
        }
    }

    /// Appends its line, with its end. Times are written in the zone.
    pub fn write(&self, zone: &Zone, line: &mut Vec<u8>) {
        json::append(&Line { record: self, zone }, line);
    }

    /// Bytes of memory that it takes, roughly.
    pub(crate) fn weight(&self) -> usize {
        let texts = [&self.client, &self.server, &self.proxy, &self.extra].map(|text| text.len());
        RECORD_BYTES + self.user.len() + self.schema.len() + texts.iter().sum::<usize>()
    }
}

struct Line<'a> {
    record: &'a AuditRecord,
    zone: &'a Zone,
}

impl Serialize for Line<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { record, zone } = *self;
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("client_addr", &record.client)?;
        if let Some(lifetime) = record.lifetime_us {
            object
                .serialize_entry("creation_time", &zone.show_ms(record.time_us.saturating_sub(lifetime)))?;
            object
                .serialize_entry("duration", &format_args!("{}.{:03}ms", lifetime / 1000, lifetime % 1000))?;
        }
        object.serialize_entry("event", record.event.name())?;
        for (name, value) in [("extra_info", &record.extra), ("proxy_addr", &record.proxy)] {
            if !value.is_empty() {
                object.serialize_entry(name, value)?;
            }
        }
        object.serialize_entry("schemaname", &text(&record.schema))?;
        if !record.server.is_empty() {
            object.serialize_entry("server_addr", &record.server)?;
        }
        object.serialize_entry("ssl", &record.tls)?;
        object.serialize_entry("thread_id", &record.thread_id)?;
        object.serialize_entry("time", &zone.show_ms(record.time_us))?;
        object.serialize_entry("timestamp", &(record.time_us / 1000))?;
        object.serialize_entry("username", &text(&record.user))?;
        object.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(record: &AuditRecord) -> String {
        let mut line = Vec::new();
        record.write(&Zone::east(2), &mut line);
        String::from_utf8(line).unwrap()
    }

    #[test]
    fn lines_are_those_of_proxysql() {
        let mut record = AuditRecord {
            user: (*b"app").into(),
            schema: (*b"shop").into(),
            client: "127.0.0.1:39954".into(),
            proxy: "127.0.0.1:6033".into(),
            tls: true,
            ..AuditRecord::of(AuditEvent::ConnectOk(Port::Traffic), 1_558_383_932_703_999, 2)
        };
        assert_eq!(
            line(&record),
            concat!(
                r#"{"client_addr":"127.0.0.1:39954","event":"MySQL_Client_Connect_OK","proxy_addr":"127.0.0.1:6033","#,
                r#""schemaname":"shop","ssl":true,"thread_id":2,"time":"2019-05-20 22:25:32.703","timestamp":1558383932703,"#,
                "\"username\":\"app\"}\n"
            )
        );
        record.event = AuditEvent::Close(Port::Admin);
        record.lifetime_us = Some(4_372_127);
        record.server = "db:3306".into();
        record.extra = "\"bye\"".into();
        assert_eq!(
            line(&record),
            concat!(
                r#"{"client_addr":"127.0.0.1:39954","creation_time":"2019-05-20 22:25:28.331","duration":"4372.127ms","#,
                r#""event":"Admin_Close","extra_info":"\"bye\"","proxy_addr":"127.0.0.1:6033","schemaname":"shop","#,
                r#""server_addr":"db:3306","ssl":true,"thread_id":2,"time":"2019-05-20 22:25:32.703","#,
                "\"timestamp\":1558383932703,\"username\":\"app\"}\n"
            )
        );
    }
}
