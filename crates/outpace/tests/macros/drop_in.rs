//! Code that compiles and runs with std's macros does so with these.

use outpace::{format, print, println, write, writeln};
use std::cell::RefCell;
use std::fmt::{self, Debug, Display, Write as _};
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Mutex;

#[test]
fn the_temporaries_of_a_format_end_with_it() {
    let count = Mutex::new(1);
    match format!("{}", count.lock().unwrap()).as_str() {
        "1" => *count.lock().unwrap() += 1,
        text => panic!("{text}"),
    }
    let cell = RefCell::new(1);
    match format!("{:?} {}", cell.borrow_mut(), 1).len() {
        3 => *cell.borrow_mut() += 1,
        length => panic!("{length}"),
    }
    fn tail() -> String {
        let local = RefCell::new(5);
        format!("{}", local.borrow())
    }
    assert_eq!((tail().as_str(), count.into_inner().unwrap()), ("5", 2));
}

fn is_send<F: Future + Send>(future: F) -> F {
    future
}

async fn number(n: i32) -> i32 {
    n
}

async fn take(text: String) -> usize {
    text.len()
}

/// Runs a future that never waits.
fn run<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match future.as_mut().poll(&mut context) {
        std::task::Poll::Ready(output) => output,
        std::task::Poll::Pending => panic!("it waits"),
    }
}

#[test]
fn a_future_that_awaits_in_an_argument_can_be_sent() {
    run(is_send(async {
        assert_eq!(take(format!("id {}", number(1).await)).await, 4);
        print!("{} {}", number(1).await, number(2).await);
        println!("{:?} {}", 1, number(2).await);
        println!("{:#06x} {:>1$} {}", 1, 2, number(2).await);
        let mut text = String::new();
        write!(text, "{:?} {}", 1, number(2).await).unwrap();
        writeln!(text, "{0} {0:#x}", number(3).await).unwrap();
        assert_eq!(text, "1 23 0x3\n");
        macro_rules! wait {
            ($future:expr) => {
                $future.await
            };
        }
        assert_eq!(format!("{:?} {}", 1, wait!(number(2))), "1 2");
    }));
}

#[test]
fn braces_with_nothing_in_them_are_followed_by_anything() {
    let (mut text, x) = (String::new(), 1);
    writeln!(text, "<td>{}</td>{x}>{x:?}<{0}^{x}<{x:>2}^>", 2).unwrap();
    assert_eq!(text, "<td>2</td>1>1<2^1< 1^>\n");
    same!(
        "{x}<{x}>{x}^{:p}<{x}^",
        &0 as *const i32 as usize as *const i32
    );
    struct Tag(&'static str);
    impl Display for Tag {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "<{}></{}>", self.0, self.0)?;
            let name = self.0;
            writeln!(f, "<{name}>{name}<{name}^{:?}", Some(1))
        }
    }
    assert_eq!(Tag("b").to_string(), "<b></b><b>b<b^Some(1)\n");
}

