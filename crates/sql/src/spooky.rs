//! SpookyHash V2, the hash that digests are known by: `stats_mysql_query_digest.digest`, the column
//! `digest` of query rules and the checksums of configuration tables are all its 64-bit form with
//! both seeds 0.
//!
//! The algorithm is Bob Jenkins', who put it into the public domain
//! (<https://burtleburtle.net/bob/hash/spooky.html>). It is fast, not secret: nothing that an
//! attacker must not collide may rest on it.

/// Inputs below this many bytes take the short form, which has a smaller state.
const SHORT_BELOW: usize = 192;
/// Bytes mixed at once by the long form: twelve words.
const BLOCK: usize = 96;
/// An odd constant without pattern, the start of part of the state.
const SC: u64 = 0xdead_beef_dead_beef;

/// The hash of `message` with seed 0: the first of the two words that the 128-bit form gives.
pub fn hash64(message: &[u8]) -> u64 {
    hash128(message, 0, 0).0
}

/// Both words of the 128-bit form of `message`, begun with two seeds.
pub fn hash128(message: &[u8], seed1: u64, seed2: u64) -> (u64, u64) {
    if message.len() < SHORT_BELOW { short(message, seed1, seed2) } else { long(message, seed1, seed2) }
}

/// Up to eight bytes as a number, little-endian; what is missing counts as zero.
fn word(bytes: &[u8]) -> u64 {
    match bytes.first_chunk() {
        Some(word) => u64::from_le_bytes(*word),
        None => bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    }
}

fn short(message: &[u8], seed1: u64, seed2: u64) -> (u64, u64) {
    let (mut a, mut b, mut c, mut d) = (seed1, seed2, SC, SC);
    let (pairs, rest) = message.as_chunks::<16>();
    for (i, pair) in pairs.iter().enumerate() {
        let (low, high) = pair.split_at(8);
        if i % 2 == 0 {
            c = c.wrapping_add(word(low));
            d = d.wrapping_add(word(high));
            short_mix(&mut a, &mut b, &mut c, &mut d);
        } else {
            a = a.wrapping_add(word(low));
            b = b.wrapping_add(word(high));
        }
    }
    // The length sits in the highest byte, where at most fifteen bytes of rest cannot reach.
    d = d.wrapping_add((message.len() as u64) << 56);
    if rest.is_empty() {
        c = c.wrapping_add(SC);
        d = d.wrapping_add(SC);
    } else {
        c = c.wrapping_add(word(rest));
        d = d.wrapping_add(rest.get(8..).map_or(0, word));
    }
    short_end(&mut a, &mut b, &mut c, &mut d);
    (a, b)
}

fn short_mix(a: &mut u64, b: &mut u64, c: &mut u64, d: &mut u64) {
    for (i, turn) in [50, 52, 30, 41, 54, 48, 38, 37, 62, 34, 5, 36].into_iter().enumerate() {
        // Each step turns one word, adds the next to it and folds it into the one before the last.
        let (turned, next, folded) = match i % 4 {
            0 => (&mut *c, &mut *d, &mut *a),
            1 => (&mut *d, &mut *a, &mut *b),
            2 => (&mut *a, &mut *b, &mut *c),
            _ => (&mut *b, &mut *c, &mut *d),
        };
        *turned = turned.rotate_left(turn).wrapping_add(*next);
        *folded ^= *turned;
    }
}

fn short_end(a: &mut u64, b: &mut u64, c: &mut u64, d: &mut u64) {
    for (i, turn) in [15, 52, 26, 51, 28, 9, 47, 54, 32, 25, 63].into_iter().enumerate() {
        let (summed, turned) = match i % 4 {
            0 => (&mut *d, &mut *c),
            1 => (&mut *a, &mut *d),
            2 => (&mut *b, &mut *a),
            _ => (&mut *c, &mut *b),
        };
        *summed ^= *turned;
        *turned = turned.rotate_left(turn);
        *summed = summed.wrapping_add(*turned);
    }
}

fn long(message: &[u8], seed1: u64, seed2: u64) -> (u64, u64) {
    let mut state = [0; 12];
    for (i, word) in state.iter_mut().enumerate() {
        *word = match i % 3 {
            0 => seed1,
            1 => seed2,
            _ => SC,
        };
    }
    let (blocks, rest) = message.as_chunks::<BLOCK>();
    for block in blocks {
        mix(&words(block), &mut state);
    }
    // What is left over is filled up with zeros, and its length goes into the last byte, which is
    // always free.
    let mut last = [0; BLOCK];
    for (to, from) in last.iter_mut().zip(rest) {
        *to = *from;
    }
    last[BLOCK - 1] = rest.len().to_le_bytes()[0];
    for (word, data) in state.iter_mut().zip(words(&last)) {
        *word = word.wrapping_add(data);
    }
    for _ in 0..3 {
        end(&mut state);
    }
    (state[0], state[1])
}

