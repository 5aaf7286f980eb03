//! Numbers and text in every field that there is.

use std::borrow::Cow;
use std::num::NonZero;
use std::rc::Rc;
use std::sync::Arc;

/// Every way to write them, for all of the values, which are of one type.
macro_rules! in_all_ways {
    ($($value:expr),* $(,)?) => {for value in [$($value),*] {
        same!("{value} {value:?} {value:#?} {value:5} {value:<5}| {value:>7} {value:^9} {value:*^9}");
        same!("{value:+} {value:05} {value:+08} {value:<05} {value:é^11} {value:😀>6} {value:#} {value:-}");
        same!("{value:.0} {value:.1} {value:.2} {value:8.3} {value:08.3} {value:+.1} {value:<+9.4} {value:.17} {value:.30}");
        same!("{value:5?} {value:<5?}| {value:08?} {value:+?} {value:.2?} {value:12.3?} {value:#08?}");
        let width = 14;
        let precision = 2;
        same!("{value:width$} {value:>0$} {value:>0$.precision$} {:.*}", 12, value);
        let reference = &&value;
        same!("{reference} {reference:>10} {reference:?} {}", Box::new(&value));
        same!("{} {:?} {:8}", Rc::new(value), Arc::new(value), Box::new(value));
    }};
}

#[test]
fn numbers_are_the_same_in_every_field() {
    in_all_ways!(
        0,
        1,
        9,
        10,
        99_999_999,
        100_000_000,
        12_345_678_901_234_567,
        u64::MAX
    );
    in_all_ways!(0, -1, 5, i32::MIN, i32::MAX);
    in_all_ways!(i128::MIN, -1, 0, i128::MAX);
    in_all_ways!(0_u8, 255_u8);
    in_all_ways!(
        0.0,
        -0.0,
        1.0,
        -1.5,
        0.1,
        0.3,
        1e-5,
        1e-7,
        1e15,
        1e16,
        1e17,
        1e21,
        1e300,
        -1e-300,
        3.14159,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MAX,
        f64::MIN_POSITIVE,
        5e-324,
        -f64::NAN,
        0.5,
        1.5,
        2.5,
        0.25,
        0.125,
        9.995,
        99.5,
        0.05,
        999_999.999_5,
        4503599627370497.5,
        // Half way between two shortest texts.
        1125899906842624.25,
        1125899906842624.75,
        2f64.powi(-25),
        562949953421312.25,
    );
    in_all_ways!(
        0.0_f32,
        -0.0,
        1.0,
        0.1,
        1e13,
        1e12,
        16777216.0,
        f32::MAX,
        1e-45,
        1.5e-5,
        f32::NAN,
        3.3,
        0.3,
        f32::INFINITY,
        3415081.25,
        -3415081.75,
    );
}

#[test]
fn text_is_the_same_in_every_field() {
    in_all_ways!(
        "",
        "a",
        "hello",
        "a longer text than the field",
        "é",
        "日本語",
        "e\u{301}",
        "\u{200d}👩‍👩‍👧"
    );
    in_all_ways!(
        "quote\"",
        "back\\slash",
        "new\nline",
        "tab\t",
        "\0",
        "\u{7f}",
        "\u{301}x",
        "'",
        "\u{10ffff}"
    );
    in_all_ways!(
        'a',
        'é',
        '日',
        '😀',
        '\'',
        '"',
        '\\',
        '\n',
        '\0',
        '\u{301}',
        '\u{10ffff}'
    );
    in_all_ways!(true, false);
}

#[test]
fn owned_and_borrowed_text_is_text() {
    let string = String::from("owned");
    let cow: Cow<'_, str> = Cow::Borrowed("borrowed");
    let owned: Cow<'_, str> = Cow::Owned(String::from("cow"));
    let boxed: Box<str> = "boxed".into();
    let rc: Rc<str> = "rc".into();
    let arc: Arc<str> = "arc".into();
    let mut changing = String::from("mutable");
    let mutable = &mut changing;
    same!("{string} {cow} {owned} {boxed} {rc} {arc}");
    same!("{string:>9} {cow:>9} {owned:^9} {boxed:.2} {rc:*<5} {arc:?} {string:?} {cow:?}");
    same!("{mutable} {mutable:?} {mutable:9}");
    same!("{} {}", &*string, &string[1..3]);
    same!("{:?} {:?}", string.as_str(), &cow);
}

macro_rules! in_radixes {
    ($($value:expr),* $(,)?) => {for value in [$($value),*] {
        same!("{value:x} {value:X} {value:o} {value:b} {value:#x} {value:#X} {value:#o} {value:#b}");
        same!("{value:8x}|{value:<8x}|{value:^8X}|{value:08x}|{value:#010x}|{value:+x}|{value:+#012b}|{value:é>12o}");
        same!("{value:x?} {value:X?} {value:#x?} {value:08x?} {value:e} {value:E} {value:.2e} {:x}", &&value);
    }};
}

#[test]
fn integers_are_the_same_in_every_radix() {
    in_radixes!(
        0,
        9,
        10,
        15,
        16,
        255,
        256,
        0x1234_5678_9abc_def0,
        0x8000_0000,
        u64::MAX
    );
    in_radixes!(0, 1, -1, i64::MIN);
    in_radixes!(i8::MIN, -5, 100);
    in_radixes!(u128::MAX, 1 << 127, 7);
    same!(
        "{:x} {:#b}",
        NonZero::new(255_u8).unwrap(),
        NonZero::new(5_i32).unwrap()
    );
    same!(
        "{} {:?} {:05}",
        NonZero::new(255_u8).unwrap(),
        NonZero::new(-5_i32).unwrap(),
        NonZero::<u64>::MAX
    );
}

#[test]
fn floats_are_the_same_with_exponents() {
    for value in [
        0.0,
        -0.0,
        1.0,
        1.5,
        123.456,
        1e-7,
        1e300,
        f64::NAN,
        f64::INFINITY,
        5e-324,
    ] {
        same!("{value:e} {value:E} {value:.3e} {value:+e} {value:012e} {value:<12e}|");
    }
}
