//! Limits of the parser: nesting, nodes, tokens.

/// Nesting of parentheses, subqueries, prefix operators and nested joins that is followed. A level
/// takes up to 5 KiB of stack in a debug build.
pub const DEPTH_MAX: usize = 200;

/// Nodes of one tree, 32 bytes each.
pub const NODES_MAX: usize = 1 << 20;

/// Tokens of one statement, 12 bytes each.
pub const TOKENS_MAX: usize = 1 << 21;
