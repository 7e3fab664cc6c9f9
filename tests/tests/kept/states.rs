//! What some two hundred states of sessions leave to the next session: nothing, however the session
//! ends. Each state is a list of statements in [`table`]; [`probe`] is what the next session asks.
//! Its answers are those of a session with a connection of its own.

mod probe;
mod table;

use e2e::{Backend, Make, Setup, run};
use testkit::client::{Client, ClientError, Options};
use testkit::server::PASSWORD;

use probe::Probe;
use table::State;

/// The account of all sessions here.
const USER: &str = "stateful";

/// What a session hears that has waited in vain for the connection.
const NO_CONNECTION: u16 = 9001;

/// How a session ends, or what it has set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Reset,
    ChangeUser,
    Quit,
    Kill,
    /// It quits, and the next session begins.
    QuitForNew,
}

const WAYS: [Way; 5] = [Way::Reset, Way::ChangeUser, Way::Quit, Way::Kill, Way::QuitForNew];

fn prepare(backend: &Backend) {
    backend.sql(&format!(
        "CREATE DATABASE states; CREATE DATABASE other_states CHARACTER SET latin1; \
         CREATE ROLE taken; CREATE ROLE usual; \
         CREATE USER {USER}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'; \
         GRANT ALL ON *.* TO {USER}@'127.0.0.1'; GRANT taken TO {USER}@'127.0.0.1'; \
         GRANT usual TO {USER}@'127.0.0.1'"
    ));
    backend.sql(&match backend.make {
        Make::MariaDb => {
            format!("SET DEFAULT ROLE usual FOR {USER}@'127.0.0.1'; CREATE SEQUENCE states.numbers")
        }
        Make::MySql => format!(
            "SET DEFAULT ROLE usual TO {USER}@'127.0.0.1'; CREATE RESOURCE GROUP slow TYPE = USER VCPU = 0; \
             CREATE PROCEDURE states.goes_slow() SET RESOURCE GROUP slow"
        ),
    });
    run(async {
        let options = Options::tcp(backend.server.address(), USER, PASSWORD).schema("states");
        let mut client = Client::connect(&options).await.unwrap();
        for sql in table::OBJECTS {
            client.query_all(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
        client.quit().await.unwrap();
    });
}

/// One proxy with one connection, two sessions that ask, and one that kills.
struct World {
    options: Options,
    directly: Options,
    direct: Client,
    next: Client,
    killer: Client,
    make: Make,
}

impl World {
    async fn new(backend: &Backend, options: Options) -> Self {
        let directly = Options::tcp(backend.server.address(), USER, PASSWORD).schema("states");
        let mut direct = Client::connect(&directly).await.unwrap();
        let mut next = Client::connect(&options).await.unwrap();
        for client in [&mut direct, &mut next] {
            Probe::of(client, backend.make).await.unwrap();
        }
        let killer = Client::connect(&options).await.unwrap();
        Self { options, directly, direct, next, killer, make: backend.make }
    }

    /// A session gets into this state and ends in this way; another one has nothing of it.
    async fn play(&mut self, state: &State, way: Way) {
        let mut one = Client::connect(&self.options).await.unwrap();
        for sql in state.statements() {
            let (sql, may_fail) = sql.strip_prefix('!').map_or((&*sql, false), |sql| (sql, true));
            match one.query_all(sql).await {
                Err(ClientError::Server(_)) if may_fail => {}
                Err(error) => panic!("{state}: {sql}: {error}"),
                Ok(_) => assert!(!may_fail, "{state}: {sql} is no error"),
            }
        }
        let left = self.end(one, way).await;
        if way == Way::QuitForNew {
            self.direct = Client::connect(&self.directly).await.unwrap();
            self.next = Client::connect(&self.options).await.unwrap();
            // A new session at MariaDB may hear of the rows of any other one.
            for client in [&mut self.direct, &mut self.next] {
                client.query("SELECT who FROM shadowed").await.unwrap();
            }
        }
        let expected = Probe::of(&mut self.direct, self.make).await.unwrap();
        let mut told = Probe::of(&mut self.next, self.make).await;
        if matches!(told, Err(NO_CONNECTION)) && way == Way::Reset {
            // It has kept the connection, as it may.
            left.expect("it goes on").quit().await.unwrap();
            told = Probe::of(&mut self.next, self.make).await;
        }
        let told = told.unwrap_or_else(|code| panic!("{state}, {way:?}: error {code}"));
        if told.difference(&expected).is_none() {
            return;
        }
        // MySQL lets locks go some time after it has answered a KILL, so maybe in between.
        let expected = Probe::of(&mut self.direct, self.make).await.unwrap();
        if let Some((told, expected)) = told.difference(&expected) {
            panic!("{state}, {way:?}: {told:?}, not {expected:?}");
        }
    }

    /// Ends a session; it comes back if its client goes on.
    async fn end(&mut self, mut one: Client, way: Way) -> Option<Client> {
        match way {
            Way::Reset => drop(one.reset_connection().await.unwrap()),
            Way::ChangeUser => one.change_user(&self.options).await.unwrap(),
            Way::Quit | Way::QuitForNew => {
                one.quit().await.unwrap();
                return None;
            }
            Way::Kill => {
                let sql = format!("KILL {}", one.server().connection_id);
                self.killer.query(&sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
                // The end of the connection, with or without an error before.
                let _ = one.read_result().await;
                return None;
            }
        }
        Some(one)
    }
}

pub(super) fn c04_nothing_of_two_hundred_states_crosses(backend: &Backend) {
    prepare(backend);
    let proxy = Setup::new(&backend.sandbox)
        .server(&backend.server, "max_connections = 1")
        .one_thread()
        .variable("multiplexing", true)
        .variable("connect_timeout_server_max", 700)
        .user(USER, PASSWORD, "")
        .start();
    let options = Options::tcp(proxy.tcp(), USER, PASSWORD).schema("states");
    let states = table::states(backend.make);
    assert!(states.len() >= 190, "{} states", states.len());
    for way in WAYS {
        // Each way has a deadline of its own.
        run(async {
            let mut world = World::new(backend, options.clone()).await;
            for state in &states {
                world.play(state, way).await;
            }
        });
    }
}
