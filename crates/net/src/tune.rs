//! Socket options of TCP connections.

use std::io;

use config::MysqlVariables;
use socket2::{SockRef, TcpKeepalive};

/// Socket options of every TCP connection, towards clients and servers alike.
pub fn tune(socket: &SockRef<'_>, variables: &MysqlVariables) -> io::Result<()> {
    socket.set_tcp_nodelay(true)?;
    if variables.use_tcp_keepalive {
        socket.set_keepalive(true)?;
        // Zero leaves the system's own time.
        if !variables.tcp_keepalive_time.is_zero() {
            socket.set_tcp_keepalive(&TcpKeepalive::new().with_time(variables.tcp_keepalive_time))?;
        }
    }
    Ok(())
}
