//! Messages of the macros: a format string's texts, and the arguments between them.

#![allow(unsafe_code)]

use super::argument::Argument;
use super::float::ORDINARY_LEN;
use super::integer::Integer;
use super::scratch::{AppendTo, Scratch, StackBuffer, formatting_failed};
use super::value::{DOUBLE, SIGNED, SmallArgument, UNSIGNED};
use super::word::put_word;
use std::fmt::{self, Formatter};

/// A format string's texts are encoded in a row, each after its length. The length of a short text is one byte, and the
/// text takes `TEXT` bytes: always this number is copied, and the place of the next text is fixed. The length of a long
/// text is [`LONG`] and four bytes, lowest first.
pub(crate) const TEXT: usize = 16;
const LONG: u8 = u8::MAX;

/// A message that may be written without a call: with its values in registers, none of which has to be saved.
pub trait PutInline: Copy {
    /// Whether this one can be.
    fn is_inline(&self) -> bool;

    /// The room that [`put_inline`](Self::put_inline) needs.
    fn room(&self) -> usize;

    /// Writes the message at `dst`; returns its end.
    ///
    /// # Safety
    /// `dst` has the room; the message is inline.
    unsafe fn put_inline(&self, dst: *mut u8) -> *mut u8;
}

/// A message of the macros.
pub trait MacroMessage: PutInline {
    /// Whether an argument is a fallback.
    fn is_fallback(&self) -> bool;

    /// Whether it is only one text, with an empty specification.
    fn is_one_text(&self) -> bool;

    /// The message as one of the most common kind, if the compiler knows that it is.
    #[inline(always)]
    fn as_one_unsigned(&self) -> Option<SmallMessage<(u64,)>> {
        None
    }

    /// Calls back with the type-erased message.
    #[inline(always)]
    fn with_args<R>(&self, then: impl FnOnce(MessageArgs<'_>) -> R) -> R {
        let FmtAdapter { texts, arguments } = self.fmt_adapter();
        then(MessageArgs {
            texts,
            arguments: arguments.as_ref(),
        })
    }

    /// The message as one argument of `core::fmt`.
    fn fmt_adapter(&self) -> FmtAdapter<impl AsRef<[Argument<'_>]>>;
}

/// A message as one argument of `core::fmt`.
#[derive(Clone, Copy)]
pub struct FmtAdapter<A> {
    texts: &'static [u8],
    arguments: A,
}

impl<'a, A: AsRef<[Argument<'a>]>> fmt::Display for FmtAdapter<A> {
    #[inline]
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let arguments = self.arguments.as_ref();
        let texts = self.texts;
        MessageArgs { texts, arguments }.format(f)
    }
}

/// Any message, type-erased: texts, and between each two of them an argument.
#[derive(Clone, Copy)]
pub struct MessageArgs<'a> {
    /// One more than there are arguments; see `TEXT`.
    pub texts: &'static [u8],
    /// The arguments.
    pub arguments: &'a [Argument<'a>],
}

impl MessageArgs<'_> {
    /// An upper bound of the room that [`put`](Self::put) needs; more than any stream has if an argument is a fallback.
    #[inline]
    pub(crate) fn room(&self) -> usize {
        self.arguments
            .iter()
            .fold(self.texts.len(), |sum, argument| {
                sum.saturating_add(argument.room())
            })
    }

    /// Writes the message at `dst`; returns its end.
    ///
    /// # Safety
    /// `dst` has [`room`](Self::room) bytes, and no argument is a fallback.
    #[inline]
    pub(crate) unsafe fn put(&self, dst: *mut u8) -> *mut u8 {
        let mut text = self.texts.as_ptr();
        let mut end = dst;
        // SAFETY: the room is the sum for all arguments and texts, at least `TEXT` bytes for each text.
        unsafe {
            for argument in self.arguments {
                (text, end) = put_text(text, end);
                end = end.add(argument.put(end));
            }
            put_text(text, end).1
        }
    }

    /// Passes the message to the formatter in one piece.
    #[inline(never)]
    fn format(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut buffer = StackBuffer::new();
        let mut scratch = buffer.scratch();
        self.append_to_scratch(&mut scratch)?;
        f.write_str(scratch.as_str())
    }

    /// Writes the message to scratch memory, with fallback arguments.
    ///
    /// # Errors
    /// A fallback argument cannot be formatted.
    #[inline(always)]
    pub(crate) fn append_to_scratch(&self, scratch: &mut Scratch<'_>) -> fmt::Result {
        let mut text = self.texts.as_ptr();
        // SAFETY: the message has one text more than arguments.
        unsafe {
            for argument in self.arguments {
                text = append_text(text, scratch);
                argument.append_to(scratch)?;
            }
            append_text(text, scratch);
        }
        Ok(())
    }
}

