//! Asks for a line of statistics.

super::bare::bare! {
    /// Asks for a line of statistics about the server, in plain text.
    ///
    /// Source: `COM_STATISTICS`.
    Statistics
}
