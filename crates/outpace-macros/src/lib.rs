//! The procedural macros behind `outpace::print!` and its family. Use them through `outpace`.
//!
//! A format string is read here, when the program is compiled: `input` takes the macro's arguments
//! apart, `template` the format string, and `expand` writes the calls that make up the message.
//! A format string that is wrong, or that is not understood here, goes to `format_args!` as it stands, so that std's
//! own behaviour, or its own error, appears.

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
