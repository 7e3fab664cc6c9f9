//! A client that reads versions, as text and with prepared statements.

use e2e::dice::Dice;
use e2e::history::{Read, Span};
use testkit::client::{Client, Options, QueryResult, Statement};

use crate::load::Load;
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
    client: Client,
    clock: Clock,
    dice: Dice,
    texts: Vec<Known>,
    /// What it has seen so far.
    pub(crate) seen: Vec<Read>,
}

/// All texts with their loads.
pub(crate) fn all_texts() -> impl Iterator<Item = (Load, &'static str)> {
    Load::ALL.into_iter().flat_map(|load| load.texts().iter().map(move |text| (load, *text)))
}

impl Reader {
    /// Connects.
    pub(crate) async fn new(options: &Options, clock: Clock, dice: Dice) -> Self {
        let client = Client::connect(options).await.unwrap();
        let texts = all_texts().map(|(load, text)| Known { load, text, prepared: None }).collect();
        Self { client, clock, dice, texts, seen: Vec::new() }
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
        for place in 0..self.texts.len() {
            for way in [Way::AsText, Way::Prepared] {
                self.read_text(place, way).await;
            }
        }
    }

    async fn read_text(&mut self, place: usize, way: Way) {
        let Known { load, text, prepared } = &mut self.texts[place];
        if way == Way::Prepared && prepared.is_none() {
            *prepared = Some(self.client.prepare(text).await.unwrap());
        }
        let fresh = text.replacen("SELECT", &format!("SELECT /* {} */", self.dice.roll()), 1);
        let sent = self.clock.now();
        let result = match (way, prepared) {
            (Way::Prepared, Some(prepared)) => self.client.execute(prepared, &[]).await,
            (Way::Fresh, _) => self.client.query(&fresh).await,
            _ => self.client.query(text).await,
        };
        let span = Span { sent, done: self.clock.now() };
        match result {
            Ok(result) => {
                self.seen.push(Read { key: load.key(), seen: version(&result, way == Way::Prepared), span });
            }
            Err(error) => assert_eq!(error.code(), Some(ER_TABLE_DEF_CHANGED), "{text}: {error}"),
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
