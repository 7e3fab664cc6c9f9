//! Gates of sharded tables: no statement over several shards meets one before a definition, and
//! another one behind it.

use std::collections::HashMap;
use std::sync::Mutex;

use net::lock;
use tokio::sync::Notify;

/// Schema and name of a logical table.
pub type TableName = (String, String);

/// The gates of the process.
#[derive(Debug, Default)]
pub struct Gates {
    tables: Mutex<HashMap<TableName, Gate>>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Gate {
    /// Statements that run.
    running: usize,
    /// A definition waits or runs.
    is_closed: bool,
}

/// Statements or a definition of some tables, until it is dropped.
#[derive(Debug)]
pub struct Pass<'a> {
    gates: &'a Gates,
    tables: Vec<TableName>,
    defines: bool,
}

impl Gates {
    /// Waits until no definition of these tables runs. A definition (`defines`) lets no statement
    /// begin from then on, and waits until all that run have ended.
    pub async fn pass(&self, tables: Vec<TableName>, defines: bool) -> Pass<'_> {
        let pass = loop {
            let changed = self.changed.notified();
            if self.begin(&tables, defines) {
                break Pass { gates: self, tables, defines };
            }
            changed.await;
        };
        loop {
            let changed = self.changed.notified();
            let is_running =
                |table: &TableName| lock(&self.tables).get(table).is_some_and(|gate| gate.running > 0);
            if !defines || !pass.tables.iter().any(is_running) {
                return pass;
            }
            changed.await;
        }
    }

    /// Marks the gates of tables, if none of them is closed. Whether it has.
    fn begin(&self, tables: &[TableName], defines: bool) -> bool {
        let mut all = lock(&self.tables);
        let is_open = !tables.iter().any(|table| all.get(table).is_some_and(|gate| gate.is_closed));
        for table in tables.iter().filter(|_| is_open) {
            let gate = all.entry(table.clone()).or_default();
            gate.is_closed = defines;
            gate.running += usize::from(!defines);
        }
        is_open
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        let mut all = lock(&self.gates.tables);
        for table in &self.tables {
            let Some(gate) = all.get_mut(table) else { continue };
            if self.defines {
                gate.is_closed = false;
            } else {
                gate.running = gate.running.saturating_sub(1);
            }
            if gate.running == 0 && !gate.is_closed {
                all.remove(table);
            }
        }
        drop(all);
        self.gates.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn orders() -> Vec<TableName> {
        vec![("shop".to_owned(), "orders".to_owned())]
    }

    #[test]
    fn a_definition_waits_for_statements_and_statements_for_it() {
        let gates = Gates::default();
        let mut cx = Context::from_waker(Waker::noop());
        let Poll::Ready(running) = pin!(gates.pass(orders(), false)).poll(&mut cx) else {
            panic!("it is open")
        };
        let mut closing = pin!(gates.pass(orders(), true));
        assert!(closing.as_mut().poll(&mut cx).is_pending(), "a statement runs");
        let mut late = pin!(gates.pass(orders(), false));
        assert!(late.as_mut().poll(&mut cx).is_pending(), "a definition waits");
        drop(running);
        let Poll::Ready(closed) = closing.as_mut().poll(&mut cx) else { panic!("nothing runs") };
        assert!(late.as_mut().poll(&mut cx).is_pending(), "a definition runs");
        drop(closed);
        assert!(late.as_mut().poll(&mut cx).is_ready());
        assert!(lock(&gates.tables).is_empty(), "nothing is left of it");
    }
}
