//! Messages out of any bytes, split in any way: see [`wire::fuzzing::frame`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| wire::fuzzing::frame(data));
