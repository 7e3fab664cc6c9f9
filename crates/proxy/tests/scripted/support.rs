//! What every scripted test begins with.

use std::net::SocketAddr;

use config::{Config, Server, User};
use proxy::memory::End;
use proxy::stage::{Dialled, Stage};
use testkit::client::Options;
use testkit::script::{ScriptedClient, ScriptedServer};
use tokio::runtime::{Builder, LocalOptions};

/// Bytes that a connection made of memory holds per direction, unless a test is about full sockets.
pub(super) const CAPACITY: usize = 16 * 1024;

/// Runs a test on a runtime of its own whose clock moves only when everything waits.
pub(super) fn play(test: impl AsyncFnOnce()) {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build_local(LocalOptions::default())
        .expect("a runtime can be made");
    runtime.block_on(test());
}

/// One server in hostgroup 0, one user `app` with the password `secret`.
pub(super) fn config() -> Config {
    let server = Server { hostgroup_id: 0, hostname: "db".to_owned(), port: 3306, ..Server::default() };
    let user = User { username: "app".to_owned(), password: "secret".to_owned(), ..User::default() };
    Config { servers: vec![server], users: vec![user], ..Config::default() }
}

/// How the client logs in. The address is not used: the stream is there already.
pub(super) fn options() -> Options {
    Options::tcp(SocketAddr::from(([127, 0, 0, 1], 3306)), "app", "secret")
}

/// A stage with the default configuration and a client that is logged in.
pub(super) async fn logged_in() -> (Stage, Dialled, ScriptedClient<End>) {
    let (stage, dialled) = Stage::with_servers(config(), CAPACITY);
    let client =
        ScriptedClient::connect(stage.client(CAPACITY).expect("room for a client"), &options()).await;
    (stage, dialled, client)
}

/// The server's side of the next connection that the proxy opens, logged in.
pub(super) async fn server(dialled: &Dialled) -> ScriptedServer<End> {
    let (_, end) = dialled.next().await;
    ScriptedServer::accept(end).await.0
}
