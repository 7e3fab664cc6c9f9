//! Digest texts and hashes against those that ProxySQL 2.7.2 gave for the same statements.

mod json;
mod slow;

use sql::{Digest, Options};

#[test]
fn texts_and_hashes_are_those_of_proxysql() {
    let vectors = json::objects(include_str!("digest-vectors.json"));
    assert_eq!(vectors.len(), 714);
    let mut digest = Digest::default();
    let mut wrong = Vec::new();
    for vector in &vectors {
        digest.read(vector["sql"].as_bytes(), &Options::default());
        let text = String::from_utf8_lossy(digest.text());
        let hash = format!("0x{:016X}", digest.hash());
        if text != vector["text"] || hash != vector["digest"] {
            wrong.push(format!("{}\n want {}\n got  {text}", vector["sql"], vector["text"]));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), vectors.len(), wrong.join("\n"));
}

/// Pieces that statements of the fuzzer are made of.
const PIECES: [&str; 96] = [
    " ",
    "  ",
    "\t",
    "\n",
    "\r\n",
    ",",
    ", ",
    " , ",
    "(",
    ")",
    " (",
    ") ",
    "( ",
    " )",
    ";",
    " ; ",
    "+",
    "-",
    " + ",
    " - ",
    "*",
    "/",
    "%",
    " * ",
    " -",
    "- ",
    "=",
    " = ",
    "<",
    ">=",
    "!=",
    "||",
    ":=",
    "@",
    "@@",
    ".",
    "..",
    "...",
    ",...",
    "?",
    "?,",
    "?,?,",
    "(?,?,?,...),",
    "(1,2,3,4,5),",
    "1,2,3,4,",
    "1",
    "12",
    "0x1F",
    "0xe+1",
    "1e5",
    "1.5e-3",
    "1e+",
    ".5",
    "5.",
    "1.2.3",
    "1a",
    "1_0",
    "'a'",
    "\"b\"",
    "'it''s'",
    "'a\\'b'",
    "''",
    "'",
    "\"",
    "\\",
    "`",
    "`a`",
    "`1`",
    "x'41'",
    "N'n'",
    "_utf8'x'",
    "null",
    "NULL",
    "NuLL,",
    "nullx",
    "select",
    "SELECT",
    "from",
    "t1",
    "a.b",
    "$1",
    "Ünicode",
    "/*",
    "*/",
    "/* c */",
    "/*!",
    "/*!50001 X  Y */",
    "/*+ h */",
    "*/*/",
    "#",
    "# c\n",
    "-- ",
    "-- c\n",
    "--\n",
    "--x",
    "\0",
];

/// `SplitMix64`: the same statements in every run with the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((z ^ z >> 31) % bound as u64).unwrap()
    }

    fn options(&mut self) -> Options {
        Options {
            grouping_limit: self.below(5),
            groups_grouping_limit: self.below(4),
            lowercase: self.below(4) == 0,
            replace_null: self.below(2) == 0,
            no_digits: self.below(4) == 0,
            keep_comment: self.below(4) == 0,
            ..Options::default()
        }
    }

    fn statement(&mut self, vectors: &[String]) -> Vec<u8> {
        let mut sql = Vec::new();
        if self.below(4) == 0 {
            // A statement of a real kind, with a few pieces replaced.
            sql.extend(vectors[self.below(vectors.len())].bytes());
            for _ in 0..self.below(4) {
                let at = self.below(sql.len() + 1);
                let end = sql.len().min(at + self.below(3));
                sql.splice(at..end, PIECES[self.below(PIECES.len())].bytes());
            }
        } else {
            // Few kinds of pieces in one statement make the same ones meet often.
            let few: Vec<&str> = (0..=self.below(12)).map(|_| PIECES[self.below(PIECES.len())]).collect();
            for _ in 0..self.below(30) {
                sql.extend(few[self.below(few.len())].bytes());
            }
        }
        sql
    }
}

