//! The fuzz harnesses as bounded property tests: on random bytes, and on bytes that were valid
//! before something happened to them.

use proptest::{collection::vec, prelude::*, sample::Index};
use wire::proxy_header::{Addresses, ProxyHeader, Version};
use wire::{Capabilities, Codec, StatusFlags, command, compress, frame, fuzzing, packet};

/// Cases of each property.
const CASES: u32 = 20_000;

/// Bytes of the longest random input.
const LEN_MAX: usize = 400;

/// Capability sets that matter for layouts.
const ANNOUNCED: [u64; 4] = [0, 0x1d_81ff_f7fe, 0xdfff_ffff, u64::MAX];

/// Valid payloads of most kinds; a mutation of them reaches deeper than random bytes.
fn seeds(caps: Capabilities) -> Vec<Vec<u8>> {
    let changes = [
        packet::StateChange::SystemVariable { name: b"autocommit", value: b"OFF" },
        packet::StateChange::Schema(b"shop"),
        packet::StateChange::Gtids(b"3e11fa47-71ca-11e1-9e33-c80aa9429562:23"),
        packet::StateChange::Unknown { kind: 9, data: b"later" },
    ];
    let state = packet::SessionState::encode(&changes);
    let mut row = Vec::new();
    packet::TextRow::put(&mut row, [Some("1"), None, Some("abc"), Some("")]);
    vec![
        greeting().encode(caps),
        login().encode(caps),
        packet::SslRequest { capabilities: caps, max_packet: 1 << 24, collation: 45 }.encode(caps),
        packet::AuthSwitch { plugin: b"caching_sha2_password", data: &[7; 20] }.encode(caps),
        packet::AuthMore { data: &[4] }.encode(caps),
        packet::Ok {
            header: packet::OkHeader::Ok,
            affected_rows: 300,
            last_insert_id: 1 << 40,
            status: StatusFlags::AUTOCOMMIT,
            warnings: 2,
            info: b"Rows matched: 300",
            session_state: Some(packet::SessionState::new(&state)),
        }
        .encode(caps | Capabilities::SESSION_TRACK),
        packet::Err { code: 1045, sql_state: Some(*b"28000"), message: b"Access denied" }.encode(caps),
        packet::Eof { warnings: 0, status: StatusFlags::MORE_RESULTS }.encode(caps),
        packet::ColumnCount { count: 251, metadata_follows: Some(true) }.encode(caps),
        column().encode(caps),
        packet::PrepareOk { statement_id: 1, columns: 1, params: 2, warnings: 0, metadata_follows: None }
            .encode(caps),
        packet::LocalInfile { filename: b"/tmp/rows.csv" }.encode(caps),
        row,
    ]
}

/// Commands with everything in them. What they mean without capabilities is the same.
fn commands() -> Vec<Vec<u8>> {
    let with_nul: &[&[u8]] = &[
        b"\x11app\0\x02abshop\0\x2d\0mysql_native_password\0\x04\x01a\x01b",
        b"\x04items\0i%",
        b"\x15\x07\0\0\0\x02h1\x04repl\x02pw\xea\x0c\0\0\0\0\x01\0\0\0",
        b"\x12\x04\0\0\0\0\0\x07\0\0\0binlog.000001",
        b"\x1e\x04\0\x07\0\0\0\x03\0\0\0b.1\x04\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0\0\0\0\0",
        b"\x17\x01\0\0\0\0\x01\0\0\0\0\x01\x03\0\x2a\0\0\0",
        b"\xfa\x01\0\0\0\x80\0\x03\0\0\x2a\0\0\0",
        b"\x18\x01\0\0\0\0\0long",
        b"\x1c\x01\0\0\0\x10\0\0\0",
        b"\x19\x01\0\0\0",
        b"\x1a\x01\0\0\0",
        b"\x0c\x09\0\0\0",
        b"\x1b\x01\0",
    ];
    let plain: &[&[u8]] = &[
        b"\x03SELECT 1",
        // With query attributes, if there is a capability for them.
        b"\x03\x01\x01\0\x01\xfe\0\x01n\x01vSELECT 1",
        b"\x16SELECT ?",
        b"\x02shop",
        b"\x05shop",
        b"\x06shop",
        b"\x07\x01",
        b"\x08",
        b"\x01",
        b"\x09",
        b"\x0a",
        b"\x0d",
        b"\x0e",
        b"\x1f",
    ];
    with_nul.iter().chain(plain).map(|bytes| bytes.to_vec()).collect()
}

