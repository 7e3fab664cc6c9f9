//! Tells systemd what the process does, over the socket that `NOTIFY_SOCKET` names: the protocol of
//! `sd_notify(3)`.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Name of the variable that names the socket.
const SOCKET: &str = "NOTIFY_SOCKET";

/// What a service manager is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Everything listens, at the start or after a reload.
    Ready,
    /// Files are read again.
    Reloading,
    /// Sessions are ended.
    Stopping,
}

/// The socket of the service manager, if there is one.
#[derive(Debug)]
pub(crate) struct Manager(Option<UnixDatagram>);

impl Manager {
    /// The one that has started this process. One that cannot be reached is logged.
    pub(crate) fn find() -> Self {
        let Some(name) = env::var_os(SOCKET).filter(|name| !name.is_empty()) else { return Self(None) };
        match connect(&name) {
            Ok(socket) => Self(Some(socket)),
            Err(error) => {
                tracing::warn!(socket = %name.display(), %error, "the service manager is told nothing");
                Self(None)
            }
        }
    }

    /// Tells it what the process does now. Does not wait: a manager that reads nothing is
    /// told nothing.
    pub(crate) fn tell(&self, phase: Phase) {
        let Some(socket) = &self.0 else { return };
        if let Err(error) = socket.send(message(phase).as_bytes()) {
            tracing::warn!(%error, "the service manager was not told");
        }
    }
}

/// A socket that sends to the one called `name`; with `@` in front it has no file.
fn connect(name: &OsStr) -> io::Result<UnixDatagram> {
    let address = match name.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(name)?,
    };
    let socket = UnixDatagram::unbound()?;
    socket.connect_addr(&address)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// The words of a message.
fn message(phase: Phase) -> String {
    match phase {
        Phase::Ready => "READY=1".to_owned(),
        Phase::Reloading => {
            let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
            // `Type=notify-reload` pairs the message with its signal by this time.
            let micros = i128::from(now.tv_sec) * 1_000_000 + i128::from(now.tv_nsec) / 1_000;
            format!("RELOADING=1\nMONOTONIC_USEC={micros}")
        }
        Phase::Stopping => "STOPPING=1".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(socket: &UnixDatagram) -> String {
        let mut buffer = [0; 256];
        let length = socket.recv(&mut buffer).unwrap();
        String::from_utf8(buffer[..length].to_vec()).unwrap()
    }

    #[test]
    fn a_socket_with_and_without_a_file_gets_every_phase() {
        let path = env::temp_dir().join(format!("pointsman-notify-{}", std::process::id()));
        let with_file = UnixDatagram::bind(&path).unwrap();
        let name = format!("pointsman-notify-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let without = UnixDatagram::bind_addr(&address).unwrap();
        let abstract_name = format!("@{name}");
        for (socket, name) in [(&with_file, path.as_os_str()), (&without, OsStr::new(&abstract_name))] {
            let manager = Manager(Some(connect(name).unwrap()));
            manager.tell(Phase::Ready);
            assert_eq!(received(socket), "READY=1");
            manager.tell(Phase::Reloading);
            let reloading = received(socket);
            let micros = reloading.strip_prefix("RELOADING=1\nMONOTONIC_USEC=").unwrap();
            assert!(micros.parse::<u64>().unwrap() > 0);
            manager.tell(Phase::Stopping);
            assert_eq!(received(socket), "STOPPING=1");
        }
        std::fs::remove_file(&path).unwrap();
        assert!(connect(path.as_os_str()).is_err());
    }

    #[test]
    fn without_a_manager_there_is_nothing_to_tell() {
        Manager(None).tell(Phase::Ready);
    }
}
