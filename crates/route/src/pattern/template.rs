//! What a match is replaced with: text with `\0` to `\9` for the match and its groups, `\\` for a
//! backslash.

/// A replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(Vec<u8>),
    Group(usize),
}

impl Template {
    /// Reads a replacement for an expression with `groups` groups, the whole match included.
    pub(crate) fn new(source: &str, groups: usize) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut text = Vec::new();
        let mut bytes = source.bytes();
        while let Some(byte) = bytes.next() {
            if byte != b'\\' {
                text.push(byte);
                continue;
            }
            match bytes.next() {
                Some(b'\\') => text.push(b'\\'),
                Some(digit @ b'0'..=b'9') => {
                    let group = usize::from(digit - b'0');
                    if group >= groups {
                        return Err(format!(
                            "`\\{group}` stands for a group that the expression does not have"
                        ));
                    }
                    parts.push(Part::Text(std::mem::take(&mut text)));
                    parts.push(Part::Group(group));
                }
                _ => return Err("a backslash must be followed by a digit or a backslash".to_owned()),
            }
        }
        parts.push(Part::Text(text));
        parts.retain(|part| !matches!(part, Part::Text(text) if text.is_empty()));
        Ok(Self(parts))
    }

    /// Appends the replacement of a match in `text` to `out`; a group that took no part in it is
    /// empty.
    pub(super) fn expand(&self, text: &[u8], groups: &[Option<(usize, usize)>], out: &mut Vec<u8>) {
        for part in &self.0 {
            match part {
                Part::Text(text) => out.extend_from_slice(text),
                Part::Group(group) => {
                    let range = groups.get(*group).copied().flatten().unwrap_or_default();
                    out.extend_from_slice(text.get(range.0..range.1).unwrap_or_default());
                }
            }
        }
    }
}
