use proptest::prelude::*;

use super::*;
use crate::key::Keys;

const LIFE: Life = Life { ttl_ms: 1_000_000, soft_ttl_ms: 0, stale_ms: 0 };
const NOW: Moment = Moment(0);

fn key(number: u64) -> Key {
    Keys::new([1, 2]).builder().number(number).finish()
}

fn answer(len: usize) -> Answer {
    Answer::from_shared(vec![0; len].into())
}

fn always(_: Moment) -> bool {
    true
}

#[test]
fn an_answer_is_given_until_its_time_is_over() {
    let store = Store::new(1 << 20);
    let life = Life { ttl_ms: 1000, soft_ttl_ms: 0, stale_ms: 0 };
    store.put(key(1), answer(100), 50, life, NOW).unwrap();
    assert_eq!(store.get(key(1), 50, life, always).unwrap().age_ms, 0);
    assert_eq!(store.get(key(1), 949, life, always).unwrap().age_ms, 899, "jitter takes a tenth at most");
    assert_eq!(store.get(key(1), 1050, life, always).unwrap_err(), Miss::Expired);
    assert_eq!(store.get(key(1), 1050, life, always).unwrap_err(), Miss::Absent);
    assert_eq!(store.usage().purged, 1);
}

#[test]
fn a_rule_with_a_shorter_time_to_live_holds_for_what_is_stored() {
    let store = Store::new(1 << 20);
    store.put(key(1), answer(100), 0, LIFE, NOW).unwrap();
    let shorter = Life { ttl_ms: 10, soft_ttl_ms: 0, stale_ms: 0 };
    assert_eq!(store.get(key(1), 10, shorter, always).unwrap_err(), Miss::Expired);
    assert!(store.get(key(1), 10, LIFE, always).is_ok(), "others may have it still");
}

/// An answer that may be served this long behind its time to live.
fn answer_with_stale(stale_ms: u32) -> Answer {
    let reply = [&b"\x01\0\0\x01\0"[..], b"\x05\0\0\x02\xfe\0\0\x02\0"].concat();
    Answer::new(&reply, 5, crate::RowCounts::all(0), crate::Form::Eof, stale_ms).unwrap()
}

#[test]
fn an_answer_is_kept_for_the_case_that_no_server_answers() {
    let store = Store::new(1 << 20);
    let life = Life { ttl_ms: 1000, soft_ttl_ms: 0, stale_ms: 5000 };
    store.put(key(1), answer_with_stale(5000), 0, life, NOW).unwrap();
    let ttl_ms = store.get(key(1), 0, life, always).unwrap().ttl_ms;
    assert_eq!(store.get(key(1), 1000, life, always).unwrap_err(), Miss::Expired);
    let stale = |now| store.get_stale(key(1), now, life, always).map(|hit| hit.age_ms);
    assert_eq!(stale(u64::from(ttl_ms) + 4999), Some(ttl_ms + 4999));
    assert_eq!(stale(u64::from(ttl_ms) + 5000), None);
    assert!(store.get_stale(key(1), 1000, life, |_| false).is_none(), "a write has ended since");
    let none = Life { stale_ms: 0, ..life };
    assert!(store.get_stale(key(1), 1000, none, always).is_none(), "the rule allows none now");
    for turn in 0..SHARDS {
        store.sweep(5000, turn);
    }
    assert_eq!(store.usage().entries, 1);
    for turn in 0..SHARDS {
        store.sweep(6000, turn);
    }
    assert_eq!(store.usage().entries, 0);
}

