//! Keys land where kingshard, Gaea and ShardingSphere put them: see `vectors/README.md`.

use shard::groovy::{Template, expand};
use shard::pattern::Pattern;
use shard::placement::gaea::{Murmur, PadEnd, Padding, Slice, Slots};
use shard::placement::sphere::{AutoInterval, CutMod, HashMod, Inline};
use shard::placement::{Dates, Function, Hash, Intervals, Modulo, Ranges, Sign, Step, StepUnit, Unit};
use shard::{Date, DateTime, Key, Shard};

/// Keys of each file.
const KEYS: u64 = 10_000;
/// Keys that a file has in full.
const SHOWN: u64 = 100;

/// SplitMix64's output for a counter.
fn mix(number: u64) -> u64 {
    let z = (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}

/// Kind of keys, each made from its number.
#[derive(Clone, Copy)]
enum Keys {
    Integers,
    Small,
    Texts,
    Unix,
    Times,
    TimesAsText,
}

/// Key as the file shows it.
enum Made {
    Integer(i64),
    Text(String),
    Time(DateTime, String),
}

impl Made {
    fn key(&self) -> Key<'_> {
        match self {
            Self::Integer(value) => Key::Integer((*value).into()),
            Self::Text(text) => Key::Bytes(text.as_bytes()),
            Self::Time(time, _) => Key::DateTime(*time),
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::Integer(value) => value.to_string(),
            Self::Text(text) | Self::Time(_, text) => text.clone(),
        }
    }
}

impl Keys {
    fn make(self, number: u64) -> Made {
        let x = mix(number);
        match self {
            Self::Integers => Made::Integer(x.cast_signed() >> (number % 64)),
            Self::Small => Made::Integer(i64::try_from(x % 50_000).unwrap()),
            Self::Texts => Made::Text(text(number, x)),
            Self::Unix => Made::Integer(unix(x)),
            Self::Times => {
                let time = DateTime::from_seconds(unix(x)).unwrap();
                Made::Time(time, Pattern::parse("yyyy-MM-dd HH:mm:ss").unwrap().format(time))
            }
            Self::TimesAsText => Made::Text(Self::Times.make(number).shown()),
        }
    }
}

fn text(number: u64, x: u64) -> String {
    if number.is_multiple_of(3) {
        return (x >> (number % 64)).to_string();
    }
    let alphabet: Vec<char> = "abcdefghijklmnopqrstuvwxyz012_\u{df}\u{4e2d}".chars().collect();
    let letter = |at: u64| alphabet[usize::try_from(x >> (5 * at) & 31).unwrap()];
    (0..=number % 12).map(letter).collect()
}

fn unix(x: u64) -> i64 {
    i64::try_from(x % (9 * 365 * 86_400)).unwrap() + 1_388_534_400
}

/// Which of the shards of a key is compared.
#[derive(Clone, Copy)]
enum As {
    Literal,
    /// The shard that is not that of the literal, if there are two.
    Parameter,
}

fn shard(function: &Function, key: Key<'_>, written: As) -> i64 {
    let Ok(literal) = function.place(&[key]) else { return -1 };
    let Ok(all) = function.locate(&[key]) else { return -1 };
    assert!(all.as_slice().contains(&literal) && all.as_slice().len() <= 2);
    let other = all.as_slice().iter().find(|shard| **shard != literal);
    i64::from(match written {
        As::Literal => literal,
        As::Parameter => *other.unwrap_or(&literal),
    })
}

fn check(file: &str, keys: Keys, function: &Function, written: As) {
    let path = format!("{}/tests/vectors/{file}.txt", env!("CARGO_MANIFEST_DIR"));
    let recorded = std::fs::read_to_string(&path).unwrap();
    let mut lines = recorded.lines().filter(|line| !line.starts_with('#'));
    let sum = lines.next().unwrap();
    for (number, line) in (0..SHOWN).zip(lines.by_ref()) {
        let made = keys.make(number);
        assert_eq!(format!("{}\t{}", made.shown(), shard(function, made.key(), written)), line, "{file}");
    }
    assert_eq!(lines.next(), None);
    let computed = (0..KEYS).fold(0_u64, |sum, number| {
        let shard = shard(function, keys.make(number).key(), written);
        sum.wrapping_mul(31).wrapping_add((shard + 1).cast_unsigned())
    });
    assert_eq!(format!("sum {computed:016x}"), sum, "{file}");
}

