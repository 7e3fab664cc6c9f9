//! Which values a setting takes, and how a value is checked.

use std::fmt;

use crate::json;
use crate::model::{Address, Credentials, HostgroupSettings, Networks, UserAttributes};
use crate::nearest::suggestion;
use crate::tree::Value;

/// Which values a variable or column takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `true` or `false`; `1` and `0` mean the same.
    Bool,
    /// A whole number.
    Int {
        /// The least.
        min: i64,
        /// The greatest.
        max: i64,
        /// What it counts.
        unit: Unit,
    },
    /// Any text without zero bytes.
    Text,
    /// Text that is JSON, or empty.
    Json,
    /// What else there is about a user: JSON, or empty.
    UserAttributes,
    /// Settings of a hostgroup: JSON, or empty.
    HostgroupSettings,
    /// One of these words, in any case.
    Choice(&'static [&'static str]),
    /// An address to listen on.
    Address,
    /// Addresses to listen on, separated by `;`.
    Addresses,
    /// Networks, separated by `,`, or `*`.
    Networks,
    /// A user's password, in one of the forms of `mysql_users`. Which ones depends on another
    /// column, so that rows are judged and not the value.
    Password,
    /// Accounts `user:password`, separated by `;`.
    Credentials,
}

/// What a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Things.
    None,
    /// Milliseconds.
    Milliseconds,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// 2^20 bytes.
    Mebibytes,
    /// Hundredths.
    Percent,
}

impl Unit {
    /// The unit behind a number, short.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Milliseconds => "ms",
            Self::Seconds => "s",
            Self::Bytes => "bytes",
            Self::Mebibytes => "MiB",
            Self::Percent => "%",
        }
    }
}

/// The value of a setting that is not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preset {
    /// There is none: it must be given.
    Required,
    /// SQL's NULL.
    Null,
    /// A switch.
    Bool(bool),
    /// A number.
    Int(i64),
    /// A text.
    Text(&'static str),
    /// The number of processor cores that this process may use, at most 255.
    Cores,
}

impl Preset {
    /// The value; nothing where one must be given.
    pub fn value(self) -> Option<Scalar> {
        Some(match self {
            Self::Required => return None,
            Self::Null => Scalar::Null,
            Self::Bool(value) => Scalar::Bool(value),
            Self::Int(value) => Scalar::Int(value),
            Self::Text(value) => Scalar::Text(value.to_owned()),
            Self::Cores => Scalar::Int(cores()),
        })
    }
}

/// Processor cores that this process may use, from 1 to 255.
fn cores() -> i64 {
    std::thread::available_parallelism().map_or(1, |cores| i64::try_from(cores.get()).unwrap_or(255).min(255))
}

/// A checked value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Scalar {
    /// SQL's NULL.
    Null,
    /// A switch.
    Bool(bool),
    /// A number.
    Int(i64),
    /// A text; for [`Kind::Choice`] in the spelling of its definition.
    Text(String),
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("NULL"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Int(value) => write!(f, "{value}"),
            Self::Text(value) => f.write_str(value),
        }
    }
}

impl Kind {
    /// The value that `value` stands for, or what it must be instead (as the rest of a sentence
    /// that starts with the setting's name). Numbers and switches may be written as text too, as
    /// `SAVE CONFIG TO FILE` of ProxySQL does. With `secret` the message does not repeat the value.
    pub(crate) fn accept(self, value: &Value, secret: bool) -> Result<Scalar, String> {
        let accepted = match self {
            Self::Bool => as_bool(value).map(Scalar::Bool),
            Self::Int { min, max, .. } => {
                as_int(value).filter(|number| (min..=max).contains(number)).map(Scalar::Int)
            }
            _ => match value {
                Value::Text(text) => return self.accept_text(text),
                _ => None,
            },
        };
        accepted.ok_or_else(|| {
            let got = if secret { String::new() } else { format!(", not {value}") };
            format!("must be {}{got}", self.expectation())
        })
    }

    fn accept_text(self, text: &str) -> Result<Scalar, String> {
        if text.contains('\0') {
            return Err("must not hold a zero byte".to_owned());
        }
        match self {
            Self::Choice(of) => {
                let Some(word) = of.iter().find(|word| word.eq_ignore_ascii_case(text)) else {
                    let near = suggestion(text, of.iter().copied());
                    return Err(format!(
                        "must be {}, not \"{}\"{near}",
                        self.expectation(),
                        text.escape_debug()
                    ));
                };
                return Ok(Scalar::Text((*word).to_owned()));
            }
            Self::Address => drop(text.parse::<Address>().map_err(|error| format!("is wrong: {error}"))?),
            Self::Addresses => drop(addresses(text).map_err(|error| format!("is wrong: {error}"))?),
            Self::Networks => drop(text.parse::<Networks>().map_err(|error| format!("is wrong: {error}"))?),
            Self::Credentials => drop(text.parse::<Credentials>().map_err(|error| error.to_string())?),
            Self::Json if !text.is_empty() && json::parse(text).is_none() => {
                return Err("must be JSON, or empty".to_owned());
            }
            Self::UserAttributes => drop(text.parse::<UserAttributes>()?),
            Self::HostgroupSettings => {
                let _: HostgroupSettings = text.parse()?;
            }
            Self::Bool | Self::Int { .. } | Self::Text | Self::Password | Self::Json => {}
        }
        Ok(Scalar::Text(text.to_owned()))
    }

    /// What a value must be, as the end of a sentence.
    pub(crate) fn expectation(self) -> String {
        match self {
            Self::Bool => "true or false".to_owned(),
            Self::Int { min: i64::MIN, max: i64::MAX, .. } => "a whole number".to_owned(),
            Self::Int { min, max: i64::MAX, unit } => {
                format!("a whole number of at least {min} {}", unit.symbol())
            }
            Self::Int { min, max, unit } => format!("a whole number from {min} to {max} {}", unit.symbol()),
            Self::Text
            | Self::Json
            | Self::UserAttributes
            | Self::HostgroupSettings
            | Self::Address
            | Self::Addresses
            | Self::Networks
            | Self::Password
            | Self::Credentials => "text in quotes".to_owned(),
            Self::Choice(of) => format!("one of `{}`", of.join("`, `")),
        }
        .trim_end()
        .to_owned()
    }
}

/// The addresses of a list separated by `;`. Empty places in the list are passed over.
pub(crate) fn addresses(list: &str) -> Result<Vec<Address>, crate::InvalidAddress> {
    list.split(';').map(str::trim).filter(|part| !part.is_empty()).map(str::parse).collect()
}

fn as_bool(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(value) => Some(*value),
        Value::Int(0) => Some(false),
        Value::Int(1) => Some(true),
        Value::Text(text) => match text.to_ascii_lowercase().as_str() {
            "true" | "1" => Some(true),
            "false" | "0" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

fn as_int(value: &Value) -> Option<i64> {
    match value {
        Value::Int(value) => Some(*value),
        Value::Text(text) => text.parse().ok(),
        _ => None,
    }
}
