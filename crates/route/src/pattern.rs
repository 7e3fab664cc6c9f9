//! The regular expressions of rules, in two dialects. No text makes one of them run for long.
//!
//! PCRE backtracks: some expressions take exponential time. In short texts its own limit of steps
//! bounds that. That limit counts from each position anew, so for longer texts it is not enough;
//! they are searched by the linear engine where that knows the expression, and else by PCRE from
//! the first position only, with a lazy prefix that does the moving on and is counted. An
//! expression that hits its limit does not match, and says so.

mod linear;
mod needle;
mod template;

use std::sync::OnceLock;

use crate::limits::{
    LONG_MATCH_STEPS_MAX, MATCH_STEPS_MAX, REPLACEMENTS_MAX, REWRITTEN_BYTES_MAX, SHORT_TEXT_BYTES_MAX,
};
pub(crate) use needle::Haystack;
use needle::Needle;
pub(crate) use template::Template;

/// The dialect of expressions: `mysql-query_processor_regex`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Engine {
    /// 1: Perl's, with look-around and back-references.
    #[default]
    Pcre,
    /// 2: RE2's, which has neither and takes linear time.
    Re2,
}

/// The limit was hit: whether the text matches is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exhausted;

/// A compiled expression.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    /// As the operator wrote it.
    source: Box<str>,
    /// Without it there is no match.
    needle: Option<Needle>,
    matcher: Matcher,
}

#[derive(Clone, Debug)]
enum Matcher {
    Pcre(Box<Pcre>),
    Linear(regex::bytes::Regex),
}

/// An expression of PCRE.
#[derive(Clone, Debug)]
struct Pcre {
    caseless: bool,
    short: pcre2::bytes::Regex,
    /// The same, made when the first long text comes.
    long: OnceLock<Long>,
}

/// How long texts are searched.
#[derive(Clone, Debug)]
enum Long {
    Linear(regex::bytes::Regex),
    Counted(pcre2::bytes::Regex),
    /// Neither way knows the expression.
    Never,
}

/// Start and end of the match and of its groups, in bytes.
type Groups = Vec<Option<(usize, usize)>>;

impl Pattern {
    /// Compiles `source`. The error is the engine's, with the place in the expression.
    pub(crate) fn new(source: &str, engine: Engine, caseless: bool) -> Result<Self, String> {
        let matcher = match engine {
            Engine::Pcre => {
                let short = pcre(&format!("(*LIMIT_MATCH={MATCH_STEPS_MAX})"), source, "", caseless)
                    // Once more without the prefix: for the place.
                    .map_err(|error| pcre("", source, "", caseless).err().unwrap_or(error).to_string())?;
                Matcher::Pcre(Box::new(Pcre { caseless, short, long: OnceLock::new() }))
            }
            Engine::Re2 => Matcher::Linear(linear::re2(source, caseless)?),
        };
        Ok(Self { source: source.into(), needle: Needle::of(source), matcher })
    }

    /// As the operator wrote it.
    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    /// How many groups it has, the whole match included.
    pub(crate) fn groups(&self) -> usize {
        match &self.matcher {
            Matcher::Pcre(pcre) => pcre.short.captures_len(),
            Matcher::Linear(regex) => regex.captures_len(),
        }
    }

    /// Whether it matches somewhere in `text`, which is also in `haystack` if that is possible.
    pub(crate) fn is_match(&self, text: &[u8], haystack: Option<&Haystack>) -> Result<bool, Exhausted> {
        if let (Some(needle), Some(haystack)) = (&self.needle, haystack)
            && !needle.is_in(haystack)
        {
            return Ok(false);
        }
        match &self.matcher {
            Matcher::Linear(regex) => Ok(regex.is_match(text)),
            Matcher::Pcre(pcre) if text.len() <= SHORT_TEXT_BYTES_MAX => {
                pcre.short.is_match(text).map_err(|_| Exhausted)
            }
            Matcher::Pcre(pcre) => match pcre.long(&self.source) {
                Long::Linear(regex) => Ok(regex.is_match(text)),
                Long::Counted(regex) => regex.is_match(text).map_err(|_| Exhausted),
                Long::Never => Err(Exhausted),
            },
        }
    }

