//! A client that reads versions, as text and with prepared statements.

use e2e::WAIT_MAX;
use e2e::dice::Dice;
use e2e::history::{Read, Span};
use testkit::client::{Client, ClientError, QueryResult, Statement};
use tokio::time::timeout;

use crate::load::Load;
use crate::world::Site;
use crate::writer::Clock;

/// `ER_TABLE_DEF_CHANGED`: the table was changed while the read began.
const ER_TABLE_DEF_CHANGED: u16 = 1412;
/// Reads of a hundred that are executions of prepared statements.
const PREPARED_PCT: usize = 25;
/// Reads of a hundred in words that no client has used before: these come from the server.
const FRESH_PCT: usize = 15;

/// How a text is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    AsText,
    Prepared,
    Fresh,
}

/// A text of a load, and the statement that was prepared of it.
#[derive(Debug)]
struct Known {
    load: Load,
    text: &'static str,
    prepared: Option<Statement>,
}

/// A reader.
#[derive(Debug)]
pub(crate) struct Reader {
    site: Site,
    client: Client,
    /// Connections may be lost.
    has_losses: bool,
    clock: Clock,
    dice: Dice,
    texts: Vec<Known>,
    /// What it has seen so far.
    pub(crate) seen: Vec<Read>,
}

impl Reader {
    /// Connects, to read all texts.
    pub(crate) async fn new(site: &Site, clock: Clock, dice: Dice) -> Self {
        Self::of(&Load::ALL, site, clock, dice).await
    }

    /// Connects, to read the texts of these loads.
    pub(crate) async fn of(loads: &[Load], site: &Site, clock: Clock, dice: Dice) -> Self {
        let client = site.connect().await;
        let texts = loads.iter().flat_map(|load| load.texts().iter().map(|text| (*load, *text)));
        let texts = texts.map(|(load, text)| Known { load, text, prepared: None }).collect();
        Self { site: site.clone(), client, has_losses: false, clock, dice, texts, seen: Vec::new() }
    }

    /// Connections may be lost: then it connects again.
    pub(crate) fn with_losses(self, has_losses: bool) -> Self {
        Self { has_losses, ..self }
    }

    /// Reads one of the texts.
    pub(crate) async fn read(&mut self) {
        let place = self.dice.below(self.texts.len());
        let way = match self.dice.below(100) {
            0..FRESH_PCT => Way::Fresh,
            percent if percent < FRESH_PCT + PREPARED_PCT => Way::Prepared,
            _ => Way::AsText,
        };
        self.read_text(place, way).await;
    }

    /// Reads all texts in the ways that are cached.
    pub(crate) async fn read_all(&mut self) {
        self.read_all_ways(&[Way::AsText, Way::Prepared]).await;
    }

    /// The same, each twice in a row.
    pub(crate) async fn read_all_twice(&mut self) {
        self.read_all_ways(&[Way::AsText, Way::AsText, Way::Prepared, Way::Prepared]).await;
    }

    async fn read_all_ways(&mut self, ways: &[Way]) {
        for place in 0..self.texts.len() {
            for way in ways {
                self.read_text(place, *way).await;
            }
        }
    }

    async fn read_text(&mut self, place: usize, way: Way) {
        let sent = self.clock.now();
        let result = timeout(WAIT_MAX, self.send(place, way)).await;
        let result = result.unwrap_or_else(|_| panic!("{way:?} of {}: no reply", self.texts[place].text));
        let span = Span { sent, done: self.clock.now() };
        let Known { load, text, .. } = &self.texts[place];
        match result {
            Ok(result) => {
                self.seen.push(Read { key: load.key(), seen: version(&result, way == Way::Prepared), span });
            }
            Err(_) if self.has_losses => {
                self.client = self.site.connect().await;
                self.texts.iter_mut().for_each(|text| text.prepared = None);
            }
            Err(error) => assert_eq!(error.code(), Some(ER_TABLE_DEF_CHANGED), "{text}: {error}"),
        }
    }

    async fn send(&mut self, place: usize, way: Way) -> Result<QueryResult, ClientError> {
        let Known { text, prepared, .. } = &mut self.texts[place];
        match way {
            Way::AsText => self.client.query(text).await,
            Way::Fresh => {
                let fresh = format!("SELECT /* {} */", self.dice.roll());
                self.client.query(&text.replacen("SELECT", &fresh, 1)).await
            }
            Way::Prepared => {
                if prepared.is_none() {
                    *prepared = Some(self.client.prepare(text).await?);
                }
                match prepared {
                    Some(prepared) => self.client.execute(prepared, &[]).await,
                    None => self.client.query(text).await,
                }
            }
        }
    }
}

/// The version in a result.
fn version(result: &QueryResult, is_binary: bool) -> Option<u64> {
    let row = result.rows.first()?;
    Some(if is_binary {
        // A header and a bit for NULL, and the value.
        u64::from_le_bytes(row[2..].try_into().unwrap())
    } else {
        result.first().unwrap().parse().unwrap()
    })
}
