//! The macros against std's, side by side.

// The arguments here are strange on purpose.
#![allow(clippy::all, named_arguments_used_positionally)]

use std::cell::Cell;
use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::rc::Rc;

/// Both macros, the same bytes.
macro_rules! same {
    ($($arguments:tt)*) => {
        assert_eq!(outpace::format!($($arguments)*), std::format!($($arguments)*))
    };
}

mod drop_in;
mod values;

/// A type that outpace does not know.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Foreign(i32);

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&std::format!("<{}>", self.0))
    }
}

#[test]
fn text_alone_is_text() {
    same!("");
    same!("hello");
    same!(
        "a\tb\n\u{1F600}\x41 \
           joined"
    );
    same!(r"raw\n");
    same!(r#"raw "quoted""#);
    same!("{{}}");
    same!("{{{}}}", 1);
    same!("trailing comma",);
}

#[test]
fn arguments_are_found_by_place_by_order_and_by_name() {
    let (x, width) = (7, 5);
    let y = "text";
    same!("{} {} {}", 1, "a", 'b');
    same!("{1} {0} {1}", 1, 2);
    same!("{} {0} {}", 1, 2);
    same!("{x} {y}");
    same!("{x} {}", y);
    same!("{a} {b} {0}", a = 1, b = 2);
    same!("{} {}", a = 1, b = 2);
    same!("{:1$} {:>2$}", 1, 2, 3);
    same!("{x:width$}");
    same!("{x:>width$}|{x:<width$}|{x:^width$}");
    same!("{:.*}", 2, 1.23456);
    same!("{:.*} {}", 2, 1.23456, 3);
    same!("{0:.*} {1}", 2, 1.23456);
    same!("{:.prec$}", 1.23456, prec = 3);
    same!("{:>w$.p$}", 1.23456, w = 12, p = 3);
    same!("{y:>width$.2}");
    same!("{}", a = 5);
    same!("{type}", type = 5);
    same!("{r}", r#r = 5);
    same!("{0:?} {0:5} {0}", x,);
}

#[test]
fn expressions_with_commas_of_their_own_are_one_argument() {
    fn two<A: Default + fmt::Display, B: Default + fmt::Display>() -> String {
        std::format!("{}{}", A::default(), B::default())
    }
    trait Make<A, B> {
        fn make() -> i32;
    }
    impl Make<u8, u16> for Foreign {
        fn make() -> i32 {
            3
        }
    }
    let (a, b, c, d) = (1, 2, 3, 4);
    same!("{} {}", two::<u8, u16>(), 2);
    same!("{} {}", <Foreign as Make<u8, u16>>::make(), 2);
    same!("{} {}", (|a: i32, b: i32| a + b)(1, 2), 3);
    same!("{} {}", [1, 2].iter().fold(0, |a, b| a + b), 3);
    same!("{} {}", a < b, c > d);
    same!("{} {} {}", a as u8 + 1 < 3, c > d, a << 2 >> 1);
    same!("{} {}", a | b, c == 3 || d == 3);
    same!("{} {} {}", a == b || a != c, c >= d && a <= b, !(a > b));
    same!(
        "{} {}",
        if a < b { "less" } else { "more" },
        match c {
            3 => "three",
            _ => "other",
        }
    );
    same!("{} {}", std::mem::size_of::<Result<u8, u16>>(), 2);
    same!(
        "{:?} {}",
        "1 2"
            .split(' ')
            .map(|s| s.parse::<i32>())
            .collect::<Result<Vec<_>, _>>(),
        2
    );
    same!("{}", {
        let x = 5;
        x + 1
    });
    same!("{} {}", -a, &&b);
    same!("{x} {}", *&a, x = -b);
    same!("{x}{y}", x = a == b, y = |x: i32| -> i32 { x }(2));
    use std::ops::BitOr;
    fn or(a: i32, b: bool) -> bool {
        a.bitor(1) == 3 || b
    }
    fn _unused() {}
    assert_eq!(outpace::format!("{} {}", or(c, d == 4), 1), "true 1");
}

macro_rules! all_specifications {
    ($value:expr, $kind:literal) => {{
        let value = $value;
        same_kinds!(value, $kind, "" "<" ">" "^" "*<" "é>" "😀^" "+" "-" "#" "0" "5" "1" "12" "05" "+05" "<8" ">8" "^8"
            "*^9" "#010" "+#012" "é>9" "<05" "^+07" ".0" ".1" ".3" "8.2" "08.3" "+.2" ">10.4" "😀^13.5");
    }};
}
macro_rules! same_kinds {
    ($value:ident, $kind:literal, $($spec:literal)*) => {
        $( same_kinds!(@ $value, $spec, $kind); )*
    };
    (@ $value:ident, $spec:literal, $kind:literal) => {
        spec_case!($value, $spec, $kind)
    };
}
macro_rules! spec_case {
    ($value:ident, $spec:literal, $kind:literal) => {
        // concat! is read by neither parser at the call, so this checks the way through format_args.
        same!(concat!("{:", $spec, $kind, "}"), $value)
    };
}

#[test]
fn literals_put_together_by_macros_are_read() {
    all_specifications!(5, "");
    all_specifications!(-5_i64, "x");
    same!(concat!("{} ", "{}", 1), 1, 2);
    same!(env!("CARGO_PKG_NAME"));
    same!(stringify!(abc));
}

#[test]
fn foreign_types_go_through_their_own_traits() {
    let value = Foreign(3);
    let list = vec![1, 2, 3];
    let option = Some("text");
    let unit = ();
    same!(
        "{value} {value:?} {value:#?} {value:>8} {value:*^9} a{}b",
        1
    );
    same!(
        "{list:?} {list:#?} {list:02x?} {option:?} {unit:?} {:?}",
        (1, "a", 2.5)
    );
    same!(
        "{:p} {:?}",
        &0 as *const i32 as usize as *const i32,
        std::ptr::null::<u8>()
    );
    let pointer = &value;
    same!("{pointer:p} {:p}", pointer);
    let boxed: Box<dyn std::error::Error> = "an error".into();
    same!("{boxed} {boxed:?} {}", std::io::Error::other("io"));
    same!(
        "{} {}",
        format_args!("{} {}", 1, 2),
        std::path::Path::new("/a/b").display()
    );
}

#[test]
fn generic_code_formats_what_its_bounds_allow() {
    fn show<T: fmt::Display + fmt::Debug + ?Sized>(value: &T) -> (String, String) {
        (
            outpace::format!("{value} {value:?} {value:>9}"),
            std::format!("{value} {value:?} {value:>9}"),
        )
    }
    for (ours, theirs) in [
        show(&1),
        show("text"),
        show(&Foreign(2)),
        show(&1.5),
        show(&'x'),
    ] {
        assert_eq!(ours, theirs);
    }
    let dynamic: &dyn fmt::Display = &5;
    same!("{dynamic} {dynamic:>5}");
}

#[test]
fn an_argument_is_evaluated_once_and_in_order() {
    let order = |run: &dyn Fn(&dyn Fn(i32) -> i32) -> String| {
        let seen = std::cell::RefCell::new(Vec::new());
        let text = run(&|n| {
            seen.borrow_mut().push(n);
            n
        });
        (text, seen.into_inner())
    };
    let ours = order(&|f| {
        outpace::format!(
            "{2} {0} {0} {b} {a} {1}",
            f(1),
            f(2),
            f(3),
            a = f(4),
            b = f(5)
        )
    });
    let theirs = order(&|f| {
        std::format!(
            "{2} {0} {0} {b} {a} {1}",
            f(1),
            f(2),
            f(3),
            a = f(4),
            b = f(5)
        )
    });
    assert_eq!(theirs.1, [1, 2, 3, 4, 5]);
    assert_eq!(ours, theirs);
}

#[test]
fn the_users_names_do_not_clash_with_the_macros() {
    let (a0, a1, kind, parcel, destination) = (1, 2, 3, 4, 5);
    same!("{a0} {a1} {} {} {kind} {parcel} {destination}", a1, a0);
    let mut out = String::new();
    outpace::write!(out, "{a0} {kind} {parcel} {} {destination}", a1).unwrap();
    assert_eq!(out, "1 3 4 2 5");
    #[allow(unused)]
    mod core {}
    #[allow(unused)]
    enum Shadow {
        Some,
        None,
    }
    #[allow(unused)]
    use Shadow::*;
    #[allow(unused_macros)]
    macro_rules! format_args {
        () => {};
    }
    same!("{a0:>5.2} {:.1$}", 1.5, 2);
}

#[test]
fn literals_handed_on_by_macros_capture_as_in_std() {
    macro_rules! ours { ($format:literal $(, $argument:expr)*) => { outpace::format!($format $(, $argument)*) } }
    macro_rules! theirs { ($format:literal $(, $argument:expr)*) => { std::format!($format $(, $argument)*) } }
    macro_rules! expression {
        ($format:expr) => {
            outpace::format!($format)
        };
    }
    let x = 5;
    assert_eq!(ours!("{x} {}", x + 1), theirs!("{x} {}", x + 1));
    assert_eq!(expression!("{x}"), "5");
}

#[test]
fn temporaries_live_long_enough() {
    fn make() -> String {
        String::from("temporary")
    }
    same!("{} {} {}", make().as_str(), &make()[1..], make().trim());
    let cell = std::cell::RefCell::new(5);
    same!("{}", cell.borrow());
    same!("{:?} {}", std::sync::Mutex::new(3).lock().unwrap(), 1);
}

#[test]
fn more_arguments_than_a_tuple_has_places() {
    same!(
        "{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} end",
        1,
        2,
        3,
        4,
        5,
        6,
        7,
        8,
        9,
        10,
        11,
        12,
        13,
        14,
        15,
        16,
        17,
        18,
        19,
        20,
        21,
        22,
        23,
        24,
        25,
        26,
        27,
        28,
        29,
        30
    );
}

#[test]
fn all_destinations_of_write_take_the_same_bytes() {
    let mut string = String::new();
    outpace::write!(string, "{} {:?} {:>5}", 1, "a", 2.5).unwrap();
    outpace::writeln!(string).unwrap();
    outpace::writeln!(string,).unwrap();
    outpace::writeln!(&mut string, "{}", Foreign(1)).unwrap();
    assert_eq!(string, "1 \"a\"   2.5\n\n<1>\n");

    let mut bytes = Vec::new();
    outpace::write!(bytes, "{}", 1).unwrap();
    outpace::writeln!(&mut bytes, "{:?}", [1, 2]).unwrap();
    let by_reference = &mut bytes;
    outpace::write!(by_reference, "{}!", "x").unwrap();
    outpace::write!(*by_reference, "{}", by_reference.len()).unwrap();
    assert_eq!(bytes, b"1[1, 2]\nx!10");

    struct Holder<W> {
        out: W,
    }
    impl<W: std::io::Write> Holder<W> {
        fn go(&mut self) -> std::io::Result<()> {
            outpace::write!(self.out, "{}-{}", 1, 2)?;
            outpace::writeln!(&mut self.out, "!")
        }
    }
    let mut holder = Holder { out: Vec::new() };
    holder.go().unwrap();
    assert_eq!(holder.out, b"1-2!\n");

    let mut array = [0; 4];
    assert!(outpace::write!(&mut array[..], "{}", 123456).is_err());
    let mut cursor = std::io::Cursor::new(Vec::new());
    outpace::write!(cursor, "{:04}", 7).unwrap();
    assert_eq!(cursor.into_inner(), b"0007");

    let boxed: &mut dyn fmt::Write = &mut String::new();
    outpace::write!(boxed, "{}", 1).unwrap();
    let mutex = std::sync::Mutex::new(String::new());
    outpace::write!(mutex.lock().unwrap(), "{}", 1).unwrap();
    assert_eq!(*mutex.lock().unwrap(), "1");
}

/// A `Display` that is written with our macros.
struct Nested(i32, f64);

impl fmt::Display for Nested {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        outpace::write!(f, "({}, {:.2})", self.0, self.1)
    }
}

#[test]
fn a_display_may_be_written_with_these_macros() {
    same!("{} {:>20}", Nested(1, 2.0), Nested(3, 4.567));
    assert_eq!(Nested(1, 2.0).to_string(), "(1, 2.00)");
}

/// A logger whose `write_fmt` is its own, and takes it by shared reference.
struct Own(Cell<usize>);

impl Own {
    fn write_fmt(&self, arguments: fmt::Arguments<'_>) -> usize {
        self.0.set(arguments.to_string().len());
        self.0.get()
    }
}

#[test]
fn a_write_fmt_of_ones_own_is_found_as_std_finds_it() {
    let own = Own(Cell::new(0));
    assert_eq!(outpace::write!(own, "{} {}", 1, "abc"), 5);
    assert_eq!(outpace::writeln!(own, "{}", Foreign(1)), 4);
}

#[test]
fn a_display_that_panics_or_fails_ends_as_in_std() {
    struct Fails;
    impl fmt::Display for Fails {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            Err(fmt::Error)
        }
    }
    let message = |run: fn() -> String| {
        let payload = std::panic::catch_unwind(run).unwrap_err();
        payload
            .downcast_ref::<&str>()
            .map(|s| s.to_string())
            .or(payload.downcast_ref::<String>().cloned())
    };
    let ours = message(|| outpace::format!("{}", Fails)).unwrap();
    assert!(
        message(|| std::format!("{}", Fails))
            .unwrap()
            .starts_with(&ours)
    );
    assert_eq!(
        message(|| outpace::format!("{:1$}", 1, 70_000)),
        message(|| std::format!("{:1$}", 1, 70_000))
    );
    let mut out = String::new();
    assert!(outpace::write!(out, "{}", Fails).is_err());
}

