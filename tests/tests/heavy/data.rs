//! Large data arrive intact, and the proxy does not hold them.

use e2e::memory::{Watch, rss_kib};
use e2e::{run, wait_for};
use testkit::client::{Client, Options, Value};
use testkit::mariadb::{PASSWORD, USER};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use wire::command::Kind;
use wire::frame::{HEADER_LEN, put_message};

use super::{DB, machine, setup};

const MIB: usize = 1 << 20;
/// What the proxy's memory may grow by while it passes on any amount of data. It holds at most 64
/// KiB of them; the rest is for the allocator, and for what a thread touches for the first time.
const GROWTH_KIB_MAX: u64 = 1024;

/// The same "random" letters every time, without a pattern of a packet's length.
fn letters(len: usize) -> Vec<u8> {
    /// A prime number of bytes; their repetition meets every packet at another place.
    const PERIOD: usize = 1_000_003;
    let mut state: u64 = 88_172_645_463_325_252;
    let mut next = || {
        // xorshift64
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        b'a' + state.to_le_bytes()[3] % 26
    };
    let block: Vec<u8> = (0..PERIOD).map(|_| next()).collect();
    let mut bytes = block.repeat(len.div_ceil(PERIOD));
    bytes.truncate(len);
    bytes
}

fn direct() -> Options {
    Options::tcp(DB.server.address(), USER, PASSWORD).schema("test")
}

#[test]
fn a_result_of_200_mb_arrives_intact() {
    let _machine = machine();
    // Cells of 100 KB, every one different; and many small rows.
    let large = "SELECT seq, REPEAT(MD5(seq), 3125) FROM seq_1_to_2000";
    let small = "SELECT seq, MD5(seq), NULL FROM seq_1_to_200000";
    let proxy = setup().layer4().start();
    run(async {
        let mut server = Client::connect(&direct()).await.unwrap();
        let layer4 = Options::tcp(proxy.layer4(), USER, PASSWORD).schema("test");
        for (sql, least) in [(large, 200_000_000), (small, 5_000_000)] {
            let expected = server.query(sql).await.unwrap();
            assert!(expected.rows.iter().map(Vec::len).sum::<usize>() > least);
            for options in [proxy.options(), layer4.clone()] {
                let mut client = Client::connect(&options).await.unwrap();
                assert!(client.query(sql).await.unwrap() == expected, "{sql} with {options:?}");
            }
        }
    });
}

#[test]
fn an_insert_of_64_mb_arrives_intact() {
    let _machine = machine();
    DB.sql("CREATE TABLE test.large (id INT, data LONGBLOB) ENGINE=MyISAM");
    let proxy = setup().start();
    let data = letters(64 * MIB);
    run(async {
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        // As text, in one command of five packets.
        let sql = [b"INSERT INTO large VALUES (1, '".as_slice(), &data, b"')"].concat();
        client.send_command(Kind::Query, &sql).await.unwrap();
        assert_eq!(client.read_result().await.unwrap().affected_rows, 1);
        // As a parameter.
        let statement = client.prepare("INSERT INTO large VALUES (?, ?)").await.unwrap();
        let inserted =
            client.execute(&statement, &[Value::Int(2), Value::Bytes(data.clone())]).await.unwrap();
        assert_eq!(inserted.affected_rows, 1);
        // In parts ahead of the command; servers do not answer them.
        for part in data.chunks(3 * MIB) {
            client.send_long_data(&statement, 1, part).await.unwrap();
        }
        client.execute(&statement, &[Value::Int(3), Value::Sent]).await.unwrap();
        // As a file.
        let load = "LOAD DATA LOCAL INFILE 'x' INTO TABLE large (data) SET id = 4";
        assert_eq!(client.load_local(load, &data, 100_000).await.unwrap().affected_rows, 1);

        let mut server = Client::connect(&direct()).await.unwrap();
        for id in 1..=4 {
            let sql = format!("SELECT data FROM large WHERE id = {id}");
            let rows = server.query(&sql).await.unwrap().rows;
            assert!(rows.len() == 1 && rows[0].ends_with(&data) && rows[0].len() < data.len() + 10, "{id}");
        }
    });
    DB.sql("DROP TABLE test.large");
}

#[test]
fn an_insert_of_many_rows_arrives_intact() {
    let _machine = machine();
    DB.sql("CREATE TABLE test.rows_of (id INT, data TEXT) ENGINE=MyISAM");
    let proxy = setup().start();
    let data = letters(64 * MIB);
    run(async {
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        let values: Vec<String> = data
            .chunks(1000)
            .enumerate()
            .map(|(id, text)| format!("({id},'{}')", String::from_utf8_lossy(text)))
            .collect();
        let sql = format!("INSERT INTO rows_of VALUES {}", values.join(","));
        let inserted = client.query(&sql).await.unwrap().affected_rows;
        assert_eq!(inserted, values.len() as u64);
        let mut server = Client::connect(&direct()).await.unwrap();
        let rows = server.query("SELECT data FROM rows_of ORDER BY id").await.unwrap().rows;
        let back: Vec<u8> = rows.iter().flat_map(|row| row[row.len().min(3)..].to_vec()).collect();
        assert!(back == data, "{} of {} bytes", back.len(), data.len());
    });
    DB.sql("DROP TABLE test.rows_of");
}

/// Rows and bytes of a cell of a result of more than 1 GiB.
const ROWS: u64 = 1100;
const CELL: usize = 1_000_000;
/// Bytes between two pauses of a slow reader.
const PAUSE_EVERY: usize = 128 * MIB;

