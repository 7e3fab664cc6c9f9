//! Commands that consist of their byte.

/// Defines a command without fields, and its test.
macro_rules! bare {
    ($(#[$doc:meta])+ $kind:ident) => {
        $(#[$doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $kind;

        impl $crate::Codec<'_> for $kind {
            fn read(
                reader: &mut $crate::codec::Reader<'_>,
                _caps: $crate::Capabilities,
            ) -> Result<Self, $crate::WireError> {
                super::expect(reader, super::Kind::$kind)?;
                Ok(Self)
            }

            fn write(&self, _caps: $crate::Capabilities, out: &mut Vec<u8>) {
                out.push(super::Kind::$kind as u8);
            }
        }

        #[cfg(test)]
        mod tests {
            use super::$kind;
            use crate::{Capabilities, Codec as _, WireError};

            #[test]
            fn is_its_byte() {
                let (caps, byte) = (Capabilities::empty(), super::super::Kind::$kind as u8);
                assert_eq!($kind.encode(caps), [byte]);
                assert_eq!($kind::decode(&[byte], caps), Ok($kind));
                assert_eq!($kind::decode(&[byte, 0], caps), Err(WireError::TrailingBytes(1)));
                let error = WireError::Invalid { field: "command", value: u64::from(byte ^ 0x40) };
                assert_eq!($kind::decode(&[byte ^ 0x40], caps), Err(error));
                assert!($kind::decode(&[], caps).is_err());
            }
        }
    };
}

pub(super) use bare;
