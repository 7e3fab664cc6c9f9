//! Payloads of every size that matters, to be sent and fetched by any transport.

use testkit::client::{Client, Value};
use tokio::io::{AsyncRead, AsyncWrite};
use wire::command::Kind;

/// Sizes of payloads, in bytes: nothing, one, a server's buffer, and around a full packet.
pub const SIZES: [usize; 6] = [0, 1, 1 << 14, (1 << 24) - 1, 1 << 24, (1 << 24) + 1];

/// Letters without a pattern of a packet's length, half of which compress well.
fn letters(len: usize) -> Vec<u8> {
    /// A prime number of bytes: their repetition meets every packet and frame at another place.
    const PERIOD: usize = 1_000_003;
    let mut state: u64 = 88_172_645_463_325_252;
    let block: Vec<u8> = (0..PERIOD)
        .map(|i| {
            // xorshift64
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            if i / 1000 % 2 == 0 { b'x' } else { b'a' + state.to_le_bytes()[3] % 26 }
        })
        .collect();
    let mut bytes = block.repeat(len.div_ceil(PERIOD));
    bytes.truncate(len);
    bytes
}

/// Sends and fetches a payload of each of these sizes, as text and in binary form.
///
/// # Panics
/// When something does not arrive as it was sent.
pub async fn every_size<S: AsyncRead + AsyncWrite + Unpin>(client: &mut Client<S>, sizes: &[usize]) {
    for &size in sizes {
        text(client, size).await;
        binary(client, size).await;
    }
}

/// A statement with a payload of this size, or as near as one can come, and a row with one: both
/// carry letters.
async fn text<S: AsyncRead + AsyncWrite + Unpin>(client: &mut Client<S>, size: usize) {
    let (before, behind) = (b"SELECT '", b"'");
    let data = letters(size.saturating_sub(1 + before.len() + behind.len()));
    let sql = [&before[..], &data, behind].concat();
    assert!(size < 10 || sql.len() + 1 == size);
    client.send_command(Kind::Query, &sql).await.unwrap();
    let rows = client.read_result().await.unwrap().rows;
    assert!(rows.len() == 1 && rows[0].ends_with(&data) && rows[0].len() < data.len() + 10, "{size} bytes");
    // The length of a value is in front of it: of a row with so many bytes, and of a value with so
    // many.
    for len in [size, size.saturating_sub(header_of(size))] {
        let result = client.query(&format!("SELECT REPEAT('ab', {})", len.div_ceil(2))).await.unwrap();
        let value = result.first().unwrap();
        assert!(value.len() == len.next_multiple_of(2) && value.bytes().step_by(2).all(|byte| byte == b'a'));
    }
}

/// Bytes of the length in front of a value.
const fn header_of(len: usize) -> usize {
    match len {
        0..=250 => 1,
        251..=0xffff => 3,
        0x1_0000..=0xff_ffff => 4,
        _ => 9,
    }
}

/// The same as a parameter and as a row of a prepared statement.
async fn binary<S: AsyncRead + AsyncWrite + Unpin>(client: &mut Client<S>, size: usize) {
    let statement = client.prepare("SELECT ?, LENGTH(?)").await.unwrap();
    let data = letters(size);
    let params = [Value::Bytes(data.clone()), Value::Bytes(b"four".to_vec())];
    let rows = client.execute(&statement, &params).await.unwrap().rows;
    let row = &rows[0];
    let start = 2 + header_of(size);
    assert!(rows.len() == 1 && row.get(start..start + size) == Some(&data), "{size} bytes");
    client.send_long_data(&statement, 0, &data).await.unwrap();
    let rows = client.execute(&statement, &[Value::Sent, Value::Bytes(Vec::new())]).await.unwrap().rows;
    assert!(rows[0].get(start..start + size) == Some(&data), "{size} bytes ahead of the command");
}
