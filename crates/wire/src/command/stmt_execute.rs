//! Runs a prepared statement.

use super::attributes::{Attribute, Attributes};
use super::{Kind, expect, value};
use crate::{Capabilities, Codec, WireError, codec::Reader};

/// Runs a prepared statement.
///
/// How many parameters there are is known to who prepared it, so they are kept as they came, and
/// [`params`](Self::params) takes them apart. Source: `COM_STMT_EXECUTE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StmtExecute<'a> {
    /// The statement's handle; MariaDB takes `0xffffffff` for the one prepared last.
    pub statement_id: u32,
    /// `CURSOR_TYPE_*`, and [`PARAM_COUNT`](Self::PARAM_COUNT).
    pub flags: u8,
    /// Always 1 today.
    pub iterations: u32,
    /// Everything about the parameters.
    pub raw_params: &'a [u8],
}

/// The parameters of an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExecuteParams<'a> {
    /// How many there are, with attributes.
    pub count: usize,
    /// A bit per parameter, the lowest first: its value is NULL.
    pub nulls: &'a [u8],
    /// Types of all parameters, two bytes each (with [`Capabilities::QUERY_ATTRIBUTES`] a
    /// length-encoded name follows each). Clients send them with the first execution only: `None`
    /// means the same as last time.
    pub types: Option<&'a [u8]>,
    /// The values one behind the other, without those that are NULL or were sent as long data.
    pub values: &'a [u8],
}

impl<'a> StmtExecute<'a> {
    /// Opens a read-only cursor (`CURSOR_TYPE_READ_ONLY`).
    pub const CURSOR_READ_ONLY: u8 = 1;
    /// The number of parameters, with attributes, comes along though the statement itself has none
    /// (`PARAMETER_COUNT_AVAILABLE`); has a meaning only with [`Capabilities::QUERY_ATTRIBUTES`].
    /// With that capability the number of a statement that has parameters comes along in any case.
    pub const PARAM_COUNT: u8 = 8;

    /// Whether the number of parameters comes along, if the statement has `prepared`.
    const fn has_count(&self, prepared: u16, caps: Capabilities) -> bool {
        caps.contains(Capabilities::QUERY_ATTRIBUTES) && (prepared > 0 || self.flags & Self::PARAM_COUNT != 0)
    }

    /// The attributes that come along behind the parameters, of which the statement has `prepared`:
    /// none if types do not come along, because the names are with them. Parameters that were sent
    /// as long data must not be among them: their values are not there.
    pub fn attributes(
        &self,
        prepared: u16,
        caps: Capabilities,
    ) -> impl Iterator<Item = Attribute<'a>> + use<'a> {
        let mut reader = Reader::new(self.raw_params);
        let has_count = self.has_count(prepared, caps);
        let prepared = usize::from(prepared);
        let count = has_count.then(|| reader.lenenc("parameter count").ok()).flatten();
        let count = count.and_then(|count| usize::try_from(count).ok()).filter(|count| *count > prepared);
        let all = count.map_or(Attributes::NONE, |count| Attributes::unread(count, reader.rest()));
        all.iter().skip(prepared)
    }

