//! The `outpace` program.
fn main() {}
