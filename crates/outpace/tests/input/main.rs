//! Values that `outpace::input` reads, and its errors.

// `Input::map` is unsafe.
#![allow(unsafe_code)]

mod contest;
mod model;

use outpace::input::{Error, ErrorKind, Input};
use std::fs::File;
use std::io::{self, Read, Seek, Write};

/// Numbers without a pattern (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }

    fn pick<'a>(&mut self, of: &[&'a [u8]]) -> &'a [u8] {
        of[self.below(of.len())]
    }

    /// Random digits, sometimes all of them nines or zeros.
    fn digits(&mut self, most: usize) -> String {
        let of = ["9", "0", "0123456789", "0123456789", "0123456789"][self.below(5)].as_bytes();
        (0..self.below(most + 1))
            .map(|_| char::from(of[self.below(of.len())]))
            .collect()
    }
}

/// Tokens as programs read them, tokens that are nearly so, and all kinds of spaces between.
fn text(random: &mut Random, tokens: usize) -> Vec<u8> {
    let mut text = Vec::new();
    for _ in 0..tokens {
        let sign = random.pick(&[b"", b"", b"", b"-", b"+", b"--"]);
        text.extend_from_slice(sign);
        match random.below(12) {
            0..=3 => text.extend(random.digits(20).bytes()),
            4 => text.extend(random.digits(45).bytes()),
            5 | 6 => {
                let (whole, places) = (random.digits(12), random.digits(12));
                text.extend(format!("{whole}.{places}").bytes());
            }
            7 => {
                let (whole, places, exponent) =
                    (random.digits(18), random.digits(25), random.digits(3));
                let e = ["e", "E", "e-", "e+", ".e"][random.below(5)];
                text.extend(format!("{whole}.{places}{e}{exponent}").bytes());
            }
            8 => text.extend_from_slice(random.pick(&[
                b"12a",
                b"1\x002",
                b"\0",
                b"nan",
                b"inf",
                b"-Infinity",
                b".",
                b"-",
                b"+",
                b"1.",
                b".5",
                b"18446744073709551615",
                b"18446744073709551616",
                b"9223372036854775807",
                b"9223372036854775808",
                b"-9223372036854775808",
                b"-128",
                b"255",
                b"256",
                b"0x10",
                b"340282366920938463463374607431768211455",
                b"340282366920938463463374607431768211456",
                b"4.9e-324",
                b"1.7976931348623157e308",
                b"1e999",
                b"9007199254740993",
                b"0.1",
                b"16777217",
                b"8.5e-46",
            ])),
            9 => text.extend_from_slice(random.pick(&[
                "é".as_bytes(),
                "漢字".as_bytes(),
                "🦀x".as_bytes(),
                b"\xff",
                b"a\xc3",
                b"\xf0\x9f",
                b"\xed\xa0\x80",
            ])),
            10 => {
                let count = random.below(3);
                text.extend(random.bytes(count));
            }
            _ => {
                let length = random.below(40);
                text.extend((0..length).map(|at| b'a' + (at % 26) as u8));
            }
        }
        let space: &[u8] = random.pick(&[
            b" ",
            b"\n",
            b" ",
            b"\n",
            b"\r\n",
            b"\t",
            b"  ",
            b"\n\n",
            b" \r\n",
            b"\r",
            b"\x0b\x0c",
            b"",
        ]);
        text.extend_from_slice(space);
    }
    text
}

#[test]
fn every_call_says_what_the_naive_twin_says() {
    let mut random = Random(0x1234_5678_9abc_def1);
    for _ in 0..1_500 {
        let tokens = random.below(30);
        let text = text(&mut random, tokens);
        let choices = match random.below(3) {
            // One call again and again, so that the text is not passed over by lines.
            0 => vec![random.next() as u8],
            _ => random.bytes(20),
        };
        let sizes = match random.below(3) {
            0 => vec![1],
            1 => random.bytes(7).iter().map(|size| size % 20).collect(),
            _ => random.bytes(3),
        };
        model::run(&text, &choices, &sizes);
    }
}

