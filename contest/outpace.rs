// outpace for contests, CC0-1.0: paste this above your solution. github.com/outpace-rs/outpace
//
//   let io = &mut io(); // once, in main
//   let (n, name): (usize, String) = io.read(); // integers, floats, char, String, Vec<u8>, tuples, arrays
//   let v: Vec<i64> = io.vec(n); // io.grid(rows), io.index() (from 1), io.token(), io.line()
//   while let Some(x) = io.try_read::<i32>() {} // until the end of the input
//   out!(io, a, b; v; Fixed(x, 9)); // lines: "a b", the elements of v, x
//   writeln!(io, "{a:>5} {b:?}"); io.join(&v, ", "); io.yes(a < b); io.flush(); io.exit(0);
//
// Output is written by 256 KiB, before waiting for input, when `io` is dropped, by io.exit and (Linux, Windows)
// process::exit, but not if another thread calls that. Bad input: a message, status 1. --cfg local shows what is read.

/// A space for each comma, a newline for each semicolon and at the end.
#[allow(unused_macros)]
macro_rules! out {
	($io:expr $(,)?) => { $io.byte(b'\n') };
	($io:expr, $($x:expr $(, $y:expr)* $(,)?);+ $(;)?) => {{
		$($io.put(&$x); $($io.byte(b' '); $io.put(&$y);)* $io.byte(b'\n');)+
	}};
}
#[allow(unused_imports)]
use self::outpace::*;
#[allow(dead_code, unexpected_cfgs, clippy::all)]
mod outpace {
use digits::*;
use std::io::{stdin, stdout, Read, Write};
use std::{cell::Cell, fmt, mem::take, process::{abort, exit}, str::from_utf8};

pub type Checked<T> = Result<T, String>;
const OUT: usize = 1 << 18;

struct Out {
	bytes: Vec<u8>,
	len: usize,
	to: Box<dyn Write>,
}
impl Out {
	fn drain(&mut self, end: fn() -> !) {
		let bytes = &self.bytes[..take(&mut self.len)];
		if let Err(e) = self.to.write_all(bytes).and_then(|()| self.to.flush()) {
			eprintln!("output: {e}");
			end()
		}
	}
}
struct AtExit(*mut Out);
impl Drop for AtExit {
	fn drop(&mut self) {
		// SAFETY: leaked; at the end of the thread no function uses it.
		let out = unsafe { &mut *self.0 };
		if out.len > 0 { out.drain(abort) } // no exit within exit
	}
}
thread_local!(static AT_EXIT: Cell<Option<AtExit>> = Cell::new(None));

pub struct Io {
	from: Box<dyn Read>,
	bytes: Vec<u8>,
	at: usize,
	end: usize,
	eof: bool,
	cr: usize, // behind a token's CR
	place: (usize, usize), // line and column of bytes[0]
	ends: Vec<usize>, // where no digits are
	next: usize,
	out: *mut Out,
}

pub fn io() -> Io {
	let io = Io::over(stdin(), stdout());
	assert!(AT_EXIT.replace(Some(AtExit(io.out))).is_none(), "io() is for one call");
	io
}
impl Drop for Io { fn drop(&mut self) { self.flush() } }
fn is_space(b: &u8) -> bool { matches!(b, b' ' | 9..=13) }
impl Io {
	pub fn over(from: impl Read + 'static, to: impl Write + 'static) -> Io {
		let out = Box::leak(Box::new(Out { bytes: vec![0; OUT + 64], len: 0, to: Box::new(to) }));
		let from = Box::new(from);
		Io { from, bytes: vec![0; OUT / 2], at: 0, end: 0, eof: false, cr: !0, place: (1, 1), ends: vec![], next: 0, out }
	}

	fn out(&mut self) -> &mut Out {
		// SAFETY: `over` leaked it; until the thread ends only this Io uses it.
		unsafe { &mut *self.out }
	}

	fn place(&self, at: usize) -> (usize, usize) {
		let ((l, c), seen) = (self.place, &self.bytes[..at]);
		let count = |p: &[u8]| p.iter().fold(0, |n, b| n + (*b == b'\n') as u8) as usize;
		let start = seen.iter().rposition(|&b| b == b'\n');
		start.map_or((l, c + at), |i| (l + seen.chunks(224).map(count).sum::<usize>(), at - i))
	}

