//! Names to choose from, and how each kind of algorithm chooses.

use super::level;
use crate::pattern::Pattern;
use crate::placement::sphere::Inline;
use crate::placement::{Function, Intervals, Level, Step};
use crate::prune::{Shard, Shards};
use crate::read::sphere::algorithm::Algorithm;

/// Names of data sources or tables, each with its nodes.
pub(super) struct Targets {
    names: Vec<String>,
    nodes: Vec<Shards>,
    /// What the first name has in front of its number.
    prefix: String,
    /// Digits of the shortest number.
    digits: usize,
}

impl Targets {
    /// The different names among those of all nodes, in their order. Names of tables may begin with
    /// that of the logical table, whose digits do not count.
    pub(super) fn of(names: &[String], logical: Option<&str>) -> Self {
        let mut targets = Self { names: Vec::new(), nodes: Vec::new(), prefix: String::new(), digits: 1 };
        for (name, node) in names.iter().zip(0..) {
            let known = targets.names.iter().position(|known| known == name);
            if let Some(nodes) = known.and_then(|at| targets.nodes.get_mut(at)) {
                nodes.insert(node);
            } else {
                targets.names.push(name.clone());
                targets.nodes.push(Shards::one(node));
            }
        }
        if let Some(first) = names.first() {
            let own = logical.filter(|logical| first.starts_with(logical)).unwrap_or_default();
            let behind = first.strip_prefix(own).unwrap_or(first);
            targets.prefix = format!("{own}{}", behind.trim_end_matches(|c: char| c.is_ascii_digit()));
            let digits = |name: &String| name.len().saturating_sub(targets.prefix.len());
            targets.digits = names.iter().map(digits).min().unwrap_or(1);
        }
        targets
    }

    /// Whether a name is that of several nodes.
    pub(super) fn has_shared(&self) -> bool {
        self.nodes.iter().any(|nodes| nodes.as_slice().len() > 1)
    }

    /// The level that chooses among the names, or why the algorithm does not fit them.
    pub(super) fn level(self, algorithm: Algorithm, columns: Vec<usize>) -> Result<Level, String> {
        match algorithm {
            Algorithm::Numbered { function, digits } => {
                let of_number = |number| self.of_number(number, digits);
                let nodes = (0..function.shards()).map(of_number).collect::<Result<Vec<_>, _>>()?;
                match self.names.iter().zip(&self.nodes).find(|(_, of)| !nodes.contains(of)) {
                    Some((name, _)) => Err(format!("{name} is the node of no shard")),
                    None => Ok(level(function, columns, nodes)),
                }
            }
            Algorithm::Named(template) => {
                let function = Function::Inline(Inline::new(template, &self.names));
                Ok(level(function, columns, self.nodes))
            }
            Algorithm::Timed { beginnings, step, suffix } => {
                let function = Function::Intervals(self.intervals(&beginnings, step, &suffix)?);
                Ok(level(function, columns, self.nodes))
            }
        }
    }

    /// The nodes of a number.
    fn of_number(&self, number: usize, digits: usize) -> Result<Shards, String> {
        let suffix = format!("{number:0digits$}");
        let name = format!("{}{suffix:0>width$}", self.prefix, width = self.digits);
        let at = self.names.iter().position(|known| *known == name);
        let nodes = at.and_then(|at| self.nodes.get(at)).cloned();
        nodes.ok_or_else(|| format!("shard {number} would be {name}, which is not among the nodes"))
    }

    /// Intervals with the names that end in their suffix. Intervals before the first name and after
    /// the last have no shard.
    fn intervals(
        &self,
        beginnings: &[crate::calendar::DateTime],
        step: Step,
        suffix: &Pattern,
    ) -> Result<Intervals, String> {
        let mut found = Vec::new();
        let mut missing = None;
        for time in beginnings {
            let suffix = suffix.format(*time);
            let mut named = self.names.iter().zip(0..).filter(|(name, _)| name.ends_with(&suffix));
            match (named.next(), named.next(), &missing) {
                (Some((one, _)), Some((other, _)), _) => {
                    return Err(format!("{one} and {other} both end in {suffix}"));
                }
                (Some((_, _)), None, Some(gap)) if !found.is_empty() => {
                    return Err(format!("no node ends in {gap}, but one does in {suffix}"));
                }
                (Some((_, shard)), None, _) => {
                    missing = None;
                    found.push((*time, shard));
                }
                (None, ..) => missing = Some(suffix),
            }
        }
        let used: Shards = found.iter().map(|(_, shard): &(_, Shard)| *shard).collect();
        if let Some((unused, _)) =
            self.names.iter().zip(0..).find(|(_, shard)| !used.as_slice().contains(shard))
        {
            return Err(format!("no interval ends in the suffix of {unused}"));
        }
        Intervals::new(&found, step).ok_or_else(|| "no node ends in the suffix of an interval".to_owned())
    }
}
