//! Plans that a worker remembers of statements over sharded tables, by their outlines.

use std::collections::HashMap;
use std::time::Duration;

use shard::plan::{Branch, Template};
use shard::{Layout, Value};
use sql::outline;
use sql::parse::Settings;

use crate::limits::{DEFINITION_AGE_MAX, TEMPLATES_MAX};

/// What a template holds for beside the text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Holds<'a> {
    /// The session's schema.
    pub(crate) schema: &'a [u8],
    /// How its texts are read.
    pub(crate) read: Settings,
    /// The time, since the process has begun.
    pub(crate) now: Duration,
}

/// Plans by the hashes of outlines.
#[derive(Debug, Default)]
pub(crate) struct Templates {
    known: HashMap<u64, Known>,
    /// The hash of the last statement that had none: many come only once.
    missed: u64,
}

#[derive(Debug)]
struct Known {
    template: Template,
    schema: Box<[u8]>,
    read: Settings,
    made_at: Duration,
}

impl Templates {
    /// Where a statement goes that is executed with these parameters; none if that is not known.
    pub(crate) fn branch(
        &self,
        layout: &Layout,
        text: &[u8],
        parameters: &[Option<Value<'_>>],
        holds: Holds<'_>,
    ) -> Option<Branch> {
        if self.known.is_empty() || text.len() > outline::BYTES_MAX {
            return None;
        }
        let known = self.known.get(&outline::hash(text))?;
        let is_young = holds.now.saturating_sub(known.made_at) < DEFINITION_AGE_MAX;
        let fits = is_young && known.read == holds.read && *known.schema == *holds.schema;
        if fits { known.template.branch(layout, text, parameters) } else { None }
    }

    /// Remembers the plan of a statement that comes for the second time.
    pub(crate) fn learn(
        &mut self,
        text: &[u8],
        holds: Holds<'_>,
        template: impl FnOnce() -> Option<Template>,
    ) {
        let hash = outline::hash(text);
        if text.len() > outline::BYTES_MAX || std::mem::replace(&mut self.missed, hash) != hash {
            return;
        }
        let Some(template) = template() else { return };
        if self.known.len() >= TEMPLATES_MAX {
            self.known.clear();
        }
        let Holds { schema, read, now } = holds;
        self.known.insert(hash, Known { template, schema: schema.into(), read, made_at: now });
    }

    /// Definitions or the layout are others.
    pub(crate) fn clear(&mut self) {
        self.known.clear();
    }
}
