//! Ends another connection.

super::one_field::id! {
    /// Ends another connection, as `KILL` does. Ids above 2^32 cannot be named.
    ///
    /// Source: `COM_PROCESS_KILL`.
    ProcessKill {
        /// The connection's id.
        connection_id: "connection id"
    }
}

#[cfg(test)]
mod golden {
    use super::ProcessKill;
    use crate::{Capabilities, Codec as _};

    #[test]
    fn is_five_bytes() {
        let bytes = &[0x0c, 5, 1, 0, 0];
        let command = ProcessKill { connection_id: 261 };
        assert_eq!(ProcessKill::decode(bytes, Capabilities::empty()), Ok(command));
        assert_eq!(command.encode(Capabilities::empty()), bytes);
    }
}
