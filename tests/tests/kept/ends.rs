//! Statements that end their session: it ends as it does at the server, and no later one runs.

use e2e::{Backend, run};
use testkit::client::{Client, ClientError, Options};
use testkit::server::PASSWORD;
use wire::command::Kind;

use super::{USER, options, proxy, value};

const TEXTS: [&[&str]; 13] = [
    &["COMMIT RELEASE"],
    &["COMMIT NO RELEASE"],
    &["COMMIT AND CHAIN"],
    &["COMMIT AND CHAIN RELEASE"],
    &["BEGIN", "SELECT * FROM t", "ROLLBACK AND NO CHAIN RELEASE"],
    &["SET completion_type = 2", "COMMIT"],
    &["SET @@session.completion_type = 'RELEASE'", "BEGIN", "ROLLBACK"],
    &["SET completion_type = 2", "COMMIT NO RELEASE"],
    &["SET completion_type = 1", "BEGIN", "COMMIT"],
    &["BEGIN", "SAVEPOINT release_it", "ROLLBACK TO SAVEPOINT release_it"],
    &["KILL CONNECTION_ID()"],
    &["KILL CONNECTION connection_id( )"],
    &["KILL QUERY CONNECTION_ID()"],
];

type Outcome = Result<(), Option<u16>>;

fn outcome<T>(result: Result<T, ClientError>) -> Outcome {
    result.map(drop).map_err(|error| error.code())
}

/// What a new session hears of these statements, and of one behind them.
async fn outcomes(options: &Options, texts: &[&str]) -> Vec<Outcome> {
    let mut client = Client::connect(options).await.unwrap();
    let mut all = Vec::new();
    for text in texts.iter().chain(&["SELECT 1"]) {
        all.push(outcome(client.query(text).await));
    }
    all
}

/// The same of a KILL that is prepared.
async fn prepared_outcomes(options: &Options) -> Vec<Outcome> {
    let mut client = Client::connect(options).await.unwrap();
    let executed = match client.prepare("KILL CONNECTION_ID()").await {
        Ok(statement) => client.execute(&statement, &[]).await,
        Err(error) => Err(error),
    };
    vec![outcome(executed), outcome(client.query("SELECT 1").await)]
}

/// The error of an execution of what was never prepared, which MariaDB has for the last one.
async fn of_last_statement(options: &Options) -> String {
    let mut client = Client::connect(options).await.unwrap();
    client.send_command(Kind::StmtExecute, &[0xff, 0xff, 0xff, 0xff, 0, 1, 0, 0, 0]).await.unwrap();
    client.read_result().await.unwrap_err().to_string()
}

pub(super) fn c04_a_session_ends_as_at_its_server(backend: &Backend) {
    let proxy = proxy(backend);
    let through = options(&proxy);
    let direct = Options::tcp(backend.server.address(), USER, PASSWORD).schema("test");
    run(async {
        for texts in TEXTS {
            assert_eq!(outcomes(&through, texts).await, outcomes(&direct, texts).await, "{texts:?}");
        }
        assert_eq!(prepared_outcomes(&through).await, prepared_outcomes(&direct).await);
        assert_eq!(of_last_statement(&through).await, of_last_statement(&direct).await);
    });
}

/// The proxy answers such a `KILL` itself.
pub(super) fn c06_the_error_of_a_kill_of_itself_is_told_again(backend: &Backend) {
    let proxy = proxy(backend);
    let direct = Options::tcp(backend.server.address(), USER, PASSWORD).schema("test");
    run(async {
        for options in [options(&proxy), direct] {
            let mut client = Client::connect(&options).await.unwrap();
            client.query("KILL QUERY CONNECTION_ID()").await.unwrap_err();
            assert_eq!(value(&mut client, "SHOW COUNT(*) WARNINGS").await.as_deref(), Some("1"));
            let told = client.query("SHOW WARNINGS").await.unwrap().text().unwrap();
            assert_eq!(told[0][1].as_deref(), Some("1317"));
        }
    });
}
