//! The ends of answers in any bytes: see [`wire::fuzzing::reply`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| wire::fuzzing::reply(data));
