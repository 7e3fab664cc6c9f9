//! What a server remembers of the values with which a prepared statement was executed.
//!
//! At MySQL from 8.0.22 on a parameter takes on the type of its value where nothing else decides
//! it, and later values are made that: behind 23, `SELECT ?` says of `'abc'` that it is 0. Strings
//! and NULLs leave a parameter as it is, so a session may go on with a statement that another one
//! has executed with the same types, and with no other. MariaDB goes by each value alone.

use wire::Capabilities;
use wire::command::ExecuteParams;

/// What a value is taken for, as far as that is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Type {
    /// A string, bytes or NULL: it is made what its parameter is.
    #[default]
    Any,
    /// A number with a sign.
    Integer,
    /// One without.
    Unsigned,
    /// A floating-point number.
    Real,
    /// A decimal number.
    Decimal,
    /// A date with its time.
    DateTime,
    /// A date.
    Date,
    /// A time.
    Time,
    /// There were values of several types: what they come to depends on their order.
    Several,
}

/// The types of all parameters of a statement, so far or of one execution; nothing if all may be
/// any.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Typed(Box<[Type]>);

impl Type {
    /// Of a type as executions have it: `MYSQL_TYPE_*`, and above it whether it is unsigned.
    /// Source: `COM_STMT_EXECUTE`.
    const fn of_code(code: u16) -> Self {
        let is_unsigned = code & 0x8000 != 0;
        match code & 0xff {
            1 | 2 | 3 | 8 | 9 | 13 if is_unsigned => Self::Unsigned,
            1 | 2 | 3 | 8 | 9 | 13 => Self::Integer,
            4 | 5 => Self::Real,
            0 | 246 => Self::Decimal,
            7 | 12 | 17 | 18 => Self::DateTime,
            10 | 14 => Self::Date,
            11 | 19 => Self::Time,
            _ => Self::Any,
        }
    }

    /// Those of an execution of a statement with `prepared` parameters, which have these types in
    /// the form of [`types_without_attributes`](ExecuteParams::types_without_attributes).
    pub fn of<'a>(
        params: &ExecuteParams<'a>,
        types: &'a [u8],
        prepared: u16,
        caps: Capabilities,
    ) -> impl Iterator<Item = Self> + Clone + use<'a> {
        let nulls = params.nulls;
        let is_null = move |at: usize| nulls.get(at / 8).is_some_and(|byte| byte >> (at % 8) & 1 == 1);
        let codes = ExecuteParams::type_codes(types, prepared, caps).enumerate();
        codes.map(move |(at, code)| if is_null(at) { Self::Any } else { Self::of_code(code) })
    }

    /// What a parameter has had behind a value of the type `next`.
    fn followed_by(self, next: Self) -> Self {
        match (self, next) {
            (_, Self::Any) => self,
            (Self::Any, _) => next,
            _ if self == next => self,
            _ => Self::Several,
        }
    }
}

impl Typed {
    /// Those of one execution.
    pub fn of(now: impl Iterator<Item = Type> + Clone) -> Self {
        // Most have strings alone, or none: that takes no memory.
        if now.clone().all(|one| one == Type::Any) {
            return Self::default();
        }
        let mut types = Vec::with_capacity(now.clone().count());
        types.extend(now);
        Self(types.into())
    }

    fn at(&self, at: usize) -> Type {
        self.0.get(at).copied().unwrap_or_default()
    }

    /// The statement is executed with these.
    pub fn note(&mut self, now: impl Iterator<Item = Type> + Clone) {
        if self.0.is_empty() {
            *self = Self::of(now);
            return;
        }
        for (one, next) in self.0.iter_mut().zip(now) {
            *one = one.followed_by(next);
        }
    }

    /// Whether these are the same behind an execution with `now`.
    pub fn are_kept_by(&self, now: &Self) -> bool {
        now.0.iter().enumerate().all(|(at, next)| self.at(at).followed_by(*next) == self.at(at))
    }

    /// Whether there were several for one parameter.
    pub fn is_mixed(&self) -> bool {
        self.0.contains(&Type::Several)
    }