#[test]
fn slow_and_fast_agree() {
    let vectors: Vec<String> = json::objects(include_str!("digest-vectors.json"))
        .into_iter()
        .map(|mut v| v.remove("sql").unwrap())
        .collect();
    let seed = std::env::var("POINTSMAN_FUZZ_SEED").map_or(5, |seed| seed.parse().unwrap());
    let mut random = Random(seed);
    let mut digest = Digest::default();
    for case in 0..100_000 {
        let sql = random.statement(&vectors);
        let options = if case % 3 == 0 { Options::default() } else { random.options() };
        digest.read(&sql, &options);
        let slow = slow::digest(&sql, &options);
        assert!(
            digest.text() == slow,
            "case {case}, {options:?}\n{:?}\n slow {:?}\n fast {:?}",
            String::from_utf8_lossy(&sql),
            String::from_utf8_lossy(&slow),
            String::from_utf8_lossy(digest.text()),
        );
        for span in digest.literals() {
            assert!(span.start < span.end && span.end <= sql.len(), "{span:?} in {} bytes", sql.len());
        }
        assert!(digest.literals().is_sorted_by(|a, b| a.end <= b.start));
    }
}

#[test]
fn options_change_texts() {
    let default = Options::default();
    let no_digits = Options { no_digits: true, ..default };
    let keep = Options { keep_comment: true, ..default };
    let two = Options { grouping_limit: 2, groups_grouping_limit: 1, ..default };
    let cases: &[(&str, Options, &str)] = &[
        ("Select A , 'B'", Options { lowercase: true, ..default }, "select a,?"),
        (
            "select NULL, NulL,nullx,x_null",
            Options { replace_null: true, ..default },
            "select ?,?,nullx,x_null",
        ),
        ("select * from t12_3.c4c where 5c=x", no_digits, "select * from t?_?.c?c where ?c=x"),
        ("insert into db.t1 (c1, c2) values (1,-2)", no_digits, "insert into db.t? (c?,c?) values (?,?)"),
        ("select /* c  1 */ 1", keep, "select /* c  1 */ ?"),
        ("select /* c */, 1", keep, "select /* c */ ,?"),
        ("select /*!50001 x */ 1", keep, "select /*50001 x */ ?"),
        ("x in (1,2,3) or y in (1,2,3,4)", two, "x in (?,?,?) or y in (?,?,...)"),
        ("values (1,2,3,4),(1,2,3,4),(1,2,3,4) on", two, "values (?,?,...),... on"),
        ("values (1,2,3,4),(1,2,3,4),(1,x)", two, "values (?,?,...),...(?,x)"),
        ("f(1,2,3,4,5,6)", Options { grouping_limit: 0, ..default }, "f(?,?,?,?,?,?)"),
    ];
    let mut digest = Digest::default();
    for (sql, options, want) in cases {
        digest.read(sql.as_bytes(), options);
        assert_eq!(String::from_utf8_lossy(digest.text()), *want, "{sql}");
    }
}

#[test]
fn the_hash_is_of_the_shown_part() {
    let mut digest = Digest::default();
    let options = Options { max_digest_length: 16, ..Options::default() };
    digest.read(b"select a from t where b=1", &options);
    assert_eq!(digest.text(), b"select a from t where b=?");
    assert_eq!(digest.shown(), b"select a from t ");
    assert_eq!(digest.hash(), sql::spooky::hash64(b"select a from t "));
}

#[test]
fn long_statements_are_read_as_long_as_their_digest_fits() {
    let mut digest = Digest::default();
    let rows = "(1,'two',3.0,4,5,6)";
    let insert = format!(
        "insert into t values {}{rows} on duplicate key update a=1",
        format!("{rows},").repeat(800_000)
    );
    digest.read(insert.as_bytes(), &Options::default());
    assert!(digest.facts().whole);
    let lists = ["(?,?,?,...)"; 10].join(",");
    let want = format!("insert into t values {lists},... on duplicate key update a=?");
    assert_eq!(String::from_utf8_lossy(digest.text()), want);
    assert_eq!(digest.literals().len(), sql::digest::LITERALS_MAX);

    let names = "select a".to_owned() + &", a".repeat(5_000_000);
    digest.read(names.as_bytes(), &Options::default());
    assert!(!digest.facts().whole && !digest.facts().sound);
    assert_eq!(digest.text().len(), 65_000);
}

