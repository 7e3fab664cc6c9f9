//! The two roles of a TLS connection, driven by records in and records out: no socket, no waiting.

use rustls::client::UnbufferedClientConnection;
use rustls::pki_types::CertificateDer;
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{ConnectionState, EncodeError, EncodeTlsData, UnbufferedStatus, WriteTraffic};
use rustls::{Error, ProtocolVersion};

use super::Role;
use crate::limits::TLS_RECORD_OVERHEAD_BYTES_MAX;
use crate::tls::name_of;

/// Plaintext bytes of a full record (RFC 8446, section 5.1).
const RECORD_BYTES: usize = 1 << 14;

/// A TLS connection as its state alone.
pub(super) enum Conn {
    /// The proxy has the certificate.
    Server(Box<UnbufferedServerConnection>),
    /// The peer has it.
    Client(Box<UnbufferedClientConnection>),
}

/// What has become of records.
#[derive(Debug)]
pub(super) struct Processed {
    /// Bytes at the front of the input that are done with. The rest is to be given again, with more
    /// behind it.
    pub(super) used: usize,
    /// Whether the peer says that it sends no more (`close_notify`).
    pub(super) closed: bool,
}

/// What to do as soon as something can be sent.
#[derive(Debug, Clone, Copy)]
enum Work<'a> {
    Nothing,
    Encrypt(&'a [u8]),
    Close,
}

/// What the state machine wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// To be asked again.
    Again,
    /// The same; and the peer sends no more.
    Closed,
    /// More bytes of the peer.
    Bytes,
    /// Nothing: the work is done.
    Done,
}

impl std::fmt::Debug for Conn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Server(_) => "Server",
            Self::Client(_) => "Client",
        })
    }
}

impl Conn {
    /// A connection on which nothing was sent or received yet. For [`Role::Client`] it takes the
    /// time of a key exchange.
    pub(super) fn new(role: Role) -> Result<Self, Error> {
        Ok(match role {
            Role::Server(config) => Self::Server(Box::new(UnbufferedServerConnection::new(config)?)),
            Role::Client(config, name) => {
                Self::Client(Box::new(UnbufferedClientConnection::new(config, name)?))
            }
        })
    }

    /// OpenSSL's names of the cipher suite and of the version that were agreed on.
    pub(super) fn names(&self) -> Option<(&'static str, &'static str)> {
        let (suite, version) = match self {
            Self::Server(conn) => (conn.negotiated_cipher_suite()?, conn.protocol_version()?),
            Self::Client(conn) => (conn.negotiated_cipher_suite()?, conn.protocol_version()?),
        };
        let version = if version == ProtocolVersion::TLSv1_3 { "TLSv1.3" } else { "TLSv1.2" };
        Some((name_of(suite.suite()), version))
    }

    /// The certificate that the peer has shown; behind the handshake it was verified.
    pub(super) fn certificate(&self) -> Option<&CertificateDer<'static>> {
        let chain = match self {
            Self::Server(conn) => conn.peer_certificates(),
            Self::Client(conn) => conn.peer_certificates(),
        };
        chain?.first()
    }

    /// Whether the handshake goes on.
    pub(super) fn is_handshaking(&self) -> bool {
        match self {
            Self::Server(conn) => conn.is_handshaking(),
            Self::Client(conn) => conn.is_handshaking(),
        }
    }

    /// Takes all whole records of `input`, decrypting in place. `plaintext` gets what the peer
    /// says; `outgoing` gets the records that have to be sent: handshake messages and alerts, also
    /// the one that tells the peer of an error.
    pub(super) fn process(
        &mut self,
        input: &mut [u8],
        plaintext: &mut dyn FnMut(&[u8]),
        outgoing: &mut Vec<u8>,
    ) -> Result<Processed, Error> {
        let mut processed = Processed { used: 0, closed: false };
        loop {
            let rest = input.get_mut(processed.used..).unwrap_or_default();
            let (used, next) = self.turn(rest, plaintext, outgoing, Work::Nothing);
            processed.used += used;
            match next {
                Ok(Next::Again) => {}
                Ok(Next::Closed) => processed.closed = true,
                Ok(Next::Bytes | Next::Done) => return Ok(processed),
                Err(error) => {
                    // The error comes again as soon as its alert is out.
                    while self.turn(&mut [], plaintext, outgoing, Work::Nothing).1 == Ok(Next::Again) {}
                    return Err(error);
                }
            }
        }
    }

    /// Appends `bytes` to `outgoing` as records.
    pub(super) fn encrypt(&mut self, bytes: &[u8], outgoing: &mut Vec<u8>) -> Result<(), Error> {
        self.work(Work::Encrypt(bytes), outgoing)
    }

    /// Appends the word that nothing more will be sent (`close_notify`).
    pub(super) fn close(&mut self, outgoing: &mut Vec<u8>) -> Result<(), Error> {
        self.work(Work::Close, outgoing)
    }

    fn work(&mut self, work: Work<'_>, outgoing: &mut Vec<u8>) -> Result<(), Error> {
        loop {
            match self.turn(&mut [], &mut |_| {}, outgoing, work).1? {
                Next::Done => return Ok(()),
                Next::Again | Next::Closed => {}
                Next::Bytes => return Err(Error::HandshakeNotComplete),
            }
        }
    }

    /// One turn of the state machine; also returns how many bytes of `input` are done with.
    fn turn(
        &mut self,
        input: &mut [u8],
        plaintext: &mut dyn FnMut(&[u8]),
        outgoing: &mut Vec<u8>,
        work: Work<'_>,
    ) -> (usize, Result<Next, Error>) {
        match self {
            Self::Server(conn) => obey(conn.process_tls_records(input), plaintext, outgoing, work),
            Self::Client(conn) => obey(conn.process_tls_records(input), plaintext, outgoing, work),
        }
    }
}

