//! Numbers as people read them, and sizes as they write them.

use std::ops::RangeInclusive;

/// A time in the unit that suits it: `8.1 ns`, `1,566 ns`, `12.3 µs`, `4.5 ms`, `2.31 s`.
pub(crate) fn duration(nanoseconds: f64) -> String {
    match nanoseconds {
        ns if ns < 10_000.0 => format!("{} ns", significant(ns)),
        ns if ns < 1e6 => format!("{} µs", significant(ns / 1e3)),
        ns if ns < 1e9 => format!("{} ms", significant(ns / 1e6)),
        ns => format!("{} s", significant(ns / 1e9)),
    }
}

/// A number with three significant digits, thousands grouped.
pub(crate) fn significant(value: f64) -> String {
    match value.abs() {
        size if size < 9.995 => format!("{value:.2}"),
        size if size < 99.95 => format!("{value:.1}"),
        _ => grouped(value.round().max(0.0) as u64),
    }
}

/// A whole number with its thousands grouped: `1,234,567`.
pub(crate) fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of things: `1 run`, `2,000 messages`, `3 passes`.
pub(crate) fn counted(count: u64, thing: &str) -> String {
    let ending = match count {
        1 => "",
        _ if thing.ends_with('s') => "es",
        _ => "s",
    };
    format!("{} {thing}{ending}", grouped(count))
}

/// How many times as much: `0.31x`, `4.2x`, `17x`.
pub(crate) fn times(ratio: f64) -> String {
    match ratio {
        ratio if ratio < 0.0995 => format!("{ratio:.3}x"),
        ratio if ratio < 9.95 => format!("{ratio:.2}x"),
        ratio if ratio < 99.5 => format!("{ratio:.1}x"),
        ratio => format!("{}x", grouped(ratio.round() as u64)),
    }
}

/// The same in words: `2.00 times`.
pub(crate) fn times_in_words(ratio: f64) -> String {
    times(ratio).replace('x', " times")
}

/// A parser of whole numbers within these bounds. Clap's own calls a text that is no number an invalid digit.
pub(crate) fn whole<T: TryFrom<u64>>(
    bounds: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let (least, most) = (bounds.start(), bounds.end());
        let is_number = text.strip_prefix('-').unwrap_or(text);
        let is_number =
            !is_number.is_empty() && is_number.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|number| bounds.contains(number));
        number
            .and_then(|number| T::try_from(number).ok())
            .ok_or_else(|| {
                let digits = if is_number { "" } else { ", in digits" };
                format!("not a whole number from {least} to {most}{digits}")
            })
    }
}

const DECIMAL: [(&str, u64); 4] = [
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("B", 1),
];
const BINARY: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];

/// A size in decimal units, exactly.
pub(crate) fn bytes(size: u64) -> String {
    exact(size, &DECIMAL)
}

/// A size in binary units where that is exact, else in bytes.
pub(crate) fn binary_bytes(size: u64) -> String {
    exact(size, &BINARY)
}

fn exact(size: u64, units: &[(&str, u64)]) -> String {
    let unit = units
        .iter()
        .find(|(_, unit)| size > 0 && size.is_multiple_of(*unit));
    unit.map_or_else(
        || format!("{size}B"),
        |(name, unit)| format!("{}{name}", size / unit),
    )
}

/// Reads a size such as `64KiB`, `1MB`, `1.5MB` or `4096`.
pub(crate) fn parse_bytes(text: &str) -> Result<u64, String> {
    let unreadable = || format!("{text:?} is not a size such as 4096, 64KiB or 1.5MB");
    let text_end = text
        .find(|c: char| c.is_ascii_alphabetic())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(text_end);
    let unit = match unit {
        "" => 1,
        _ => {
            DECIMAL
                .iter()
                .chain(&BINARY)
                .find(|(name, _)| name.eq_ignore_ascii_case(unit))
                .ok_or_else(unreadable)?
                .1
        }
    };
    let number: f64 = number.trim().parse().map_err(|_| unreadable())?;
    let size = number * unit as f64;
    if !(0.0..=1e15).contains(&size) {
        return Err(unreadable());
    }
    Ok(size.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_take_the_unit_that_suits_them() {
        assert_eq!(duration(8.14), "8.14 ns");
        assert_eq!(duration(1_566.0), "1,566 ns");
        assert_eq!(duration(12_345.0), "12.3 µs");
        assert_eq!(duration(2.31e9), "2.31 s");
    }

    #[test]
    fn one_thing_has_no_plural() {
        assert_eq!(counted(1, "write call"), "1 write call");
        assert_eq!(counted(0, "byte"), "0 bytes");
        assert_eq!(counted(2_000, "pass"), "2,000 passes");
    }

    #[test]
    fn sizes_read_back() {
        for text in ["64KiB", "1MiB", "3GiB", "1001B"] {
            assert_eq!(binary_bytes(parse_bytes(text).unwrap()), text);
        }
        assert_eq!(parse_bytes("1.5MB"), Ok(1_500_000));
        assert_eq!(parse_bytes("4096"), Ok(4096));
        for wrong in ["", "fast", "1XB", "-1", "1e99"] {
            assert!(parse_bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn thousands_are_grouped() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(times(0.0312), "0.031x");
        assert_eq!(times(123.4), "123x");
    }
}
