//! Asking all workers who has the connections of a hostgroup.

use std::pin::Pin;
use std::rc::{Rc, Weak};

use tokio::time::{Instant, timeout_at};

use super::Held;
use crate::limits::{HOLDERS_AGE_MAX, HOLDERS_WAIT_MAX};
use crate::worker::Worker;

/// Who has the connections of `hostgroup`, as all workers know it that answer in time.
async fn holders(worker: &Rc<Worker>, hostgroup: u32) -> Rc<Held> {
    let mut asked = worker.held.0.lock().await;
    asked.retain(|_, (then, _)| then.elapsed() < HOLDERS_AGE_MAX);
    if let Some((_, known)) = asked.get(&hostgroup) {
        return Rc::clone(known);
    }
    let answers = worker.shared.siblings.ask(worker.index, move |sibling| sibling.holders_of(hostgroup));
    let mut all = worker.holders_of(hostgroup);
    let deadline = Instant::now() + HOLDERS_WAIT_MAX;
    for answer in answers {
        if let Ok(Ok(held)) = timeout_at(deadline, answer).await {
            held.0.into_iter().for_each(|group| all.merge(group));
        }
    }
    let all = Rc::new(all);
    asked.insert(hostgroup, (Instant::now(), Rc::clone(&all)));
    all
}

/// The sessions of all workers, seen from one of them.
#[derive(Debug)]
pub struct Sessions(pub Weak<Worker>);

impl upstream::Holders for Sessions {
    fn of(&self, hostgroup: u32) -> Pin<Box<dyn Future<Output = String> + '_>> {
        Box::pin(async move {
            match self.0.upgrade() {
                Some(worker) => holders(&worker, hostgroup).await.to_string(),
                None => String::new(),
            }
        })
    }
}
