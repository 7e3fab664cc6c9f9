//! Every setting there is, defined once.
//!
//! A [`Section`] is a group of variables or a table of rows; a [`Field`] is one variable or one
//! column. The binder, the suggestions for misspelt names, the reference in the manual and the
//! example file all come from these definitions. They hold all configuration tables and variables
//! of ProxySQL 2.7, with its names, order, defaults and ranges; [`built`](field@Field::built) says
//! which of them do something here already.

mod admin;
mod ddl;
mod files;
mod kind;
mod mysql;
mod pointsman;
mod rule;
mod tables;

pub use admin::ADMIN_VARIABLES;
pub use files::{LDAP_VARIABLES, SQLITESERVER_VARIABLES, TOP_LEVEL};
pub(crate) use kind::addresses;
pub use kind::{Kind, Preset, Scalar, Unit};
pub use mysql::MYSQL_VARIABLES;
pub use pointsman::{LISTENERS, POINTSMAN_SERVERS, POINTSMAN_VARIABLES};
pub use rule::Rule;
pub use tables::{
    MYSQL_AWS_AURORA_HOSTGROUPS, MYSQL_FIREWALL_WHITELIST_RULES, MYSQL_FIREWALL_WHITELIST_SQLI_FINGERPRINTS,
    MYSQL_FIREWALL_WHITELIST_USERS, MYSQL_GALERA_HOSTGROUPS, MYSQL_GROUP_REPLICATION_HOSTGROUPS,
    MYSQL_HOSTGROUP_ATTRIBUTES, MYSQL_QUERY_RULES, MYSQL_QUERY_RULES_FAST_ROUTING,
    MYSQL_REPLICATION_HOSTGROUPS, MYSQL_SERVERS, MYSQL_SERVERS_SSL_PARAMS, MYSQL_USERS,
    POINTSMAN_SHARD_GROUPS, POINTSMAN_SHARD_HOMES, POINTSMAN_SHARD_NODES, POINTSMAN_SHARD_SEQUENCES,
    POINTSMAN_SHARD_TABLES, PROXYSQL_SERVERS, RESTAPI_ROUTES, SCHEDULER,
};

/// Every section that a configuration file may have, in the order of the manual.
pub static SECTIONS: &[&Section] = &[
    &LISTENERS,
    &POINTSMAN_VARIABLES,
    &MYSQL_VARIABLES,
    &MYSQL_SERVERS,
    &POINTSMAN_SERVERS,
    &MYSQL_USERS,
    &MYSQL_QUERY_RULES,
    &MYSQL_QUERY_RULES_FAST_ROUTING,
    &MYSQL_REPLICATION_HOSTGROUPS,
    &MYSQL_GROUP_REPLICATION_HOSTGROUPS,
    &MYSQL_GALERA_HOSTGROUPS,
    &MYSQL_AWS_AURORA_HOSTGROUPS,
    &MYSQL_HOSTGROUP_ATTRIBUTES,
    &MYSQL_SERVERS_SSL_PARAMS,
    &POINTSMAN_SHARD_TABLES,
    &POINTSMAN_SHARD_NODES,
    &POINTSMAN_SHARD_GROUPS,
    &POINTSMAN_SHARD_SEQUENCES,
    &POINTSMAN_SHARD_HOMES,
    &MYSQL_FIREWALL_WHITELIST_USERS,
    &MYSQL_FIREWALL_WHITELIST_RULES,
    &MYSQL_FIREWALL_WHITELIST_SQLI_FINGERPRINTS,
    &SCHEDULER,
    &RESTAPI_ROUTES,
    &PROXYSQL_SERVERS,
    &ADMIN_VARIABLES,
    &SQLITESERVER_VARIABLES,
    &LDAP_VARIABLES,
];

/// A group of variables, or a table of rows.
#[derive(Debug)]
pub struct Section {
    /// Its name in configuration files.
    pub name: &'static str,
    /// Its name as a table, if that is another one or there is no such file section in ProxySQL.
    pub table: Option<&'static str>,
    /// What it consists of.
    pub shape: Shape,
    /// The variables or columns, in order; in parts, because there are many.
    pub parts: &'static [&'static [Field]],
    /// Sets of columns that no two rows may have the same values in; the first is the primary key.
    pub unique: &'static [&'static [&'static str]],
    /// What must hold between the columns of a row.
    pub rules: &'static [Rule],
    /// Of a group of variables: what their names begin with in `global_variables`, for example
    /// `mysql-`.
    pub prefix: Option<&'static str>,
    /// Names of former ProxySQL versions that are accepted and ignored.
    pub removed: &'static [&'static str],
    /// What it is for, one or more sentences.
    pub doc: &'static str,
    /// Rows (or one set of variables) of the example file: names and TOML values.
    pub examples: &'static [&'static [(&'static str, &'static str)]],
}

/// What a section consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// One set of variables.
    Group,
    /// Any number of rows.
    Rows,
    /// A group whose names are not known here: they belong to a plugin.
    Open,
}

