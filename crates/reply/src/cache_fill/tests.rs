use cache::{Following, Joined, Keys, Position};
use wire::frame::put_message;

use super::*;

const LIFE: Life = Life { ttl_ms: 1000, soft_ttl_ms: 0, stale_ms: 0 };

/// A reply with one column and these rows, in EOF form.
fn reply(rows: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut packets: Vec<&[u8]> =
        vec![b"\x01", b"\x03def\0\0\0\x01a\0\x0c?\0\x01\0\0\0\x08\0\0\0\0\0", b"\xfe\0\0\x02\0"];
    packets.extend(rows);
    packets.push(b"\xfe\0\0\x02\0");
    for (seq, packet) in (1..).zip(packets) {
        put_message(&mut bytes, seq, packet);
    }
    bytes
}

fn done(rows: u64, warnings: u16, status: StatusFlags) -> Event {
    Event::Done(Outcome { end: End::Eof { status, warnings }, rows, ends_rows: true })
}

fn key() -> Key {
    Keys::new([1, 2]).builder().finish()
}

fn db() -> Endpoint {
    Endpoint::Tcp { host: "db".to_owned(), port: 3306 }
}

fn fill(cache: &Arc<Cache>, counts: &Rc<Counts>, leader: Option<Leader>) -> Box<CacheFill> {
    fill_with(cache, counts, leader, true)
}

fn fill_with(
    cache: &Arc<Cache>,
    counts: &Rc<Counts>,
    leader: Option<Leader>,
    has_columns: bool,
) -> Box<CacheFill> {
    let moment = cache.versions.moment(&Scope::new()).unwrap();
    let (scope, form) = (Scope::new(), Form::Eof);
    let filling = Filling {
        key: key(),
        life: LIFE,
        scope,
        moment,
        form,
        has_columns,
        max: 1000,
        stores_empty: false,
        passed: Ok(0),
        proof: None,
        is_proven: true,
        epoch: 0,
        mode: CacheMode::Ttl,
        source: None,
        row: RowKey::default(),
        sent: Instant::now(),
        sent_us: 1_000_000,
        leader,
    };
    Box::new(CacheFill::new(cache, counts, filling))
}

fn stored(cache: &Cache) -> Option<Vec<u8>> {
    cache.store.get(key(), 0, LIFE, |_| true).ok().map(|hit| hit.answer.packets().to_vec())
}

#[test]
fn a_reply_is_stored_when_it_is_over() {
    let cache = Arc::new(Cache::new([1, 2], 1 << 24));
    let bytes = reply(&[b"\x0242"]);
    for cut in 0..bytes.len() {
        cache.store.clear();
        let (first, rest) = bytes.split_at(cut);
        let fill = fill(&cache, &Rc::default(), None).segment(first, Event::More, &db(), || 0).unwrap();
        assert!(stored(&cache).is_none());
        assert!(fill.segment(rest, done(1, 0, StatusFlags::AUTOCOMMIT), &db(), || 0).is_none());
        assert_eq!(stored(&cache).unwrap(), bytes, "cut at {cut}");
    }
    assert_eq!(cache.usage().bytes, cache.store.usage().bytes, "nothing is captured any more");
}

#[test]
fn c12_what_is_not_a_plain_result_is_not_stored() {
    let cache = Arc::new(Cache::new([1, 2], 1 << 24));
    let bytes = reply(&[b"\x0242"]);
    let failed = Outcome { end: End::Err { code: 1213 }, rows: 1, ends_rows: false };
    let on = StatusFlags::AUTOCOMMIT;
    for (event, bytes) in [
        (done(1, 1, on), bytes.clone()),
        (done(1, 0, on | StatusFlags::IN_TRANSACTION), bytes.clone()),
        (done(1, 0, on | StatusFlags::MORE_RESULTS), bytes.clone()),
        (Event::Done(failed), bytes.clone()),
        (Event::LocalInfile, bytes.clone()),
        (Event::Changed, bytes.clone()),
        (done(0, 0, on), reply(&[])),
        (done(1, 0, on), b"\x07\0\0\x01\0\0\0\x02\0\0\0".to_vec()),
        (done(9, 0, on), reply(&[&[b'x'; 200][..]; 9])),
    ] {
        assert!(fill(&cache, &Rc::default(), None).segment(&bytes, event, &db(), || 0).is_none());
        assert!(stored(&cache).is_none(), "{event:?}");
    }
}

#[test]
fn columns_are_counted_with_and_without_the_byte_of_cache_metadata() {
    let columns_len = |reply: &[u8]| head_of(reply).map(|(_, len)| len);
    let plain = reply(&[b"\x0242"]);
    let mut flagged = Vec::new();
    put_message(&mut flagged, 1, b"\x01\x01");
    flagged.extend_from_slice(&plain[5..]);
    assert_eq!(columns_len(&flagged), columns_len(&plain).map(|len| len + 1));
    assert_eq!(columns_len(&flagged[..20]), None, "not all of them are there");
    let mut without = Vec::new();
    put_message(&mut without, 1, b"\x01\0");
    assert_eq!(columns_len(&without), Some(without.len()), "the columns do not follow");
}

