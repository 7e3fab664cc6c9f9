//! What a crash in the middle of a save leaves: the old state or the new one, never a part of
//! either.

use e2e::{Setup, run};
use testkit::client::Client;
use testkit::guard::Signal;
use wire::command::Kind;

use super::{DB, admin, with_admin};

/// Enough for a save to take many writes.
const USERS: u32 = 20_000;

/// Crashes, each a little later in the save: what has to be there of `SQLite`'s journal, in KiB.
const JOURNAL_KIB: [u64; 6] = [0, 0, 64, 256, 512, 1024];

#[test]
fn kill_9_in_the_middle_of_a_save_leaves_the_old_state_or_the_new_one() {
    let setup = with_admin(Setup::before(&DB.sandbox, &DB.server)).datadir();
    let journal = setup.folder().join("pointsman.db-journal");
    let mut proxy = setup.clone().start();
    run(async {
        let mut client = admin(&proxy).await;
        for sql in [
            format!(
                "INSERT INTO mysql_users (username, comment) \
                 WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {USERS}) \
                 SELECT 'user_' || i, '0' FROM n"
            ),
            "SAVE MYSQL USERS TO DISK".to_owned(),
        ] {
            client.query(&sql).await.unwrap();
        }
    });
    let (mut interrupted, mut saved) = (0, 0);
    for (round, kib) in (1..).zip(JOURNAL_KIB) {
        run(async {
            let mut client = admin(&proxy).await;
            client.query(&format!("UPDATE mysql_users SET comment = '{round}'")).await.unwrap();
            client.send_command(Kind::Query, b"SAVE MYSQL USERS TO DISK").await.unwrap();
            let begun = || std::fs::metadata(&journal).is_ok_and(|file| file.len() >= kib << 10);
            // Whichever comes first: the save may have ended before anybody looked.
            tokio::select! {
                biased;
                _ = client.read_result() => {}
                () = async { while !begun() { tokio::task::yield_now().await } } => interrupted += 1,
            }
        });
        proxy.signal(Signal::KILL);
        proxy.wait();
        proxy = setup.clone().start();
        saved = run(async {
            let mut client = admin(&proxy).await;
            let sql = "SELECT COUNT(*), COUNT(DISTINCT comment), MIN(comment) FROM disk.mysql_users \
                       WHERE username LIKE 'user%'";
            let rows = client.query(sql).await.unwrap().text().unwrap();
            let [count, states, state] = &rows[0][..] else { panic!("{rows:?}") };
            let whole = [count, states].map(|cell| cell.clone().unwrap());
            assert_eq!(whole, [USERS.to_string(), "1".to_owned()]);
            let state: u32 = state.as_deref().unwrap().parse().unwrap();
            assert!([saved, round].contains(&state), "{state} after save {round} over {saved}");
            let mut client = Client::connect(&proxy.options()).await.unwrap();
            client.query("SELECT 1").await.unwrap();
            state
        });
    }
    assert!(interrupted > 0, "no save was interrupted");
}
