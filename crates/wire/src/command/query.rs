//! Runs a statement given as text, or several.

use super::{Attributes, Kind, expect};
use crate::{Capabilities, Codec, WireError, codec::Reader};

/// Runs a statement, or several with [`Capabilities::MULTI_STATEMENTS`].
///
/// Source: `COM_QUERY`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Query<'a> {
    /// Named values; only with [`Capabilities::QUERY_ATTRIBUTES`], and not written without.
    pub attributes: Attributes<'a>,
    /// The statement's text.
    pub text: &'a [u8],
}

impl<'a> Codec<'a> for Query<'a> {
    fn read(reader: &mut Reader<'a>, caps: Capabilities) -> Result<Self, WireError> {
        expect(reader, Kind::Query)?;
        let attributes = if caps.contains(Capabilities::QUERY_ATTRIBUTES) {
            Attributes::read(reader)?
        } else {
            Attributes::NONE
        };
        Ok(Self { attributes, text: reader.rest() })
    }

    fn write(&self, caps: Capabilities, out: &mut Vec<u8>) {
        out.push(Kind::Query as u8);
        if caps.contains(Capabilities::QUERY_ATTRIBUTES) {
            self.attributes.write(out);
        }
        out.extend_from_slice(self.text);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Attribute;
    use super::*;

    const ATTRIBUTES: Capabilities = Capabilities::QUERY_ATTRIBUTES;

    /// A name, and a string, a short integer or NULL.
    fn attribute() -> impl Strategy<Value = (Vec<u8>, u16, Option<Vec<u8>>)> {
        let text = prop::collection::vec(any::<u8>(), 0..250).prop_map(|text| {
            let mut value = Vec::new();
            crate::codec::put_lenenc_bytes(&mut value, &text);
            (0xfe, Some(value))
        });
        let value = prop_oneof![
            text,
            any::<[u8; 2]>().prop_map(|bytes| (0x8002, Some(bytes.to_vec()))),
            Just((0x0c, None)),
        ];
        (prop::collection::vec(any::<u8>(), 0..20), value)
            .prop_map(|(name, (kind, value))| (name, kind, value))
    }

    proptest! {
        #[test]
        fn round_trips(text: Vec<u8>, attributes in prop::collection::vec(attribute(), 0..20)) {
            let attributes: Vec<_> = attributes
                .iter()
                .map(|(name, kind, value)| Attribute { name, kind: *kind, value: value.as_deref() })
                .collect();
            let mut buffer = Vec::new();
            let command = Query { attributes: Attributes::build(&mut buffer, &attributes), text: &text };
            prop_assert_eq!(command.attributes.iter().collect::<Vec<_>>(), attributes);
            let bytes = command.encode(ATTRIBUTES);
            prop_assert_eq!(Query::decode(&bytes, ATTRIBUTES), Ok(command));

            // A server without attributes gets the text alone.
            let bytes = command.encode(Capabilities::empty());
            let bare = Query { attributes: Attributes::NONE, text: &text };
            prop_assert_eq!(Query::decode(&bytes, Capabilities::empty()), Ok(bare));
        }

        #[test]
        fn c27_hostile_attributes_never_panic(bytes: Vec<u8>) {
            let payload = [&[3], bytes.as_slice()].concat();
            if let Ok(command) = Query::decode(&payload, ATTRIBUTES) {
                prop_assert_eq!(command.attributes.iter().count(), command.attributes.len());
                let bytes = command.encode(ATTRIBUTES);
                prop_assert_eq!(Query::decode(&bytes, ATTRIBUTES), Ok(command));
            }
        }
    }

    #[test]
    fn attributes_as_mysql_sends_them() {
        // From the page of COM_QUERY: query_attributes n1 v1 n2 v2; SELECT 1;
        let payload = b"\x03\x02\x01\x00\x01\xfe\x00\x02n1\xfe\x00\x02n2\x02v1\x02v2select 'foo'";
        let command = Query::decode(payload, ATTRIBUTES).unwrap();
        assert_eq!(command.text, b"select 'foo'");
        let expected = [
            Attribute { name: b"n1", kind: 0xfe, value: Some(b"\x02v1") },
            Attribute { name: b"n2", kind: 0xfe, value: Some(b"\x02v2") },
        ];
        assert_eq!(command.attributes.iter().collect::<Vec<_>>(), expected);
        assert_eq!(command.encode(ATTRIBUTES), payload);
        assert_eq!(Query::decode(b"\x03\0\x01SELECT 1", ATTRIBUTES).unwrap().text, b"SELECT 1");
    }

    #[test]
    fn a_count_without_bytes_costs_nothing() {
        let payload = b"\x03\xfe\xff\xff\xff\xff\xff\xff\xff\x7f\x01";
        assert!(Query::decode(payload, ATTRIBUTES).is_err());
        let error = WireError::Invalid { field: "attribute sets", value: 2 };
        assert_eq!(Query::decode(b"\x03\x00\x02", ATTRIBUTES), Err(error));
    }
}
