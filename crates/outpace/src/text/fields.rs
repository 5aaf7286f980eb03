//! Messages as the macros make them: a format string's texts, and the fields between them.
//!
//! A program has many of them, and each kind that is compiled on its own costs whoever builds it time. So
//! a field is known by a pointer to its value and a pointer to a function, as in `core::fmt`, and one piece
//! of code puts together all messages of such fields: [`Message`]. Only short messages of integers and the
//! like, for which these pointers would cost more than the text itself, have their values in registers:
//! [`Short`] and [`Words`].

#![allow(unsafe_code)]

use super::dispatch;
use super::float::ORDINARY_LEN;
use super::integer::{Integer, sealed::Sealed as _};
use super::known::{self, Kind, Known, Place, known};
use super::piece::Piece;
use super::scratch::{Format, Memory, Scratch, formatting_failed};
use super::spec::Braces;
use super::word::put_word;
use std::fmt::{self, Formatter};
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// A format string's texts are one behind the other, each after its length. Of a short one that is a byte, and
/// the text takes `TEXT` bytes: so many can be copied whatever its length, and the place of the next text does
/// not depend on it. Of others it is [`LONG`] and four bytes, lowest first.
pub(crate) const TEXT: usize = 16;
const LONG: u8 = u8::MAX;

/// The room of what cannot be put, but has to be formatted: more than any stream has.
const NO_ROOM: usize = usize::MAX;

/// Puts the value at a place and returns its length; or, if its room is [`NO_ROOM`], formats it by the
/// [`Formatter`] there, which is for `{}`, and returns 0, or else 1 if that has failed.
pub(crate) type Write = unsafe fn(Place, Braces, *mut ()) -> usize;

/// A field, its type forgotten.
#[derive(Clone, Copy)]
pub struct Argument<'a> {
    place: Place,
    braces: Braces,
    write: Write,
    room: usize,
    of: PhantomData<&'a ()>,
}

impl<'a> Argument<'a> {
    /// # Safety
    /// For as long as the argument lives, `write` may be called with the place, the braces, and a pointer to
    /// so much room.
    #[inline(always)]
    pub(crate) unsafe fn new(place: Place, braces: Braces, write: Write, room: usize) -> Self {
        Argument {
            place,
            braces,
            write,
            room,
            of: PhantomData,
        }
    }

    /// # Safety
    /// As [`new`](Self::new), with a pointer to a [`Formatter`] for `{}`.
    #[inline(always)]
    pub(crate) unsafe fn foreign(place: Place, braces: Braces, write: Write) -> Self {
        // SAFETY: what has no room is not put.
        unsafe { Self::new(place, braces, write, NO_ROOM) }
    }

    /// A text with nothing in the braces.
    #[inline(always)]
    pub(crate) fn text(text: &'a str) -> Self {
        // SAFETY: the function is for texts, and the room is the length.
        unsafe {
            Self::new(
                known::place_of_text(text),
                Braces::TEXT,
                put_text_at,
                text.len(),
            )
        }
    }

    /// A field that `format_args!` is to see to, with the whole message.
    #[inline(always)]
    pub(crate) fn elsewhere() -> Self {
        unsafe fn fails(_: Place, _: Braces, _: *mut ()) -> usize {
            1
        }
        // SAFETY: the function looks at nothing.
        unsafe { Self::foreign(Place::of(&()), Braces::NONE, fails) }
    }

    /// Whether the text is made by code that is not outpace's.
    #[inline(always)]
    pub(crate) fn is_foreign(&self) -> bool {
        self.room == NO_ROOM
    }

    /// Formats a foreign field; the formatter is for `{}`.
    #[inline(always)]
    fn format(&self, f: &mut Formatter<'_>) -> fmt::Result {
        debug_assert!(self.is_foreign());
        // SAFETY: it is foreign, so the pointer is to be one to a formatter.
        match unsafe { (self.write)(self.place, self.braces, (&raw mut *f).cast()) } {
            0 => Ok(()),
            _ => Err(fmt::Error),
        }
    }
}