#[test]
fn longer_inputs_than_the_buffer_are_read_alike() {
    let mut random = Random(0x0f1e_2d3c_4b5a_6978);
    for round in 0..3 {
        let text = text(&mut random, 40_000);
        assert!(text.len() > 300_000);
        let choices = [&[3, 12, 20, 21, 29][..], &[6, 23], &[16, 26, 4, 4, 4]][round];
        // The naive twin counts lines from the beginning, so errors must be few: valid text.
        let valid: Vec<u8> = text
            .iter()
            .map(|&byte| {
                if byte.is_ascii_digit() || byte == b'\n' {
                    byte
                } else {
                    b' '
                }
            })
            .collect();
        let values = |bytes: &[u8]| -> Vec<u128> {
            Input::new(bytes).values().map_while(Result::ok).collect()
        };
        let expected: Vec<u128> = str::from_utf8(&valid)
            .unwrap()
            .split_whitespace()
            .map_while(|token| token.parse().ok())
            .collect();
        assert_eq!(values(&valid), expected);
        model::run(&text[..3_000], choices, &[200, 7]);
        let mut lines = Input::new(&text[..]);
        let mut count = 0;
        while let Some(line) = lines.line_bytes().unwrap() {
            assert!(!line.contains(&b'\n'));
            count += 1;
        }
        assert_eq!(count, text.split_inclusive(|&byte| byte == b'\n').count());
    }
}

fn numbers(count: u64) -> (String, Vec<i64>) {
    let mut random = Random(count + 99);
    let numbers: Vec<i64> = (0..count)
        .map(|_| (random.next() % 10_u64.pow(random.below(19) as u32)) as i64 - 50)
        .collect();
    let text = numbers.iter().map(|number| format!("{number}\n")).collect();
    (text, numbers)
}

#[test]
fn a_file_is_read_alike_in_every_way() {
    let (text, numbers) = numbers(50_000);
    let mut file = tempfile("every-way");
    file.write_all(text.as_bytes()).unwrap();
    file.rewind().unwrap();
    let read = |result: Result<Vec<i64>, Error>| assert!(result.unwrap() == numbers);
    // SAFETY: no other process knows of the file.
    read(unsafe { Input::map(&file) }.unwrap().values().collect());
    read(
        Input::of_descriptor(file.try_clone().unwrap())
            .values()
            .collect(),
    );
    read(Input::of_bytes(text.as_bytes()).vec(numbers.len()));
    let mut again = file;
    again.rewind().unwrap();
    read(Input::new(again).values().collect());
}

fn tempfile(name: &str) -> File {
    let path = std::env::temp_dir().join(format!("outpace-input-{name}-{}", std::process::id()));
    let options = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(&path);
    std::fs::remove_file(&path).unwrap();
    options.unwrap()
}

#[test]
fn an_empty_file_and_a_file_of_a_page_can_be_mapped() {
    for length in [0, 1, 15, 16, 17, 4095, 4096, 4097] {
        let mut file = tempfile("page");
        file.write_all(&vec![b'7'; length]).unwrap();
        // SAFETY: no other process knows of the file.
        let mut input = unsafe { Input::map(&file) }.unwrap();
        assert_eq!(input.rest().unwrap().len(), length);
        assert!(input.is_at_end().unwrap());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_has_no_length_is_not_mapped_as_if_it_were_empty() {
    for path in ["/proc/self/stat", "/dev/null", "/proc/self"] {
        // SAFETY: it is not mapped.
        let result = unsafe { Input::map(&File::open(path).unwrap()) };
        assert!(result.is_err(), "{path}");
    }
    let mut input = Input::open("/proc/self/stat").unwrap();
    assert_eq!(input.read::<u32>().unwrap(), std::process::id());
}

#[cfg(unix)]
#[test]
fn a_directory_and_a_closed_descriptor_are_errors_by_value() {
    let mut input = Input::open("/").unwrap();
    let error = input.read::<i32>().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(
        error
            .to_string()
            .starts_with("line 1, column 1: cannot read: "),
        "{error}"
    );
    assert_eq!(io::Error::from(error).kind(), io::ErrorKind::IsADirectory);
    assert!(input.line().is_err() && input.byte().is_err() && input.is_at_end().is_err());
    // A loop over the values ends.
    assert_eq!(input.values::<i32>().count(), 1);
    let mut input = Input::of_bytes(b"1 x 3");
    assert_eq!(input.values::<i32>().filter_map(Result::ok).sum::<i32>(), 1);
    assert_eq!(input.values::<i32>().filter_map(Result::ok).sum::<i32>(), 3);

    struct Closed;
    impl Read for Closed {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::from_raw_os_error(9))
        }
    }
    let mut input = Input::new(Closed);
    assert_eq!(input.token().unwrap_err().kind(), ErrorKind::Io);
}