impl Section {
    const fn new(
        name: &'static str,
        shape: Shape,
        parts: &'static [&'static [Field]],
        doc: &'static str,
    ) -> Self {
        Self {
            name,
            table: None,
            shape,
            parts,
            unique: &[],
            rules: &[],
            prefix: None,
            removed: &[],
            doc,
            examples: &[],
        }
    }

    const fn unique(mut self, unique: &'static [&'static [&'static str]]) -> Self {
        self.unique = unique;
        self
    }

    const fn rules(mut self, rules: &'static [Rule]) -> Self {
        self.rules = rules;
        self
    }

    const fn prefix(mut self, prefix: &'static str) -> Self {
        self.prefix = Some(prefix);
        self
    }

    const fn removed(mut self, names: &'static [&'static str]) -> Self {
        self.removed = names;
        self
    }

    const fn table(mut self, name: &'static str) -> Self {
        self.table = Some(name);
        self
    }

    const fn examples(mut self, rows: &'static [&'static [(&'static str, &'static str)]]) -> Self {
        self.examples = rows;
        self
    }

    /// The variables or columns, in order.
    pub fn fields(&self) -> impl Iterator<Item = &'static Field> + use<> {
        self.parts.iter().flat_map(|part| part.iter())
    }

    /// The position of the field that `name` or its alias stands for, and the field.
    pub fn find(&self, name: &str) -> Option<(usize, &'static Field)> {
        self.fields().enumerate().find(|(_, field)| field.name == name || field.alias == Some(name))
    }

    /// The column called `name`, for who reads it of thousands of rows. In a constant, a name that
    /// the section does not have is an error of the compiler.
    #[expect(clippy::panic, reason = "it is asked for constants, and fails the build")]
    pub(crate) const fn column(&self, name: &str) -> Column {
        let (mut parts, mut at) = (self.parts, 0);
        while let [part, other_parts @ ..] = parts {
            let mut fields = *part;
            while let [field, other_fields @ ..] = fields {
                if is_same(field.name.as_bytes(), name.as_bytes()) {
                    return Column { at, field };
                }
                (fields, at) = (other_fields, at + 1);
            }
            parts = other_parts;
        }
        panic!("the section has no such column")
    }

    /// Its name as a table; that of a group of variables says nothing.
    pub fn table_name(&self) -> &'static str {
        self.table.unwrap_or(self.name)
    }

    /// Its place in [`SECTIONS`]; behind them all for [`TOP_LEVEL`].
    pub(crate) fn index(&self) -> usize {
        SECTIONS.iter().position(|section| section.name == self.name).unwrap_or(SECTIONS.len())
    }

    /// Whether any of it does something already.
    pub fn built(&self) -> bool {
        self.fields().any(|field| field.built)
    }
}

/// A column of a section, and where it is in rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    pub(crate) at: usize,
    pub(crate) field: &'static Field,
}

/// `==`, which constants cannot say.
const fn is_same(mut left: &[u8], mut right: &[u8]) -> bool {
    while let ([one, ones @ ..], [other, others @ ..]) = (left, right) {
        if *one != *other {
            return false;
        }
        (left, right) = (ones, others);
    }
    left.is_empty() && right.is_empty()
}

/// What NULL is in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Null {
    /// An error.
    Refused,
    /// Nothing, and so is an empty text.
    LikeEmpty,
    /// Nothing, while an empty text says something.
    UnlikeEmpty,
}

/// One variable or one column.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Its name; variables are without their `mysql-` or `admin-` here.
    pub name: &'static str,
    /// The other name that ProxySQL's configuration file knows it by.
    pub alias: Option<&'static str>,
    /// Which values it takes.
    pub kind: Kind,
    /// Its value when none is given.
    pub preset: Preset,
    /// Whether a row of the table may have NULL there.
    pub null: Null,
    /// What it means: a phrase, not a sentence.
    pub doc: &'static str,
    /// Whether it does something already.
    pub built: bool,
    /// Why nothing is to be set here: what does the same without it.
    pub superseded: Option<&'static str>,
    /// ProxySQL's default, where ours is another one.
    pub proxysql_preset: Option<&'static str>,
    /// Whether its value must not be printed.
    pub secret: bool,
    /// Its type as a column, if it is not the one that follows from the kind.
    pub sql_type: Option<&'static str>,
}

impl Field {
    /// Whether a row of the table may have NULL there.
    pub const fn is_nullable(&self) -> bool {
        !matches!(self.null, Null::Refused)
    }

    const fn new(name: &'static str, kind: Kind, preset: Preset, doc: &'static str) -> Self {
        Self {
            name,
            alias: None,
            kind,
            preset,
            null: Null::Refused,
            doc,
            built: false,
            superseded: None,
            proxysql_preset: None,
            secret: false,
            sql_type: None,
        }
    }

    const fn built(mut self) -> Self {
        self.built = true;
        self
    }

    const fn superseded(mut self, by: &'static str) -> Self {
        self.superseded = Some(by);
        self
    }

    const fn alias(mut self, alias: &'static str) -> Self {
        self.alias = Some(alias);
        self
    }

