//! Makes the server write debug information into its log.

super::bare::bare! {
    /// Makes the server write debug information into its log; needs a privilege.
    ///
    /// Source: `COM_DEBUG`.
    Debug
}
