//! Both sides of a login talk with each other, in every combination.

mod client;
mod server;

use proptest::prelude::*;

use self::client::begin_at_client;
use self::server::begin_at_server;

use super::as_client::{self, ClientLogin, ClientStep};
use super::as_server::{self, Accepted, ServerLogin, ServerStep, Terms};
use super::caching_sha2::{self, Stored};
use super::testing::NONCE;
use super::{
    Credential, LONG_NONCE_LEN, Secret, Transport, clear, ed25519, native, old, parsec, sha256_password,
};
use crate::{Capabilities, WireError};

const PASSWORD: &[u8] = b"secret";
const STORED: &[u8] = b"$A$005$012345678901234567895fkz3MBocEd.OaaR71/j.w9RXSrKttgCSpI2fGX1100";
const PLUGINS: [&str; 8] = [
    native::NAME,
    caching_sha2::NAME,
    clear::NAME,
    ed25519::NAME,
    sha256_password::NAME,
    parsec::NAME,
    old::NAME,
    "",
];
const TRANSPORTS: [Transport; 3] = [Transport::Plain, Transport::Local, Transport::Secure];
const LONG_NONCE: [u8; LONG_NONCE_LEN] = *b"a nonce of thirty-two bytes...!\0";
const CAPS: Capabilities = Capabilities::PROTOCOL_41;

fn credentials() -> [Credential; 4] {
    [
        Credential::Empty,
        Credential::Clear(PASSWORD.to_vec()),
        Credential::Native(native::stage2(PASSWORD)),
        Credential::CachingSha2(Stored::parse(STORED).unwrap()),
    ]
}

fn secrets(password: &[u8]) -> [Secret; 3] {
    [
        Secret::Clear(password.to_vec()),
        Secret::NativeStage1(native::stage1(password)),
        Secret::CachingSha2Stage1(caching_sha2::stage1(password)),
    ]
}

fn terms(credential: &Credential, digest: Option<[u8; 32]>, transport: Transport) -> Terms<'_> {
    let offered = Some(native::NAME);
    let (nonce, long_nonce) = (NONCE, LONG_NONCE);
    let (additional, wants_password) = (None, false);
    Terms { credential, additional, digest, wants_password, nonce, long_nonce, transport, offered }
}

/// Runs a login to its end.
fn talk(
    credential: &Credential,
    cached: Option<[u8; 32]>,
    secret: &Secret,
    plugin: &str,
    transport: Transport,
) -> Result<Accepted, &'static str> {
    talk_with(&terms(credential, cached, transport), secret, plugin).0
}

/// The same; returns the number of messages as well: the greeting, those of the login, and OK or
/// ERR. RSA is the identity.
fn talk_with(terms: &Terms<'_>, secret: &Secret, plugin: &str) -> (Result<Accepted, &'static str>, u8) {
    let mut messages = 2;
    let outcome = converse(terms, secret, plugin, &mut messages);
    (outcome, messages)
}

fn converse(
    terms: &Terms<'_>,
    secret: &Secret,
    plugin: &str,
    messages: &mut u8,
) -> Result<Accepted, &'static str> {
    let plugin = plugin.as_bytes();
    let transport = terms.transport;
    let (mut client, first) = as_client::begin(secret, plugin, NONCE, transport, LONG_NONCE);
    let (mut server, mut step) = as_server::begin(terms, Some(plugin), &first);
    for _ in 0..10 {
        let payload = match step {
            ServerStep::Accept(accepted) => {
                *messages += 1 + u8::from(accepted.send_first.is_some());
                if let Some(payload) = &accepted.send_first {
                    assert_eq!(client.message(payload, CAPS), Ok(ClientStep::Read));
                }
                assert_eq!(client.message(&[0; 7], CAPS), Ok(ClientStep::Done));
                return Ok(accepted);
            }
            ServerStep::Refuse | ServerStep::RefuseUnprotected => {
                *messages += 1;
                assert_eq!(client.message(&[0xff; 9], CAPS), Ok(ClientStep::Refused));
                return Err("refused");
            }
            ServerStep::Decrypt(cipher) => {
                step = server.decrypted(Some(&plain(&cipher)));
                continue;
            }
            ServerStep::Send(payload) => payload,
            ServerStep::SendPublicKey => b"\x01a public key".to_vec(),
        };
        *messages += 2;
        let answer = match client.message(&payload, CAPS).unwrap() {
            ClientStep::Send(answer) => answer,
            ClientStep::Encrypt { public_key_pem, masked } => {
                assert_eq!(public_key_pem, b"a public key");
                client.encrypted(cipher(&masked))
            }
            ClientStep::Unsupported(_) => return Err("unsupported"),
            other => panic!("{other:?} in the middle of a login"),
        };
        if transport == Transport::Plain {
            let shows = answer.windows(PASSWORD.len()).any(|bytes| bytes == PASSWORD);
            assert!(!shows, "a clear password over a plain connection");
        }
        step = server.message(&answer).unwrap();
    }
    panic!("a login without end");
}

