//! Once created a schema.

super::one_field::rest! {
    /// Creates a schema. Servers of today refuse it.
    ///
    /// Source: `COM_CREATE_DB`.
    CreateDb {
        /// The schema's name.
        schema
    }
}
