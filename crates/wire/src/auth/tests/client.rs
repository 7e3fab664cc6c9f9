//! We log in: what the client's side answers to whatever a server says.

use super::*;

pub(super) fn begin_at_client(secret: &Secret, plugin: &str) -> ClientLogin {
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
    // MariaDB sends the salt as it is; with the header that MySQL would put in front of it, it
    // means the same.
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
        (&password, b"\xfe".as_slice(), "mysql_old_password over a connection that others can read", false),
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
fn the_method_of_mysql_4_0_has_the_first_bytes_of_a_nonce() {
    let first_bytes = |nonce: [u8; 20]| nonce.first_chunk().copied().unwrap();
    for transport in [Transport::Local, Transport::Secure] {
        let begin = |secret: &Secret| {
            as_client::begin(secret, native::NAME.as_bytes(), NONCE, transport, LONG_NONCE).0
        };
        let named = [b"\xfemysql_old_password\0".as_slice(), &[b'n'; 20], &[0]].concat();
        for (switch, nonce) in [(b"\xfe".as_slice(), NONCE), (&named, [b'n'; 20])] {
            let mut login = begin(&Secret::Clear(PASSWORD.to_vec()));
            let expected = old::answer(PASSWORD, &first_bytes(nonce));
            assert_eq!(login.message(switch, CAPS), Ok(ClientStep::Send(expected)));
            assert_eq!(login.message(&[0; 7], CAPS), Ok(ClientStep::Done));
            assert_eq!(begin(&Secret::Empty).message(switch, CAPS), Ok(ClientStep::Send(Vec::new())));
        }
        let mut login = begin(&Secret::Clear(PASSWORD.to_vec()));
        let short = login.message(b"\xfemysql_old_password\0seven77\0", CAPS);
        assert!(matches!(short, Ok(ClientStep::Unsupported(_))), "{short:?}");
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
fn a_key_without_a_request_is_an_error() {
    let mut login = begin_at_client(&Secret::Clear(PASSWORD.to_vec()), caching_sha2::NAME);
    assert!(login.message(b"\x01a public key", CAPS).is_err());
    let mut login = begin_at_client(&Secret::Clear(PASSWORD.to_vec()), native::NAME);
    assert!(login.message(&[1, 4], CAPS).is_err(), "of another method");
}

#[test]
fn c27_a_key_of_no_bytes_is_an_error() {
    let mut login = begin_at_client(&Secret::Clear(PASSWORD.to_vec()), caching_sha2::NAME);
    assert_eq!(login.message(&[1, 4], CAPS), Ok(ClientStep::Send(vec![2])));
    assert!(login.message(&[1], CAPS).is_err());
    let mut login = begin_at_client(&Secret::Clear(PASSWORD.to_vec()), sha256_password::NAME);
    assert!(login.message(&[1], CAPS).is_err());
}
