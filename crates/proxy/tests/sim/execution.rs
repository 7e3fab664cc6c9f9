//! Executions of prepared statements: their values, and their bytes.

use wire::codec::{Reader, put_lenenc_bytes};
use wire::command::{ExecuteParams, StmtExecute};

/// Number that stands for the statement prepared last, for MariaDB.
pub(super) const LAST: u32 = u32::MAX;

/// `MYSQL_TYPE_LONGLONG`, `MYSQL_TYPE_VAR_STRING`.
const INTEGER: u8 = 8;
const STRING: u8 = 253;

/// The value of a parameter, `None` for NULL. Its type is told with NULL as well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Param {
    Integer(Option<u64>),
    Text(Option<String>),
}

/// An execution of a prepared text.
#[derive(Debug, Clone)]
pub(super) struct Execution {
    pub(super) text: String,
    pub(super) params: Vec<Param>,
}

impl Param {
    const fn kind(&self) -> u8 {
        match self {
            Self::Integer(_) => INTEGER,
            Self::Text(_) => STRING,
        }
    }

    /// The value as a statement has it.
    pub(super) fn literal(&self) -> String {
        let value = match self {
            Self::Integer(value) => value.map(|value| value.to_string()),
            Self::Text(value) => value.as_ref().map(|text| format!("'{text}'")),
        };
        value.unwrap_or_else(|| "NULL".to_owned())
    }
}

impl Execution {
    /// One without parameters.
    pub(super) fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), params: Vec::new() }
    }

    pub(super) fn literals(&self) -> Vec<String> {
        self.params.iter().map(Param::literal).collect()
    }

    /// Types of the parameters, as they travel.
    pub(super) fn types(&self) -> Vec<u8> {
        self.params.iter().flat_map(|param| [param.kind(), 0]).collect()
    }

    /// The body of `COM_STMT_EXECUTE` for the statement `id`.
    pub(super) fn body(&self, id: u32, with_types: bool, with_cursor: bool) -> Vec<u8> {
        let mut body = id.to_le_bytes().to_vec();
        body.push(if with_cursor { StmtExecute::CURSOR_READ_ONLY } else { 0 });
        body.extend_from_slice(&1_u32.to_le_bytes());
        if self.params.is_empty() {
            return body;
        }
        let mut nulls = vec![0_u8; self.params.len().div_ceil(8)];
        let mut values = Vec::new();
        for (index, param) in self.params.iter().enumerate() {
            match param {
                Param::Integer(Some(value)) => values.extend_from_slice(&value.to_le_bytes()),
                Param::Text(Some(text)) => put_lenenc_bytes(&mut values, text.as_bytes()),
                _ => nulls[index / 8] |= 1 << (index % 8),
            }
        }
        body.extend_from_slice(&nulls);
        body.push(u8::from(with_types));
        if with_types {
            body.extend_from_slice(&self.types());
        }
        body.extend_from_slice(&values);
        body
    }
}

/// The values of an execution as literals, read by these types; `None` if they do not fit.
pub(super) fn literals(params: &ExecuteParams<'_>, types: Option<&[u8]>) -> Option<Vec<String>> {
    let mut reader = Reader::new(params.values);
    let mut all = Vec::new();
    for index in 0..params.count {
        let kind = *types?.get(index * 2)?;
        if params.nulls.get(index / 8)? & (1 << (index % 8)) != 0 {
            all.push("NULL".to_owned());
            continue;
        }
        all.push(match kind {
            INTEGER => Param::Integer(Some(reader.u64("value").ok()?)).literal(),
            STRING => {
                let text = reader.lenenc_bytes("value").ok()?;
                Param::Text(Some(String::from_utf8(text.to_vec()).ok()?)).literal()
            }
            _ => return None,
        });
    }
    reader.is_empty().then_some(all)
}