    /// `text` with the first match, or with `all` every match, replaced; nothing if there is none.
    pub(crate) fn replace(
        &self,
        text: &[u8],
        with: &Template,
        all: bool,
    ) -> Result<Option<Vec<u8>>, Exhausted> {
        let mut out = Vec::new();
        // Up to where `text` is in `out`, and from where the next match is looked for.
        let (mut copied, mut from) = (0, 0);
        let mut replaced = 0;
        let mut groups = Groups::new();
        while from <= text.len() && self.find_at(text, from, &mut groups)? {
            let Some(&Some((start, end))) = groups.first() else { break };
            // Nothing right behind the match before is no further match, as in all engines.
            if start == end && replaced > 0 && start == copied {
                from = end + 1;
                continue;
            }
            out.extend_from_slice(text.get(copied..start).unwrap_or_default());
            with.expand(text, &groups, &mut out);
            copied = end.max(start);
            from = if start == end { end + 1 } else { end };
            replaced += 1;
            if out.len() > REWRITTEN_BYTES_MAX || replaced > REPLACEMENTS_MAX {
                return Err(Exhausted);
            }
            if !all {
                break;
            }
        }
        if replaced == 0 {
            return Ok(None);
        }
        out.extend_from_slice(text.get(copied..).unwrap_or_default());
        Ok(Some(out))
    }

    /// Puts the first match at or behind `from` and its groups into `groups`.
    fn find_at(&self, text: &[u8], from: usize, groups: &mut Groups) -> Result<bool, Exhausted> {
        match &self.matcher {
            Matcher::Linear(regex) => Ok(linear_at(regex, text, from, groups)),
            Matcher::Pcre(pcre) if text.len() <= SHORT_TEXT_BYTES_MAX => {
                pcre_at(&pcre.short, text, from, groups)
            }
            Matcher::Pcre(pcre) => match pcre.long(&self.source) {
                Long::Linear(regex) => Ok(linear_at(regex, text, from, groups)),
                Long::Counted(regex) => pcre_at(regex, text, from, groups),
                Long::Never => Err(Exhausted),
            },
        }
    }
}

impl Pcre {
    fn long(&self, source: &str) -> &Long {
        self.long.get_or_init(|| {
            if let Some(regex) = linear::pcre(source, self.caseless) {
                return Long::Linear(regex);
            }
            // `\G` holds where the search starts, `\K` takes the prefix out of the match.
            let prefix = format!("(*LIMIT_MATCH={LONG_MATCH_STEPS_MAX})\\G(?s:.*?)\\K(?:");
            pcre(&prefix, source, ")", self.caseless).map_or(Long::Never, Long::Counted)
        })
    }
}

/// Compiles an expression of PCRE: bytes, not characters, as ProxySQL does.
fn pcre(
    prefix: &str,
    source: &str,
    suffix: &str,
    caseless: bool,
) -> Result<pcre2::bytes::Regex, pcre2::Error> {
    pcre2::bytes::RegexBuilder::new()
        .caseless(caseless)
        .jit_if_available(true)
        .build(&format!("{prefix}{source}{suffix}"))
}

fn pcre_at(
    regex: &pcre2::bytes::Regex,
    text: &[u8],
    from: usize,
    groups: &mut Groups,
) -> Result<bool, Exhausted> {
    let mut places = regex.capture_locations();
    if regex.captures_read_at(&mut places, text, from).map_err(|_| Exhausted)?.is_none() {
        return Ok(false);
    }
    groups.clear();
    groups.extend((0..places.len()).map(|group| places.get(group)));
    Ok(true)
}

fn linear_at(regex: &regex::bytes::Regex, text: &[u8], from: usize, groups: &mut Groups) -> bool {
    let mut places = regex.capture_locations();
    if regex.captures_read_at(&mut places, text, from).is_none() {
        return false;
    }
    groups.clear();
    groups.extend((0..places.len()).map(|group| places.get(group)));
    true
}

#[cfg(test)]
mod tests;