    /// Takes the parameters apart; `prepared` is how many the statement has.
    pub fn params(&self, prepared: u16, caps: Capabilities) -> Result<ExecuteParams<'a>, WireError> {
        let mut reader = Reader::new(self.raw_params);
        let named = caps.contains(Capabilities::QUERY_ATTRIBUTES);
        let mut count = usize::from(prepared);
        if self.has_count(prepared, caps) {
            let given = reader.lenenc("parameter count")?;
            count = usize::try_from(given)
                .ok()
                // Every parameter has a bit at least.
                .filter(|&given| given >= count && given.div_ceil(8) <= reader.left())
                .ok_or(WireError::Invalid { field: "parameter count", value: given })?;
        }
        if count == 0 {
            reader.finish()?;
            return Ok(ExecuteParams { count, nulls: &[], types: None, values: &[] });
        }
        let nulls = reader.bytes(count.div_ceil(8), "parameter nulls")?;
        let types = match reader.u8("parameter types")? {
            0 => None,
            1 => Some(types(&mut reader, count, named)?),
            byte => return Err(WireError::Invalid { field: "parameter types", value: byte.into() }),
        };
        Ok(ExecuteParams { count, nulls, types, values: reader.rest() })
    }

    /// The value of the parameter with the number `at`, from 0 on, if it is a whole number that is
    /// not negative. The statement has so many parameters, and was executed with these types
    /// before, which hold if none come along. No value was sent in parts.
    pub fn whole_number(
        &self,
        (prepared, last): (u16, Option<&[u8]>),
        at: u16,
        caps: Capabilities,
    ) -> Option<u64> {
        let params = self.params(prepared, caps).ok()?;
        let types = params.types_without_attributes(prepared, caps).or(last)?;
        let mut reader = Reader::new(params.values);
        for (number, code) in (0..=at).zip(ExecuteParams::type_codes(types, prepared, caps)) {
            let is_null = params.nulls.get(usize::from(number / 8))? & 1 << (number % 8) != 0;
            if number == at {
                return value::whole_number(&mut reader, code).filter(|_| !is_null);
            }
            if !is_null {
                value::take(&mut reader, code).ok()?;
            }
        }
        None
    }
}

impl<'a> ExecuteParams<'a> {
    /// The first value as a number that is whole and not negative, if it is one. `last` is its type
    /// of the execution before, which holds if none comes along. Returns the number and its type.
    pub fn first_whole_number(&self, last: Option<u16>) -> Option<(u64, u16)> {
        let now = self.types.map(|types| Reader::new(types).u16("parameter type").ok());
        let kind = now.unwrap_or(last)?;
        let is_null = self.nulls.first().is_none_or(|nulls| nulls & 1 != 0);
        let number = value::whole_number(&mut Reader::new(self.values), kind).filter(|_| !is_null)?;
        Some((number, kind))
    }

    /// The types, in the same form, of the first `prepared` parameters: those that are no
    /// attributes.
    pub fn types_without_attributes(&self, prepared: u16, caps: Capabilities) -> Option<&'a [u8]> {
        let all = self.types.filter(|_| self.count >= usize::from(prepared))?;
        types(&mut Reader::new(all), prepared.into(), caps.contains(Capabilities::QUERY_ATTRIBUTES)).ok()
    }

    /// The codes in the types of `prepared` parameters, in the form of
    /// [`types_without_attributes`](Self::types_without_attributes): `MYSQL_TYPE_*`, with the
    /// uppermost bit of 16 for what is unsigned. What comes short ends them.
    pub fn type_codes(
        types: &'a [u8],
        prepared: u16,
        caps: Capabilities,
    ) -> impl Iterator<Item = u16> + Clone {
        let named = caps.contains(Capabilities::QUERY_ATTRIBUTES);
        let mut reader = Reader::new(types);
        (0..prepared).map_while(move |_| {
            let code = reader.u16("parameter type").ok()?;
            if named {
                reader.lenenc_bytes("parameter name").ok()?;
            }
            Some(code)
        })
    }
}

/// The bytes of `count` types, with names if they have any.
fn types<'a>(reader: &mut Reader<'a>, count: usize, named: bool) -> Result<&'a [u8], WireError> {
    let mut start = reader.clone();
    for _ in 0..count {
        reader.u16("parameter type")?;
        if named {
            reader.lenenc_bytes("parameter name")?;
        }
    }
    start.bytes(start.left() - reader.left(), "parameter types")
}