#[test]
fn a_peek_changes_nothing() {
    let store = Store::new(1 << 20);
    let life = Life { ttl_ms: 1000, soft_ttl_ms: 0, stale_ms: 5000 };
    let peek = |now, allows: fn(Moment) -> bool| store.peek(key(1), now, life, allows);
    assert_eq!(peek(0, always), Err(Miss::Absent));
    store.put(key(1), answer_with_stale(5000), 0, life, NOW).unwrap();
    let seen = peek(400, always).unwrap();
    assert_eq!((seen.age_ms, seen.stale_until_ms, seen.bytes), (400, seen.ttl_ms + 5000, 14));
    assert!(peek(1000, always).is_ok(), "for the case that no server answers");
    assert_eq!(peek(400, |_| false), Err(Miss::Invalidated));
    assert_eq!(peek(6000, always), Err(Miss::Expired));
    assert_eq!(store.usage().entries, 1);
}

#[test]
fn one_client_refreshes_an_answer_in_the_soft_part_of_its_life() {
    let store = Store::new(1 << 20);
    let life = Life { ttl_ms: 10_000, soft_ttl_ms: 5_000, stale_ms: 0 };
    store.put(key(1), answer(100), 0, life, NOW).unwrap();
    let refresh = |now| store.get(key(1), now, life, always).unwrap().refresh;
    assert!(!refresh(4000));
    assert!(refresh(5000));
    assert!(!refresh(5001));
    store.put(key(1), answer(100), 5002, life, NOW).unwrap();
    assert!(!refresh(5003));
    assert!(refresh(10_002));
}

#[test]
fn an_answer_from_before_a_write_leaves() {
    let store = Store::new(1 << 20);
    store.put(key(1), answer(100), 0, LIFE, NOW).unwrap();
    assert_eq!(store.get(key(1), 0, LIFE, |_| false).unwrap_err(), Miss::Invalidated);
    assert_eq!(store.get(key(1), 0, LIFE, always).unwrap_err(), Miss::Absent);
}

#[test]
fn c29_everything_is_within_the_budget() {
    let budget = 4 << 20;
    let store = Store::new(budget);
    for number in 0..100_000 {
        store.put(key(number), answer(208), 0, LIFE, NOW).unwrap();
        if number % 10_000 == 0 {
            store.check_invariants();
        }
    }
    let usage = store.usage();
    assert!(usage.bytes <= budget as u64, "{usage:?}");
    assert!(usage.entries * 300 > budget as u64 * 9 / 10, "the budget is used: {usage:?}");
    assert_eq!(usage.stored, usage.entries + usage.evicted);
    let huge = store.put(key(0), answer(budget / SHARDS / ANSWER_SHARE + 1), 0, LIFE, NOW);
    assert_eq!(huge, Err(NotStored::TooLarge));
}

#[test]
fn c29_an_answer_of_200_bytes_costs_at_most_100_more() {
    let store = Store::new(1 << 25);
    let packets = 200;
    for number in 0..240_000 {
        store.put(key(number), answer(packets + 8), 0, LIFE, NOW).unwrap();
        if number > 60_000 && number % 20_000 == 0 {
            let usage = store.usage();
            let each = usage.bytes / usage.entries;
            assert!(each <= 300, "{each} bytes each of {usage:?}");
        }
    }
}

#[test]
fn c29_a_smaller_budget_holds_at_once() {
    let store = Store::new(8 << 20);
    (0..40_000).for_each(|number| store.put(key(number), answer(100), 0, LIFE, NOW).unwrap());
    store.set_budget(1 << 20);
    store.check_invariants();
    let usage = store.usage();
    assert!(usage.bytes <= 1 << 20, "{usage:?}");
    assert!(usage.entries > 1000, "{usage:?}");
    store.set_budget(0);
    assert_eq!(store.usage().entries, 0);
}

#[test]
fn c29_what_slow_clients_have_counts_until_they_have_read_it() {
    let store = Store::new(1 << 20);
    let put_and_hold = |number| {
        store.put(key(number), answer(1000), 0, LIFE, NOW).map(|()| store.get(key(number), 0, LIFE, always))
    };
    let held: Vec<_> = (0..2000).map(put_and_hold).collect();
    assert!(
        held.iter().any(|put| matches!(put, Err(NotStored::NoRoom))),
        "2 MB are more than there is room for"
    );
    store.clear();
    let usage = store.usage();
    assert!(usage.lingering_bytes > 0 && usage.bytes <= 1 << 20, "{usage:?}");
    drop(held);
    for turn in 0..SHARDS * 1000 {
        store.sweep(0, turn);
    }
    assert_eq!(store.usage().lingering_bytes, 0);
    store.check_invariants();
}

