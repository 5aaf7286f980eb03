//! `mapped`: output through mapped memory instead of `write`.

use std::cmp::Ordering::{Equal, Greater, Less};
use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom};
use std::os::fd::AsFd;

use super::ladder::{fast_integers, mapped_from, mappy, message};
use super::lines::bare_stdout;
use super::sources;
use crate::bench::experiment::clock::Span;
use crate::bench::experiment::{Experiment, Method};
use crate::bench::results::figures::Figures;
use crate::user::quantity::times_in_words;

pub(crate) const MAPPED: Experiment = Experiment {
    name: "mapped",
    question: "Can a program write its output to mapped memory, and is it faster?",
    published: "Published as mappy, it never worked: a shell's > opens the file for writing only, \
                and a shared mapping needs reading too.",
    sources: &[sources::FASTHELLO],
    published_to: &[],
    unit: "message",
    message,
    messages: 100_000_000,
    to: &["tmpfs", "file"],
    baseline: "write",
    method: Method::Work,
    rungs: rungs! {
        described "mappy": Here(mappy), "maps standard output as it is"
            .fails("a shared mapping needs a descriptor that can be read, and > opens none");
        added "reopened": Here(reopened), "maps standard output opened again for reading and writing";
        added "write": Here(|span| fast_integers(span, BufWriter::with_capacity(64 << 10, bare_stdout()?))), "a BufWriter of 64 KiB";
    },
    conclusion,
};

/// Opens standard output's file once more through /proc, for reading and writing. The new
/// descriptor starts at offset 0, so the old one's offset is copied, and copied back at the end.
fn reopened(span: &mut Span) -> io::Result<()> {
    let mut stdout = bare_stdout()?;
    let flags = rustix::fs::fcntl_getfl(stdout.as_fd())?;
    if flags.contains(rustix::fs::OFlags::APPEND) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "standard output was opened to append (>>); a mapping cannot; use >",
        ));
    }
    let start = stdout.stream_position()?;
    let file = File::options()
        .read(true)
        .write(true)
        .open("/proc/self/fd/1")?;
    let end = start + mapped_from(span, &file, start)?;
    // The next writer to the same open file continues behind our bytes.
    stdout.seek(SeekFrom::Start(end))?;
    Ok(())
}

fn conclusion(figures: &Figures<'_>) -> Vec<String> {
    let mut sentences = Vec::new();
    if figures
        .rows()
        .any(|row| row.rung == "mappy" && row.fails_as_published.is_some())
    {
        sentences.push(
            "As published it does not work. Opening the file again for reading and writing makes \
             it work."
                .to_owned(),
        );
    }
    sentences.extend(figures.at_each(|to| {
        figures.sentence("reopened", "write", to, |time, ratio| match time {
            Greater => format!(
                "To {to} it takes {} as long as write: page faults cost more.",
                times_in_words(ratio)
            ),
            Less => format!(
                "To {to} it is {} faster than write.",
                times_in_words(1.0 / ratio)
            ),
            Equal => format!("To {to} it is as fast as write."),
        })
    }));
    sentences
}