	/// Moves `at` to 0, reads more; whether there was any.
	#[cold]
	fn more(&mut self) -> Checked<bool> {
		if self.eof { return Ok(false) }
		self.flush();
		self.place = self.place(self.at);
		self.ends.clear();
		self.bytes.copy_within(self.at..self.end, 0);
		self.cr = self.cr.wrapping_sub(self.at);
		self.end -= take(&mut self.at);
		if self.end == self.bytes.len() { self.bytes.resize(2 * self.end, 0) }
		loop {
			match self.from.read(&mut self.bytes[self.end..]) {
				Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
				Err(e) => return Err(self.error(0, format!("cannot read: {e}"))),
				Ok(read) => { self.end += read; self.eof = read == 0; return Ok(read > 0) }
			}
		}
	}

	fn skip(&mut self) -> Checked<bool> {
		while self.at < self.end || self.more()? {
			if !is_space(&self.bytes[self.at]) { return Ok(true) }
			self.at += 1;
		}
		Ok(false)
	}

	/// Passes over what is before a `stop`, and over that.
	fn pass(&mut self, stop: fn(&u8) -> bool) -> Checked<(usize, usize, bool)> {
		let mut len = 0;
		loop {
			let rest = &self.bytes[self.at + len..self.end];
			let found = rest.iter().position(stop);
			let more = found.is_some();
			len += found.unwrap_or(rest.len());
			if more || !self.more()? {
				let (from, to) = (self.at, self.at + len);
				self.at = to + more as usize;
				return Ok((from, to, more));
			}
		}
	}

	fn next(&mut self, name: &str) -> Checked<(usize, usize)> {
		if !self.skip()? { return Err(self.wrong(false, self.at, self.at, name)) }
		let (from, to, more) = self.pass(is_space)?;
		if more && self.bytes[to] == b'\r' { self.cr = self.at }
		if cfg!(local) { eprintln!("read {}", self.bytes[from..to].escape_ascii()) }
		Ok((from, to))
	}

	fn error(&self, at: usize, what: String) -> String {
		let (l, c) = self.place(at);
		format!("line {l}, column {c}: {what}")
	}

	fn wrong(&self, range: bool, from: usize, to: usize, name: &str) -> String {
		let shown = self.bytes[from..to.min(from + 40)].escape_ascii();
		let more = if to > from + 40 { "…" } else { "" };
		let range = if range { ", which is out of range" } else { "" };
		let found = if from < to { format!("\"{shown}{more}\"{range}") } else { "the end of the input".into() };
		self.error(from, format!("expected {name}, found {found}"))
	}

	fn must<T>(&mut self, result: Checked<T>) -> T {
		result.unwrap_or_else(|e| { self.flush(); eprintln!("input: {e}"); exit(1) })
	}

	pub fn read<T: FromInput>(&mut self) -> T {
		let x = T::from_input(self);
		self.must(x)
	}
	pub fn try_read<T: FromInput>(&mut self) -> Option<T> {
		let more = self.skip();
		self.must(more).then(|| self.read())
	}
	pub fn vec<T: FromInput>(&mut self, n: usize) -> Vec<T> { (0..n).map(|_| self.read()).collect() }
	pub fn grid(&mut self, rows: usize) -> Vec<Vec<u8>> { self.vec(rows) }
	pub fn index(&mut self) -> usize { self.read::<OneBased>().0 }
	pub fn token(&mut self) -> &[u8] {
		let t = self.next("a token");
		let (from, to) = self.must(t);
		&self.bytes[from..to]
	}
	pub fn line(&mut self) -> Option<String> {
		let l = self.checked_line();
		self.must(l)
	}
	pub fn checked_line(&mut self) -> Checked<Option<String>> {
		if self.cr == self.at && (self.at < self.end || self.more()?) && self.bytes[self.at] == b'\n' { self.at += 1 }
		let (from, to, more) = self.pass(|b| *b == b'\n')?;
		let cr = more && from < to && self.bytes[to - 1] == b'\r';
		if from < to || more { self.text(from, to - cr as usize).map(|s| Some(s.into())) } else { Ok(None) }
	}
	fn text(&self, from: usize, to: usize) -> Checked<&str> {
		from_utf8(&self.bytes[from..to]).map_err(|e| {
			let from = from + e.valid_up_to();
			self.wrong(false, from, e.error_len().map_or(to, |len| from + len), "UTF-8")
		})
	}
	#[inline]
	fn room(&mut self) -> &mut Out {
		if self.out().len > OUT { self.flush() }
		self.out()
	}

