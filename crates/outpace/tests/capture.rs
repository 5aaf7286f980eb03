//! `capture` where it is used: in the tests of crates, whose macros are compiled for tests.

#![cfg(not(loom))]

use std::fmt;
use std::panic::catch_unwind;
use std::process::Command;

fn greet(name: &str) {
    outpace::println!("Hello, {name}");
}

#[test]
fn the_example_of_the_documentation_passes_in_a_file_of_tests() {
    let caught = outpace::capture(|| greet("world"));
    assert_eq!(caught.stdout, "Hello, world\n");
    assert_eq!(caught.stderr, "");
}

#[test]
fn every_macro_is_caught() {
    let caught = outpace::capture(|| {
        outpace::print!("{} ", 1);
        outpace::println!();
        outpace::println!("{:>3}", "x");
        outpace::eprint!("{:?}", Some(2));
        outpace::eprintln!();
        outpace::eprintln!("end",);
        outpace::dbg!(3) + 4
    });
    assert_eq!(caught.value, 7);
    assert_eq!(caught.stdout, "1 \n  x\n");
    let (lines, dbg) = caught.stderr.split_once("end\n").unwrap();
    assert_eq!(lines, "Some(2)\n");
    assert!(dbg.ends_with("] 3 = 3\n"), "{dbg}");
}

struct Chatty;

impl fmt::Display for Chatty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        outpace::println!("formatting");
        f.write_str("chatty")
    }
}

#[test]
fn a_display_that_prints_is_caught_before_what_it_is_in() {
    let caught = outpace::capture(|| outpace::println!("{Chatty}", Chatty = Chatty));
    assert_eq!(caught.stdout, "formatting\nchatty\n");
}

#[test]
fn the_inner_of_two_captures_catches() {
    let outer = outpace::capture(|| {
        greet("outside");
        outpace::capture(|| greet("inside")).stdout
    });
    assert_eq!(outer.stdout, "Hello, outside\n");
    assert_eq!(outer.value, "Hello, inside\n");
}

#[test]
fn another_threads_output_is_not_caught() {
    let caught = outpace::capture(|| std::thread::spawn(|| greet("thread")).join().unwrap());
    assert_eq!(caught.stdout, "");
}

/// A test below checks libtest's report of this one.
#[test]
#[ignore = "fails, to be looked at by another test"]
fn fails_after_printing() {
    outpace::print!("printed ");
    outpace::println!("by the test");
    let _ = catch_unwind(|| {
        outpace::capture(|| {
            outpace::println!("caught until the panic");
            panic!("inside capture")
        })
    });
    panic!("on purpose");
}

#[test]
fn a_failed_test_shows_what_it_printed() {
    let run = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "fails_after_printing",
            "--ignored",
            "--test-threads=1",
        ])
        .output()
        .unwrap();
    let report = String::from_utf8(run.stdout).unwrap();
    let (_, shown) = report
        .split_once("---- fails_after_printing stdout ----")
        .expect(&report);
    assert!(shown.contains("printed by the test\n"), "{report}");
    assert!(shown.contains("caught until the panic\n"), "{report}");
}
