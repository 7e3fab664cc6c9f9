//! Named values that come with a statement.

use super::value;
use crate::WireError;
use crate::codec::{Reader, put_lenenc, put_lenenc_bytes};

/// Sets of values that come with one statement: always one.
const SETS: u64 = 1;

/// The attributes of a query
/// ([`Capabilities::QUERY_ATTRIBUTES`](crate::Capabilities::QUERY_ATTRIBUTES)).
///
/// They are kept as they came, and were walked through once when they were read, because the
/// statement's text is behind them. Source: `COM_QUERY`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Attributes<'a> {
    count: usize,
    /// A bit per attribute, then 1, then types and names, then the values.
    raw: &'a [u8],
}

/// One attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// The type of its value: `MYSQL_TYPE_*`, and `0x8000` for unsigned integers.
    pub kind: u16,
    /// Its value in binary form (with its length in front if the type has one), or NULL.
    pub value: Option<&'a [u8]>,
}

impl<'a> Attributes<'a> {
    /// No attributes.
    pub const NONE: Self = Self { count: 0, raw: &[] };

    /// So many attributes, which `raw` begins with, if it does: they end where it is none any more.
    pub(super) const fn unread(count: usize, raw: &'a [u8]) -> Self {
        Self { count, raw }
    }

    /// How many there are.
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The attributes, in their order.
    pub fn iter(&self) -> impl Iterator<Item = Attribute<'a>> + use<'a> {
        // Was walked through without an error when it was read, unless made by `unread`.
        let walk = Walk::start(&mut Reader::new(self.raw), self.count).ok();
        walk.into_iter().flatten().map_while(Result::ok)
    }

    /// Writes attributes into `buffer`, and returns them as a view of it.
    pub fn build(buffer: &'a mut Vec<u8>, attributes: &[Attribute<'_>]) -> Self {
        buffer.clear();
        if attributes.is_empty() {
            return Self::NONE;
        }
        for eight in attributes.chunks(8) {
            let null = |(bit, attribute): (usize, &Attribute<'_>)| u8::from(attribute.value.is_none()) << bit;
            buffer.push(eight.iter().enumerate().map(null).sum());
        }
        buffer.push(1);
        for attribute in attributes {
            buffer.extend_from_slice(&attribute.kind.to_le_bytes());
            put_lenenc_bytes(buffer, attribute.name);
        }
        for attribute in attributes {
            buffer.extend_from_slice(attribute.value.unwrap_or_default());
        }
        Self { count: attributes.len(), raw: buffer }
    }

    pub(super) fn read(reader: &mut Reader<'a>) -> Result<Self, WireError> {
        let count = reader.lenenc("attribute count")?;
        match reader.lenenc("attribute sets")? {
            SETS => {}
            value => return Err(WireError::Invalid { field: "attribute sets", value }),
        }
        // Every attribute has three bytes at least.
        let count = usize::try_from(count)
            .ok()
            .filter(|&count| count <= reader.left())
            .ok_or(WireError::Invalid { field: "attribute count", value: count })?;
        if count == 0 {
            return Ok(Self::NONE);
        }
        let start = reader.clone();
        let mut walk = Walk::start(reader, count)?;
        for attribute in &mut walk {
            attribute?;
        }
        let raw = start.clone().bytes(start.left() - walk.values.left(), "attributes")?;
        *reader = walk.values;
        Ok(Self { count, raw })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        put_lenenc(out, self.count as u64);
        put_lenenc(out, SETS);
        out.extend_from_slice(self.raw);
    }
}

/// Goes through attributes one by one.
struct Walk<'a> {
    count: usize,
    next: usize,
    nulls: &'a [u8],
    types: Reader<'a>,
    values: Reader<'a>,
}

impl<'a> Walk<'a> {
    /// Finds types and values of `count` attributes.
    fn start(reader: &mut Reader<'a>, count: usize) -> Result<Self, WireError> {
        let nulls = reader.bytes(count.div_ceil(8), "attribute nulls")?;
        match reader.u8("attribute types")? {
            1 => {}
            byte => return Err(WireError::Invalid { field: "attribute types", value: byte.into() }),
        }
        let types = reader.clone();
        for _ in 0..count {
            reader.u16("attribute type")?;
            reader.lenenc_bytes("attribute name")?;
        }
        Ok(Self { count, next: 0, nulls, types, values: reader.clone() })
    }

    fn attribute(&mut self) -> Result<Attribute<'a>, WireError> {
        let kind = self.types.u16("attribute type")?;
        let name = self.types.lenenc_bytes("attribute name")?;
        let null = self.nulls.get(self.next / 8).is_some_and(|byte| byte >> (self.next % 8) & 1 == 1);
        let value = if null { None } else { Some(value::take(&mut self.values, kind)?) };
        Ok(Attribute { name, kind, value })
    }
}

impl<'a> Iterator for Walk<'a> {
    type Item = Result<Attribute<'a>, WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next == self.count {
            return None;
        }
        let attribute = self.attribute();
        self.next += 1;
        Some(attribute)
    }
}
