//! The first packets of the client's reply, and shards that begin behind them.

use planner::merge::{Columns, ColumnsError};
use wire::{Codec as _, StatusFlags};

use super::fault::Wrong;
use super::rows::Rows;
use super::shard::Shard;
use super::{Failure, Kind, Scatter, State, definitions};

impl Scatter {
    /// Begins the client's reply as soon as all shards have begun theirs. Whether it has begun.
    ///
    /// A result does not wait for shards that follow others in their session.
    pub(super) fn begin(&mut self, out: &mut Vec<u8>) -> Result<bool, Failure> {
        let (mut are_all_begun, mut are_firsts_begun) = (true, true);
        for (at, shard) in self.shards.iter_mut().enumerate() {
            let is_begun = shard.begin().map_err(|wrong| Failure::Wrong(at, wrong))?;
            are_all_begun &= is_begun;
            are_firsts_begun &= is_begun || shard.turn.follows;
        }
        self.check()?;
        let is_result = self.shards.first().is_some_and(Shard::has_rows);
        let may_begin = if is_result { are_firsts_begun } else { are_all_begun };
        if !may_begin {
            return Ok(false);
        }
        let is_other = |shard: &Shard| shard.has_begun() && shard.has_rows() != is_result;
        if let Some(at) = self.shards.iter().position(is_other) {
            return Err(Failure::Wrong(at, Wrong::Kind));
        }
        match (self.what.kind, is_result) {
            (Kind::Prepared { id }, _) => self.end_prepared(id, out)?,
            (Kind::Result, true) => self.begin_rows(out)?,
            (Kind::Result, false) => self.end(None, out)?,
        }
        Ok(true)
    }

    /// Takes the rows of shards that begin behind the client's result.
    pub(super) fn admit(&mut self) -> Result<(), Failure> {
        let (caps, form) = (self.what.shard_caps, (self.what.protocol, self.what.order.len()));
        for (at, shard) in self.shards.iter_mut().enumerate().filter(|(_, shard)| !shard.is_admitted) {
            let wrong = |wrong| Failure::Wrong(at, wrong);
            if !shard.begin().map_err(wrong)? || shard.refusal().is_some() {
                continue;
            }
            if !shard.has_rows() {
                return Err(wrong(Wrong::Kind));
            }
            let own = std::mem::take(&mut shard.definitions);
            let told = definitions::decode(&self.columns, caps).map_err(wrong)?;
            definitions::check(&told, &own, caps).map_err(wrong)?;
            shard.columns = definitions::own_columns(&told, &own, form, caps).map_err(wrong)?;
            shard.is_admitted = true;
        }
        Ok(())
    }

    /// Fails if a shard may not send more, and another one waits in the same session for its end.
    pub(super) fn check_kept(&self) -> Result<(), Failure> {
        for (at, shard) in self.shards.iter().enumerate().filter(|(_, shard)| shard.turn.is_followed) {
            let waits = |other: &Shard| other.source.session == shard.source.session && !other.has_begun();
            let followers = self.shards.get(at + 1..).unwrap_or_default();
            if shard.is_open() && self.room(at) == 0 && followers.iter().any(waits) {
                return Err(Failure::Wrong(at, Wrong::Kept));
            }
        }
        Ok(())
    }

    /// Writes the columns of the result.
    fn begin_rows(&mut self, out: &mut Vec<u8>) -> Result<(), Failure> {
        let order = self.what.order.clone();
        let united = definitions::unite(&self.shards, self.what.shard_caps)?;
        let wrong = |error: ColumnsError| Failure::Wrong(0, error.into());
        let columns = Columns::new(self.what.protocol, &united, order.len()).map_err(wrong)?;
        if columns.visible() == 0 {
            return Err(wrong(ColumnsError::TooFew { columns: united.len(), keys: order.len() }));
        }
        self.writer.begin(columns.visible(), out);
        let names = self.shards.first().map(|shard| &*shard.source.names);
        let status = self.shards.iter().fold(StatusFlags::empty(), |all, shard| all | shard.status);
        self.writer.definitions(united.iter().take(columns.visible()), names, status, out);
        let (caps, form) = (self.what.shard_caps, (self.what.protocol, order.len()));
        let own = |(at, shard): (usize, &Shard)| {
            definitions::own_columns(&united, &shard.definitions, form, caps)
                .map_err(|wrong| Failure::Wrong(at, wrong))
        };
        let begun = self.shards.iter().enumerate().filter(|(_, shard)| shard.has_begun());
        let mut all = begun.map(own).collect::<Result<Vec<_>, _>>()?.into_iter();
        if all.len() < self.shards.len() {
            self.columns = united.iter().map(|column| column.encode(caps).into()).collect();
        }
        for shard in self.shards.iter_mut().filter(|shard| shard.has_begun()) {
            shard.is_admitted = true;
            shard.columns = all.next().flatten();
            shard.definitions = Vec::new();
        }
        let rows = Rows::new(columns, order, &self.what, self.shards.len());
        self.state = State::Rows(Box::new(rows));
        Ok(())
    }
}