/// # Safety
/// The place is that of a text, and there is room for it at `dst`.
unsafe fn put_text_at(place: Place, _: Braces, dst: *mut ()) -> usize {
    // SAFETY: as demanded.
    unsafe { Piece::put(&known::text_at(place), dst.cast()) }
}

/// A whole message: texts, and between each two of them a field.
#[derive(Clone, Copy)]
pub struct Message<'a> {
    /// One more than there are fields; see `TEXT`.
    pub texts: &'static [u8],
    /// The fields.
    pub fields: &'a [Argument<'a>],
}

impl Message<'_> {
    /// An upper bound of the room that [`put`](Self::put) needs; it is more than any stream has if the
    /// message has to be formatted.
    #[inline]
    pub(crate) fn room(&self) -> usize {
        self.fields.iter().fold(self.texts.len(), |sum, field| {
            sum.saturating_add(field.room)
        })
    }

    /// Writes the message at `dst`, returns its end.
    ///
    /// # Safety
    /// There is as much room at `dst` as [`room`](Self::room) says, and no field is foreign.
    #[inline]
    pub(crate) unsafe fn put(&self, dst: *mut u8) -> *mut u8 {
        let mut text = self.texts.as_ptr();
        let mut end = dst;
        // SAFETY: the room is for all of them: each text has at least `TEXT` bytes of it.
        unsafe {
            for field in self.fields {
                (text, end) = put_text(text, end);
                end = end.add((field.write)(field.place, field.braces, end.cast()));
            }
            put_text(text, end).1
        }
    }

    /// Hands the message on in one piece.
    #[inline(never)]
    fn format(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut memory = Memory::new();
        let mut scratch = memory.scratch();
        self.append_fields(&mut scratch)?;
        f.write_str(scratch.as_str())
    }

    /// Puts the message into memory of its own, foreign fields too.
    ///
    /// # Errors
    /// A foreign field cannot be formatted.
    pub(crate) fn append_fields(&self, scratch: &mut Scratch<'_>) -> fmt::Result {
        let room = self.room();
        if room == NO_ROOM {
            return self.append_foreign(scratch);
        }
        // SAFETY: no field is foreign, and there is the room.
        unsafe {
            let start = scratch.space(room);
            let end = self.put(start);
            scratch.advance(end.addr() - start.addr());
        }
        Ok(())
    }

    /// As [`append_fields`](Self::append_fields) for a message with foreign fields. There is one [`fmt::write`] for all of
    /// them: nothing else makes a [`Formatter`], and it takes as long as a short text.
    fn append_foreign(&self, scratch: &mut Scratch<'_>) -> fmt::Result {
        /// Where the formatter writes, and the adapter too: in turns, each by this pointer.
        struct Shared<'s, 'm>(*mut Scratch<'m>, PhantomData<&'s mut Scratch<'m>>);

        impl fmt::Write for Shared<'_, '_> {
            fn write_str(&mut self, text: &str) -> fmt::Result {
                // SAFETY: borrowed by `append_foreign` until it returns, and nothing else borrows from the pointer now.
                unsafe { (*self.0).write_str(text) }
            }

            fn write_char(&mut self, c: char) -> fmt::Result {
                // SAFETY: as above.
                unsafe { (*self.0).write_char(c) }
            }
        }

        struct Adapter<'s, 'm, 'a>(Shared<'s, 'm>, &'a Message<'a>);

        impl fmt::Display for Adapter<'_, '_, '_> {
            fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
                let Adapter(Shared(scratch, _), message) = *self;
                let mut text = message.texts.as_ptr();
                // SAFETY: the scratch memory is borrowed as in `Shared`, and not while a field is formatted. There is a
                // text more than there are fields; each field is given what its room says.
                unsafe {
                    for field in message.fields {
                        text = append_text(text, &mut *scratch);
                        if field.is_foreign() {
                            field.format(f)?;
                        } else {
                            let scratch = &mut *scratch;
                            let space = scratch.space(field.room);
                            let length = (field.write)(field.place, field.braces, space.cast());
                            scratch.advance(length);
                        }
                    }
                    append_text(text, &mut *scratch);
                }
                Ok(())
            }
        }

        let scratch: *mut Scratch<'_> = scratch;
        let adapter = Adapter(Shared(scratch, PhantomData), self);
        fmt::write(&mut Shared(scratch, PhantomData), format_args!("{adapter}"))
    }
}

