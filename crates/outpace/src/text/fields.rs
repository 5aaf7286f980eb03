//! Messages as the macros make them: a format string's texts, and the fields between them.
//!
//! A program has many of them, and each kind that is compiled on its own costs whoever builds it time. So
//! a field is known by a pointer to its value and a pointer to a function, as in `core::fmt`, and one piece
//! of code puts together all messages of such fields: [`Message`]. Only short messages of integers and the
//! like, for which these pointers would cost more than the text itself, are compiled for their types:
//! [`Short`].

#![allow(unsafe_code)]

use super::piece::Piece;
use super::scratch::Scratch;
use super::spec::Braces;
use super::word::put_word;
use std::marker::PhantomData;

/// A format string's texts are one behind the other, each after its length. Of a short one that is a byte, and
/// the text takes `TEXT` bytes: so many can be copied whatever its length, and the place of the next text does
/// not depend on it. Of others it is [`LONG`] and four bytes, lowest first.
pub(super) const TEXT: usize = 16;
const LONG: u8 = u8::MAX;

/// The room of what cannot be put, but has to be appended: more than any stream has.
const NO_ROOM: usize = usize::MAX;

/// Puts the value at a pointer and returns its length; or, if its room is [`NO_ROOM`], appends it to the
/// [`Scratch`] there.
type Write = unsafe fn(*const (), Braces, *mut ()) -> usize;

/// A field, its type forgotten.
#[derive(Clone, Copy)]
pub struct Argument<'a> {
    value: *const (),
    braces: Braces,
    write: Write,
    room: usize,
    of: PhantomData<&'a ()>,
}

impl Argument<'_> {
    /// # Safety
    /// For as long as the argument lives, `write` may be called with the value, the braces, and a pointer to
    /// so much room.
    #[inline]
    pub(super) unsafe fn new(value: *const (), braces: Braces, write: Write, room: usize) -> Self {
        Argument {
            value,
            braces,
            write,
            room,
            of: PhantomData,
        }
    }

    /// # Safety
    /// As [`new`](Self::new), with a pointer to a [`Scratch`].
    #[inline]
    pub(super) unsafe fn foreign(value: *const (), braces: Braces, write: Write) -> Self {
        // SAFETY: what has no room is not put.
        unsafe { Self::new(value, braces, write, NO_ROOM) }
    }
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
    #[inline]
    pub(crate) fn is_foreign(&self) -> bool {
        self.fields.iter().any(|field| field.room == NO_ROOM)
    }

    /// An upper bound of the room that [`put`](Self::put) needs; it is more than any stream has if the
    /// message has to be appended.
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
                end = end.add((field.write)(field.value, field.braces, end.cast()));
            }
            put_text(text, end).1
        }
    }

    /// Puts the message into memory of its own, foreign fields too.
    pub(crate) fn append(&self, scratch: &mut Scratch<'_>) {
        let room = self.room();
        if room == NO_ROOM {
            return self.append_fields(scratch);
        }
        // SAFETY: the room is what is asked for, so no field is foreign.
        unsafe {
            let space = scratch.space(room);
            scratch.advance(self.put(space).offset_from_unsigned(space));
        }
    }

    /// The same, field by field.
    #[inline(always)]
    pub(crate) fn append_fields(&self, scratch: &mut Scratch<'_>) {
        let mut text = self.texts.as_ptr();
        // SAFETY: there is a text more than there are fields; each field is given what its room says.
        unsafe {
            for field in self.fields {
                text = append_text(text, scratch);
                if field.room == NO_ROOM {
                    (field.write)(field.value, field.braces, (&raw mut *scratch).cast());
                } else {
                    let space = scratch.space(field.room);
                    let length = (field.write)(field.value, field.braces, space.cast());
                    scratch.advance(length);
                }
            }
            append_text(text, scratch);
        }
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

/// A field of a [`Short`] message: a [`Piece`], or what is foreign.
pub trait Field: Copy {
    /// Whether the text is made by code that is not outpace's.
    const FOREIGN: bool = true;

    /// See [`Piece::SWIFT`].
    const SWIFT: bool = false;

    /// See [`Piece::is_swift`].
    #[inline(always)]
    fn is_swift(&self) -> bool {
        false
    }

    /// See [`Piece::swift_room`].
    fn swift_room(&self) -> usize {
        unreachable!("it is not swift")
    }

    /// See [`Piece::put_swiftly`].
    ///
    /// # Safety
    /// As there.
    unsafe fn put_swiftly(&self, _: *mut u8) -> usize {
        unreachable!("it is not swift")
    }

    /// The field, its type forgotten.
    fn argument(&self) -> Argument<'_>;
}

impl<P: Piece> Field for P {
    const FOREIGN: bool = false;
    const SWIFT: bool = P::SWIFT;

    #[inline(always)]
    fn is_swift(&self) -> bool {
        P::is_swift(self)
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

    #[inline]
    fn argument(&self) -> Argument<'_> {
        let value = (&raw const *self).cast();
        // SAFETY: the function is for what the pointer points to.
        unsafe { Argument::new(value, Braces::NONE, P::put_piece, P::room(self)) }
    }
}

/// What the macros make.
pub trait Whole: Copy {
    /// Whether it is known when it is compiled that a field is foreign.
    const FOREIGN: bool = false;

    /// Whether most messages of the kind can be put without calling a function.
    const SWIFT: bool;

    /// Whether this one can.
    fn is_swift(&self) -> bool;

    /// The room that [`put_swiftly`](Self::put_swiftly) needs.
    fn room(&self) -> usize;

    /// Writes the message at `dst`, returns its end.
    ///
    /// # Safety
    /// There is the room; the message is swift.
    unsafe fn put_swiftly(&self, dst: *mut u8) -> *mut u8;

    /// Whether a field is foreign.
    fn is_foreign(&self) -> bool;

    /// The message, its type forgotten.
    fn with<R>(&self, then: impl FnOnce(Message<'_>) -> R) -> R;
}

impl Whole for Message<'_> {
    const SWIFT: bool = false;

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

    #[inline(always)]
    fn is_foreign(&self) -> bool {
        Message::is_foreign(self)
    }

    #[inline(always)]
    fn with<R>(&self, then: impl FnOnce(Message<'_>) -> R) -> R {
        then(*self)
    }
}

/// A message with few fields, with nothing but their name in the braces, and texts of at most `TEXT`
/// bytes.
#[derive(Clone, Copy)]
pub struct Short<F>(pub &'static [u8], pub F);

macro_rules! short {
    ($count:literal $($name:ident $field:ident)*) => {
        impl<$($field: Field),*> Whole for Short<($($field,)*)> {
            const FOREIGN: bool = false $(|| $field::FOREIGN)*;
            const SWIFT: bool = true $(&& $field::SWIFT)*;

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

            #[inline(always)]
            fn is_foreign(&self) -> bool {
                false $(|| $field::FOREIGN)*
            }

            #[inline(always)]
            fn with<R>(&self, then: impl FnOnce(Message<'_>) -> R) -> R {
                let Short(texts, ($($name,)*)) = self;
                then(Message { texts, fields: &[$($name.argument()),*] })
            }
        }
    };
}
short!(1 a A);
short!(2 a A b B);
short!(3 a A b B c C);
short!(4 a A b B c C d D);

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
