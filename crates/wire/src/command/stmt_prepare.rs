//! Prepares a statement.

super::one_field::rest! {
    /// Prepares a statement.
    ///
    /// Source: `COM_STMT_PREPARE`.
    StmtPrepare {
        /// The statement's text, with `?` for parameters.
        text
    }
}

#[cfg(test)]
mod golden {
    use super::StmtPrepare;
    use crate::{Capabilities, Codec as _};

    #[test]
    fn the_text_is_the_rest() {
        let bytes = b"\x16SELECT ?";
        let command = StmtPrepare { text: b"SELECT ?" };
        assert_eq!(StmtPrepare::decode(bytes, Capabilities::empty()), Ok(command));
        assert_eq!(command.encode(Capabilities::empty()), bytes);
    }
}
