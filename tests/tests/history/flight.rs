//! A write in flight that readers see already.

use std::time::Duration;

use e2e::WAIT_MAX;
use testkit::client::Client;
use tokio::time::{Instant, sleep, timeout};

use crate::world::World;

/// What is read: in words that are cached, and in others that come from the server.
const READ: &str = "SELECT v FROM plain WHERE id = 3";
const FRESH: &str = "SELECT /* fresh */ v FROM plain WHERE id = 3";
/// How often the server is looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);

impl World {
    /// The first of two statements in one text has changed a row, and the second one waits: the
    /// reply is not over. No answer from before the change may be served any more, since other
    /// reads show it.
    pub(crate) async fn write_in_flight(&self) {
        let mut direct = Client::connect(&self.direct.options()).await.unwrap();
        direct.query("DO GET_LOCK('in_flight', 10)").await.unwrap();
        let mut reader = Client::connect(&self.options()).await.unwrap();
        let before = self.hits().await;
        for _ in 0..4 {
            assert_eq!(value(&mut reader, READ).await, "1");
        }
        assert!(self.hits().await > before, "the answer is not in the cache");
        let mut writer = Client::connect(&self.options()).await.unwrap();
        let text =
            "UPDATE plain SET v = 2 WHERE id = 3; DO GET_LOCK('in_flight', 30), RELEASE_LOCK('in_flight')";
        let write = tokio::spawn(async move { writer.query(text).await.map(|_| ()) });
        let deadline = Instant::now() + WAIT_MAX;
        while value(&mut direct, READ).await != "2" {
            assert!(Instant::now() < deadline, "the row does not change");
            sleep(LOOK_INTERVAL).await;
        }
        assert_eq!(value(&mut reader, FRESH).await, "2");
        assert_eq!(value(&mut reader, READ).await, "2", "it is from before what the session has seen");
        assert!(!write.is_finished(), "the write should be in flight");
        direct.query("DO RELEASE_LOCK('in_flight')").await.unwrap();
        timeout(WAIT_MAX, write).await.unwrap().unwrap().unwrap();
        assert_eq!(value(&mut reader, READ).await, "2");
    }
}

async fn value(client: &mut Client, sql: &str) -> String {
    client.query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}")).first().unwrap()
}
