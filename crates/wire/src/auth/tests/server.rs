//! A client logs in: what the server's side makes of whatever it says.

use super::*;

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
fn users_without_password_may_not_show_one() {
    for plugin in PLUGINS {
        for transport in TRANSPORTS {
            let accepted = talk(&Credential::Empty, None, &Secret::Empty, plugin, transport).unwrap();
            assert_eq!(accepted, Accepted { secret: Secret::Empty, send_first: None, digest: None });
            // It may be a proof of an empty password: the password tells.
            if plugin == caching_sha2::NAME && transport != Transport::Plain {
                continue;
            }
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
fn a_proof_of_an_empty_password_is_followed_by_the_password_on_private_connections() {
    let proof = caching_sha2::answer_from_stage1(&caching_sha2::stage1(b""), &NONCE);
    for transport in TRANSPORTS {
        for (password, is_right) in [(&b"\0"[..], true), (b"secret\0", false)] {
            let terms = terms(&Credential::Empty, None, transport);
            let (mut login, step) = as_server::begin(&terms, Some(caching_sha2::NAME.as_bytes()), &proof);
            if transport == Transport::Plain {
                assert_eq!(step, ServerStep::Refuse);
                continue;
            }
            assert_eq!(step, ServerStep::Send(vec![1, 4]));
            let outcome = login.message(password).unwrap();
            assert_eq!(matches!(outcome, ServerStep::Accept(_)), is_right, "{outcome:?}");
        }
        let (_, step) = as_server::begin(
            &terms(&Credential::Empty, None, transport),
            Some(native::NAME.as_bytes()),
            &[7; 20],
        );
        assert_eq!(step, ServerStep::Refuse);
    }
}

pub(super) fn begin_at_server(
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
