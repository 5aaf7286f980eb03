// outpace for contests: fast input and output. Paste this file above your solution. CC0-1.0: use it as you like.
// https://github.com/outpace-rs/outpace/tree/main/contest
//
//   let io = &mut io(); // once, in main
//   let (n, name): (usize, String) = io.read(); // integers, floats, char, String, Vec<u8>, tuples, arrays
//   let v: Vec<i64> = io.vec(n); // io.grid(rows), io.index() (from 1), io.token(), io.line()
//   while let Some(x) = io.try_read::<i32>() {} // until the end of the input
//   out!(io, a, b; v; Fixed(x, 9)); // a line "a b", a line of v's elements, a line of x
//   writeln!(io, "{a:>5} {b:?}"); // whatever println! can
//   io.yes(a < b); io.join(&v, ", "); io.flush(); io.exit(0);
//
// Output is written when 64 KiB are there, before waiting for input, by io.exit, and when `io` goes out of scope, by a
// panic too; by process::exit where threads clean up then (Linux, Windows). Bad input ends the program with a message
// and status 1. rustc --cfg local shows on stderr what is read.

/// A space for each comma, a newline for each semicolon and at the end.
#[allow(unused_macros)]
macro_rules! out {
	($io:expr $(,)?) => { $io.byte(b'\n') };
	($io:expr, $($x:expr $(, $y:expr)*);+ $(;)?) => {{
		$($io.put(&$x); $($io.byte(b' '); $io.put(&$y);)* $io.byte(b'\n');)+
	}};
}
#[allow(unused_imports)]
use self::outpace::*;
#[allow(dead_code, unexpected_cfgs, clippy::all)]
mod outpace {
use std::io::{stdin, stdout, ErrorKind::Interrupted, Read, Result as IoResult, Write};
use std::num::{IntErrorKind::*, ParseIntError};
use std::{cell::Cell, fmt, process::exit, ptr::null_mut, str::{from_utf8, FromStr}};

pub type Checked<T> = Result<T, String>;
const OUT: usize = 1 << 16;

struct Out {
	bytes: Vec<u8>,
	len: usize,
	to: Box<dyn Write>,
}

impl Out {
	fn drain(&mut self) -> IoResult<()> {
		let len = std::mem::take(&mut self.len);
		if len > 0 {
			self.to.write_all(&self.bytes[..len])?;
			self.to.flush()?;
		}
		Ok(())
	}
}

/// What is to be written when process::exit ends the thread.
struct AtExit(Cell<*mut Out>);
impl Drop for AtExit {
	fn drop(&mut self) {
		// SAFETY: an Io that was not dropped owns it, and the thread's functions do not go on.
		if let Some(out) = unsafe { self.0.replace(null_mut()).as_mut() } {
			let _ = out.drain();
		}
	}
}
thread_local!(static AT_EXIT: AtExit = AtExit(Cell::new(null_mut())));

pub struct Io {
	from: Box<dyn Read>,
	bytes: Vec<u8>,
	at: usize,
	end: usize,
	ended: bool,
	after_cr: bool,
	place: (usize, usize), // line and column of bytes[0]
	out: *mut Out,
}

pub fn io() -> Io {
	AT_EXIT.with(|last| {
		assert!(last.0.get().is_null(), "io() is for one call, in main: pass it on");
		let io = Io::over(Box::new(stdin().lock()), Box::new(stdout()));
		last.0.set(io.out);
		io
	})
}

impl Drop for Io {
	fn drop(&mut self) {
		let _ = self.out().drain();
		let _ = AT_EXIT.try_with(|last| if last.0.get() == self.out { last.0.set(null_mut()) });
		// SAFETY: made by `over`; nobody else has it any more.
		drop(unsafe { Box::from_raw(self.out) });
	}
}

#[inline(always)]
fn is_space(b: u8) -> bool {
	b == b' ' || b.wrapping_sub(9) < 5
}

impl Io {
	pub fn over(from: Box<dyn Read>, to: Box<dyn Write>) -> Io {
		let out = Box::into_raw(Box::new(Out { bytes: vec![0; OUT + 48], len: 0, to }));
		Io { from, bytes: vec![0; 2 * OUT], at: 0, end: 0, ended: false, after_cr: false, place: (1, 1), out }
	}

