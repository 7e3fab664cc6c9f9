//! The hash that MySQL stores for `caching_sha2_password`.
//!
//! It is the SHA-256 variant of Ulrich Drepper's "Unix crypt using SHA-256 and SHA-512", with three
//! differences in how it is used: the salt has 20 bytes (not 16), which may be any but zero and
//! `$`; the rounds are counted in thousands; and the text around salt and hash is MySQL's own.
//! Source: `my_crypt_genhash` and `Caching_sha2_password::deserialize` in MySQL's sources.

use std::fmt;

use crate::auth::digest::sha256;
use crate::auth::{PASSWORD_LEN_MAX, equal};

/// Bytes of salt.
const SALT_LEN: usize = 20;
/// Characters of the hash.
const HASH_LEN: usize = 43;
/// What one unit of the stored count stands for.
const ROUNDS_UNIT: u32 = 1000;
/// The smallest count: `caching_sha2_password_digest_rounds` is at least 5000.
const ROUNDS_UNITS_MIN: u32 = 5;

/// The digits of crypt's own base 64.
const DIGITS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The order in which bytes of the digest make up the characters: three bytes, four characters.
const ORDER: [[usize; 3]; 10] = [
    [0, 10, 20],
    [21, 1, 11],
    [12, 22, 2],
    [3, 13, 23],
    [24, 4, 14],
    [15, 25, 5],
    [6, 16, 26],
    [27, 7, 17],
    [18, 28, 8],
    [9, 19, 29],
];

/// `$A$005$`, 20 bytes of salt and 43 characters of hash.
#[derive(Clone, PartialEq, Eq)]
pub struct Stored {
    rounds: u32,
    salt: [u8; SALT_LEN],
    hash: [u8; HASH_LEN],
}

/// Why a text is not a stored hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StoredError {
    /// It does not have the 70 bytes of one.
    #[error("a caching_sha2_password hash has 70 bytes, this one has {0}")]
    Length(usize),
    /// It does not start with `$A$`, three hexadecimal digits (at least `005`) and `$`.
    #[error("a caching_sha2_password hash starts with `$A$005$`")]
    Prefix,
    /// A character of the hash is not in crypt's alphabet.
    #[error("the last 43 characters of a caching_sha2_password hash are letters, digits, `.` and `/`")]
    Alphabet,
}

impl Stored {
    /// The bytes that every stored hash starts with.
    pub const PREFIX: &[u8] = b"$A$";

    /// Reads `authentication_string` as the server shows it.
    pub fn parse(text: &[u8]) -> Result<Self, StoredError> {
        let length = StoredError::Length(text.len());
        let (prefix, rest) = text.split_first_chunk::<7>().ok_or(length)?;
        let (salt, hash) = rest.split_first_chunk::<SALT_LEN>().ok_or(length)?;
        let hash: [u8; HASH_LEN] = hash.try_into().map_err(|_| length)?;
        let [b'$', b'A', b'$', count @ .., b'$'] = prefix else { return Err(StoredError::Prefix) };
        let units = units(count).ok_or(StoredError::Prefix)?;
        if !hash.iter().all(|byte| DIGITS.contains(byte)) {
            return Err(StoredError::Alphabet);
        }
        Ok(Self { rounds: units * ROUNDS_UNIT, salt: *salt, hash })
    }

    /// The `authentication_string` of `password` with `salt` and MySQL's default of 5,000 rounds;
    /// nothing if the password is longer than servers take.
    pub fn make(password: &[u8], salt: [u8; 20]) -> Option<Vec<u8>> {
        let rounds = ROUNDS_UNITS_MIN * ROUNDS_UNIT;
        (password.len() <= PASSWORD_LEN_MAX)
            .then(|| [b"$A$005$".as_slice(), &salt, &encode(&crypt(password, &salt, rounds))].concat())
    }

    /// Whether the hash is that of `password`. Takes milliseconds with 5000 rounds, and up to
    /// seconds with the 4,095,000 that MySQL allows.
    pub fn verify(&self, password: &[u8]) -> bool {
        let short = password.len() <= PASSWORD_LEN_MAX;
        short && equal(&encode(&crypt(password, &self.salt, self.rounds)), &self.hash)
    }
}

impl fmt::Debug for Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stored").field("rounds", &self.rounds).finish_non_exhaustive()
    }
}

/// The count of thousands of rounds: three hexadecimal digits.
fn units(digits: &[u8]) -> Option<u32> {
    let value =
        digits.iter().try_fold(0, |value, &digit| Some(value * 16 + char::from(digit).to_digit(16)?))?;
    (value >= ROUNDS_UNITS_MIN).then_some(value)
}