#[test]
fn what_has_expired_is_swept() {
    let store = Store::new(1 << 20);
    let life = Life { ttl_ms: 1000, soft_ttl_ms: 0, stale_ms: 0 };
    (0..500).for_each(|number| store.put(key(number), answer(100), 0, life, NOW).unwrap());
    (0..SHARDS).for_each(|turn| store.sweep(1000, turn));
    assert_eq!(store.usage().entries, 0);
    store.check_invariants();
}

#[test]
fn what_is_asked_for_again_outlives_a_scan() {
    let store = Store::new(1 << 20);
    (0..100).for_each(|number| store.put(key(number), answer(100), 0, LIFE, NOW).unwrap());
    for _ in 0..3 {
        (0..100).for_each(|number| assert!(store.get(key(number), 0, LIFE, always).is_ok()));
    }
    (1000..50_000).for_each(|number| store.put(key(number), answer(100), 0, LIFE, NOW).unwrap());
    let left = (0..100).filter(|number| store.get(key(*number), 0, LIFE, always).is_ok()).count();
    assert_eq!(left, 100);
}

#[derive(Debug, Clone)]
enum Step {
    Get(u64),
    Put(u64, usize),
    Remove(u64),
    Sweep(usize),
    Budget(usize),
    Wait(u64),
    Clear,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        10 => (0..300u64).prop_map(Step::Get),
        20 => (0..300u64, 0..2000usize).prop_map(|(key, len)| Step::Put(key, len)),
        3 => (0..300u64).prop_map(Step::Remove),
        2 => (0..SHARDS).prop_map(Step::Sweep),
        1 => (0..400_000usize).prop_map(Step::Budget),
        2 => (0..5000u64).prop_map(Step::Wait),
        1 => Just(Step::Clear),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn it_gives_what_was_stored_last_and_stays_whole(steps in prop::collection::vec(step(), 1..600)) {
        let store = Store::new(400_000);
        let (mut now, mut model) = (0u64, std::collections::HashMap::new());
        let life = Life { ttl_ms: 10_000, soft_ttl_ms: 0, stale_ms: 0 };
        let mut held = Vec::new();
        for step in steps {
            match step {
                Step::Get(number) => {
                    if let Ok(hit) = store.get(key(number), now, life, always) {
                        let (len, stored) = model.get(&number).copied().expect("it was stored");
                        prop_assert_eq!(hit.answer.clone().into_shared().len(), len);
                        prop_assert_eq!(u64::from(hit.age_ms), now - stored);
                        prop_assert!(hit.age_ms < life.ttl_ms);
                        held.push(hit.answer);
                        if held.len() > 10 {
                            held.remove(0);
                        }
                    }
                }
                Step::Put(number, len) => match store.put(key(number), answer(len), now, life, NOW) {
                    Ok(()) => drop(model.insert(number, (len, now))),
                    Err(NotStored::TooLarge) => {}
                    Err(NotStored::NoRoom) => drop(model.remove(&number)),
                    Err(other) => panic!("{other:?}"),
                },
                Step::Remove(number) => {
                    store.remove(key(number));
                    prop_assert!(store.get(key(number), now, life, always).is_err());
                }
                Step::Sweep(turn) => store.sweep(now, turn),
                Step::Budget(budget) => store.set_budget(budget),
                Step::Wait(ms) => now += ms,
                Step::Clear => {
                    store.clear();
                    prop_assert_eq!(store.usage().entries, 0);
                }
            }
            store.check_invariants();
        }
    }
}
