//! A client, from its first byte to its last: this is the task that a worker runs for each.

use std::rc::Rc;

use front::{Arrival, ClientHandle as _, Slots};
use observe::broken::Broken;
use runtime::worker::Registered;

use crate::counts::Counter;
use crate::ending::say_goodbye;
use crate::session::{Flights, Session};

/// Serves one client until either side ends the connection.
#[expect(
    clippy::manual_async_fn,
    reason = "what is handed to an `async fn` takes room twice, and thousands of these wait"
)]
pub(crate) fn serve(
    flights: Rc<Flights>,
    registered: Registered,
    arrival: Arrival,
) -> impl Future<Output = ()> {
    async move {
        // Boxed: what it takes to let a client in is gone when its session begins.
        let Some((mut session, slots)) = Box::pin(receive(flights, &registered, arrival)).await else {
            return;
        };
        let ending = session.run().await;
        registered.leave_directory();
        let Some(mut sock) = session.into_client() else {
            return Broken::new("a session without its client").note(&registered.worker.counts);
        };
        if registered.control.has_quit() {
            sock.note_goodbye();
        } else {
            registered.worker.counts.note(Counter::ClientsAborted);
        }
        Box::pin(say_goodbye(&registered.worker.net, sock, ending)).await;
        drop(slots);
    }
}

/// A session for a client that has logged in.
async fn receive(
    flights: Rc<Flights>,
    registered: &Registered,
    arrival: Arrival,
) -> Option<(Session, Slots)> {
    let Registered { worker, control } = registered;
    control.attach().await;
    let (sock, logged_in, slots) = front::receive(&worker.front, &**control, arrival).await?;
    Some((Session::new((Rc::clone(worker), flights), Rc::clone(control), sock, *logged_in), slots))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an idle client costs beside its sockets' kernel memory; design budget 1.2 KB.
    #[test]
    fn the_task_of_a_client_stays_small() {
        fn size<A, B, C, F: Future>(_: impl Fn(A, B, C) -> F) -> usize {
            size_of::<F>()
        }
        let bytes = size(serve);
        // With what the runtime adds, 120 bytes, it fits into the 640 that the allocator has for
        // tasks of this size, but for streams made of memory, which only tests have.
        let streams_of_memory = if cfg!(feature = "memory") { 48 } else { 0 };
        assert!(bytes <= 512 + streams_of_memory, "the future of a client has {bytes} bytes");
    }
}
