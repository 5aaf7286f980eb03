//! Random values, as the source text of an expression.

use crate::common::Random;

/// A random value.
pub(crate) struct Value {
    pub(crate) source: String,
    /// The types that its braces may end with.
    pub(crate) kinds: &'static [&'static str],
}

const ANY: &[&str] = &["", "", "", "?"];
const INTEGER: &[&str] = &[
    "", "", "", "", "?", "x", "X", "o", "b", "e", "E", "x?", "X?",
];
const FLOAT: &[&str] = &["", "", "", "", "?", "e", "E", "x?"];
const DEBUG: &[&str] = &["?", "x?", "X?"];

const TYPES: [(&str, u32, bool); 12] = [
    ("u8", 8, false),
    ("u16", 16, false),
    ("u32", 32, false),
    ("u64", 64, false),
    ("u128", 128, false),
    ("usize", 64, false),
    ("i8", 8, true),
    ("i16", 16, true),
    ("i32", 32, true),
    ("i64", 64, true),
    ("i128", 128, true),
    ("isize", 64, true),
];

/// Combining, wide, joined, right-to-left, escaped, quoted: what makes widths and escapes hard.
const CHARACTERS: [char; 30] = [
    'a',
    'Z',
    '0',
    ' ',
    '~',
    '\'',
    '"',
    '\\',
    '{',
    '}',
    '\n',
    '\t',
    '\r',
    '\0',
    '\u{1b}',
    '\u{7f}',
    'é',
    'ß',
    '\u{301}',
    '\u{200d}',
    '日',
    '本',
    '\u{ff21}',
    '😀',
    '👩',
    '\u{fe0f}',
    'א',
    '\u{202e}',
    '\u{e000}',
    '\u{10ffff}',
];

pub(crate) fn value(random: &mut Random) -> Value {
    let base = match random.below(20) {
        0..=7 => Value {
            source: integer(random),
            kinds: INTEGER,
        },
        8..=11 => Value {
            source: float(random),
            kinds: FLOAT,
        },
        12..=15 => Value {
            source: text(random),
            kinds: ANY,
        },
        16 => Value {
            source: format!("{:?}", random.chance(2)),
            kinds: ANY,
        },
        17 => Value {
            source: character(random),
            kinds: ANY,
        },
        _ => return foreign(random),
    };
    match random.below(16) {
        0 => wrapped("&", base, "", true),
        1 => wrapped("&&", base, "", true),
        2 => wrapped("&mut ", base, "", true),
        3 => wrapped("Box::new(", base, ")", false),
        4 => wrapped("Rc::new(", base, ")", false),
        5 => wrapped("Arc::new(", base, ")", false),
        6 => wrapped("&Rc::new(Box::new(", base, "))", false),
        _ => base,
    }
}

/// A pointer to a value, which has the value's kinds if it is a reference.
fn wrapped(before: &str, base: Value, after: &str, reference: bool) -> Value {
    let by_pointer = match base.kinds.len() {
        _ if reference => base.kinds,
        _ => ANY,
    };
    Value {
        source: format!("{before}{}{after}", base.source),
        kinds: by_pointer,
    }
}

fn foreign(random: &mut Random) -> Value {
    let (source, kinds) = match random.below(9) {
        0 => (format!("Foreign({})", text(random)), ANY),
        1 => (format!("Foreign({})", integer(random)), ANY),
        2 => (format!("vec![{}, {}]", float(random), "1.5 as _"), DEBUG),
        3 => (format!("Some({})", text(random)), DEBUG),
        4 => (
            format!("({}, {}, ())", integer(random), character(random)),
            DEBUG,
        ),
        5 => (format!("[{0}, {0}]", integer(random)), DEBUG),
        6 => (
            format!(
                "std::time::Duration::from_nanos({})",
                random.next() >> random.below(64)
            ),
            DEBUG,
        ),
        7 => {
            let (number, fraction) = (random.next() as i32, random.next() as i16);
            (
                format!(
                    "Pieces({number}, {fraction} as f64 / 16.0, {})",
                    text_literal(random)
                ),
                ANY,
            )
        }
        _ => (
            format!(
                "format_args!(\"{{}} {{}}\", {}, {})",
                random.below(100),
                text(random)
            ),
            ANY,
        ),
    };
    Value { source, kinds }
}

