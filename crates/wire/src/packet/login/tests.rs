//! Tests of the login packet, most of all with hostile ones.

use proptest::{collection::vec, prelude::*};

use super::*;

/// What the `mariadb` client 10.11 sent to MariaDB 10.11 for `-uapp -psecret shop`.
const MARIADB_CLIENT: &[u8] =
    b"\x8c\xa2\xbf\0\0\0\x10\0!\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x1d\0\0\0app\0\
    \x14/\x15\xd8\x81\xc3Q\x8b\x1a\xfc\x01j\x91\x88t\x0f:\xc5\xa1\xbfdshop\0mysql_native_password\0\
    h\x03_os\x05Linux\x0c_client_name\nlibmariadb\x04_pid\x0531954\x0f_client_version\x063.3.20\
    \t_platform\x06x86_64\x0cprogram_name\x05mysql";

/// What MariaDB 10.11 announces.
const ANNOUNCED: Capabilities = Capabilities::from_bits_retain(0x1d_81ff_f7fe);

/// A server that can do everything.
const ALL: Capabilities = Capabilities::all();

/// A login that any client could send to any server, and what the server announced.
fn any_login() -> impl Strategy<Value = (OwnedLogin, Capabilities)> {
    let texts = ("[^\0]*", "[^\0]*", "[^\0]*", vec(1u8.., 0..=255), vec(any::<u8>(), 0..300));
    (any::<(u64, u64, u32, u8, u8)>(), texts).prop_map(
        |(numbers, (username, schema, plugin, answer, attributes))| {
            let (client, server, max_packet, collation, zstd_level) = numbers;
            let announced = Capabilities::from_bits_retain(server) | Capabilities::PROTOCOL_41;
            let mut capabilities = Capabilities::from_bits_retain(client) & announced;
            capabilities |= Capabilities::PROTOCOL_41;
            if capabilities.contains(Capabilities::LONG_PASSWORD) {
                capabilities &= Capabilities::from_bits_retain(u32::MAX.into());
            }
            let login = OwnedLogin {
                capabilities,
                max_packet,
                collation,
                zstd_level,
                username,
                schema,
                plugin,
                answer,
                attributes,
            };
            (login, announced)
        },
    )
}

#[derive(Debug)]
struct OwnedLogin {
    capabilities: Capabilities,
    max_packet: u32,
    collation: u8,
    zstd_level: u8,
    username: String,
    schema: String,
    plugin: String,
    answer: Vec<u8>,
    attributes: Vec<u8>,
}

impl OwnedLogin {
    fn as_login(&self) -> Login<'_> {
        let has = |flag| self.capabilities.contains(flag);
        Login {
            capabilities: self.capabilities,
            max_packet: self.max_packet,
            collation: self.collation,
            username: self.username.as_bytes(),
            auth_answer: &self.answer,
            schema: has(Capabilities::CONNECT_WITH_DB).then_some(self.schema.as_bytes()),
            auth_plugin: has(Capabilities::PLUGIN_AUTH).then_some(self.plugin.as_bytes()),
            attributes: has(Capabilities::CONNECT_ATTRS).then_some(&self.attributes),
            zstd_level: has(Capabilities::ZSTD_COMPRESSION).then_some(self.zstd_level),
        }
    }
}

proptest! {
    #[test]
    fn round_trips((login, announced) in any_login()) {
        let login = login.as_login();
        let bytes = login.encode(announced);
        prop_assert_eq!(Login::decode(&bytes, announced), Ok(login));
    }

    #[test]
    fn c27_no_bytes_make_it_panic(bytes: Vec<u8>, announced: u64) {
        let announced = Capabilities::from_bits_retain(announced);
        if let Ok(login) = Login::decode(&bytes, announced) {
            prop_assert!(announced.contains(login.capabilities));
        }
    }

    #[test]
    fn c27_no_changed_byte_makes_it_panic(at in 0..MARIADB_CLIENT.len(), byte: u8, cut: usize) {
        let mut bytes = MARIADB_CLIENT.to_vec();
        bytes[at] = byte;
        bytes.truncate(cut % (MARIADB_CLIENT.len() + 1));
        for announced in [ANNOUNCED, ALL, Capabilities::empty()] {
            if let Ok(login) = Login::decode(&bytes, announced) {
                let fields = login.username.len() + login.auth_answer.len() + login.schema.unwrap_or_default().len();
                prop_assert!(fields <= bytes.len() - 32);
            }
        }
    }
}

#[test]
fn a_mariadb_client_is_read_and_written() {
    let login = Login::decode(MARIADB_CLIENT, ANNOUNCED).unwrap();
    assert_eq!(login.username, b"app");
    assert_eq!(login.auth_answer.len(), 20);
    assert_eq!(login.schema, Some(&b"shop"[..]));
    assert_eq!(login.auth_plugin, Some(&b"mysql_native_password"[..]));
    assert_eq!(login.attributes.unwrap().len(), 104);
    assert_eq!(login.zstd_level, None);
    assert_eq!(login.max_packet, 1 << 20);
    assert_eq!(login.collation, 33);
    assert!(login.capabilities.contains(Capabilities::MARIADB_STMT_BULK_OPERATIONS));
    assert_eq!(login.encode(ANNOUNCED), MARIADB_CLIENT);
}

