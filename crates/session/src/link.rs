//! What one connection to a server carries for the session that has it.

use std::fmt::Display;

use route::Multiplex;
use wire::StatusFlags;

use crate::change::Change;
use crate::error::{ClientError, Gone};
use crate::places::Places;
use crate::state::{Mark, Pin, Pins};

/// State of one connection. It goes where the connection goes: another session that gets the
/// connection gets a state of its own.
#[derive(Debug)]
pub struct LinkState {
    /// Version of the session's settings that the server has; 0 if it has none of them.
    pub applied: u64,
    /// Status of the connection, as the server has told it last.
    pub status: StatusFlags,
    /// It is in no schema, as its server does not let the session into its own.
    pub lacks_schema: bool,
    /// A KILL was too late for the statement that it was meant for, and may hit the next one.
    pub may_be_hit: bool,
    /// What binds the session to it.
    pub pins: Pins,
    /// The session's prepared statements that the server has.
    pub places: Places,
}

/// What a session loses with a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// Nothing that another one could not be told.
    Nothing,
    /// Its transaction.
    Transaction,
    /// What the client relies on, and what no error tells it to do again.
    Session(Pin),
}

impl Loss {
    /// What the client hears once the connection to `server` is `gone`: that its transaction is
    /// lost, if one is. With the error the session ends.
    pub fn told(self, server: &impl Display, gone: Gone) -> Result<Option<ClientError>, ClientError> {
        match self {
            Self::Nothing => Ok(None),
            Self::Transaction => Ok(Some(ClientError::transaction_lost(server, gone))),
            Self::Session(pin) => Err(ClientError::session_lost(server, gone, pin)),
        }
    }
}

impl LinkState {
    /// State of a connection to a server that has told `status` and has the settings of this
    /// version.
    pub fn new(status: StatusFlags, applied: u64) -> Self {
        Self {
            applied,
            status,
            lacks_schema: false,
            may_be_hit: false,
            pins: Pins::default(),
            places: Places::default(),
        }
    }

    /// Another session has the connection from now on, and its settings of this version.
    pub fn change_hands(&mut self, applied: u64) {
        let mut places = std::mem::take(&mut self.places);
        places.clear();
        // The room for them stays.
        *self = Self { places, ..Self::new(self.status, applied) };
    }

    /// Takes note of what a rule says about sharing the connection. The statement that runs over it
    /// makes this `change`.
    pub fn note_multiplex(&mut self, multiplex: Multiplex, change: Option<&mut Change>) {
        match multiplex {
            Multiplex::Off => self.pins.note(Mark::begin(Pin::Rule)),
            Multiplex::On => self.pins.note(Mark::EndAll(Pin::Rule)),
            Multiplex::NotByThis => change.into_iter().for_each(Change::believe_harmless),
        }
    }

    /// A statement that changes this is prepared: user variables exist from then on.
    pub fn note_prepared(&mut self, change: Option<&Change>) {
        if change.is_some_and(Change::sets_user_variables) {
            self.pins.note(Mark::begin(Pin::UserVariable));
        }
    }

    /// Whether a transaction is open.
    pub const fn in_transaction(&self) -> bool {
        self.status.contains(StatusFlags::IN_TRANSACTION)
    }
}

impl Default for LinkState {
    /// State of a connection that has just been opened.
    fn default() -> Self {
        Self::new(StatusFlags::AUTOCOMMIT, 0)
    }
}
