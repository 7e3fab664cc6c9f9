//! Login conversations with a peer that says anything at all.

use crate::{
    Capabilities,
    auth::{
        Credential, NONCE_LEN, Secret, Transport,
        as_client::{self, ClientStep},
        as_server::{self, ServerStep},
        caching_sha2, clear, native,
    },
};

/// The password on our side. Nobody guesses it.
const PASSWORD: &[u8] = b"gate-5 lever frame, 1889";

/// Its hash as `mysql_users` holds it for `caching_sha2_password`; of no known password.
const STORED: &[u8] = b"$A$005$012345678901234567895zzzzMBocEd.OaaR71/j.w9RXSrKttgCSpI2fGX1100";

const NONCE: [u8; NONCE_LEN] = *b"abcdefghijklmnopqrst";

/// What the first two bytes of a case choose.
struct Setting {
    /// Which secret or credential.
    secret: u8,
    transport: Transport,
    /// Whether an earlier login left something.
    cached: bool,
    plugin: Option<&'static [u8]>,
}

/// Holds one login as a server and one as a client, with the messages in `data`.
pub(super) fn conversations(data: &[u8]) {
    let [first, second, rest @ ..] = data else {
        return;
    };
    let names = [native::NAME, caching_sha2::NAME, clear::NAME, "another_method"];
    let setting = Setting {
        secret: first & 3,
        transport: if first & 4 == 0 { Transport::Plain } else { Transport::Secure },
        cached: first & 8 != 0,
        plugin: names.get(usize::from(second % 5)).map(|name| name.as_bytes()),
    };
    serve_client(&setting, messages(rest));
    log_in(&setting, messages(rest));
}

/// A client that does not know the password is not let in.
fn serve_client<'a>(setting: &Setting, mut messages: impl Iterator<Item = &'a [u8]>) {
    let credential = match setting.secret {
        0 => Ok(Credential::Empty),
        1 => Ok(Credential::Clear(PASSWORD.to_vec())),
        2 => Ok(Credential::Native(native::stage2(PASSWORD))),
        _ => Credential::parse(STORED),
    };
    let Ok(credential) = credential else {
        return;
    };
    let cached = setting.cached.then(|| caching_sha2::digest(PASSWORD));
    let answer = messages.next().unwrap_or_default();
    let (mut login, mut step) =
        as_server::begin(&credential, cached, NONCE, setting.transport, setting.plugin, answer);
    loop {
        step = match step {
            ServerStep::Send(_) | ServerStep::SendPublicKey => {
                let Some(message) = messages.next() else {
                    return;
                };
                match login.message(message) {
                    Ok(step) => step,
                    Err(_) => return,
                }
            }
            // RSA as the identity, and failing for nothing.
            ServerStep::Decrypt(cipher) => login.decrypted((!cipher.is_empty()).then_some(&cipher)),
            ServerStep::Accept(_) => {
                assert_eq!(credential, Credential::Empty, "let in without the password");
                return;
            }
            ServerStep::Refuse => {
                assert!(login.message(b"again").is_err(), "a refused login goes on");
                return;
            }
        };
    }
}

/// A server does not get to see the password where others may read it.
fn log_in<'a>(setting: &Setting, mut messages: impl Iterator<Item = &'a [u8]>) {
    let secret = match setting.secret {
        0 => Secret::Empty,
        1 => Secret::Clear(PASSWORD.to_vec()),
        2 => Secret::NativeStage1(native::stage1(PASSWORD)),
        _ => Secret::CachingSha2Stage1(caching_sha2::stage1(PASSWORD)),
    };
    let plugin = setting.plugin.unwrap_or_default();
    let (mut login, mut sent) = as_client::begin(&secret, plugin, NONCE, setting.transport);
    loop {
        if setting.transport == Transport::Plain {
            let shown = sent.windows(PASSWORD.len()).any(|window| window == PASSWORD);
            assert!(!shown, "the password was sent");
        }
        let Some(message) = messages.next() else {
            return;
        };
        sent = match login.message(message, Capabilities::PROTOCOL_41) {
            Ok(ClientStep::Send(payload)) => payload,
            Ok(ClientStep::Read) => Vec::new(),
            Ok(ClientStep::Encrypt { public_key_pem, masked }) => {
                assert!(!public_key_pem.is_empty() && !masked.is_empty(), "nothing to encrypt");
                login.encrypted(vec![0; 256])
            }
            Ok(ClientStep::Done | ClientStep::Refused) => {
                assert!(matches!(message, [0x00 | 0xff, ..]), "neither OK nor ERR: {message:?}");
                return;
            }
            Ok(ClientStep::Unsupported(_)) | Err(_) => return,
        };
    }
}

/// Cuts `bytes` into messages: a byte with the length, and the message.
fn messages(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let (&len, after) = rest.split_first()?;
        let (message, after) = after.split_at_checked(len.into()).unwrap_or((after, &[]));
        rest = after;
        Some(message)
    })
}