#[test]
fn c27_truncated_login_is_refused() {
    let attributes = MARIADB_CLIENT.len() - 105;
    let plugin = attributes - b"mysql_native_password\0".len();
    for len in 0..MARIADB_CLIENT.len() {
        let result = Login::decode(&MARIADB_CLIENT[..len], ANNOUNCED);
        assert!(matches!(result, Err(WireError::Truncated { .. })), "{len} bytes: {result:?}");
    }
    // Servers forgive a missing method name; without attributes nothing is wrong then.
    let without_attributes = ANNOUNCED - Capabilities::CONNECT_ATTRS;
    let login = Login::decode(&MARIADB_CLIENT[..plugin], without_attributes).unwrap();
    assert_eq!(login.auth_plugin, Some(&b""[..]));
    let login = Login::decode(&MARIADB_CLIENT[..attributes - 1], without_attributes).unwrap();
    assert_eq!(login.auth_plugin, Some(&b"mysql_native_password"[..]));
}

#[test]
fn c27_lengths_that_leave_the_packet_are_refused() {
    let head = &MARIADB_CLIENT[..32];
    for tail in [
        &b"app\0\xff"[..],                                       // ERR where a length belongs
        b"app\0\xfb",                                            // NULL where a length belongs
        b"app\0\xfc\xff",                                        // half a length
        b"app\0\xfe\xff\xff\xff\xff\xff\xff\xff\xff",            // an answer of 2^64-1 bytes
        b"app\0\xfd\xff\xff\xffx",                               // an answer of 2^24-1 bytes
        b"app\0\x02x",                                           // an answer that is one byte short
        b"app",                                                  // a user name without an end
        b"app\0\0shop",                                          // a schema without an end
        b"app\0\0shop\0p\0\xfe\xff\xff\xff\xff\xff\xff\xff\x7f", // attributes of 2^63-1 bytes
    ] {
        let bytes = [head, tail].concat();
        assert!(Login::decode(&bytes, ANNOUNCED).is_err(), "{tail:?}");
    }
}

#[test]
fn c27_a_login_of_before_4_1_is_refused() {
    // 16 bits of capabilities, 24 bits of packet length, user, answer.
    let bytes = b"\x85\x24\0\0\x40app\0scramble\0";
    assert_eq!(
        Login::decode(bytes, ALL),
        Err(WireError::Invalid { field: "client capabilities", value: 0x2485 })
    );
}

#[test]
fn what_follows_the_last_field_is_ignored_as_servers_do() {
    let bytes = [MARIADB_CLIENT, b"\x03later"].concat();
    assert_eq!(Login::decode(&bytes, ANNOUNCED), Login::decode(MARIADB_CLIENT, ANNOUNCED));
}

#[test]
fn only_what_the_server_announced_counts() {
    let announced = ANNOUNCED - Capabilities::CONNECT_ATTRS - Capabilities::LOCAL_FILES;
    let login = Login::decode(MARIADB_CLIENT, announced).unwrap();
    assert_eq!(login.attributes, None);
    assert!(!login.capabilities.intersects(Capabilities::CONNECT_ATTRS | Capabilities::LOCAL_FILES));
}

#[test]
fn the_oldest_answers_are_read() {
    let mut bytes = vec![0; 32];
    let flags = Capabilities::PROTOCOL_41 | Capabilities::LONG_PASSWORD;
    bytes[..8].copy_from_slice(&flags.bits().to_le_bytes());
    bytes.extend_from_slice(b"app\0proof\0");
    let login = Login::decode(&bytes, ALL).unwrap();
    assert_eq!((login.username, login.auth_answer), (&b"app"[..], &b"proof"[..]));

    let flags = flags | Capabilities::SECURE_CONNECTION;
    bytes.truncate(32);
    bytes[..8].copy_from_slice(&flags.bits().to_le_bytes());
    bytes.extend_from_slice(b"app\0\x03a\0c");
    let login = Login::decode(&bytes, ALL).unwrap();
    assert_eq!(login.auth_answer, b"a\0c");
    assert_eq!(login.encode(ALL), bytes);
}

#[test]
fn a_long_answer_is_cut_where_its_length_has_one_byte() {
    let login = Login {
        capabilities: Capabilities::SECURE_CONNECTION,
        max_packet: 0,
        collation: 8,
        username: b"app",
        auth_answer: &[7; 300],
        schema: None,
        auth_plugin: None,
        attributes: None,
        zstd_level: None,
    };
    let bytes = login.encode(ALL);
    assert_eq!(Login::decode(&bytes, ALL).unwrap().auth_answer, [7; 255]);
}
