//! What the macros call where they are compiled for a test, under the caller's `cfg(test)`: std's macros, whose
//! output libtest shows if the test fails, unless [`capture`](crate::capture()) catches the message.

use crate::capture::catches_in_test;
use crate::engine::Role;
use std::fmt::Arguments;

/// `print!`
pub fn print_in_test(message: Arguments<'_>) {
    if !catches_in_test(Role::Stdout, message, false) {
        std::print!("{message}");
    }
}

/// `println!`
pub fn println_in_test(message: Arguments<'_>) {
    if !catches_in_test(Role::Stdout, message, true) {
        std::println!("{message}");
    }
}

/// `eprint!`
pub fn eprint_in_test(message: Arguments<'_>) {
    if !catches_in_test(Role::Stderr, message, false) {
        std::eprint!("{message}");
    }
}

/// `eprintln!`
pub fn eprintln_in_test(message: Arguments<'_>) {
    if !catches_in_test(Role::Stderr, message, true) {
        std::eprintln!("{message}");
    }
}
