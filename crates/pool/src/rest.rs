//! Connections that nobody uses: they keep their permits, so that the next session need not connect, but only as many as
//! their hostgroup's policy allows, and none while somebody waits.

use std::sync::Arc;

use crate::{Lease, Server};

/// A lease that nobody uses. Dropping it closes the connection and returns the permit.
#[derive(Debug)]
pub struct Rest<E, C> {
    // Fields drop in this order: an observer never sees more resting connections than open ones.
    counted: Counted<E>,
    lease: Lease<E, C>,
}

/// One of the resting connections of a server.
#[derive(Debug)]
struct Counted<E>(Arc<Server<E>>);

impl<E> Drop for Counted<E> {
    fn drop(&mut self) {
        self.0.note_waken();
    }
}

impl<E, C> Lease<E, C> {
    /// Whether it would be kept now if it were laid aside.
    pub fn could_rest(&self) -> bool {
        let (group, server) = (self.permit().group(), self.server());
        group.queue.waiting() == 0
            && group.keeps(server.id())
            && server.resting() < group.most_resting(server.id())
    }

    /// Lays the connection aside. It comes back as `Err` if it is not to be kept: somebody waits, its server takes no new
    /// connections any more, or as many rest as may.
    pub fn rest(self) -> Result<Rest<E, C>, Self> {
        let (group, server) = (self.permit().group(), self.server());
        if group.queue.waiting() > 0 || !group.keeps(server.id()) {
            return Err(self);
        }
        let most = group.most_resting(server.id());
        if !server.try_rest(most) {
            return Err(self);
        }
        Ok(Rest { counted: Counted(Arc::clone(server)), lease: self })
    }
}

impl<E, C> Rest<E, C> {
    /// The connection is used again.
    pub fn wake(self) -> Lease<E, C> {
        let Self { counted, lease } = self;
        drop(counted);
        lease
    }

    /// The server at the other end.
    pub fn server(&self) -> &Arc<Server<E>> {
        self.lease.server()
    }

    /// The connection, to see whether its server has closed it.
    pub const fn connection_mut(&mut self) -> &mut C {
        self.lease.connection_mut()
    }

    /// Whether its server still takes connections.
    pub fn is_of_use(&self) -> bool {
        self.lease.permit().group().keeps(self.server().id())
    }

    /// Whether it may go on resting: nobody waits for its permit, and its server still takes connections.
    pub fn may_rest(&self) -> bool {
        self.lease.permit().group().queue.waiting() == 0 && self.is_of_use()
    }
}
