//! Servers and proxies that are killed beside a load. What was acknowledged outlasts it.

use std::sync::Mutex;

use e2e::{Backend, run};

use crate::faults::{Fault, beside, on_each};
use crate::load::Load;
use crate::world::{BOUNDED, Place, STRICT, World};

on_each! {
    c20_reads_are_exact_while_the_server_is_killed,
    c20_reads_are_exact_while_proxies_are_killed,
}

fn c20_reads_are_exact_while_the_server_is_killed(server: &mut Backend) {
    for promise in [STRICT, BOUNDED] {
        let world = World::new(server, promise).with_losses();
        let server = Mutex::new(&mut *server);
        beside(&world, &Load::SAFE, || {
            let mut server = server.lock().unwrap();
            server.server.kill().unwrap();
            server.server.restart().unwrap();
        });
    }
}

fn c20_reads_are_exact_while_proxies_are_killed(server: &mut Backend) {
    for promise in [STRICT, BOUNDED] {
        let world = World::new(server, promise).with_losses();
        beside(&world, &Load::SAFE, || {
            // The one whose clients write elsewhere, and the one that has the answers.
            world.other.iter().for_each(Place::restart);
            run(world.wait_for_hits());
            world.place.restart();
        });
    }
}
