//! Both sides of a login talk with each other, in every combination.

use proptest::prelude::*;

use super::as_client::{self, ClientLogin, ClientStep};
use super::as_server::{self, Accepted, ServerLogin, ServerStep, Terms};
use super::caching_sha2::{self, Stored};
use super::testing::NONCE;
use super::{Credential, LONG_NONCE_LEN, Secret, Transport, clear, ed25519, native, parsec, sha256_password};
use crate::{Capabilities, WireError};

const PASSWORD: &[u8] = b"secret";
const STORED: &[u8] = b"$A$005$012345678901234567895fkz3MBocEd.OaaR71/j.w9RXSrKttgCSpI2fGX1100";
const PLUGINS: [&str; 7] =
    [native::NAME, caching_sha2::NAME, clear::NAME, ed25519::NAME, sha256_password::NAME, parsec::NAME, ""];
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
    Terms { credential, digest, wants_password: false, nonce, long_nonce, transport, offered }
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

/// The same; returns the number of messages as well: the greeting, those of the login, and OK or ERR. RSA is the
/// identity.
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
        // Methods that show or use the password itself are asked for again when a client names them.
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
            // A server that knows the password asks clients with another method for caching_sha2_password.
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
            // Nobody is asked twice.
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
fn a_password_that_anybody_could_read_is_refused_as_such() {
    let [.., stored] = credentials();
    for plugin in [caching_sha2::NAME, sha256_password::NAME] {
        let (mut login, step) = begin_at_server(&stored, Some(plugin), b"");
        assert!(matches!(step, ServerStep::Send(_)), "{step:?}");
        let mut step = login.message(if plugin == caching_sha2::NAME { &[7; 32] } else { b"secret\0" });
        if plugin == caching_sha2::NAME {
            assert_eq!(step, Ok(ServerStep::Send(vec![1, 4])));
            step = login.message(b"secret\0");
        }
        assert_eq!(step, Ok(ServerStep::RefuseUnprotected), "{plugin}");
        assert!(login.message(b"secret\0").is_err(), "the login is over");
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
fn users_without_password_may_not_show_one() {
    for plugin in PLUGINS {
        for transport in TRANSPORTS {
            let accepted = talk(&Credential::Empty, None, &Secret::Empty, plugin, transport).unwrap();
            assert_eq!(accepted, Accepted { secret: Secret::Empty, send_first: None, digest: None });
            for answer in [b"x".as_slice(), &[0, 0], &[7; 20], &[7; 32]] {
                let plugin = Some(plugin.as_bytes());
                let (_, step) = as_server::begin(&terms(&Credential::Empty, None, transport), plugin, answer);
                assert_eq!(step, ServerStep::Refuse);
            }
        }
    }
}

#[test]
fn a_client_without_password_that_waits_for_its_method_s_data_is_asked_to_switch() {
    let plugins = [native::NAME, caching_sha2::NAME, sha256_password::NAME, ed25519::NAME, "dialog"];
    for (offered, at_once) in [
        (Some(native::NAME), vec![native::NAME]),
        (Some(caching_sha2::NAME), vec![caching_sha2::NAME]),
        (None, vec![native::NAME, caching_sha2::NAME]),
    ] {
        let terms = Terms { offered, ..terms(&Credential::Empty, None, Transport::Plain) };
        for plugin in plugins {
            let (_, step) = as_server::begin(&terms, Some(plugin.as_bytes()), &[0]);
            assert!(matches!(step, ServerStep::Accept(_)), "{plugin} {offered:?} has answered");
            let (mut login, step) = as_server::begin(&terms, Some(plugin.as_bytes()), b"");
            if at_once.contains(&plugin) {
                assert!(matches!(step, ServerStep::Accept(_)), "{plugin} {offered:?}");
                continue;
            }
            assert!(matches!(step, ServerStep::Send(_)), "{plugin} {offered:?}");
            assert!(matches!(login.message(b""), Ok(ServerStep::Accept(_))));
            let (mut login, _) = as_server::begin(&terms, Some(plugin.as_bytes()), b"");
            assert_eq!(login.message(&[7; 20]), Ok(ServerStep::Refuse));
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

fn begin_at_server(
    credential: &Credential,
    plugin: Option<&str>,
    answer: &[u8],
) -> (ServerLogin, ServerStep) {
    as_server::begin(&terms(credential, None, Transport::Plain), plugin.map(str::as_bytes), answer)
}

#[test]
fn a_client_that_cannot_name_methods_speaks_native_and_cannot_switch() {
    let answer = native::answer(PASSWORD, &NONCE);
    let [_, clear, native, stored] = credentials();
    assert!(matches!(begin_at_server(&clear, None, &answer).1, ServerStep::Accept(_)));
    assert!(matches!(begin_at_server(&native, None, &answer).1, ServerStep::Accept(_)));
    assert_eq!(begin_at_server(&stored, None, &answer).1, ServerStep::Refuse);
    assert_eq!(begin_at_server(&native, None, b"").1, ServerStep::Refuse);
}

#[test]
fn the_switch_carries_the_nonce() {
    let [_, _, native, _] = credentials();
    let (_, step) = begin_at_server(&native, Some(caching_sha2::NAME), &[1; 32]);
    let expected = [b"\xfemysql_native_password\0", NONCE.as_slice(), &[0]].concat();
    assert_eq!(step, ServerStep::Send(expected));
}

#[test]
fn a_client_that_has_the_key_sends_the_password_at_once() {
    let [.., stored] = credentials();
    let answer = caching_sha2::answer(PASSWORD, &NONCE);
    let (mut login, step) = begin_at_server(&stored, Some(caching_sha2::NAME), &answer);
    assert_eq!(step, ServerStep::Send(vec![1, 4]));
    let cipher = cipher(&caching_sha2::mask(PASSWORD, &NONCE));
    assert_eq!(login.message(&cipher), Ok(ServerStep::Decrypt(cipher.clone())));
    assert!(matches!(login.decrypted(Some(&plain(&cipher))), ServerStep::Accept(_)));
    assert!(login.message(&cipher).is_err(), "the login is over");
}

#[test]
fn what_cannot_be_decrypted_is_refused() {
    let [.., stored] = credentials();
    for plain in [None, Some(b"".as_slice()), Some(&[1; 300])] {
        let (mut login, _) = begin_at_server(&stored, Some(caching_sha2::NAME), &[1; 32]);
        assert_eq!(login.message(&[2]), Ok(ServerStep::SendPublicKey));
        assert_eq!(login.message(&[9; 256]), Ok(ServerStep::Decrypt(vec![9; 256])));
        assert_eq!(login.decrypted(plain), ServerStep::Refuse);
    }
}

#[test]
fn c27_an_oversized_cipher_is_an_error() {
    let [.., stored] = credentials();
    let (mut login, _) = begin_at_server(&stored, Some(caching_sha2::NAME), &[1; 32]);
    let limit = as_server::CIPHER_LEN_MAX;
    assert_eq!(login.message(&vec![9; limit + 1]), Err(WireError::TooLong { limit }));
}

#[test]
fn an_unix_socket_client_may_encrypt_all_the_same() {
    let [.., stored] = credentials();
    let plugin = Some(caching_sha2::NAME.as_bytes());
    let (mut login, _) = as_server::begin(&terms(&stored, None, Transport::Local), plugin, &[1; 32]);
    assert_eq!(login.message(&[2]), Ok(ServerStep::SendPublicKey));
    let cipher = caching_sha2::mask(PASSWORD, &NONCE);
    assert_eq!(login.message(&cipher), Ok(ServerStep::Decrypt(cipher.clone())));
    assert!(matches!(login.decrypted(Some(&cipher)), ServerStep::Accept(_)));
}

fn begin_at_client(secret: &Secret, plugin: &str) -> ClientLogin {
    as_client::begin(secret, plugin.as_bytes(), NONCE, Transport::Plain, LONG_NONCE).0
}

#[test]
fn the_client_takes_the_nonce_of_the_switch() {
    let mut login = begin_at_client(&Secret::Clear(PASSWORD.to_vec()), "client_ed25519");
    let switch = [b"\xfemysql_native_password\0", [b'n'; 20].as_slice(), &[0]].concat();
    let expected = native::answer(PASSWORD, &[b'n'; 20]);
    assert_eq!(login.message(&switch, CAPS), Ok(ClientStep::Send(expected)));
}

#[test]
fn the_nonce_of_a_switch_has_any_length() {
    for len in [1, 8, 19, 21, 32, 255] {
        let nonce = vec![b'n'; len];
        for (plugin, expected) in [
            (native::NAME, native::answer(PASSWORD, &nonce)),
            (caching_sha2::NAME, caching_sha2::answer(PASSWORD, &nonce)),
        ] {
            // Servers put a zero byte behind it, or forget it.
            for end in [b"\0".as_slice(), b""] {
                let mut login = begin_at_client(&Secret::Clear(PASSWORD.to_vec()), "dialog");
                let switch = [b"\xfe", plugin.as_bytes(), b"\0", &nonce, end].concat();
                assert_eq!(login.message(&switch, CAPS), Ok(ClientStep::Send(expected.clone())), "{len}");
            }
        }
    }
}

#[test]
fn c27_a_nonce_that_is_missing_or_too_short_to_sign_is_an_error() {
    for (plugin, lens) in [
        (native::NAME, &[0][..]),
        (caching_sha2::NAME, &[0]),
        (sha256_password::NAME, &[0]),
        (ed25519::NAME, &[0, 20, 31, 33]),
        (parsec::NAME, &[0, 20, 31, 33]),
    ] {
        for &len in lens {
            let mut login = begin_at_client(&Secret::Clear(PASSWORD.to_vec()), native::NAME);
            let switch = [b"\xfe", plugin.as_bytes(), b"\0", &vec![b'n'; len]].concat();
            let error = WireError::Invalid { field: "nonce length", value: len as u64 };
            assert_eq!(login.message(&switch, CAPS), Err(error), "{plugin}");
        }
    }
}

#[test]
fn several_switches_in_a_row_are_followed() {
    let mut login = begin_at_client(&Secret::Clear(PASSWORD.to_vec()), native::NAME);
    let sent = |step: Result<ClientStep, WireError>| match step {
        Ok(ClientStep::Send(payload)) => payload,
        other => panic!("{other:?}"),
    };
    let switch = |plugin: &str, data: &[u8]| [b"\xfe", plugin.as_bytes(), b"\0", data].concat();
    let signed = sent(login.message(&switch(ed25519::NAME, &LONG_NONCE), CAPS));
    assert_eq!(signed, ed25519::answer(PASSWORD, &LONG_NONCE));
    assert_eq!(sent(login.message(&switch(sha256_password::NAME, &NONCE), CAPS)), [1]);
    // In the middle of it, and back to where it began.
    let proof = sent(login.message(&switch(caching_sha2::NAME, &NONCE), CAPS));
    assert_eq!(proof, caching_sha2::answer(PASSWORD, &NONCE));
    assert_eq!(sent(login.message(&[1, 4], CAPS)), [2]);
    assert_eq!(sent(login.message(&switch(native::NAME, &NONCE), CAPS)), native::answer(PASSWORD, &NONCE));
    assert_eq!(login.message(&[0; 7], CAPS), Ok(ClientStep::Done));
}

#[test]
fn parsec_asks_for_its_salt_and_signs() {
    let salt = [b"P\0".as_slice(), &[7; parsec::SALT_LEN]].concat();
    let expected =
        parsec::answer(PASSWORD, &parsec::ExtSalt::parse(&salt).unwrap(), &LONG_NONCE, &LONG_NONCE);
    let switch = [b"\xfeparsec\0".as_slice(), &LONG_NONCE].concat();
    // MariaDB sends the salt as it is; with the header that MySQL would put in front of it, it means the same.
    for header in [b"".as_slice(), &[1]] {
        let mut login = begin_at_client(&Secret::Clear(PASSWORD.to_vec()), native::NAME);
        assert_eq!(login.message(&switch, CAPS), Ok(ClientStep::Send(Vec::new())));
        assert_eq!(login.message(&[header, &salt].concat(), CAPS), Ok(ClientStep::Derive));
        assert_eq!(login.derive(), expected);
        assert_eq!(login.message(&[0; 7], CAPS), Ok(ClientStep::Done));
    }
}

#[test]
fn c27_truncated_salts_of_parsec_are_errors() {
    let salt = [b"P\x03".as_slice(), &[7; parsec::SALT_LEN]].concat();
    let switch = [b"\xfeparsec\0".as_slice(), &LONG_NONCE].concat();
    let others = [b"P\x04".as_slice(), b"Q\0"].map(|start| [start, &salt[2..]].concat());
    let truncated = (0..salt.len()).map(|len| salt[..len].to_vec());
    for bytes in truncated.chain(others) {
        let mut login = begin_at_client(&Secret::Clear(PASSWORD.to_vec()), native::NAME);
        login.message(&switch, CAPS).unwrap();
        assert!(login.message(&[b"\x01", &bytes[..]].concat(), CAPS).is_err(), "{bytes:?}");
    }
}

#[test]
fn c27_truncated_answers_of_clients_are_refused() {
    let [_, clear_text, native_hash, _] = credentials();
    let asking = Terms { wants_password: true, ..terms(&native_hash, None, Transport::Secure) };
    for (terms, plugin, whole) in [
        (terms(&clear_text, None, Transport::Plain), native::NAME, native::answer(PASSWORD, &NONCE)),
        (
            terms(&clear_text, None, Transport::Plain),
            caching_sha2::NAME,
            caching_sha2::answer(PASSWORD, &NONCE),
        ),
        (
            terms(&clear_text, None, Transport::Plain),
            ed25519::NAME,
            ed25519::answer(PASSWORD, &LONG_NONCE).to_vec(),
        ),
        (terms(&clear_text, None, Transport::Secure), sha256_password::NAME, clear::answer(PASSWORD)),
        (terms(&clear_text, None, Transport::Secure), clear::NAME, clear::answer(PASSWORD)),
        (asking, sha256_password::NAME, clear::answer(PASSWORD)),
    ] {
        for len in 0..=whole.len() {
            let (mut login, mut step) = as_server::begin(&terms, Some(plugin.as_bytes()), b"");
            assert!(matches!(step, ServerStep::Send(_)), "{plugin}");
            step = login.message(&whole[..len]).unwrap();
            let accepted = matches!(step, ServerStep::Accept(_));
            assert_eq!(accepted, len == whole.len(), "{len} bytes of {plugin}: {step:?}");
        }
    }
}

#[test]
fn the_first_method_is_one_that_can_be_done() {
    let [password, sha1, sha256] = secrets(PASSWORD);
    for (secret, offered, transport, expected) in [
        (&password, native::NAME, Transport::Plain, native::NAME),
        (&password, caching_sha2::NAME, Transport::Plain, caching_sha2::NAME),
        (&password, sha256_password::NAME, Transport::Plain, sha256_password::NAME),
        (&password, clear::NAME, Transport::Secure, clear::NAME),
        (&password, clear::NAME, Transport::Plain, native::NAME),
        (&password, ed25519::NAME, Transport::Plain, native::NAME),
        (&password, parsec::NAME, Transport::Plain, native::NAME),
        (&password, "", Transport::Plain, native::NAME),
        (&sha1, caching_sha2::NAME, Transport::Plain, native::NAME),
        (&sha256, native::NAME, Transport::Plain, caching_sha2::NAME),
        (&Secret::Empty, caching_sha2::NAME, Transport::Plain, caching_sha2::NAME),
        (&Secret::Empty, "dialog", Transport::Plain, native::NAME),
    ] {
        let first = as_client::first_method(secret, offered.as_bytes(), transport);
        assert_eq!(first, expected.as_bytes(), "{secret:?} {offered} {transport:?}");
    }
}

#[test]
fn methods_that_cannot_be_done_are_named() {
    let [password, sha1, sha256] = secrets(PASSWORD);
    let ed25519 = [b"\xfeclient_ed25519\0".as_slice(), &LONG_NONCE].concat();
    for (secret, message, named, wants_password) in [
        (&password, b"\xfe".as_slice(), "mysql_old_password", false),
        (&password, b"\xfedialog\0", "dialog", false),
        (&password, b"\xfefoo\nbar\0", "an unknown login method", false),
        (
            &password,
            b"\xfemysql_clear_password\0",
            "mysql_clear_password over a connection that others can read",
            false,
        ),
        (&password, b"\x02webauthn\0data", "a second factor, webauthn", false),
        (&password, b"\x02", "a second factor, an unknown login method", false),
        (&sha1, &ed25519, "client_ed25519, for which only the SHA-1 of the password is known", true),
        (&sha256, &ed25519, "client_ed25519, for which only the SHA-256 of the password is known", true),
        (
            &sha1,
            b"\xfesha256_password\0n\0",
            "sha256_password, for which only the SHA-1 of the password is known",
            true,
        ),
    ] {
        let mut login = begin_at_client(secret, native::NAME);
        let Ok(ClientStep::Unsupported(unsupported)) = login.message(message, CAPS) else {
            panic!("{named}")
        };
        assert_eq!(unsupported.to_string(), named);
        assert_eq!(unsupported.wants_password, wants_password, "{named}");
    }
}

#[test]
fn a_server_cannot_switch_for_ever() {
    let mut login = begin_at_client(&Secret::Clear(PASSWORD.to_vec()), native::NAME);
    let switch = [b"\xfemysql_native_password\0", NONCE.as_slice(), &[0]].concat();
    let steps: Vec<_> = (0..9).map(|_| login.message(&switch, CAPS).is_ok()).collect();
    assert_eq!(steps, [true, true, true, true, true, true, true, true, false]);
}

#[test]
fn a_key_that_nobody_asked_for_is_an_error() {
    let mut login = begin_at_client(&Secret::Clear(PASSWORD.to_vec()), caching_sha2::NAME);
    assert!(login.message(b"\x01a public key", CAPS).is_err());
    let mut login = begin_at_client(&Secret::Clear(PASSWORD.to_vec()), native::NAME);
    assert!(login.message(&[1, 4], CAPS).is_err(), "of another method");
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
