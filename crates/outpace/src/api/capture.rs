//! Captures the output of a piece of code as text, for tests.
//!
//! Under the caller's `cfg(test)` the macros call the functions at the end. They print by std's macros, whose output libtest
//! shows if the test fails, unless [`capture`] catches the message.

use crate::stream::hot;
use crate::stream::state::Role;
use crate::sync::linked::Linked;
use std::cell::RefCell;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The result of [`capture`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Captured<T> {
    /// The code's return value.
    pub value: T,
    /// Its messages to standard output.
    pub stdout: String,
    /// Its messages to standard error.
    pub stderr: String,
}

/// How many captures are in progress.
static CAPTURING: AtomicUsize = AtomicUsize::new(0);

/// [`catch`], linked only into programs that capture.
static CATCH: Linked<fn(Role, &str) -> bool> = Linked::new();

thread_local! {
    /// The messages caught so far, if this thread captures.
    static CAUGHT: RefCell<Option<Caught>> = const { RefCell::new(None) };
}

#[derive(Default)]
struct Caught {
    stdout: String,
    stderr: String,
}

/// Runs code and catches what this thread prints meanwhile by outpace's [`print!`](crate::print),
/// [`println!`](crate::println), [`eprint!`](crate::eprint) and [`eprintln!`](crate::eprintln).
///
/// For tests of code that prints: unit tests, integration tests, and tests of dependencies. Output that does not come
/// from these macros (std's macros, handles, guards, other threads) is not caught.
///
/// If the code panics, the messages caught so far are printed through std, so that a failed test shows them.
///
/// ```
/// fn greet(name: &str) {
///     outpace::println!("Hello, {name}");
/// }
///
/// // In a test, of the crate or of `tests/`:
/// let caught = outpace::capture(|| greet("world"));
/// assert_eq!(caught.stdout, "Hello, world\n");
/// assert_eq!(caught.stderr, "");
/// ```
pub fn capture<T>(run: impl FnOnce() -> T) -> Captured<T> {
    let capture = Capture::begin();
    let value = run();
    let Caught { stdout, stderr } = capture.end();
    Captured {
        value,
        stdout,
        stderr,
    }
}

/// Captures until it is ended or dropped.
struct Capture {
    /// The messages caught by the capture around this one.
    outer: Option<Caught>,
}

impl Capture {
    fn begin() -> Capture {
        CATCH.link(catch);
        CAPTURING.fetch_add(1, Ordering::Relaxed);
        hot::forget_thread();
        Capture {
            outer: CAUGHT.replace(Some(Caught::default())),
        }
    }

    fn end(mut self) -> Caught {
        CAUGHT.replace(self.outer.take()).unwrap_or_default()
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        CAPTURING.fetch_sub(1, Ordering::Relaxed);
        if std::thread::panicking()
            && let Some(caught) = CAUGHT.replace(self.outer.take())
        {
            std::print!("{}", caught.stdout);
            std::eprint!("{}", caught.stderr);
        }
    }
}

/// Catches a message, if this thread captures.
#[inline]
pub(crate) fn catches(role: Role, text: &str) -> bool {
    if CAPTURING.load(Ordering::Relaxed) > 0
        && let Some(catch) = CATCH.get()
        && catch(role, text)
    {
        return true;
    }
    hot::learn_thread();
    false
}

/// Catches a message of a macro that is compiled for a test, if this thread captures.
fn catches_in_test(role: Role, message: fmt::Arguments<'_>, newline: bool) -> bool {
    let captures = || CAUGHT.try_with(|caught| caught.borrow().is_some());
    if CAPTURING.load(Ordering::Relaxed) == 0 || !captures().unwrap_or(false) {
        return false;
    }
    // Formatted before `CAUGHT` is borrowed, because a `Display` may print, too.
    let mut text = message.to_string();
    if newline {
        text.push('\n');
    }
    catch(role, &text)
}

fn catch(role: Role, text: &str) -> bool {
    let caught = CAUGHT.try_with(|caught| {
        let mut caught = caught.borrow_mut();
        let Some(caught) = caught.as_mut() else {
            return false;
        };
        let stream = match role {
            Role::Stderr => &mut caught.stderr,
            _ => &mut caught.stdout,
        };
        stream.push_str(text);
        true
    });
    // A thread that is ending no longer captures.
    caught.unwrap_or(false)
}

macro_rules! in_test {
    ($($name:ident, $role:ident, $newline:literal, $std:ident;)*) => {$(
        #[doc = concat!("`", stringify!($std), "!`")]
        pub fn $name(message: fmt::Arguments<'_>) {
            if !catches_in_test(Role::$role, message, $newline) {
                std::$std!("{message}");
            }
        }
    )*};
}
in_test! {
    print_in_test, Stdout, false, print;
    println_in_test, Stdout, true, println;
    eprint_in_test, Stderr, false, eprint;
    eprintln_in_test, Stderr, true, eprintln;
}