#[test]
fn facts() {
    let mut digest = Digest::default();
    let mut read = |sql: &str| {
        digest.read(sql.as_bytes(), &Options::default());
        let comment = digest.facts().first_comment.map(|span| span.of(sql.as_bytes()).to_vec());
        let literals: Vec<String> = (digest.literals().iter())
            .map(|span| String::from_utf8_lossy(span.of(sql.as_bytes())).into_owned())
            .collect();
        (*digest.facts(), comment, literals)
    };
    assert_eq!(read("").0.statements, 0);
    assert_eq!(read(" ; -- x\n;/* c */").0.statements, 0);
    assert_eq!(read("select 1;").0.statements, 1);
    assert_eq!(read("select ';';; select 2 ;-- c").0.statements, 2);
    let (facts, comment, literals) =
        read("select 'it''s', \"b\" /* hostgroup=1 */, -0x1F /* two */ from t where a=.5");
    assert!(facts.sound && facts.quotes && !facts.escapes && !facts.at);
    assert_eq!(comment.as_deref(), Some(&b" hostgroup=1 "[..]));
    assert_eq!(literals, ["'it''s'", "\"b\"", "0x1F", "5"]);
    assert!(read("select @a, 'b\\''").0.at && read("select 'b\\''").0.escapes);
    // What a server may execute or read otherwise is not in the text.
    for unsound in [
        "select 1 /*! for update */",
        "select 1 /*M!100100 for update */",
        "select * from `1`",
        "select * from 1t",
        "select 'open",
        "select 1 /* open",
        "select 2*/*/ 3 /* x */",
        "select 1 --\nfor update",
        "select 1\0for update",
    ] {
        assert!(!read(unsound).0.sound, "{unsound}");
    }
}

#[test]
fn a_digest_that_is_cut_does_not_say_what_a_statement_is() {
    let long = format!("select {}a from t", "a, ".repeat(2_000));
    let read = |sql: &str, options: Options| {
        let mut digest = Digest::default();
        digest.read(sql.as_bytes(), &options);
        (digest.hash(), *digest.facts())
    };
    let (hash, facts) = read(&long, Options::default());
    let (same, _) = read(&format!("{long} for update"), Options::default());
    assert_eq!(hash, same, "what is behind the part that is hashed makes no difference to it");
    assert!(facts.whole && !facts.sound && !facts.clear);
    let (_, facts) = read(&long, Options { max_digest_length: 8_192, ..Options::default() });
    assert!(facts.sound && facts.clear);
    let (_, facts) = read("select a1 from t", Options { no_digits: true, ..Options::default() });
    assert!(!facts.sound && facts.clear);
}

/// Prints what a digest costs:
/// `cargo test --release -p sql --test digest -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement; run it in a release build"]
fn cost() {
    let point = "SELECT c FROM sbtest1 WHERE id=50123".to_owned();
    let values = format!("SELECT c FROM sbtest1 WHERE id IN ({}1)", "12345,".repeat(100));
    let join = "SELECT u.id, u.name, o.total FROM users u JOIN orders o ON u.id = o.user_id AND o.state <> 'x' \
                WHERE u.created > '2024-01-01' AND o.total > 12.50 ORDER BY o.total DESC LIMIT 10";
    let mut digest = Digest::default();
    for sql in [point, values, join.to_owned()] {
        let mut best = u128::MAX;
        for _ in 0..50 {
            let begin = std::time::Instant::now();
            for _ in 0..10_000 {
                digest.read(std::hint::black_box(sql.as_bytes()), &Options::default());
                std::hint::black_box(digest.hash());
            }
            best = best.min(begin.elapsed().as_nanos() / 10_000);
        }
        println!("{best:5} ns for {} bytes: {}", sql.len(), String::from_utf8_lossy(digest.text()));
    }
}
