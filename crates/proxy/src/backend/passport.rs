//! For whom a connection to a server is good: as whom it has logged in, and what was agreed on then.

use std::sync::Arc;

use wire::Capabilities;
use wire::command::Kind;
use wire::reply::Answer;

use super::{Asked, Connection};
use crate::arrival::Peer;
use crate::client::login::Identity;
use crate::users::User;
use crate::worker::Worker;

/// What the login of a connection said, as far as it lasts.
#[derive(Debug)]
pub(crate) struct Passport {
    /// The version of the configuration that the connection was opened under. Another one may name other servers, or other ways to
    /// reach this one.
    version: u64,
    hostgroup: u32,
    user: Arc<User>,
    has_schema: bool,
    collation: u16,
    capabilities: Capabilities,
    peer: Peer,
}

impl Passport {
    /// The passport of a connection that this client has had.
    pub(crate) fn new(link: &Connection, hostgroup: u32, identity: &Identity) -> Self {
        Self {
            version: link.version(),
            hostgroup,
            user: Arc::clone(&identity.account.user),
            has_schema: identity.account.schema.is_some(),
            collation: identity.collation,
            capabilities: identity.capabilities,
            peer: identity.peer,
        }
    }

    /// The hostgroup that the connection was taken for.
    pub(crate) const fn hostgroup(&self) -> u32 {
        self.hostgroup
    }

    /// What answers depend on.
    pub(crate) const fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    /// Whether the configuration still holds that the connection was opened under.
    pub(crate) fn is_valid(&self, worker: &Worker) -> bool {
        self.version == worker.version()
    }

    /// Whether a connection is as good for this client as one of its own. After a change of a user's row nobody uses
    /// the old ones; no command leaves all schemas; and some servers have been told whom the connection is for: `is_announced`.
    pub(crate) fn is_good_for(&self, identity: &Identity, is_announced: bool) -> bool {
        Arc::ptr_eq(&self.user, &identity.account.user)
            && self.has_schema == identity.account.schema.is_some()
            && self.collation == identity.collation
            && self.capabilities == identity.capabilities
            && (self.peer == identity.peer || !is_announced)
    }

    /// What a login says besides who it is, as commands for a connection that was reset: the schema, if there is one, and the
    /// character set. A reset leaves the schema as it is, and the character set as the server has it.
    pub(crate) fn greeting(identity: &Identity) -> Vec<Asked> {
        let schema = identity.account.schema.as_deref();
        let schema = schema.map(|schema| ([&[Kind::InitDb as u8][..], schema].concat(), Answer::Single));
        // Servers take the number that a login has.
        let id = identity.collation;
        let charset = format!(
            "SET character_set_client = {id}, character_set_results = {id}, collation_connection = {id}"
        );
        schema.into_iter().chain([(query(identity.capabilities, &charset), Answer::Result)]).collect()
    }

    /// What makes a connection new again, and asks whether servers do something at a login that a reset does not repeat: then
    /// there is a row.
    pub(crate) fn reset(&self) -> [Asked; 2] {
        let question = "SELECT 1 FROM DUAL WHERE @@init_connect <> ''";
        [
            (vec![Kind::ResetConnection as u8], Answer::Single),
            (query(self.capabilities, question), Answer::Result),
        ]
    }
}

/// The payload of a `COM_QUERY`.
pub(crate) fn query(capabilities: Capabilities, text: impl AsRef<[u8]>) -> Vec<u8> {
    // No attributes, in the one set that there always is.
    let attributes: &[u8] = if capabilities.contains(Capabilities::QUERY_ATTRIBUTES) { &[0, 1] } else { &[] };
    [&[Kind::Query as u8][..], attributes, text.as_ref()].concat()
}