#[test]
fn c29_a_slow_reader_of_a_gigabyte_costs_no_memory() {
    let _machine = machine();
    let proxy = setup().layer4().start();
    let layer4 = Options::tcp(proxy.layer4(), USER, PASSWORD).schema("test");
    run(async {
        for (address, options) in [(proxy.tcp(), proxy.options()), (proxy.layer4(), layer4)] {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let id = {
                let mut client = Client::over(&mut stream, &options).await.unwrap();
                client.query("SELECT REPEAT('x', 1000000) FROM seq_1_to_10").await.unwrap();
                // As a part of an expression it is the server's own id.
                client.query("SELECT CONNECTION_ID() + 0").await.unwrap().first().unwrap()
            };
            let before = rss_kib(proxy.pid());
            let watch = Watch::start(proxy.pid());
            let mut bytes = Vec::new();
            put_message(
                &mut bytes,
                0,
                format!("\x03SELECT REPEAT('x', {CELL}) FROM seq_1_to_{ROWS}").as_bytes(),
            );
            stream.write_all(&bytes).await.unwrap();
            read_with_pauses(&mut stream, &id).await;
            let highest = watch.highest_kib();
            println!("{before} KiB before, {highest} KiB while it ran");
            assert!(highest <= before + GROWTH_KIB_MAX, "{before} KiB before, {highest} KiB while it ran");
        }
    });
}

/// Reads the large result to its end; again and again not until everything is full, up to the
/// server.
async fn read_with_pauses(stream: &mut TcpStream, id: &str) {
    let mut packets = PacketCounter::default();
    let mut chunk = vec![0; 64 << 10];
    let (mut total, mut pause_at) = (0, 0);
    // The number of columns, one column, the rows, and OK.
    while packets.whole < ROWS + 3 {
        // Not at the very end, which the sockets hold: the server has written it.
        if total >= pause_at && packets.whole + 100 < ROWS {
            wait_for("the server to wait for its client", || {
                DB.sql(&format!("SELECT state FROM information_schema.processlist WHERE id = {id}"))
                    == "Writing to net\n"
            });
            pause_at = total + PAUSE_EVERY;
        }
        let n = stream.read(&mut chunk).await.unwrap();
        assert!(n > 0, "the end after {total} bytes");
        total += n;
        packets.count(&chunk[..n]);
    }
    assert!(total > 1 << 30 && packets.is_between(), "{total} bytes, {packets:?}");
}

/// Counts the packets in a stream.
#[derive(Debug, Default)]
struct PacketCounter {
    whole: u64,
    header: Vec<u8>,
    left: usize,
}

impl PacketCounter {
    fn count(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let skipped = self.left.min(bytes.len());
            self.left -= skipped;
            bytes = &bytes[skipped..];
            if self.header.len() == HEADER_LEN && self.left == 0 {
                self.whole += 1;
                self.header.clear();
            }
            while let ([byte, rest @ ..], true) = (bytes, self.header.len() < HEADER_LEN) {
                self.header.push(*byte);
                bytes = rest;
                if let [a, b, c, _] = self.header[..] {
                    self.left = usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16;
                    assert!(self.left > 0, "no packet of this answer is empty");
                }
            }
        }
    }

    const fn is_between(&self) -> bool {
        self.header.is_empty()
    }
}

#[test]
fn c29_a_slow_reader_of_a_file_costs_no_memory() {
    let _machine = machine();
    let proxy = setup().start();
    let line = [letters(64 * 1024 - 1), b"\n".to_vec()].concat();
    run(async {
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        client.query("CREATE TEMPORARY TABLE sink (a INT)").await.unwrap();
        // The server takes half a millisecond for each line.
        let sql = "LOAD DATA LOCAL INFILE 'x' INTO TABLE sink (@line) SET a = SLEEP(0.0005) + LENGTH(@line)";
        client.load_local(sql, &line, line.len()).await.unwrap();
        let before = rss_kib(proxy.pid());
        let watch = Watch::start(proxy.pid());
        client.send_command(Kind::Query, sql.as_bytes()).await.unwrap();
        assert_eq!(client.packets().read().await.unwrap(), b"\xfbx");
        let lines = 256 * MIB / line.len();
        for _ in 0..lines {
            client.packets().write(&line).await.unwrap();
        }
        client.packets().write(&[]).await.unwrap();
        assert_eq!(client.read_result().await.unwrap().affected_rows, lines as u64);
        let highest = watch.highest_kib();
        println!("{before} KiB before, {highest} KiB while it ran");
        assert!(highest <= before + GROWTH_KIB_MAX, "{before} KiB before, {highest} KiB while it ran");
        let lengths = client.query("SELECT COUNT(*), MIN(a), MAX(a) FROM sink").await.unwrap();
        assert_eq!(lengths.text().unwrap()[0], ["4097", "65535", "65535"].map(|cell| Some(cell.to_owned())));
    });
}

#[test]
fn c29_a_large_command_costs_no_memory() {
    let _machine = machine();
    let proxy = setup().start();
    let sql = [b"SELECT LENGTH('".as_slice(), &letters(200 * MIB), b"')"].concat();
    run(async {
        // Something of each kind before, so that what is allocated once is.
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        client.query(&format!("SELECT LENGTH('{}')", "x".repeat(MIB))).await.unwrap();
        let mut fresh = Client::connect(&proxy.options()).await.unwrap();
        let before = rss_kib(proxy.pid());
        // With a backend, and as the first command of its session.
        for client in [&mut client, &mut fresh] {
            let watch = Watch::start(proxy.pid());
            client.send_command(Kind::Query, &sql).await.unwrap();
            assert_eq!(client.read_result().await.unwrap().first().as_deref(), Some("209715200"));
            let highest = watch.highest_kib();
            println!("{before} KiB before, {highest} KiB while it ran");
            assert!(highest <= before + GROWTH_KIB_MAX, "{before} KiB before, {highest} KiB while it ran");
        }
    });
}
