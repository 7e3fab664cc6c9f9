//! Brings the session back to its state after the login.

super::bare::bare! {
    /// Rolls back, and forgets prepared statements, temporary tables, locks and variables; the user
    /// and the current schema stay.
    ///
    /// Source: `COM_RESET_CONNECTION`.
    ResetConnection
}
