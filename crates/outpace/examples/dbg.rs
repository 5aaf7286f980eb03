//! The output of `dbg!` when several threads call it at once.
//!
//! ```text
//! cargo run -p outpace --example dbg          # each value is one message
//! cargo run -p outpace --example dbg -- std   # std's writes each fragment by itself
//! ```

#[derive(Debug, Clone)]
#[allow(dead_code, reason = "printed by `Debug`")]
struct Point {
    x: i32,
    names: Vec<&'static str>,
}

/// The same calls by either macro.
macro_rules! calls {
    ($dbg:path, $thread:expr) => {{
        use $dbg as show;
        let point = Point {
            x: $thread,
            names: vec!["a", "b\n"],
        };
        show!();
        let twice = show!(point.x * 2) + 1;
        let (point, twice) = show!(point, twice);
        // A borrow of a temporary lives to the end of the statement.
        let length = show!(String::from("text").as_str()).len() + show!(&point.names,).len();
        (twice, length)
    }};
}

fn main() {
    let std = std::env::args().nth(1).is_some_and(|way| way == "std");
    std::thread::scope(|scope| {
        for thread in 0..2 {
            scope.spawn(move || {
                for _ in 0..100 {
                    if std {
                        calls!(std::dbg, thread);
                    } else {
                        calls!(outpace::dbg, thread);
                    }
                }
            });
        }
    });
}
