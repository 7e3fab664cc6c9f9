//! The compressed protocol out of any bytes, split in any way: see [`wire::fuzzing::compress`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| wire::fuzzing::compress(data));
