//! Asks whether the server is there.

super::bare::bare! {
    /// Asks whether the server is there; OK says yes.
    ///
    /// Source: `COM_PING`.
    Ping
}
