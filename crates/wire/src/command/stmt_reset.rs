//! Brings a prepared statement back to its state after the preparation.

super::one_field::id! {
    /// Forgets the long data of a prepared statement, and closes its cursor.
    ///
    /// Source: `COM_STMT_RESET`.
    StmtReset {
        /// The statement's handle.
        statement_id: "statement id"
    }
}