/// A reply without columns means nothing to a client that does not know them.
#[test]
fn c15_a_reply_is_stored_if_its_columns_are_there_as_its_key_says() {
    let mut without = Vec::new();
    for (seq, packet) in (1..).zip([&b"\x01\0"[..], b"\xfe\0\0\x02\0", b"\0\0\x07", b"\xfe\0\0\x02\0"]) {
        put_message(&mut without, seq, packet);
    }
    for (bytes, has_columns) in [(reply(&[b"\x0242"]), true), (without, false)] {
        for wanted in [true, false] {
            let cache = Arc::new(Cache::new([1, 2], 1 << 24));
            let counts = Rc::default();
            let fill = fill_with(&cache, &counts, None, wanted);
            fill.segment(&bytes, done(1, 0, StatusFlags::AUTOCOMMIT), &db(), || 0);
            assert_eq!(stored(&cache), (wanted == has_columns).then(|| bytes.clone()));
        }
    }
}

#[test]
fn each_reply_is_counted_once() {
    let cache = Arc::new(Cache::new([1, 2], 1 << 24));
    let bytes = reply(&[b"\x0242"]);
    let ends = [(Some(done(1, 0, StatusFlags::AUTOCOMMIT)), "", 1), (None, "broken off=1", 0)];
    let failed = Outcome { end: End::Err { code: 1213 }, rows: 1, ends_rows: false };
    for (end, not_stored, stored) in ends.into_iter().chain([(Some(Event::Done(failed)), "error=1", 0)]) {
        let counts = Rc::default();
        let fill = fill(&cache, &counts, None).segment(&bytes[..9], Event::More, &db(), || 0).unwrap();
        match end {
            Some(event) => assert!(fill.segment(&bytes[9..], event, &db(), || 0).is_none()),
            None => drop(fill),
        }
        let totals = counts.cache.borrow().totals();
        assert_eq!((totals.not_stored_text().as_str(), totals.stored), (not_stored, stored));
    }
}

#[test]
fn those_who_wait_hear_that_there_is_no_answer() {
    let cache = Arc::new(Cache::new([1, 2], 1 << 24));
    let Joined::Leader(leader) = cache.flights.join(key(), 0) else { panic!("a leader") };
    let Joined::Waiter(waiter) = cache.flights.join(key(), 0) else { panic!("a waiter") };
    drop(fill(&cache, &Rc::default(), Some(leader)));
    let cx = std::task::Context::from_waker(std::task::Waker::noop());
    assert_eq!(waiter.poll(&cx), std::task::Poll::Ready(Landing::Gone));
}

#[test]
fn those_who_wait_hear_of_the_end() {
    let cache = Arc::new(Cache::new([1, 2], 1 << 24));
    let bytes = reply(&[b"\x0242"]);
    for (event, landing) in
        [(done(1, 0, StatusFlags::AUTOCOMMIT), Landing::Stored), (Event::LocalInfile, Landing::NotStored)]
    {
        let Joined::Leader(leader) = cache.flights.join(key(), 0) else { panic!("a leader") };
        let Joined::Waiter(waiter) = cache.flights.join(key(), 0) else { panic!("a waiter") };
        fill(&cache, &Rc::default(), Some(leader)).segment(&bytes, event, &db(), || 0);
        let cx = std::task::Context::from_waker(std::task::Waker::noop());
        assert_eq!(waiter.poll(&cx), std::task::Poll::Ready(landing));
    }
}

#[test]
fn c20_a_reply_from_before_a_write_is_not_stored() {
    let cache = Arc::new(Cache::new([1, 2], 1 << 24));
    let fill = fill(&cache, &Rc::default(), None);
    cache.versions.flush(Scope::all());
    fill.segment(&reply(&[b"\x0242"]), done(1, 0, StatusFlags::AUTOCOMMIT), &db(), || 0);
    assert!(stored(&cache).is_none());
}

#[test]
fn c21_a_reply_from_elsewhere_proves_something_only_as_of_when_it_is_exact() {
    let ok = done(1, 0, StatusFlags::AUTOCOMMIT);
    for (exact_us, is_changed, proves) in
        [(None, false, false), (Some(0), true, true), (Some(9), false, true), (Some(9), true, false)]
    {
        let cache = Arc::new(Cache::new([1, 2], 1 << 24));
        if is_changed {
            cache.versions.flush(Scope::of_definitions());
        }
        let mut fill = fill(&cache, &Rc::default(), None);
        (fill.filling.mode, fill.filling.proof) = (CacheMode::Strict, Some(key()));
        fill.note_age(Age { ms: 1, exact_us }, 0);
        fill.segment(&reply(&[b"\x0242"]), ok, &db(), || 0);
        assert_eq!(cache.proven.until(key(), 0).is_some(), proves, "{exact_us:?} {is_changed}");
    }
}

#[test]
fn c20_a_reply_of_a_server_whose_log_is_not_followed_is_not_stored() {
    let cache = Arc::new(Cache::new([1, 2], 1 << 24));
    for (name, is_cut, stores) in
        [("other:3306", false, false), ("db:3306", true, false), ("db:3306", false, true)]
    {
        let source = Arc::new(Source::new(name));
        let mut following = Following::<()>::begin(&cache, &source, Position::default());
        let mut fill = fill(&cache, &Rc::default(), None);
        fill.filling.source = source.stretch().map(|stretch| (Arc::clone(&source), stretch));
        if is_cut {
            following.interrupt();
            following.resume();
        }
        fill.segment(&reply(&[b"\x0242"]), done(1, 0, StatusFlags::AUTOCOMMIT), &db(), || 0);
        assert_eq!(stored(&cache).is_some(), stores, "{name} {is_cut}");
    }
}