	#[inline(always)]
	fn out(&mut self) -> &mut Out {
		// SAFETY: made by `over`, and until the end of the thread used by this Io alone.
		unsafe { &mut *self.out }
	}

	fn place(&self, at: usize) -> (usize, usize) {
		let seen = &self.bytes[..at];
		let count = |part: &[u8]| part.iter().map(|&b| (b == b'\n') as u8).sum::<u8>() as usize;
		match seen.iter().rposition(|&b| b == b'\n') {
			Some(i) => (self.place.0 + seen.chunks(255).map(count).sum::<usize>(), seen.len() - i),
			None => (self.place.0, self.place.1 + seen.len()),
		}
	}

	/// Moves `at` to 0 and reads behind the end; says whether there was more.
	#[cold]
	fn more(&mut self) -> Checked<bool> {
		if self.ended { return Ok(false) }
		self.flush();
		self.place = self.place(self.at);
		self.bytes.copy_within(self.at..self.end, 0);
		self.end -= std::mem::take(&mut self.at);
		if self.end == self.bytes.len() { self.bytes.resize(2 * self.end, 0) }
		let read = loop {
			match self.from.read(&mut self.bytes[self.end..]) {
				Err(e) if e.kind() == Interrupted => {}
				Err(e) => return Err(format!("line {}, column {}: cannot read: {e}", self.place.0, self.place.1)),
				Ok(read) => break read,
			}
		};
		self.end += read;
		self.ended = read == 0;
		Ok(read > 0)
	}

	fn skip_spaces(&mut self) -> Checked<bool> {
		loop {
			while self.at < self.end {
				if !is_space(self.bytes[self.at]) { return Ok(true) }
				self.at += 1;
			}
			if !self.more()? { return Ok(false) }
		}
	}

	/// How far the next byte is for which `stop` holds, or the end, and whether it is such a byte.
	fn find(&mut self, stop: fn(u8) -> bool) -> Checked<(usize, bool)> {
		let mut len = 0;
		loop {
			let rest = &self.bytes[self.at + len..self.end];
			if let Some(i) = rest.iter().position(|&b| stop(b)) { return Ok((len + i, true)) }
			len += rest.len();
			if !self.more()? { return Ok((len, false)) }
		}
	}

	/// The next token, which takes the space behind it along.
	fn next(&mut self, name: &str) -> Checked<(usize, usize)> {
		if !self.skip_spaces()? { return Err(self.wrong(None, (self.at, self.at), name)) }
		let (len, more) = self.find(is_space)?;
		let (from, to) = (self.at, self.at + len);
		self.at = to + more as usize;
		self.after_cr = more && self.bytes[to] == b'\r';
		if self.at < self.end { self.finish_crlf()? }
		if cfg!(local) { eprintln!("read {}", self.bytes[from..to].escape_ascii()) }
		Ok((from, to))
	}

	/// Passes over the LF of a CRLF whose CR a token has taken.
	fn finish_crlf(&mut self) -> Checked<()> {
		if std::mem::take(&mut self.after_cr) && (self.at < self.end || self.more()?) && self.bytes[self.at] == b'\n' {
			self.at += 1;
		}
		Ok(())
	}

	#[cold]
	fn wrong(&self, range: Option<bool>, (from, to): (usize, usize), name: &str) -> String {
		let (line, column) = self.place(from);
		let shown = self.bytes[from..to.min(from + 40)].escape_ascii();
		let more = if to > from + 40 { "…" } else { "" };
		let found = match range {
			None => format!("the end of the input"),
			Some(range) => format!("\"{shown}{more}\"{}", if range { ", which is out of range" } else { "" }),
		};
		format!("line {line}, column {column}: expected {name}, found {found}")
	}

	#[inline(always)]
	fn or_exit<T>(&mut self, result: Checked<T>) -> T {
		result.unwrap_or_else(#[cold] |message| {
			self.flush();
			eprintln!("input: {message}");
			exit(1)
		})
	}

