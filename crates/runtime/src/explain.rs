//! What becomes of a statement in a session that is only assumed, written down; [`shards`]: of one
//! over sharded tables.

pub mod shards;

use std::sync::Arc;

use cache::Seen;
use config::{Address, Listener, Protocol, User};
use observe::plane::Question;
use planner::plan::Plan;
use route::{Account, Caller, Explanation, Pairs, Peek, Session, Verdict};

use crate::cached;
use crate::clock;
use crate::door::Door;
use crate::fresh::Fresh;
use crate::random;
use crate::remote::Remote;
use crate::routing::explain::explain;
use crate::routing::{Circumstances, Reading};
use shards::Planned;
use upstream::candidates;

impl Remote {
    /// What would become of a statement in a session that has just begun: outside a transaction,
    /// with autocommit.
    pub fn explain_route(&self, assumed: &Question) -> Result<Explanation, String> {
        let text = assumed.statement.as_bytes();
        let snapshot = self.shared.snapshot();
        let user = match &assumed.user {
            Some(name) => snapshot.client_user(|user| user.username == *name),
            None => snapshot.client_user(|_| true),
        };
        let user = user.ok_or_else(|| match &assumed.user {
            Some(name) => format!("there is no active user `{name}` that clients may log in as"),
            None => "there is no active user that clients may log in as".to_owned(),
        })?;
        let fallback = Some(&snapshot.variables.default_schema);
        let schema = assumed.schema.as_ref().or(user.default_schema.as_ref()).or(fallback);
        let (address, port, door) = self.listener(assumed.port);
        let schema = schema.map_or(&[][..], |schema| schema.as_bytes());
        let planned = self.planned(text, schema, user.default_hostgroup);
        let branch = match planned.as_ref().map(|planned| &planned.plan) {
            Some(Plan::One(branch)) => Some(branch.clone()),
            _ => None,
        };
        let account = match &branch {
            Some(branch) => Account {
                default_hostgroup: branch.hostgroup,
                listener: None,
                is_shard: true,
                ..account(user, door, &snapshot.routes.pairs)
            },
            None => account(user, door, &snapshot.routes.pairs),
        };
        let at = Circumstances {
            caller: &Arc::new(Caller::new(user.username.as_bytes(), schema, &address, port)),
            client_addr: assumed.client.as_deref().unwrap_or("127.0.0.1"),
            account,
            hints: user.attributes.hints,
            session: &Session::default(),
            flag_in: 0,
            reading: Reading::default(),
            asked: None,
            execute: false,
            mirror: None,
            is_traced: false,
            random: u64::from_le_bytes(random::bytes()),
        };
        let candidates = |hostgroup| candidates(&self.shared.upstream.pool, hostgroup, self.shared.uptime());
        // The session has written nothing.
        let must_see = |verdict: &Verdict, hostgroup| {
            let fresh = Fresh::new(verdict, |_| None, snapshot.causal.has_readers)
                .filter(|_| !snapshot.is_writer(hostgroup))?;
            let replicas_from = snapshot.variables.aurora_max_lag_ms_only_read_from_replicas;
            Some(fresh.explain(&self.shared, hostgroup, replicas_from))
        };
        let peek = |_| self.peek(text, user.username.as_bytes(), schema).map_or(Peek::Unseen, Peek::Stored);
        let sent = branch.as_ref().and_then(|branch| branch.text.as_deref()).unwrap_or(text);
        let explanation = explain(&snapshot.routes, sent, true, &at, &candidates, &must_see, &peek);
        let mut explanation = explanation.ok_or("EXPLAIN ROUTE needs a statement to explain")?;
        if let Some(planned) = planned {
            planned.explain(&mut explanation);
        }
        Ok(explanation)
    }

    /// The plan of a statement over sharded tables, by the worker that knows most of them.
    fn planned(&self, text: &[u8], schema: &[u8], home: u32) -> Option<Planned> {
        self.shared.snapshot().shards.as_ref()?;
        let asked = (text.to_vec(), String::from_utf8_lossy(schema).into_owned());
        let plans = self.ask(move |worker| Planned::at(worker, &asked.0, &asked.1, home));
        Planned::best(plans.into_iter().flatten())
    }

    /// What the query cache has for a text that it has answered to a session of this user in this
    /// schema. Of others it is not known what the client's protocol is, and what it has set.
    fn peek(&self, text: &[u8], user: &[u8], schema: &[u8]) -> Option<Seen> {
        let cache = Arc::clone(&self.shared.cache);
        let now_ms = clock::millis(self.shared.uptime());
        let known = cached::Assumed { text: text.to_vec(), user: user.to_vec(), schema: schema.to_vec() };
        let known = Arc::new(known);
        let found = self.ask(move |worker| worker.cached.peek(&cache, &known, now_ms));
        found.into_iter().flatten().next()
    }

    /// The address and port of a listener for MySQL clients, and what it says: the one with `port`,
    /// or the first; a port that no listener has, at the address of the first.
    fn listener(&self, port: Option<u16>) -> (String, u16, Door) {
        let mysql = self.listeners.configs().filter(|listener| listener.protocol() == Protocol::Mysql);
        let mut all = mysql.map(|listener: &Listener| match &listener.address {
            Address::Tcp(at) => (at.ip().to_string(), at.port(), Door::new(listener)),
            // A listener that is bound has an IP address.
            Address::Name { host, port } => (host.clone(), *port, Door::new(listener)),
            Address::Unix(path) => (path.display().to_string(), 0, Door::new(listener)),
        });
        let first = all.next().unwrap_or_default();
        let Some(port) = port.filter(|port| *port != first.1) else { return first };
        all.find(|(_, other, _)| *other == port).unwrap_or((first.0, port, Door::default()))
    }
}

/// What a user's row and the listener say about where statements go.
fn account(user: &User, door: Door, pairs: &Pairs) -> Account {
    Account {
        default_hostgroup: user.default_hostgroup,
        transaction_persistent: user.transaction_persistent,
        listener: door.says(user.default_hostgroup, pairs),
        is_shard: false,
    }
}
