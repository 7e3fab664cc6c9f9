use tempfile::TempDir;

use super::files::record_of;
use super::*;

fn record() -> Record {
    let step = |hostgroup, before| Step {
        hostgroup,
        node: ["shop".to_owned(), format!("orders_{hostgroup}")],
        current: b"shop".to_vec().into(),
        text: b"ALTER TABLE orders ADD a INT COMMENT '\xff'".to_vec().into(),
        before,
        state: State::Waiting,
        error: String::new(),
    };
    Record {
        id: 0,
        user: b"app".to_vec().into(),
        collation: 255,
        settings: vec![b"SET sql_mode=''".to_vec().into()],
        statement: b"ALTER TABLE orders ADD a INT".to_vec().into(),
        tables: vec![("shop".to_owned(), "orders".to_owned())],
        steps: vec![step(1, Some(u64::MAX)), step(2, None)],
    }
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn in_folder(folder: &TempDir) -> Arc<Ddl> {
    Arc::new(Ddl::open(folder.path().to_str().unwrap()))
}

#[test]
fn a_record_reads_as_it_was_written() {
    let record = Record { id: 7, ..record() };
    let line = serde_json::to_value(&record).unwrap().to_string();
    let begin = r#"{"collation":255,"id":7,"settings":["SET sql_mode=''"],"statement":"ALTER TABLE orders ADD a INT",\
        "steps":[{"before":18446744073709551615,"current":"shop","error":"","hostgroup":1,\
        "node":["shop","orders_1"],"state":"waiting","text":[65,76,84,"#;
    assert!(line.starts_with(&begin.replace("\\\n        ", "")), "{line}");
    assert_eq!(record_of(&line), Some(record.clone()));
    let marked = format!("{line}\n{{\"step\":0,\"state\":\"done\",\"error\":\"\"}}\n{{\"step\":1,\"sta");
    let found = record_of(&marked).unwrap();
    assert_eq!(found.steps.iter().map(|step| step.state).collect::<Vec<_>>(), [State::Done, State::Waiting]);
    assert_eq!(record_of(""), None);
    assert_eq!(record_of("{}"), None);
}

#[test]
fn a_node_whose_table_has_changed_has_executed_it() {
    let [first, second] = <[Step; 2]>::try_from(record().steps).unwrap();
    assert!(!first.is_done(Some(u64::MAX)) && first.is_done(Some(1)) && first.is_done(None));
    assert!(!second.is_done(None) && second.is_done(Some(1)));
    assert!(Step { state: State::Done, ..first }.is_done(Some(u64::MAX)));
}

#[test]
fn what_has_stopped_is_found_by_the_next_process() {
    let folder = TempDir::new().unwrap();
    run(async {
        let ddl = in_folder(&folder);
        let running = ddl.begin(record()).await.unwrap();
        running.note(0, State::Done, "").await;
        running.note(1, State::Failed, "1205: Lock wait timeout").await;
        assert_eq!(ddl.stopped_of(&[("shop".to_owned(), "orders".to_owned())]), None, "it runs");
        assert_eq!(ddl.go_on(1).unwrap_err(), NotOrdered::Runs(1));
        drop(running);
        assert_eq!(ddl.stopped_of(&[("shop".to_owned(), "orders".to_owned())]), Some(1));
        assert_eq!(ddl.stopped_of(&[("shop".to_owned(), "items".to_owned())]), None);
        let next = in_folder(&folder);
        assert_eq!(next.rows(), ddl.rows());
        assert_eq!(next.stopped_of(&[("shop".to_owned(), "orders".to_owned())]), Some(1));
        let rows = next.rows();
        let told: Vec<_> =
            rows.iter().map(|row| (row.node.as_str(), row.state, row.error.as_str())).collect();
        assert_eq!(
            told,
            [("shop.orders_1", "done", ""), ("shop.orders_2", "failed", "1205: Lock wait timeout")]
        );
        let second = next.begin(record()).await.unwrap();
        assert_eq!(second.record().unwrap().id, 2, "ids are used once");
        second.end().await;
        next.go_on(1).unwrap().end().await;
        assert_eq!((next.rows(), in_folder(&folder).rows()), (Vec::new(), Vec::new()));
        assert_eq!(next.stopped_of(&[("shop".to_owned(), "orders".to_owned())]), None);
    });
}

#[test]
fn what_is_forgotten_is_gone() {
    let folder = TempDir::new().unwrap();
    run(async {
        let ddl = in_folder(&folder);
        let running = ddl.begin(record()).await.unwrap();
        assert_eq!(ddl.forget(1), Err(NotOrdered::Runs(1)));
        drop(running);
        assert_eq!(ddl.forget(1), Ok(()));
        assert_eq!(ddl.forget(1), Err(NotOrdered::Unknown(1)));
        assert_eq!(in_folder(&folder).rows(), Vec::new());
    });
}

#[test]
fn what_cannot_be_recorded_does_not_begin() {
    let folder = TempDir::new().unwrap();
    run(async {
        let ddl = in_folder(&folder);
        std::fs::remove_dir(folder.path()).unwrap();
        let refused = ddl.begin(record()).await.unwrap_err();
        assert!(refused.starts_with("its record is not written"), "{refused}");
        assert_eq!(ddl.rows(), Vec::new());
    });
}

#[test]
fn without_a_folder_it_lasts_as_long_as_the_process() {
    run(async {
        let ddl = Arc::new(Ddl::open(""));
        drop(ddl.begin(record()).await.unwrap());
        assert_eq!(ddl.rows().len(), 2);
    });
}