impl Format for Message<'_> {
    #[inline(always)]
    fn append_to(self, scratch: &mut Scratch<'_>) {
        if self.append_fields(scratch).is_err() {
            formatting_failed();
        }
    }
}

/// A message with one field, which `core::fmt` formats.
#[derive(Clone, Copy)]
pub(crate) struct OneForeign<'a> {
    pub(crate) texts: &'static [u8],
    pub(crate) field: fmt::Arguments<'a>,
}

impl Format for OneForeign<'_> {
    #[inline(always)]
    fn append_to(self, scratch: &mut Scratch<'_>) {
        // SAFETY: there are two texts.
        let text = unsafe { append_text(self.texts.as_ptr(), scratch) };
        if fmt::write(scratch, self.field).is_err() {
            formatting_failed();
        }
        // SAFETY: as above.
        unsafe { append_text(text, scratch) };
    }
}

impl Argument<'_> {
    /// Writes a field that is not foreign, through memory on the stack if it is short.
    pub(crate) fn hand_on(&self, sink: &mut dyn fmt::Write) -> fmt::Result {
        const SMALL: usize = 128;
        let mut small = [MaybeUninit::<u8>::uninit(); SMALL];
        let mut large = Vec::<u8>::new();
        let space: *mut u8 = if self.room <= SMALL {
            small.as_mut_ptr().cast()
        } else {
            large.reserve(self.room);
            large.as_mut_ptr()
        };
        // SAFETY: there is the room; what is written is text.
        let text = unsafe {
            let length = (self.write)(self.place, self.braces, space.cast());
            str::from_utf8_unchecked(std::slice::from_raw_parts(space, length))
        };
        sink.write_str(text)
    }
}

/// A text's length.
///
/// # Safety
/// `text` points to a text's length, and the text is behind it.
#[inline(always)]
unsafe fn length(text: *const u8) -> usize {
    // SAFETY: as demanded.
    unsafe {
        match *text {
            LONG => u32::from_le_bytes(text.add(1).cast::<[u8; 4]>().read()) as usize,
            length => usize::from(length),
        }
    }
}

/// Copies a text to `dst`; returns where the next text's length is, and the end of what was written.
///
/// # Safety
/// As [`length`]; there is room for it, and for `TEXT` bytes, at `dst`.
#[inline(always)]
unsafe fn put_text(text: *const u8, dst: *mut u8) -> (*const u8, *mut u8) {
    // SAFETY: as demanded.
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

/// Appends a text; returns where the next text's length is.
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
        // SAFETY: as demanded, after making room.
        unsafe {
            let length = length(text);
            let (next, _) = put_text(text, scratch.space(length));
            scratch.advance(length);
            next
        }
    }

    // SAFETY: as demanded, after making room.
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

/// A value with nothing but its name in the braces, in a short message.
#[derive(Clone, Copy)]
pub enum Value<'a> {
    /// An integer without sign, of at most 64 bits.
    Unsigned(u64),
    /// One with a sign.
    Signed(i64),
    /// An `f64`
    Double(f64),
    /// An `f32`
    Single(f32),
    /// A `bool`
    Bool(bool),
    /// A `char`
    Char(char),
    /// All else.
    Other(Argument<'a>),
}

