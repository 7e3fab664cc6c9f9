//! Who asks.

use std::net::IpAddr;

/// What an account of the admin port may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rights {
    /// Everything: an account of `admin-admin_credentials`.
    Admin,
    /// Reading statistics: an account of `admin-stats_credentials`.
    Stats,
}

/// One connection to the admin port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Who {
    /// The user's name.
    pub user: String,
    /// What the user may do.
    pub rights: Rights,
    /// Where the client is; nothing for a Unix socket.
    pub address: Option<IpAddr>,
}