/// As long as what RSA makes of a password, with the bytes and their number in it.
fn cipher(masked: &[u8]) -> Vec<u8> {
    let mut cipher = masked.to_vec();
    cipher.resize(255, 0);
    cipher.push(u8::try_from(masked.len()).unwrap());
    cipher
}

/// What [`cipher`] was made of.
fn plain(cipher: &[u8]) -> Vec<u8> {
    cipher[..usize::from(*cipher.last().unwrap())].to_vec()
}

/// Calls `check` with every combination of the server's and the connection's side.
fn for_all(check: impl Fn(&Credential, Option<[u8; 32]>, &str, Transport)) {
    let cached = [None, Some(caching_sha2::digest(PASSWORD)), Some(caching_sha2::digest(b"old"))];
    for credential in &credentials()[1..] {
        // What was learned before concerns stored hashes only.
        let cached =
            if matches!(credential, Credential::CachingSha2(_)) { &cached[..] } else { &cached[..1] };
        for &cached in cached {
            for plugin in PLUGINS {
                for transport in TRANSPORTS {
                    check(credential, cached, plugin, transport);
                }
            }
        }
    }
}

#[test]
fn the_password_is_accepted_everywhere() {
    for_all(|credential, cached, plugin, transport| {
        let secret = Secret::Clear(PASSWORD.to_vec());
        let result = talk(credential, cached, &secret, plugin, transport);
        let accepted = result.unwrap_or_else(|why| panic!("{why}: {credential:?} {plugin} {transport:?}"));
        let clear = plugin == clear::NAME && transport.is_private();
        let sha256 = plugin == sha256_password::NAME;
        let fast = cached == Some(caching_sha2::digest(PASSWORD)) && !clear && !sha256;
        let expected = match credential {
            Credential::Native(_) if !clear => Secret::NativeStage1(native::stage1(PASSWORD)),
            Credential::CachingSha2(_) if fast => Secret::CachingSha2Stage1(caching_sha2::stage1(PASSWORD)),
            _ => secret,
        };
        assert_eq!(accepted.secret, expected, "{credential:?} {plugin} {transport:?}");
        let shown = match credential {
            Credential::CachingSha2(_) => !fast,
            Credential::Native(_) => clear,
            _ => false,
        };
        let digest = shown.then(|| caching_sha2::digest(PASSWORD));
        assert_eq!(accepted.digest, digest, "{credential:?} {plugin} {transport:?}");
    });
}

#[test]
fn wrong_and_missing_passwords_are_refused_everywhere() {
    for_all(|credential, cached, plugin, transport| {
        for secret in [Secret::Empty].into_iter().chain(secrets(b"Secret")) {
            let result = talk(credential, cached, &secret, plugin, transport);
            assert!(result.is_err(), "{secret:?} {credential:?} {plugin} {transport:?}");
        }
    });
}

#[test]
fn a_hash_is_enough_where_its_method_is_spoken() {
    for_all(|credential, cached, plugin, transport| {
        let [_, sha1, sha256] = secrets(PASSWORD);
        // Methods that show or use the password itself are asked for again when a client names
        // them.
        let with_password = match (credential, plugin) {
            (_, clear::NAME) => transport.is_private(),
            (Credential::Clear(_), name) => [ed25519::NAME, sha256_password::NAME].contains(&name),
            (Credential::CachingSha2(_), name) => name == sha256_password::NAME,
            _ => false,
        };
        let sha1_enough = match credential {
            Credential::Clear(_) => plugin == native::NAME,
            credential => matches!(credential, Credential::Native(_)),
        };
        let sha256_enough = match credential {
            // A server that knows the password asks clients with another method for
            // caching_sha2_password.
            Credential::Clear(_) => plugin != native::NAME,
            Credential::CachingSha2(_) => cached == Some(caching_sha2::digest(PASSWORD)),
            _ => false,
        };
        for (secret, enough) in [(sha1, sha1_enough), (sha256, sha256_enough)] {
            let result = talk(credential, cached, &secret, plugin, transport);
            let expected = enough && !with_password;
            assert_eq!(result.is_ok(), expected, "{secret:?} {credential:?} {plugin} {transport:?}");
        }
    });
}

