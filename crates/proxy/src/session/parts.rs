//! Parts of values (`COM_STMT_SEND_LONG_DATA`) of a statement that the backend in use does not have
//! and refuses to prepare now: the next transaction may only read, say. Servers do not answer that
//! command. So the parts are kept, and go out as soon as the statement is there, at the latest in
//! front of its execution.

use std::future::poll_fn;
use std::task::Poll;

use wire::command::{Kind, STATEMENT_ID};
use wire::frame::{HEADER_LEN, Header, put_message};

use super::Session;
use crate::ending::Ending;
use crate::limits::PARTS_BYTES_MAX;

impl Session {
    /// Keeps the part in the backlog behind these, if they are not too many.
    pub(super) async fn keep_part(&mut self, id: u32, mut parts: Vec<u8>) -> Result<(), Ending> {
        let len = self.io.backlog.first_chunk().map_or(0, |header| Header::parse(*header).len as usize);
        if parts.len() + HEADER_LEN + len <= PARTS_BYTES_MAX {
            self.complete_front().await?;
            if let Some(payload) = self.io.whole_front() {
                put_message(&mut parts, 0, payload);
            }
            self.state.put_parts_back(id, parts);
        }
        self.skip_command().await?;
        if !self.links.has_warnings() {
            // The client has not been refused anything.
            self.forget_warnings().await?;
        }
        Ok(())
    }

    /// Sends parts to the backend in use, which knows the statement by this number.
    pub(super) async fn send_parts(&mut self, known_as: u32, mut parts: Vec<u8>) -> Result<(), Ending> {
        let mut rest = &mut parts[..];
        while let Some((header, behind)) = rest.split_first_chunk_mut::<HEADER_LEN>() {
            let len = Header::parse(*header).len as usize;
            let Some((payload, behind)) = behind.split_at_mut_checked(len) else { break };
            if let Some(id) = payload.get_mut(STATEMENT_ID) {
                id.copy_from_slice(&known_as.to_le_bytes());
            }
            self.note_prepared(Kind::SendLongData, payload);
            rest = behind;
        }
        self.worker.note_at_server(Kind::SendLongData);
        poll_fn(|cx| Poll::Ready(self.links.send(cx, &parts))).await
    }
}
