//! Login conversations with a peer that says anything at all.

use crate::{
    Capabilities,
    auth::{
        Credential, LONG_NONCE_LEN, NONCE_LEN, Secret, Transport,
        as_client::{self, ClientStep},
        as_server::{self, ServerStep, Terms},
        caching_sha2, clear, ed25519, native, parsec, sha256_password,
    },
};

/// The password on our side. The fuzzer does not guess it.
const PASSWORD: &[u8] = b"gate-5 lever frame, 1889";

/// Its hash as `mysql_users` holds it for `caching_sha2_password`; of no known password.
const STORED: &[u8] = b"$A$005$012345678901234567895zzzzMBocEd.OaaR71/j.w9RXSrKttgCSpI2fGX1100";

const NONCE: [u8; NONCE_LEN] = *b"abcdefghijklmnopqrst";

const LONG_NONCE: [u8; LONG_NONCE_LEN] = *b"abcdefghijklmnopqrstuvwxyzABCDEF";

/// The methods that a case can begin with; the number behind them is for none.
const NAMES: [&str; 7] = [
    native::NAME,
    caching_sha2::NAME,
    clear::NAME,
    "another_method",
    sha256_password::NAME,
    ed25519::NAME,
    parsec::NAME,
];

/// What the first two bytes of a case choose.
struct Setting {
    /// Which secret or credential.
    secret: u8,
    transport: Transport,
    /// Whether an earlier login left something.
    cached: bool,
    /// Whether servers want more than a hash.
    wants_password: bool,
    /// Whether it is a login, which had a greeting, or a change of the user.
    greeted: bool,
    plugin: Option<&'static [u8]>,
}

/// Holds one login as a server and one as a client, with the messages in `data`.
pub(super) fn conversations(data: &[u8]) {
    let [first, second, rest @ ..] = data else {
        return;
    };
    let setting = Setting {
        secret: first & 3,
        transport: match (first & 4, first & 0x40) {
            (0, _) => Transport::Plain,
            (_, 0) => Transport::Secure,
            _ => Transport::Local,
        },
        cached: first & 8 != 0,
        wants_password: first & 0x10 != 0,
        greeted: first & 0x20 != 0,
        plugin: NAMES.get(usize::from(*second) % (NAMES.len() + 1)).map(|name| name.as_bytes()),
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
    let terms = Terms {
        credential: &credential,
        additional: None,
        digest: cached,
        wants_password: setting.wants_password,
        nonce: NONCE,
        long_nonce: LONG_NONCE,
        transport: setting.transport,
        offered: setting.greeted.then_some(native::NAME),
    };
    let (mut login, mut step) = as_server::begin(&terms, setting.plugin, answer);
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
            ServerStep::Refuse | ServerStep::RefuseUnprotected => {
                let unprotected = step == ServerStep::RefuseUnprotected;
                assert!(!unprotected || setting.transport == Transport::Plain, "nobody else could read it");
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
    let (mut login, mut sent) = as_client::begin(&secret, plugin, NONCE, setting.transport, LONG_NONCE);
    let first = as_client::first_method(&secret, plugin, setting.transport);
    assert!(NAMES.iter().any(|name| name.as_bytes() == first), "a method that is not there");
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
            Ok(ClientStep::Derive) => login.derive(),
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
