//! One server that is followed, for ever: connected to, read, and connected to again.
//!
//! When a stream is cut, what is known of the log is kept: if [nothing was missed](super::seen),
//! another stream goes on where that one has ended. Else following begins anew, and answers are
//! dropped.

use std::convert::Infallible;
use std::future::pending;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use binlog::{Fact, Transactions};
use cache::{Cache, Source};
use tokio::time::{Instant, sleep, timeout};
use upstream::{Target, Worker};

use super::alarm::Alarm;
use super::asking::{Answers, questions};
use super::control::{Control, replica};
use super::log::{Log, Place};
use super::lost::Lost;
use super::seen::{Identity, Seen};
use super::start::{now, start};
use super::stream::{Read, Stream};

/// How long it takes until a log that was lost is asked for again.
const RETRY: Duration = Duration::from_secs(1);

/// The same of a log that was read for as long as that.
const RETRY_SOON: Duration = Duration::from_millis(50);

/// A server has to answer within this time.
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// What is known of a log, be it read now or not.
struct Known<'a> {
    log: Log<'a>,
    transactions: Transactions,
}

/// Follows a server for ever.
pub(super) async fn follow(worker: Rc<Worker>, cache: Arc<Cache>, source: Arc<Source>, target: Target) {
    let here = Place { worker: &worker, cache: &cache, source: &source };
    let (mut known, mut complaint) = (None, String::new());
    loop {
        let mut begun = None;
        let Err(lost) = follow_once(here, &target, &mut known, &mut begun).await;
        let gap_us = known.as_ref().map_or(0, |known| known.log.seen().1);
        if lost.forgets(gap_us) {
            known = None;
        } else if let Some(Known { log, transactions }) = &mut known {
            log.interrupt(transactions.position());
            transactions.reconnect();
        }
        let why = lost.to_string();
        source.count(|counters| counters.reason.clone_from(&why));
        if why != complaint {
            tracing::warn!(server = source.name(), %why, "a server's binary log is not followed; it is tried again");
            complaint = why;
        }
        let has_lasted = begun.is_some_and(|begun: Instant| begun.elapsed() >= RETRY);
        sleep(if has_lasted && known.is_some() { RETRY_SOON } else { RETRY }).await;
    }
}

/// A server that is connected to.
struct Connected<'a> {
    control: Control<'a>,
    stream: Stream,
    /// Where following begins anew; nothing if the log is read on.
    anew: Option<Seen>,
}

/// Connects to a server, of whose log so much was seen some microseconds ago.
async fn connect<'a>(
    here: Place<'a>,
    target: &Target,
    seen: Option<(&Seen, u64)>,
) -> Result<Connected<'a>, Lost> {
    let mut control = Control::open(here.worker, target, &replica()).await?;
    let identity = control.identity().await?;
    let mut anew = None;
    let behind = match seen {
        Some((seen, gap_us)) if reads_on(here, &mut control, (seen, gap_us), &identity).await? => {
            seen.behind().clone()
        }
        _ => anew.insert(start(&mut control, identity.clone()).await?).behind().clone(),
    };
    let stream = Stream::open(here.worker, target, &behind, &identity).await?;
    Ok(Connected { control, stream, anew })
}

/// Whether the log can be read on.
async fn reads_on(
    here: Place<'_>,
    control: &mut Control<'_>,
    (seen, gap_us): (&Seen, u64),
    identity: &Identity,
) -> Result<bool, Lost> {
    let now = now(control, seen, identity, gap_us).await?;
    let checked = seen.check(&now);
    if let Err(why) = checked {
        tracing::info!(server = here.source.name(), %why, "a server's binary log is followed anew");
    }
    Ok(checked.is_ok())
}

/// Reads what comes first. An error comes behind the request.
async fn first(stream: &mut Stream, transactions: &mut Transactions) -> Result<Vec<Read>, Lost> {
    let mut read = Vec::new();
    in_time(stream.next(transactions, &mut read)).await?;
    match read.first() {
        Some((Fact::Refused { code, message }, _)) => Err(Lost::of_error(*code, message)),
        _ => Ok(read),
    }
}

/// Questions on their way, over a connection that comes back with the answers.
type Asking<'a> = Pin<Box<dyn Future<Output = Result<(Control<'a>, Answers), Lost>> + 'a>>;

/// Follows a server until its stream ends. Takes note of when it has begun.
async fn follow_once<'a>(
    here: Place<'a>,
    target: &Target,
    known: &mut Option<Known<'a>>,
    begun: &mut Option<Instant>,
) -> Result<Infallible, Lost> {
    let seen = known.as_ref().map(|known| known.log.seen());
    let Connected { control, mut stream, anew } = in_time(connect(here, target, seen)).await?;
    let mut fresh = Transactions::default();
    let mut read = match known {
        Some(known) if anew.is_none() => first(&mut stream, &mut known.transactions).await?,
        _ => first(&mut stream, &mut fresh).await?,
    };
    if let Some(seen) = anew {
        // What was known of the log ends before.
        *known = None;
        *known = Some(Known { log: Log::begin(here, control.kind, seen), transactions: fresh });
        tracing::info!(server = here.source.name(), "a server's binary log is followed");
    } else if let Some(known) = known {
        known.log.resume();
        tracing::info!(server = here.source.name(), "a server's binary log is read on");
    }
    let Some(Known { log, transactions }) = known else {
        return Err(Lost::Useless("nothing is known of the log"));
    };
    *begun = Some(Instant::now());
    read.drain(..).try_for_each(|read| log.take(read))?;
    let alarm = Alarm::new().map_err(|error| Lost::Cut(error.to_string()))?;
    let mut free = Some(control);
    let mut asking: Option<Asking<'_>> = None;
    loop {
        let answers = async {
            match asking.as_mut() {
                Some(asking) => asking.await,
                None => pending().await,
            }
        };
        let is_free = free.is_some();
        tokio::select! {
            got = stream.next(transactions, &mut read) => {
                got?;
                read.drain(..).try_for_each(|read| log.take(read))?;
                // What was asked in vain may bring something now.
                log.pace.resume();
            }
            answered = answers => {
                asking = None;
                let (control, answers) = answered?;
                free = Some(control);
                log.hear(answers)?;
            }
            ask = log.due(&alarm), if is_free => {
                let ask = ask.map_err(|error| Lost::Cut(error.to_string()))?;
                if let Some(control) = free.take() {
                    asking = Some(Box::pin(in_time(questions(control, ask, log.ask()))));
                }
            }
        }
    }
}

/// Does this in time, or the connection is lost.
async fn in_time<T>(doing: impl Future<Output = Result<T, Lost>>) -> Result<T, Lost> {
    let late = |_| Err(Lost::Cut("the server does not answer in time".to_owned()));
    timeout(ANSWER_MAX, doing).await.unwrap_or_else(late)
}
