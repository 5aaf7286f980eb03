//! The single-file edition says what the library says: values, and messages about what is wrong, word by word. And
//! it prints what std prints.

use super::{Random, text};
use crate::model::Portions;
use edition::{Checked, FromInput, Io, OneBased};
use outpace::input::{Buffered, Error, Input};
use std::cell::RefCell;
use std::fmt::Debug;
use std::io::{self, Read, Write};
use std::rc::Rc;

/// As a solution has it: above everything else.
#[rustfmt::skip]
#[allow(unreachable_pub, unsafe_code, unused)]
mod edition {
    include!("../../../../contest/outpace.rs");
    pub(super) use self::outpace::{Checked, Fixed, FromInput, Io, OneBased};

    /// Lines by the edition's macro, which is not seen from outside.
    pub(super) fn lines(io: &mut Io, a: i32, b: &str, v: &[u64]) {
        out!(io, a, b; v; Fixed(a as f64 / 8.0, 3));
        out!(io);
        out!(io, 'x', true, v.to_vec(), [1_u8, 2],);
        writeln!(io, "{a:>5} {b:?}");
        io.yes(a > 0);
        io.join(v, ", ");
    }
}

const TEXT: &str = include_str!("../../../../contest/outpace.rs");

#[test]
fn judges_can_compile_it() {
    assert!(TEXT.len() < 16 << 10, "{} bytes", TEXT.len());
    for word in TEXT.split(|c: char| !(c.is_alphanumeric() || c == '_')) {
        assert!(!["extern", "gen", "os", "libc"].contains(&word), "{word}");
    }
    assert!(!TEXT.contains("static mut"));
}

/// A value by each of the two.
#[track_caller]
fn same<T, U, R>(
    input: &mut Input<Buffered<R>>,
    io: &mut Io,
    text: &[u8],
    equal: impl FnOnce(&T, &U) -> bool,
) -> bool
where
    T: outpace::input::FromInput + Debug,
    U: FromInput + Debug,
    R: Read,
{
    agree(input.read::<T>(), U::from_input(io), equal, text)
}

/// Returns whether there is more to compare: what is left behind a character that is none may differ.
#[track_caller]
fn agree<T: Debug, U: Debug>(
    found: Result<T, Error>,
    other: Checked<U>,
    equal: impl FnOnce(&T, &U) -> bool,
    text: &[u8],
) -> bool {
    match (&found, &other) {
        (Ok(found), Ok(other)) if equal(found, other) => true,
        (Err(error), Err(message)) => {
            let library = error.to_string();
            assert_eq!(&library, message, "{:?}", text.escape_ascii().to_string());
            !library.contains("expected UTF-8")
        }
        _ => panic!(
            "{found:?} in the library, {other:?} in the edition: {:?}",
            text.escape_ascii().to_string()
        ),
    }
}

fn compare(text: &[u8], choices: &[u8], sizes: &[u8]) {
    let portions = |text: &[u8]| Portions {
        text: Box::leak(text.into()),
        sizes: Box::leak(sizes.into()),
        next: 0,
    };
    let mut input = Input::new(portions(text));
    let mut io = Io::over(Box::new(portions(text)), Box::new(io::sink()));
    let mut choices = choices.iter().cycle();
    macro_rules! same {
        ($type:ty) => {
            same::<$type, $type, _>(&mut input, &mut io, text, |a, b| a == b)
        };
    }
    for _ in 0..text.len() + 3 {
        let go_on = match choices.next().copied().unwrap_or(0) % 20 {
            0 => same!(i8),
            1 => same!(u8),
            2 => same!(i16),
            3 | 4 => same!(i64),
            5 => same!(i32),
            6 => same!(u32),
            7 => same!(u64),
            8 => same!(i128),
            9 => same!(u128),
            10 => same!(usize),
            11 => same!(char),
            12 => same!(String),
            13 => same!(Vec<u8>),
            14 => same!((i64, u16)),
            15 => same!([i32; 2]),
            16 => same::<f64, f64, _>(&mut input, &mut io, text, |a, b| {
                a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
            }),
            17 => same::<f32, f32, _>(&mut input, &mut io, text, |a, b| {
                a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
            }),
            18 => {
                same::<outpace::input::OneBased, OneBased, _>(&mut input, &mut io, text, |a, b| {
                    a.0 == b.0
                })
            }
            _ => {
                let line = input.line().map(|line| line.map(str::to_owned));
                agree(line, io.checked_line(), |a, b| a == b, text)
            }
        };
        if !go_on {
            return;
        }
    }
}

#[test]
fn it_reads_what_the_library_reads() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    for _ in 0..1_500 {
        let tokens = random.below(60);
        let text = text(&mut random, tokens);
        let choices = match random.below(3) {
            0 => vec![random.next() as u8],
            _ => random.bytes(20),
        };
        // All at once, too: what is near the end of what has been read does not go the fast way.
        let mut sizes = {
            let count = random.below(5);
            random.bytes(count)
        };
        if let Some(size) = sizes.first_mut() {
            *size |= 1;
        }
        compare(&text, &choices, &sizes);
    }
}