#[test]
fn what_a_macro_hands_on_keeps_together() {
    macro_rules! into {
        ($destination:expr, $($arguments:tt)*) => { write!($destination, $($arguments)*) };
    }
    let mut text = String::new();
    into!(&mut text, "{} {}", 1, 2).unwrap();
    into!(&mut text, "{:?} {0:?}", Some(1)).unwrap();
    into!(&mut text, concat!("{}", "!"), 3).unwrap();
    into!(*&mut text, "literal").unwrap();
    assert_eq!(text, "1 2Some(1) Some(1)3!literal");

    macro_rules! doubled {
        ($value:expr) => {
            [
                format!("{}", $value * 2),
                format!("{0} {0:?}", $value * 2),
                format!("{x}", x = $value * 2),
                format!("{:.1$}", $value as f64 * 2.0, $value - 2),
                format!(concat!("{}", ""), $value * 2),
            ]
        };
    }
    assert_eq!(doubled!(1 + 2), ["6", "6 6", "6", "6.0", "6"]);

    macro_rules! default_of {
        ($type:ty) => {
            format!(
                "{:?} {} {:?}",
                <$type>::default(),
                $type::new().len(),
                Box::<$type>::default()
            )
        };
    }
    assert_eq!(default_of!(Vec<(u8, u8)>), "[] 0 []");
    macro_rules! negative {
        ($value:literal) => {
            format!("{}", $value.abs())
        };
    }
    assert_eq!(negative!(-1_i32), "1");
    macro_rules! made {
        ($path:path) => {
            format!("{:?} {:?}", $path(1), $path(2).map($path))
        };
    }
    assert_eq!(made!(Option::<i32>::Some), "Some(1) Some(Some(2))");
    macro_rules! blocks {
        ($block:block $pattern:pat, $name:ident, $life:lifetime) => {
            format!("{} {} {}", $block + 1, matches!(Some(1), $pattern), $life: { break $life $name })
        };
    }
    let name = 7;
    assert_eq!(blocks!({ 2 } Some(1), name, 'a), "3 true 7");
}

mod names {
    use outpace::{format, println, write};
    use std::fmt::Write as _;

    #[allow(non_upper_case_globals)]
    const a0: i32 = 5;
    #[allow(non_upper_case_globals)]
    static kind: i32 = 6;
    #[allow(non_upper_case_globals, unused)]
    const parcel: i32 = 7;
    #[allow(non_upper_case_globals, unused)]
    static destination: i32 = 8;
    #[allow(non_camel_case_types, unused)]
    struct text;

    #[allow(non_upper_case_globals)]
    fn generic<const a1: usize, const parcels: usize>() -> String {
        let mut written = format!("{0} {0} {a1} {}", parcels);
        write!(written, " {} {a1} {}", a1, parcels).unwrap();
        written
    }

    #[test]
    fn constants_and_statics_of_any_name_may_be_in_scope() {
        let mut written = format!("{a0} {0} {kind} {0:?}", 1);
        write!(written, " {} {kind} {a0} {:?}", kind, a0).unwrap();
        let called = || String::new();
        write!(called(), "{}", 1).unwrap();
        println!("{kind} {a0} {:?}", Some(kind));
        let expected = ["5 1 6 1 6 6 5 5", "2 2 1 2 1 1 2"];
        assert!([written, generic::<1, 2>()] == expected);
    }
}

mod blanket {
    /// Methods of every type, named as std's and ours are.
    #[allow(unused)]
    pub(super) trait Everything {
        fn display(&self) {}
        fn debug(&self) {}
        fn show(&self) {}
        fn choose(&self) {}
        fn is(&self) {}
        fn together(&self) {}
        fn argument(&self) {}
        fn width(&self) {}
        fn precision(&self) {}
        fn deref(&self) {}
    }
    impl<T: ?Sized> Everything for T {}
}

#[test]
fn traits_with_methods_of_every_type_may_be_in_scope() {
    use blanket::Everything as _;
    let value = super::Foreign(1);
    same!("{} {value} {value:?} {:>8} {:>2$}", 1, value, 9);
    same!("{value:#?} {:#x} {:.*}", 1, 2, 1.5);
    let mut text = String::new();
    write!(text, "{} {value} {:>5}", 1, value).unwrap();
    writeln!(text, "{} {}", 1, "x").unwrap();
    assert_eq!(text, "1 <1>   <1>1 x\n");
    let mut out = outpace::stdout();
    write!(out, "{} {value}", 1).unwrap();
    write!(out.lock(), "{} {value} {:>3}", 1, 2).unwrap();
    text.display();
}

#[test]
fn a_type_may_be_inferred_later() {
    fn takes_address(_: Ipv4Addr) {}
    let address = "1.2.3.4".parse().unwrap();
    println!("{}", address);
    println!("{address} {address:?} {address:>20}");
    takes_address(address);

    let print = |x: &_| println!("{:?}", x);
    print(&vec![1]);
    let show = |value| format!("{value} {value:>4}");
    assert_eq!(show(Path::new("a").display()), "a    a");

    let text = match 500_i64.try_into() {
        Err(error) => {
            let text = format!("cannot be: {error}");
            let _: std::num::TryFromIntError = error;
            text
        }
        Ok(n) => format!("{}", u8::min(n, 1)),
    };
    assert!(text.starts_with("cannot be: out of range"), "{text}");
    let mut bytes = Vec::new();
    {
        use std::io::Write as _;
        write!(bytes, "{} {:?}", 1, "x").unwrap();
    }
    assert_eq!(bytes, b"1 \"x\"");
    let total = [1_u64, 2].iter().sum();
    println!("{}", total);
    let _: u64 = total;
}

#[test]
fn types_with_lifetimes_and_parameters_are_shown() {
    struct Borrows<'a>(&'a str);
    impl Display for Borrows<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "[{}]", self.0)
        }
    }
    fn show<'a, T: Display + Debug + ?Sized + 'a>(value: &'a T) -> String {
        let mut text = format!("{value} {value:?} {value:>4} ");
        write!(text, "{value}|{:?}|{value:>4}", value).unwrap();
        text
    }
    let local = String::from("é");
    assert_eq!(show(local.as_str()), "é \"é\"    é é|\"é\"|   é");
    assert_eq!(show(&&local), "é \"é\"    é é|\"é\"|   é");
    assert_eq!(show(&7_u8), "7 7    7 7|7|   7");
    assert_eq!(show(&&-7_i64), "-7 -7   -7 -7|-7|  -7");
    assert_eq!(
        format!("{} {}", Borrows(&local), &Borrows(&local)),
        "[é] [é]"
    );
    let dynamic: &dyn Debug = &1;
    assert_eq!(format!("{dynamic:?} {:?}", &dynamic), "1 1");

    // Of the same name as a type that is known.
    #[allow(non_camel_case_types)]
    struct u8;
    impl Display for u8 {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("mine")
        }
    }
    assert_eq!(format!("{} {:>5}", u8, &u8), "mine mine");
}