/// Runs the same on whatever piece a value is.
macro_rules! on_piece {
    ($value:expr, |$piece:ident| $run:expr, $argument:pat => $other:expr) => {
        match $value {
            Value::Unsigned($piece) => $run,
            Value::Signed($piece) => $run,
            Value::Double($piece) => $run,
            Value::Single($piece) => $run,
            Value::Bool($piece) => $run,
            Value::Char($piece) => $run,
            Value::Other($argument) => $other,
        }
    };
}

impl<'a> Value<'a> {
    /// There are few kinds of integers, so that there are few kinds of short messages. All else is what `other` says.
    #[inline(always)]
    pub(crate) fn of<T: ?Sized>(value: &'a T, other: impl FnOnce(&'a T) -> Argument<'a>) -> Self {
        let Known { kind, place } = known(value);
        // SAFETY: the place is of a value of this kind.
        unsafe {
            match kind {
                Kind::U8 => Value::Unsigned((*place.read_ref::<u8>()).into()),
                Kind::U16 => Value::Unsigned((*place.read_ref::<u16>()).into()),
                Kind::U32 => Value::Unsigned((*place.read_ref::<u32>()).into()),
                Kind::U64 => Value::Unsigned(*place.read_ref()),
                Kind::USIZE => Value::Unsigned(*place.read_ref::<usize>() as u64),
                Kind::I8 => Value::Signed((*place.read_ref::<i8>()).into()),
                Kind::I16 => Value::Signed((*place.read_ref::<i16>()).into()),
                Kind::I32 => Value::Signed((*place.read_ref::<i32>()).into()),
                Kind::I64 => Value::Signed(*place.read_ref()),
                Kind::ISIZE => Value::Signed(*place.read_ref::<isize>() as i64),
                Kind::F32 => Value::Single(*place.read_ref()),
                Kind::F64 => Value::Double(*place.read_ref()),
                Kind::BOOL => Value::Bool(*place.read_ref()),
                Kind::CHAR => Value::Char(*place.read_ref()),
                _ => Value::Other(other(value)),
            }
        }
    }
}

/// A value as a word, with its [kind](Words), if it fits.
#[inline(always)]
pub(crate) fn word<T: ?Sized>(value: &T) -> Option<(u64, u32)> {
    let Known { kind, place } = known(value);
    // SAFETY: the place is of a value of this kind.
    unsafe {
        Some(match kind {
            Kind::U8 => ((*place.read_ref::<u8>()).into(), UNSIGNED),
            Kind::U16 => ((*place.read_ref::<u16>()).into(), UNSIGNED),
            Kind::U32 => ((*place.read_ref::<u32>()).into(), UNSIGNED),
            Kind::U64 => (*place.read_ref(), UNSIGNED),
            Kind::USIZE => (*place.read_ref::<usize>() as u64, UNSIGNED),
            Kind::I8 => (*place.read_ref::<i8>() as u64, SIGNED),
            Kind::I16 => (*place.read_ref::<i16>() as u64, SIGNED),
            Kind::I32 => (*place.read_ref::<i32>() as u64, SIGNED),
            Kind::I64 => (*place.read_ref::<i64>() as u64, SIGNED),
            Kind::ISIZE => (*place.read_ref::<isize>() as u64, SIGNED),
            Kind::F64 => (place.read_ref::<f64>().to_bits(), DOUBLE),
            Kind::BOOL => (packed_bool(*place.read_ref()), PACKED),
            Kind::CHAR => (packed_char(*place.read_ref()), PACKED),
            _ => return None,
        })
    }
}

/// A field of a [`Short`] message: a [`Piece`], or a [`Value`].
pub trait Field: Copy {
    /// Whether it can be put without calling a function.
    fn is_swift(&self) -> bool;

    /// The room that [`put_swiftly`](Self::put_swiftly) needs, if it is swift.
    fn swift_room(&self) -> usize;

    /// Writes the text at `dst`, returns its length.
    ///
    /// # Safety
    /// There is the room; the field is swift.
    unsafe fn put_swiftly(&self, dst: *mut u8) -> usize;