fn greeting() -> packet::Greeting<'static> {
    packet::Greeting {
        server_version: b"8.4.3",
        connection_id: 9,
        nonce: *b"12345678abcdefghijkl",
        capabilities: Capabilities::from_bits_retain(0xdfff_ffff),
        collation: 255,
        status: StatusFlags::AUTOCOMMIT,
        auth_plugin: b"caching_sha2_password",
    }
}

fn login() -> packet::Login<'static> {
    packet::Login {
        capabilities: Capabilities::from_bits_retain(0x1d_81ff_f7fe),
        max_packet: 1 << 24,
        collation: 45,
        username: b"app",
        auth_answer: &[1; 32],
        schema: Some(b"shop"),
        auth_plugin: Some(b"caching_sha2_password"),
        attributes: Some(b"\x04_pid\x0212"),
        zstd_level: Some(3),
    }
}

fn column() -> packet::Column<'static> {
    packet::Column {
        catalog: b"def",
        schema: b"shop",
        table: b"i",
        org_table: b"items",
        name: b"n",
        org_name: b"name",
        extended_type: b"\x01\x04json",
        collation: 45,
        max_len: 400,
        kind: 0xfd,
        flags: 1,
        decimals: 31,
        default_value: packet::DefaultValue::Null,
    }
}

/// Eight bytes of capabilities and a seed that was cut, or had bytes changed or added.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let changes = vec((any::<Index>(), any::<u8>()), 0..4);
    let behind = prop_oneof![4 => Just(Vec::new()), 1 => vec(any::<u8>(), 0..20)];
    let front =
        (any::<Index>(), any::<Index>(), prop_oneof![3 => Just(None), 1 => any::<u64>().prop_map(Some)]);
    (front, changes, any::<bool>(), any::<Index>(), any::<bool>(), behind).prop_map(
        |((caps, seed, other_caps), changes, cut, cut_at, framed, behind)| {
            let caps = *caps.get(&ANNOUNCED);
            let mut seeds = seeds(Capabilities::from_bits_retain(caps));
            seeds.extend(commands());
            let mut payload = seed.get(&seeds).clone();
            for (at, byte) in changes {
                let at = at.index(payload.len());
                payload[at] = byte;
            }
            if cut {
                payload.truncate(cut_at.index(payload.len() + 1));
            }
            payload.extend_from_slice(&behind);
            let mut data = other_caps.unwrap_or(caps).to_le_bytes().to_vec();
            if framed {
                frame::put_message(&mut data, 1, &payload);
            } else {
                data.extend_from_slice(&payload);
            }
            data
        },
    )
}

/// Four lengths, and messages in order, but for a changed byte now and then.
fn messages() -> impl Strategy<Value = Vec<u8>> {
    let payloads = vec(vec(any::<u8>(), 0..30), 0..6);
    (any::<[u8; 4]>(), payloads, any::<Option<(Index, u8)>>()).prop_map(|(lengths, payloads, change)| {
        let mut data = lengths.map(|len| len % 9).to_vec();
        let mut seq = 0;
        for payload in payloads {
            seq = frame::put_message(&mut data, seq, &payload);
        }
        if let Some((at, byte)) = change {
            let at = at.index(data.len());
            data[at] = byte;
        }
        data
    })
}

/// Capabilities, which answer it is, four lengths, and a result, but for a changed byte now and
/// then.
fn results() -> impl Strategy<Value = Vec<u8>> {
    let rows = vec(vec(any::<Option<Vec<u8>>>(), 2), 0..5);
    (any::<[u8; 5]>(), any::<bool>(), rows, any::<Option<(Index, u8)>>()).prop_map(
        |(setting, classic, rows, change)| {
            let caps = if classic { Capabilities::PROTOCOL_41 } else { Capabilities::DEPRECATE_EOF };
            let mut data = caps.bits().to_le_bytes().to_vec();
            data.extend(setting);
            let columns = [packet::Column::text(b"a", 45), packet::Column::text(b"b", 45)];
            let mut seq = packet::put_head(&mut data, 1, &columns, StatusFlags::AUTOCOMMIT, caps);
            for cells in rows {
                let mut row = Vec::new();
                packet::TextRow::put(&mut row, cells);
                seq = frame::put_message(&mut data, seq, &row);
            }
            packet::put_end(&mut data, seq, StatusFlags::AUTOCOMMIT, caps);
            if let Some((at, byte)) = change {
                let at = at.index(data.len());
                data[at] = byte;
            }
            data
        },
    )
}

