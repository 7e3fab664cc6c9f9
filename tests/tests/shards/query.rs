//! Queries, which print themselves and can be made smaller.

use std::fmt;

use testkit::client::Value;

use crate::expression::{self, Expression};

/// A query.
#[derive(Debug, Clone, Default)]
pub(crate) struct Query {
    /// What stands in front: WITH.
    pub(crate) prefix: String,
    /// What follows the word SELECT: hints, DISTINCT.
    pub(crate) options: String,
    pub(crate) items: Vec<Item>,
    pub(crate) sources: Vec<Source>,
    pub(crate) filters: Vec<Expression>,
    pub(crate) groups: Vec<Expression>,
    pub(crate) having: Option<Expression>,
    /// A set operation with another query behind it.
    pub(crate) union: Option<(&'static str, Box<Self>)>,
    pub(crate) order: Vec<Term>,
    /// The offset and the count.
    pub(crate) limit: Option<(u64, u64)>,
    /// Whether the answer may have any of several texts that are equal.
    pub(crate) is_loose: bool,
    /// Whether it is prepared, with placeholders for the values of its conditions.
    pub(crate) is_prepared: bool,
}

/// A query as it is sent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Written {
    pub(crate) sql: String,
    /// The values of a prepared statement.
    pub(crate) values: Option<Vec<Value>>,
}

impl Written {
    /// A text with its literals, or prepared with placeholders for some of them.
    pub(crate) fn of(text: &str, is_prepared: bool) -> Self {
        if is_prepared {
            let (sql, values) = expression::with_placeholders(text);
            return Self { sql, values: Some(values) };
        }
        Self { sql: expression::with_literals(text), values: None }
    }
}

/// An item of a select list.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub(crate) expression: Expression,
    pub(crate) alias: Option<String>,
}

/// A table of FROM.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// What joins it with those in front of it; nothing for the first one.
    pub(crate) join: &'static str,
    pub(crate) table: String,
    /// `ON` and `USING` with what follows.
    pub(crate) on: Option<Expression>,
}

/// A term of ORDER BY.
#[derive(Debug, Clone)]
pub(crate) struct Term {
    /// As it is written: an alias, say.
    pub(crate) written: Expression,
    /// What it means, for a window.
    pub(crate) meant: Expression,
    pub(crate) direction: &'static str,
}

impl Query {
    /// The query whose last column is the place of each row: rows that ORDER BY has equal have the
    /// same place. Without LIMIT.
    pub(crate) fn ranked(&self) -> Written {
        let terms: Vec<_> =
            self.order.iter().map(|term| format!("{}{}", term.meant, term.direction)).collect();
        let rank = if terms.is_empty() {
            "0".to_owned()
        } else {
            format!("DENSE_RANK() OVER (ORDER BY {})", terms.join(", "))
        };
        let mut ranked = Self { limit: None, order: Vec::new(), ..self.clone() };
        // MariaDB takes a name in a window for an alias.
        ranked.items.iter_mut().for_each(|item| item.alias = None);
        ranked.items.push(Item { expression: Expression::leaf(rank), alias: Some("place".to_owned()) });
        ranked.written()
    }

    /// What is sent.
    pub(crate) fn written(&self) -> Written {
        Written::of(&self.to_string(), self.is_prepared)
    }

    /// Smaller queries.
    pub(crate) fn smaller(&self) -> Vec<Self> {
        let mut all = Vec::new();
        let mut add = |change: &dyn Fn(&mut Self)| {
            let mut other = self.clone();
            change(&mut other);
            all.push(other);
        };
        add(&|query| query.is_prepared = false);
        add(&|query| query.limit = None);
        add(&|query| query.union = None);
        add(&|query| query.having = None);
        add(&|query| query.order.clear());
        add(&|query| query.filters.clear());
        add(&|query| query.options.clear());
        for at in 0..self.sources.len() {
            add(&|query| drop(query.sources.remove(at)));
        }
        for at in 0..self.filters.len() {
            add(&|query| drop(query.filters.remove(at)));
        }
        for at in 0..self.order.len() {
            add(&|query| drop(query.order.remove(at)));
        }
        for at in 0..self.groups.len() {
            add(&|query| drop(query.groups.remove(at)));
        }
        for at in 0..self.items.len() {
            add(&|query| drop(query.items.remove(at)));
        }
        for (at, filter) in self.filters.iter().enumerate() {
            for smaller in filter.smaller() {
                add(&|query| query.filters[at] = smaller.clone());
            }
        }
        for (at, item) in self.items.iter().enumerate() {
            for smaller in item.expression.smaller() {
                add(&|query| query.items[at].expression = smaller.clone());
            }
        }
        all.retain(|query| !query.items.is_empty() && !query.sources.is_empty());
        let len = |query: &Self| query.to_string().len() + usize::from(query.is_prepared);
        let own = len(self);
        all.retain(|query| len(query) < own);
        all
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}SELECT {}", self.prefix, self.options)?;
        listed(f, &self.items, ", ")?;
        f.write_str(" FROM ")?;
        for (at, Source { join, table, on }) in self.sources.iter().enumerate() {
            let join = if at == 0 { "" } else { join };
            write!(f, "{join}{table}")?;
            if let Some(on) = on.as_ref().filter(|_| at > 0) {
                write!(f, "{on}")?;
            }
        }
        clause(f, " WHERE ", &self.filters, " AND ")?;
        clause(f, " GROUP BY ", &self.groups, ", ")?;
        if let Some(having) = &self.having {
            write!(f, " HAVING {having}")?;
        }
        if let Some((operator, other)) = &self.union {
            write!(f, " {operator} {other}")?;
        }
        clause(f, " ORDER BY ", &self.order, ", ")?;
        match self.limit {
            None => Ok(()),
            Some((0, count)) => write!(f, " LIMIT {count}"),
            Some((offset, count)) if count % 2 == 0 => write!(f, " LIMIT {count} OFFSET {offset}"),
            Some((offset, count)) => write!(f, " LIMIT {offset}, {count}"),
        }
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.expression)?;
        self.alias.as_ref().map_or(Ok(()), |alias| write!(f, " AS {alias}"))
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.written, self.direction)
    }
}

fn clause(
    f: &mut fmt::Formatter<'_>,
    word: &str,
    parts: &[impl fmt::Display],
    separator: &str,
) -> fmt::Result {
    if parts.is_empty() {
        return Ok(());
    }
    f.write_str(word)?;
    listed(f, parts, separator)
}

fn listed(f: &mut fmt::Formatter<'_>, parts: &[impl fmt::Display], separator: &str) -> fmt::Result {
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            f.write_str(separator)?;
        }
        write!(f, "{part}")?;
    }
    Ok(())
}
