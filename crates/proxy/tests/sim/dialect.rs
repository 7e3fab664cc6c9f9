//! Kinds of servers.

use testkit::script::CAPABILITIES;
use wire::Capabilities;

/// What a server says that it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    MariaDb,
    MySql8,
    MySql9,
}

impl Dialect {
    pub(super) const fn version(self) -> &'static str {
        match self {
            Self::MariaDb => "5.5.5-10.11.6-MariaDB-model",
            Self::MySql8 => "8.4.0-model",
            Self::MySql9 => "9.7.0-model",
        }
    }

    /// What it offers in its greeting.
    pub(super) const fn capabilities(self) -> Capabilities {
        match self {
            Self::MariaDb => CAPABILITIES,
            Self::MySql8 | Self::MySql9 => CAPABILITIES.union(Capabilities::QUERY_ATTRIBUTES),
        }
    }
}
