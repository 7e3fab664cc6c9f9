//! Who a session is, and where its statements go, for lists of sessions: what is known changes with
//! logins and connections, never with a statement.

use std::cell::RefCell;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;

use config::Endpoint;
use pool::Server;
use querylog::{AuditRecord, Record};

use crate::audit;
use observe::counts::report::address;
use observe::document::{self, Value};
use observe::rows::SessionStats;
use session::identity::Account;
use session::users::User;
use upstream::{Backend, Target};
use wire::Peer;

/// What is known.
#[derive(Debug, Default)]
pub struct About(RefCell<Known>);

#[derive(Debug, Default)]
struct Known {
    peer: Option<Box<Peer>>,
    user: Option<Arc<User>>,
    schema: Option<Rc<[u8]>>,
    hostgroup: u32,
    /// Whether the client uses TLS.
    tls: bool,
    server: Option<Arc<Server<Target>>>,
    local: Option<Rc<SocketAddr>>,
}

impl About {
    /// The client is known.
    pub(crate) fn set_peer(&self, peer: Peer) {
        self.0.borrow_mut().peer = Some(Box::new(peer));
    }

    /// Whether the client uses TLS.
    pub(crate) fn set_tls(&self, tls: bool) {
        self.0.borrow_mut().tls = tls;
    }

    /// Where the bytes of a tunnel go.
    pub fn set_hostgroup(&self, hostgroup: u32) {
        self.0.borrow_mut().hostgroup = hostgroup;
    }

    /// The client has logged in; without a backend its session is in `hostgroup`.
    pub fn set_account(&self, account: &Account, hostgroup: u32) {
        let mut known = self.0.borrow_mut();
        known.hostgroup = hostgroup;
        known.user = Some(Arc::clone(&account.user));
        known.schema = account.schema.as_deref().map(Rc::from);
    }

    /// The client has asked for another schema.
    pub fn set_schema(&self, schema: &[u8]) {
        self.0.borrow_mut().schema = Some(Rc::from(schema));
    }

    /// The session has this connection to a server now.
    pub fn set_backend(&self, backend: Option<&Backend>) {
        let mut known = self.0.borrow_mut();
        known.server = backend.map(|backend| Arc::clone(backend.server()));
        known.local = backend.and_then(|backend| backend.connection().local().map(Rc::clone));
    }

    /// The server that statements go to.
    pub fn server(&self) -> Option<Arc<Server<Target>>> {
        self.0.borrow().server.clone()
    }

    /// The hostgroup of that server.
    pub fn hostgroup(&self) -> Option<u32> {
        self.0.borrow().server.as_ref().map(|server| server.hostgroup())
    }

    /// The hostgroup of that server, or else the one that the session began in.
    pub fn last_hostgroup(&self) -> Option<u32> {
        let known = self.0.borrow();
        let begun = known.user.is_some().then_some(known.hostgroup);
        known.server.as_ref().map(|server| server.hostgroup()).or(begun)
    }

    /// The name of the user, if the session has a connection to a server of this hostgroup.
    pub fn user_with_server_in(&self, hostgroup: u32) -> Option<String> {
        let known = self.0.borrow();
        known.server.as_ref().filter(|server| server.hostgroup() == hostgroup)?;
        Some(
            known
                .user
                .as_ref()
                .map_or_else(String::new, |user| String::from_utf8_lossy(&user.name).into_owned()),
        )
    }

    /// The user, if the client has logged in.
    pub fn user(&self) -> Option<Arc<User>> {
        self.0.borrow().user.clone()
    }

    /// The client's address; nothing where it came by a Unix socket.
    pub fn client_ip(&self) -> Option<IpAddr> {
        self.0.borrow().peer.as_ref().and_then(|peer| peer.address()).map(|address| address.ip())
    }

    /// The schema that was asked for last.
    pub fn schema(&self) -> Option<Rc<[u8]>> {
        self.0.borrow().schema.clone()
    }

    /// Puts what is known into a record of a statement.
    pub fn describe(&self, record: &mut Record) {
        let known = self.0.borrow();
        if let Some(user) = &known.user {
            record.user = (*user.name).into();
        }
        record.schema = known.schema.as_deref().unwrap_or_default().into();
        if let Some(client) = known.peer.as_ref().and_then(|peer| peer.address()) {
            let (ip, port) = parts(client);
            record.client = SocketAddr::new(ip, port).to_string().into();
        }
        record.target = known.server.as_ref().map(|server| querylog::Target {
            hostgroup: known.hostgroup,
            server: server.endpoint().to_string().into(),
        });
    }

    /// Puts what is known into a span.
    pub fn describe_span(&self, span: &mut otlp::Span) {
        let known = self.0.borrow();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        span.user = known.user.as_ref().map_or_else(String::new, |user| text(&user.name));
        span.schema = text(known.schema.as_deref().unwrap_or_default());
        if let Some(client) = known.peer.as_ref().and_then(|peer| peer.address()) {
            span.client = parts(client).0.to_string();
        }
        let server = known.server.as_ref();
        span.server = server.map(|server| traced_server(known.hostgroup, &server.endpoint().endpoint));
    }

    /// Puts what is known into a record of what the client did.
    pub(crate) fn describe_client(&self, record: &mut AuditRecord) {
        let known = self.0.borrow();
        if let Some(user) = &known.user {
            record.user = (*user.name).into();
        }
        record.schema = known.schema.as_deref().unwrap_or_default().into();
        if let Some(peer) = &known.peer {
            (record.client, record.proxy) = audit::ends(peer);
        }
        if let Some(server) = &known.server {
            record.server = server.endpoint().to_string().into();
        }
        record.tls = known.tls;
    }

    /// Who the client is and where it has come in, as a part of a document.
    pub fn client(&self) -> Option<Value> {
        let known = self.0.borrow();
        let user = known.user.as_ref().map(|user| &*user.name);
        let schema = known.schema.as_deref().unwrap_or_default();
        Some(document::client(known.peer.as_ref()?, known.tls, user.unwrap_or_default(), schema))
    }

    /// Puts what is known into a row.
    pub fn fill(&self, row: &mut SessionStats) {
        let known = self.0.borrow();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if let Some(user) = &known.user {
            row.user = text(&user.name);
        }
        row.schema = known.schema.as_deref().map(text);
        row.client = known.peer.as_ref().and_then(|peer| peer.address()).map(parts);
        row.hostgroup = known.hostgroup;
        row.server = known.server.as_ref().map(|server| address(&server.endpoint().endpoint));
        row.local = known.local.as_ref().map(|local| parts(**local));
    }
}

fn parts(address: SocketAddr) -> (IpAddr, u16) {
    (address.ip().to_canonical(), address.port())
}

/// Where a server is, as spans have it.
fn traced_server(hostgroup: u32, endpoint: &Endpoint) -> otlp::Server {
    match endpoint {
        Endpoint::Tcp { host, port } => otlp::Server { hostgroup, host: host.clone(), port: Some(*port) },
        Endpoint::Unix(path) => otlp::Server { hostgroup, host: path.display().to_string(), port: None },
    }
}