/// A setting, four lengths, and frames in order, but for a changed byte now and then.
fn frames() -> impl Strategy<Value = Vec<u8>> {
    let contents = vec((any::<u8>(), 0..200usize), 0..5);
    (any::<u8>(), any::<[u8; 4]>(), contents, any::<Option<(Index, u8)>>()).prop_map(
        |(setting, lengths, contents, change)| {
            let level = 1 + setting % 19;
            let method =
                if setting & 1 == 0 { compress::Method::Zlib } else { compress::Method::Zstd { level } };
            let mut codecs = compress::Codecs::new(6);
            let mut data = vec![setting];
            data.extend(lengths);
            for (seq, (byte, len)) in (0..).zip(contents) {
                let mut plain = Vec::new();
                frame::put_message(&mut plain, seq, &vec![byte; len]);
                codecs.put_frame(method, seq, &plain, &mut data);
            }
            if let Some((at, byte)) = change {
                let at = at.index(data.len());
                data[at] = byte;
            }
            data
        },
    )
}

/// Capabilities, a setting, and messages that have a meaning in a login, in any order.
fn conversation() -> impl Strategy<Value = Vec<u8>> {
    let plugins = prop_oneof![
        Just("mysql_native_password"),
        Just("caching_sha2_password"),
        Just("mysql_clear_password"),
        Just("another_method"),
        Just("sha256_password"),
        Just("client_ed25519"),
        Just("parsec"),
    ];
    let nonce =
        prop_oneof![3 => vec(any::<u8>(), 20), 3 => vec(any::<u8>(), 32), 1 => vec(any::<u8>(), 0..40)];
    let switch = (plugins, nonce);
    let message = prop_oneof![
        switch.prop_map(|(plugin, data)| {
            packet::AuthSwitch { plugin: plugin.as_bytes(), data: &data }.encode(Capabilities::empty())
        }),
        (0u8..6).prop_map(|byte| vec![1, byte]),
        (0u8..6).prop_map(|byte| vec![byte]),
        Just(b"\x01-----BEGIN PUBLIC KEY-----".to_vec()),
        vec(any::<u8>(), 0..40),
        vec(any::<u8>(), 20),
        vec(any::<u8>(), 32),
        // What a client signs, encrypts and asks for; the salt of parsec and a further factor.
        vec(any::<u8>(), 64),
        vec(any::<u8>(), 128..255),
        (any::<bool>(), 0u8..5, vec(any::<u8>(), 17..19)).prop_map(|(header, factor, salt)| {
            let header: &[u8] = if header { &[1] } else { &[] };
            [header, b"P", &[factor], &salt].concat()
        }),
        Just(b"\x02another_factor\0".to_vec()),
        Just(b"password\0".to_vec()),
        Just(vec![0, 0, 0, 2, 0, 0, 0]),
    ];
    (any::<[u8; 2]>(), vec(message, 0..6)).prop_map(|(setting, messages)| {
        let mut data = vec![0; 8];
        data.extend_from_slice(&setting);
        for message in messages {
            data.push(u8::try_from(message.len()).unwrap());
            data.extend_from_slice(&message);
        }
        data
    })
}

