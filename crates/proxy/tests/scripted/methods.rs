//! The methods besides the two that every client has: towards clients, and towards servers.

use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::rsa::{KeySize, OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, PrivateDecryptingKey};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use config::Config;
use testkit::script::{CAPABILITIES as SERVER_CAPABILITIES, NONCE};
use wire::auth::{LONG_NONCE_LEN, caching_sha2, ed25519, native, parsec, sha256_password};
use wire::packet;

use super::client_login::{config_of, users};
use super::server_login::{asked, expect_query, greeting};
use super::support::{Client, Database, NATIVE, config, connect, log_in_as, options_for, play, stage, user};

/// Random bytes of a server, the last of which is zero, as happens.
const LONG_NONCE: [u8; LONG_NONCE_LEN] = *b"0123456789abcdefghijklmnopqrstu\0";

#[test]
fn every_password_is_checked_by_every_method_that_a_client_may_begin_with() {
    let plugins =
        [native::NAME, caching_sha2::NAME, sha256_password::NAME, ed25519::NAME, parsec::NAME, "dialog"];
    for name in ["clear", "native", "sha2"] {
        play(async || {
            let (stage, _servers) = stage(config_of(users()));
            for plugin in plugins {
                for wrong in ["wrong", ""] {
                    let options = options_for(name, wrong).auth_plugin(plugin);
                    let error = Client::new(connect(&stage)).log_in(&options).await.expect_err("wrong");
                    assert_eq!(error.code, 1045, "{name} by {plugin}");
                }
                log_in_as(&stage, &options_for(name, "secret").auth_plugin(plugin)).await;
            }
        });
    }
}

#[test]
fn no_password_is_none_by_every_method() {
    play(async || {
        let (stage, _servers) = stage(config_of(users()));
        for plugin in [native::NAME, caching_sha2::NAME, sha256_password::NAME, "dialog"] {
            log_in_as(&stage, &options_for("empty", "").auth_plugin(plugin)).await;
            let options = options_for("empty", "something").auth_plugin(plugin);
            assert_eq!(
                Client::new(connect(&stage)).log_in(&options).await.unwrap_err().code,
                1045,
                "{plugin}"
            );
        }
    });
}

#[test]
fn names_and_passwords_are_bytes() {
    let long = "x".repeat(1000);
    for (name, password) in [("zoë", "pässwörd"), ("", "anonymous"), ("long", &long)] {
        play(async || {
            let (stage, mut servers) = stage(Config { users: vec![user(name, password)].into(), ..config() });
            for plugin in [native::NAME, caching_sha2::NAME, ed25519::NAME] {
                let mut client = log_in_as(&stage, &options_for(name, password).auth_plugin(plugin)).await;
                super::support::first_query(&mut client, &mut servers).await;
            }
        });
    }
}

#[test]
fn a_password_that_others_could_read_is_refused_with_advice() {
    play(async || {
        let (stage, _servers) = stage(config_of(users()));
        for (name, password) in [("sha2", "secret"), ("sha2", "wrong"), ("clear", "secret")] {
            let mut client = Client::new(connect(&stage));
            let info = client.read_greeting().await.unwrap();
            let plugin = if name == "sha2" { caching_sha2::NAME } else { sha256_password::NAME };
            let options = options_for(name, password).auth_plugin(plugin);
            if name == "sha2" {
                client
                    .send_login(&info, &options, &caching_sha2::answer(password.as_bytes(), &info.nonce))
                    .await;
                client.expect(&[1, 4]).await;
                client.send(&[password.as_bytes(), &[0]].concat()).await;
            } else {
                client.send_login(&info, &options, &[password.as_bytes(), &[0]].concat()).await;
            }
            let error = client.expect_err(1045).await;
            assert!(
                error.message.starts_with(&format!("Access denied for user '{name}'@'localhost'")),
                "{error}"
            );
            assert!(error.message.contains("unencrypted") && error.message.contains("--skip-ssl"), "{error}");
            client.expect_end().await;
        }
    });
}

/// The server asks for another method.
async fn switch(server: &mut Database, plugin: &str, data: &[u8]) {
    server.send_packet(&packet::AuthSwitch { plugin: plugin.as_bytes(), data }).await;
}

