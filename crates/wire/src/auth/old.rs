//! `mysql_old_password`: the method of MySQL 3.21 to 4.0, towards servers only.
//!
//! A hash of 62 bits seeds a random number generator, which masks eight bytes of the nonce. An
//! attacker who reads one login can compute a password that does; so it is for connections that no
//! third party can read. Source: `password.c` of MariaDB (`hash_password`, `scramble_323`) and "Old
//! Password Authentication" in MySQL's protocol documentation.

/// The method's name.
pub const NAME: &str = "mysql_old_password";

/// Bytes of the nonce that count, and bytes of the proof without the zero byte behind it.
pub(super) const LEN: usize = 8;

/// What the random numbers stay below.
const MODULUS: u32 = 0x3fff_ffff;

/// What old servers store, as 16 hexadecimal digits. Blanks and tabs of the password do not count.
fn hash(bytes: &[u8]) -> [u32; 2] {
    let (mut first, mut second, mut add) = (1_345_345_333_u32, 0x1234_5671_u32, 7_u32);
    for byte in bytes.iter().filter(|byte| !matches!(byte, b' ' | b'\t')) {
        let byte = u32::from(*byte);
        first ^= (first & 63).wrapping_add(add).wrapping_mul(byte).wrapping_add(first << 8);
        second = second.wrapping_add((second << 8) ^ first);
        add = add.wrapping_add(byte);
    }
    // The first bit is cut off.
    [first & 0x7fff_ffff, second & 0x7fff_ffff]
}

/// The client's proof and a zero byte; nothing for an empty password.
pub fn answer(password: &[u8], nonce: &[u8; LEN]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let ([a, b], [c, d]) = (hash(password), hash(nonce));
    let mut seeds = [a ^ c, b ^ d].map(|seed| seed % MODULUS);
    let mut out: Vec<u8> = nonce.iter().map(|_| random(&mut seeds) + 64).collect();
    let mask = random(&mut seeds);
    for byte in &mut out {
        *byte ^= mask;
    }
    out.push(0);
    out
}

/// The next random number, below 31.
fn random(seeds: &mut [u32; 2]) -> u8 {
    let [first, second] = seeds.map(u64::from);
    let next = (first * 3 + second) % u64::from(MODULUS);
    let seed = |number: u64| u32::try_from(number % u64::from(MODULUS)).unwrap_or(0);
    *seeds = [seed(next), seed(next + second + 33)];
    // Floating point, as on the other side: where the division has no remainder, integers give
    // another result.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 30")]
    let number = (f64::from(seeds[0]) / f64::from(MODULUS) * 31.0) as u8;
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_hash_as_on_old_servers() {
        // From the test suite of MariaDB 10.11: `change_user` and `set_password`.
        for (password, expected) in [("oldpw", "09301740536db389"), ("test", "378b243e220ca493")] {
            let [first, second] = hash(password.as_bytes());
            assert_eq!(format!("{first:08x}{second:08x}"), expected);
        }
        assert_eq!(hash(b"te st\t"), hash(b"test"));
    }

    #[test]
    fn a_proof_is_made_of_the_nonce() {
        // Computed with Python.
        for (password, nonce, expected) in [
            ("oldpw", b"!\"#$%&'(", "NJXYCGFB\0"),
            ("test", b"abcdefgh", "SY]MDUUA\0"),
            ("secret", b"12345678", "VW^]EMZL\0"),
        ] {
            assert_eq!(answer(password.as_bytes(), nonce), expected.as_bytes());
        }
        assert!(answer(b"", b"12345678").is_empty());
    }
}
