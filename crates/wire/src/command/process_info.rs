//! Lists connections.

super::bare::bare! {
    /// Lists connections, as `SHOW PROCESSLIST` does. MySQL has deprecated it.
    ///
    /// Source: `COM_PROCESS_INFO`.
    ProcessInfo
}
