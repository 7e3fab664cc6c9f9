//! Fields of a query string or a form (`application/x-www-form-urlencoded`).

/// The fields, in their order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Fields(Vec<(String, String)>);

impl Fields {
    /// Those of `text`. A field without `=` is empty; what is no `%xx` stays as it is, and what is
    /// no UTF-8 is replaced.
    pub(crate) fn of(text: &str) -> Self {
        let field = |part: &str| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            (decode(name), decode(value))
        };
        Self(text.split('&').filter(|part| !part.is_empty()).map(field).collect())
    }

    /// The first field of this name.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The same, unless it is empty.
    pub(crate) fn filled(&self, name: &str) -> Option<String> {
        self.get(name).filter(|value| !value.is_empty()).map(str::to_owned)
    }
}

fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        rest = behind;
        let escaped = if first == b'%' { behind.split_first_chunk::<2>() } else { None };
        let byte = escaped.and_then(|(digits, behind)| Some((hexadecimal(*digits)?, behind)));
        match byte {
            Some((byte, behind)) => {
                bytes.push(byte);
                rest = behind;
            }
            None if first == b'+' => bytes.push(b' '),
            None => bytes.push(first),
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

fn hexadecimal(digits: [u8; 2]) -> Option<u8> {
    let [high, low] = digits.map(|digit| char::from(digit).to_digit(16));
    u8::try_from(high? << 4 | low?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_decoded() {
        let fields = Fields::of("statement=SELECT+1%2B1%3B&user=&b%C3%A4r=%e4&lone&%zz=%4");
        assert_eq!(fields.get("statement"), Some("SELECT 1+1;"));
        assert_eq!((fields.get("user"), fields.filled("user")), (Some(""), None));
        assert_eq!(fields.get("b\u{e4}r"), Some("\u{fffd}"));
        assert_eq!((fields.get("lone"), fields.get("%zz"), fields.get("x")), (Some(""), Some("%4"), None));
        assert_eq!(Fields::of(""), Fields::default());
    }
}
