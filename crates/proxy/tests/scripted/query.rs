//! Queries and their answers.

use super::support::{logged_in, play, server};

#[test]
fn a_query_goes_to_the_server_and_its_answer_to_the_client() {
    play(async || {
        let (stage, dialled, mut client) = logged_in().await;
        client.send_query("SELECT 1").await;
        let mut server = server(&dialled).await;
        server.expect_query("SELECT 1").await;
        server.rows(&["1"], &[&[Some("1")]]).await;
        client.expect_rows(&[&[Some("1")]]).await;
        assert_eq!(stage.usage(0).open, 1);
    });
}
