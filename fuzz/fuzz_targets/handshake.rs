//! The login of any client and the greeting of any server: see [`wire::fuzzing::handshake`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| wire::fuzzing::handshake(data));
