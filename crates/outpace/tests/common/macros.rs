//! The macros as programs have them: under `cfg(test)`, which Cargo sets for a test without libtest, too, they print by std's.
#![allow(unused_macros, unused_imports, reason = "no test uses all")]

macro_rules! ours {
    ($name:ident $($arguments:tt)*) => {
        outpace::__private::macros::$name!(outpace $($arguments)*)
    };
}

macro_rules! print {
    ($($arguments:tt)*) => { $crate::macros::ours!(print $($arguments)*) };
}

macro_rules! println {
    ($($arguments:tt)*) => { $crate::macros::ours!(println $($arguments)*) };
}

macro_rules! eprintln {
    ($($arguments:tt)*) => { $crate::macros::ours!(eprintln $($arguments)*) };
}

pub(crate) use {eprintln, ours, print, println};
