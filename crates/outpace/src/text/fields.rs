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
use std::marker::PhantomData;

/// A format string's texts are one behind the other, each after its length: a byte, or if that is
/// [`LONG`], four more, lowest first. Behind the last there are `TEXT` bytes more, so that of a short text
/// as many can be copied whatever its length.
const TEXT: usize = 16;
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

    /// Writes the message at `dst`, returns its length.
    ///
    /// # Safety
    /// There is as much room at `dst` as [`room`](Self::room) says, and no field is foreign.
    #[inline]
    pub(crate) unsafe fn put(&self, dst: *mut u8) -> usize {
        let mut text = self.texts.as_ptr();
        let mut end = dst;
        // SAFETY: the room is for all of them; behind a text there is room for the fields that follow, and
        // for `TEXT` bytes.
        unsafe {
            for field in self.fields {
                (text, end) = put_text(text, end);
                end = end.add((field.write)(field.value, field.braces, end.cast()));
            }
            put_text(text, end).1.offset_from_unsigned(dst)
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
            let length = self.put(scratch.space(room));
            scratch.advance(length);
        }
    }

    /// The same, field by field.
    #[inline]
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

/// Where a text begins, and its length.
///
/// # Safety
/// `text` points to a text's length, and the text is behind it.
#[inline(always)]
unsafe fn start_and_length(text: *const u8) -> (*const u8, usize) {
    // SAFETY: as demanded.
    unsafe {
        match *text {
            LONG => {
                let length = text.add(1).cast::<[u8; 4]>().read();
                (text.add(5), u32::from_le_bytes(length) as usize)
            }
            length => (text.add(1), usize::from(length)),
        }
    }
}

/// Copies a text to `dst`; returns where the next text's length is, and the end of what was written.
///
/// # Safety
/// As [`start_and_length`]; there is room for it, and for `TEXT` bytes, at `dst`.
#[inline(always)]
unsafe fn put_text(text: *const u8, dst: *mut u8) -> (*const u8, *mut u8) {
    // SAFETY: as demanded; behind the last text there are `TEXT` bytes more.
    unsafe {
        let (text, length) = start_and_length(text);
        if length <= TEXT {
            dst.cast::<[u8; TEXT]>()
                .write(text.cast::<[u8; TEXT]>().read());
        } else {
            dst.copy_from_nonoverlapping(text, length);
        }
        (text.add(length), dst.add(length))
    }
}

/// Appends a text; returns where the next text's length is.
///
/// # Safety
/// As [`start_and_length`].
#[inline(always)]
unsafe fn append_text(text: *const u8, scratch: &mut Scratch<'_>) -> *const u8 {
    // SAFETY: as demanded; behind the last text there are `TEXT` bytes more.
    unsafe {
        let (start, length) = start_and_length(text);
        if length > 0 {
            put_text(text, scratch.space(length.max(TEXT)));
            scratch.advance(length);
        }
        start.add(length)
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
    /// Whether most messages of the kind can be put without calling a function.
    const SWIFT: bool;

    /// Whether this one can.
    fn is_swift(&self) -> bool;

    /// The room that [`put_swiftly`](Self::put_swiftly) needs.
    fn room(&self) -> usize;

    /// Writes the message at `dst`, returns its length.
    ///
    /// # Safety
    /// There is the room; the message is swift.
    unsafe fn put_swiftly(&self, dst: *mut u8) -> usize;

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

    unsafe fn put_swiftly(&self, _: *mut u8) -> usize {
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
            unsafe fn put_swiftly(&self, dst: *mut u8) -> usize {
                let &Short(texts, ($(ref $name,)*)) = self;
                let (text, length) = (texts.as_ptr(), 0);
                // SAFETY: the room is for all of them, and all fields are swift.
                unsafe {
                    $(
                        let (text, length) = put_short_text(text, dst, length);
                        let length = length + $name.put_swiftly(dst.add(length));
                    )*
                    put_short_text(text, dst, length).1
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

/// Copies a short text to `dst + at`; returns where the next text's length is, and where the next field.
///
/// # Safety
/// As [`put_text`]; the text is short.
#[inline(always)]
unsafe fn put_short_text(text: *const u8, dst: *mut u8, at: usize) -> (*const u8, usize) {
    const HALF: usize = TEXT / 2;
    // SAFETY: as demanded.
    unsafe {
        let length = usize::from(*text);
        debug_assert!(length <= TEXT);
        let (text, dst) = (text.add(1), dst.add(at));
        dst.cast::<[u8; HALF]>()
            .write(text.cast::<[u8; HALF]>().read());
        if length > HALF {
            let rest = text.add(HALF).cast::<[u8; HALF]>().read();
            dst.add(HALF).cast::<[u8; HALF]>().write(rest);
        }
        (text.add(length), at + length)
    }
}
