//! The running proxy as the admin port sees it.

use std::sync::Arc;

use admin::{
    ClientHost, CommandCounter, DataPlane, FreeConnection, Order, PoolServer, Process, ServerError,
    UserConnections,
};
use config::Config;
use proxy::Remote;
use rustls::ServerConfig;
use tokio::sync::mpsc::UnboundedSender;

/// The running proxy, and the way to whoever can end it.
#[derive(Debug)]
pub(crate) struct Plane {
    remote: Remote,
    wishes: UnboundedSender<Wish>,
}

/// What only the process as a whole can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    /// To end at once.
    Exit,
    /// To end when sessions had the time of a drain.
    End,
    /// The same, and to start anew.
    Restart,
}

impl Plane {
    /// The proxy behind `remote`, in the process that listens to `wishes`.
    pub(crate) const fn new(remote: Remote, wishes: UnboundedSender<Wish>) -> Self {
        Self { remote, wishes }
    }

    fn wish(&self, wish: Wish) -> Result<(), String> {
        self.wishes.send(wish).map_err(|_| "the process is about to end".to_owned())
    }
}

impl DataPlane for Plane {
    fn apply(&self, config: &Arc<Config>) -> Result<(), String> {
        self.remote.apply(config).map_err(|error| error.to_string())
    }

    fn order(&self, order: Order) -> Result<(), String> {
        match order {
            Order::Pause if self.remote.pause() => Ok(()),
            Order::Pause => Err("it is already paused".to_owned()),
            Order::Resume => match self.remote.resume() {
                Ok(true) => Ok(()),
                Ok(false) => Err("it is not paused".to_owned()),
                Err(error) => Err(format!("{error}: {}", error.source)),
            },
            Order::Shutdown { slow: false } => self.wish(Wish::Exit),
            Order::Shutdown { slow: true } => self.wish(Wish::End),
            Order::Restart => self.wish(Wish::Restart),
            Order::ReloadTls => match self.remote.reload_tls() {
                Ok(certificate) => {
                    tracing::info!(certificate, "the files of TLS were read again");
                    Ok(())
                }
                Err(error) => Err(error.to_string()),
            },
            Order::FlushClientHosts => Ok(()),
        }
    }

    fn kill(&self, id: u32) -> bool {
        self.remote.kill(id)
    }

    fn tls(&self) -> Option<Arc<ServerConfig>> {
        self.remote.tls()
    }

    fn globals(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    fn memory(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    fn processes(&self) -> Vec<Process> {
        Vec::new()
    }

    fn pool(&self, _reset: bool) -> Vec<PoolServer> {
        Vec::new()
    }

    fn free_connections(&self) -> Vec<FreeConnection> {
        // A session keeps its connection to its end.
        Vec::new()
    }

    fn users(&self) -> Vec<UserConnections> {
        let row = |user: proxy::stats::UserConnections| UserConnections {
            user: user.user,
            connections: user.connections,
            max: user.max,
        };
        self.remote.users().into_iter().map(row).collect()
    }

    fn commands(&self) -> Vec<CommandCounter> {
        Vec::new()
    }

    fn errors(&self, _reset: bool) -> Vec<ServerError> {
        Vec::new()
    }

    fn client_hosts(&self, _reset: bool) -> Vec<ClientHost> {
        Vec::new()
    }
}
