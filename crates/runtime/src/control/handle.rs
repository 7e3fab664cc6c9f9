//! What becomes of a client before it has a session asks this of its control.

use std::time::Duration;

use front::{About, ClientHandle};
use tokio::time::Instant;

use super::{Activity, Control, Signal};

impl ClientHandle for Control {
    fn id(&self) -> u32 {
        self.id
    }

    fn about(&self) -> &About {
        &self.about
    }

    fn age(&self, now: Instant) -> Duration {
        self.age(now)
    }

    fn signal(&self) -> Signal {
        self.signal()
    }

    fn has_quit(&self) -> bool {
        self.quit.get()
    }

    fn set_tunnel(&self, quiet: Option<Instant>) {
        self.activity.set(Activity::Tunnel(quiet));
    }

    fn until<T>(
        &self,
        least: Signal,
        work: impl Future<Output = T>,
    ) -> impl Future<Output = Result<T, Signal>> {
        self.until(least, work)
    }
}