impl<'a> Codec<'a> for StmtExecute<'a> {
    fn read(reader: &mut Reader<'a>, _caps: Capabilities) -> Result<Self, WireError> {
        expect(reader, Kind::StmtExecute)?;
        Ok(Self {
            statement_id: reader.u32("statement id")?,
            flags: reader.u8("execute flags")?,
            iterations: reader.u32("iterations")?,
            raw_params: reader.rest(),
        })
    }

    fn write(&self, _caps: Capabilities, out: &mut Vec<u8>) {
        out.push(Kind::StmtExecute as u8);
        out.extend_from_slice(&self.statement_id.to_le_bytes());
        out.push(self.flags);
        out.extend_from_slice(&self.iterations.to_le_bytes());
        out.extend_from_slice(self.raw_params);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NAMED: Capabilities = Capabilities::QUERY_ATTRIBUTES;

    fn execute(flags: u8, raw_params: &[u8]) -> StmtExecute<'_> {
        StmtExecute { statement_id: 1, flags, iterations: 1, raw_params }
    }

    proptest! {
        #[test]
        fn round_trips(statement_id: u32, flags: u8, iterations: u32, raw_params: Vec<u8>) {
            let command = StmtExecute { statement_id, flags, iterations, raw_params: &raw_params };
            let bytes = command.encode(NAMED);
            prop_assert_eq!(StmtExecute::decode(&bytes, NAMED), Ok(command));
        }

        #[test]
        fn c27_hostile_parameters_never_panic(raw: Vec<u8>, flags: u8, prepared: u16, named: bool) {
            let caps = if named { NAMED } else { Capabilities::empty() };
            if let Ok(params) = execute(flags, &raw).params(prepared, caps) {
                prop_assert!(params.nulls.len() + params.values.len() <= raw.len());
            }
            let attributes = execute(flags, &raw);
            prop_assert!(attributes.attributes(prepared, caps).count() <= raw.len());
        }
    }

    #[test]
    fn the_example_of_the_documentation() {
        let payload = b"\x17\x01\0\0\0\0\x01\0\0\0\0\x01\x0f\0\x03foo";
        let command = StmtExecute::decode(payload, Capabilities::empty()).unwrap();
        assert_eq!(command, execute(0, b"\0\x01\x0f\0\x03foo"));
        let params = command.params(1, Capabilities::empty()).unwrap();
        let expected = ExecuteParams { count: 1, nulls: &[0], types: Some(b"\x0f\0"), values: b"\x03foo" };
        assert_eq!(params, expected);
    }

    #[test]
    fn the_first_value_may_be_a_number() {
        let of = |raw: &[u8], last| {
            let params = execute(0, raw).params(1, Capabilities::empty()).unwrap();
            params.first_whole_number(last)
        };
        assert_eq!(of(b"\0\x01\x01\0\x07", None), Some((7, 1)));
        assert_eq!(of(b"\0\0\x07", Some(1)), Some((7, 1)));
        assert_eq!(of(b"\0\0\x07", None), None);
        assert_eq!(of(b"\x01\x01\x01\0", None), None, "NULL");
    }

    #[test]
    fn types_may_be_those_of_last_time() {
        let params = execute(0, b"\x01\x00\x07").params(2, Capabilities::empty()).unwrap();
        assert_eq!(params, ExecuteParams { count: 2, nulls: &[1], types: None, values: b"\x07" });
    }

    #[test]
    fn attributes_come_behind_the_parameters() {
        let raw = b"\x02\0\x01\x03\0\0\xfe\0\x02n1\x07\0\0\0\x02v1";
        let params = execute(StmtExecute::PARAM_COUNT, raw).params(1, NAMED).unwrap();
        assert_eq!(params.count, 2);
        assert_eq!(params.types, Some(&b"\x03\0\0\xfe\0\x02n1"[..]));
        assert_eq!(params.values, b"\x07\0\0\0\x02v1");
        assert_eq!(params.types_without_attributes(1, NAMED), Some(&b"\x03\0\0"[..]));
        assert_eq!(params.types_without_attributes(2, NAMED), params.types);
        assert_eq!(params.types_without_attributes(3, NAMED), None, "there are not so many");
    }

    #[test]
    fn the_count_comes_with_parameters_whatever_the_flag() {
        let expected = ExecuteParams { count: 1, nulls: &[0], types: Some(b"\x01\x80\0"), values: b"\x03" };
        for flags in [0, StmtExecute::PARAM_COUNT] {
            let raw = b"\x01\0\x01\x01\x80\0\x03";
            assert_eq!(execute(flags, raw).params(1, NAMED), Ok(expected));
        }
        assert_eq!(execute(0, b"").params(0, NAMED).unwrap().count, 0);
        let unnamed = execute(StmtExecute::PARAM_COUNT, b"\0\x01\x01\x80\x03");
        assert_eq!(unnamed.params(1, Capabilities::empty()).unwrap().types, Some(&b"\x01\x80"[..]));
    }

    #[test]
    fn attributes_are_told_from_parameters() {
        let raw = b"\x03\x01\x01\x03\0\0\xfe\0\x02n1\xfe\0\x02n2\x02v1\x02v2";
        let command = execute(StmtExecute::PARAM_COUNT, raw);
        let found = |prepared, caps| {
            let found = command.attributes(prepared, caps);
            found.map(|attribute| (attribute.name, attribute.value)).collect::<Vec<_>>()
        };
        let (n1, n2) = ((&b"n1"[..], Some(&b"\x02v1"[..])), (&b"n2"[..], Some(&b"\x02v2"[..])));
        assert_eq!(found(1, NAMED), [n1, n2]);
        assert_eq!(found(2, NAMED), [n2]);
        assert_eq!(found(3, NAMED), []);
        assert_eq!(found(1, Capabilities::empty()), []);
        assert_eq!(execute(0, raw).attributes(1, NAMED).count(), 2, "the count comes without the flag");
        assert_eq!(execute(0, raw).attributes(0, NAMED).count(), 0, "there is no count");
        let untyped = execute(StmtExecute::PARAM_COUNT, b"\x01\0\0");
        assert_eq!(untyped.attributes(0, NAMED).count(), 0, "names come with types");
    }

    #[test]
    fn a_statement_without_parameters_has_no_bytes_for_them() {
        assert_eq!(execute(0, b"").params(0, NAMED).unwrap().count, 0);
        assert_eq!(execute(0, b"\0").params(0, NAMED), Err(WireError::TrailingBytes(1)));
    }

    #[test]
    fn a_count_that_cannot_be_is_refused() {
        let flags = StmtExecute::PARAM_COUNT;
        let fewer = WireError::Invalid { field: "parameter count", value: 1 };
        assert_eq!(execute(flags, b"\x01\0\0").params(2, NAMED), Err(fewer));
        let huge = WireError::Invalid { field: "parameter count", value: u64::MAX };
        assert_eq!(execute(flags, &[[0xfe].as_slice(), &[0xff; 9]].concat()).params(0, NAMED), Err(huge));
    }

    #[test]
    fn a_parameter_may_be_a_whole_number() {
        let none = Capabilities::empty();
        // NULL, a string, a number of two bytes, and one that is negative.
        let first = execute(0, b"\x01\x01\x01\0\x0f\0\x02\0\x01\0\x02ab\x07\x01\xff");
        let of = |at| first.whole_number((4, None), at, none);
        assert_eq!([of(0), of(1), of(2), of(3), of(4)], [None, None, Some(0x107), None, None]);
        let again = execute(0, b"\0\0\x09");
        assert_eq!(again.whole_number((1, Some(b"\x01\0")), 0, none), Some(9));
        assert_eq!(again.whole_number((1, None), 0, none), None);
        // As Node.js and PHP send it: a double, and a string.
        let raw = [b"\0\x01\x05\0\xfd\0".as_slice(), &10_f64.to_le_bytes(), b"\x0212"].concat();
        let other = execute(0, &raw);
        assert_eq!([0, 1].map(|at| other.whole_number((2, None), at, none)), [Some(10), Some(12)]);
    }
}
