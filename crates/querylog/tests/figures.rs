//! What a record costs the worker that offers it, and how many the writer takes:
//! `cargo test --release -p querylog --test figures -- --ignored --nocapture`.

use std::time::{Duration, Instant};

use querylog::{Event, Format, LogFile, Logs, Outcome, QueryLog, Record, Settings, Target};

/// Records of one round: fewer than the queue has places for.
const ROUND: u32 = 4000;
const ROUNDS: u32 = 50;

fn record() -> Box<Record> {
    Box::new(Record {
        logs: Logs { events: true, slow: false },
        event: Event::Query,
        thread_id: 1_073_741_824,
        user: (*b"sbtest").into(),
        schema: (*b"sbtest").into(),
        client: "127.0.0.1:39840".into(),
        target: Some(Target { hostgroup: 0, server: "127.0.0.1:3306".into() }),
        end_us: 1_563_091_474_400_688,
        took_us: 85,
        digest: Some(1),
        outcome: Outcome { rows_sent: Some(1), ..Outcome::default() },
        gtid: None,
        text: (*b"SELECT c FROM sbtest1 WHERE id=12345").into(),
        text_len: 36,
    })
}

#[test]
#[ignore = "prints figures"]
fn offers_and_writes() {
    for format in [Format::Json, Format::Binary] {
        let folder = tempfile::tempdir().unwrap();
        let log = QueryLog::default();
        let events = Some(LogFile { base: folder.path().join("q"), size_max: 1 << 30 });
        log.configure(&Settings { events, format, ..Settings::default() }).unwrap();
        let (mut offered, mut written) = (Duration::ZERO, Duration::ZERO);
        for _ in 0..ROUNDS {
            let began = Instant::now();
            for _ in 0..ROUND {
                assert!(log.offer(record()));
            }
            offered += began.elapsed();
            log.rotate(Duration::from_mins(1)).unwrap();
            written += began.elapsed();
        }
        let all = ROUND * ROUNDS;
        println!(
            "{format:?}: {:?} to make and offer one, {:?} to have it written",
            offered / all,
            written / all
        );
    }
}
