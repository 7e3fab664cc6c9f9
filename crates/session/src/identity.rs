//! Who a client is, and what it asked for at its login.

use std::rc::Rc;
use std::sync::Arc;

use config::CausalReads;
use pool::Share;
use route::Pairs;
use wire::auth::{NONCE_LEN, Secret};
use wire::{Capabilities, Peer};

use crate::addresses::Place;
use crate::door::Door;
use crate::state::gtids::Tracking;
use crate::state::trackers::Keeps;
use crate::tier::{self, Tier, attribute};
use crate::turn::Turn;
use crate::users::{Options, User};

/// Who a client is, and what it asked for at its login.
#[derive(Debug)]
pub struct Identity {
    /// The id that it was told.
    pub connection_id: u32,
    /// Where it connects from.
    pub peer: Peer,
    /// The listener that it came through.
    pub door: Door,
    /// What it was granted of what it has asked for.
    pub capabilities: Capabilities,
    /// Who wants to know of the transactions of clients.
    pub tracking: Tracking,
    /// The collation that the client has named; ids above 255 come with `COM_CHANGE_USER` only.
    pub collation: u16,
    /// The longest packet that it takes, in bytes.
    pub max_packet: u32,
    /// Connection attributes as they came.
    pub attributes: Option<Box<[u8]>>,
    /// Whether it is a proxy that caches answers.
    pub tier: Tier,
    /// OpenSSL's names of the cipher suite and of the version of TLS, where the client speaks TLS.
    pub tls: Option<Box<(&'static str, &'static str)>>,
    /// What it was to mix into its proof.
    pub nonce: [u8; NONCE_LEN],
    /// As whom it is logged in.
    pub account: Account,
    /// Its place among the clients of its address, where these are limited.
    pub place: Option<Box<Place>>,
    /// Whether it comes before others that wait for a connection.
    pub turn: Rc<Turn>,
}

/// The connection attribute that names the application whose sessions see each other's writes.
const APPLICATION: &[u8] = b"pointsman_scope";

/// A driver that takes a packet in more than two compressed frames for broken. Servers make frames
/// of up to 16 MB where they have to.
const READS_TWO_FRAMES: &[u8] = b"mysql-connector-python";

impl Identity {
    /// Whether the client says that it is that driver.
    pub fn reads_two_frames(&self) -> bool {
        let attributes = self.attributes.as_deref().unwrap_or_default();
        attributes.windows(READS_TWO_FRAMES.len()).any(|name| name == READS_TWO_FRAMES)
    }

    /// Whether the client keeps what it is told of columns when a statement is prepared: servers
    /// may not tell it again.
    pub const fn keeps_definitions(&self) -> bool {
        self.capabilities.contains(Capabilities::MARIADB_CACHE_METADATA)
    }

    /// Its attributes are these from now on.
    pub fn set_attributes(&mut self, attributes: Option<Box<[u8]>>) {
        self.tier = Tier::of(attributes.as_deref(), self.capabilities);
        self.attributes = attributes;
    }

    /// The attributes of its logins to servers: its own ones only, where answers are just copied.
    pub fn announced(&self) -> Option<Vec<u8>> {
        let attributes = self.attributes.as_deref();
        if self.account.user.has(Options::FAST_FORWARD) {
            return attributes.map(<[u8]>::to_vec);
        }
        Some(tier::announced(attributes, self.capabilities))
    }

    /// What the attributes of its logins make of this proxy at an inner one.
    pub fn announced_tier(&self) -> Tier {
        let names_itself = !self.account.user.has(Options::FAST_FORWARD);
        Tier::at_inner(self.attributes.as_deref(), self.capabilities, names_itself)
    }

    /// Whether it may have answers from the cache. A proxy that cannot be told their ages may not,
    /// nor may a user with `fast_forward`: an inner proxy tells no ages in such sessions.
    pub fn takes_cached(&self) -> bool {
        self.tier != Tier::Untold && !self.account.user.has(Options::FAST_FORWARD)
    }

    /// Who wants to know of its transactions. With `fast_forward` the proxy does not look at what
    /// servers say, and could not take out what they tell.
    pub fn tracking(&self) -> Tracking {
        let by_default = self.tracking.by_default || self.is_causal();
        Tracking { by_default: by_default && !self.account.user.has(Options::FAST_FORWARD), ..self.tracking }
    }

    /// Whose writes its reads must see, where no rule and no hint says something else.
    pub fn causal_reads(&self) -> CausalReads {
        self.account.user.causal_reads.unwrap_or(self.tracking.causal)
    }

    /// Whether its reads may have to see writes.
    pub fn is_causal(&self) -> bool {
        let may_have_to = self.causal_reads() != CausalReads::Off || self.tracking.causal_by_rules;
        may_have_to && !self.account.user.has(Options::FAST_FORWARD)
    }

    /// The name of the application that it says it belongs to, by a connection attribute.
    pub fn application(&self) -> Option<&[u8]> {
        attribute(self.attributes.as_deref()?, APPLICATION).filter(|name| !name.is_empty())
    }

