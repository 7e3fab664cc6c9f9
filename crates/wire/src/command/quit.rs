//! The client leaves.

super::bare::bare! {
    /// Says that the client leaves. The server closes the connection without an answer.
    ///
    /// Source: `COM_QUIT`.
    Quit
}
