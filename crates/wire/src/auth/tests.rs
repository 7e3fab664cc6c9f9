//! Both sides of a login talk with each other, in every combination.

use proptest::prelude::*;

use super::as_client::{self, ClientLogin, ClientStep};
use super::as_server::{self, Accepted, ServerLogin, ServerStep};
use super::caching_sha2::{self, Stored};
use super::testing::NONCE;
use super::{Credential, Secret, Transport, clear, native};
use crate::{Capabilities, WireError};

const PASSWORD: &[u8] = b"secret";
const STORED: &[u8] = b"$A$005$012345678901234567895fkz3MBocEd.OaaR71/j.w9RXSrKttgCSpI2fGX1100";
const PLUGINS: [&str; 5] = [native::NAME, caching_sha2::NAME, clear::NAME, "client_ed25519", ""];
const TRANSPORTS: [Transport; 2] = [Transport::Plain, Transport::Secure];
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

/// Runs a login to its end. RSA is the identity.
fn talk(
    credential: &Credential,
    cached: Option<[u8; 32]>,
    secret: &Secret,
    plugin: &str,
    transport: Transport,
) -> Result<Accepted, &'static str> {
    let plugin = plugin.as_bytes();
    let (mut client, first) = as_client::begin(secret, plugin, NONCE, transport);
    let (mut server, mut step) = as_server::begin(credential, cached, NONCE, transport, Some(plugin), &first);
    for _ in 0..10 {
        let payload = match step {
            ServerStep::Accept(accepted) => {
                if let Some(payload) = &accepted.send_first {
                    assert_eq!(client.message(payload, CAPS), Ok(ClientStep::Read));
                }
                assert_eq!(client.message(&[0; 7], CAPS), Ok(ClientStep::Done));
                return Ok(accepted);
            }
            ServerStep::Refuse => {
                assert_eq!(client.message(&[0xff; 9], CAPS), Ok(ClientStep::Refused));
                return Err("refused");
            }
            ServerStep::Decrypt(cipher) => {
                step = server.decrypted(Some(&cipher));
                continue;
            }
            ServerStep::Send(payload) => payload,
            ServerStep::SendPublicKey => b"\x01a public key".to_vec(),
        };
        let answer = match client.message(&payload, CAPS).unwrap() {
            ClientStep::Send(answer) => answer,
            ClientStep::Encrypt { public_key_pem, masked } => {
                assert_eq!(public_key_pem, b"a public key");
                client.encrypted(masked)
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
        let clear = plugin == clear::NAME && transport == Transport::Secure;
        let fast = cached == Some(caching_sha2::digest(PASSWORD)) && !clear;
        let expected = match credential {
            Credential::Native(_) if !clear => Secret::NativeStage1(native::stage1(PASSWORD)),
            Credential::CachingSha2(_) if fast => Secret::CachingSha2Stage1(caching_sha2::stage1(PASSWORD)),
            _ => secret,
        };
        assert_eq!(accepted.secret, expected, "{credential:?} {plugin} {transport:?}");
        let stored = matches!(credential, Credential::CachingSha2(_));
        let learned = (stored && !fast).then(|| caching_sha2::digest(PASSWORD));
        assert_eq!(accepted.learned_digest, learned, "{credential:?} {plugin} {transport:?}");
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
        // On a secure connection, who names the clear password's method is asked for that again.
        let clear = plugin == clear::NAME && transport == Transport::Secure;
        for (secret, enough) in [(sha1, sha1_enough && !clear), (sha256, sha256_enough && !clear)] {
            let result = talk(credential, cached, &secret, plugin, transport);
            assert_eq!(result.is_ok(), enough, "{secret:?} {credential:?} {plugin} {transport:?}");
        }
    });
}

#[test]
fn users_without_password_may_not_show_one() {
    for plugin in PLUGINS {
        for transport in TRANSPORTS {
            let accepted = talk(&Credential::Empty, None, &Secret::Empty, plugin, transport).unwrap();
            assert_eq!(accepted, Accepted { secret: Secret::Empty, send_first: None, learned_digest: None });
            for answer in [b"x".as_slice(), &[0, 0], &[7; 20], &[7; 32]] {
                let plugin = Some(plugin.as_bytes());
                let (_, step) = as_server::begin(&Credential::Empty, None, NONCE, transport, plugin, answer);
                assert_eq!(step, ServerStep::Refuse);
            }
        }
    }
}

