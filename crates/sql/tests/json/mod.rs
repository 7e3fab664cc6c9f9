//! As much JSON as the test vectors need: an array of objects whose values are strings.

use std::collections::HashMap;

/// The objects of `text`.
pub(crate) fn objects(text: &str) -> Vec<HashMap<String, String>> {
    let mut strings = Vec::new();
    let mut objects = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' => strings.push(string(&mut chars)),
            '}' => {
                let pairs = strings.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone()));
                objects.push(pairs.collect());
                strings.clear();
            }
            _ => {}
        }
    }
    objects
}

/// The rest of a string whose first quote was read.
fn string(chars: &mut impl Iterator<Item = char>) -> String {
    let mut text = String::new();
    loop {
        match chars.next().unwrap() {
            '"' => return text,
            '\\' => match chars.next().unwrap() {
                'n' => text.push('\n'),
                'r' => text.push('\r'),
                't' => text.push('\t'),
                'u' => {
                    let digits: String = chars.take(4).collect();
                    text.push(char::from_u32(u32::from_str_radix(&digits, 16).unwrap()).unwrap());
                }
                other => text.push(other),
            },
            other => text.push(other),
        }
    }
}