/// Does what the state machine asks for.
fn obey<D>(
    status: UnbufferedStatus<'_, '_, D>,
    plaintext: &mut dyn FnMut(&[u8]),
    outgoing: &mut Vec<u8>,
    work: Work<'_>,
) -> (usize, Result<Next, Error>) {
    let UnbufferedStatus { mut discard, state } = status;
    let next = match state {
        Ok(ConnectionState::ReadTraffic(mut traffic)) => loop {
            match traffic.next_record() {
                Some(Ok(record)) => {
                    discard += record.discard;
                    plaintext(record.payload);
                }
                Some(Err(error)) => break Err(error),
                None => break Ok(Next::Again),
            }
        },
        Ok(ConnectionState::EncodeTlsData(message)) => encode(message, outgoing),
        Ok(ConnectionState::TransmitTlsData(sent)) => {
            // It is in `outgoing`, which is sent before anything else is.
            sent.done();
            Ok(Next::Again)
        }
        Ok(ConnectionState::WriteTraffic(traffic)) => write(traffic, outgoing, work),
        Ok(ConnectionState::PeerClosed) => Ok(Next::Closed),
        // Early data is never accepted, and what rustls may add later was not asked for.
        Ok(_) => Ok(Next::Bytes),
        Err(error) => Err(error),
    };
    (discard, next)
}

fn encode<D>(mut message: EncodeTlsData<'_, D>, outgoing: &mut Vec<u8>) -> Result<Next, Error> {
    let start = outgoing.len();
    // The first call tells how many bytes it takes.
    if let Err(EncodeError::InsufficientSize(size)) = message.encode(&mut []) {
        outgoing.resize(start + size.required_size, 0);
    }
    match message.encode(outgoing.get_mut(start..).unwrap_or_default()) {
        Ok(_) => Ok(Next::Again),
        Err(error) => Err(Error::General(error.to_string())),
    }
}

fn write<D>(mut traffic: WriteTraffic<'_, D>, outgoing: &mut Vec<u8>, work: Work<'_>) -> Result<Next, Error> {
    let bytes = match work {
        Work::Nothing => return Ok(Next::Bytes),
        Work::Encrypt(bytes) => bytes,
        Work::Close => &[],
    };
    let records = bytes.len() / RECORD_BYTES + 1;
    let start = outgoing.len();
    // One more than there are, for what rustls itself has to say.
    outgoing.resize(start + bytes.len() + (records + 1) * TLS_RECORD_OVERHEAD_BYTES_MAX, 0);
    let room = outgoing.get_mut(start..).unwrap_or_default();
    let written = match work {
        Work::Close => traffic.queue_close_notify(room),
        _ => traffic.encrypt(bytes, room),
    };
    outgoing.truncate(start + *written.as_ref().unwrap_or(&0));
    written.map(|_| Next::Done).map_err(|error| Error::General(error.to_string()))
}
