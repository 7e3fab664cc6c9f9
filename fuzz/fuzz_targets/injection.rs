//! Injected SQL in any text: see [`sql::fuzzing::injection`].

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sql::fuzzing::injection(data));