	#[inline(always)]
	pub fn read<T: FromInput>(&mut self) -> T {
		let value = T::from_input(self);
		self.or_exit(value)
	}

	pub fn try_read<T: FromInput>(&mut self) -> Option<T> {
		let more = self.skip_spaces();
		if self.or_exit(more) { Some(self.read()) } else { None }
	}

	pub fn vec<T: FromInput>(&mut self, n: usize) -> Vec<T> { (0..n).map(|_| self.read()).collect() }
	pub fn grid(&mut self, rows: usize) -> Vec<Vec<u8>> { self.vec(rows) }
	pub fn index(&mut self) -> usize { self.read::<OneBased>().0 }

	pub fn token(&mut self) -> &[u8] {
		let token = self.next("a token");
		let (from, to) = self.or_exit(token);
		&self.bytes[from..to]
	}

	pub fn line(&mut self) -> Option<String> {
		let line = self.checked_line();
		self.or_exit(line)
	}

	pub fn checked_line(&mut self) -> Checked<Option<String>> {
		self.finish_crlf()?;
		let (len, more) = self.find(|b| b == b'\n')?;
		let (from, to) = (self.at, self.at + len);
		self.at = to + more as usize;
		let cr = more && len > 0 && self.bytes[to - 1] == b'\r';
		if len > 0 || more { self.text(from, to - cr as usize).map(Some) } else { Ok(None) }
	}

	fn text(&self, from: usize, to: usize) -> Checked<String> {
		let text = from_utf8(&self.bytes[from..to]);
		text.map(String::from).map_err(|e| self.wrong(Some(false), (from + e.valid_up_to(), to), "UTF-8"))
	}

	#[inline(always)]
	fn room(&mut self) -> &mut Out {
		if self.out().len > OUT { self.flush() }
		self.out()
	}

	#[cold]
	pub fn flush(&mut self) {
		if self.out().drain().is_err() { exit(1) }
	}

	pub fn exit(&mut self, status: i32) -> ! {
		self.flush();
		exit(status)
	}

	#[inline(always)]
	pub fn byte(&mut self, b: u8) {
		let out = self.room();
		out.bytes[out.len] = b;
		out.len += 1;
	}

	pub fn bytes(&mut self, mut bytes: &[u8]) {
		while !bytes.is_empty() {
			let out = self.room();
			let (now, later) = bytes.split_at(bytes.len().min(out.bytes.len() - out.len));
			out.bytes[out.len..][..now.len()].copy_from_slice(now);
			out.len += now.len();
			bytes = later;
		}
	}

	/// For write! and writeln!.
	pub fn write_fmt(&mut self, arguments: fmt::Arguments) {
		let _ = fmt::Write::write_fmt(self, arguments);
	}

	#[inline(always)]
	pub fn put<T: Put + ?Sized>(&mut self, x: &T) { x.put(self) }

	pub fn join<T: Put>(&mut self, values: impl IntoIterator<Item = T>, separator: &str) {
		for (i, x) in values.into_iter().enumerate() {
			if i > 0 { self.bytes(separator.as_bytes()) }
			x.put(self);
		}
		self.byte(b'\n');
	}

	pub fn yes(&mut self, yes: bool) { out!(self, if yes { "Yes" } else { "No" }) }

	/// Eight digits a word, the first in the lowest byte, so that leading zeros are shifted out.
	#[inline(always)]
	fn number(&mut self, n: u64, negative: bool) {
		let word = |n: u64| {
			let x = n / 10_000 | (n % 10_000) << 32;
			let hundreds = (x * 10_486) >> 20 & 0x7f_0000_007f;
			let x = hundreds | (x - 100 * hundreds) << 16;
			let tens = (x * 103) >> 10 & 0x000f_000f_000f_000f;
			tens | (x - 10 * tens) << 8
		};
		let (high, low) = (n / E16, n % E16);
		let mut digits = word(low / 100_000_000) as u128 | (word(low % 100_000_000) as u128) << 64;
		let mut zeros = (digits | 1 << 120).trailing_zeros() & !7;
		let out = self.room();
		let to: &mut [u8; 48] = (&mut out.bytes[out.len..][..48]).try_into().unwrap();
		to[0] = b'-';
		let mut len = negative as usize;
		if high > 0 {
			let (word, none) = (word(high), word(high).trailing_zeros() & !7);
			to[len..][..8].copy_from_slice(&(word >> none | ASCII as u64).to_le_bytes());
			len += 8 - none as usize / 8;
			zeros = 0;
		}
		digits >>= zeros;
		to[len..][..16].copy_from_slice(&(digits | ASCII).to_le_bytes());
		out.len += len + 16 - zeros as usize / 8;
	}
}

