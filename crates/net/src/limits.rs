//! Limits of sockets, TLS and names, each with its unit and its reason.

use std::time::Duration;

/// Bytes that a worker reads at once, into its one scratch buffer. Large enough that a big result
/// costs few system calls, small enough to stay in the second-level cache.
pub const SCRATCH_BYTES: usize = 64 * 1024;

/// Level of zlib towards clients and servers.
pub(crate) const ZLIB_LEVEL: u8 = 3;

/// How far ahead of its rate a client may get bytes: timers are no finer, and small answers shall
/// not wait for theirs.
pub(crate) const THROTTLE_AHEAD: Duration = Duration::from_millis(100);

/// Bits of the RSA key that protects passwords of `caching_sha2_password` on unencrypted
/// connections.
pub(crate) const RSA_KEY_SIZE: aws_lc_rs::rsa::KeySize = aws_lc_rs::rsa::KeySize::Rsa2048;

/// Bytes of the longest file of certificates or revocation lists. All authorities of a browser take
/// 200 KB.
pub(crate) const PEM_FILE_BYTES_MAX: u64 = 16 << 20;

/// Bytes of the longest TLS record with its header: 2^14 and 2,048 for what TLS 1.2 may add (RFC
/// 5246, section 6.2.3).
pub(crate) const TLS_RECORD_BYTES_MAX: usize = 5 + (1 << 14) + 2048;

/// Bytes that encryption adds to one record at most: a header of 5, a nonce of 8 and a tag of 16,
/// and some to spare.
pub(crate) const TLS_RECORD_OVERHEAD_BYTES_MAX: usize = 64;

/// Bytes of TLS records that a connection holds because they are of no use before others come: the
/// longest handshake message that rustls takes, 64 KiB, and 8 KiB for the records that it comes in.
pub(crate) const TLS_HELD_BYTES_MAX: usize = 72 * 1024;

/// Names of servers that are looked up at the same time: each has a thread until the resolver has
/// answered.
pub(crate) const NAMES_AT_ONCE_MAX: usize = 8;

/// How long the name of a host to listen on may take to be resolved.
pub(crate) const LISTEN_NAME_TIME_MAX: Duration = Duration::from_secs(5);

/// How often is looked whether it is time to look names up anew.
pub(crate) const NAMES_LOOK: Duration = Duration::from_secs(1);

/// Bytes of one message during a login: 64 KiB of connection attributes, the largest field, and 8
/// KiB for the rest. Any client may send that much, `mysql-max_connections` times at once, for
/// `mysql-connect_timeout_client`.
pub const LOGIN_MESSAGE_BYTES_MAX: usize = 72 * 1024;