/// Messages of a login whose method needs no switch and no question: greeting, login, OK.
const SHORTEST: u8 = 3;

#[test]
fn a_login_takes_as_many_messages_as_with_a_server() {
    let [_, clear_text, native_hash, stored] = credentials();
    let seen = Some(caching_sha2::digest(PASSWORD));
    for (credential, digest, plugin, transport, messages) in [
        (&clear_text, None, native::NAME, Transport::Plain, SHORTEST),
        (&native_hash, None, native::NAME, Transport::Plain, SHORTEST),
        (&clear_text, None, caching_sha2::NAME, Transport::Plain, SHORTEST + 1),
        (&stored, seen, caching_sha2::NAME, Transport::Plain, SHORTEST + 1),
        (&stored, None, caching_sha2::NAME, Transport::Secure, SHORTEST + 2),
        (&stored, None, caching_sha2::NAME, Transport::Local, SHORTEST + 2),
        // Question, key request, key, password.
        (&stored, None, caching_sha2::NAME, Transport::Plain, SHORTEST + 4),
        (&clear_text, None, sha256_password::NAME, Transport::Secure, SHORTEST),
        // The login asks for the key; then come key and password.
        (&clear_text, None, sha256_password::NAME, Transport::Plain, SHORTEST + 2),
        (&clear_text, None, sha256_password::NAME, Transport::Local, SHORTEST + 2),
        (&stored, None, sha256_password::NAME, Transport::Plain, SHORTEST + 2),
        (&clear_text, None, clear::NAME, Transport::Secure, SHORTEST),
        (&native_hash, None, clear::NAME, Transport::Local, SHORTEST),
        // The greeting's nonce is too short: always a switch.
        (&clear_text, None, ed25519::NAME, Transport::Plain, SHORTEST + 2),
        // Methods that cannot be checked: a switch, and what the other one takes.
        (&native_hash, None, caching_sha2::NAME, Transport::Plain, SHORTEST + 2),
        (&native_hash, None, sha256_password::NAME, Transport::Plain, SHORTEST + 2),
        (&native_hash, None, ed25519::NAME, Transport::Plain, SHORTEST + 2),
        (&stored, seen, native::NAME, Transport::Plain, SHORTEST + 3),
        (&stored, seen, ed25519::NAME, Transport::Plain, SHORTEST + 3),
        (&clear_text, None, clear::NAME, Transport::Plain, SHORTEST + 3),
        (&clear_text, None, "dialog", Transport::Plain, SHORTEST + 3),
    ] {
        let secret = Secret::Clear(PASSWORD.to_vec());
        let (outcome, took) = talk_with(&terms(credential, digest, transport), &secret, plugin);
        assert!(outcome.is_ok(), "{credential:?} {plugin} {transport:?}");
        assert_eq!(took, messages, "{credential:?} {plugin} {transport:?}");
    }
}

#[test]
fn a_password_is_asked_for_where_servers_want_more_than_the_hash() {
    let [_, _, native_hash, _] = credentials();
    let secret = Secret::Clear(PASSWORD.to_vec());
    for transport in TRANSPORTS {
        let asking = Terms { wants_password: true, ..terms(&native_hash, None, transport) };
        for plugin in PLUGINS {
            let (outcome, _) = talk_with(&asking, &secret, plugin);
            let accepted = outcome.unwrap_or_else(|why| panic!("{why}: {plugin} {transport:?}"));
            assert_eq!(accepted.secret, secret, "{plugin} {transport:?}");
            assert_eq!(accepted.digest, Some(caching_sha2::digest(PASSWORD)), "{plugin} {transport:?}");
            let wrong = Secret::Clear(b"Secret".to_vec());
            assert_eq!(talk_with(&asking, &wrong, plugin).0, Err("refused"), "{plugin} {transport:?}");
            // The client is not asked twice.
            let asked = Terms { digest: accepted.digest, ..asking.clone() };
            for (secret, plugin) in secrets(PASSWORD).iter().skip(1).zip([native::NAME, caching_sha2::NAME]) {
                assert!(talk_with(&asked, secret, plugin).0.is_ok(), "{secret:?} {transport:?}");
            }
            // Whether the password is known or not, a wrong one hears the same.
            for plugin in PLUGINS {
                assert_eq!(talk_with(&asked, &wrong, plugin), talk_with(&asking, &wrong, plugin));
            }
        }
    }
}