impl fmt::Write for Io {
	fn write_str(&mut self, s: &str) -> fmt::Result {
		self.bytes(s.as_bytes());
		Ok(())
	}
}

const E16: u64 = 10_000_000_000_000_000;
const ONES: u128 = u128::MAX / 255;
const ASCII: u128 = ONES * 0x30;

/// What `io.read()` can read.
pub trait FromInput: Sized {
	fn from_input(io: &mut Io) -> Checked<Self>;
}

/// What `out!` can write; all else goes by writeln!.
pub trait Put {
	fn put(&self, io: &mut Io);
}

/// A float with so many places behind the point.
pub struct Fixed<T>(pub T, pub usize);

/// An index that counts from 1 in the input and from 0 here.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OneBased(pub usize);

macro_rules! put {
	($(($($g:tt)*) $t:ty: |$x:ident, $io:ident| $e:expr;)*) => {
		$(impl<$($g)*> Put for $t { #[inline] fn put(&self, $io: &mut Io) { let $x = self; $e; } })*
	};
}
put! {
	() char: |x, io| write!(io, "{x}"); () bool: |x, io| write!(io, "{x}");
	() f32: |x, io| write!(io, "{x}"); () f64: |x, io| write!(io, "{x}");
	() str: |x, io| io.bytes(x.as_bytes()); () String: |x, io| io.bytes(x.as_bytes());
	(T: fmt::Display) Fixed<T>: |x, io| write!(io, "{:.*}", x.1, x.0);
	(T: Put + ?Sized) &T: |x, io| (**x).put(io);
	(T: Put) Vec<T>: |x, io| x[..].put(io);
	(T: Put, const N: usize) [T; N]: |x, io| x[..].put(io);
	(T: Put) [T]: |x, io| for (i, x) in x.iter().enumerate() {
		if i > 0 { io.byte(b' ') }
		x.put(io);
	};
}

/// Eight digits, the first in the lowest byte: pairs, then pairs of pairs, and so on.
#[inline(always)]
fn eight(x: u64) -> u64 {
	let x = x * 10 + (x >> 8) & 0x00ff_00ff_00ff_00ff;
	let x = x * 100 + (x >> 16) & 0x0000_ffff_0000_ffff;
	x * 10_000 + (x >> 32) & 0xffff_ffff
}

impl Io {
	/// An integer of at most 19 digits: its magnitude, whether it is negative, its length with the space behind it. Up
	/// to 16 characters no branch depends on it.
	#[inline(always)]
	fn fast(&self, signed: bool) -> Option<(u64, bool, usize)> {
		if cfg!(local) || self.at + 24 > self.end { return None }
		let bytes: &[u8; 24] = self.bytes.get(self.at..self.at + 24)?.try_into().ok()?;
		let negative = signed && bytes[0] == b'-';
		// A minus becomes a zero. The first byte above 9 gets its highest bit.
		let x = (u128::from_le_bytes(bytes[..16].try_into().unwrap()) ^ ASCII) & !(negative as u128 * 255);
		let others = (x.wrapping_add(ONES * 0x76) | x) & ONES * 0x80;
		let mut len = others.trailing_zeros() as usize / 8;
		if len <= negative as usize { return None }
		let x = x << (128 - 8 * len);
		let mut n = eight(x as u64) * 100_000_000 + eight((x >> 64) as u64);
		while len >= 16 && len < 19 + negative as usize && bytes[len].is_ascii_digit() {
			n = n * 10 + (bytes[len] - b'0') as u64;
			len += 1;
		}
		match bytes[len] {
			b' ' | b'\n' => Some((n, negative, len + 1)),
			b'\r' if bytes[len + 1] == b'\n' => Some((n, negative, len + 2)),
			_ => None,
		}
	}
}

/// By std, which finds overflow exactly.
#[inline(never)]
fn integer<T: FromStr<Err = ParseIntError>>(io: &mut Io, name: &str, ok: fn(&T) -> bool) -> Checked<T> {
	let (from, to) = io.next(name)?;
	let token = from_utf8(&io.bytes[from..to]).unwrap_or("");
	let range = match token.parse() {
		Ok(n) if ok(&n) => return Ok(n),
		Ok(_) => true,
		Err(e) => matches!(e.kind(), PosOverflow | NegOverflow) && token.bytes().skip(1).all(|b| b.is_ascii_digit()),
	};
	Err(io.wrong(Some(range), (from, to), name))
}

macro_rules! integers {
	($($signed:literal $wide:literal: $($t:ident)*;)*) => {$($(
		impl FromInput for $t {
			#[inline(always)]
			fn from_input(io: &mut Io) -> Checked<$t> {
				if let Some((n, negative, len)) = io.fast($signed) {
					if $wide || n <= $t::MAX as u64 + negative as u64 {
						io.at += len;
						return Ok(if negative { (0 as $t).wrapping_sub(n as $t) } else { n as $t });
					}
				}
				integer(io, stringify!($t), |_| true)
			}
		}
		impl Put for $t {
			#[inline(always)]
			fn put(&self, io: &mut Io) {
				let (n, negative) = ((*self as i128).unsigned_abs(), (*self as i128) < 0);
				if $wide { write!(io, "{self}") } else { io.number(n as u64, negative) }
			}
		}
	)*)*};
}
integers! { false false: u8 u16 u32 u64 usize; true false: i8 i16 i32 i64 isize; false true: u128; true true: i128; }
macro_rules! from_input {
	($(($($g:tt)*) $t:ty: |$io:ident| $e:expr;)*) => {
		$(impl<$($g)*> FromInput for $t { fn from_input($io: &mut Io) -> Checked<$t> { $e } })*
	};
}
from_input! {
	() OneBased: |io| integer(io, "an index from 1", |&n: &usize| n > 0).map(|n| OneBased(n - 1));
	() f32: |io| float(io, "f32");
	() f64: |io| float(io, "f64");
	() String: |io| { let (from, to) = io.next("a word")?; io.text(from, to) };
	() Vec<u8>: |io| io.next("a token").map(|(from, to)| io.bytes[from..to].to_vec());
	() char: |io| {
		if !io.skip_spaces()? { return Err(io.wrong(None, (io.at, io.at), "char")) }
		let len = match io.bytes[io.at] { 0xc2..=0xdf => 2, 0xe0..=0xef => 3, 0xf0..=0xf4 => 4, _ => 1 };
		while io.end - io.at < len && io.more()? {}
		let (from, to) = (io.at, io.end.min(io.at + len));
		io.at = to;
		let found = from_utf8(&io.bytes[from..to]).map_err(|e| e.error_len().unwrap_or(to - from));
		found.map(|s| s.chars().next().unwrap()).map_err(|len| io.wrong(Some(false), (from, from + len), "UTF-8"))
	};
	(T: FromInput, const N: usize) [T; N]: |io| {
		let values: Checked<Vec<T>> = (0..N).map(|_| T::from_input(io)).collect();
		values.map(|values| values.try_into().ok().unwrap())
	};
}

fn float<T: FromStr>(io: &mut Io, name: &str) -> Checked<T> {
	let (from, to) = io.next(name)?;
	let token = from_utf8(&io.bytes[from..to]).unwrap_or("");
	token.parse().map_err(|_| io.wrong(Some(false), (from, to), name))
}

macro_rules! tuples {
	($($($t:ident)*;)*) => {$(impl<$($t: FromInput),*> FromInput for ($($t,)*) {
		#[inline]
		fn from_input(io: &mut Io) -> Checked<Self> { Ok(($($t::from_input(io)?,)*)) }
	})*};
}
tuples! { A; A B; A B C; A B C D; A B C D E; A B C D E F; }
}
