#![allow(warnings)]

use std::borrow::Cow;
use std::fmt;
use std::fmt::Write as _;
use std::num::NonZero;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

static AGREED: AtomicUsize = AtomicUsize::new(0);
static DIFFERED: AtomicUsize = AtomicUsize::new(0);

/// A type that outpace does not know.
#[derive(Debug, Clone)]
struct Foreign<T>(T);

impl<T: fmt::Debug> fmt::Display for Foreign<T> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(&std::format!("<{:?}>", self.0))
    }
}

/// A type that is made of pieces.
#[derive(Debug, Clone)]
struct Pieces(i64, f64, &'static str);

impl fmt::Display for Pieces {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        fmt::Display::fmt(&outpace::text::Pieces::of(&(self.0, "/", self.1, '/', self.2)), f)
    }
}

fn compare(case: &str, ours: &[u8], theirs: &[u8]) {
    if ours == theirs {
        AGREED.fetch_add(1, Ordering::Relaxed);
    } else {
        DIFFERED.fetch_add(1, Ordering::Relaxed);
        std::println!(
            "{case}\n   ours: {:?}\n  std's: {:?}",
            String::from_utf8_lossy(ours),
            String::from_utf8_lossy(theirs)
        );
    }
}

fn finish() {
    if DIFFERED.load(Ordering::Relaxed) > 0 {
        std::process::exit(1);
    }
    std::println!("{}", AGREED.load(Ordering::Relaxed));
}

macro_rules! format_case {
    ($($a:tt)*) => {
        compare(stringify!($($a)*), outpace::format!($($a)*).as_bytes(), std::format!($($a)*).as_bytes())
    };
}

macro_rules! string_case {
    ($($a:tt)*) => {{
        let (mut ours, mut theirs) = (String::from("before "), String::from("before "));
        outpace::write!(ours, $($a)*).unwrap();
        std::write!(theirs, $($a)*).unwrap();
        compare(stringify!($($a)*), ours.as_bytes(), theirs.as_bytes())
    }};
}

macro_rules! bytes_case {
    ($($a:tt)*) => {{
        use std::io::Write as _;
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        outpace::writeln!(&mut ours, $($a)*).unwrap();
        std::writeln!(&mut theirs, $($a)*).unwrap();
        compare(stringify!($($a)*), &ours, &theirs)
    }};
}
