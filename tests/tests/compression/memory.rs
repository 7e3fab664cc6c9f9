//! What compression may hold: little for idle clients, and nothing much for bombs.

use e2e::memory::{Watch, rss_kib};
use e2e::{run, wait_for};
use testkit::client::ClientError;
use wire::compress::{Codecs, FRAME_HEADER_LEN, FrameHeader, Method};
use wire::frame::{Header, MAX_PAYLOAD};

use super::{DB, METHODS, connect, proxy};

/// What the proxy may grow by while it refuses a bomb: its buffers, expanders, and what an
/// allocator keeps. With zstd a window of 16 MiB is part of it, because frames are that long.
const GROWTH_KIB_MAX: u64 = 32 * 1024;

/// Idle clients of one measurement.
const CLIENTS: usize = 200;

/// What an idle client may cost more with compression than without, in KiB. The layer itself has
/// less than one.
const IDLE_KIB_MAX: u64 = 2;

#[test]
fn a_bomb_of_1_gb_in_1_mb_is_refused_without_being_held() {
    let proxy = proxy(&DB, false);
    for method in METHODS.into_iter().flatten() {
        run(async {
            let mut client = connect(&proxy, Some(method)).await;
            client.query("SELECT 1").await.unwrap();
            let before = rss_kib(proxy.pid());
            let watch = Watch::start(proxy.pid());
            let (bomb, frames) = bomb(method);
            assert!(bomb.len() < 2 << 20);
            // The proxy does not have to read all of it.
            let _ = client.packets().write_bytes(&bomb).await;
            client.packets().expect_seq(0);
            let error = first_error(&mut client, frames).await;
            assert_eq!(error, 1153);
            let grown = watch.highest_kib().saturating_sub(before);
            println!("{method:?}: {} bytes were refused; the proxy grew by {grown} KiB", bomb.len());
            assert!(grown <= GROWTH_KIB_MAX, "{method:?}: {grown} KiB");
        });
    }
}

/// A command of 1 GiB of zeros in frames, and how many these are.
fn bomb(method: Method) -> (Vec<u8>, u8) {
    let mut codecs = Codecs::new(6);
    let mut body = Vec::new();
    codecs.put_frame(method, 0, &vec![0; MAX_PAYLOAD], &mut body);
    let header = FrameHeader::parse(*body.first_chunk().unwrap());
    let mut bomb = Vec::new();
    for seq in 0..64u8 {
        codecs.put_frame(method, 2 * seq, &Header { len: 0xff_ffff, seq }.to_bytes(), &mut bomb);
        bomb.extend(FrameHeader { seq: 2 * seq + 1, ..header }.to_bytes());
        bomb.extend(&body[FRAME_HEADER_LEN..]);
    }
    (bomb, 128)
}

/// The code of the error that comes in a frame with an id below `frames`.
async fn first_error(client: &mut testkit::client::Client, frames: u8) -> u16 {
    let packets = client.packets();
    let mut header = [0; FRAME_HEADER_LEN];
    tokio::io::AsyncReadExt::read_exact(packets.stream(), &mut header).await.unwrap();
    let header = FrameHeader::parse(header);
    assert!(header.seq <= frames);
    let mut content = vec![0; header.len as usize];
    tokio::io::AsyncReadExt::read_exact(packets.stream(), &mut content).await.unwrap();
    assert_eq!(header.plain_len, 0, "a short error is stored: {}", header.plain_len);
    u16::from_le_bytes([content[5], content[6]])
}

#[test]
fn idle_compressed_clients_are_small() {
    let grown = METHODS.map(|method| {
        let proxy = proxy(&DB, false);
        run(async {
            // What the first one touches belongs to the proxy.
            let mut first = connect(&proxy, method).await;
            first.query("SELECT REPEAT('x', 100000)").await.unwrap();
            let before = rss_kib(proxy.pid());
            let mut clients = Vec::new();
            for _ in 0..CLIENTS {
                let mut client = connect(&proxy, method).await;
                // Without a backend: it is the client that is measured.
                client.ping().await.unwrap();
                clients.push(client);
            }
            let mut least = u64::MAX;
            wait_for("the memory of logins to be given back", || {
                let now = rss_kib(proxy.pid()).saturating_sub(before);
                let done = now >= least;
                least = least.min(now);
                done
            });
            assert!(matches!(clients[0].query("SELECT nothing").await, Err(ClientError::Server(_))));
            drop(clients);
            least
        })
    });
    println!("{CLIENTS} idle clients, plain, zlib and zstd: {grown:?} KiB");
    for compressed in &grown[1..] {
        let more = compressed.saturating_sub(grown[0]);
        assert!(more <= IDLE_KIB_MAX * CLIENTS as u64, "{more} KiB for {CLIENTS} clients");
    }
}