/// A PROXY header, of which bytes were changed, with bytes behind it.
fn proxy_header() -> impl Strategy<Value = Vec<u8>> {
    let ends = any::<(std::net::SocketAddr, std::net::SocketAddr)>();
    let header = prop_oneof![
        4 => ends.prop_map(|(from, to)| ProxyHeader::Tcp(Addresses::new(from, to))),
        1 => Just(ProxyHeader::Local),
        1 => Just(ProxyHeader::Unknown),
    ];
    let changes = vec((any::<Index>(), any::<u8>()), 0..3);
    (header, any::<bool>(), changes, vec(any::<u8>(), 0..60)).prop_map(|(header, binary, changes, behind)| {
        let mut data = Vec::new();
        header.write(if binary { Version::V2 } else { Version::V1 }, &mut data);
        for (at, byte) in changes {
            let at = at.index(data.len());
            data[at] = byte;
        }
        data.extend_from_slice(&behind);
        data
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn random_bytes(data in vec(any::<u8>(), 0..LEN_MAX)) {
        fuzzing::frame(&data);
        fuzzing::packet(&data);
        fuzzing::handshake(&data);
        fuzzing::proxy_header(&data);
    }

    #[test]
    fn proxy_headers_that_were_valid(data in proxy_header()) {
        fuzzing::proxy_header(&data);
    }

    #[test]
    fn random_bytes_as_a_reply(data in vec(any::<u8>(), 0..LEN_MAX)) {
        fuzzing::reply(&data);
    }

    #[test]
    fn results_that_were_valid(data in results()) {
        fuzzing::reply(&data);
    }

    #[test]
    fn messages_that_were_valid(data in messages()) {
        fuzzing::frame(&data);
    }

    #[test]
    fn packets_that_were_valid(data in mutated()) {
        fuzzing::packet(&data);
        fuzzing::handshake(&data);
    }
}

proptest! {
    // Fewer: compression and the slow hash of a stored password are slow in builds for tests.
    #![proptest_config(ProptestConfig::with_cases(CASES / 10))]

    #[test]
    fn compressed_frames(data in prop_oneof![4 => frames(), 1 => vec(any::<u8>(), 0..LEN_MAX)]) {
        fuzzing::compress(&data);
    }

    #[test]
    fn login_conversations(data in conversation()) {
        fuzzing::handshake(&data);
    }
}

/// The seeds are what they are meant to be: the harnesses see values, not only refusals.
#[test]
fn every_seed_is_decoded_by_its_type() {
    for bits in ANNOUNCED {
        let caps = Capabilities::from_bits_retain(bits) | Capabilities::SSL;
        let seeds = seeds(caps);
        let decoded = [
            packet::Greeting::decode(&seeds[0], caps).is_ok(),
            packet::Login::decode(&seeds[1], caps).is_ok(),
            packet::SslRequest::decode(&seeds[2], caps).is_ok(),
            packet::AuthSwitch::decode(&seeds[3], caps).is_ok(),
            packet::AuthMore::decode(&seeds[4], caps).is_ok(),
            packet::Ok::decode(&seeds[5], caps | Capabilities::SESSION_TRACK).is_ok(),
            packet::Err::decode(&seeds[6], caps).is_ok(),
            packet::Eof::decode(&seeds[7], caps).is_ok(),
            packet::ColumnCount::decode(&seeds[8], caps).is_ok(),
            packet::Column::decode(&seeds[9], caps).is_ok(),
            packet::PrepareOk::decode(&seeds[10], caps).is_ok(),
            packet::LocalInfile::decode(&seeds[11], caps).is_ok(),
            packet::TextRow::decode(&seeds[12], caps).is_ok(),
        ];
        assert_eq!(decoded.len(), seeds.len());
        assert_eq!(decoded, [true; 13], "{caps:?}");
    }
}

/// Every command with a type is there once, and is decoded by it.
#[test]
fn every_command_is_decoded_by_its_type() {
    macro_rules! decoded {
        ($($command:ident),*) => {
            |bytes: &[u8]| [$(command::$command::decode(bytes, Capabilities::PROTOCOL_41 | Capabilities::PLUGIN_AUTH
                | Capabilities::CONNECT_ATTRS | Capabilities::SECURE_CONNECTION).is_ok()),*]
        };
    }
    let decoded = decoded!(
        BinlogDump,
        BinlogDumpGtid,
        ChangeUser,
        CreateDb,
        Debug,
        DropDb,
        FieldList,
        InitDb,
        Ping,
        ProcessInfo,
        ProcessKill,
        Query,
        Quit,
        Refresh,
        RegisterReplica,
        ResetConnection,
        SendLongData,
        SetOption,
        Shutdown,
        Statistics,
        StmtBulkExecute,
        StmtClose,
        StmtExecute,
        StmtFetch,
        StmtPrepare,
        StmtReset
    );
    let mut found = [false; 26];
    for bytes in commands() {
        let here = decoded(&bytes);
        assert_eq!(here.iter().filter(|decoded| **decoded).count(), 1, "{}", bytes.escape_ascii());
        here.iter().zip(&mut found).for_each(|(here, found)| *found |= *here);
    }
    assert_eq!(found, [true; 26]);
}
