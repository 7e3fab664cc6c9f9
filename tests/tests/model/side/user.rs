//! Another login on the same connection.

use std::io;

use testkit::client::encrypt;
use wire::auth::as_client::{self, ClientStep};
use wire::auth::{LONG_NONCE_LEN, Secret, Transport};
use wire::command::Kind;
use wire::frame::put_message;
use wire::{Capabilities, Codec as _, StatusFlags, packet};

use super::{Answer, Frame, Side};
use crate::step::Login;

impl Side {
    /// `COM_CHANGE_USER`; the answer is its last packet. What is in between depends on who is
    /// asked.
    pub(crate) async fn change_user(&mut self, login: &Login) -> io::Result<Answer> {
        let plugin = self.server.auth_plugin.clone();
        let secret = Secret::Clear(login.password.as_bytes().to_vec());
        let (mut proof, answer) =
            as_client::begin(&secret, plugin.as_bytes(), self.nonce, Transport::Plain, [7; LONG_NONCE_LEN]);
        let mut payload = vec![Kind::ChangeUser as u8];
        let mut put = |bytes: &[u8]| payload.extend_from_slice(bytes);
        put(login.account.as_bytes());
        put(&[0, u8::try_from(answer.len()).unwrap_or_default()]);
        put(&answer);
        put(login.schema.as_deref().unwrap_or_default().as_bytes());
        put(&[0]);
        put(&login.collation.to_le_bytes());
        put(plugin.as_bytes());
        put(&[0]);
        if self.capabilities.contains(Capabilities::CONNECT_ATTRS) {
            put(&[0]);
        }
        self.send(&[&payload]).await?;
        self.names.slots.clear();
        loop {
            let Some(frame) = self.frame().await? else {
                return Ok(Answer { frames: Vec::new(), ended: true });
            };
            let step = proof.message(&frame.payload, self.capabilities);
            let step = step.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
            match step {
                ClientStep::Send(answer) => {
                    self.note_nonce(&frame.payload);
                    let mut bytes = Vec::new();
                    put_message(&mut bytes, frame.seq.wrapping_add(1), &answer);
                    self.write(&bytes).await?;
                }
                ClientStep::Read => {}
                // Whether a connection goes on after a refusal shows at the next command.
                ClientStep::Done | ClientStep::Refused => {
                    let payload = self.without_changes(frame.payload);
                    return Ok(Answer { frames: vec![Frame { seq: 0, payload }], ended: false });
                }
                // MySQL does not believe a wrong password at once.
                ClientStep::Encrypt { public_key_pem, masked } => {
                    let secret = encrypt(&public_key_pem, &masked).map_err(io::Error::other)?;
                    let mut bytes = Vec::new();
                    put_message(&mut bytes, frame.seq.wrapping_add(1), &proof.encrypted(secret));
                    self.write(&bytes).await?;
                }
                other => return Err(io::Error::other(format!("no way to log in: {other:?}"))),
            }
        }
    }

    /// The OK of a login says as well which schema that makes the current one. The proxy's does
    /// not.
    fn without_changes(&self, payload: Vec<u8>) -> Vec<u8> {
        match packet::Ok::decode(&payload, self.capabilities) {
            Ok(mut ok) if payload.first() == Some(&0) => {
                ok.session_state = None;
                ok.status.remove(StatusFlags::SESSION_STATE_CHANGED);
                ok.encode(self.capabilities)
            }
            _ => payload,
        }
    }

    /// Keeps the random bytes of a request for another method: they are those of the next change,
    /// too.
    fn note_nonce(&mut self, payload: &[u8]) {
        let mut parts = payload.splitn(2, |byte| *byte == 0);
        if parts.next().is_some_and(|head| head.first() == Some(&packet::AuthSwitch::HEADER))
            && let Some(nonce) = parts.next().and_then(|nonce| nonce.first_chunk())
        {
            self.nonce = *nonce;
        }
    }
}
