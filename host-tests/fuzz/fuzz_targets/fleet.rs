#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| host_tests::fuzz::fleet(data));
