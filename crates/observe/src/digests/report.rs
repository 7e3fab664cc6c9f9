//! The digests of all workers together.

use std::collections::BTreeMap;
use std::sync::Arc;

use config::in_turns;

use super::tally::Tally;
use super::{Copied, DIGESTS_PER_TURN, Names, Size, Table};
use crate::rows::DigestStats;

/// What is put together. Two that differ nearly always do so in the first number: the names are
/// seldom looked at.
type Key = (u64, u32, Names);

/// Of some digests, the text and what was counted.
type Tree = BTreeMap<Key, (Arc<[u8]>, Tally)>;

/// Trees in [`Sums`]: one for each first byte of a digest.
const TREES: usize = 1 << u8::BITS;

/// Tables that are being put together. Many small trees are never far from the cache as one of
/// 100,000 digests is, and a hash table of so many takes ten milliseconds at once to grow.
#[derive(Debug)]
pub struct Sums([Tree; TREES]);

impl Default for Sums {
    fn default() -> Self {
        Self([const { Tree::new() }; TREES])
    }
}

impl Sums {
    /// Adds a part of a worker's table.
    #[expect(clippy::indexing_slicing, reason = "there is a tree for each byte")]
    pub fn add(&mut self, part: Vec<Copied>) {
        for Copied { names, hostgroup, digest, text, tally } in part {
            let [first_byte, ..] = digest.to_be_bytes();
            self.0[usize::from(first_byte)]
                .entry((digest, hostgroup, names))
                .and_modify(|(_, sum)| sum.merge(&tally))
                .or_insert((text, tally));
        }
    }

    /// Adds a table that was taken from its worker.
    pub fn add_table(&mut self, table: &Table, times: bool) {
        let mut next = Some(0);
        while let Some(from) = next {
            let (part, behind) = table.slice(from, DIGESTS_PER_TURN, times);
            self.add(part);
            next = behind;
        }
    }

    /// What there is of each digest, by digest, hostgroup, user, schema and client, in this order.
    pub fn finish(self) -> Vec<DigestStats> {
        in_turns(self.0.into_iter().flatten())
            .map(|((digest, hostgroup, names), (text, tally))| DigestStats {
                hostgroup,
                schema: names.schema,
                user: names.user,
                client: names.client,
                digest,
                text,
                count: tally.count,
                first_seen: tally.first_s.into(),
                last_seen: tally.last_s.into(),
                sum_us: tally.sum_us,
                min_us: tally.min_us,
                max_us: tally.max_us,
                rows_affected: tally.rows_affected,
                rows_sent: tally.rows_sent,
                bytes_received: tally.bytes_received,
                bytes_sent: tally.bytes_sent,
                errors: tally.errors,
                percentiles_us: tally.percentiles(),
            })
            .collect()
    }
}

/// The sizes of the tables of all workers together.
pub fn size(workers: impl IntoIterator<Item = Size>) -> Size {
    workers.into_iter().fold(Size::default(), |sum, size| Size {
        bytes: sum.bytes + size.bytes,
        entries: sum.entries + size.entries,
        evicted: sum.evicted + size.evicted,
    })
}