    /// What is agreed on with its servers: what it has asked for, and what the proxy keeps for
    /// itself.
    pub fn server_capabilities(&self) -> Capabilities {
        let own =
            if self.tracking().by_default { Capabilities::SESSION_TRACK } else { Capabilities::empty() };
        self.capabilities | own
    }

    /// What the client gets of what servers tell of its session, if it `asks` for GTIDs or not.
    pub fn keeps(&self, asks: bool) -> Keeps {
        let Tracking { by_default, for_clients, .. } = self.tracking();
        if !self.capabilities.contains(Capabilities::SESSION_TRACK) {
            Keeps::Nothing
        } else if !asks && (by_default || !for_clients) {
            Keeps::Others
        } else {
            Keeps::All
        }
    }

    /// What the user's row and the listener say about where statements go.
    pub fn route_account(&self, pairs: &Pairs) -> route::Account {
        let user = &self.account.user;
        let listener = self.door.says(user.default_hostgroup, pairs);
        route::Account { listener, ..user.route_account() }
    }

    /// What a server has to know of this client to judge whether it may kill another user's
    /// session.
    pub fn as_stranger(&self) -> Stranger {
        let Account { user, secret, .. } = &self.account;
        Stranger { user: Arc::clone(user), secret: secret.clone(), peer: self.peer }
    }

    /// The same user in this schema, none if it is empty, on a connection for copies of statements.
    pub fn for_copies(&self, connection_id: u32, schema: &[u8]) -> Box<Self> {
        let mut identity = self.for_own_use(connection_id, None);
        identity.capabilities |= self.capabilities & COPIED;
        identity.account.schema = (!schema.is_empty()).then(|| schema.into());
        identity
    }

    /// The same user on a connection that is opened for any client like this one, in no schema.
    pub fn for_others(&self, connection_id: u32) -> Box<Self> {
        let mut identity = self.for_own_use(connection_id, None);
        identity.capabilities = self.capabilities - Capabilities::CONNECT_WITH_DB;
        identity.attributes.clone_from(&self.attributes);
        identity.tracking = self.tracking;
        identity.tls.clone_from(&self.tls);
        identity
    }

    /// The same user, or this other one, on a connection that the proxy opens for itself: for plain
    /// statements, in no schema, and with an id that no client has.
    pub fn for_own_use(&self, connection_id: u32, stranger: Option<&Stranger>) -> Box<Self> {
        let stranger = stranger.map_or_else(|| self.as_stranger(), Stranger::clone);
        let mut identity = Self::of_proxy(connection_id, stranger, self.nonce);
        identity.collation = self.collation;
        identity.max_packet = self.max_packet;
        identity
    }

    /// The same without a session.
    pub fn of_proxy(connection_id: u32, stranger: Stranger, nonce: [u8; NONCE_LEN]) -> Box<Self> {
        let Stranger { user, secret, peer } = stranger;
        Box::new(Self {
            connection_id,
            peer,
            door: Door::default(),
            capabilities: PLAIN,
            tracking: Tracking::default(),
            collation: PLAIN_COLLATION,
            max_packet: PLAIN_PACKET_BYTES_MAX,
            tls: None,
            attributes: None,
            tier: Tier::Client,
            nonce,
            account: Account { user, secret, schema: None, slot: None },
            place: None,
            turn: Rc::default(),
        })
    }
}

/// What the proxy's own connections announce: plain statements need no more.
pub const PLAIN: Capabilities = Capabilities::PROTOCOL_41.union(Capabilities::TRANSACTIONS);

/// Their collation where there is no client to have named one: `utf8mb4_general_ci`, which all
/// servers have.
const PLAIN_COLLATION: u16 = 45;

/// The longest message that they announce to take, in bytes: what MySQL's own clients do.
const PLAIN_PACKET_BYTES_MAX: u32 = 1 << 24;

/// What of a client's capabilities a copy of its statements needs: what changes how they are read,
/// and how many answers they have.
const COPIED: Capabilities = Capabilities::FOUND_ROWS
    .union(Capabilities::NO_SCHEMA)
    .union(Capabilities::IGNORE_SPACE)
    .union(Capabilities::MULTI_STATEMENTS)
    .union(Capabilities::MULTI_RESULTS);

/// The user that a client is logged in as, which `COM_CHANGE_USER` may replace.
#[derive(Debug)]
pub struct Account {
    /// Its row.
    pub user: Arc<User>,
    /// What the proxy can log in to servers with.
    pub secret: Secret,
    /// The schema that it has asked for.
    pub schema: Option<Box<[u8]>>,
    /// The session's place among the user's connections; `None` for the proxy's own ones.
    pub slot: Option<Rc<Share>>,
}

impl Account {
    /// Its place among the connections of `user`, if that is who it is of.
    pub fn place_of(&self, user: &User) -> Option<Rc<Share>> {
        self.slot.clone().filter(|_| self.user.shares_places_with(user))
    }
}

/// A user who wants another user's session killed, as far as servers have to know.
#[derive(Debug, Clone)]
pub struct Stranger {
    /// The row of that user.
    pub user: Arc<User>,
    /// What the proxy can log in to servers with.
    pub secret: Secret,
    /// Where that user connects from.
    pub peer: Peer,
}