    /// The field, its type forgotten.
    fn argument(&self) -> Argument<'_>;

    /// The number, if it is known to be one without sign when it is compiled.
    #[inline(always)]
    fn as_unsigned(&self) -> Option<u64> {
        None
    }

    /// Whether it is a text with nothing in the braces.
    fn is_text(&self) -> bool;

    /// Whether its text is made by code that is not outpace's.
    fn is_foreign(&self) -> bool;
}

impl<P: Piece> Field for P {
    #[inline(always)]
    fn is_swift(&self) -> bool {
        P::SWIFT && P::is_swift(self)
    }

    #[inline(always)]
    fn swift_room(&self) -> usize {
        P::swift_room(self)
    }

    #[inline(always)]
    unsafe fn put_swiftly(&self, dst: *mut u8) -> usize {
        // SAFETY: the same is demanded.
        unsafe { P::put_swiftly(self, dst) }
    }

    #[inline(always)]
    fn argument(&self) -> Argument<'_> {
        dispatch::piece(self)
    }

    #[inline(always)]
    fn is_text(&self) -> bool {
        false
    }

    #[inline(always)]
    fn is_foreign(&self) -> bool {
        false
    }
}

impl Field for Value<'_> {
    #[inline(always)]
    fn as_unsigned(&self) -> Option<u64> {
        match *self {
            Value::Unsigned(n) => Some(n),
            _ => None,
        }
    }

    #[inline(always)]
    fn is_swift(&self) -> bool {
        on_piece!(self, |piece| Field::is_swift(piece), _ => false)
    }

    #[inline(always)]
    fn swift_room(&self) -> usize {
        on_piece!(self, |piece| Field::swift_room(piece), _ => NO_ROOM)
    }

    #[inline(always)]
    unsafe fn put_swiftly(&self, dst: *mut u8) -> usize {
        debug_assert!(self.is_swift());
        // SAFETY: as demanded; what is not put is not swift.
        unsafe { on_piece!(self, |piece| Field::put_swiftly(piece, dst), _ => 0) }
    }

    #[inline(always)]
    fn argument(&self) -> Argument<'_> {
        on_piece!(self, |piece| dispatch::piece(piece), argument => *argument)
    }

    #[inline(always)]
    fn is_text(&self) -> bool {
        matches!(self, Value::Other(argument) if argument.braces == Braces::TEXT)
    }

    #[inline(always)]
    fn is_foreign(&self) -> bool {
        matches!(self, Value::Other(argument) if argument.is_foreign())
    }
}

/// A text of at most seven bytes as a word: the text from the lowest byte on, and its length in the highest.
const fn packed(text: &[u8]) -> u64 {
    let (mut word, mut i) = ((text.len() as u64) << 56, 0);
    while i < text.len() {
        word |= (text[i] as u64) << (8 * i);
        i += 1;
    }
    word
}

#[inline(always)]
fn packed_bool(value: bool) -> u64 {
    const TEXTS: [u64; 2] = [packed(b"false"), packed(b"true")];
    if value { TEXTS[1] } else { TEXTS[0] }
}

#[inline(always)]
fn packed_char(c: char) -> u64 {
    #[cold]
    #[inline(never)]
    fn encoded(c: char) -> u64 {
        packed(c.encode_utf8(&mut [0; 4]).as_bytes())
    }
    if c.is_ascii() {
        u64::from(u32::from(c)) | 1 << 56
    } else {
        encoded(c)
    }
}

/// A message that may be put without calling a function.
pub trait Swift: Copy {
    /// Whether this one can be put without calling a function.
    fn is_swift(&self) -> bool;

    /// The room that [`put_swiftly`](Self::put_swiftly) needs.
    fn room(&self) -> usize;

    /// Writes the message at `dst`, returns its end.
    ///
    /// # Safety
    /// There is the room; the message is swift.
    unsafe fn put_swiftly(&self, dst: *mut u8) -> *mut u8;
}