	#[cold]
	pub fn flush(&mut self) {
		self.out().drain(|| exit(1))
	}
	pub fn exit(&mut self, status: i32) -> ! { self.flush(); exit(status) }
	#[inline]
	pub fn byte(&mut self, b: u8) {
		let out = self.room();
		out.bytes[out.len] = b;
		out.len += 1;
	}
	pub fn bytes(&mut self, bytes: &[u8]) {
		for part in bytes.chunks(64) {
			let out = self.room();
			out.bytes[out.len..][..part.len()].copy_from_slice(part);
			out.len += part.len();
		}
	}
	pub fn write_fmt(&mut self, x: fmt::Arguments) { let _ = fmt::Write::write_fmt(self, x); }
	pub fn put<T: Put + ?Sized>(&mut self, x: &T) { x.put(self) }
	pub fn join<T: Put>(&mut self, values: impl IntoIterator<Item = T>, between: &str) {
		for (i, x) in values.into_iter().enumerate() {
			if i > 0 { self.bytes(between.as_bytes()) }
			x.put(self);
		}
		self.byte(b'\n');
	}
	pub fn yes(&mut self, yes: bool) { out!(self, if yes { "Yes" } else { "No" }) }

	/// Digits, the first lowest: leading zeros are shifted out.
	#[inline(always)]
	fn sixteen(&mut self, n: u64, zeros: bool) {
		let word = |n: u64| (FOURS[n as usize / E4] as u64 | (FOURS[n as usize % E4] as u64) << 32) as u128;
		let digits = word(n / 100_000_000) | word(n % 100_000_000) << 64;
		let skip = if zeros { 0 } else { (digits | 1 << 120).trailing_zeros() & !7 };
		let out = self.out();
		out.bytes[out.len..][..16].copy_from_slice(&(digits >> skip | u128::MAX / 255 * 48).to_le_bytes());
		out.len += 16 - skip as usize / 8;
	}

	#[inline]
	fn number(&mut self, n: u64, minus: bool) {
		let out = self.room();
		out.bytes[out.len] = b'-';
		out.len += minus as usize;
		if n >= E16 { self.sixteen(n / E16, false) }
		self.sixteen(n % E16, n >= E16);
	}

	/// Finds many `ends` at once, before they are needed.
	#[cold]
	fn scan(&mut self) {
		self.next = self.ends.partition_point(|&e| e < self.at);
		if self.next < self.ends.len() { return }
		self.next = 0;
		self.ends.clear();
		let mut at = self.at;
		while self.ends.len() < 256 && at + 66 < self.end {
			let mut bits = others(&self.bytes[at..at + 64]);
			let len = self.ends.len() + bits.count_ones() as usize;
			while self.ends.len() < len {
				self.ends.extend((0..8).map(|_| (at + bits.trailing_zeros() as usize, bits &= bits.wrapping_sub(1)).0))
			}
			self.ends.truncate(len);
			at += 64;
		}
	}

