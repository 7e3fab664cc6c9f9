//! Forgets a prepared statement.

super::one_field::id! {
    /// Forgets a prepared statement. There is no answer.
    ///
    /// Source: `COM_STMT_CLOSE`.
    StmtClose {
        /// The statement's handle.
        statement_id: "statement id"
    }
}

#[cfg(test)]
mod golden {
    use super::StmtClose;
    use crate::{Capabilities, Codec as _};

    #[test]
    fn is_five_bytes() {
        let bytes = &[0x19, 1, 0, 0, 0];
        let command = StmtClose { statement_id: 1 };
        assert_eq!(StmtClose::decode(bytes, Capabilities::empty()), Ok(command));
        assert_eq!(command.encode(Capabilities::empty()), bytes);
    }
}
