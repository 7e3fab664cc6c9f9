//! Digests of any statement, with any options: see [`sql::fuzzing::digest`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sql::fuzzing::digest(data));