	/// At most 19 digits, whether a minus is before, and by what to divide.
	#[inline(always)]
	fn fast(&mut self, signed: bool, fraction: bool, min: u64, max: u64) -> Option<(u64, bool, f64)> {
		let at = self.at;
		if self.ends.get(self.next) < Some(&at) { self.scan() }
		let (bytes, ends) = (&self.bytes, &self.ends[self.next..]);
		let mut end = *ends.first()?;
		let minus = signed & (end == at) & (bytes[end] == b'-');
		let mut next = minus as usize;
		end = *ends.get(next)?;
		let digits = end - at - next;
		if cfg!(local) || end < 32 || digits.wrapping_sub(1) > 18 { return None }
		let (mut n, mut ten) = (value(bytes, end, digits.min(16)), 1.);
		if fraction && bytes[end] == b'.' {
			let point = end + 1;
			next += 1;
			end = *ends.get(next)?;
			let places = end - point;
			if digits + places > 16 { return None }
			ten = TENS[places];
			n = n * ten as u64 + value(bytes, end, places);
		} else if digits > 16 {
			n += value(bytes, end - 16, digits - 16) * E16
		}
		let len = match &bytes[end..] {
			[b' ' | b'\n', ..] => 1,
			[b'\r', b'\n', ..] => 2,
			_ => return None,
		};
		if n < min || n > max + minus as u64 { return None }
		self.next += next + len;
		self.at = end + len;
		Some((n, minus, ten))
	}
}
impl fmt::Write for Io {
	fn write_str(&mut self, s: &str) -> fmt::Result { Ok(s.put(self)) }
}

/// The digits of each number.
static FOURS: [u32; E4] = {
	let (mut t, mut i) = ([0; E4], 0);
	while i < E4 { t[i] = (i / 1000 | i / 100 % 10 << 8 | i / 10 % 10 << 16 | i % 10 << 24) as u32; i += 1 }
	t
};
const E4: usize = 10000;
const E16: u64 = 1e16 as u64;
const TENS: [f64; 17] = { let (mut t, mut i) = ([1.; 17], 1); while i < 17 { t[i] = t[i - 1] * 10.; i += 1 } t };

#[cfg(target_arch = "x86_64")]
mod digits {
use std::arch::x86_64::*;

/// A bit for each byte that is no digit.
#[inline(always)]
pub fn others(bytes: &[u8]) -> u64 {
	// SAFETY: SSE2 is part of x86-64, and so many bytes are there.
	let bits = |i| unsafe {
		let x = _mm_add_epi8(_mm_loadu_si128(bytes[i..i + 16].as_ptr().cast()), _mm_set1_epi8(70));
		_mm_movemask_epi8(_mm_cmplt_epi8(x, _mm_set1_epi8(118))) as u64
	};
	(0..4).fold(0, |all, i| all | bits(16 * i) << 16 * i)
}

/// At most 16 digits before `end`: by pairs, and pairs of pairs.
#[inline(always)]
pub fn value(bytes: &[u8], end: usize, digits: usize) -> u64 {
	const MASKS: [[u8; 16]; 2] = [[0; 16], [15; 16]];
	assert!(digits <= 16);
	// SAFETY: SSE2, and 16 bytes are at both places.
	let both = unsafe {
		let mask = _mm_loadu_si128(MASKS.as_ptr().cast::<u8>().add(digits).cast());
		let x = _mm_and_si128(_mm_loadu_si128(bytes[end - 16..end].as_ptr().cast()), mask);
		let tens = _mm_mullo_epi16(_mm_and_si128(x, _mm_set1_epi16(255)), _mm_set1_epi16(10));
		let x = _mm_madd_epi16(_mm_add_epi16(tens, _mm_srli_epi16(x, 8)), _mm_set1_epi32(1 << 16 | 100));
		_mm_cvtsi128_si64(_mm_madd_epi16(_mm_packs_epi32(x, x), _mm_set1_epi32(1 << 16 | 10_000))) as u64
	};
	both as u32 as u64 * 100_000_000 + (both >> 32)
}
}
#[cfg(not(target_arch = "x86_64"))]
mod digits {
pub fn others(bytes: &[u8]) -> u64 { (0..64).fold(0, |all, i| all | (!bytes[i].is_ascii_digit() as u64) << i) }
pub fn value(bytes: &[u8], end: usize, digits: usize) -> u64 {
	bytes[end - digits..end].iter().fold(0, |n, b| n * 10 + (b & 15) as u64)
}
}
pub trait FromInput: Sized { fn from_input(io: &mut Io) -> Checked<Self>; }
pub trait Put { fn put(&self, io: &mut Io); }

/// So many places behind the point.
pub struct Fixed<T>(pub T, pub usize);

/// An index from 1 in the input, from 0 here.
#[derive(PartialEq, Debug)]
pub struct OneBased(pub usize);

macro_rules! put {
	($($($t:ty)*: |$x:ident, $io:ident| $e:expr;)*) => {
		$($(impl Put for $t { #[inline] fn put(&self, $io: &mut Io) { let $x = self; $e } })*)*
	};
}
put! {
	bool char f32 f64 i128 u128: |x, io| write!(io, "{x}");
	i8 i16 i32 i64 isize: |x, io| io.number(x.unsigned_abs() as u64, *x < 0);
	u8 u16 u32 u64 usize: |x, io| io.number(*x as u64, false);
	str String: |x, io| io.bytes(x.as_bytes());
}
impl<T: fmt::Display> Put for Fixed<T> { fn put(&self, io: &mut Io) { write!(io, "{:.*}", self.1, self.0) } }
impl<T: Put + ?Sized> Put for &T { fn put(&self, io: &mut Io) { (**self).put(io) } }
impl<T: Put> Put for Vec<T> { fn put(&self, io: &mut Io) { self[..].put(io) } }
impl<T: Put, const N: usize> Put for [T; N] { fn put(&self, io: &mut Io) { self[..].put(io) } }
impl<T: Put> Put for [T] {
	fn put(&self, io: &mut Io) {
		for (i, x) in self.iter().enumerate() {
			if i > 0 { io.byte(b' ') }
			x.put(io);
		}
	}
}

/// A token, by std.
#[cold]
fn parse<T: std::str::FromStr>(io: &mut Io, name: &str) -> Checked<T> {
	let (from, to) = io.next(name)?;
	let token = from_utf8(&io.bytes[from..to]).unwrap_or("");
	token.parse().map_err(|_| {
		let digits = token.strip_prefix(['+', '-']).unwrap_or(token);
		io.wrong(digits > "" && digits.bytes().all(|b| b.is_ascii_digit()), from, to, name)
	})
}

macro_rules! from_input {
	($($($t:ty)*: |$io:ident| $e:expr;)*) => {
		$($(impl FromInput for $t { #[inline] fn from_input($io: &mut Io) -> Checked<$t> { $e } })*)*
	};
}
from_input! {
	u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize: |io| {
		match io.fast(Self::MIN != 0, false, 0, if Self::BITS > 64 { !1 } else { Self::MAX as u64 }) {
			Some((n, true, _)) => Ok((0 as Self).wrapping_sub(n as Self)),
			Some((n, ..)) => Ok(n as Self),
			None => parse(io, std::any::type_name::<Self>()),
		}
	};
	OneBased: |io| match io.fast(false, false, 1, usize::MAX as u64) {
		Some((n, ..)) => Ok(OneBased(n as usize - 1)),
		None => parse(io, "an index from 1").map(|n: std::num::NonZeroUsize| OneBased(n.get() - 1)),
	};
	f32: |io| parse(io, "f32");
	// Both are exact as floats: one division rounds exactly (Clinger).
	f64: |io| match io.fast(true, true, 0, (1 << 53) - 1) {
		Some((n, minus, ten)) => Ok(n as f64 / if minus { -ten } else { ten }),
		None => parse(io, "f64"),
	};
	String: |io| { let (from, to) = io.next("a word")?; io.text(from, to).map(String::from) };
	Vec<u8>: |io| io.next("a token").map(|(from, to)| io.bytes[from..to].to_vec());
	char: |io| {
		if !io.skip()? { return Err(io.wrong(false, io.at, io.at, "char")) }
		let len = match io.bytes[io.at] { 0xc2..=0xdf => 2, 0xe0..=0xef => 3, 0xf0..=0xf4 => 4, _ => 1 };
		while io.end - io.at < len && io.more()? {}
		let from = io.at;
		io.at = io.end.min(from + len);
		io.text(from, io.at).map(|s| s.chars().next().unwrap())
	};
}

impl<T: FromInput, const N: usize> FromInput for [T; N] {
	fn from_input(io: &mut Io) -> Checked<Self> {
		let v: Checked<Vec<T>> = (0..N).map(|_| T::from_input(io)).collect();
		Ok(v?.try_into().ok().unwrap())
	}
}
macro_rules! tuples {
	($($($t:ident)*;)*) => {$(impl<$($t: FromInput),*> FromInput for ($($t,)*) {
		fn from_input(io: &mut Io) -> Checked<Self> { Ok(($($t::from_input(io)?,)*)) }
	})*};
}
tuples! { A; A B; A B C; A B C D; A B C D E; A B C D E F; }
}
