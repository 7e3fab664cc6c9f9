//! Commands of their byte and one field.

/// Defines a command whose field is all the rest of the payload (`string<EOF>`), and its test.
macro_rules! rest {
    ($(#[$doc:meta])+ $kind:ident { $(#[$field_doc:meta])+ $field:ident }) => {
        $(#[$doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $kind<'a> {
            $(#[$field_doc])+
            pub $field: &'a [u8],
        }

        impl<'a> $crate::Codec<'a> for $kind<'a> {
            fn read(
                reader: &mut $crate::codec::Reader<'a>,
                _caps: $crate::Capabilities,
            ) -> Result<Self, $crate::WireError> {
                super::expect(reader, super::Kind::$kind)?;
                Ok(Self { $field: reader.rest() })
            }

            fn write(&self, _caps: $crate::Capabilities, out: &mut Vec<u8>) {
                out.push(super::Kind::$kind as u8);
                out.extend_from_slice(self.$field);
            }
        }

        #[cfg(test)]
        mod tests {
            use proptest::prelude::*;

            use super::$kind;
            use crate::{Capabilities, Codec as _};

            proptest! {
                #[test]
                fn round_trips($field: Vec<u8>) {
                    let command = $kind { $field: &$field };
                    let bytes = command.encode(Capabilities::empty());
                    prop_assert_eq!($kind::decode(&bytes, Capabilities::empty()), Ok(command));
                }
            }
        }
    };
}

/// Defines a command whose field is an `int<4>`, and its test. The name is for errors.
macro_rules! id {
    ($(#[$doc:meta])+ $kind:ident { $(#[$field_doc:meta])+ $field:ident: $name:literal }) => {
        $(#[$doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $kind {
            $(#[$field_doc])+
            pub $field: u32,
        }

        impl $crate::Codec<'_> for $kind {
            fn read(
                reader: &mut $crate::codec::Reader<'_>,
                _caps: $crate::Capabilities,
            ) -> Result<Self, $crate::WireError> {
                super::expect(reader, super::Kind::$kind)?;
                Ok(Self { $field: reader.u32($name)? })
            }

            fn write(&self, _caps: $crate::Capabilities, out: &mut Vec<u8>) {
                out.push(super::Kind::$kind as u8);
                out.extend_from_slice(&self.$field.to_le_bytes());
            }
        }

        #[cfg(test)]
        mod tests {
            use proptest::prelude::*;

            use super::$kind;
            use crate::{Capabilities, Codec as _};

            proptest! {
                #[test]
                fn round_trips($field: u32) {
                    let command = $kind { $field };
                    let bytes = command.encode(Capabilities::empty());
                    prop_assert_eq!($kind::decode(&bytes, Capabilities::empty()), Ok(command));
                }
            }
        }
    };
}

pub(super) use {id, rest};
