//! Harnesses that assert what must hold for any bytes at all.
//!
//! Each takes the bytes of one fuzz case and panics if an invariant is broken: nothing else panics,
//! decoding what was encoded gives the same value, and the way in which input is split makes no
//! difference. They run as bounded property tests with the other tests of this crate, and without
//! bounds as the libFuzzer targets of the same names in the folder `fuzz`.

mod compress;
mod conversation;
mod frame;
mod handshake;
mod input;
mod packet;
mod proxy_header;
mod reply;

pub use self::{
    compress::compress, frame::frame, handshake::handshake, packet::packet, proxy_header::proxy_header,
    reply::reply,
};