#[test]
fn an_error_in_the_middle_loses_nothing() {
    struct Faulty(u8);
    impl Read for Faulty {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0 += 1;
            match self.0 {
                1 => (&b"12"[..]).read(buffer),
                2 => Err(io::ErrorKind::WouldBlock.into()),
                3 => (&b"34 5"[..]).read(buffer),
                _ => Ok(0),
            }
        }
    }
    let mut input = Input::new(Faulty(0));
    let error = input.read::<i32>().unwrap_err();
    assert_eq!(io::Error::from(error).kind(), io::ErrorKind::WouldBlock);
    assert_eq!(input.read::<(i32, i32)>().unwrap(), (1234, 5));
}

#[test]
fn nothing_is_read_that_need_not_be_waited_for() {
    /// A line at a time, and a panic if there is to be more.
    struct Interactive(&'static [&'static str]);
    impl Read for Interactive {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let (line, rest) = self
                .0
                .split_first()
                .expect("what comes next is not needed yet");
            self.0 = rest;
            line.as_bytes().read(buffer)
        }
    }
    let mut input = Input::new(Interactive(&["7\n"]));
    assert_eq!(input.read::<i32>().unwrap(), 7);
    let mut input = Input::new(Interactive(&["word\r"]));
    assert_eq!(input.word().unwrap(), "word");
    let mut input = Input::new(Interactive(&["a line\n"]));
    assert_eq!(input.line().unwrap(), Some("a line"));
    let mut input = Input::new(Interactive(&["2.5 x"]));
    assert_eq!(input.read::<(f64, char)>().unwrap(), (2.5, 'x'));
    let mut input = Input::new(Interactive(&["\u{e9}"]));
    assert_eq!(input.char().unwrap(), Some('\u{e9}'));
    let mut input = Input::new(Interactive(&["1\r", "\nb\n"]));
    assert_eq!(input.read::<u8>().unwrap(), 1);
    assert_eq!(input.line().unwrap(), Some("b"));
}

#[test]
fn the_end_of_the_input_is_remembered() {
    /// Ends, and then goes on, as a terminal does.
    struct Terminal(u32);
    impl Read for Terminal {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0 += 1;
            match self.0 {
                1 => (&b"1 2\n"[..]).read(buffer),
                2 => Ok(0),
                _ => panic!("it has ended"),
            }
        }
    }
    let mut input = Input::new(Terminal(0));
    assert_eq!(input.values::<i32>().count(), 2);
    assert!(input.is_at_end().unwrap());
    assert_eq!(input.line().unwrap(), None);
    assert_eq!(input.byte().unwrap(), None);
    assert_eq!(input.read::<i32>().unwrap_err().kind(), ErrorKind::End);
}

#[test]
fn a_token_or_line_over_the_limit_is_refused_as_a_whole() {
    let text = format!(
        "{} 5\n{}\nafter\n",
        "1".repeat(300_000),
        "x".repeat(400_000)
    );
    let mut input = Input::new(text.as_bytes());
    input.set_limit(200_000);
    let error = input.read::<i64>().unwrap_err();
    assert_eq!(
        (error.kind(), error.line(), error.column()),
        (ErrorKind::TooLong, 1, 1)
    );
    assert_eq!(
        input.read::<i64>().unwrap(),
        5,
        "no piece of the long one is a number"
    );
    let error = input.line().unwrap_err();
    assert_eq!((error.kind(), error.line()), (ErrorKind::TooLong, 2));
    assert_eq!(input.line().unwrap(), Some("after"));
    let mut input = Input::new(text.as_bytes());
    input.set_limit(400_000);
    assert_eq!(input.token().unwrap().len(), 300_000);
    assert_eq!(input.read::<i64>().unwrap(), 5);
    assert_eq!(input.line().unwrap().unwrap().len(), 400_000);
    let mut input = Input::new(text.as_bytes());
    input.set_limit(10);
    assert_eq!(input.rest().unwrap_err().kind(), ErrorKind::TooLong);
    // Bytes behind it are no part of it.
    let mut input = Input::of_bytes(b"12345 67\nabcdef\ng");
    input.set_limit(3);
    assert_eq!(input.read::<u64>().unwrap_err().found(), b"12345");
    assert_eq!(input.read::<u64>().unwrap(), 67);
    assert_eq!(input.line().unwrap_err().found(), b"abcdef");
}

