//! The queue and its thread: order, rotation, other settings, a writer that cannot go on.

use std::fs::{File, read_to_string};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use querylog::{
    AuditEvent, AuditRecord, Format, LogFile, Logs, Port, QUEUE_BYTES_MAX, QUEUE_RECORDS_MAX, QueryLog,
    Record, Settings,
};
use tempfile::{TempDir, tempdir};

/// Nothing here takes that long.
const WAIT: Duration = Duration::from_secs(30);

fn record(text: &str) -> Box<Record> {
    let logs = Logs { events: true, slow: true };
    Box::new(Record { user: (*b"app").into(), ..Record::of(text.as_bytes(), logs) })
}

fn file(path: &Path) -> LogFile {
    LogFile { base: path.to_owned(), size_max: 1 << 20 }
}

fn events(base: &Path) -> Settings {
    Settings { events: Some(file(base)), format: Format::Json, ..Settings::default() }
}

/// The texts in a file of the query log.
fn texts(folder: &TempDir, name: &str) -> Vec<String> {
    let lines = read_to_string(folder.path().join(name)).unwrap();
    let text = |line: &str| line.split_once("\"query\":\"").unwrap().1.split_once('"').unwrap().0.to_owned();
    lines.lines().map(text).collect()
}

#[test]
fn orders_and_records_keep_their_order() {
    let (folder, log) = (tempdir().unwrap(), QueryLog::default());
    assert!(!log.offer(record("nobody")), "there is no log yet");
    log.configure(&Settings::default()).unwrap();
    log.rotate(WAIT).unwrap();
    log.configure(&events(&folder.path().join("q"))).unwrap();
    assert!(log.offer(record("one")) && log.offer(record("two")));
    log.rotate(WAIT).unwrap();
    // An empty file is good for what comes.
    log.rotate(WAIT).unwrap();
    log.offer(record("three"));
    log.configure(&events(&folder.path().join("other"))).unwrap();
    log.offer(record("four"));
    log.configure(&Settings { slow: Some(file(&folder.path().join("slow"))), ..Settings::default() })
        .unwrap();
    log.offer(record("five"));
    log.end(WAIT).unwrap();
    assert!(!log.offer(record("late")));
    assert_eq!(texts(&folder, "q.00000001"), ["one", "two"]);
    assert_eq!(texts(&folder, "q.00000002"), ["three"]);
    assert_eq!(texts(&folder, "other.00000001"), ["four"]);
    assert!(read_to_string(folder.path().join("slow.00000001")).unwrap().ends_with("\nfive;\n"));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 4);
    let counts = log.counts();
    assert_eq!((counts.written, counts.failed, counts.dropped), (5, 0, 1));
}

#[test]
fn another_format_is_another_file() {
    let (folder, log) = (tempdir().unwrap(), QueryLog::default());
    let json = events(&folder.path().join("q"));
    log.configure(&json).unwrap();
    log.offer(record("one"));
    log.configure(&Settings { format: Format::Binary, ..json }).unwrap();
    log.offer(record("two"));
    log.end(WAIT).unwrap();
    assert_eq!(texts(&folder, "q.00000001"), ["one"]);
    let binary = std::fs::read(folder.path().join("q.00000002")).unwrap();
    assert_eq!(binary[..8], ((binary.len() - 8 + 1) as u64).to_le_bytes());
    assert!(binary.ends_with(b"two"));
}

#[test]
fn files_have_whole_records_however_many_threads_offer_them() {
    const THREADS: usize = 4;
    const EACH: usize = 1000;
    let (folder, log) = (tempdir().unwrap(), QueryLog::default());
    let base = folder.path().join("q");
    log.configure(&Settings {
        events: Some(LogFile { base, size_max: 10_000 }),
        format: Format::Json,
        ..Settings::default()
    })
    .unwrap();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let log = &log;
            scope.spawn(move || {
                for n in 0..EACH {
                    assert!(log.offer(record(&format!("{thread}-{n}"))));
                }
            });
        }
    });
    log.end(WAIT).unwrap();
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let entry = entry.unwrap();
        assert!(entry.metadata().unwrap().len() <= 10_000);
        all.extend(texts(&folder, entry.file_name().to_str().unwrap()));
    }
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), THREADS * EACH);
    assert_eq!(log.counts().written, (THREADS * EACH) as u64);
}