#[test]
fn every_depth_of_reference_is_the_value() {
    macro_rules! depths {
        ($($value:expr),*) => {$({
            let (mut value, expected) = ($value, std::format!("{}", $value));
            assert_eq!(format!("{} {} {}", value, &value, &&value), std::format!("{0} {0} {0}", expected));
            assert_eq!(format!("{}", &&&value), expected);
            assert_eq!(format!("{}", &mut value), expected);
            let wide = std::format!("{0:>9?} {0:<9} {0:?} {0:.2}", value);
            assert_eq!(format!("{0:>9?} {0:<9} {0:?} {0:.2}", value), wide);
            assert_eq!(format!("{0:>9?} {0:<9} {0:?} {0:.2}", &&value), wide);
            assert_eq!(format!("{0:>9?} {0:<9} {0:?} {0:.2}", &mut value), wide);
            assert_eq!(format!("{} {}", Box::new(&value), std::rc::Rc::new(&value)), std::format!("{0} {0}", expected));
        })*};
    }
    depths!(
        1_u8, 2_u16, 3_u32, 4_u64, 5_u128, 6_usize, -1_i8, -2_i16, -3_i32, -4_i64, -5_i128,
        -6_isize
    );
    depths!(1.5_f32, 2.25_f64, true, 'é', "text", String::from("string"));
    depths!(
        std::borrow::Cow::Borrowed("cow"),
        Box::<str>::from("box"),
        std::sync::Arc::<str>::from("arc")
    );
    depths!(
        std::rc::Rc::<str>::from("rc"),
        std::num::NonZero::new(7_u32).unwrap(),
        std::num::Wrapping(8_i64)
    );
    let non_zero = std::num::NonZero::new(-77_i16).unwrap();
    same!(
        "{non_zero} {non_zero:?} {non_zero:x} {:#b} {:>8}",
        &non_zero,
        non_zero
    );
}

