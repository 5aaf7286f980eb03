//! `raw`: ways to an unbuffered stdout, one of which closes it.

use std::cmp::Ordering::{Equal, Greater, Less};
use std::io::{self, Write};
use std::os::fd::AsRawFd;

use super::lines::message;
use super::sources;
use crate::bench::experiment::clock::Span;
use crate::bench::experiment::{Experiment, Method};
use crate::bench::results::figures::Figures;
use crate::user::quantity::times;

pub(crate) const RAW: Experiment = Experiment {
    name: "raw",
    question: "How does a program get an unbuffered stdout that it may use more than once?",
    published: "File::from_raw_fd(1) closes stdout when it is dropped, and the second use fails \
                with EBADF; a mutex around a global file works; a global OwnedFd that is cloned \
                works, made from 1 or from as_raw_fd.",
    sources: &[sources::STDOUT_AND_STDERR],
    published_to: &[],
    unit: "line",
    message,
    messages: 1_000_000,
    to: &["pipe", "pty"],
    baseline: "mutex",
    method: Method::Work,
    rungs: rungs! {
        described "from-raw-fd": Here(descriptors::from_raw_fd), "File::from_raw_fd(1) for each use"
            .fails("the first use closes stdout");
        described "mutex": Here(descriptors::mutex), "a mutex around a global File";
        described "cloned": Here(|span| descriptors::cloned(span, 1)), "a global OwnedFd made from 1, cloned for each use";
        described "cloned-as-raw-fd": Here(|span| descriptors::cloned(span, io::stdout().as_raw_fd())), "the same, made from as_raw_fd";
        outpace "outpace": Here(outpace_raw), "outpace::raw::stdout()";
    },
    conclusion,
};

/// One line, in one write call.
fn line(out: &mut impl Write, text: &mut Vec<u8>, index: u64) -> io::Result<()> {
    text.clear();
    message(index, text);
    out.write_all(text)
}

fn outpace_raw(span: &mut Span) -> io::Result<()> {
    let mut text = Vec::new();
    for index in 0..span.messages {
        line(&mut outpace::raw::stdout(), &mut text, index)?;
    }
    span.done_calling();
    Ok(())
}

#[allow(unsafe_code)]
mod descriptors {
    //! The published ways, which take descriptor 1 by its number.

    use std::fs::File;
    use std::io;
    use std::mem::ManuallyDrop;
    use std::os::fd::{FromRawFd, OwnedFd};
    use std::sync::{Mutex, PoisonError};

    use super::line;
    use crate::bench::experiment::clock::Span;

    pub(super) fn from_raw_fd(span: &mut Span) -> io::Result<()> {
        let mut text = Vec::new();
        for index in 0..span.messages {
            // SAFETY: it breaks the rule of ownership, to show the consequence: each File closes a
            // descriptor that it does not own. This process opens no file until the rung has failed,
            // so that no other file can get the number 1 meanwhile.
            let mut file = ManuallyDrop::new(unsafe { File::from_raw_fd(1) });
            line(&mut *file, &mut text, index)?;
            drop(ManuallyDrop::into_inner(file));
        }
        span.done_calling();
        Ok(())
    }

    pub(super) fn mutex(span: &mut Span) -> io::Result<()> {
        // SAFETY: descriptor 1 is open for as long as the process runs, and ManuallyDrop never
        // closes it.
        let file = Mutex::new(ManuallyDrop::new(unsafe { File::from_raw_fd(1) }));
        let mut text = Vec::new();
        for index in 0..span.messages {
            let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
            line(&mut **file, &mut text, index)?;
        }
        span.done_calling();
        Ok(())
    }

    pub(super) fn cloned(span: &mut Span, descriptor: i32) -> io::Result<()> {
        // SAFETY: as in `mutex`.
        let stdout = ManuallyDrop::new(unsafe { OwnedFd::from_raw_fd(descriptor) });
        let mut text = Vec::new();
        for index in 0..span.messages {
            let mut file = File::from(stdout.try_clone()?);
            line(&mut file, &mut text, index)?;
        }
        span.done_calling();
        Ok(())
    }
}

fn conclusion(figures: &Figures<'_>) -> Vec<String> {
    let mut sentences = Vec::new();
    if let Some(cause) = figures.rows().find_map(|row| {
        row.fails_as_published
            .as_ref()
            .filter(|_| row.rung == "from-raw-fd")
    }) {
        sentences.push(format!(
            "A File made from descriptor 1 closes it when it is dropped, as published; the second \
             use fails ({cause})."
        ));
    }
    sentences.extend(figures.at_each(|to| {
        figures.sentence("cloned", "mutex", to, |time, ratio| match time {
            Greater => format!(
                "To {to} a clone for each line takes {} of the mutex.",
                times(ratio)
            ),
            Less => format!(
                "To {to} the mutex takes {} of a clone for each line.",
                times(1.0 / ratio)
            ),
            Equal => format!("To {to} a clone for each line costs no more than the mutex."),
        })
    }));
    sentences
}
