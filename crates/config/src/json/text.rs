//! Strings and their escapes.

use super::Left;

impl Left<'_> {
    /// A string. Half of a surrogate pair, which is no character, becomes U+FFFD.
    pub(super) fn string(&mut self) -> Option<String> {
        self.take(b'"').then_some(())?;
        let mut out: Vec<u8> = Vec::new();
        // The first half of a surrogate pair.
        let mut half = None;
        loop {
            let unit = match self.next()? {
                b'"' => break,
                b'\\' => match self.next()? {
                    b'u' => self.hex4()?,
                    escape => u16::from(plain_escape(escape)?),
                },
                0..0x20 => return None,
                byte => {
                    replace(half.take(), &mut out);
                    out.push(byte);
                    continue;
                }
            };
            match (half.take(), unit) {
                (Some(high), 0xDC00..=0xDFFF) => {
                    let code = 0x1_0000 + ((u32::from(high) & 0x3FF) << 10) + (u32::from(unit) & 0x3FF);
                    push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), &mut out);
                }
                (lone, 0xD800..=0xDBFF) => {
                    replace(lone, &mut out);
                    half = Some(unit);
                }
                (lone, unit) => {
                    replace(lone, &mut out);
                    push(char::from_u32(u32::from(unit)).unwrap_or(char::REPLACEMENT_CHARACTER), &mut out);
                }
            }
        }
        replace(half, &mut out);
        String::from_utf8(out).ok()
    }

    /// Four hexadecimal digits.
    fn hex4(&mut self) -> Option<u16> {
        let (digits, rest) = self.0.split_at_checked(4)?;
        let good = digits.iter().all(u8::is_ascii_hexdigit);
        self.0 = rest;
        u16::from_str_radix(str::from_utf8(digits).ok().filter(|_| good)?, 16).ok()
    }
}

/// What a backslash and `letter` stand for.
const fn plain_escape(letter: u8) -> Option<u8> {
    match letter {
        b'"' | b'\\' | b'/' => Some(letter),
        b'b' => Some(8),
        b'f' => Some(12),
        b'n' => Some(b'\n'),
        b'r' => Some(b'\r'),
        b't' => Some(b'\t'),
        _ => None,
    }
}

fn push(character: char, out: &mut Vec<u8>) {
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}

/// Half a pair whose other half did not come.
fn replace(half: Option<u16>, out: &mut Vec<u8>) {
    if half.is_some() {
        push(char::REPLACEMENT_CHARACTER, out);
    }
}
