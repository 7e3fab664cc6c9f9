//! Settings as commands.

use session::state::gtids::TRACK_GTIDS;
use session::state::{OPTION, SCHEMA, Setting};
use upstream::Purpose;

/// A setting as a command.
#[derive(Debug)]
pub(crate) enum Said {
    /// The name of the schema to be in.
    Schema(Vec<u8>),
    /// The payload of a `COM_SET_OPTION`.
    Option(Vec<u8>),
    /// The text of a statement.
    Statement(Vec<u8>),
    /// The same of one that asks for GTIDs.
    Tracking(Vec<u8>),
}

impl Said {
    pub(crate) fn of(setting: &Setting) -> Self {
        match &*setting.key {
            SCHEMA => Self::Schema(setting.text.to_vec()),
            OPTION => Self::Option(setting.text.to_vec()),
            TRACK_GTIDS => Self::Tracking(setting.text.to_vec()),
            _ => Self::Statement(setting.text.to_vec()),
        }
    }

    /// What it is said for.
    pub(crate) const fn purpose(&self) -> Purpose {
        match self {
            Self::Schema(_) => Purpose::Schema,
            Self::Option(_) | Self::Statement(_) => Purpose::Setting,
            Self::Tracking(_) => Purpose::Tracking,
        }
    }
}
