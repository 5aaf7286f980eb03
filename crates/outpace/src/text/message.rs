//! Messages on their way: where the macros' pieces are put together and handed over.

#![allow(unsafe_code)]

use super::piece::Piece;
use super::scratch::Scratch;
use crate::capture;
use crate::engine::Engine;
use crate::guard::{Begun, Guard, with_text};
use crate::stream::{Stderr, Stdout, Stream};
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::ops::Deref;

/// `format!`
#[inline(never)]
pub fn format<M: Piece>(message: M) -> String {
    let mut scratch = Scratch::new();
    message.append(&mut scratch);
    scratch.into_string()
}

/// A message for a destination that is not outpace's: all of it is one argument of theirs.
pub struct Parcel<M>(pub M);

impl<M: Piece> fmt::Display for Parcel<M> {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut scratch = Scratch::new();
        self.0.append(&mut scratch);
        f.write_str(scratch.as_str())
    }
}

/// The type of what `write!` writes to.
pub struct Destination<T: ?Sized>(AnyDestination<T>);

/// A destination that is not outpace's.
pub struct AnyDestination<T: ?Sized>(PhantomData<fn(*const T)>);

/// The type is found out by `is`.
#[inline]
pub fn destination<T: ?Sized>() -> Destination<T> {
    Destination(AnyDestination(PhantomData))
}

impl<T: ?Sized> Destination<T> {
    /// Says what the type is.
    #[inline]
    pub fn is(&self, _: &T) {}
}

impl<T: ?Sized> Deref for Destination<T> {
    type Target = AnyDestination<T>;

    #[inline]
    fn deref(&self) -> &AnyDestination<T> {
        &self.0
    }
}

impl<T: ?Sized> AnyDestination<T> {
    /// What is given to the destination's `write_fmt`.
    #[inline]
    pub fn choose<'a, M: Piece>(
        &self,
        _: &'a Parcel<M>,
        parcel: fmt::Arguments<'a>,
        arguments: fmt::Arguments<'a>,
    ) -> fmt::Arguments<'a> {
        if M::FOREIGN { arguments } else { parcel }
    }
}

/// What `write_fmt` of outpace's own destinations takes: what std's macros make, and what outpace's do.
pub trait Writable {
    /// Writes it as one message.
    fn write_to(self, guard: &mut Guard<'_>) -> io::Result<()>;
    /// Writes it as one message, when no guard is held.
    #[allow(private_interfaces, reason = "called by this crate alone")]
    fn write_unlocked(self, engine: &Engine) -> io::Result<()>;
}

impl<M: Piece> Writable for &Parcel<M> {
    #[inline(always)]
    fn write_to(self, guard: &mut Guard<'_>) -> io::Result<()> {
        if append(guard, self.0) {
            Ok(())
        } else {
            guard.engine.error()
        }
    }

    #[inline(always)]
    #[allow(private_interfaces)]
    fn write_unlocked(self, engine: &Engine) -> io::Result<()> {
        if send(engine, self.0) {
            Ok(())
        } else {
            engine.error()
        }
    }
}

impl Writable for fmt::Arguments<'_> {
    fn write_to(self, guard: &mut Guard<'_>) -> io::Result<()> {
        io::Write::write_fmt(guard, self)
    }

    #[allow(private_interfaces)]
    fn write_unlocked(self, engine: &Engine) -> io::Result<()> {
        // Formatted before the guard is taken: a `Display` may print, or wait for a thread that does.
        with_text(self, |text| {
            io::Write::write_all(&mut Guard::new(engine), text)
        })
    }
}

macro_rules! own_destinations {
    ($([$($generics:tt)*] $destination:ty, |$self:ident, $message:ident| $write:expr;)*) => {$(
        impl<$($generics)*> $destination {
            /// Writes what `write!` has made: outpace's, which is fastest, or std's.
            ///
            /// # Errors
            ///
            /// The error that made the stream fail, if it has.
            #[inline(always)]
            pub fn write_fmt(&mut $self, $message: impl Writable) -> io::Result<()> {
                $write
            }
        }

        impl<$($generics)*> Destination<$destination> {
            /// What is given to the destination's `write_fmt`.
            #[inline]
            pub fn choose<'p, M: Piece>(
                &self,
                parcel: &'p Parcel<M>,
                _: fmt::Arguments<'_>,
                _: fmt::Arguments<'_>,
            ) -> &'p Parcel<M> {
                parcel
            }
        }

        impl<$($generics)*> Destination<&mut $destination> {
            /// What is given to the destination's `write_fmt`.
            #[inline]
            pub fn choose<'p, M: Piece>(
                &self,
                parcel: &'p Parcel<M>,
                _: fmt::Arguments<'_>,
                _: fmt::Arguments<'_>,
            ) -> &'p Parcel<M> {
                parcel
            }
        }
    )*};
}
own_destinations! {
    ['a] Guard<'a>, |self, message| message.write_to(self);
    [] Stdout, |self, message| message.write_unlocked(self.engine());
    [] Stderr, |self, message| message.write_unlocked(self.engine());
    [F] Stream<F>, |self, message| message.write_unlocked(self.engine());
}

/// Appends a message; returns whether the stream has not failed.
#[inline(always)]
fn append<M: Piece>(guard: &mut Guard<'_>, message: M) -> bool {
    if M::FOREIGN {
        let mut scratch = Scratch::new();
        message.append(&mut scratch);
        return guard.append(scratch.as_bytes());
    }
    let mut own = guard.message();
    let space = own.space(message.room());
    // SAFETY: there is as much room as the message asks for.
    own.filled(unsafe { message.put(space) });
    own.finish()
}

/// Appends a message when no guard is held; returns whether the stream has not failed.
#[inline]
fn send<M: Piece>(engine: &Engine, message: M) -> bool {
    if !M::FOREIGN {
        let Begun { space, me } = Guard::begin(engine, message.room());
        if !space.is_null() {
            // SAFETY: there is as much room as the message asks for.
            let length = unsafe { message.put(space) };
            return Guard::end(engine, me, length);
        }
    }
    send_aside(engine, message)
}

/// Appends a message that is put together before the guard is taken.
#[inline(never)]
fn send_aside<M: Piece>(engine: &Engine, message: M) -> bool {
    let mut scratch = Scratch::new();
    message.append(&mut scratch);
    send_text(engine, &scratch)
}

#[inline(never)]
fn send_text(engine: &Engine, text: &Scratch) -> bool {
    Guard::within(engine, |guard| guard.append(text.as_bytes()))
}

/// `print!`
#[inline]
pub fn print<M: Piece>(message: M) {
    print_to(crate::stdout().engine(), message);
}

/// `eprint!`
#[inline]
pub fn eprint<M: Piece>(message: M) {
    print_to(crate::stderr().engine(), message);
}

#[inline]
fn print_to<M: Piece>(engine: &Engine, message: M) {
    if !capture::catches(engine.role, message) && !send(engine, message) {
        printing_failed(engine);
    }
}

/// Ends the process if nobody reads its output any more and it wants that, else panics as std does.
#[cold]
#[inline(never)]
fn printing_failed(engine: &Engine) {
    engine.end_if_reader_gone();
    if let Err(error) = engine.error() {
        panic!("failed printing to {}: {error}", engine.role.name());
    }
}
