//! Steering a proxy that runs on its own threads.

use std::io::{self, Read as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;

use config::{Address, Config, Listener};
use observe::plane::{DataPlane as _, Order, Process};
use proxy::{Proxy, Remote};
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use wire::{Capabilities, Codec as _, packet};

/// A process that does nothing.
#[derive(Debug)]
struct Idle;

impl Process for Idle {
    fn order(&self, _: Order) -> Result<(), String> {
        Ok(())
    }
}

/// A proxy without servers that listens on a port of its own choice.
struct Running {
    control: Handle,
    /// Ends the thread of that runtime when it is dropped.
    _end: oneshot::Sender<()>,
    proxy: Proxy,
    remote: Remote,
    address: SocketAddr,
}

fn config() -> Config {
    let any = Address::Tcp((Ipv4Addr::LOCALHOST, 0).into());
    let mut config =
        Config { listeners: vec![Listener { address: any, ..Listener::default() }], ..Config::default() };
    config.variables.threads = 3;
    config.monitor.enabled = false;
    config
}

fn start() -> Running {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let (control, (end, ended)) = (runtime.handle().clone(), oneshot::channel());
    std::thread::spawn(move || runtime.block_on(ended).unwrap_err());
    let proxy = Proxy::start(&Arc::new(config()), &control, Arc::new(Idle), false).unwrap();
    let Address::Tcp(address) = proxy.addresses()[0].0 else { panic!("a TCP listener") };
    let remote = proxy.remote();
    Running { control, _end: end, proxy, remote, address }
}

impl Running {
    /// The version that a new client is told.
    fn version(&self) -> io::Result<String> {
        let mut stream = TcpStream::connect(self.address)?;
        let mut header = [0; 4];
        stream.read_exact(&mut header)?;
        let mut payload = vec![0; usize::from(header[0])];
        stream.read_exact(&mut payload)?;
        let greeting = packet::Greeting::decode(&payload, Capabilities::empty()).map_err(io::Error::other)?;
        Ok(String::from_utf8_lossy(greeting.server_version).into_owned())
    }

    fn end(self) {
        self.control.block_on(self.proxy.drain());
    }
}

#[test]
fn every_worker_has_what_was_applied_when_that_is_over() {
    let running = start();
    for round in 0..20 {
        let mut config = config();
        config.variables.server_version = format!("5.{round}");
        running.remote.apply(&Arc::new(config)).unwrap();
        // Clients go to the workers in turn, because none of them leaves.
        for _ in 0..6 {
            assert_eq!(running.version().unwrap(), format!("5.{round}"));
        }
    }
    running.end();
}

#[test]
fn listeners_close_and_open() {
    let running = start();
    let mut before = TcpStream::connect(running.address).unwrap();
    before.read_exact(&mut [0; 4]).unwrap();
    assert!(running.remote.accepts());
    running.remote.order(Order::Pause).unwrap();
    assert!(!running.remote.accepts());
    assert_eq!(running.remote.order(Order::Pause).unwrap_err(), "it is already paused");
    assert_eq!(running.version().unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    before.read_exact(&mut [0; 10]).unwrap();
    before.set_nonblocking(true).unwrap();
    while before.read(&mut [0; 100]).is_ok_and(|n| n > 0) {}
    let end = before.read(&mut [0; 1]);
    assert_eq!(end.unwrap_err().kind(), io::ErrorKind::WouldBlock, "it goes on");
    running.remote.order(Order::Resume).unwrap();
    assert!(running.remote.accepts());
    assert_eq!(running.remote.order(Order::Resume).unwrap_err(), "it is not paused");
    running.version().unwrap();
    running.end();
}

#[test]
fn addresses_that_were_taken_meanwhile_are_told() {
    let running = start();
    running.remote.order(Order::Pause).unwrap();
    let taken = std::net::TcpListener::bind(running.address).unwrap();
    let error = running.remote.order(Order::Resume).unwrap_err();
    assert!(error.starts_with(&format!("cannot listen on {}: ", running.address)), "{error}");
    assert!(!running.remote.accepts());
    drop(taken);
    running.remote.order(Order::Resume).unwrap();
    running.end();
}

#[test]
fn nothing_happens_to_a_proxy_that_has_ended() {
    let running = start();
    let remote = running.remote.clone();
    running.end();
    remote.apply(&Arc::new(config())).unwrap();
    assert!(!remote.kill(1 << 30));
    remote.order(Order::Pause).expect_err("listeners are closed");
}