impl AppendTo for MessageArgs<'_> {
    #[inline(always)]
    fn append_to(self, scratch: &mut Scratch<'_>) {
        if self.append_to_scratch(scratch).is_err() {
            formatting_failed();
        }
    }
}

impl PutInline for MessageArgs<'_> {
    #[inline(always)]
    fn is_inline(&self) -> bool {
        false
    }

    fn room(&self) -> usize {
        MessageArgs::room(self)
    }

    unsafe fn put_inline(&self, dst: *mut u8) -> *mut u8 {
        // SAFETY: the caller's promise; an inline message has no fallback argument.
        unsafe { self.put(dst) }
    }
}

impl MacroMessage for MessageArgs<'_> {
    #[inline]
    fn is_fallback(&self) -> bool {
        self.arguments.iter().any(Argument::is_fallback)
    }

    #[inline]
    fn is_one_text(&self) -> bool {
        matches!(self.arguments, [argument] if argument.is_plain_text())
    }

    #[inline(always)]
    fn fmt_adapter(&self) -> FmtAdapter<impl AsRef<[Argument<'_>]>> {
        let MessageArgs { texts, arguments } = *self;
        FmtAdapter { texts, arguments }
    }
}

/// A message with one argument that `core::fmt` formats.
#[derive(Clone, Copy)]
pub(crate) struct OneFallback<'a> {
    pub(crate) texts: &'static [u8],
    pub(crate) argument: fmt::Arguments<'a>,
}

impl AppendTo for OneFallback<'_> {
    #[inline(always)]
    fn append_to(self, scratch: &mut Scratch<'_>) {
        // SAFETY: the message has two texts.
        let text = unsafe { append_text(self.texts.as_ptr(), scratch) };
        if fmt::write(scratch, self.argument).is_err() {
            formatting_failed();
        }
        // SAFETY: as above.
        unsafe { append_text(text, scratch) };
    }
}

