//! The macros. `outpace-macros` expands them. The wrappers here add the path back to this crate, and print by std under the
//! caller's `cfg(test)` (see `capture.rs`).

/// Prints to standard output: std's [`print!`](std::print), several times faster.
///
/// Supports all of [`std::fmt`], with the same bytes. Import it, or all of the macros into a whole crate:
///
/// ```
/// use outpace::{print, println};
///
/// let (name, share) = ("one", 0.25);
/// println!("{name:>5}: {share:.2} {:#06x}", 255);
/// ```
///
/// ```
/// #[macro_use]
/// extern crate outpace;
/// # fn main() { println!("hello") }
/// ```
///
/// Numbers, `bool`, `char`, strings (`str`, `String`, `Cow`, `Box`, `Rc` and `Arc` of `str`), and references to these
/// are written straight into the stream's buffer; so are [`Pieces`](crate::text::Pieces). All others are formatted by
/// their own `Display` or `Debug`, while no thread waits: those may print (their messages come first), panic or take
/// locks, and a panic leaves the stream unchanged. The arguments are evaluated once and in order, and the whole is one
/// message: other threads' output never comes between its parts.
///
/// Each `print!` takes the stream's lock. Where that matters, hold a guard and use [`write!`](crate::write):
/// `write!(out, …)` with `let mut out = outpace::stdout().lock();`.
///
/// # Differences from std
///
/// These macros accept the same input as std's, with the same text, borrows, temporaries and lints. They refuse the
/// same input, with one error of the same words at the same argument. Known differences:
///
/// - A variable in braces that does not exist (`"{missing}"`) is shown by the whole format string, not by the name in it.
/// - An error about an argument without the trait that the braces demand is shown at the whole macro, without std's hint to
///   use `{:?}`, and adds a note that names a function of outpace instead of one of `core::fmt`.
/// - A message of a type's own `Display` is built in memory before it is written, and a text that does not fit into the
///   buffer is copied there: 1 GB printed at once takes 1 GB.
/// - For an argument that is no expression (`1 2`) the compiler may report more than one error.
/// - Clippy's lints know only std's macros: those about formatting, and `print_stdout`, `print_stderr` and `dbg_macro`, in whose
///   place `disallowed-macros` in `clippy.toml` serves. `cfg_not_test` warns of each call.
/// - `write!` does not compile where the destination's own `write_fmt` returns what borrows the message, as an `async fn` does.
///   `std::write!` does.
/// - If a `Display` fails, panics or ends the process, no part of the message is printed; std prints the part before
///   it.
/// - Beside `#[macro_use] extern crate outpace`, a `use std::*` makes the names ambiguous.
/// - `write!` evaluates its arguments before it borrows a destination that is a variable or a field.
///
/// Under the caller's `cfg(test)` it prints by std's macro, whose output libtest captures. A test that checks output
/// uses [`capture`](crate::capture()).
///
/// # Panics
///
/// If writing fails, as std's does. If the reader has gone, the process ends quietly instead.
#[macro_export]
macro_rules! print {
    ($($arguments:tt)*) => {{
        #[cfg(test)]
        { $crate::__private::print_in_test($crate::__private::format_args!($($arguments)*)); }
        #[cfg(not(test))]
        { $crate::__private::macros::print!($crate $($arguments)*); }
    }};
}

/// Prints to standard output, with a newline: see [`print!`](crate::print).
///
/// ```
/// # use outpace::println;
/// let width = 8;
/// println!("{:>width$}|{:<width$}|{:^width$}", 1, "two", 3.0);
/// println!();
/// ```
#[macro_export]
macro_rules! println {
    () => {{
        #[cfg(test)]
        { $crate::__private::println_in_test($crate::__private::format_args!("")); }
        #[cfg(not(test))]
        { $crate::__private::macros::println!($crate); }
    }};
    ($($arguments:tt)*) => {{
        #[cfg(test)]
        { $crate::__private::println_in_test($crate::__private::format_args!($($arguments)*)); }
        #[cfg(not(test))]
        { $crate::__private::macros::println!($crate $($arguments)*); }
    }};
}

