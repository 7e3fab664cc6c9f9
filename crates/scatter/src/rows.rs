//! The rows of all shards, in the order of the statement, within its limit.

use planner::merge::{Columns, Fate, Key, Merge, Order, Protocol, Step, Window};
use planner::seen::Cells;

use super::fault::Wrong;
use super::shard::{Next, Shard};
use super::writer::Writer;
use super::{Failure, What};
use crate::limits::SCATTER_OUT_BYTES_MAX;

/// Rows on their way to the client.
#[derive(Debug)]
pub(super) struct Rows {
    way: Way,
    cut: Cut,
}

/// Which row is next.
#[derive(Debug)]
enum Way {
    /// Any that is there. The shards take turns, `turn` is next.
    AnyOrder { turn: usize },
    /// The smallest one.
    Merged(Merge),
}

/// What the client gets of the rows.
#[derive(Debug)]
struct Cut {
    columns: Columns,
    window: Window,
    count: Count,
    /// Names that are replaced in rows.
    cells: Cells,
    protocol: Protocol,
}

/// How many rows there were.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Count {
    /// Rows that the client has got.
    pub(super) sent: u64,
    /// The same, and the rows in front of the offset.
    pub(super) found: u64,
}

/// How far the rows have come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Passed {
    /// A shard has to send more, or has ended with an error.
    Wait,
    /// The client has to take what is there.
    Full,
    /// The client has all rows. Shards may have more.
    All,
}

impl Rows {
    /// Rows with these columns, in this order, before the first one.
    pub(super) fn new(columns: Columns, order: Order, what: &What, shards: usize) -> Self {
        let (window, cells, protocol) = (what.window, what.cells.clone(), what.protocol);
        let way =
            if order.is_empty() { Way::AnyOrder { turn: 0 } } else { Way::Merged(Merge::new(order, shards)) };
        Self { way, cut: Cut { columns, window, count: Count::default(), cells, protocol } }
    }

    /// How many rows there were so far.
    pub(super) const fn count(&self) -> Count {
        self.cut.count
    }

    /// Whether the limit of the statement is reached.
    pub(super) const fn is_limit_reached(&self) -> bool {
        self.cut.window.is_over()
    }

    /// Appends rows to `out`, as far as shards have sent them.
    pub(super) fn pass(
        &mut self,
        shards: &mut [Shard],
        writer: &mut Writer,
        out: &mut Vec<u8>,
    ) -> Result<Passed, Failure> {
        match &mut self.way {
            Way::AnyOrder { turn } => any_order(turn, &mut self.cut, shards, writer, out),
            Way::Merged(merge) => merged(merge, &mut self.cut, shards, writer, out),
        }
    }
}

/// Passes rows as they come. No shard waits for another one.
fn any_order(
    turn: &mut usize,
    cut: &mut Cut,
    shards: &mut [Shard],
    writer: &mut Writer,
    out: &mut Vec<u8>,
) -> Result<Passed, Failure> {
    let mut passed = Passed::All;
    for _ in 0..shards.len() {
        let at = *turn;
        *turn = (at + 1) % shards.len();
        let Some(shard) = shards.get_mut(at) else { continue };
        loop {
            if let Some(stop) = cut.stop(out) {
                return Ok(stop);
            }
            match cut.take(shard, writer, out).map_err(|wrong| Failure::Wrong(at, wrong))? {
                Next::Row(_) => {}
                Next::Ended => break,
                Next::Wait => {
                    passed = Passed::Wait;
                    break;
                }
            }
        }
    }
    Ok(passed)
}

/// Passes the smallest row of all shards, again and again.
fn merged(
    merge: &mut Merge,
    cut: &mut Cut,
    shards: &mut [Shard],
    writer: &mut Writer,
    out: &mut Vec<u8>,
) -> Result<Passed, Failure> {
    loop {
        if let Some(stop) = cut.stop(out) {
            return Ok(stop);
        }
        match merge.step() {
            Step::Over => return Ok(Passed::All),
            Step::Row(at) => {
                let Some(shard) = shards.get_mut(at) else { continue };
                cut.take(shard, writer, out).map_err(|wrong| Failure::Wrong(at, wrong))?;
            }
            Step::Wait(at) => {
                // Most often, the shard of the last row has the next one already.
                let is_there = look_at(at, merge, cut, shards)?;
                if !is_there && !look_at_all(merge, cut, shards)? {
                    return Ok(Passed::Wait);
                }
            }
        }
    }
}

/// Gives the merge the next row of each shard that it knows none of. Whether there is any.
fn look_at_all(merge: &mut Merge, cut: &Cut, shards: &mut [Shard]) -> Result<bool, Failure> {
    let mut is_any = false;
    for at in 0..shards.len() {
        is_any |= look_at(at, merge, cut, shards)?;
    }
    Ok(is_any)
}

/// Gives the merge the next row of a shard, or its end. Whether either is there.
fn look_at(at: usize, merge: &mut Merge, cut: &Cut, shards: &mut [Shard]) -> Result<bool, Failure> {
    let Some(shard) = shards.get_mut(at).filter(|_| merge.wants(at)) else { return Ok(false) };
    match shard.next_row().map_err(|wrong| Failure::Wrong(at, wrong))? {
        Next::Wait => return Ok(false),
        // The rows behind an error are not known: the merge stands still.
        Next::Ended if shard.refusal().is_some() => return Ok(false),
        Next::Ended => merge.end(at),
        Next::Row(row) => {
            let payload = shard.payload(row);
            let columns = shard.columns.as_deref().unwrap_or(&cut.columns);
            let read = |key: &mut Key| columns.read_key(&payload, key);
            merge.set_head(at, read).map_err(|error| Failure::Wrong(at, error.into()))?;
        }
    }
    Ok(true)
}

impl Cut {
    /// Why no more rows are passed now.
    const fn stop(&self, out: &[u8]) -> Option<Passed> {
        match (self.window.is_over(), out.len() >= SCATTER_OUT_BYTES_MAX) {
            (true, _) => Some(Passed::All),
            (false, true) => Some(Passed::Full),
            (false, false) => None,
        }
    }

    /// Takes the next row of a shard, and gives the client its part of it. What was there.
    fn take(&mut self, shard: &mut Shard, writer: &mut Writer, out: &mut Vec<u8>) -> Result<Next, Wrong> {
        let next = shard.next_row()?;
        let Next::Row(row) = next else { return Ok(next) };
        let fate = self.window.take();
        if fate == Fate::Sent {
            let payload = shard.payload(row);
            let columns = shard.columns.as_deref().unwrap_or(&self.columns);
            if self.cells == Cells::Plain {
                writer.with(out, |out| columns.put_visible(&payload, out))?;
            } else {
                let row = self.cells.row(self.protocol, columns.visible(), &shard.source.names, &payload);
                writer.with(out, |out| columns.put_visible(&row, out))?;
            }
            self.count.sent += 1;
        }
        if fate != Fate::Beyond {
            self.count.found += 1;
        }
        shard.pass(row);
        Ok(next)
    }
}