#[test]
fn a_server_may_ask_for_a_signature() {
    play(async || {
        let (_stage, _servers, mut client, mut server) = asked(config(), "app").await;
        server.greet().await;
        server.read_login().await;
        switch(&mut server, ed25519::NAME, &LONG_NONCE).await;
        server.expect(&ed25519::answer(b"secret", &LONG_NONCE)).await;
        server.ok().await;
        expect_query(&mut client, &mut server).await;
    });
}

#[test]
fn a_server_may_ask_for_a_signature_with_a_slow_key() {
    play(async || {
        let (_stage, _servers, mut client, mut server) = asked(config(), "app").await;
        server.greet().await;
        server.read_login().await;
        switch(&mut server, parsec::NAME, &LONG_NONCE).await;
        server.expect(b"").await;
        let salt = [b"P\x03".as_slice(), &[9; parsec::SALT_LEN]].concat();
        server.send(&salt).await;
        let answer = server.read().await;
        let salt = parsec::ExtSalt::parse(&salt).unwrap();
        let nonce: [u8; LONG_NONCE_LEN] = answer[..LONG_NONCE_LEN].try_into().unwrap();
        assert_eq!(answer, parsec::answer(b"secret", &salt, &LONG_NONCE, &nonce));
        assert_ne!(nonce, [0; LONG_NONCE_LEN]);
        server.ok().await;
        expect_query(&mut client, &mut server).await;
    });
}

#[test]
fn a_server_may_ask_for_the_password_by_sha256_password() {
    let key = PrivateDecryptingKey::generate(KeySize::Rsa2048).unwrap();
    let der = AsDer::<PublicKeyX509Der<'_>>::as_der(&key.public_key()).unwrap();
    let body = BASE64_STANDARD.encode(der.as_ref());
    let pem = format!("\x01-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n");
    let key = OaepPrivateDecryptingKey::new(key).unwrap();
    for offered in [native::NAME, sha256_password::NAME] {
        play(async || {
            let (_stage, _servers, mut client, mut server) = asked(config(), "app").await;
            server.greet_with(&greeting(offered, SERVER_CAPABILITIES)).await;
            let login = server.read_login().await;
            if offered == native::NAME {
                switch(&mut server, sha256_password::NAME, &[&NONCE[..], &[0]].concat()).await;
                server.expect(&[1]).await;
            } else {
                assert_eq!(login.auth_answer, [1], "the key is asked for at once");
            }
            server.send(pem.as_bytes()).await;
            let cipher = server.read().await;
            let mut plain = vec![0; key.min_output_size()];
            let masked = key.decrypt(&OAEP_SHA1_MGF1SHA1, &cipher, &mut plain, None).unwrap();
            assert_eq!(masked, caching_sha2::mask(b"secret", &NONCE));
            server.ok().await;
            expect_query(&mut client, &mut server).await;
        });
    }
}

#[test]
fn a_server_may_change_its_mind_about_the_method() {
    play(async || {
        let (_stage, _servers, mut client, mut server) = asked(config(), "app").await;
        server.greet_with(&greeting("parsec", SERVER_CAPABILITIES)).await;
        // What is offered needs another nonce; what is named instead can be done at once.
        let login = server.read_login().await;
        assert_eq!(login.auth_plugin.as_deref(), Some(native::NAME));
        assert_eq!(login.auth_answer, native::answer(b"secret", &NONCE));
        switch(&mut server, ed25519::NAME, &LONG_NONCE).await;
        server.expect(&ed25519::answer(b"secret", &LONG_NONCE)).await;
        switch(&mut server, caching_sha2::NAME, b"a nonce of its own length\0").await;
        server.expect(&caching_sha2::answer(b"secret", b"a nonce of its own length")).await;
        switch(&mut server, native::NAME, &NONCE).await;
        server.expect(&native::answer(b"secret", &NONCE)).await;
        server.ok().await;
        expect_query(&mut client, &mut server).await;
    });
}

#[test]
fn what_a_server_asks_for_in_vain_is_named() {
    for (message, named) in [
        (
            b"\xfemysql_clear_password\0".as_slice(),
            "mysql_clear_password over a connection that others can read",
        ),
        (b"\x02authentication_webauthn_client\0x", "a second factor, authentication_webauthn_client"),
        (b"\xfeauth_gssapi_client\0x", "auth_gssapi_client"),
    ] {
        play(async || {
            let (_stage, _servers, mut client, mut server) = asked(config(), "app").await;
            server.greet().await;
            server.read_login().await;
            server.send(message).await;
            let error = client.expect_err(9002).await;
            assert_eq!(error.message, format!("Cannot log in to server db:3306: {named}"));
            server.expect_gone().await;
        });
    }
}

