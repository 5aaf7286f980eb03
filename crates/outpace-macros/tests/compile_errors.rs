//! Wrong calls fail with std's own error, or with one that shows the remedy. The macros are the same on the portable
//! path, which trybuild's compilations would not use.

#![cfg(not(outpace_portable))]

#[test]
fn wrong_calls_fail_with_errors_that_help() {
    trybuild::TestCases::new().compile_fail("tests/compile-errors/*.rs");
}
