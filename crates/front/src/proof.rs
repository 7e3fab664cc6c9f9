//! Checking who a client says it is: the shell around [`as_server`], for logins and for changes of
//! the user.

use std::sync::Arc;

use wire::auth::{Credential, NONCE_LEN, Secret, as_server};
use wire::{Codec as _, packet};

use crate::ending::Ending;
use crate::login::Dialogue;
use crate::refusals::Reason;
use net::random;
use observe::counts::Counter;
use session::error::ClientError;
use session::users::{Options, User};

/// A proof that a user asks to be checked: the parts that a login and `COM_CHANGE_USER` have in
/// common.
#[derive(Debug)]
pub struct Claim<'a> {
    /// The name of the user.
    pub username: &'a [u8],
    /// The method of the proof; `None`: the client has named none.
    pub plugin: Option<&'a [u8]>,
    /// The proof.
    pub answer: &'a [u8],
    /// The method that the greeting has offered; `None` for `COM_CHANGE_USER`.
    pub offered: Option<&'static str>,
}

/// A user who has proven to be one.
#[derive(Debug)]
pub struct Proven {
    /// The user's row.
    pub user: Arc<User>,
    /// What the proof has shown.
    pub(crate) secret: Secret,
}

impl Dialogue<'_> {
    /// Checks a claim, asking the client for more where the method needs it.
    pub async fn check(&mut self, claim: Claim<'_>, nonce: [u8; NONCE_LEN]) -> Result<Proven, Ending> {
        let user = self.worker.upstream.settings().users.find(claim.username);
        self.note_password(claim.answer);
        let (mut login, mut step) = self.begin(&user, &claim, nonce).await?;
        let accepted = loop {
            match step {
                as_server::ServerStep::Send(payload) => {
                    self.exchange.send(&payload).await?;
                    (login, step) = self.continue_login(&user, login).await?;
                }
                as_server::ServerStep::SendPublicKey => {
                    let pair =
                        self.worker.shared.keys.pair().await.map_err(|error| self.refuse_bytes(&error))?;
                    let more = packet::AuthMore { data: pair.public_pem() }.encode(self.capabilities);
                    self.exchange.send(&more).await?;
                    (login, step) = self.continue_login(&user, login).await?;
                }
                as_server::ServerStep::Decrypt(cipher) => {
                    (login, step) = self.decrypt(login, cipher).await?;
                }
                as_server::ServerStep::Accept(accepted) => break accepted,
                as_server::ServerStep::Refuse => {
                    let reason = if user.is_decoy() { Reason::UnknownUser } else { Reason::WrongPassword };
                    return Err(self.deny(&claim, reason));
                }
                as_server::ServerStep::RefuseUnprotected => {
                    return Err(self.deny(&claim, Reason::Unprotected));
                }
            }
        };
        if user.is_decoy() {
            return Err(self.deny(&claim, Reason::UnknownUser));
        }
        if user.has(Options::USE_SSL) && !self.exchange.sock.is_encrypted() {
            // The same words as for a wrong password, which is not to be tried out this way either.
            return Err(self.deny(&claim, Reason::NoTls));
        }
        if let Some(id) = &user.spiffe_id
            && !id.admits(self.exchange.certificate_uris())
        {
            return Err(self.deny(&claim, Reason::OtherCertificate));
        }
        let secret = user.learn(accepted.secret, accepted.digest);
        if let Some(first) = accepted.send_first {
            self.exchange.send(&first).await?;
        }
        Ok(Proven { user, secret })
    }

    /// Judges the proof that came with the claim.
    async fn begin(
        &self,
        user: &Arc<User>,
        claim: &Claim<'_>,
        nonce: [u8; NONCE_LEN],
    ) -> Result<(as_server::ServerLogin, as_server::ServerStep), Ending> {
        let (transport, offered) = (self.exchange.transport(), claim.offered);
        let (plugin, answer) = (claim.plugin.map(<[u8]>::to_vec), claim.answer.to_vec());
        let for_step = Arc::clone(user);
        let step = move || {
            let terms = as_server::Terms {
                credential: &for_step.credential,
                additional: for_step.additional.as_ref(),
                digest: for_step.sha2_digest(),
                wants_password: for_step.wants_password(),
                nonce,
                long_nonce: random::bytes(),
                transport,
                offered,
            };
            as_server::begin(&terms, plugin.as_deref(), &answer)
        };
        self.slow_if_stored(user, step).await
    }

    /// Runs a step of a login; off the worker's thread if it may have to check a stored hash with a
    /// clear password, which takes thousands of rounds. (Where passwords do not travel in the
    /// clear, only [`Self::decrypt`] does.)
    async fn slow_if_stored<T: Send + 'static>(
        &self,
        user: &User,
        step: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Ending> {
        let stored = [Some(&user.credential), user.additional.as_ref()]
            .iter()
            .any(|credential| matches!(credential, Some(Credential::CachingSha2(_))));
        if self.exchange.transport().is_private() && stored {
            self.worker.shared.keys.off_thread(step).await.map_err(|error| self.refuse_bytes(&error))
        } else {
            Ok(step())
        }
    }

    /// Decrypts a password and takes it to `login`.
    async fn decrypt(
        &self,
        mut login: as_server::ServerLogin,
        cipher: Vec<u8>,
    ) -> Result<(as_server::ServerLogin, as_server::ServerStep), Ending> {
        let keys = &self.worker.shared.keys;
        let pair = keys.pair().await.map_err(|error| self.refuse_bytes(&error))?;
        let step = move || {
            let plain = pair.decrypt(&cipher);
            let step = login.decrypted(plain.as_deref());
            (login, step)
        };
        keys.off_thread(step).await.map_err(|error| self.refuse_bytes(&error))
    }

    /// Takes the client's next message to `login`.
    async fn continue_login(
        &mut self,
        user: &User,
        mut login: as_server::ServerLogin,
    ) -> Result<(as_server::ServerLogin, as_server::ServerStep), Ending> {
        let payload = self.receive().await?;
        self.note_password(&payload);
        let step = move || {
            let step = login.message(&payload);
            (login, step)
        };
        let (login, step) = self.slow_if_stored(user, step).await?;
        Ok((login, step.map_err(|error| self.refuse_bytes(&error))?))
    }

    fn deny(&self, claim: &Claim<'_>, reason: Reason) -> Ending {
        self.note_refusal(claim.username, reason);
        self.worker.upstream.counts.note(Counter::WrongPassword);
        self.refuse(&if reason == Reason::Unprotected {
            ClientError::unprotected_password(claim.username, &self.peer)
        } else {
            ClientError::access_denied(claim.username, &self.peer, self.password_given)
        })
    }

    /// Clients say "no password" with no bytes at all or, with `caching_sha2_password`, with one
    /// zero byte.
    const fn note_password(&mut self, answer: &[u8]) {
        self.password_given |= !matches!(answer, [] | [0]);
    }
}