#[test]
fn what_a_login_learned_is_enough_for_the_next_one() {
    let [.., native, stored] = credentials();
    let accepted = talk(&native, None, &secrets(PASSWORD)[0], native::NAME, Transport::Plain).unwrap();
    assert!(talk(&native, None, &accepted.secret, native::NAME, Transport::Plain).is_ok());

    let full = talk(&stored, None, &secrets(PASSWORD)[0], caching_sha2::NAME, Transport::Plain).unwrap();
    let fast =
        talk(&stored, full.learned_digest, &full.secret, caching_sha2::NAME, Transport::Plain).unwrap();
    assert_eq!(fast.send_first, Some(vec![1, 3]));
    assert!(talk(&stored, full.learned_digest, &fast.secret, caching_sha2::NAME, Transport::Plain).is_ok());
}

fn begin_at_server(
    credential: &Credential,
    plugin: Option<&str>,
    answer: &[u8],
) -> (ServerLogin, ServerStep) {
    as_server::begin(credential, None, NONCE, Transport::Plain, plugin.map(str::as_bytes), answer)
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
    let cipher = caching_sha2::mask(PASSWORD, &NONCE);
    assert_eq!(login.message(&cipher), Ok(ServerStep::Decrypt(cipher.clone())));
    assert!(matches!(login.decrypted(Some(&cipher)), ServerStep::Accept(_)));
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
    let (mut login, _) = as_server::begin(&stored, None, NONCE, Transport::Secure, plugin, &[1; 32]);
    assert_eq!(login.message(&[2]), Ok(ServerStep::SendPublicKey));
    let cipher = caching_sha2::mask(PASSWORD, &NONCE);
    assert_eq!(login.message(&cipher), Ok(ServerStep::Decrypt(cipher.clone())));
    assert!(matches!(login.decrypted(Some(&cipher)), ServerStep::Accept(_)));
}

fn begin_at_client(secret: &Secret, plugin: &str) -> ClientLogin {
    as_client::begin(secret, plugin.as_bytes(), NONCE, Transport::Plain).0
}

#[test]
fn the_client_takes_the_nonce_of_the_switch() {
    let mut login = begin_at_client(&Secret::Clear(PASSWORD.to_vec()), "client_ed25519");
    let switch = [b"\xfemysql_native_password\0", [b'n'; 20].as_slice(), &[0]].concat();
    let expected = native::answer(PASSWORD, &[b'n'; 20]);
    assert_eq!(login.message(&switch, CAPS), Ok(ClientStep::Send(expected)));
}

#[test]
fn c27_a_nonce_of_another_length_is_an_error() {
    for len in [0, 8, 19, 21] {
        let mut login = begin_at_client(&Secret::Clear(PASSWORD.to_vec()), native::NAME);
        let switch = [b"\xfemysql_native_password\0".as_slice(), &vec![b'n'; len], &[0]].concat();
        let error = WireError::Invalid { field: "nonce length", value: len as u64 };
        assert_eq!(login.message(&switch, CAPS), Err(error));
    }
}

#[test]
fn methods_that_cannot_be_done_are_named() {
    for (message, named) in [
        (b"\xfe".as_slice(), "mysql_old_password"),
        (b"\xfeclient_ed25519\0", "client_ed25519"),
        (b"\xfefoo\0", "an unknown login method"),
        (b"\xfemysql_clear_password\0", "mysql_clear_password over a connection that others can read"),
        (b"\x02foo\0", "a second factor"),
    ] {
        let mut login = begin_at_client(&Secret::Clear(PASSWORD.to_vec()), native::NAME);
        assert_eq!(login.message(message, CAPS), Ok(ClientStep::Unsupported(named)));
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
        kind in 0..4_usize, plugin in 0..5_usize, secure: bool,
        messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 1..6),
        start in prop::collection::vec(0..6_u8, 6),
    ) {
        let transport = if secure { Transport::Secure } else { Transport::Plain };
        let plugin = PLUGINS[plugin].as_bytes();
        let messages: Vec<Vec<u8>> =
            start.into_iter().zip(messages).map(|(first, rest)| [vec![first], rest].concat()).collect();
        let (mut server, mut step) =
            as_server::begin(&credentials()[kind], None, NONCE, transport, Some(plugin), &messages[0]);
        for message in &messages {
            if matches!(step, ServerStep::Decrypt(_)) {
                prop_assert!(!matches!(server.decrypted(Some(message)), ServerStep::Accept(_)));
            }
            step = server.message(message).unwrap_or(ServerStep::Refuse);
            prop_assert!(!matches!(step, ServerStep::Accept(_)), "nobody guesses a proof");
        }
        let secret = &secrets(PASSWORD)[kind % 3];
        let (mut client, _) = as_client::begin(secret, plugin, NONCE, transport);
        for message in messages {
            if let Ok(ClientStep::Encrypt { masked, .. }) = client.message(&message, CAPS) {
                client.encrypted(masked);
            }
        }
    }
}
