//! The traits of std's handles besides [`Write`](std::io::Write): descriptors, `is_terminal`, `Stdio` for children.

use super::guard::Guard;
use super::handles::{Stderr, Stdout, Stream};
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::process::Stdio;

#[cfg(unix)]
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
#[cfg(windows)]
use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle, RawHandle};

#[cfg(unix)]
use AsFd as AsHandleOrFd;
#[cfg(windows)]
use AsHandle as AsHandleOrFd;

/// `AsFd` or `AsHandle`, and the raw form of the same.
macro_rules! descriptor {
    ([$($generics:tt)*] $handle:ty, |$this:ident| $borrowed:expr) => {
        #[cfg(unix)]
        impl<$($generics)*> AsFd for $handle {
            fn as_fd(&self) -> BorrowedFd<'_> {
                let $this = self;
                $borrowed.as_fd()
            }
        }

        #[cfg(unix)]
        impl<$($generics)*> AsRawFd for $handle {
            fn as_raw_fd(&self) -> RawFd {
                self.as_fd().as_raw_fd()
            }
        }

        #[cfg(windows)]
        impl<$($generics)*> AsHandle for $handle {
            fn as_handle(&self) -> BorrowedHandle<'_> {
                let $this = self;
                $borrowed.as_handle()
            }
        }

        #[cfg(windows)]
        impl<$($generics)*> AsRawHandle for $handle {
            fn as_raw_handle(&self) -> RawHandle {
                self.as_handle().as_raw_handle()
            }
        }
    };
}

descriptor! { [] Stdout, |this| this.engine().output }
descriptor! { [] Stderr, |this| this.engine().output }
descriptor! { [] Guard<'_>, |this| this.engine.output }
descriptor! { [F: AsHandleOrFd] Stream<F>, |this| this.get_ref() }

impl Guard<'_> {
    /// Whether the stream is a terminal, as the system says now.
    ///
    /// ```
    /// let mut out = outpace::stdout().lock();
    /// let bold = if out.is_terminal() { "\x1b[1m" } else { "" };
    /// out.str(bold).str("done\n");
    /// ```
    pub fn is_terminal(&self) -> bool {
        self.engine.output.is_terminal()
    }
}

macro_rules! stdio {
    ($handle:ident, $std:path) => {
        /// As std's handle: the child writes to the same destination. Flushes first, so that earlier output comes
        /// before the child's; the next call returns an error of that.
        ///
        /// ```
        /// # #[cfg(unix)] {
        /// use std::process::Command;
        ///
        /// // The child's standard output goes to this program's standard error.
        /// Command::new("echo").arg("a remark").stdout(outpace::stderr()).status()?;
        /// # }
        /// # Ok::<(), std::io::Error>(())
        /// ```
        impl From<$handle> for Stdio {
            fn from(handle: $handle) -> Stdio {
                // The stream keeps an error, and its next call returns it.
                let _ = handle.flush();
                Stdio::from($std())
            }
        }
    };
}
stdio!(Stdout, std::io::stdout);
stdio!(Stderr, std::io::stderr);

// A panic leaves a stream consistent: only whole messages are published, and locks are released.
impl RefUnwindSafe for crate::stream::engine::Engine {}
impl UnwindSafe for Guard<'_> {}
impl RefUnwindSafe for Guard<'_> {}
