//! A digest that calls itself sound stands for one shape: what the cache of shapes rests on.

use std::collections::HashMap;

use sql::{Digest, Modes, Options, Shape};

/// What statements are changed by: values for values, and all that might move the end of something.
const PIECES: [&str; 46] = [
    "1",
    "2.5",
    "'x'",
    "'for update'",
    "\"y\"",
    "0x1F",
    " ",
    "\n",
    "/* c */",
    "/*! for update */",
    "/*M! for update */",
    "-- c\n",
    "# c\n",
    "--\n",
    "-",
    "+",
    "(",
    ")",
    ",",
    "(1,2,3,4,5)",
    "@a",
    ":=",
    "`1`",
    "`t`",
    "`t-1`",
    "`t 1`",
    "`a'b`",
    " from s.1",
    "f(1)",
    "max",
    "(a)",
    " for update",
    ";",
    "'",
    "\"",
    "\\",
    "`",
    "*/",
    "/*",
    "null",
    " from t1",
    " union select 2",
    " into @b",
    ".",
    "a1",
    "\0",
];

/// `SplitMix64`.
fn below(state: &mut u64, bound: usize) -> usize {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    usize::try_from((z ^ z >> 31) % bound as u64).unwrap()
}

#[test]
fn a_sound_digest_has_one_shape() {
    let statements: Vec<&str> = include_str!("shapes.txt")
        .lines()
        .filter(|line| !line.starts_with("    ") && !line.starts_with('#'))
        .collect();
    let mut state = std::env::var("POINTSMAN_FUZZ_SEED").map_or(9, |seed| seed.parse().unwrap());
    let mut digest = Digest::default();
    let mut shapes: HashMap<Vec<u8>, (Shape, String)> = HashMap::new();
    let mut again = 0;
    for _ in 0..40_000 {
        let mut sql = statements[below(&mut state, statements.len())].to_owned();
        for _ in 0..below(&mut state, 4) {
            let at = below(&mut state, sql.len() + 1);
            let end = sql.len().min(at + below(&mut state, 2));
            sql.replace_range(at..end, PIECES[below(&mut state, PIECES.len())]);
        }
        digest.read(sql.as_bytes(), &Options::default());
        if !digest.facts().sound {
            continue;
        }
        let shape = Shape::of(sql.as_bytes(), Modes::default());
        if let Some((known, other)) = shapes.get(digest.text()) {
            again += 1;
            assert_eq!(
                *known,
                shape,
                "of\n{other}\nand of\n{sql}\nwith the digest\n{:?}",
                String::from_utf8_lossy(digest.text())
            );
        } else {
            shapes.insert(digest.text().to_vec(), (shape, sql));
        }
    }
    assert!(again > 5_000, "only {again} digests were met again");
}

#[test]
fn a_digest_in_which_a_name_is_a_value_is_not_sound() {
    let mut digest = Digest::default();
    for (sql, expected) in [
        ("SELECT `a-b`.`c d`, t1.c2, `t1`, 1.5, .5, a+.5, f(.5), -.5 FROM t1 WHERE a = 5", true),
        ("SELECT 1 FROM `logs-1`", false),
        ("SELECT 1 FROM `logs 1` t", false),
        ("SELECT 1 FROM logs.2024", false),
        ("SELECT 1 FROM `logs`.2024 WHERE a = 1", false),
        ("SELECT t.5 FROM t", false),
        ("SELECT `a'b` FROM `c'd`", false),
        ("SELECT `a/*b`, 1 FROM `c*/d`", false),
        ("SELECT `a#b`, 1\nFROM t", false),
        ("SELECT `a-- b`, 1\nFROM t", false),
        ("SELECT `a``1`", false),
    ] {
        digest.read(sql.as_bytes(), &Options::default());
        assert_eq!((digest.facts().sound, digest.facts().clear), (expected, expected), "{sql}");
    }
}
