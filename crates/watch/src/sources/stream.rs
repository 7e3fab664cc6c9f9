//! The stream of a server's log.

use std::future::poll_fn;
use std::time::Duration;

use binlog::request::Start;
use binlog::{Checksum, Fact, Reader, Transactions};
use tokio::time::timeout;
use upstream::{Connection, Target, Worker};
use wire::frame::put_message;

use super::control::{Control, replica};
use super::lost::Lost;
use super::probe::place;
use super::seen::Identity;

/// A server that says nothing for so long is lost.
const SILENCE_MAX: Duration = Duration::from_secs(5);

/// Bytes that are read at once.
const READ_BYTES: usize = 64 * 1024;

/// The log of a server from some place on.
pub(super) struct Stream {
    link: Connection,
    reader: Reader,
    buffer: Vec<u8>,
}

/// What was read, and up to where; nothing as long as the server has not said where that is.
pub(super) type Read = (Fact, Option<cache::Position>);

impl Stream {
    /// Asks for the log behind `start`, of the server with this identity.
    pub(super) async fn open(
        worker: &Worker,
        target: &Target,
        start: &Start,
        identity: &Identity,
    ) -> Result<Self, Lost> {
        let replica = replica();
        let mut control = Control::open(worker, target, &replica).await?;
        if control.identity().await? != *identity {
            return Err(Lost::Useless("behind the server's name there are several"));
        }
        for statement in replica.settings(start) {
            control.run(&statement).await?;
        }
        let mut command = Vec::new();
        put_message(&mut command, 0, &replica.dump(start));
        let mut link = control.link;
        link.sock_mut().write_all(&command).await.map_err(|error| Lost::Cut(error.to_string()))?;
        Ok(Self { link, reader: Reader::new(Checksum::Crc32), buffer: vec![0; READ_BYTES] })
    }

    /// What comes next, at least one thing. Nothing is lost if this is dropped before its end.
    pub(super) async fn next(
        &mut self,
        transactions: &mut Transactions,
        read: &mut Vec<Read>,
    ) -> Result<(), Lost> {
        while read.is_empty() {
            let (link, buffer) = (&mut self.link, &mut self.buffer);
            let reading = poll_fn(|cx| link.sock_mut().poll_read(cx, buffer));
            let n = match timeout(SILENCE_MAX, reading).await {
                Ok(n) => n.map_err(|error| Lost::Cut(error.to_string()))?,
                Err(_) => return Err(Lost::Cut("the server sends neither events nor heartbeats".to_owned())),
            };
            let bytes = self.buffer.get(..n).unwrap_or_default();
            if bytes.is_empty() {
                return Err(Lost::Cut("the server has closed the stream".to_owned()));
            }
            let fed = self.reader.feed(bytes, |logged| {
                let begun = read.len();
                transactions.take(&logged, |fact| read.push((fact, None)));
                let at = place(transactions.position());
                for (_, place) in read.iter_mut().skip(begun) {
                    *place = at;
                }
            });
            fed.map_err(|broken| Lost::Doubtful(broken.to_string()))?;
        }
        Ok(())
    }
}
