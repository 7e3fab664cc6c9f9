//! The parent of a span: `traceparent` of the W3C (Trace Context, section 3.2).

/// Bytes of the form that version 00 has: `00-`, 32 digits, `-`, 16 digits, `-`, 2 digits.
const LEN: usize = 55;
/// The name of the member, in comments and as a query attribute.
const NAME: &[u8] = b"traceparent";
/// The flag of a trace that is recorded.
const SAMPLED: u8 = 1;

/// A span of the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parent {
    /// The trace; not 0.
    pub trace: u128,
    /// The span in it; not 0.
    pub span: u64,
    /// Whether the client records the trace.
    pub is_sampled: bool,
}

impl Parent {
    /// The name of the query attribute that has a parent.
    pub const ATTRIBUTE: &[u8] = NAME;

    /// Reads `00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01`. Later versions may be
    /// longer. Returns nothing for another form.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let (known, rest) = text.split_at_checked(LEN)?;
        let mut parts = known.split(|&byte| byte == b'-');
        let version = hex(parts.next()?, 2)?;
        let is_long = !rest.is_empty();
        if version == 0xff || is_long && (version == 0 || rest.first() != Some(&b'-')) {
            return None;
        }
        let trace = hex(parts.next()?, 32).filter(|trace| *trace != 0)?;
        let span = u64::try_from(hex(parts.next()?, 16)?).ok().filter(|span| *span != 0)?;
        let flags = u8::try_from(hex(parts.next()?, 2)?).ok()?;
        parts.next().is_none().then_some(Self { trace, span, is_sampled: flags & SAMPLED != 0 })
    }

    /// The parent in the comment that `statement` begins or ends with, as sqlcommenter writes it:
    /// `/*traceparent='00-...-01'*/`.
    pub fn in_comment(statement: &[u8]) -> Option<Self> {
        let is_end = |byte: &u8| byte.is_ascii_whitespace() || *byte == b';';
        let statement = statement.trim_ascii_start();
        let end = statement.iter().rposition(|byte| !is_end(byte)).map_or(0, |at| at + 1);
        let statement = statement.get(..end)?;
        let first = || {
            let comment = statement.strip_prefix(b"/*")?;
            comment.get(..find(comment, b"*/")?)
        };
        let last = || {
            let before = statement.strip_suffix(b"*/")?;
            let begin = before.windows(2).rposition(|two| two == b"/*")?;
            before.get(begin + 2..)
        };
        last().and_then(Self::in_members).or_else(|| first().and_then(Self::in_members))
    }

    /// The parent in `name='value',name='value'`, with or without quotes.
    fn in_members(comment: &[u8]) -> Option<Self> {
        let behind = comment.get(find(comment, NAME)? + NAME.len()..)?;
        let value = behind.trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
        let value = value.strip_prefix(b"'").unwrap_or(value);
        let is_part = |byte: &u8| byte.is_ascii_hexdigit() || *byte == b'-';
        let len = value.iter().position(|byte| !is_part(byte)).unwrap_or(value.len());
        Self::parse(value.get(..len)?)
    }
}

/// A number of exactly so many small hexadecimal digits.
fn hex(text: &[u8], digits: usize) -> Option<u128> {
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if text.len() != digits || !text.iter().all(is_digit) {
        return None;
    }
    u128::from_str_radix(std::str::from_utf8(text).ok()?, 16).ok()
}

/// Where `part` begins in `text`.
fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    const PARENT: Parent = Parent {
        trace: 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736,
        span: 0x00f0_67aa_0ba9_02b7,
        is_sampled: true,
    };

    #[test]
    fn a_parent_has_one_form() {
        assert_eq!(Parent::parse(TEXT.as_bytes()), Some(PARENT));
        let with = |from: &str, to: &str| Parent::parse(TEXT.replacen(from, to, 1).as_bytes());
        assert_eq!(with("b7-01", "b7-00"), Some(Parent { is_sampled: false, ..PARENT }));
        assert_eq!(with("b7-01", "b7-03"), Some(PARENT));
        // A later version.
        assert_eq!(with("00-4b", "cc-4b"), Some(PARENT));
        assert_eq!(Parent::parse(format!("cc{}-what", &TEXT[2..]).as_bytes()), Some(PARENT));
        assert_eq!(Parent::parse(format!("{TEXT}-what").as_bytes()), None);
        for (from, to) in
            [("00-4b", "ff-4b"), ("4b", "4B"), ("b7-", "b70"), ("-00f0", "000f0"), ("36-", "3-6")]
        {
            assert_eq!(with(from, to), None, "{to}");
        }
        assert_eq!(with("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32)), None);
        assert_eq!(with("00f067aa0ba902b7", &"0".repeat(16)), None);
        for len in 0..TEXT.len() {
            assert_eq!(Parent::parse(&TEXT.as_bytes()[..len]), None);
        }
    }

    #[test]
    fn a_comment_has_it_at_either_end() {
        for statement in [
            format!("SELECT 1 /*traceparent='{TEXT}'*/"),
            format!("SELECT 1 /*action='a',traceparent='{TEXT}',tracestate='x%3D1'*/ ; "),
            format!(" /* traceparent = {TEXT} */ SELECT 1"),
            format!("/*traceparent='{TEXT}'*/ SELECT 1 /* last */"),
            format!("/*traceparent='{TEXT}'*/"),
        ] {
            assert_eq!(Parent::in_comment(statement.as_bytes()), Some(PARENT), "{statement}");
        }
    }

    #[test]
    fn values_of_the_statement_are_no_comment() {
        for statement in [
            format!("SELECT '/*traceparent=\\'{TEXT}\\'*/'"),
            format!("SELECT 'traceparent={TEXT}' /* x */"),
            format!("SELECT 1 /*parent='{TEXT}'*/"),
            format!("SELECT 1 /*traceparent:'{TEXT}'*/"),
            "/*".to_owned(),
            "/*/".to_owned(),
            "*/".to_owned(),
            ";".to_owned(),
            String::new(),
        ] {
            assert_eq!(Parent::in_comment(statement.as_bytes()), None, "{statement}");
        }
    }
}