/// A message that is one text: a macro's literal, without arguments.
#[derive(Clone, Copy)]
pub struct Literal(pub &'static str);

impl PutInline for Literal {
    // Folded by the compiler, which knows the length.
    #[inline(always)]
    fn is_inline(&self) -> bool {
        /// A call copies a longer one.
        const COPIED_INLINE: usize = 64;
        self.0.len() <= COPIED_INLINE
    }

    #[inline(always)]
    fn room(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    unsafe fn put_inline(&self, dst: *mut u8) -> *mut u8 {
        let text = self.0.as_bytes();
        // SAFETY: there is the room.
        unsafe {
            dst.copy_from_nonoverlapping(text.as_ptr(), text.len());
            dst.add(text.len())
        }
    }
}

impl MacroMessage for Literal {
    #[inline(always)]
    fn is_fallback(&self) -> bool {
        false
    }

    /// So that other destinations get the same as from std's macros, which is as short.
    #[inline(always)]
    fn is_one_text(&self) -> bool {
        true
    }

    #[inline(always)]
    fn fmt_adapter(&self) -> FmtAdapter<impl AsRef<[Argument<'_>]>> {
        FmtAdapter {
            // Two empty ones.
            texts: &[0; 2 * (1 + TEXT)],
            arguments: [Argument::text(self.0)],
        }
    }
}

/// A message with few arguments, all with an empty specification, and texts of at most `TEXT` bytes.
#[derive(Clone, Copy)]
pub struct SmallMessage<A>(pub &'static [u8], pub A);

macro_rules! small_message {
    ($count:literal $($name:ident $argument:ident),*) => {
        impl<$($argument: SmallArgument),*> PutInline for SmallMessage<($($argument,)*)> {
            #[inline(always)]
            fn is_inline(&self) -> bool {
                let ($($name,)*) = &self.1;
                true $(&& $name.is_inline())*
            }

            #[inline(always)]
            fn room(&self) -> usize {
                let ($($name,)*) = &self.1;
                (TEXT * ($count + 1_usize)) $(.saturating_add($name.inline_room()))*
            }

            #[inline(always)]
            unsafe fn put_inline(&self, dst: *mut u8) -> *mut u8 {
                let &SmallMessage(texts, ($(ref $name,)*)) = self;
                let (text, end) = (texts.as_ptr(), dst);
                // SAFETY: the room is for all of them, and all arguments are inline.
                unsafe {
                    $(
                        let (text, end) = put_short_text(text, end);
                        let end = end.add($name.put_inline(end));
                    )*
                    put_short_text(text, end).1
                }
            }
        }

        impl<$($argument: SmallArgument),*> MacroMessage for SmallMessage<($($argument,)*)> {
            #[inline(always)]
            fn is_fallback(&self) -> bool {
                let ($($name,)*) = &self.1;
                false $(|| $name.is_fallback())*
            }

            #[inline(always)]
            fn is_one_text(&self) -> bool {
                let ($($name,)*) = &self.1;
                $count == 1 $(&& $name.is_plain_text())*
            }

            #[inline(always)]
            fn as_one_unsigned(&self) -> Option<SmallMessage<(u64,)>> {
                let SmallMessage(texts, (argument, ..)) = self;
                match $count {
                    1 => argument.as_unsigned().map(|n| SmallMessage(*texts, (n,))),
                    _ => None,
                }
            }

            #[inline(always)]
            fn fmt_adapter(&self) -> FmtAdapter<impl AsRef<[Argument<'_>]>> {
                let SmallMessage(texts, ($($name,)*)) = self;
                FmtAdapter { texts, arguments: [$($name.erased()),*] }
            }
        }
    };
}
small_message!(1 a A);
small_message!(2 a A, b B);
small_message!(3 a A, b B, c C);
small_message!(4 a A, b B, c C, d D);

/// As [`SmallMessage`], of [words](super::value::word). `kinds` has two bits for the kind of each, the first in the
/// lowest. Compiled once for all kinds.
#[derive(Clone, Copy)]
pub(crate) struct WordMessage<const N: usize> {
    pub(crate) texts: &'static [u8],
    pub(crate) kinds: u32,
    pub(crate) words: [u64; N],
}

impl<const N: usize> WordMessage<N> {
    #[inline(always)]
    fn kind(&self, i: usize) -> u32 {
        self.kinds >> (2 * i) & 3
    }

    /// Calls back with the type-erased message.
    #[inline]
    pub(crate) fn with_args<R>(&self, then: impl FnOnce(MessageArgs<'_>) -> R) -> R {
        let signed = self.words.map(|word| word as i64);
        let doubles = self.words.map(f64::from_bits);
        let bytes = self.words.map(u64::to_le_bytes);
        let arguments: [Argument<'_>; N] = std::array::from_fn(|i| match self.kind(i) {
            UNSIGNED => Argument::piece(&self.words[i]),
            SIGNED => Argument::piece(&signed[i]),
            DOUBLE => Argument::piece(&doubles[i]),
            _ => {
                let text = &bytes[i][..usize::from(bytes[i][7])];
                // SAFETY: packed from UTF-8.
                Argument::text(unsafe { str::from_utf8_unchecked(text) })
            }
        });
        then(MessageArgs {
            texts: self.texts,
            arguments: &arguments,
        })
    }
}

impl<const N: usize> PutInline for WordMessage<N> {
    #[inline(always)]
    fn is_inline(&self) -> bool {
        let is_inline = |i: usize| match self.kind(i) {
            UNSIGNED => self.words[i].is_inline(),
            SIGNED => (self.words[i] as i64).is_inline(),
            DOUBLE => f64::from_bits(self.words[i]).is_inline(),
            _ => true,
        };
        (0..N).all(is_inline)
    }

    #[inline(always)]
    fn room(&self) -> usize {
        const LONGEST: usize = if ORDINARY_LEN > i64::MAX_LEN {
            ORDINARY_LEN
        } else {
            i64::MAX_LEN
        };
        TEXT * (N + 1) + N * LONGEST
    }

    #[inline(always)]
    unsafe fn put_inline(&self, dst: *mut u8) -> *mut u8 {
        let (mut text, mut end) = (self.texts.as_ptr(), dst);
        // SAFETY: the room is for all of them, and all numbers are short.
        unsafe {
            for i in 0..N {
                (text, end) = put_short_text(text, end);
                let word = self.words[i];
                end = end.add(match self.kind(i) {
                    UNSIGNED => word.put_inline(end),
                    SIGNED => (word as i64).put_inline(end),
                    DOUBLE => f64::from_bits(word).put_inline(end),
                    _ => {
                        put_word(word, end);
                        (word >> 56) as usize
                    }
                });
            }
            put_short_text(text, end).1
        }
    }
}

/// The length of an encoded text.
///
/// # Safety
/// `text` points to a text's encoded length, and the text follows it.
#[inline(always)]
unsafe fn length(text: *const u8) -> usize {
    // SAFETY: the caller's promise.
    unsafe {
        match *text {
            LONG => u32::from_le_bytes(text.add(1).cast::<[u8; 4]>().read()) as usize,
            length => usize::from(length),
        }
    }
}

/// Copies a text to `dst`; returns the place of the next text's length, and the end of the copy.
///
/// # Safety
/// As [`length`]; there is room for it, and for `TEXT` bytes, at `dst`.
#[inline(always)]
unsafe fn put_text(text: *const u8, dst: *mut u8) -> (*const u8, *mut u8) {
    // SAFETY: the caller's promise.
    unsafe {
        let length = length(text);
        let next = if *text == LONG {
            dst.copy_from_nonoverlapping(text.add(5), length);
            text.add(5 + length)
        } else {
            dst.cast::<[u8; TEXT]>()
                .write(text.add(1).cast::<[u8; TEXT]>().read());
            text.add(1 + TEXT)
        };
        (next, dst.add(length))
    }
}

/// As [`put_text`] of a short text; most of them fit into a word with their length.
///
/// # Safety
/// As there; the text is short.
#[inline(always)]
unsafe fn put_short_text(text: *const u8, dst: *mut u8) -> (*const u8, *mut u8) {
    const REST: usize = TEXT - 7;
    // SAFETY: the caller's promise.
    unsafe {
        let word = u64::from_le_bytes(text.cast::<[u8; 8]>().read());
        let length = usize::from(word as u8);
        debug_assert!(length <= TEXT);
        put_word(word >> 8, dst);
        if length > 7 {
            let rest = text.add(8).cast::<[u8; REST]>().read();
            dst.add(7).cast::<[u8; REST]>().write(rest);
        }
        (text.add(1 + TEXT), dst.add(length))
    }
}

/// Appends a text; returns the place of the next text's length.
///
/// # Safety
/// As [`length`].
#[inline(always)]
unsafe fn append_text(text: *const u8, scratch: &mut Scratch<'_>) -> *const u8 {
    /// # Safety
    /// As [`length`].
    #[cold]
    #[inline(never)]
    unsafe fn append_long(text: *const u8, scratch: &mut Scratch<'_>) -> *const u8 {
        // SAFETY: the caller's promise; `space` makes room.
        unsafe {
            let length = length(text);
            let (next, _) = put_text(text, scratch.space(length));
            scratch.advance(length);
            next
        }
    }

    // SAFETY: the caller's promise; `space` makes room.
    unsafe {
        let length = *text;
        if length == LONG {
            return append_long(text, scratch);
        }
        let (next, _) = put_text(text, scratch.space(TEXT));
        scratch.advance(usize::from(length));
        next
    }
}
