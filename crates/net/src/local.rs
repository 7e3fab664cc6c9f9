//! What the sockets of one thread share.

use std::cell::RefCell;
use std::rc::Rc;

use crate::keys::{Keys, RsaError};
use crate::limits::SCRATCH_BYTES;
use crate::sock::Workshop;
use crate::sock::tls::Buffers;

/// Buffers that the sockets of one thread share, and where its long steps run.
///
/// A socket borrows a buffer while it is polled, never across a wait: thousands of connections need
/// one of each.
#[derive(Debug)]
pub struct Local {
    /// Bytes from sockets are read into it.
    pub scratch: RefCell<Box<[u8]>>,
    /// TLS connections read into it and write from it.
    pub tls: Rc<RefCell<Buffers>>,
    /// Buffers and compressors of compressed connections.
    pub compression: Rc<RefCell<Workshop>>,
    /// Runs steps on other threads; `None`: they run here.
    steps: Option<Keys>,
}

impl Local {
    /// Buffers for one thread. Without `steps` the thread takes steps itself that take longer than
    /// a query.
    pub fn new(steps: Option<Keys>) -> Self {
        Self {
            scratch: RefCell::new(vec![0; SCRATCH_BYTES].into_boxed_slice()),
            tls: Rc::default(),
            compression: Rc::default(),
            steps,
        }
    }

    /// Takes a step that takes longer than sessions may wait for, a signature for example.
    ///
    /// Fails if the control runtime has stopped.
    pub async fn off_thread<T: Send + 'static>(
        &self,
        step: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, RsaError> {
        match &self.steps {
            None => Ok(step()),
            Some(keys) => keys.off_thread(step).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use tokio::runtime::Handle;

    use super::*;

    #[tokio::test]
    async fn long_steps_run_elsewhere_where_there_is_a_runtime_for_them() {
        let here = || thread::current().id();
        assert_eq!(Local::new(None).off_thread(here).await, Ok(here()));
        let keys = Keys::new(&Handle::current());
        assert_ne!(Local::new(Some(keys)).off_thread(here).await, Ok(here()));
    }
}