#[test]
fn format_panics_in_the_words_of_std() {
    struct Fails;
    impl Display for Fails {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            Err(fmt::Error)
        }
    }
    fn words<T>(run: impl FnOnce() -> T + std::panic::UnwindSafe) -> String {
        let payload = std::panic::catch_unwind(run).err().expect("it panics");
        let text = payload.downcast_ref::<&str>().map(|text| text.to_string());
        text.or(payload.downcast_ref().cloned())
            .expect("it has words")
    }
    assert_eq!(
        words(|| format!("{}", Fails)),
        words(|| std::format!("{}", Fails))
    );
    assert_eq!(
        words(|| format!("{Fails} {:?}", 1)),
        words(|| std::format!("{Fails} {:?}", 1))
    );
    assert_eq!(
        words(|| println!("{}", Fails)),
        words(|| std::println!("{}", Fails))
    );
    let write = |ours: bool| {
        let mut bytes = Vec::new();
        use std::io::Write as _;
        match ours {
            true => write!(bytes, "{} {}", 1, Fails),
            false => std::write!(bytes, "{} {}", 1, Fails),
        }
    };
    assert_eq!(words(|| write(true)), words(|| write(false)));
}

#[test]
fn a_literal_stands_for_itself() {
    let mut text = String::new();
    write!(text, "a{{b}}").unwrap();
    writeln!(text, "a{{b}}").unwrap();
    writeln!(text).unwrap();
    assert_eq!(
        (text.as_str(), format!("{{}}")),
        ("a{b}a{b}\n\n", "{}".to_string())
    );

    /// A mark by which a literal is recognized.
    struct Logger(Option<&'static str>);
    impl Logger {
        fn write_fmt(&mut self, arguments: fmt::Arguments<'_>) {
            self.0 = arguments.as_str();
        }
    }
    let mut logger = Logger(None);
    write!(logger, "literal {{}}");
    assert_eq!(logger.0, Some("literal {}"));
}

#[test]
fn a_point_without_a_number_says_nothing() {
    same!("{:.} {:5.} {:_^12.} {:.?}", 1.2345, 1.5, "abc", "abc");
    let x = 2.5;
    same!("{x:.} {x:+.e} {:#.x}", 255);
}

#[test]
fn macros_in_arguments_may_await() {
    macro_rules! wait {
        () => {
            async {}.await
        };
    }
    run(is_send(async {
        println!("{} {:?}", "", async {}.await);
        println!("{} {:?}", "", wait!());
        println!("{} {:?}", "", {
            wait!();
        });
        println!("{} {:?}", "", {
            wait! {}
        });
        let failed: Result<String, String> =
            async { Err(format!("{}: {}", 1, async { Ok::<_, String>(2) }.await?)) }.await;
        assert_eq!(failed.unwrap_err(), "1: 2");
    }));
}

#[test]
fn a_destination_is_any_expression() {
    struct Holds<'a> {
        writer: &'a mut dyn std::io::Write,
        other: &'a str,
    }
    fn hold(holds: Holds) {
        write!(holds.writer, "{}", holds.other).unwrap();
        write!(holds.writer, "{} {}", holds.other, 1).unwrap();
    }
    let mut bytes = Vec::new();
    hold(Holds {
        writer: &mut bytes,
        other: "x",
    });
    {
        use std::io::Write as _;
        write!(&mut bytes as &mut dyn std::io::Write, "").unwrap();
        write!(&mut bytes as &mut dyn std::io::Write, "{}", 1).unwrap();
        write!({ &mut bytes }, "{}", 2).unwrap();
        write!(
            if true { &mut bytes } else { unreachable!() },
            "{} {:?}",
            3,
            4
        )
        .unwrap();
    }
    assert_eq!(bytes, b"xx 1123 4");
    let mut texts = [String::new(), String::new()];
    write!(texts[0], "{} {}", 1, "x").unwrap();
    write!(&mut texts[1], "{}", 2).unwrap();
    write!(texts.iter_mut().next().unwrap(), "{}", 3).unwrap();
    let last = &mut texts[1];
    write!(*last, "{}", last.len()).unwrap();
    assert_eq!(texts, ["1 x3", "21"]);
}