#[test]
fn an_additional_password_is_as_good_as_the_first() {
    let other = b"another password";
    let [_, clear, native, stored] = credentials();
    let second = Credential::Clear(other.to_vec());
    let native_second = Credential::Native(native::stage2(other));
    for (first, additional) in
        [(&clear, &second), (&native, &second), (&stored, &second), (&native, &native_second)]
    {
        for (transport, plugin) in
            TRANSPORTS.into_iter().flat_map(|transport| PLUGINS.map(|plugin| (transport, plugin)))
        {
            let terms = Terms { additional: Some(additional), ..terms(first, None, transport) };
            for password in [PASSWORD, other] {
                let (outcome, _) = talk_with(&terms, &Secret::Clear(password.to_vec()), plugin);
                let accepted =
                    outcome.unwrap_or_else(|why| panic!("{why}: {first:?} {plugin} {transport:?}"));
                assert!(accepted.secret.is_of(&Secret::Clear(password.to_vec())), "{first:?} {plugin}");
            }
            let (outcome, _) = talk_with(&terms, &Secret::Clear(b"a third one".to_vec()), plugin);
            assert!(outcome.is_err(), "{first:?} {plugin} {transport:?}");
        }
    }
}

#[test]
fn passwords_of_any_length_log_in() {
    for len in [1, 255, 256, 1000] {
        let password = vec![b'x'; len];
        let secret = Secret::Clear(password.clone());
        let clear_text = Credential::Clear(password.clone());
        for plugin in [native::NAME, caching_sha2::NAME, ed25519::NAME] {
            assert!(talk(&clear_text, None, &secret, plugin, Transport::Plain).is_ok(), "{len} {plugin}");
        }
        for credential in [clear_text, Credential::Native(native::stage2(&password))] {
            assert!(talk(&credential, None, &secret, clear::NAME, Transport::Secure).is_ok(), "{len}");
        }
    }
}

#[test]
fn what_a_login_learned_is_enough_for_the_next_one() {
    let [.., native, stored] = credentials();
    let accepted = talk(&native, None, &secrets(PASSWORD)[0], native::NAME, Transport::Plain).unwrap();
    assert!(talk(&native, None, &accepted.secret, native::NAME, Transport::Plain).is_ok());

    let full = talk(&stored, None, &secrets(PASSWORD)[0], caching_sha2::NAME, Transport::Plain).unwrap();
    let fast = talk(&stored, full.digest, &full.secret, caching_sha2::NAME, Transport::Plain).unwrap();
    assert_eq!(fast.send_first, Some(vec![1, 3]));
    assert!(talk(&stored, full.digest, &fast.secret, caching_sha2::NAME, Transport::Plain).is_ok());
}

#[test]
fn debug_shows_no_secret() {
    let (password, plugin) = (b"hunter2", native::NAME);
    let (credential, secret) = (Credential::Clear(password.to_vec()), Secret::Clear(password.to_vec()));
    let login = begin_at_client(&secret, plugin);
    let step = ClientStep::Send(clear::answer(password));
    let accepted = talk(&credential, None, &secret, plugin, Transport::Plain);
    let (server, _) = begin_at_server(&credential, Some(plugin), b"");
    let shown = format!("{credential:?} {secret:?} {login:?} {step:?} {accepted:?} {server:?}");
    assert!(!shown.contains("hunter2") && !shown.contains("104, 117"), "{shown}");
}

proptest! {
    #[test]
    fn hostile_messages_never_panic(
        kind in 0..4_usize, plugin in 0..PLUGINS.len(), transport in 0..TRANSPORTS.len(),
        messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 1..6),
        start in prop::collection::vec(0..6_u8, 6),
    ) {
        let transport = TRANSPORTS[transport];
        let plugin = PLUGINS[plugin].as_bytes();
        let messages: Vec<Vec<u8>> =
            start.into_iter().zip(messages).map(|(first, rest)| [vec![first], rest].concat()).collect();
        let (mut server, mut step) =
            as_server::begin(&terms(&credentials()[kind], None, transport), Some(plugin), &messages[0]);
        for message in &messages {
            if matches!(step, ServerStep::Decrypt(_)) {
                prop_assert!(!matches!(server.decrypted(Some(message)), ServerStep::Accept(_)));
            }
            step = server.message(message).unwrap_or(ServerStep::Refuse);
            prop_assert!(!matches!(step, ServerStep::Accept(_)), "nobody guesses a proof");
        }
        let secret = &secrets(PASSWORD)[kind % 3];
        let (mut client, _) = as_client::begin(secret, plugin, NONCE, transport, LONG_NONCE);
        for message in messages {
            if let Ok(ClientStep::Encrypt { masked, .. }) = client.message(&message, CAPS) {
                client.encrypted(masked);
            }
        }
    }
}