    const fn nullable(mut self) -> Self {
        self.null = Null::LikeEmpty;
        self
    }

    const fn null(mut self) -> Self {
        self.preset = Preset::Null;
        self.nullable()
    }

    const fn null_or_empty(self) -> Self {
        let mut field = self.null();
        field.null = Null::UnlikeEmpty;
        field
    }

    const fn required(mut self) -> Self {
        self.preset = Preset::Required;
        self
    }

    const fn proxysql_preset(mut self, value: &'static str) -> Self {
        self.proxysql_preset = Some(value);
        self
    }

    const fn secret(mut self) -> Self {
        self.secret = true;
        self
    }

    const fn sql_type(mut self, sql_type: &'static str) -> Self {
        self.sql_type = Some(sql_type);
        self
    }
}

// The constructors that the definitions are written with. Where ProxySQL says only "not negative",
// `COUNT` is the range of its 32-bit integers.

/// 0 to 2^31-1.
const COUNT: (i64, i64) = (0, 2_147_483_647);
/// 0 to 2^32-1.
const UNSIGNED: (i64, i64) = (0, 4_294_967_295);
/// TCP ports, and 0.
const PORT: (i64, i64) = (0, 65_535);
/// Milliseconds in seven days.
const DAYS_7_MS: i64 = 7 * 24 * 3_600_000;
/// Milliseconds in twenty days, the longest time that ProxySQL takes for most of its waits.
const DAYS_20_MS: i64 = 20 * 24 * 3_600_000;

const fn switch(name: &'static str, preset: bool, doc: &'static str) -> Field {
    Field::new(name, Kind::Bool, Preset::Bool(preset), doc)
}

const fn number(name: &'static str, preset: i64, range: (i64, i64), unit: Unit, doc: &'static str) -> Field {
    Field::new(name, Kind::Int { min: range.0, max: range.1, unit }, Preset::Int(preset), doc)
}

const fn int(name: &'static str, preset: i64, range: (i64, i64), doc: &'static str) -> Field {
    number(name, preset, range, Unit::None, doc)
}

const fn ms(name: &'static str, preset: i64, range: (i64, i64), doc: &'static str) -> Field {
    number(name, preset, range, Unit::Milliseconds, doc)
}

const fn seconds(name: &'static str, preset: i64, range: (i64, i64), doc: &'static str) -> Field {
    number(name, preset, range, Unit::Seconds, doc)
}

const fn bytes(name: &'static str, preset: i64, range: (i64, i64), doc: &'static str) -> Field {
    number(name, preset, range, Unit::Bytes, doc)
}

const fn percent(name: &'static str, preset: i64, doc: &'static str) -> Field {
    number(name, preset, (0, 100), Unit::Percent, doc)
}

const fn text(name: &'static str, preset: &'static str, doc: &'static str) -> Field {
    Field::new(name, Kind::Text, Preset::Text(preset), doc)
}

const fn json(name: &'static str, doc: &'static str) -> Field {
    Field::new(name, Kind::Json, Preset::Text(""), doc)
}

const fn choice(
    name: &'static str,
    preset: &'static str,
    of: &'static [&'static str],
    doc: &'static str,
) -> Field {
    Field::new(name, Kind::Choice(of), Preset::Text(preset), doc)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Value;

    /// What a release build of ProxySQL 2.7.2 has, counted from its `SHOW VARIABLES`. A few of
    /// ProxySQL 3 are there as well.
    #[test]
    fn all_variables_of_proxysql_are_there() {
        let is_ours = |field: &Field| field.doc.ends_with("ProxySQL has no such variable");
        let is_later = |field: &Field| field.doc.ends_with("(ProxySQL 3)");
        let release = |section: &Section| {
            section
                .fields()
                .filter(|field| !(field.doc.starts_with("debug builds") || is_ours(field) || is_later(field)))
                .count()
        };
        assert_eq!(release(&MYSQL_VARIABLES), 163);
        assert_eq!(release(&ADMIN_VARIABLES), 49);
    }

    #[test]
    fn definitions_agree_with_themselves() {
        for section in SECTIONS.iter().copied().chain([&TOP_LEVEL]) {
            let mut names: Vec<_> =
                section.fields().flat_map(|field| [Some(field.name), field.alias]).collect();
            names.retain(Option::is_some);
            names.sort_unstable();
            let count = names.len();
            names.dedup();
            assert_eq!(names.len(), count, "{}", section.name);
            for field in section.fields() {
                let value = match field.preset.value() {
                    None | Some(Scalar::Null) => continue,
                    Some(Scalar::Bool(value)) => Value::Bool(value),
                    Some(Scalar::Int(value)) => Value::Int(value),
                    Some(Scalar::Text(value)) => Value::Text(value),
                };
                let accepted = field.kind.accept(&value, field.secret);
                assert_eq!(accepted.ok(), field.preset.value(), "{}.{}", section.name, field.name);
            }
            for column in section.unique.concat() {
                assert!(section.find(column).is_some(), "{}.{column}", section.name);
            }
        }
    }
}