#[test]
fn it_reads_what_the_library_reads_of_more_than_a_buffer() {
    let mut random = Random(77);
    let text: String = (0..60_000)
        .map(|_| format!("{}\n", random.next() as i64 >> random.below(64)))
        .collect();
    let expected: Vec<i64> = Input::of_bytes(text.as_bytes())
        .values()
        .map(Result::unwrap)
        .collect();
    let mut io = Io::over(Box::new(io::Cursor::new(text)), Box::new(io::sink()));
    let found: Vec<i64> = std::iter::from_fn(|| io.try_read()).collect();
    assert!(found == expected && found.len() == 60_000);
}

#[test]
fn numbers_among_many_are_those_that_parse_reads() {
    let mut random = Random(0x0dd_ba11);
    for spaces in [&[" ", "\n"][..], &[" ", "\n", "\r\n", "  ", "\t", "\n\n"]] {
        let mut tokens = Vec::new();
        let mut text = String::new();
        for _ in 0..40_000 {
            let token = match random.below(4) {
                0 => (random.next() as i64 >> random.below(64)).to_string(),
                1 => format!("-{}.{}", random.below(1 << 20), random.digits(12)),
                2 => format!("{}.{}", random.next() >> random.below(64), random.below(99)),
                _ => f64::from_bits(random.next() >> 2).to_string(),
            };
            text += &token;
            text += spaces[random.below(spaces.len())];
            tokens.push(token);
        }
        let mut io = Io::over(io::Cursor::new(text), io::sink());
        for token in tokens {
            match token.parse::<i64>() {
                Ok(number) => assert_eq!(i64::from_input(&mut io), Ok(number)),
                Err(_) => {
                    let (found, number) = (f64::from_input(&mut io), token.parse::<f64>());
                    assert_eq!(
                        found.unwrap().to_bits(),
                        number.unwrap().to_bits(),
                        "{token}"
                    );
                }
            }
        }
    }
}

/// A writer whose bytes can still be seen.
#[derive(Clone, Default)]
struct Shared(Rc<RefCell<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn printed(print: impl FnOnce(&mut Io)) -> String {
    let shared = Shared::default();
    let mut io = Io::over(Box::new(io::empty()), Box::new(shared.clone()));
    print(&mut io);
    drop(io);
    String::from_utf8(shared.0.take()).unwrap()
}

#[test]
fn it_prints_numbers_as_std_does() {
    let mut random = Random(4242);
    let mut expected = String::new();
    let found = printed(|io| {
        let mut line = |number: i128| {
            use std::fmt::Write;
            io.put(&(number as i64));
            io.byte(b' ');
            io.put(&(number as u64));
            io.byte(b' ');
            io.put(&(number as i8));
            io.byte(b' ');
            io.put(&(number as u32));
            io.byte(b' ');
            io.put(&number);
            io.byte(b'\n');
            let (a, b, c, d) = (number as i64, number as u64, number as i8, number as u32);
            writeln!(expected, "{a} {b} {c} {d} {number}").unwrap();
        };
        for power in 0..39 {
            let power = 10_i128.pow(power % 38);
            for number in [
                power - 1,
                power,
                power + 1,
                -power,
                1 - power,
                3 * power / 2,
            ] {
                line(number);
            }
        }
        for edge in [
            0,
            1,
            -1,
            i64::MAX.into(),
            i64::MIN.into(),
            u64::MAX.into(),
            i128::MAX,
            i128::MIN,
        ] {
            line(edge);
        }
        for _ in 0..20_000 {
            line(i128::from(random.next() as i64 >> random.below(64)));
        }
    });
    assert!(found == expected);
}

#[test]
fn its_macro_and_its_helpers_print_what_they_say() {
    let found = printed(|io| edition::lines(io, 7, "a\"b", &[3, 0, 18_446_744_073_709_551_615]));
    let expected = "7 a\"b\n3 0 18446744073709551615\n0.875\n\nx true 3 0 18446744073709551615 1 2\n    7 \"a\\\"b\"\nYes\n\
                    3, 0, 18446744073709551615\n";
    assert_eq!(found, expected);
    // Longer than the buffer, as a whole and in pieces.
    let long = "0123456789".repeat(20_000);
    let found = printed(|io| {
        io.put(&long);
        for _ in 0..30_000 {
            io.put("abc");
        }
        write!(io, "{long}");
    });
    assert!(found == format!("{long}{}{long}", "abc".repeat(30_000)));
}

/// Of `length` digits, and a line "next": as text, and as a number that is out of range.
pub(crate) fn a_long_line(text: impl Fn() -> Box<dyn Read>, length: usize, message: &str) {
    let mut io = Io::over(text(), io::sink());
    assert_eq!(io.line().map(|line| line.len()), Some(length));
    assert_eq!(io.line().as_deref(), Some("next"));
    drop(io);
    let mut io = Io::over(text(), io::sink());
    assert_eq!(i64::from_input(&mut io).unwrap_err(), message);
    assert_eq!(io.read::<String>(), "next");
}
