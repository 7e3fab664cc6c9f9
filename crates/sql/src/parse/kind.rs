//! What the nodes of a tree are. Each kind says which children it has, in the text's order.

use super::operator::{Join, Operator, SetOperator, Test};

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    // Statements.
    /// The whole statement: one of the kinds below, or `With` and one of them.
    Statement,
    /// `Options`, a target (`Table`), `Columns`, then `Rows`, `Assignments` or `Query`; `RowAlias`,
    /// `OnDuplicate`, `Returning`.
    Insert,
    /// As `Insert`.
    Replace,
    /// Table references, `Assignments`, `Where`, `OrderBy`, `Limit`.
    Update,
    /// `Targets` if it is a multi-table statement; `From`, `Where`, `OrderBy`, `Limit`,
    /// `Returning`.
    Delete,
    /// `EXPLAIN`, `DESCRIBE` or `ANALYZE` with a statement or a `TableName`.
    Explain,
    /// `SET`, `DO`, `CALL`: assignments and expressions.
    Command,
    /// Any other statement: its `TableName`s, and `Opaque`.
    Utility,

    // Queries.
    /// A query expression: `With`, then a body (`Select`, `SetOperation`, `Rows`, `TableQuery` or
    /// `Subquery`), `OrderBy`, `Limit`, `Locking`, `Into`.
    Query,
    /// `WITH`: `CommonTable`s.
    With {
        /// `WITH RECURSIVE`.
        recursive: bool,
    },
    /// `Name`, `Columns`, `Subquery`; `Opaque` for `CYCLE`.
    CommonTable,
    /// Two bodies.
    SetOperation {
        /// Which one.
        operator: SetOperator,
        /// Duplicates stay.
        all: bool,
    },
    /// A query block: `Option`s, `Items`, `Into`, `From`, `Where`, `GroupBy`, `Having`, `Windows`,
    /// `Qualify`, `Procedure`.
    Select,
    /// `TABLE t`: a `Table`.
    TableQuery,
    /// A `Query` in parentheses.
    Subquery,
    /// A word in front of a statement's clauses: `DISTINCT`, `IGNORE`.
    Option,
    /// An optimizer hint, `/*+ */` and all.
    Hint,
    /// The select list: `Item`s, `Star`s.
    Items,
    /// An expression, `Alias`.
    Item,
    /// `*`, or `Name`s and `*`.
    Star,
    /// Table references, separated by commas.
    From,
    /// An expression.
    Where,
    /// `Ordering`s.
    GroupBy {
        /// `WITH ROLLUP`, or `ROLLUP (...)`.
        rollup: bool,
    },
    /// An expression.
    Having,
    /// An expression.
    Qualify,
    /// `Window`s.
    Windows,
    /// `Name`, `Over`.
    Window,
    /// `Ordering`s.
    OrderBy,
    /// An expression.
    Ordering {
        /// `DESC`.
        descending: bool,
    },
    /// `Count`, `Offset`; `Opaque` for `ROWS EXAMINED`.
    Limit {
        /// `WITH TIES`.
        ties: bool,
    },
    /// How many rows: a number, placeholder or name.
    Count,
    /// How many rows to pass by first: a number, placeholder or name.
    Offset,
    /// `FOR UPDATE`, `FOR SHARE`, `LOCK IN SHARE MODE`; `TableName`s behind `OF`.
    Locking,
    /// `INTO` with a file or variables.
    Into,
    /// `PROCEDURE ANALYSE()`.
    Procedure,
    /// `RETURNING`: `Item`s, `Star`s.
    Returning,

    // Tables.
    /// `TableName`, `Partitions`, `SystemTime`, `Sample`, `Alias`, `IndexHint`s.
    Table,
    /// `Subquery`, `Alias`, `Columns`.
    Derived {
        /// `LATERAL`.
        lateral: bool,
    },
    /// `JSON_TABLE(...)`: an expression, `JsonColumns`, `Alias`.
    JsonTable,
    /// The path and the columns of `JSON_TABLE`.
    JsonColumns,
    /// Two table references, `On` or `Using`.
    Join(Join),
    /// An expression.
    On,
    /// `Name`s.
    Using,
    /// Table references in parentheses, or in the braces of ODBC.
    TableList,
    /// `DUAL`.
    Dual,
    /// One `Name`, or two: the schema comes first.
    TableName,
    /// A name as it is written, quotes included.
    Name,
    /// A `Name`, or a string.
    Alias,
    /// `Column`s or `Name`s in parentheses.
    Columns,
    /// `PARTITION (...)`: `Name`s.
    Partitions,
    /// `USE INDEX (...)` and the like.
    IndexHint,
    /// `FOR SYSTEM_TIME ...`.
    SystemTime,
    /// `TABLESAMPLE ...`.
    Sample,
    /// `FOR PORTION OF ...`.
    Portion,

    // Changes.
    /// `TableName`s whose rows a multi-table `DELETE` deletes.
    Targets,
    /// `VALUES`: `Row`s.
    Rows,
    /// Values in parentheses, with `ROW` in front or not.
    Row,
    /// `Assignment`s.
    Assignments,
    /// `Column` or a variable, an expression.
    Assignment,
    /// `AS new (a, b)`: `Name`, `Columns`.
    RowAlias,
    /// `ON DUPLICATE KEY UPDATE`: `Assignment`s.
    OnDuplicate,

    /// Bytes that are not understood. No table is named in them.
    Opaque,

    // Expressions.
    /// Two operands.
    Binary(Operator),
    /// One operand.
    Unary(Operator),
    /// `x BETWEEN y AND z`.
    Between {
        /// `NOT BETWEEN`.
        not: bool,
    },
    /// An operand, then `List` or `Subquery`.
    In {
        /// `NOT IN`.
        not: bool,
    },
    /// An operand, a pattern, the `ESCAPE`.
    Like {
        /// `NOT LIKE`.
        not: bool,
    },
    /// `x REGEXP y`, `x RLIKE y`.
    Regexp {
        /// `NOT REGEXP`.
        not: bool,
    },
    /// `x IS ...`.
    Is {
        /// `IS NOT`.
        not: bool,
        /// What it is.
        test: Test,
    },
    /// The list of `IN`, parentheses included.
    List,
    /// One expression in parentheses.
    Paren,
    /// `(a, b)` or `ROW(a, b)`.
    Tuple,
    /// `EXISTS`: a `Subquery`.
    Exists,
    /// `ANY`, `SOME` or `ALL`: a `Subquery`.
    Quantified,
    /// An operand perhaps, `When`s, `Else`.
    Case,
    /// Two expressions.
    When,
    /// An expression.
    Else,
    /// `CAST`, `CONVERT`: an expression, `Type` or `Charset`.
    Cast,
    /// A type's name with its arguments.
    Type,
    /// A character set's name.
    Charset,
    /// `x COLLATE name`: an operand.
    Collate,
    /// `INTERVAL x unit`: an expression, `Unit`.
    Interval,
    /// `DAY`, `HOUR_SECOND`.
    Unit,
    /// A constant; introducers and neighbouring strings belong to it.
    Literal(Literal),
    /// The `?` with this number, from 0.
    Placeholder(u32),
    /// `@a`.
    UserVariable,
    /// `@@a`.
    SystemVariable,
    /// `Name`s, at most three.
    Column,
    /// A function's call: `Function`, arguments. `INTERVAL(a, b)` has a `Tuple` alone.
    Call,
    /// The call of an aggregate function: `Function`, `Distinct`, arguments, `OrderBy`,
    /// `Separator`, `Limit`.
    Aggregate,
    /// `Call` or `Aggregate`, then `Over`.
    WindowCall,
    /// What follows `OVER`: a `Name`, `PartitionBy`, `OrderBy`, `Frame`.
    Over,
    /// Expressions.
    PartitionBy,
    /// `ROWS ...`, `RANGE ...`.
    Frame,
    /// A function's name: `Name`s, or the word itself.
    Function,
    /// `DISTINCT` in front of arguments.
    Distinct,
    /// `SEPARATOR 'x'`.
    Separator,
    /// The `*` of `COUNT(*)`.
    All,
    /// `MATCH ... AGAINST ...`: `Column`s, an expression.
    Match,
    /// `NEXT VALUE FOR s`, `NEXTVAL(s)`: a `TableName`.
    Sequence,
    /// `DEFAULT` as a value, or `DEFAULT(column)`.
    Default,
    /// `VALUES(column)` in `ON DUPLICATE KEY UPDATE`: a `Column`.
    Inserted,
}

impl Kind {
    /// Whether a node decides what names within it mean: query blocks and statements, and what
    /// stands between them.
    pub const fn is_scope(self) -> bool {
        matches!(
            self,
            Self::Select
                | Self::TableQuery
                | Self::Insert
                | Self::Replace
                | Self::Update
                | Self::Delete
                | Self::Explain
                | Self::Command
                | Self::Utility
                | Self::Statement
                | Self::Query
                | Self::Derived { .. }
                | Self::CommonTable
                | Self::Subquery
        )
    }
}

/// Constants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Literal {
    /// Digits only.
    Integer,
    /// A number with a point or an exponent.
    Number,
    /// A string.
    Text,
    /// `0x1F`, `X'1F'`, `0b1`, `b'1'`.
    Bits,
    /// `NULL`, `\N`.
    Null,
    /// `TRUE`.
    True,
    /// `FALSE`.
    False,
    /// `DATE '...'`, `TIME '...'`, `TIMESTAMP '...'`.
    Temporal,
}
