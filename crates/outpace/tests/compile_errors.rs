//! What is wrong fails with std's own error, or with one that says what to do. The macros are the same on the portable
//! path, and what trybuild compiles would not take it.

#![cfg(not(outpace_portable))]

#[test]
fn wrong_calls_fail_with_errors_that_help() {
    trybuild::TestCases::new().compile_fail("tests/compile-errors/*.rs");
}
