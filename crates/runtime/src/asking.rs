//! Statements of the proxy's own at a hostgroup, over connections that no session has.

use session::identity::PLAIN;
use upstream::servers::logins::{Login, logins};
use upstream::{Connection, Target, ask, query};
use wire::reply::Answer;

/// Connections to a server of a hostgroup, one for each user that is tried.
pub struct Asking<'a> {
    worker: &'a upstream::Worker,
    target: Target,
    /// Users that were not tried yet, the next one last.
    logins: Vec<Login>,
    links: Vec<Connection>,
    collation: Option<u16>,
}

impl<'a> Asking<'a> {
    /// A connection to the first server of the hostgroup that lets a user in; the user with the
    /// name `first` is tried before others. The caller keeps the deadline. The error is a reason.
    pub async fn at(
        worker: &'a upstream::Worker,
        hostgroup: u32,
        first: Option<&[u8]>,
        collation: Option<u16>,
    ) -> Result<Self, String> {
        let servers = worker.shared.pool.servers();
        let mut why = "it has no server that is online".to_owned();
        for server in servers.iter().filter(|server| server.hostgroup() == hostgroup && !server.is_off()) {
            let target = server.endpoint().clone();
            let named = first.map(|name| logins(worker, &target.endpoint, |user| *user.name == *name));
            let mut users: Vec<Login> = Vec::new();
            for login in named.into_iter().flatten().chain(logins(worker, &target.endpoint, |_| true)) {
                if !users.iter().any(|known| known.name() == login.name()) {
                    users.push(login);
                }
            }
            users.sort_by_key(|login| first.is_some_and(|name| login.name() != name));
            users.reverse();
            let mut asking = Self { worker, target, logins: users, links: Vec::new(), collation };
            match asking.another().await {
                Ok(true) => return Ok(asking),
                Ok(false) => why = format!("{}: no password of a user is known", asking.target.endpoint),
                Err(error) => why = format!("{}: {error}", asking.target.endpoint),
            }
        }
        Err(why)
    }

    /// Logs in as the next user that the server lets in. Whether there is one.
    async fn another(&mut self) -> Result<bool, String> {
        let mut refused = None;
        while let Some(login) = self.logins.pop() {
            match login.open(self.worker, &self.target, self.collation).await {
                Ok(link) => {
                    self.links.push(link);
                    return Ok(true);
                }
                Err(error) => refused = Some(error.to_string()),
            }
        }
        refused.map_or(Ok(false), Err)
    }

    /// Has the server execute a statement as the first user. The reply, as packets; the error says
    /// why the connection is of no more use.
    pub async fn say(&mut self, text: &[u8]) -> Result<Vec<u8>, String> {
        self.say_as(0, text).await
    }

    /// Asks as one user after the other until `read` finds something in a reply. Nothing if it does
    /// in none.
    pub async fn find<T>(
        &mut self,
        text: &[u8],
        read: impl Fn(&[u8]) -> Option<T>,
    ) -> Result<Option<T>, String> {
        let mut at = 0;
        loop {
            let reply = self.say_as(at, text).await?;
            if let Some(found) = read(&reply) {
                return Ok(Some(found));
            }
            at += 1;
            // A user that is not let in does not see more.
            if at == self.links.len() && !self.another().await.unwrap_or(false) {
                return Ok(None);
            }
        }
    }

    async fn say_as(&mut self, at: usize, text: &[u8]) -> Result<Vec<u8>, String> {
        let Some(link) = self.links.get_mut(at) else { return Err("there is no connection".to_owned()) };
        let reply = ask(self.worker, link, PLAIN, (query(PLAIN, text), Answer::Result)).await;
        reply.map(|reply| reply.bytes).map_err(|why| format!("{}: {why}", self.target.endpoint))
    }

    /// Says goodbye.
    pub async fn close(self) {
        for link in self.links {
            link.quit().await;
        }
    }
}