fn words(block: &[u8; BLOCK]) -> [u64; 12] {
    let mut words = [0; 12];
    for (to, from) in words.iter_mut().zip(block.chunks_exact(8)) {
        *to = word(from);
    }
    words
}

#[expect(clippy::indexing_slicing, reason = "all indexes are below twelve")]
fn mix(data: &[u64; 12], s: &mut [u64; 12]) {
    const TURNS: [u32; 12] = [11, 32, 43, 31, 17, 28, 39, 57, 55, 54, 22, 46];
    for i in 0..12 {
        s[i] = s[i].wrapping_add(data[i]);
        s[(i + 2) % 12] ^= s[(i + 10) % 12];
        s[(i + 11) % 12] ^= s[i];
        s[i] = s[i].rotate_left(TURNS[i]);
        s[(i + 11) % 12] = s[(i + 11) % 12].wrapping_add(s[(i + 1) % 12]);
    }
}

#[expect(clippy::indexing_slicing, reason = "all indexes are below twelve")]
fn end(s: &mut [u64; 12]) {
    const TURNS: [u32; 12] = [44, 15, 34, 21, 38, 33, 10, 13, 38, 53, 42, 54];
    for i in 0..12 {
        s[(i + 11) % 12] = s[(i + 11) % 12].wrapping_add(s[(i + 1) % 12]);
        s[(i + 2) % 12] ^= s[(i + 11) % 12];
        s[(i + 1) % 12] = s[(i + 1) % 12].rotate_left(TURNS[i]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_all_lengths() {
        // Given by ProxySQL 2.7.2 for these digest texts.
        assert_eq!(hash64(b"select"), 0x953F_C511_C100_B014);
        assert_eq!(hash64(b"TRUNCATE TABLE t9"), 0x7466_5CCD_485C_A1ED);
        let text = "select ? in (?),? in (?,?),? in (?,?,?),? in (?,?,?,?)";
        assert_eq!(hash64(text.as_bytes()), 0xC4B5_F9FB_B1C1_4D8B);
        let text = "UPDATE db1.items AS i SET o.id=(select MAX(col_9) FROM db1.items AS i WHERE \
             amount>?) where (`order`,a.b) IN ((?,?),(DEFAULT,?),(DEFAULT,false)) OR col_9 \
             LIKE ? OR id IN (?,.?,_latin1 ?,TRUE)";
        assert_eq!(hash64(text.as_bytes()), 0x06B8_76B9_5367_4E72);
        let text = "Select ?,Coalesce(JSON_EXTRACT(DISTINCT INTERVAL ? DAY,CASE WHEN ?=NULL THEN \
             false ELSE NULL END),CASE WHEN @@session.sql_mode=? THEN .? ELSE sum(?) \
             END),INTERVAL ? DAY FROM log_2024 where user_id>=? and (x1y2z3,t1col2) IN \
             ((?,_latin1 ?),(?,?),(?,_utf8?)) GROUP BY x1y2z3 HAVING COUNT(*)>?";
        assert_eq!(hash64(text.as_bytes()), 0xD4A6_9D72_A8E3_E280);
        let text = "SELECT ?/CASE WHEN Coalesce(.?,x1y2z3)=DEFAULT THEN .? ELSE `we``ird` END,CASE \
             WHEN CASE WHEN ?=.? THEN ? ELSE (SELECT MAX(c1) FROM orders WHERE \
             @@session.sql_mode>?) END=? THEN ? ELSE user_id as a9 END,CASE WHEN `we``ird` \
             AS a9=.? THEN ? ELSE INTERVAL ? DAY END,CASE WHEN INTERVAL ? DAY=false THEN ? \
             ELSE false END * COUNT(INTERVAL ? DAY) FROM orders o where c1 <> ? AND \
             (id,t1col2) IN ((? ?,DEFAULT),(?,?),(?,?)) AND NOT (x1y2z3 = DEFAULT) limit ?,?";
        assert_eq!(hash64(text.as_bytes()), 0x8667_BA4B_04CF_6988);
    }

    #[test]
    fn every_byte_and_the_length_count() {
        let text: Vec<u8> = (0..=255).cycle().take(700).collect();
        let mut seen = std::collections::HashSet::new();
        for len in 0..text.len() {
            assert!(seen.insert(hash64(&text[..len])), "two prefixes collide at {len}");
        }
        for len in [1, 15, 16, 17, 31, 32, 33, 191, 192, 193, 287, 288, 700] {
            for at in 0..len {
                let mut other = text[..len].to_vec();
                other[at] ^= 1;
                assert_ne!(hash64(&other), hash64(&text[..len]), "byte {at} of {len}");
            }
        }
    }
}
