//! A command that runs a statement, and what shards get of it.

use std::rc::Rc;

use command::renumber;
use planner::plan::Branch;
use route::StatementPlan;
use shard::Value;
use sql::shape::Effects;
use wire::command::{Kind, StmtExecute};
use wire::{Capabilities, Codec as _, frame};

use crate::shards::prepared::{Context, Statement};
use crate::shards::values::params;

/// Where the flags of an execution are in its payload.
const FLAGS: usize = 5;

/// What of them asks for a cursor.
pub(crate) const CURSORS: u8 = 7;

/// What may ask for `LAST_INSERT_ID()`, or set it.
const ASKS: Effects = Effects::LAST_INSERT_ID.union(Effects::FUNCTION).union(Effects::UNKNOWN);

/// What of a statement's effects may change rows.
const WRITES: Effects = Effects::WRITES.union(Effects::UNKNOWN).union(Effects::FUNCTION);

/// A command that runs a statement.
#[derive(Debug)]
pub struct Command<'v> {
    /// `Kind::Query` or `Kind::StmtExecute`.
    pub kind: Kind,
    /// The command as the client has sent it; of an execution with types.
    pub payload: Vec<u8>,
    /// The statement.
    pub text: Vec<u8>,
    /// What follows from its shape.
    pub what: StatementPlan,
    /// Of an execution, the number of the statement, and the values.
    pub execution: Option<(u32, Vec<Option<Value<'v>>>)>,
    /// Of an execution, what its text means, which was read before.
    pub context: Option<Rc<Context>>,
}

impl<'v> Command<'v> {
    /// A `COM_QUERY`.
    pub fn query(payload: Vec<u8>, text: Vec<u8>, what: StatementPlan) -> Self {
        Self { kind: Kind::Query, payload, text, what, execution: None, context: None }
    }

    /// The values of an execution, by the numbers of parameters; nothing for those that the planner
    /// cannot compute with.
    pub fn parameters(&self) -> &[Option<Value<'v>>] {
        self.execution.as_ref().map_or(&[], |(_, values)| values)
    }

    /// The packets of this query with another text.
    pub fn with_text(&self, text: Option<&[u8]>) -> Vec<u8> {
        let head = self.payload.len().saturating_sub(self.text.len());
        let head = self.payload.get(..head).unwrap_or_default();
        frame::command(&[head, text.unwrap_or(&self.text)].concat())
    }

    /// The packets of this execution of a statement with the number `id`, which has the parameters
    /// of a branch. None if parameters cannot be taken out.
    pub fn executing(
        &self,
        id: u32,
        statement: &Statement,
        branch: &Branch,
        caps: Capabilities,
    ) -> Option<Vec<u8>> {
        let mut payload = match &branch.placeholders {
            None => self.payload.clone(),
            Some(_) if !statement.parts.is_empty() => return None,
            Some(kept) => {
                with_params(&StmtExecute::decode(&self.payload, caps).ok()?, statement, kept, caps)?
            }
        };
        renumber(&mut payload, id);
        Some(frame::command(&payload))
    }

    /// Whether it asks for a cursor.
    pub(crate) fn opens_cursor(&self) -> bool {
        self.execution.is_some() && self.payload.get(FLAGS).is_some_and(|flags| flags & CURSORS != 0)
    }

    /// It asks for no cursor: servers may answer with all rows.
    pub fn close_cursor(&mut self) {
        if let Some(flags) = self.payload.get_mut(FLAGS).filter(|_| self.execution.is_some()) {
            *flags &= !CURSORS;
        }
    }

    /// Whether it defines tables: servers commit before it, and it is part of no transaction.
    pub fn defines(&self) -> bool {
        self.what.effects.intersects(Effects::COMMITS)
    }

    /// Whether it may change rows.
    pub fn writes(&self) -> bool {
        self.what.effects.intersects(WRITES)
    }

    /// Whether it may ask for `LAST_INSERT_ID()`.
    pub fn asks_last_id(&self) -> bool {
        self.what.effects.intersects(ASKS)
    }

    /// Whether it may ask for `LAST_INSERT_ID()`, or tell by it whether it has changed.
    pub fn needs_last_id(&self) -> bool {
        self.what.effects.intersects(Effects::NEEDS_LAST_INSERT_ID)
    }
}

/// The payload of an execution with the types of its parameters, which may have come with another
/// one before it. None if they have never come.
pub fn with_types(execute: &StmtExecute<'_>, statement: &Statement, caps: Capabilities) -> Option<Vec<u8>> {
    let params = execute.params(statement.params, caps).ok()?;
    if params.types.is_some() || params.count == 0 {
        return Some(execute.encode(caps));
    }
    // Attributes come with their types.
    let types = statement.types.as_deref().filter(|_| params.count == usize::from(statement.params))?;
    Some(put(execute, params.count, params.nulls, types, params.values, caps))
}

/// The payload of an execution that has only these of its parameters.
fn with_params(
    execute: &StmtExecute<'_>,
    statement: &Statement,
    kept: &[u32],
    caps: Capabilities,
) -> Option<Vec<u8>> {
    let named = caps.contains(Capabilities::QUERY_ATTRIBUTES);
    let all = params(execute, statement, caps)?;
    let (mut nulls, mut types, mut values) = (vec![0; kept.len().div_ceil(8)], Vec::new(), Vec::new());
    for (place, number) in kept.iter().enumerate() {
        let (code, value) = all.get(usize::try_from(*number).ok()?)?;
        types.extend(code.to_le_bytes());
        if named {
            types.push(0);
        }
        match value {
            Some(value) => values.extend_from_slice(value),
            None => *nulls.get_mut(place / 8)? |= 1 << (place % 8),
        }
    }
    Some(put(execute, kept.len(), &nulls, &types, &values, caps))
}

/// The payload of an execution with these parameters, and no attributes.
fn put(
    execute: &StmtExecute<'_>,
    count: usize,
    nulls: &[u8],
    types: &[u8],
    values: &[u8],
    caps: Capabilities,
) -> Vec<u8> {
    let named = caps.contains(Capabilities::QUERY_ATTRIBUTES);
    let flags = if named { execute.flags | StmtExecute::PARAM_COUNT } else { execute.flags };
    let mut raw = Vec::new();
    if named {
        wire::codec::put_lenenc(&mut raw, count as u64);
    }
    if count > 0 {
        raw.extend_from_slice(nulls);
        raw.push(1);
        raw.extend_from_slice(types);
        raw.extend_from_slice(values);
    }
    StmtExecute { flags, raw_params: &raw, ..*execute }.encode(caps)
}