    /// Whether a statement that has had these does for a session that has executed its own with
    /// `own` and is about to do so with `now`: it has nothing that would be news to it.
    pub fn suits(&self, own: &Self, now: &Self) -> bool {
        self.0.iter().enumerate().all(|(at, one)| match own.at(at) {
            _ if *one == Type::Any => true,
            Type::Any => now.at(at) == *one,
            own => own == *one,
        }) && !self.is_mixed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NULL: (u16, bool) = (8, true);
    const INT: (u16, bool) = (8, false);
    const UNSIGNED: (u16, bool) = (0x8003, false);
    const TEXT: (u16, bool) = (253, false);
    const DATE: (u16, bool) = (10, false);

    /// Of an execution with values of these types that are NULL, or are not.
    fn typed(all: &[(u16, bool)]) -> Typed {
        let types: Vec<u8> = all.iter().flat_map(|(code, _)| code.to_le_bytes()).collect();
        let mut nulls = vec![0; all.len().div_ceil(8)];
        for (at, _) in all.iter().enumerate().filter(|(_, (_, is_null))| *is_null) {
            nulls[at / 8] |= 1 << (at % 8);
        }
        let params = ExecuteParams { count: all.len(), nulls: &nulls, types: Some(&types), values: &[] };
        let count = u16::try_from(all.len()).unwrap();
        Typed::of(Type::of(&params, &types, count, Capabilities::PROTOCOL_41))
    }

    fn after(all: &[&[(u16, bool)]]) -> Typed {
        let mut so_far = Typed::default();
        for one in all {
            let now = typed(one);
            so_far.note((0..one.len()).map(|at| now.at(at)));
        }
        so_far
    }

    #[test]
    fn strings_and_nulls_leave_a_parameter_as_it_is() {
        assert_eq!(after(&[&[TEXT, NULL]]), Typed::default());
        assert_eq!(after(&[&[INT, TEXT], &[TEXT, NULL], &[NULL, NULL]]), typed(&[INT, TEXT]));
        assert_eq!(after(&[&[TEXT, TEXT], &[TEXT, DATE], &[INT, NULL]]), typed(&[INT, DATE]));
    }

    #[test]
    fn types_that_differ_are_remembered_in_an_order_of_their_own() {
        let mixed = after(&[&[INT, TEXT], &[UNSIGNED, TEXT]]);
        assert!(mixed.is_mixed() && !typed(&[INT, TEXT]).is_mixed());
        assert!(!mixed.suits(&mixed, &typed(&[INT, TEXT])));
        assert_eq!(after(&[&[INT, TEXT], &[UNSIGNED, TEXT], &[INT, TEXT]]), mixed);
    }

    #[test]
    fn c04_a_statement_suits_whom_it_has_no_news_for() {
        let suits = |there: &[_], own: &[_], now: &[_]| typed(there).suits(&typed(own), &typed(now));
        // No session has executed it with anything but strings.
        assert!(suits(&[TEXT], &[TEXT], &[INT]));
        assert!(suits(&[TEXT], &[INT], &[TEXT]));
        // A session has, with an integer.
        assert!(suits(&[INT], &[TEXT], &[INT]));
        assert!(suits(&[INT], &[INT], &[INT]));
        assert!(suits(&[INT], &[INT], &[TEXT]), "it is made an integer, as where the session was before");
        assert!(suits(&[INT], &[INT], &[DATE]));
        assert!(!suits(&[INT], &[TEXT], &[TEXT]), "'abc' would be 0");
        assert!(!suits(&[INT], &[NULL], &[NULL]));
        assert!(!suits(&[INT], &[TEXT], &[UNSIGNED]));
        assert!(!suits(&[INT], &[DATE], &[INT]));
        // Each parameter for itself.
        assert!(suits(&[INT, TEXT], &[INT, DATE], &[INT, DATE]));
        assert!(!suits(&[INT, DATE], &[INT, TEXT], &[INT, NULL]));
    }
}
