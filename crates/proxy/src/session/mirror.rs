//! Copies of a session's statements for other hostgroups.

use command::Command;
use route::limits::JUDGED_BYTES_MAX;
use route::{Account, Branches, Route};
use wire::command::Kind;

use super::Session;
use super::decided::Decided;
use super::upload::Upload;
use crate::counts::Counter;
use crate::mirror::Copy;
use crate::mirror::submit::submit;
use reply::compare::{Compare, Half};

impl Session {
    /// Has a copy of the command run that is being sent, if its rules want one. Of one that is so
    /// long that rules do not see its end there is none.
    pub(super) fn mirror(&mut self, command: Command<'_>, upload: &Upload, decided: &Decided) {
        let Route::Many(branches) = &decided.route else { return };
        let Branches { copy: mirror, compare, .. } = **branches;
        if command.kind != Kind::Query {
            return;
        }
        let text = command.text();
        if !upload.complete || text.len() > JUDGED_BYTES_MAX {
            return self.worker.counts.note(Counter::CopiesDropped);
        }
        let text: Box<[u8]> = text.into();
        let halves = compare.then(|| Half::pair(decided.digest())).unzip();
        let (original, compared) = halves;
        if let Some(half) = original {
            let (hostgroup, caps) = (self.state.here, self.state.identity.capabilities);
            self.flight.begin().taps.set_compare(Compare::new(half, hostgroup, caps, upload.next_seq()));
        }
        let copy = Copy {
            text,
            mirror,
            identity: self.state.identity.for_copies(0, self.state.caller.schema()),
            caller: std::sync::Arc::clone(&self.state.caller),
            client_addr: self.state.client_addr.clone(),
            // The listener says where statements go, not where their copies do.
            account: Account { listener: None, ..*self.state.account },
            reading: self.state.reading(),
            compared,
        };
        submit(&self.worker, copy);
    }
}
