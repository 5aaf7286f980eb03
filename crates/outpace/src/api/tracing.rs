//! Streams as writers of `tracing-subscriber`, with the feature `tracing`.
//!
//! For the standard streams no feature is needed, because a function that returns a writer is a
//! [`MakeWriter`] already:
//!
//! ```
//! tracing_subscriber::fmt().with_writer(outpace::stdout).init();
//! tracing::info!("a record is one message, and never waits");
//! ```
//!
//! The feature makes a handle or a [`Stream`] one itself, so that combinators and log files have it too:
//!
//! ```
//! use outpace::{Buffering, Overflow, Stream};
//! use tracing_subscriber::fmt::writer::MakeWriterExt;
//!
//! # let path = std::env::temp_dir().join(format!("outpace-tracing-{}", std::process::id()));
//! let file = std::fs::File::create(&path)?;
//! let log = Stream::new(
//!     file,
//!     Buffering::Background { capacity: 16 << 20, overflow: Overflow::DropOldest },
//! )?;
//! let log = std::sync::Arc::new(log);
//! let both = log.clone().and(outpace::stderr().with_max_level(tracing::Level::ERROR));
//! tracing_subscriber::fmt().with_ansi(false).with_writer(both).init();
//! tracing::info!("to the file");
//! log.flush()?;
//! assert!(std::fs::read_to_string(&path)?.contains("to the file"));
//! # std::fs::remove_file(path)?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! A record is one message: it is never interleaved with another thread's, and dropped only as a whole.

use super::handles::{Stderr, Stdout, Stream};
use tracing_subscriber::fmt::MakeWriter;

impl<'a> MakeWriter<'a> for Stdout {
    type Writer = Stdout;

    fn make_writer(&'a self) -> Stdout {
        *self
    }
}

impl<'a> MakeWriter<'a> for Stderr {
    type Writer = Stderr;

    fn make_writer(&'a self) -> Stderr {
        *self
    }
}

impl<'a, F: 'a> MakeWriter<'a> for Stream<F> {
    type Writer = &'a Stream<F>;

    fn make_writer(&'a self) -> &'a Stream<F> {
        self
    }
}
