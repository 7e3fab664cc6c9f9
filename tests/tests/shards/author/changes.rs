//! Statements that change rows.
//!
//! Their conditions convert nothing: in strict mode a conversion with a warning is an error, and
//! whether a condition is evaluated depends on the way of the execution.

use crate::expression;
use crate::query::Written;
use crate::tables::{KEY_AT, Table};
use crate::types::{self, Type};

use super::Author;

/// The first id that no row has.
const NEW_ID: usize = 1_000;

impl Author<'_> {
    /// The next change.
    pub(crate) fn change(&mut self) -> Written {
        let table = self.dice.below(3);
        let text = match self.dice.below(100) {
            0..34 => self.insertion(table),
            34..56 => self.update(table),
            56..74 => self.deletion(table),
            74..84 => self.change_by_join(),
            84..92 => self.insertion_of_rows(table),
            _ => self.change_of_reference(),
        };
        let is_prepared = self.dice.chance(40);
        Written::of(&text, is_prepared)
    }

    /// The values of a row: of one that is there, with another content, or of a new one.
    fn values(&mut self, table: &Table) -> Vec<String> {
        let old = self.dice.pick(&table.rows).clone();
        self.inserted += 1;
        let mut row = table.row(&mut self.dice, NEW_ID + self.inserted).values;
        if self.dice.chance(25) {
            row[0].clone_from(&old.values[0]);
            row[KEY_AT].clone_from(&old.values[KEY_AT]);
        }
        for value in row.iter_mut().take(KEY_AT + 1) {
            *value = expression::value(value);
        }
        row
    }

    fn insertion(&mut self, table: usize) -> String {
        let table = self.tables[table].clone();
        let count = self.dice.within(1..6);
        // The last columns may be left out if they have a default.
        let optional = table.columns.iter().rev().take_while(|column| column.is_nullable).count();
        let left_out = if self.dice.chance(40) { self.dice.below(optional + 1) } else { 0 };
        let kept = table.columns.len() - left_out;
        let names: Vec<_> = table.columns.iter().take(kept).map(|column| column.name.clone()).collect();
        let columns = if left_out > 0 || self.dice.chance(30) {
            format!(" ({})", names.join(", "))
        } else {
            String::new()
        };
        let tuples: Vec<_> = (0..count)
            .map(|_| {
                let mut values = self.values(&table);
                values.truncate(kept);
                format!("({})", values.join(", "))
            })
            .collect();
        let (word, end) = match self.dice.below(10) {
            0..2 => ("REPLACE INTO", ""),
            2 => ("REPLACE", ""),
            3..5 => ("INSERT INTO", " ON DUPLICATE KEY UPDATE cc = 7"),
            5 => ("INSERT IGNORE INTO", ""),
            _ => ("INSERT INTO", ""),
        };
        if count == 1 && self.dice.chance(20) {
            let values = self.values(&table);
            let pairs: Vec<_> =
                names.iter().zip(values).map(|(name, value)| format!("{name} = {value}")).collect();
            return format!("{word} {} SET {}{end}", table.name, pairs.join(", "));
        }
        let values = self.dice.pick(&["VALUES", "VALUE", "values"]);
        format!("{word} {}{columns} {values} {}{end}", table.name, tuples.join(", "))
    }

    /// Rows of a query of the same key.
    fn insertion_of_rows(&mut self, table: usize) -> String {
        let table = self.tables[table].clone();
        let condition = self.exact_condition(&table, "");
        let rest: Vec<_> = table.columns.iter().skip(1).map(|column| column.name.clone()).collect();
        self.inserted += 100;
        let [name, id, rest] = [table.name.to_owned(), (NEW_ID + self.inserted).to_string(), rest.join(", ")];
        match self.dice.below(3) {
            0 => format!("REPLACE INTO {name} SELECT * FROM {name} WHERE {condition}"),
            1 => format!("INSERT INTO {name} SELECT id + {id}, {rest} FROM {name} WHERE {condition}"),
            _ => format!(
                "INSERT INTO {name} SELECT * FROM {name} t WHERE t.id > 0 ON DUPLICATE KEY UPDATE {name}.cc = 3"
            ),
        }
    }

    fn update(&mut self, table: usize) -> String {
        let table = self.tables[table].clone();
        let assignment = self.assignment(&table);
        let condition = self.exact_condition(&table, "");
        let end = self.limit(&table);
        format!("UPDATE {} SET {assignment} WHERE {condition}{end}", table.name)
    }

    /// The clauses of a change that may concern the first rows only. Ids make an order certain;
    /// without one all rows are the first.
    fn limit(&mut self, table: &Table) -> String {
        if self.dice.chance(70) {
            return String::new();
        }
        let (count, direction) = (self.dice.below(12), *self.dice.pick(&["", " DESC"]));
        let column = self.dice.pick(&table.columns).name.clone();
        match self.dice.below(6) {
            0 => " LIMIT 100000".to_owned(),
            1..3 => format!(" ORDER BY id{direction} LIMIT {count}"),
            3 => format!(" ORDER BY k{direction}, id DESC LIMIT {count}"),
            _ => format!(" ORDER BY {column}{direction}, id LIMIT {count}"),
        }
    }

    fn assignment(&mut self, table: &Table) -> String {
        if self.dice.chance(40) {
            return (*self.dice.pick(&["cc = id", "cc = NULL", "cc = 5", "cc = LEAST(id, 9)"])).to_owned();
        }
        let column = self.dice.pick(&table.columns[KEY_AT + 1..]);
        format!("{} = {}", column.name, column.of.value(&mut self.dice))
    }

    fn deletion(&mut self, table: usize) -> String {
        let table = self.tables[table].clone();
        let condition = self.exact_condition(&table, "");
        let end = self.limit(&table);
        format!("DELETE FROM {} WHERE {condition}{end}", table.name)
    }

    fn change_by_join(&mut self) -> String {
        let condition = self.exact_condition(&self.tables[0].clone(), "a.");
        match self.dice.below(4) {
            0 => format!("UPDATE a JOIN b ON a.k = b.k SET a.cc = 5 WHERE {condition}"),
            1 => format!("UPDATE a, b SET b.cc = 6 WHERE a.k = b.k AND a.id < 20 AND {condition}"),
            2 => format!("DELETE a FROM a JOIN b ON a.k = b.k WHERE b.id < 9 AND {condition}"),
            _ => format!("DELETE FROM b USING b JOIN a ON b.k = a.k WHERE {condition}"),
        }
    }

    fn change_of_reference(&mut self) -> String {
        let table = self.tables[3].clone();
        let id = self.dice.within(1..12);
        match self.dice.below(4) {
            0 => format!("DELETE FROM r WHERE id = {id}"),
            1 => {
                let values = self.values(&table);
                format!("REPLACE INTO r VALUES ({})", values.join(", "))
            }
            2 => {
                let values = self.values(&table);
                format!("INSERT INTO r VALUES ({})", values.join(", "))
            }
            _ => format!("UPDATE r SET {} WHERE id <= {id}", self.assignment(&table)),
        }
    }

    /// A condition that converts nothing; `prefix` stands in front of columns.
    fn exact_condition(&mut self, table: &Table, prefix: &str) -> String {
        let literal = |key: String| expression::value(&key);
        let [one, other] = [table.some_key(&mut self.dice), table.some_key(&mut self.dice)].map(literal);
        let number = types::integer(&mut self.dice, 0);
        let id = self.dice.below(60);
        let key = match self.dice.below(8) {
            0..4 => format!("{prefix}k = {one}"),
            4 => format!("{prefix}k IN ({one}, {other})"),
            5 => format!("{prefix}k <> {one}"),
            6 => format!("{prefix}k >= {one}"),
            _ => "1".to_owned(),
        };
        let text = table.columns.iter().find(|column| matches!(column.of, Type::Text(..)));
        match (self.dice.below(6), text) {
            (0, _) => format!("{key} AND {prefix}cc > {number}"),
            (1, _) => format!("{prefix}id < {id} AND {key}"),
            (2, _) => format!("({key} OR {prefix}id = {id}) AND {prefix}cc IS NOT NULL"),
            (3, Some(column)) => format!("{key} AND {prefix}{} = 'a'", column.name),
            _ => key,
        }
    }
}
