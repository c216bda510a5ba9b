#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sapwood::fuzzing::run("segment", data));
