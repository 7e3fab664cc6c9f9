//! Changes the current schema.

super::one_field::rest! {
    /// Changes the current schema, as `USE` does.
    ///
    /// Source: `COM_INIT_DB`.
    InitDb {
        /// The schema's name.
        schema
    }
}

#[cfg(test)]
mod golden {
    use super::InitDb;
    use crate::{Capabilities, Codec as _};

    #[test]
    fn the_name_has_no_end_mark() {
        let bytes = b"\x02sbtest";
        let command = InitDb { schema: b"sbtest" };
        assert_eq!(InitDb::decode(bytes, Capabilities::empty()), Ok(command));
        assert_eq!(command.encode(Capabilities::empty()), bytes);
    }
}
