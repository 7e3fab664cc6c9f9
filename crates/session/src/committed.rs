//! What a transaction over several servers has come to, when each has answered its `COMMIT`.

use std::fmt::{self, Display};

use crate::error::ClientError;

/// Errors behind which a `COMMIT` may have been done: the proxy's own for an outcome that is not
/// known, and those of a server that is lost.
const UNKNOWN: [u16; 4] = [9009, 1053, 2006, 2013];

/// Where a part of a transaction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Where the tables are that the layout does not name.
    Home,
    /// At the shard in this hostgroup.
    Shard(u32),
}

/// A part of a transaction, which was told to commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Where it is.
    pub place: Place,
    /// It may have changed rows. Nothing can last of one that has not.
    pub wrote: bool,
    /// The payload of the error, if it has not committed.
    pub refusal: Option<Vec<u8>>,
}

/// What the client hears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// All that was changed lasts.
    Committed,
    /// Nothing is known to last: this payload of an error, which says whether that is certain.
    Refused(Vec<u8>),
    /// Some of it lasts, and some does not.
    InPart(ClientError),
}

impl Part {
    /// The number of its error, if it has one.
    fn code(&self) -> Option<u16> {
        match self.refusal.as_deref()? {
            [0xff, low, high, ..] => Some(u16::from_le_bytes([*low, *high])),
            _ => Some(0),
        }
    }

    /// Whether it may have committed although it has not said so.
    fn is_unknown(&self) -> bool {
        self.code().is_some_and(|code| code == 0 || UNKNOWN.contains(&code))
    }
}

/// What the client hears of a transaction with these parts.
pub fn verdict(parts: &[Part]) -> Verdict {
    let writers: Vec<&Part> = parts.iter().filter(|part| part.wrote).collect();
    let refused = writers.iter().filter_map(|part| Some((part, part.refusal.as_ref()?)));
    let first = refused.clone().find(|(part, _)| part.is_unknown()).or_else(|| refused.clone().next());
    match first {
        None => Verdict::Committed,
        Some(_) if writers.iter().any(|part| part.refusal.is_none()) => {
            Verdict::InPart(ClientError::CommittedInPart(InPart(&writers).to_string().into()))
        }
        Some((_, payload)) => Verdict::Refused(payload.clone()),
    }
}

/// What has become of each part. Texts of errors are left out: client libraries look into them for
/// words that tell them to begin again.
struct InPart<'a>(&'a [&'a Part]);

impl Display for InPart<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        type IsIt = fn(&Part) -> bool;
        let fates: [(&str, IsIt); 3] = [
            ("committed at", |part| part.refusal.is_none()),
            ("rolled back at", |part| part.refusal.is_some() && !part.is_unknown()),
            ("not known at", Part::is_unknown),
        ];
        let mut between = "";
        for (fate, is_it) in fates {
            let mut before = fate;
            for part in self.0.iter().filter(|part| is_it(part)) {
                let start = if before == fate { between } else { "" };
                write!(f, "{start}{before} ")?;
                match part.place {
                    Place::Home => f.write_str("the home")?,
                    Place::Shard(hostgroup) => write!(f, "hostgroup {hostgroup}")?,
                }
                if let Some(code) = part.code().filter(|code| *code > 0) {
                    write!(f, " (error {code})")?;
                }
                before = ",";
                between = "; ";
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(place: Place, code: Option<u16>) -> Part {
        let refusal = code.map(|code| [&[0xff][..], &code.to_le_bytes(), b"#HY000..."].concat());
        Part { place, wrote: true, refusal }
    }

    fn shard(hostgroup: u32, code: Option<u16>) -> Part {
        part(Place::Shard(hostgroup), code)
    }

    fn refused(code: u16) -> Verdict {
        Verdict::Refused(shard(0, Some(code)).refusal.unwrap())
    }

    #[test]
    fn what_all_have_done_is_done() {
        assert_eq!(verdict(&[]), Verdict::Committed);
        assert_eq!(verdict(&[shard(1, None), part(Place::Home, None)]), Verdict::Committed);
    }

    #[test]
    fn the_error_of_one_is_told_if_nothing_lasts() {
        assert_eq!(verdict(&[shard(1, Some(1213)), shard(2, Some(1290))]), refused(1213));
        // It may last: the client is not told to begin again.
        assert_eq!(verdict(&[shard(1, Some(1213)), shard(2, Some(9009))]), refused(9009));
    }

    #[test]
    fn each_part_is_named_if_some_lasts() {
        let parts = [
            shard(1, None),
            shard(2, Some(1213)),
            part(Place::Home, None),
            shard(4, Some(2013)),
            shard(5, Some(1180)),
        ];
        let Verdict::InPart(error) = verdict(&parts) else { panic!("it is not told") };
        assert!(!error.may_retry());
        assert_eq!((error.code(), &error.sql_state()), (9010, b"HY000"));
        assert_eq!(
            error.to_string(),
            "Committed in part, not to be repeated: committed at hostgroup 1, the home; rolled back at hostgroup 2 \
             (error 1213), hostgroup 5 (error 1180); not known at hostgroup 4 (error 2013)"
        );
    }

    #[test]
    fn what_has_only_read_does_not_matter() {
        let reader = Part { wrote: false, ..shard(1, Some(1213)) };
        assert_eq!(verdict(&[reader.clone(), shard(2, None)]), Verdict::Committed);
        assert_eq!(verdict(&[reader, shard(2, Some(1290))]), refused(1290));
    }
}
