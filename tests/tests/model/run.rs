//! One seed: all clients at once, and what the pool says meanwhile and afterwards.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::author::{ACCOUNTS, Author, Scope};
use crate::number;
use crate::play::Player;
use crate::report::Failure;
use crate::shrink;
use crate::step::{Login, Step};
use crate::world::World;

/// Clients at once, unless reads are cached.
pub(crate) const CLIENTS: usize = 64;
/// How often the run looks at the pool.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// How a client logs in when its script does not say.
pub(crate) fn usual_login(schema: &str) -> Login {
    let (account, password) = ACCOUNTS[0];
    Login {
        account,
        password,
        schema: Some(schema.to_owned()),
        collation: 45,
        capabilities: testkit::client::CAPABILITIES,
    }
}

/// Runs all clients of a seed with so many commands together; returns how many there were.
///
/// # Panics
/// At the first difference, with everything that is known about it.
pub(crate) async fn seed(world: &Arc<World>, seed: u64, commands: usize) -> usize {
    /// No run has the schemas of another.
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    let run = RUNS.fetch_add(1, Ordering::Relaxed);
    let begun = Instant::now();
    let clients = world.clients;
    println!("seed {seed}: {clients} clients, {commands} commands, {} connections", world.connections);
    let mut playing = JoinSet::new();
    for client in 0..clients {
        let world = Arc::clone(world);
        playing.spawn(async move {
            let schema = format!("m{run}c{client:02}");
            let shares = world.connections < clients;
            let scope = Scope {
                gaps: number("POINTSMAN_MODEL_GAPS").is_some(),
                shares,
                forgets_types: !world.is_mariadb && (shares || world.caching.is_some()),
                inherits_steps: !world.is_mariadb,
                has_similar_sessions: world.has_similar_sessions,
                caching: world.caching,
            };
            let script = Author::script(seed, client, scope, &schema, commands / clients);
            world.clear(&schema).await;
            play(&world, &schema, &script).await.map_err(|difference| {
                Box::new(Failure { seed, commands, client, schema, script, difference })
            })
        });
    }
    let (mut count, mut failures) = (0, 0);
    let mut look = tokio::time::interval(LOOK_INTERVAL);
    loop {
        tokio::select! {
            done = playing.join_next() => match done {
                None => break,
                Some(Ok(Ok(commands))) => count += commands,
                Some(Ok(Err(failure))) if number("POINTSMAN_MODEL_ALL").is_some() => {
                    failures += 1;
                    eprintln!("{failure}");
                }
                Some(Ok(Err(failure))) => {
                    playing.shutdown().await;
                    Box::pin(fail(world, &failure)).await;
                }
                Some(Err(error)) => std::panic::resume_unwind(error.into_panic()),
            },
            _ = look.tick() => check_pool(world).await,
        }
    }
    assert_eq!(failures, 0, "clients got other answers");
    wait_for_rest(world).await;
    for client in 0..clients {
        world.remove(&format!("m{run}c{client:02}")).await;
    }
    println!("seed {seed}: {count} commands in {:.1} s", begun.elapsed().as_secs_f64());
    count
}

/// Runs a script; returns the number of commands.
pub(crate) async fn play(
    world: &World,
    schema: &str,
    script: &[Step],
) -> Result<usize, Box<crate::play::Difference>> {
    Player::new(world, usual_login(schema)).play(script).await
}

async fn fail(world: &World, failure: &Failure) -> ! {
    // At once: making it shorter takes a while.
    eprintln!("{failure}");
    let shorter = Box::pin(shrink::shortened(world, failure)).await;
    panic!("seed {}, client {}: {shorter}", failure.seed, failure.client);
}

/// There are never more connections than there may be.
async fn check_pool(world: &World) {
    let (used, free) = world.pool().await;
    assert!(
        used + free <= world.connections,
        "{used} connections are used and {free} free, of {}",
        world.connections
    );
}

/// When all clients have gone, no session has a connection.
async fn wait_for_rest(world: &World) {
    let deadline = Instant::now() + e2e::WAIT_MAX;
    loop {
        let (used, free) = world.pool().await;
        if used == 0 {
            assert!(free <= world.connections, "{free} connections are free, of {}", world.connections);
            return;
        }
        assert!(Instant::now() < deadline, "{used} connections are still used when all clients have gone");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