fn integer(random: &mut Random) -> String {
    let (name, bits, signed) = TYPES[random.below(TYPES.len())];
    let mask = u128::MAX >> (128 - bits);
    let base = match random.below(6) {
        0 => 10_u128.checked_pow(random.below(39) as u32).unwrap_or(1),
        1 => 1_u128 << random.below(128),
        2 => mask,
        3 => mask >> 1,
        _ => {
            let wide = (u128::from(random.next()) << 64) | u128::from(random.next());
            wide >> random.below(128)
        }
    };
    let near = match random.below(3) {
        0 => base.wrapping_sub(1),
        1 => base,
        _ => base.wrapping_add(1),
    };
    let bits = if random.chance(3) {
        near.wrapping_neg()
    } else {
        near
    } & mask;
    let number = format!("{bits}_u128 as {name}");
    if !signed && bits != 0 && random.chance(12) {
        return format!("NonZero::<{name}>::new({number}).unwrap()");
    }
    format!("({number})")
}

fn float(random: &mut Random) -> String {
    let bits = |f: f64| format!("f64::from_bits({:#x})", f.to_bits());
    let sign = if random.chance(3) { -1.0 } else { 1.0 };
    let double = match random.below(14) {
        0 => 0.0,
        1 => f64::INFINITY,
        2 => f64::NAN,
        3 => f64::from_bits(random.next() >> 12),
        4 => f64::MIN_POSITIVE,
        5 => f64::MAX,
        6 => f64::from_bits(random.next()),
        7 => (random.next() >> 11) as f64 / (1_u64 << 53) as f64,
        8 => random.below(2_000) as f64 / 8.0,
        9 => random.below(1_000_000) as f64 / 100.0,
        10 => 10_f64.powi(random.below(40) as i32 - 20),
        11 => f64::from_bits(10_f64.powi(random.below(40) as i32 - 20).to_bits() - 1),
        12 => (random.next() >> random.below(64)) as f64,
        _ => (random.below(20_000) as f64 + 0.5) / 10_f64.powi(random.below(6) as i32),
    };
    if random.chance(3) {
        let single = if random.chance(3) {
            f32::from_bits(random.next() as u32)
        } else {
            (sign * double) as f32
        };
        return format!("f32::from_bits({:#x})", single.to_bits());
    }
    bits(sign * double)
}

fn text_literal(random: &mut Random) -> String {
    let length = [0, 1, 2, 3, 5, 8, 13, 21, 40][random.below(9)];
    let plain = random.chance(2);
    let text: String = (0..length)
        .map(|_| match plain {
            true => (b'a' + random.below(26) as u8) as char,
            false => CHARACTERS[random.below(CHARACTERS.len())],
        })
        .collect();
    format!("{text:?}")
}

fn text(random: &mut Random) -> String {
    let literal = text_literal(random);
    match random.below(10) {
        0 => format!("String::from({literal})"),
        1 => format!("Cow::Borrowed({literal})"),
        2 => format!("Cow::<str>::Owned(String::from({literal}))"),
        3 => format!("Box::<str>::from({literal})"),
        4 => format!("Rc::<str>::from({literal})"),
        5 => format!("Arc::<str>::from({literal})"),
        _ => literal,
    }
}

fn character(random: &mut Random) -> String {
    if random.chance(3) {
        let any = char::from_u32(random.below(0x11_0000) as u32).unwrap_or('x');
        return format!("{any:?}");
    }
    format!("{:?}", CHARACTERS[random.below(CHARACTERS.len())])
}