/// The digest: steps 1 to 21 of Drepper's description.
fn crypt(password: &[u8], salt: &[u8], rounds: u32) -> [u8; 32] {
    let b = sha256(&[password, salt, password]);
    let mut first = [password, salt].concat();
    first.extend(b.iter().cycle().take(password.len()));
    let mut bits = password.len();
    while bits > 0 {
        first.extend_from_slice(if bits & 1 == 1 { &b } else { password });
        bits >>= 1;
    }
    let mut digest = sha256(&[&first]);

    let p = sha256(&[&password.repeat(password.len())]);
    let p: Vec<u8> = p.iter().copied().cycle().take(password.len()).collect();
    let s = sha256(&[&salt.repeat(16 + usize::from(digest[0]))]);
    let s: Vec<u8> = s.iter().copied().cycle().take(salt.len()).collect();

    let mut input = Vec::with_capacity(2 * (digest.len() + p.len() + s.len()));
    for round in 0..rounds {
        input.clear();
        input.extend_from_slice(if round % 2 == 1 { &p } else { &digest });
        if round % 3 != 0 {
            input.extend_from_slice(&s);
        }
        if round % 7 != 0 {
            input.extend_from_slice(&p);
        }
        input.extend_from_slice(if round % 2 == 1 { &digest } else { &p });
        digest = sha256(&[&input]);
    }
    digest
}

/// The digest in crypt's base 64: step 22.
fn encode(digest: &[u8; 32]) -> [u8; HASH_LEN] {
    let byte = |index: usize| u32::from(digest.get(index).copied().unwrap_or(0));
    let full = ORDER.iter().flat_map(|&[a, b, c]| characters(byte(a) << 16 | byte(b) << 8 | byte(c)));
    let last = characters(byte(31) << 8 | byte(30));
    let mut out = [0; HASH_LEN];
    for (to, from) in out.iter_mut().zip(full.chain(last)) {
        *to = from;
    }
    out
}

/// Four characters for 24 bits, the lowest bits first.
fn characters(bits: u32) -> impl Iterator<Item = u8> {
    (0..4).map(move |place| {
        let digit = (bits >> (6 * place)) & 0x3f;
        DIGITS.get(digit as usize).copied().unwrap_or(b'.')
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::testing::hex;

    const SECRET: &[u8] = b"$A$005$012345678901234567895fkz3MBocEd.OaaR71/j.w9RXSrKttgCSpI2fGX1100";

    #[test]
    fn a_hash_made_by_mysql() {
        // HEX(authentication_string) after CREATE USER ... IDENTIFIED BY 'foobar' on MySQL 8.0.
        let text =
            hex("24412430303524031A69251C34295C4B35167C7F1E5A7B63091349503974624D34504B5A424679354856336868\
             686F52485A736E4A733368786E427575516C73446469496537");
        let stored = Stored::parse(&text).unwrap();
        assert!(stored.verify(b"foobar"));
        assert!(!stored.verify(b"foobaz"));
        assert!(!stored.verify(b""));
    }

    /// Computed with a second implementation in Python that agrees with glibc's `crypt` where that
    /// goes.
    #[test]
    fn known_answers() {
        let long = [b'x'; PASSWORD_LEN_MAX];
        for (password, text) in [
            (b"secret".as_slice(), SECRET.to_vec()),
            (
                "päss wörd, longer than thirty-two bytes".as_bytes(),
                b"$A$005$~}|{zyxwvutsrqponmlkFyZlQQAOuXalDk7WVqfgPM0ZQtv6JngZqrUy7n4MkUA".to_vec(),
            ),
            (&long, b"$A$005$01234567890123456789ZIsTpGlPkRqjqrOoLJBdddp0/EdRuThSHBCIvvbpYvB".to_vec()),
            // 10,000 rounds: the count is hexadecimal.
            (b"secret", b"$A$00A$01234567890123456789TSGcpsZpU/N4to7BDphT5EM8hCorEh6Tw0cVCDk4CM7".to_vec()),
            (
                b"secret",
                [
                    b"$A$005$".as_slice(),
                    &(1..=20).collect::<Vec<u8>>(),
                    b"s7QB2tObAqxyjjQ8FNhu/gyLPvxW4vKGNbK8AveHWN4",
                ]
                .concat(),
            ),
        ] {
            let stored = Stored::parse(&text).unwrap();
            assert!(stored.verify(password), "{}", text.escape_ascii());
            assert!(!stored.verify(&password[1..]), "{}", text.escape_ascii());
        }
    }

    #[test]
    fn a_password_beyond_the_limit_costs_no_work() {
        assert!(!Stored::parse(SECRET).unwrap().verify(&vec![b'x'; 1 << 20]));
    }

    #[test]
    fn other_texts_are_refused_with_their_reason() {
        let changed = |at: usize, byte: u8| {
            let mut text = SECRET.to_vec();
            text[at] = byte;
            Stored::parse(&text)
        };
        assert_eq!(Stored::parse(&SECRET[..69]), Err(StoredError::Length(69)));
        assert_eq!(Stored::parse(b""), Err(StoredError::Length(0)));
        assert_eq!(Stored::parse(&[SECRET, b"x"].concat()), Err(StoredError::Length(71)));
        assert_eq!(changed(1, b'B'), Err(StoredError::Prefix));
        assert_eq!(changed(5, b'4'), Err(StoredError::Prefix), "4000 rounds");
        assert_eq!(changed(5, b'x'), Err(StoredError::Prefix));
        assert_eq!(changed(69, b'$'), Err(StoredError::Alphabet));
    }

    #[test]
    fn debug_shows_no_hash() {
        let text = format!("{:?}", Stored::parse(SECRET).unwrap());
        assert_eq!(text, "Stored { rounds: 5000, .. }");
    }
}