fn literal(file: &str, keys: Keys, function: &Function) {
    check(file, keys, function, As::Literal);
}

#[test]
fn kingshard_hash_and_range() {
    let hash = Function::Hash(Hash { shards: 7, weights: false });
    literal("kingshard_hash_integer", Keys::Integers, &hash);
    literal("kingshard_hash_text", Keys::Texts, &hash);
    let bounds = vec![0, 10_000, 20_000, 30_000, 40_000];
    literal("kingshard_range", Keys::Small, &Function::Ranges(Ranges::closed(bounds).unwrap()));
}

#[test]
fn kingshard_dates() {
    let years: Vec<u32> = (2015..=2020).collect();
    let months = (2014 * 12 + 10..=2018 * 12 + 5).map(|month| month / 12 * 100 + month % 12 + 1).collect();
    let first = Date::new(2015, 12, 31).unwrap().days();
    let days = (first..first + 367).map(|day| Unit::Day.number(Date::from_days(day).unwrap())).collect();
    for (name, unit, numbers) in
        [("year", Unit::Year, years), ("month", Unit::Month, months), ("day", Unit::Day, days)]
    {
        for (zone, offset, keys) in
            [("utc", 0, Keys::Unix), ("shanghai", 8 * 3_600, Keys::Unix), ("text", 0, Keys::TimesAsText)]
        {
            let dates = Dates::new(unit, numbers.clone(), offset).unwrap();
            literal(&format!("kingshard_{name}_{zone}"), keys, &Function::Dates(dates));
        }
        let dates = Function::Dates(Dates::new(unit, numbers, 0).unwrap());
        literal(&format!("kingshard_{name}_text"), Keys::Times, &dates);
    }
}

#[test]
fn gaea() {
    let modulo = Function::Modulo(Modulo { shards: 7, sign: Sign::Absolute });
    literal("gaea_mod", Keys::Integers, &modulo);
    literal("gaea_mycat_mod", Keys::Integers, &modulo);
    let slots = |counts: &[u32], lengths: &[u32], slice: Option<&str>| {
        let slice = slice.map(|slice| Slice::parse(slice).unwrap());
        Function::Slots(Slots::new(counts, lengths, slice).unwrap())
    };
    literal("gaea_mycat_long", Keys::Integers, &slots(&[2, 1], &[256, 512], None));
    for (name, slice) in [("front", "0:3"), ("back", "-3:0"), ("middle", "1:-1")] {
        literal(&format!("gaea_mycat_string_{name}"), Keys::Texts, &slots(&[4], &[256], Some(slice)));
    }
    for (name, seed) in [("0", 0), ("7", -7)] {
        let ring = Function::Murmur(Murmur::new(seed, 5, 160).unwrap());
        literal(&format!("gaea_mycat_murmur_text_{name}"), Keys::Texts, &ring);
        literal(&format!("gaea_mycat_murmur_integer_{name}"), Keys::Integers, &ring);
    }
    for (name, pad) in [("left", PadEnd::Left), ("right", PadEnd::Right)] {
        let padding = Function::Padding(Padding::new(pad, 18, [10, 16], 6).unwrap());
        literal(&format!("gaea_mycat_padding_{name}"), Keys::Integers, &padding);
    }
}

#[test]
fn sphere_modulo_and_hash() {
    let modulo = Function::Modulo(Modulo { shards: 7, sign: Sign::Java });
    literal("sphere_mod", Keys::Integers, &modulo);
    let cut = Function::CutMod(CutMod { shards: 7, start: 1, stop: 2 });
    literal("sphere_mod_offsets", Keys::Integers, &cut);
    literal("sphere_mod_offsets_text", Keys::Texts, &cut);
    let hash = |normalized| Function::HashMod(HashMod { shards: 7, normalized });
    literal("sphere_hash_mod_literal", Keys::Integers, &hash(true));
    literal("sphere_hash_mod_literal", Keys::Integers, &hash(false));
    check("sphere_hash_mod_parameter", Keys::Integers, &hash(false), As::Parameter);
    literal("sphere_hash_mod_text", Keys::Texts, &hash(false));
}

