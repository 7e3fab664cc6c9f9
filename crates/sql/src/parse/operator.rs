//! Operators of expressions, of set operations and between tables.

/// Operators with one or two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// `:=`.
    Assign,
    /// `OR`, `||`.
    Or,
    /// `XOR`.
    Xor,
    /// `AND`, `&&`.
    And,
    /// `NOT`, `!`.
    Not,
    /// `=`.
    Equal,
    /// `<=>`.
    NullSafeEqual,
    /// `<>`, `!=`.
    NotEqual,
    /// `<`.
    Less,
    /// `<=`.
    LessEqual,
    /// `>`.
    Greater,
    /// `>=`.
    GreaterEqual,
    /// `SOUNDS LIKE`.
    SoundsLike,
    /// `MEMBER OF`.
    MemberOf,
    /// `|`.
    BitOr,
    /// `&`.
    BitAnd,
    /// `<<`.
    ShiftLeft,
    /// `>>`.
    ShiftRight,
    /// `+`, with one operand or two.
    Plus,
    /// `-`, with one operand or two.
    Minus,
    /// `*`.
    Multiply,
    /// `/`.
    Divide,
    /// `DIV`.
    IntegerDivide,
    /// `%`, `MOD`.
    Modulo,
    /// `^`.
    BitXor,
    /// `||` in the mode `PIPES_AS_CONCAT`.
    Concat,
    /// `~`.
    BitNot,
    /// `BINARY`.
    Binary,
    /// `->`: a column, a path.
    Extract,
    /// `->>`: a column, a path.
    ExtractText,
}

/// What `IS` asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Test {
    /// `NULL`.
    Null,
    /// `TRUE`.
    True,
    /// `FALSE`.
    False,
    /// `UNKNOWN`.
    Unknown,
}

/// Operators of set operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetOperator {
    /// `UNION`.
    Union,
    /// `INTERSECT`, which binds tighter than the others.
    Intersect,
    /// `EXCEPT`.
    Except,
}

/// Kinds of joins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Join {
    /// `JOIN`, `INNER JOIN`, `CROSS JOIN`.
    Inner,
    /// `STRAIGHT_JOIN`.
    Straight,
    /// `LEFT JOIN`.
    Left,
    /// `RIGHT JOIN`.
    Right,
    /// `NATURAL JOIN`.
    Natural,
    /// `NATURAL LEFT JOIN`.
    NaturalLeft,
    /// `NATURAL RIGHT JOIN`.
    NaturalRight,
}
