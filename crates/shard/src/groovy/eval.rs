//! Values of expressions, by Groovy's arithmetic: `Integer` and `Long` wrap.

use std::borrow::Cow;
use std::fmt;

use super::expr::{Expr, Method, Op};
use crate::limits::NAME_BYTES_MAX;
use crate::placement::{long_hash, text_hash};

/// Value of one of Java's types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Datum<'a> {
    /// `Integer`.
    Int(i32),
    /// `Long`.
    Long(i64),
    /// `String`.
    Text(Cow<'a, str>),
}

impl fmt::Display for Datum<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(value) => write!(f, "{value}"),
            Self::Long(value) => write!(f, "{value}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl<'a> Datum<'a> {
    fn as_long(&self) -> Option<i64> {
        match self {
            Self::Int(value) => Some(i64::from(*value)),
            Self::Long(value) => Some(*value),
            Self::Text(_) => None,
        }
    }

    fn into_text(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Text(text) => Some(text),
            Self::Int(_) | Self::Long(_) => None,
        }
    }
}

/// The value of `expr` for the values of the columns. Nothing where Groovy throws an exception, and
/// for what is legal with other types than the accepted ones.
pub(super) fn evaluate<'a>(expr: &'a Expr, columns: &'a [Datum<'a>]) -> Option<Datum<'a>> {
    match expr {
        Expr::Int(value) => Some(Datum::Int(*value)),
        Expr::Long(value) => Some(Datum::Long(*value)),
        Expr::Text(text) => Some(Datum::Text(Cow::Borrowed(text))),
        Expr::Column(at) => columns.get(*at).map(|datum| match datum {
            Datum::Text(text) => Datum::Text(Cow::Borrowed(text)),
            other => other.clone(),
        }),
        Expr::Negate(inner) => match evaluate(inner, columns)? {
            Datum::Int(value) => Some(Datum::Int(value.wrapping_neg())),
            Datum::Long(value) => Some(Datum::Long(value.wrapping_neg())),
            Datum::Text(_) => None,
        },
        Expr::Binary(op, left, right) => binary(*op, &evaluate(left, columns)?, &evaluate(right, columns)?),
        Expr::Call(method, receiver, arguments) => {
            let mut arguments = arguments.iter().map(|argument| evaluate(argument, columns));
            let receiver = evaluate(receiver, columns)?;
            match (arguments.next(), arguments.next()) {
                (None, _) => plain_call(*method, receiver),
                (Some(first), None) => call(*method, receiver, first?, None),
                (Some(first), Some(second)) => call(*method, receiver, first?, Some(second?)),
            }
        }
    }
}

fn binary<'a>(op: Op, left: &Datum<'a>, right: &Datum<'a>) -> Option<Datum<'a>> {
    if matches!((left, right), (Datum::Text(_), _) | (_, Datum::Text(_))) {
        let text = (op == Op::Add).then(|| format!("{left}{right}"))?;
        return (text.len() <= NAME_BYTES_MAX).then_some(Datum::Text(Cow::Owned(text)));
    }
    if let (Datum::Int(left), Datum::Int(right)) = (left, right) {
        return Some(Datum::Int(match op {
            Op::Add => left.wrapping_add(*right),
            Op::Subtract => left.wrapping_sub(*right),
            Op::Multiply => left.wrapping_mul(*right),
            Op::Remainder if *right == 0 => return None,
            Op::Remainder => left.wrapping_rem(*right),
        }));
    }
    let (left, right) = (left.as_long()?, right.as_long()?);
    Some(Datum::Long(match op {
        Op::Add => left.wrapping_add(right),
        Op::Subtract => left.wrapping_sub(right),
        Op::Multiply => left.wrapping_mul(right),
        Op::Remainder if right == 0 => return None,
        Op::Remainder => left.wrapping_rem(right),
    }))
}

/// Method without arguments.
fn plain_call(method: Method, receiver: Datum<'_>) -> Option<Datum<'_>> {
    match (method, receiver) {
        (Method::Abs, Datum::Int(value)) => Some(Datum::Int(value.wrapping_abs())),
        (Method::Abs, Datum::Long(value)) => Some(Datum::Long(value.wrapping_abs())),
        (Method::HashCode, Datum::Int(value)) => Some(Datum::Int(value)),
        (Method::HashCode, Datum::Long(value)) => Some(Datum::Int(long_hash(value))),
        (Method::HashCode, Datum::Text(text)) => Some(Datum::Int(text_hash(&text))),
        (Method::ToLong, Datum::Text(text)) => text.trim().parse().ok().map(Datum::Long),
        (Method::ToLong, number) => number.as_long().map(Datum::Long),
        (Method::ToString, Datum::Text(text)) => Some(Datum::Text(text)),
        (Method::ToString, number) => Some(Datum::Text(Cow::Owned(number.to_string()))),
        (Method::Length, Datum::Text(text)) => {
            i32::try_from(text.encode_utf16().count()).ok().map(Datum::Int)
        }
        _ => None,
    }
}

/// Method with one or two arguments.
fn call<'a>(
    method: Method,
    receiver: Datum<'a>,
    first: Datum<'a>,
    second: Option<Datum<'a>>,
) -> Option<Datum<'a>> {
    match method {
        Method::IntDiv => match (receiver, first) {
            (_, Datum::Int(0) | Datum::Long(0)) => None,
            (Datum::Int(left), Datum::Int(right)) => Some(Datum::Int(left.wrapping_div(right))),
            (left, right) => Some(Datum::Long(left.as_long()?.wrapping_div(right.as_long()?))),
        },
        Method::Substring => {
            let text = receiver.into_text()?;
            let begin = usize::try_from(first.as_long()?).ok()?;
            let end = match second {
                Some(end) => Some(usize::try_from(end.as_long()?).ok()?),
                None => None,
            };
            substring(&text, begin, end).map(|text| Datum::Text(Cow::Owned(text)))
        }
        Method::PadLeft => {
            let text = receiver.into_text()?;
            let length = usize::try_from(first.as_long()?).unwrap_or(0);
            let pad = second.map_or(Some(Cow::Borrowed(" ")), Datum::into_text)?;
            let missing = length.saturating_sub(text.encode_utf16().count());
            if missing > NAME_BYTES_MAX {
                return None;
            }
            let padding: String = pad.chars().cycle().take(missing).collect();
            (padding.chars().count() == missing).then(|| Datum::Text(Cow::Owned(padding + &text)))
        }
        _ => None,
    }
}

/// The UTF-16 units from `begin` up to `end`; nothing if they are not there, or cut a character.
fn substring(text: &str, begin: usize, end: Option<usize>) -> Option<String> {
    let units: Vec<u16> = text.encode_utf16().collect();
    let end = end.unwrap_or(units.len());
    String::from_utf16(units.get(begin..end)?).ok()
}
