//! Every packet type out of any bytes: see [`wire::fuzzing::packet`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| wire::fuzzing::packet(data));
