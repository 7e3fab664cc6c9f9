//! Whether a client is still there whose statement waits: who waits has no socket.

use std::cell::Cell;

/// What is known of the client of a statement that waits.
#[derive(Debug, Default)]
pub struct Watch(Cell<State>);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    /// The statement does not wait, or its client was looked at before.
    #[default]
    Rests,
    /// It wants to know before it waits on.
    Asks,
    /// The client is there.
    IsThere,
    HasLeft,
}

impl Watch {
    /// Whether the client has left; nothing if it has to be looked at first, in each turn.
    pub fn ask(&self) -> Option<bool> {
        match self.0.get() {
            State::HasLeft => Some(true),
            State::IsThere => {
                self.0.set(State::Rests);
                Some(false)
            }
            State::Rests | State::Asks => {
                self.0.set(State::Asks);
                None
            }
        }
    }

    /// Whether the client is to be looked at.
    pub fn is_asked(&self) -> bool {
        self.0.get() == State::Asks
    }

    /// Answers that.
    pub fn answer(&self, has_left: bool) {
        self.0.set(if has_left { State::HasLeft } else { State::IsThere });
    }
}
