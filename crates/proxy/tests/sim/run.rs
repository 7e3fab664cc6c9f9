//! Seeds, one after the other.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::env;
use std::io;
use std::rc::Rc;
use std::sync::Once;
use std::time::Duration;

use proxy::memory::pair;
use proxy::stage::Stage;
use tokio::runtime::{Builder, LocalOptions};
use tokio::time::sleep;

use super::client::Player;
use super::dice::Dice;
use super::faults::Faults;
use super::server::serve;
use super::tape::{BASIS, Transcript, add};
use super::world::World;

/// Seeds that a test run plays.
const SEEDS: u64 = 256;

/// Seeds that are played twice.
const TWICE: u64 = 32;

/// Counters of the proxy that seeds have to move, all together.
const COUNTED: [&str; 3] = ["Queries_sent_together", "Queries_sent_once_more", "Query_Cache_count_GET_OK"];

/// Longer than any deadline of the proxy: what is there behind it stays.
const LONG: Duration = Duration::from_mins(5);

thread_local! {
    /// What has panicked on this thread: tasks that do so end quietly.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

#[test]
fn every_seed_keeps_what_is_promised() {
    let number = |name: &str| env::var(name).ok().and_then(|value| value.parse().ok());
    let seeds = match number("POINTSMAN_SIM_SEED") {
        Some(seed) => seed..seed + 1,
        None => number("POINTSMAN_SIM_FIRST").unwrap_or(0)..number("POINTSMAN_SIM_SEEDS").unwrap_or(SEEDS),
    };
    let mut all = [BASIS; 2];
    let mut reached = BTreeMap::new();
    for seed in seeds {
        let world = World::new(seed);
        if let Err(failure) = play(&world) {
            panic!("{failure}\nagain: POINTSMAN_SIM_SEED={seed} cargo test -p proxy --test sim");
        }
        let Transcript { clients, servers } = world.transcript();
        all = [add(all[0], &clients.to_le_bytes()), add(all[1], &servers.to_le_bytes())];
        for (name, count) in world.reached.take() {
            *reached.entry(name).or_insert(0) += count;
        }
        if env::var_os("POINTSMAN_SIM_TRANSCRIPTS").is_some() {
            println!("seed {seed}: {:?}", world.transcript());
        }
    }
    println!("all seeds: {:?}, counted: {reached:?}", Transcript { clients: all[0], servers: all[1] });
    let is_small = number("POINTSMAN_SIM_SEED").is_some() || number("POINTSMAN_SIM_SEEDS").is_some();
    for (name, count) in reached {
        assert!(is_small || count > 0, "no seed has reached what {name} counts");
    }
}

/// A transcript shows each change of what passes, and only then: the same seed gives the same one.
#[test]
fn a_seed_has_one_transcript() {
    for seed in 0..TWICE {
        let transcripts = [seed, seed].map(|seed| {
            let world = World::new(seed);
            play(&world).expect("it is played by the other test, too");
            world.transcript()
        });
        assert_eq!(transcripts[0], transcripts[1], "seed {seed}");
    }
}

#[test]
fn an_answer_of_another_session_is_noticed() {
    for seed in 0..8 {
        let faults = Faults { swapped: 5, ..Faults::default() };
        let failure = play(&World::with(seed, Dice::new(seed), faults)).expect_err("a fault that was put in");
        assert!(failure.contains("somebody else's"), "another failure: {failure}");
    }
}

#[test]
fn a_row_of_another_session_is_noticed_at_shards() {
    let faults = Faults { swapped_at_shards: 5, ..Faults::default() };
    let worlds = (0..).map(|seed| World::with(seed, Dice::new(seed), faults));
    // A drain may leave too little time.
    let has_enough = |world: &Rc<World>| world.scopes.shards.is_some() && !world.scopes.has_drain;
    // Some worlds read too little at shards to have the fault.
    let failures: Vec<_> =
        worlds.filter(has_enough).take(16).filter_map(|world| play(&world).err()).collect();
    assert!(failures.len() >= 12, "{} of 16 have noticed the fault", failures.len());
    for failure in failures {
        assert!(failure.contains("somebody else's"), "another failure: {failure}");
    }
}

/// Plays a world to its end.
fn play(world: &Rc<World>) -> Result<(), String> {
    note_panics();
    let mut builder = Builder::new_current_thread();
    builder.enable_all().start_paused(true);
    let runtime = builder.build_local(LocalOptions::default()).expect("a runtime can be made");
    runtime.block_on(async {
        let stage = Rc::new(stage(world));
        let players = (0..world.clients).map(|me| Player::new(world, &stage, me));
        let players: Vec<_> = players.map(|player| tokio::task::spawn_local(player.play())).collect();
        for player in players {
            if player.await.is_err() {
                world.fail("a client has panicked".to_owned());
            }
        }
        sleep(LONG).await;
        check_end(world, &stage);
        for name in COUNTED {
            world.reached.borrow_mut().insert(name, stage.global(name));
        }
    });
    if let Some(panic) = PANIC.with(|panic| panic.borrow_mut().take()) {
        world.fail(panic);
    }
    world.failure().map_or(Ok(()), Err)
}

fn stage(world: &Rc<World>) -> Stage {
    let servers = Rc::clone(world);
    Stage::seeded(world.seed, world.config(), move |endpoint| {
        if !servers.reaches(&endpoint.to_string()) {
            servers.note(format!("  {endpoint} is not reached"));
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        let (ours, theirs) = pair(servers.server_capacity);
        let theirs = servers.at_servers.tape(theirs, true);
        tokio::task::spawn_local(serve(Rc::clone(&servers), endpoint.to_string(), theirs));
        Ok(ours)
    })
}

/// When all clients have left, nothing is in use.
fn check_end(world: &World, stage: &Stage) {
    stage.check_invariants();
    if stage.sessions() > 0 {
        world.fail(format!("{} sessions are left", stage.sessions()));
    }
    let free = stage.free_connections().len();
    let (mut open, mut waiting) = (0, 0);
    for hostgroup in world.hostgroups() {
        let usage = stage.usage(hostgroup);
        open += usage.open as usize;
        waiting += usage.waiting;
    }
    let at_servers = world.threads.borrow().len();
    if (waiting, open, at_servers) != (0, free, free) {
        world.fail(format!(
            "{waiting} wait, {open} connections count, {at_servers} are at servers, {free} are free"
        ));
    }
}

/// Panics of this thread are kept, and shown as ever.
fn note_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let shown = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            PANIC.with(|panic| *panic.borrow_mut() = Some(format!("panicked: {info}")));
            shown(info);
        }));
    });
}
