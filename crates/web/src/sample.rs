//! A sample: what all viewers are shown of one moment, as JSON.

use std::fmt::{self, Write as _};
use std::sync::Arc;
use std::time::Instant;

use observe::rows::SessionStats;

use crate::reply::Refusal;
use crate::viewer::Viewer;
use crate::views::Listed;

/// How many views there are.
pub(crate) const VIEWS: usize = 5;

/// The names of the views.
const NAMES: [&str; VIEWS] = ["now", "servers", "statements", "sessions", "config"];

/// A set of views.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Views(pub(crate) [bool; VIEWS]);

impl Views {
    /// All of them.
    pub(crate) const ALL: Self = Self([true; VIEWS]);

    /// The view of statements.
    pub(crate) const STATEMENTS: Self = Self([false, false, true, false, false]);

    /// The view of sessions.
    pub(crate) const SESSIONS: Self = Self([false, false, false, true, false]);

    /// The view `now`.
    pub(crate) const NOW: Self = Self([true, false, false, false, false]);

    /// The set that a request names, separated by commas; all if it names none.
    pub(crate) fn parse(list: Option<&str>) -> Result<Self, Refusal> {
        let list = list.unwrap_or_default();
        if list.is_empty() {
            return Ok(Self::ALL);
        }
        let mut views = Self::default();
        for name in list.split(',') {
            let found = NAMES.iter().zip(&mut views.0).find(|(known, _)| **known == name);
            let (_, wanted) = found.ok_or_else(|| {
                Refusal::bad(format!("there is no view `{name}`: there are {}", NAMES.join(", ")))
            })?;
            *wanted = true;
        }
        Ok(views)
    }

    /// Those of both sets.
    pub(crate) fn and(self, other: Self) -> Self {
        let [a, b] = [self.0, other.0];
        Self(std::array::from_fn(|n| a.get(n) == Some(&true) || b.get(n) == Some(&true)))
    }

    /// Whether it has this view.
    pub(crate) fn has(self, view: View) -> bool {
        self.0.get(view as usize) == Some(&true)
    }
}

/// A view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum View {
    /// Curves and the state of servers.
    Now,
    /// The map.
    Servers,
    /// Digests.
    Statements,
    /// Sessions.
    Sessions,
    /// Layers and versions.
    Config,
}

/// A view as JSON, for admins and for accounts that may not see literals.
#[derive(Debug, Clone)]
pub(crate) struct Text {
    /// For admins.
    pub(crate) admin: Arc<str>,
    /// For others.
    pub(crate) stats: Arc<str>,
}

/// A value of each curve.
#[derive(Debug, Clone)]
pub(crate) struct Point {
    /// The sample's number.
    pub(crate) number: u64,
    /// The values as a JSON object.
    pub(crate) text: Arc<str>,
}

/// The number of a sample, and the process that made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Id {
    /// A text that no other process has.
    pub(crate) boot: Arc<str>,
    /// Counts up from 1.
    pub(crate) number: u64,
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.boot, self.number)
    }
}

/// What there is to show of one moment.
#[derive(Debug)]
pub(crate) struct Sample {
    /// Its number.
    pub(crate) id: Id,
    /// When it was made.
    pub(crate) at: Instant,
    /// The same in milliseconds of Unix time.
    pub(crate) at_ms: u64,
    /// How many changes of the configuration were told before it was read for this sample.
    pub(crate) changes: u64,
    /// The members `time_ms`, `proxy` and `head` of the envelope, as JSON.
    pub(crate) about: String,
    /// The views that were wanted.
    pub(crate) texts: [Option<Text>; VIEWS],
    /// The points of the last 15 minutes, the oldest first.
    pub(crate) points: Arc<[Point]>,
    /// All digests, with the view of statements.
    pub(crate) digests: Option<Arc<Listed>>,
    /// All sessions, with their view.
    pub(crate) sessions: Option<Arc<[SessionStats]>>,
}

/// What a viewer has of the state already.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// The number of the last sample.
    pub(crate) number: u64,
    texts: [Option<Arc<str>>; VIEWS],
}

impl Seen {
    /// A viewer that has all points up to this number, and no view.
    pub(crate) fn up_to(number: u64) -> Self {
        Self { number, ..Self::default() }
    }
}

impl Sample {
    /// Whether it has these views.
    pub(crate) fn has(&self, views: Views) -> bool {
        self.texts.iter().zip(views.0).all(|(text, wanted)| text.is_some() || !wanted)
    }

    /// All of these views, for a viewer that has nothing.
    pub(crate) fn whole(&self, views: Views, viewer: &Viewer) -> String {
        self.changed(views, viewer, &mut Seen::default())
    }

    /// What a viewer that has `seen` lacks of these views; then it has that, too.
    pub(crate) fn changed(&self, views: Views, viewer: &Viewer, seen: &mut Seen) -> String {
        let mut out = format!(
            "{{\"id\":\"{}\",{},\"viewer\":{},\"views\":{{",
            self.id,
            self.about,
            serde_json::json!({
                "user": viewer.login.who.user,
                "rights": if viewer.is_admin() { "admin" } else { "stats" },
            })
        );
        let mut first = true;
        let all = NAMES.iter().zip(&self.texts).zip(&mut seen.texts).zip(views.0);
        for (index, (((name, text), seen_text), wanted)) in all.enumerate() {
            let Some(text) = text.as_ref().filter(|_| wanted) else { continue };
            let text = if viewer.is_admin() { &text.admin } else { &text.stats };
            if seen_text.as_ref() == Some(text) && index != View::Now as usize {
                continue;
            }
            *seen_text = Some(Arc::clone(text));
            if !std::mem::take(&mut first) {
                out.push(',');
            }
            // Writing to a string cannot fail.
            let _ = write!(out, "\"{name}\":");
            match text.strip_prefix('{') {
                Some(rest) if index == View::Now as usize => {
                    self.put_points(seen.number, &mut out);
                    out.push_str(rest);
                }
                _ => out.push_str(text),
            }
        }
        out.push_str("}}");
        seen.number = self.id.number;
        out
    }

    /// Appends the points behind the sample `number`, as the first member of an object.
    fn put_points(&self, number: u64, out: &mut String) {
        out.push_str("{\"points\":[");
        let news = self.points.iter().filter(|point| point.number > number);
        for (n, point) in news.enumerate() {
            if n > 0 {
                out.push(',');
            }
            out.push_str(&point.text);
        }
        out.push_str("],");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_are_a_list_of_names() {
        assert_eq!(Views::parse(None).unwrap(), Views::ALL);
        assert_eq!(Views::parse(Some("")).unwrap(), Views::ALL);
        let some = Views::parse(Some("sessions,now")).unwrap();
        assert_eq!(some, Views([true, false, false, true, false]));
        assert!(some.has(View::Now) && !some.has(View::Config));
        assert_eq!(some.and(Views([false, true, false, false, false])).0, [true, true, false, true, false]);
        assert!(Views::parse(Some("now,")).is_err() && Views::parse(Some("Now")).is_err());
    }
}
