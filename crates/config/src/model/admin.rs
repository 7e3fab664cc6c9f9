//! The group `admin_variables`.

use super::{Address, Credentials};
use crate::row::from_row;
use crate::schema::ADMIN_VARIABLES;

/// The variables of ProxySQL's `admin-` family that exist so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdminVariables {
    /// Accounts with full rights.
    pub admin_credentials: Credentials,
    /// Accounts that may read statistics.
    pub stats_credentials: Credentials,
    /// Where the admin port listens; nothing switches it off.
    pub mysql_ifaces: Vec<Address>,
    /// Whether changes on the admin port are refused.
    pub read_only: bool,
}

from_row!(AdminVariables, ADMIN_VARIABLES, { admin_credentials, stats_credentials, mysql_ifaces, read_only, });