#[test]
fn sphere_ranges_and_intervals() {
    let boundaries = Ranges::open(vec![-100, 0, 1_000_000, 5_000_000_000]).unwrap();
    literal("sphere_boundary_range", Keys::Integers, &Function::Ranges(boundaries));
    let volumes = Ranges::open(vec![10_000, 20_000, 30_000, 40_000, 45_000]).unwrap();
    literal("sphere_volume_range", Keys::Small, &Function::Ranges(volumes));
    let time = |text: &str| DateTime::parse(text.as_bytes()).unwrap();
    let weeks = AutoInterval::new(time("2016-01-01 00:00:00"), time("2020-06-30 12:00:00"), 604_800).unwrap();
    let weeks = Function::AutoInterval(weeks);
    assert_eq!(weeks.shards(), 236);
    literal("sphere_auto_interval", Keys::Times, &weeks);
    for (name, lower, upper, suffix, amount, unit) in [
        ("months", "2015-01-31", "2021-02-01", "yyyyMM", 1, StepUnit::Months),
        ("days", "2016-01-01", "2017-12-31", "yyyyMM", 10, StepUnit::Days),
        ("years", "2014-06-01", "2020-01-01", "yyyy", 1, StepUnit::Years),
        ("hours", "2016-01-01", "2016-03-01", "yyyyMMdd", 36, StepUnit::Hours),
    ] {
        let intervals = intervals(time(lower), time(upper), suffix, Step { amount, unit });
        literal(&format!("sphere_interval_{name}"), Keys::Times, &Function::Intervals(intervals));
    }
}

/// Intervals whose shards are the suffixes of all days from 2014 on, in their order.
fn intervals(lower: DateTime, upper: DateTime, suffix: &str, step: Step) -> Intervals {
    let suffix = Pattern::parse(suffix).unwrap();
    let first = Date::new(2014, 1, 1).unwrap().days();
    let mut suffixes: Vec<String> =
        (first..first + 3_287).map(|day| suffix.format(Date::from_days(day).unwrap().into())).collect();
    suffixes.dedup();
    let shard = |time: &DateTime| {
        let at = suffixes.iter().position(|known| *known == suffix.format(*time)).unwrap();
        (*time, Shard::try_from(at).unwrap())
    };
    let beginnings = Intervals::beginnings(lower, upper, step).unwrap();
    Intervals::new(&beginnings.iter().map(shard).collect::<Vec<_>>(), step).unwrap()
}

#[test]
fn sphere_inline() {
    let names: Vec<String> = (0..7).map(|number| format!("t_{number}")).collect();
    let inline =
        |source: &str| Function::Inline(Inline::new(Template::parse(source, &["k"]).unwrap(), &names));
    for (name, source) in [
        ("modulo", "t_${k % 7}"),
        ("arithmetic", "t_${Math.abs((k * 31 + 7) % 7)}"),
        ("hash", "t_${Math.abs(k.hashCode() % 7)}"),
        ("divided", "t_${Math.abs(k.intdiv(100) - 3 * k) % 7}"),
        ("padded", "t_${Math.abs(k % 7).toString().padLeft(1, '0')}"),
    ] {
        literal(&format!("sphere_inline_{name}_literal"), Keys::Integers, &inline(source));
        let parameter = format!("sphere_inline_{name}_parameter");
        check(&parameter, Keys::Integers, &inline(source), As::Parameter);
    }
    for (name, source) in [
        ("hash", "t_${Math.abs(k.hashCode()) % 7}"),
        ("substring", "t_${k.substring(0, 1).hashCode() % 7}"),
        ("last", "t_${k.substring(k.length() - 2).hashCode() % 7}"),
    ] {
        literal(&format!("sphere_inline_text_{name}"), Keys::Texts, &inline(source));
    }
}

#[test]
fn sphere_lists_of_names() {
    let recorded = include_str!("vectors/expand.txt");
    for line in recorded.lines().filter(|line| !line.starts_with('#')) {
        let (source, names) = line.split_once('\t').unwrap();
        assert_eq!(expand(source).unwrap().join(" "), names, "{source}");
    }
}