/// What the macros make.
pub trait Whole: Swift {
    /// Whether a field is foreign.
    fn is_foreign(&self) -> bool;

    /// Whether it is no more than one text, with nothing in the braces.
    fn is_one_text(&self) -> bool;

    /// The message with its type as narrow as is known, if it is of the most common kind.
    #[inline(always)]
    fn of_one_unsigned(&self) -> Option<Short<(u64,)>> {
        None
    }

    /// The message, its type forgotten.
    #[inline(always)]
    fn with<R>(&self, then: impl FnOnce(Message<'_>) -> R) -> R {
        let Together { texts, fields } = self.together();
        then(Message {
            texts,
            fields: fields.as_ref(),
        })
    }

    /// The fields' types forgotten.
    fn together(&self) -> Together<impl AsRef<[Argument<'_>]>>;
}

/// A message that is one argument of `core::fmt`'s.
#[derive(Clone, Copy)]
pub struct Together<F> {
    pub(crate) texts: &'static [u8],
    pub(crate) fields: F,
}

impl<'a, F: AsRef<[Argument<'a>]>> fmt::Display for Together<F> {
    #[inline]
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let fields = self.fields.as_ref();
        let texts = self.texts;
        Message { texts, fields }.format(f)
    }
}

impl Swift for Message<'_> {
    #[inline(always)]
    fn is_swift(&self) -> bool {
        false
    }

    fn room(&self) -> usize {
        unreachable!("it is not swift")
    }

    unsafe fn put_swiftly(&self, _: *mut u8) -> *mut u8 {
        unreachable!("it is not swift")
    }
}

impl Whole for Message<'_> {
    #[inline]
    fn is_foreign(&self) -> bool {
        self.fields.iter().any(Argument::is_foreign)
    }

    #[inline]
    fn is_one_text(&self) -> bool {
        matches!(self.fields, [field] if field.braces == Braces::TEXT)
    }

    #[inline(always)]
    fn with<R>(&self, then: impl FnOnce(Message<'_>) -> R) -> R {
        then(*self)
    }

    #[inline(always)]
    fn together(&self) -> Together<impl AsRef<[Argument<'_>]>> {
        let Message { texts, fields } = *self;
        Together { texts, fields }
    }
}