/// Counted from the beginning each time, the lines in front of them would keep this busy for an hour.
#[test]
fn many_refused_tokens_behind_many_lines_are_told_of() {
    const LINES: u64 = 32 << 20;
    const COUNT: u64 = 20_000;
    let text = "\n".repeat(LINES as usize) + &"a\nb c\n".repeat(COUNT as usize / 2);
    let mut input = Input::of_bytes(text.as_bytes());
    assert!(!input.is_at_end().unwrap());
    for i in 0..COUNT / 2 {
        let line = LINES + 2 * i + 1;
        for place in [(line, 1), (line + 1, 1), (line + 1, 3)] {
            assert_eq!(input.position(), place);
            let error = input.read::<i32>().unwrap_err();
            assert_eq!((error.line(), error.column()), place);
        }
    }
    assert_eq!(input.position(), (LINES + COUNT + 1, 1));
}

/// `cargo test -p outpace --test input -- --ignored`: a minute, and 4 GiB of memory.
#[test]
#[ignore = "takes 4 GiB of memory"]
fn a_line_of_a_gibibyte_is_a_line_and_a_longer_one_is_refused() {
    let text = |length: usize| {
        let long = io::repeat(b'7').take(length as u64);
        long.chain(&b"\nnext\n"[..])
    };
    let limit = Input::<outpace::input::Stdin>::DEFAULT_LIMIT;
    let mut input = Input::new(text(limit));
    assert_eq!(input.line().unwrap().map(str::len), Some(limit));
    assert_eq!(input.line().unwrap(), Some("next"));
    drop(input);
    let mut input = Input::new(text(limit + 1));
    let error = input.line().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLong);
    assert_eq!(input.line().unwrap(), Some("next"));
    drop(input);
    let mut input = Input::new(text(limit));
    let error = input.read::<i64>().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfRange);
    let message = error.to_string();
    assert_eq!(input.word().unwrap(), "next");
    drop(input);
    contest::a_long_line(|| Box::new(text(limit)), limit, &message);
}

#[test]
fn a_number_of_millions_of_digits_is_out_of_range_or_what_it_is() {
    let zeros = "0".repeat(3_000_000);
    let mut input = Input::of_bytes(b"");
    assert!(input.is_at_end().unwrap());
    let text = format!("{zeros}42 {}", "9".repeat(3_000_000));
    let mut input = Input::new(text.as_bytes());
    assert_eq!(input.read::<u8>().unwrap(), 42);
    let error = input.read::<u128>().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfRange);
    assert!(error.to_string().len() < 200, "{error}");
}

#[test]
fn an_error_says_where_and_what() {
    let says = |text: &str, read: fn(&mut Input<outpace::input::Bytes<'_>>) -> Error| {
        read(&mut Input::of_bytes(text.as_bytes())).to_string()
    };
    let second = says("1\n 12a 3", |input| input.read::<(i32, i32)>().unwrap_err());
    assert_eq!(second, "line 2, column 2: expected i32, found \"12a\"");
    let range = says("300", |input| input.read::<u8>().unwrap_err());
    assert_eq!(
        range,
        "line 1, column 1: expected u8, found \"300\", which is out of range"
    );
    let negative = says("-1", |input| input.read::<u8>().unwrap_err());
    assert_eq!(
        negative,
        "line 1, column 1: expected u8, found \"-1\", which is out of range"
    );
    let end = says("1\n", |input| input.read::<[u8; 2]>().unwrap_err());
    assert_eq!(
        end,
        "line 2, column 1: expected u8, found the end of the input"
    );
    let nul = says("1\x002", |input| input.read::<u32>().unwrap_err());
    assert_eq!(nul, "line 1, column 1: expected u32, found \"1\\x002\"");
    // Also where the input ends in the middle of a character, and only what is no character.
    for (text, found) in [
        (&b"ab\xc3"[..], "\\xc3"),
        (b"ab\xe6\xbc", "\\xe6\\xbc"),
        (b"ab\xffcd", "\\xff"),
        (b"ab\xe6\xbccd", "\\xe6\\xbc"),
    ] {
        let utf8 = Input::of_bytes(text).word().unwrap_err().to_string();
        let expected = format!("line 1, column 3: expected UTF-8, found \"{found}\"");
        assert_eq!(utf8, expected);
    }
    let long = says(&"x".repeat(100), |input| input.read::<f64>().unwrap_err());
    assert_eq!(
        long,
        format!(
            "line 1, column 1: expected f64, found \"{}…\"",
            "x".repeat(40)
        )
    );
}

#[test]
fn a_count_that_only_claims_takes_no_memory() {
    let mut input = Input::of_bytes(b"1 2 3");
    let error = input.vec::<u64>(usize::MAX / 64).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::End);
}