#[test]
fn a_writer_that_is_stuck_costs_records_and_nothing_else() {
    let (folder, log) = (tempdir().unwrap(), QueryLog::default());
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    log.configure(&events(&pipe)).unwrap();
    // What fits into the pipe, the writer's hands and the queue is taken; then nothing any more,
    // and at once.
    let text = "x".repeat(1 << 16);
    let bound = 2 * QUEUE_BYTES_MAX / text.len();
    let taken = (0..bound).take_while(|_| log.offer(record(&text))).count();
    assert!(taken < bound, "the queue has an end");
    assert_eq!(log.counts().dropped, 1);
    let late = log.rotate(Duration::from_millis(1)).unwrap_err();
    assert!(late.to_string().contains("within 1 ms"), "{late}");
    // With a reader, what was taken arrives.
    let reader = BufReader::new(File::open(&pipe).unwrap());
    assert_eq!(reader.lines().map_while(Result::ok).take(taken).count(), taken);
    log.end(WAIT).unwrap();
    assert_eq!(log.counts().written, taken as u64);
}

#[test]
fn short_records_are_bounded_in_number() {
    let (folder, log) = (tempdir().unwrap(), QueryLog::default());
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    log.configure(&events(&pipe)).unwrap();
    let taken = (0..10 * QUEUE_RECORDS_MAX).take_while(|_| log.offer(record("x"))).count();
    // The writer may not have taken the order to begin yet, which has a place in the queue as well.
    assert!((QUEUE_RECORDS_MAX - 1..3 * QUEUE_RECORDS_MAX).contains(&taken), "{taken}");
}

#[test]
fn the_audit_log_is_written_rotated_and_counted_like_the_others() {
    let (folder, log) = (tempdir().unwrap(), QueryLog::for_audit());
    let audit = Some(file(&folder.path().join("audit")));
    let event = |id| Box::new(AuditRecord::of(AuditEvent::Quit(Port::Admin), 1, id));
    assert!(!log.offer_audit(event(1)), "there is no log yet");
    log.configure(&Settings { audit, ..Settings::default() }).unwrap();
    assert!(log.offer_audit(event(2)));
    log.rotate(WAIT).unwrap();
    assert!(log.offer_audit(event(3)));
    log.configure(&Settings::default()).unwrap();
    log.offer_audit(event(4));
    log.end(WAIT).unwrap();
    let ids = |name: &str| {
        let lines = read_to_string(folder.path().join(name)).unwrap();
        lines.lines().map(|line| line.contains("\"thread_id\":2,")).collect::<Vec<_>>()
    };
    assert_eq!((ids("audit.00000001"), ids("audit.00000002")), (vec![true], vec![false]));
    assert_eq!((log.counts().written, log.counts().dropped), (2, 0));
}

#[test]
fn an_audit_log_that_is_stuck_drops_and_counts() {
    let (folder, log) = (tempdir().unwrap(), QueryLog::for_audit());
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    log.configure(&Settings { audit: Some(file(&pipe)), ..Settings::default() }).unwrap();
    let event = || Box::new(AuditRecord::of(AuditEvent::InitDb, 1, 1));
    let taken = (0..10 * QUEUE_RECORDS_MAX).take_while(|_| log.offer_audit(event())).count();
    assert!(taken < 10 * QUEUE_RECORDS_MAX);
    assert_eq!(log.counts().dropped, 1);
    let late = log.rotate(Duration::from_millis(1)).unwrap_err().to_string();
    assert!(late.starts_with("the writer of the audit log"), "{late}");
}
