//! Plans that a worker remembers of statements over sharded tables: by their outlines of those that
//! go to the shards of their keys, by their texts of others that several shards run.

use std::collections::HashMap;
use std::time::Duration;

use planner::plan::{Branch, Goes, Template};
use shard::{Layout, Value};
use sql::outline;
use sql::parse::Settings;

use crate::limits::{DEFINITION_AGE_MAX, REPEATED_BYTES_MAX, TEMPLATES_MAX};
use crate::scattered::Scattered;

/// What a plan holds for beside the text.
#[derive(Debug, Clone, Copy)]
pub struct Holds<'a> {
    /// The session's schema.
    pub schema: &'a [u8],
    /// How its texts are read.
    pub read: Settings,
    /// `sql_select_limit`, if it is not the largest number.
    pub select_limit: Option<u64>,
    /// The time, since the process has begun.
    pub now: Duration,
}

/// Plans by the hashes of outlines.
#[derive(Debug, Default)]
pub struct Templates {
    known: HashMap<u64, Known>,
    /// The hash of the last statement that had none: many come only once.
    missed: u64,
}

#[derive(Debug)]
struct Known {
    plan: Kept,
    schema: Box<[u8]>,
    read: Settings,
    select_limit: Option<u64>,
    made_at: Duration,
}

/// A plan that is remembered.
#[derive(Debug)]
pub enum Kept {
    /// That of all statements with one outline, or of executions of one text; with what is done if
    /// several shards run them, but for branches.
    Template(Template, Option<Box<Scattered>>),
    /// That of one text, which several shards run.
    Repeated(Box<[u8]>, Box<Scattered>),
}

/// What is to be done with a statement whose plan was remembered.
#[derive(Debug)]
pub enum Found {
    /// One shard runs it.
    One(Branch),
    /// Several shards run it.
    Many(Box<Scattered>),
}

impl Templates {
    /// Where a statement goes that is executed with these parameters; none if that is not known.
    pub fn find(
        &self,
        layout: &Layout,
        text: &[u8],
        parameters: &[Option<Value<'_>>],
        holds: Holds<'_>,
    ) -> Option<Found> {
        match self.plan(text, holds)? {
            Kept::Template(template, plan) => match template.goes(layout, text, parameters)? {
                Goes::One(branch) => Some(Found::One(branch)),
                Goes::Many(branches) => {
                    let plan = Scattered::clone(plan.as_ref()?);
                    Some(Found::Many(Box::new(Scattered { branches, ..plan })))
                }
            },
            Kept::Repeated(known, plan) => (**known == *text).then(|| Found::Many(plan.clone())),
        }
    }

    /// The shard that a statement goes to which is no execution; none if that is not known.
    pub fn branch(&self, layout: &Layout, text: &[u8], holds: Holds<'_>) -> Option<Branch> {
        let Kept::Template(template, None) = self.plan(text, holds)? else { return None };
        if let Goes::One(branch) = template.goes(layout, text, &[])? { Some(branch) } else { None }
    }

    fn plan(&self, text: &[u8], holds: Holds<'_>) -> Option<&Kept> {
        if self.known.is_empty() || text.len() > outline::BYTES_MAX {
            return None;
        }
        let known = self.known.get(&outline::hash(text))?;
        let is_young = holds.now.saturating_sub(known.made_at) < DEFINITION_AGE_MAX;
        let fits = is_young
            && known.read == holds.read
            && known.select_limit == holds.select_limit
            && *known.schema == *holds.schema;
        fits.then_some(&known.plan)
    }

    /// Remembers the plan of a statement that comes for the second time.
    pub fn learn(&mut self, text: &[u8], holds: Holds<'_>, plan: impl FnOnce() -> Option<Kept>) {
        let hash = outline::hash(text);
        if text.len() > outline::BYTES_MAX || std::mem::replace(&mut self.missed, hash) != hash {
            return;
        }
        let Some(plan) = plan().filter(|plan| plan.bytes() <= REPEATED_BYTES_MAX) else { return };
        if self.known.len() >= TEMPLATES_MAX {
            self.known.clear();
        }
        let Holds { schema, read, select_limit, now } = holds;
        self.known.insert(hash, Known { plan, schema: schema.into(), read, select_limit, made_at: now });
    }

    /// Definitions or the layout are others.
    pub fn clear(&mut self) {
        self.known.clear();
    }
}

impl Kept {
    /// Bytes of the texts for shards.
    fn bytes(&self) -> usize {
        match self {
            Self::Template(..) => 0,
            Self::Repeated(_, plan) => {
                plan.branches.iter().filter_map(|one| Some(one.text.as_ref()?.len())).sum()
            }
        }
    }
}
