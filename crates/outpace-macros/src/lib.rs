//! The procedural macros behind `outpace::print!` and its family. Use them through `outpace`.
//!
//! They read the format string at compile time: `input` parses the macro's arguments, `template` the format string, and
//! `expand` writes the calls for the message. A format string that is wrong or not supported here goes to
//! `format_args!` unchanged, so that std's behaviour, or its error, applies.

mod destination;
mod expand;
mod input;
mod literal;
mod out;
mod template;

use expand::{Expansion, Target};
use proc_macro::TokenStream;

macro_rules! family {
    ($($(#[$doc:meta])* $name:ident $target:ident $newline:literal;)*) => {$(
        $(#[$doc])*
        #[proc_macro]
        pub fn $name(input: TokenStream) -> TokenStream {
            Expansion { target: Target::$target, newline: $newline }.of(input)
        }
    )*};
}

family! {
    /// `print!`. The first token is outpace's `$crate`, here and in all others.
    print Stdout false;
    /// `println!`
    println Stdout true;
    /// `eprint!`
    eprint Stderr false;
    /// `eprintln!`
    eprintln Stderr true;
    /// `format!`
    format String false;
    /// `write!`
    write Destination false;
    /// `writeln!`
    writeln Destination true;
}
