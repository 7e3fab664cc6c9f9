//! A port that stays the same while what is behind it is started anew elsewhere.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};

/// Passes connections on. It ends with the runtime.
#[derive(Debug)]
pub(crate) struct Relay {
    port: u16,
    target: Arc<Mutex<SocketAddr>>,
}

impl Relay {
    /// Starts one in front of this target.
    pub(crate) async fn start(target: SocketAddr) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let target = Arc::new(Mutex::new(target));
        let now = Arc::clone(&target);
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let target = *now.lock().unwrap_or_else(PoisonError::into_inner);
                tokio::spawn(async move {
                    let Ok(mut server) = TcpStream::connect(target).await else { return };
                    server.set_nodelay(true).unwrap();
                    client.set_nodelay(true).unwrap();
                    // A connection that breaks is one that ends.
                    let _ = copy_bidirectional(&mut client, &mut server).await;
                });
            }
        });
        Self { port, target }
    }

    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// New connections go there.
    pub(crate) fn lead_to(&self, target: SocketAddr) {
        *self.target.lock().unwrap_or_else(PoisonError::into_inner) = target;
    }
}