#[test]
fn c27_truncated_messages_of_servers_end_the_login_only() {
    let salt = [b"P\0".as_slice(), &[9; parsec::SALT_LEN]].concat();
    for (plugin, data) in [(ed25519::NAME, &LONG_NONCE[..]), (parsec::NAME, &LONG_NONCE)] {
        for len in [0, 1, 20, data.len() - 1] {
            play(async || {
                let (stage, _servers, mut client, mut server) = asked(config(), "app").await;
                server.greet().await;
                server.read_login().await;
                switch(&mut server, plugin, &data[..len]).await;
                client.expect_err(9002).await;
                assert_eq!(stage.usage(0).open, 0, "{len} bytes for {plugin}");
            });
        }
    }
    for len in 1..salt.len() {
        play(async || {
            let (stage, _servers, mut client, mut server) = asked(config(), "app").await;
            server.greet().await;
            server.read_login().await;
            switch(&mut server, parsec::NAME, &LONG_NONCE).await;
            server.expect(b"").await;
            server.send(&salt[..len]).await;
            client.expect_err(9002).await;
            assert_eq!(stage.usage(0).open, 0, "{len} bytes of salt");
        });
    }
}

#[test]
fn a_password_that_a_server_needs_is_taken_from_the_next_login() {
    play(async || {
        let config = Config { users: vec![user("app", NATIVE), user("other", NATIVE)].into(), ..config() };
        let (stage, mut servers, mut first, mut server) = asked(config, "app").await;
        server.greet_with(&greeting(caching_sha2::NAME, SERVER_CAPABILITIES)).await;
        // Nothing but this can be proven with the hash.
        assert_eq!(server.read_login().await.auth_plugin.as_deref(), Some(native::NAME));
        switch(&mut server, caching_sha2::NAME, &NONCE).await;
        let error = first.expect_err(9002).await;
        assert!(error.message.contains("SHA-1") && error.message.contains("connect again"), "{error}");
        // The user's clients now show the password, whatever they begin with; others are left
        // alone.
        for plugin in [native::NAME, caching_sha2::NAME] {
            let options = options_for("app", "wrong").auth_plugin(plugin);
            assert_eq!(Client::new(connect(&stage)).log_in(&options).await.unwrap_err().code, 1045);
        }
        log_in_as(&stage, &options_for("other", "secret")).await;
        let mut second = log_in_as(&stage, &options_for("app", "secret")).await;
        second.send_query("SELECT 1").await;
        let mut server = Database::new(servers.dialled().await.1);
        server.greet_with(&greeting(caching_sha2::NAME, SERVER_CAPABILITIES)).await;
        assert_eq!(server.read_login().await.auth_answer, caching_sha2::answer(b"secret", &NONCE));
        server.ok().await;
        expect_query(&mut second, &mut server).await;
        // So has the first session, which got an error before, and a new login with the password.
        let third = log_in_as(&stage, &options_for("app", "secret")).await;
        for mut client in [first, third] {
            client.send_query("SELECT 1").await;
            let mut server = Database::new(servers.dialled().await.1);
            server.greet_with(&greeting(caching_sha2::NAME, SERVER_CAPABILITIES)).await;
            assert_eq!(server.read_login().await.auth_answer, caching_sha2::answer(b"secret", &NONCE));
            server.ok().await;
            expect_query(&mut client, &mut server).await;
        }
    });
}

#[test]
fn a_password_that_was_learned_is_forgotten_when_a_server_refuses_it() {
    play(async || {
        let (stage, mut servers) = stage(config_of(users()));
        let options = options_for("sha2", "secret").auth_plugin(caching_sha2::NAME);
        let mut client = log_in_as(&stage, &options).await;
        for (code, question) in [(1049, [1, 3]), (1045, [1, 4])] {
            client.send_query("SELECT 1").await;
            let mut server = Database::new(servers.dialled().await.1);
            server.greet().await;
            server.read_login().await;
            server.err(code, "28000", "no").await;
            client.expect_err(code).await;
            let mut next = Client::new(connect(&stage));
            let info = next.read_greeting().await.unwrap();
            next.send_login(&info, &options, &caching_sha2::answer(b"secret", &info.nonce)).await;
            next.expect(&question).await;
        }
    });
}
