//! PROXY headers out of any bytes: see [`wire::fuzzing::proxy_header`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| wire::fuzzing::proxy_header(data));