/// Prints to standard error: see [`print!`](crate::print).
///
/// ```
/// outpace::eprint!("one system call, however many {} there are", "arguments");
/// ```
#[macro_export]
macro_rules! eprint {
    ($($arguments:tt)*) => {{
        #[cfg(test)]
        { $crate::__private::eprint_in_test($crate::__private::format_args!($($arguments)*)); }
        #[cfg(not(test))]
        { $crate::__private::macros::eprint!($crate $($arguments)*); }
    }};
}

/// Prints to standard error, with a newline: see [`print!`](crate::print).
///
/// ```
/// outpace::eprintln!("{}: {:?}", "cause", std::io::ErrorKind::NotFound);
/// ```
#[macro_export]
macro_rules! eprintln {
    () => {{
        #[cfg(test)]
        { $crate::__private::eprintln_in_test($crate::__private::format_args!("")); }
        #[cfg(not(test))]
        { $crate::__private::macros::eprintln!($crate); }
    }};
    ($($arguments:tt)*) => {{
        #[cfg(test)]
        { $crate::__private::eprintln_in_test($crate::__private::format_args!($($arguments)*)); }
        #[cfg(not(test))]
        { $crate::__private::macros::eprintln!($crate $($arguments)*); }
    }};
}

/// Makes a `String`, as std's [`format!`](std::format) does: see [`print!`](crate::print).
///
/// ```
/// let point = (3, 4.5);
/// assert_eq!(outpace::format!("{}x{:?} {point:?}", point.0, point.1), "3x4.5 (3, 4.5)");
/// ```
#[macro_export]
macro_rules! format {
    ($($arguments:tt)*) => {
        $crate::__private::macros::format!($crate $($arguments)*)
    };
}

/// Writes to a destination, as std's [`write!`](std::write) does: see [`print!`](crate::print).
///
/// The destination is anything with a `write_fmt`: outpace's streams and guards, which are fastest and need no trait in
/// scope, and each `io::Write` and `fmt::Write`, which gets the message in one piece if outpace formats all of its
/// arguments by itself.
///
/// ```
/// let mut out = outpace::stdout().lock();
/// for i in 0..3 {
///     outpace::write!(out, "Hello, {i}\t")?;
/// }
///
/// use std::fmt::Write;
/// let mut text = String::new();
/// outpace::write!(text, "{:.1}", 2.25)?;
/// assert_eq!(text, "2.2");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[macro_export]
macro_rules! write {
    ($($arguments:tt)*) => {
        $crate::__private::macros::write!($crate $($arguments)*)
    };
}

/// Writes to a destination, with a newline: see [`write!`](crate::write).
///
/// ```
/// use std::io::Write;
/// let mut bytes = Vec::new();
/// outpace::writeln!(bytes, "{:02}:{:02}", 7, 5)?;
/// assert_eq!(bytes, b"07:05\n");
/// # Ok::<(), std::io::Error>(())
/// ```
#[macro_export]
macro_rules! writeln {
    ($($arguments:tt)*) => {
        $crate::__private::macros::writeln!($crate $($arguments)*)
    };
}

/// Prints an expression and its value to standard error and returns the value: std's [`dbg!`](std::dbg), byte for
/// byte.
///
/// Each value is one message, and so one system call, where std's makes one for each fragment of the value's `Debug`:
/// other threads' output never comes between its lines. If both streams are on the same terminal, earlier output comes
/// first.
///
/// Under the caller's `cfg(test)` it prints as std's does, so that libtest captures it.
///
/// ```
/// let area = outpace::dbg!(3 * 4) + 1;
/// assert_eq!(area, 13);
/// ```
#[macro_export]
macro_rules! dbg {
    () => {
        $crate::eprintln!(
            "[{}:{}:{}]",
            $crate::__private::std::file!(),
            $crate::__private::std::line!(),
            $crate::__private::std::column!()
        )
    };
    ($value:expr $(,)?) => {
        // `match`, so that temporaries of the expression live as long as in its statement.
        match $value {
            tmp => {
                $crate::eprintln!(
                    "[{}:{}:{}] {} = {:#?}",
                    $crate::__private::std::file!(),
                    $crate::__private::std::line!(),
                    $crate::__private::std::column!(),
                    $crate::__private::std::stringify!($value),
                    &&tmp as &dyn $crate::__private::std::fmt::Debug
                );
                tmp
            }
        }
    };
    ($($value:expr),+ $(,)?) => {
        ($($crate::dbg!($value)),+,)
    };
}