/// A message with few fields, with nothing but their name in the braces, and texts of at most `TEXT`
/// bytes.
#[derive(Clone, Copy)]
pub struct Short<F>(pub &'static [u8], pub F);

macro_rules! short {
    ($count:literal $($name:ident $field:ident),*) => {
        impl<$($field: Field),*> Swift for Short<($($field,)*)> {
            #[inline(always)]
            fn is_swift(&self) -> bool {
                let ($($name,)*) = &self.1;
                true $(&& $name.is_swift())*
            }

            #[inline(always)]
            fn room(&self) -> usize {
                let ($($name,)*) = &self.1;
                (TEXT * ($count + 1_usize)) $(.saturating_add($name.swift_room()))*
            }

            #[inline(always)]
            unsafe fn put_swiftly(&self, dst: *mut u8) -> *mut u8 {
                let &Short(texts, ($(ref $name,)*)) = self;
                let (text, end) = (texts.as_ptr(), dst);
                // SAFETY: the room is for all of them, and all fields are swift.
                unsafe {
                    $(
                        let (text, end) = put_short_text(text, end);
                        let end = end.add($name.put_swiftly(end));
                    )*
                    put_short_text(text, end).1
                }
            }
        }

        impl<$($field: Field),*> Whole for Short<($($field,)*)> {
            #[inline(always)]
            fn is_foreign(&self) -> bool {
                let ($($name,)*) = &self.1;
                false $(|| $name.is_foreign())*
            }

            #[inline(always)]
            fn is_one_text(&self) -> bool {
                let ($($name,)*) = &self.1;
                $count == 1 $(&& $name.is_text())*
            }

            #[inline(always)]
            fn of_one_unsigned(&self) -> Option<Short<(u64,)>> {
                let Short(texts, (field, ..)) = self;
                match $count {
                    1 => field.as_unsigned().map(|n| Short(*texts, (n,))),
                    _ => None,
                }
            }

            #[inline(always)]
            fn together(&self) -> Together<impl AsRef<[Argument<'_>]>> {
                let Short(texts, ($($name,)*)) = self;
                Together { texts, fields: [$($name.argument()),*] }
            }
        }
    };
}
short!(1 a A);
short!(2 a A, b B);
short!(3 a A, b B, c C);
short!(4 a A, b B, c C, d D);

/// A [word](Value::word) is a number without sign.
pub(crate) const UNSIGNED: u32 = 0;
/// It is a number with one.
pub(crate) const SIGNED: u32 = 1;
/// It is the bits of an `f64`.
pub(crate) const DOUBLE: u32 = 2;
/// It is a [text](packed).
pub(crate) const PACKED: u32 = 3;

/// As [`Short`], of fields that are words, which are of one kind or another: two bits for each say of which, beginning
/// with the lowest. Compiled once, whatever the kinds.
#[derive(Clone, Copy)]
pub(crate) struct Words<const N: usize> {
    pub(crate) texts: &'static [u8],
    pub(crate) kinds: u32,
    pub(crate) words: [u64; N],
}

impl<const N: usize> Words<N> {
    #[inline(always)]
    fn kind(&self, i: usize) -> u32 {
        self.kinds >> (2 * i) & 3
    }
}

impl<const N: usize> Swift for Words<N> {
    #[inline(always)]
    fn is_swift(&self) -> bool {
        let swift = |i: usize| match self.kind(i) {
            UNSIGNED => self.words[i].is_short(),
            SIGNED => (self.words[i] as i64).is_short(),
            DOUBLE => Field::is_swift(&f64::from_bits(self.words[i])),
            _ => true,
        };
        (0..N).all(swift)
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
    unsafe fn put_swiftly(&self, dst: *mut u8) -> *mut u8 {
        let (mut text, mut end) = (self.texts.as_ptr(), dst);
        // SAFETY: the room is for all of them, and all numbers are short.
        unsafe {
            for i in 0..N {
                (text, end) = put_short_text(text, end);
                let word = self.words[i];
                end = end.add(match self.kind(i) {
                    UNSIGNED => word.write_short_to(end),
                    SIGNED => (word as i64).write_short_to(end),
                    DOUBLE => Field::put_swiftly(&f64::from_bits(word), end),
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

impl<const N: usize> Words<N> {
    /// The message, its fields' types forgotten.
    #[inline]
    pub(crate) fn with<R>(&self, then: impl FnOnce(Message<'_>) -> R) -> R {
        let signed = self.words.map(|word| word as i64);
        let doubles = self.words.map(f64::from_bits);
        let bytes = self.words.map(u64::to_le_bytes);
        let fields: [Argument<'_>; N] = std::array::from_fn(|i| match self.kind(i) {
            UNSIGNED => dispatch::piece(&self.words[i]),
            SIGNED => dispatch::piece(&signed[i]),
            DOUBLE => dispatch::piece(&doubles[i]),
            _ => {
                let text = &bytes[i][..usize::from(bytes[i][7])];
                // SAFETY: it was a text when it was packed.
                Argument::text(unsafe { str::from_utf8_unchecked(text) })
            }
        });
        then(Message {
            texts: self.texts,
            fields: &fields,
        })
    }
}

/// As [`put_text`] of a short text, most of which fit into a word with their length.
///
/// # Safety
/// As there; the text is short.
#[inline(always)]
unsafe fn put_short_text(text: *const u8, dst: *mut u8) -> (*const u8, *mut u8) {
    const REST: usize = TEXT - 7;
    // SAFETY: as demanded.
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
