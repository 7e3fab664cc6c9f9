//! The login of any client, the greeting of any server, and what they may say after it.

use super::conversation::conversations;
use super::input::split_capabilities;
use crate::{
    Capabilities, Codec,
    frame::MessageReader,
    packet::{Greeting, Login, SslRequest},
};

/// Bytes of the longest login that is read.
const LOGIN_LEN_MAX: usize = 1 << 16;

/// Reads `data` behind its first eight bytes as what a client sends to a server that announced
/// these capabilities, as what a server sends first, and as the messages of login conversations.
pub fn handshake(data: &[u8]) {
    let (announced, bytes) = split_capabilities(data);
    let mut client = MessageReader::new(LOGIN_LEN_MAX);
    client.expect(1);
    client.feed(bytes);
    if let Ok(Some(message)) = client.message() {
        if SslRequest::decode(&message, announced).is_ok() {
            assert_eq!(message.len(), SslRequest::LEN, "only the short form asks for TLS");
            if let Ok(Some(message)) = client.message() {
                login(&message, announced);
            }
        } else {
            login(&message, announced);
        }
    }
    // The bare payload as well: a fuzzer finds these faster without a valid header.
    login(bytes, announced);
    greeting(bytes);
    conversations(bytes);
}

/// What a login says must be in its bytes and in what the server announced.
fn login(payload: &[u8], announced: Capabilities) {
    let Ok(login) = Login::decode(payload, announced) else {
        return;
    };
    assert!(announced.contains(login.capabilities), "the server did not announce {:?}", login.capabilities);
    let fields =
        [Some(login.username), Some(login.auth_answer), login.schema, login.auth_plugin, login.attributes];
    let len: usize = fields.iter().flatten().map(|field| field.len()).sum();
    assert!(len + SslRequest::LEN < payload.len(), "the fields are longer than the packet");
    for (flag, present) in [
        (Capabilities::CONNECT_WITH_DB, login.schema.is_some()),
        (Capabilities::PLUGIN_AUTH, login.auth_plugin.is_some()),
        (Capabilities::CONNECT_ATTRS, login.attributes.is_some()),
        (Capabilities::ZSTD_COMPRESSION, login.zstd_level.is_some()),
    ] {
        assert_eq!(login.capabilities.contains(flag), present, "{flag:?}");
    }
    let bytes = login.encode(announced);
    assert_eq!(Login::decode(&bytes, announced), Ok(login));
}

/// A greeting that is read can be written, and says the same then.
fn greeting(payload: &[u8]) {
    if let Ok(greeting) = Greeting::decode(payload, Capabilities::empty()) {
        let bytes = greeting.encode(Capabilities::empty());
        assert_eq!(Greeting::decode(&bytes, Capabilities::empty()), Ok(greeting));
    }
}