mod user_types {
    use super::*;
    use outpace::text::{Piece, Pieces};

    struct Point {
        x: i32,
        y: f64,
        name: Option<String>,
    }

    impl Point {
        fn pieces(&self) -> impl Piece {
            let name = self.name.as_ref().map(|name| (" ", name.as_str()));
            ("(", self.x, ", ", self.y, ")", name)
        }
    }

    impl fmt::Display for Point {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            Pieces::of(&self.pieces()).fmt(f)
        }
    }

    #[test]
    fn a_type_made_of_pieces_takes_part() {
        let named = Point {
            x: 1,
            y: 0.5,
            name: Some("p".into()),
        };
        let unnamed = Point {
            x: -1,
            y: 2.0,
            name: None,
        };
        same!("{named} {unnamed} {named:>15} {unnamed:.3}");
        same!("{} {}", &named, Rc::new(&unnamed));
        let (named, unnamed) = (named.pieces(), unnamed.pieces());
        let (named, unnamed) = (Pieces::of(&named), Pieces::of(&unnamed));
        same!(
            "{named} {unnamed} {named:>15} {unnamed:.3} {} {:?}",
            &named,
            unnamed
        );
        assert_eq!(named.to_string(), "(1, 0.5) p");
    }
}

#[test]
fn a_type_that_is_known_later_may_be_a_number() {
    let show = |value| outpace::format!("{value}");
    assert_eq!(show(5), "5");
    let total: u64 = [1_u64, 2].iter().sum();
    same!("{} {}", total, "5".parse::<u8>().unwrap());
}
