//! Makes samples: reads the proxy, and puts what it reads into the JSON of each view.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use net::clock::unix_ms;
use observe::plane::DataPlane;
use observe::rows::SessionStats;
use serde_json::{Value, json};

use crate::facts::{Known, Watch};
use crate::limits::{POINTS_MAX, SAMPLE_INTERVAL, SLOW_INTERVAL, TIMELINE_MS};
use crate::rates::Rates;
use crate::reading::Reading;
use crate::sample::{Id, Point, Sample, Text, View, Views};
use crate::views::{self, Digests, Errors, Listed, Scene, Slow};

/// What samples are made from.
pub(crate) struct Sampler {
    plane: Arc<dyn DataPlane>,
    facts: Watch,
    host: Arc<str>,
    id: Id,
    before: Option<Reading>,
    points: VecDeque<Point>,
    errors: Errors,
    digests: Digests,
    slow: Option<Slow>,
    statements: Option<(Instant, Text, Arc<Listed>)>,
    sessions: Option<Arc<[SessionStats]>>,
    unwatched: (Option<Instant>, Arc<[(String, String)]>),
}

impl Sampler {
    /// One that has seen nothing yet.
    pub(crate) fn new(plane: Arc<dyn DataPlane>, facts: Watch, host: Arc<str>) -> Self {
        // Two processes do not begin in one millisecond with one id.
        let boot = format!("{:x}-{:x}", unix_ms(), std::process::id());
        Self {
            plane,
            facts,
            host,
            id: Id { boot: boot.into(), number: 0 },
            before: None,
            points: VecDeque::new(),
            errors: Errors::default(),
            digests: Digests::default(),
            slow: None,
            statements: None,
            sessions: None,
            unwatched: (None, Arc::default()),
        }
    }

    /// A sample with these views, a second after the last one at the earliest. Takes a second where
    /// the last one is long ago. `is_seen`: a viewer gets it.
    pub(crate) fn sample(&mut self, views: Views, is_seen: bool) -> Sample {
        let known = self.facts.known(is_seen);
        let before = self.before.take().filter(|before| before.at.elapsed() < SLOW_INTERVAL);
        let before = before.unwrap_or_else(|| Reading::take(&*self.plane));
        // Rates over less than a second would be noise.
        std::thread::sleep(SAMPLE_INTERVAL.saturating_sub(before.at.elapsed()));
        let reading = Reading::take(&*self.plane);
        let rates = Rates::between(&before, &reading);
        self.id.number += 1;
        self.add_point(&rates, &reading);
        self.errors.note(&reading);
        let unwatched = self.unwatched(&reading, &known);
        let scene = Scene { reading: &reading, rates: &rates, known: &known, unwatched: &unwatched };
        let about = self.about(&scene);
        let texts = [View::Now, View::Servers, View::Statements, View::Sessions, View::Config]
            .map(|view| views.has(view).then(|| self.text(view, &scene)));
        let points: Vec<Point> = self.points.iter().cloned().collect();
        let sample = Sample {
            id: self.id.clone(),
            at: reading.at,
            at_ms: reading.unix_ms,
            changes: known.changes,
            about,
            texts,
            points: points.into(),
            digests: self
                .statements
                .as_ref()
                .filter(|_| views.has(View::Statements))
                .map(|(.., list)| Arc::clone(list)),
            sessions: self.sessions.take(),
        };
        self.before = Some(reading);
        sample
    }

    /// Whether the configuration was read.
    pub(crate) fn is_known(&self) -> bool {
        self.facts.is_read()
    }

    fn add_point(&mut self, rates: &Rates, reading: &Reading) {
        let text = rates.point(reading).to_string().into();
        self.points.push_back(Point { number: self.id.number, text });
        if self.points.len() > POINTS_MAX {
            self.points.pop_front();
        }
    }

    /// The members of the envelope that all viewers get.
    fn about(&self, scene: &Scene<'_>) -> String {
        let uptime_s = scene.reading.global("ProxySQL_Uptime");
        let now_ms = scene.reading.unix_ms;
        let proxy = json!({
            "host": &*self.host,
            "version": env!("CARGO_PKG_VERSION"),
            "started_ms": now_ms.saturating_sub(uptime_s.saturating_mul(1000)),
            "uptime_s": uptime_s,
        });
        format!("\"time_ms\":{now_ms},\"proxy\":{proxy},\"head\":{}", views::head(scene))
    }

    fn text(&mut self, view: View, scene: &Scene<'_>) -> Text {
        match view {
            View::Now => {
                let uptime_ms = scene.reading.global("ProxySQL_Uptime").saturating_mul(1000);
                let from_ms = scene.reading.unix_ms.saturating_sub(TIMELINE_MS.min(uptime_ms));
                both(views::now(scene, &self.errors, from_ms))
            }
            View::Servers => {
                let slow = self.slow(scene.known);
                both(views::servers(scene, slow))
            }
            View::Statements => self.statements(),
            View::Sessions => {
                let sessions = views::sorted(self.plane.processes());
                let slow = self.slow(scene.known);
                let texts = both(views::sessions(&sessions, slow));
                self.sessions = Some(sessions.into());
                texts
            }
            View::Config => both(views::config(scene.known)),
        }
    }

    /// Servers in use whose last check has failed, and why, not older than a few seconds.
    fn unwatched(&mut self, reading: &Reading, known: &Known) -> Arc<[(String, String)]> {
        let (at, found) = &mut self.unwatched;
        if at.is_none_or(|at| at.elapsed() >= SLOW_INTERVAL) {
            let rows = if known.config.monitor.enabled {
                views::unwatched(&*self.plane, reading)
            } else {
                Vec::new()
            };
            (*at, *found) = (Some(Instant::now()), rows.into());
        }
        Arc::clone(found)
    }

    /// What is costly to read, not older than a few seconds.
    fn slow(&mut self, known: &Known) -> &Slow {
        let is_old = |slow: &Slow| slow.at.elapsed() >= SLOW_INTERVAL;
        if self.slow.as_ref().is_some_and(is_old) {
            self.slow = None;
        }
        self.slow.get_or_insert_with(|| Slow::read(&*self.plane, known))
    }

    /// The view of statements, not older than a few seconds.
    fn statements(&mut self) -> Text {
        if let Some((at, text, _)) = &self.statements
            && at.elapsed() < SLOW_INTERVAL
        {
            return text.clone();
        }
        let now = Instant::now();
        let rows = self.plane.digests(false, true);
        let list = self.digests.list(rows, now);
        let value = list.view();
        let text = both([value.clone(), value]);
        self.statements = Some((now, text.clone(), list));
        text
    }
}

/// The text of a view, for admins and for others.
fn both([admin, stats]: [Value; 2]) -> Text {
    let text: Arc<str> = admin.to_string().into();
    let stats = if admin == stats { Arc::clone(&text) } else { stats.to_string().into() };
    Text { admin: text, stats }
}

impl fmt::Debug for Sampler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sampler").field("id", &self.id).finish_non_exhaustive()
    }
}
