//! Once dropped a schema.

super::one_field::rest! {
    /// Drops a schema. Servers of today refuse it.
    ///
    /// Source: `COM_DROP_DB`.
    DropDb {
        /// The schema's name.
        schema
    }
}
