//! Where the admin port listens, while that changes.

use testkit::client::{Client, Options};
use tokio::net::{TcpStream, UnixStream};

use super::{Admin, until};

#[tokio::test(flavor = "multi_thread")]
async fn listeners_follow_their_variable() {
    let admin = Admin::start();
    let mut client = admin.client().await;
    let path = admin.folder.path().join("other.sock");
    client.query(&format!("SET admin-mysql_ifaces='{}'", path.display())).await.unwrap();
    client.query("LOAD ADMIN VARIABLES TO RUNTIME").await.unwrap();
    let options = Options::unix(&path, "admin", "admin");
    until("a listener at the new path", async || Client::connect(&options).await.is_ok()).await;
    until("no listener at the old port", async || TcpStream::connect(admin.tcp()).await.is_err()).await;
    client.query("SELECT 1").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listener_stays_until_there_is_another() {
    let admin = Admin::start();
    let mut client = admin.client().await;
    let port = admin.tcp().port();
    let mut listen = async |addresses: &str| {
        client.query(&format!("SET admin-mysql_ifaces='{addresses}'")).await.unwrap();
        client.query("LOAD ADMIN VARIABLES TO RUNTIME").await.unwrap();
    };
    let connects = async |host: &str| TcpStream::connect((host, port)).await.is_ok();
    let path = |name: &str| admin.folder.path().join(name);
    let until_there = async |name: &str| {
        until(name, async || UnixStream::connect(path(name)).await.is_ok()).await;
    };
    // The old listener is in the way of the new one.
    listen(&format!("0.0.0.0:{port}")).await;
    until("all addresses", async || connects("127.0.0.2").await).await;
    // One that cannot be had at all: others can.
    listen(&format!("192.0.2.1:{port};{}", path("a").display())).await;
    until_there("a").await;
    assert!(connects("127.0.0.2").await);
    // One that another socket has.
    let taken = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    for name in ["b", "c"] {
        listen(&format!("{};{}", taken.local_addr().unwrap(), path(name).display())).await;
        until_there(name).await;
    }
    until("all addresses", async || connects("127.0.0.2").await).await;
    listen(&path("c").display().to_string()).await;
    until("no port", async || !connects("127.0.0.2").await).await;
    until_there("c").await;
}
