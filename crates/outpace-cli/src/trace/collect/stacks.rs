//! Call stacks from perf(1), where it is installed and allowed.
//!
//! perf runs beside the program and is told over a socket when to begin and to end; it is not a
//! child of this process, so that its work is not counted as the program's.

use crate::platform::{scratch, signals};
use crate::trace::model::{FREQUENCY, Frame, Sample};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// A perf that records.
pub(super) struct Recorder {
    /// Its process group.
    pub(super) group: i32,
    /// Its control descriptors.
    control: UnixStream,
    directory: TempDir,
}

const DATA: &str = "perf.data";
/// Time for perf to get ready, and to write what it has.
const PATIENCE: Duration = Duration::from_secs(10);

impl Recorder {
    /// Records the stacks of a process and what it starts from now on. An error says why that cannot be.
    pub(super) fn start(process: i32) -> io::Result<Self> {
        let directory = scratch()?;
        let (mut control, its) = UnixStream::pair()?;
        control.set_read_timeout(Some(PATIENCE))?;
        // In the background, with this stdin as its control descriptor. A shell gives background processes another stdin, so this one
        // goes by descriptor 3.
        let perf = format!("perf record -qg -F {FREQUENCY} -k CLOCK_MONOTONIC -D -1 -p {process}");
        let perf = format!("exec 3<&0; {perf} --control=fd:0,1 -o \"$0\" <&3 3<&- &");
        let mut shell = Command::new("sh")
            .args(["-c", &perf])
            .arg(directory.path().join(DATA))
            // Ctrl-C is for us: perf would end before it has begun.
            .process_group(0)
            .stdin(OwnedFd::from(its.try_clone()?))
            .stdout(OwnedFd::from(its))
            .stderr(Stdio::null())
            .spawn()?;
        shell.wait()?;
        // Without perf, or where it is not permitted, its end is closed.
        let _ = control.write_all(b"enable\n");
        let is_ready = control.read_exact(&mut [0]);
        is_ready.map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => io::ErrorKind::TimedOut.into(),
            _ => io::Error::other("perf is not installed, or not allowed"),
        })?;
        Ok(Self {
            group: shell.id() as i32,
            control,
            directory,
        })
    }

    /// Ends the recording and gives the samples.
    pub(super) fn finish(mut self) -> io::Result<Vec<Sample>> {
        // It may have ended with the program.
        let _ = self.control.write_all(b"stop\n");
        // Its output ends when perf has ended; it is cut off if perf has not read all of ours.
        let rest = io::copy(&mut self.control, &mut io::sink());
        if rest.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock) {
            signals::send(-self.group, libc::SIGTERM);
            return Err(io::ErrorKind::TimedOut.into());
        }
        let script = Command::new("perf")
            .args(["script", "--ns", "--no-inline", "-F"])
            .args(["pid,tid,time,ip,sym,dso", "-i"])
            .arg(self.directory.path().join(DATA))
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()?;
        Ok(parse(&String::from_utf8_lossy(&script.stdout)))
    }
}

/// Parses the output of `perf script`: for each sample a line with the thread and the time, then one for each
/// frame, the innermost first, then an empty one.
fn parse(text: &str) -> Vec<Sample> {
    let sample = |block: &str| {
        let mut lines = block.lines().skip_while(|line| line.is_empty());
        // `11484/11484 11883.089585033:`
        let mut words = lines.next()?.split_ascii_whitespace();
        let (process, thread) = words.next()?.split_once('/')?;
        let time = words.next()?.trim_end_matches(':').replace('.', "");
        let mut frames: Vec<Frame> = lines.filter_map(frame).collect();
        frames.reverse();
        Some(Sample {
            of: (process.parse().ok()?, thread.parse().ok()?),
            time_ns: time.parse().ok()?,
            frames,
        })
    };
    text.split("\n\n").filter_map(sample).collect()
}

/// `  f8350 __GI___libc_write (/usr/lib/x86_64-linux-gnu/libc.so.6)`; `None` for an address in no file: stacks without frame pointers
/// lead there.
fn frame(line: &str) -> Option<Frame> {
    let (address, rest) = line.trim().split_once(' ')?;
    let (symbol, object) = rest.strip_suffix(')')?.rsplit_once(" (")?;
    let file = object.rsplit('/').next().unwrap_or(object);
    let in_kernel = object.starts_with('[') && object.contains("kernel");
    let name = match symbol {
        "[unknown]" if object == "[unknown]" => return None,
        "[unknown]" => format!("0x{address} ({file})"),
        known => known.to_owned(),
    };
    Some(Frame { name, in_kernel })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_read_with_the_outermost_frame_first() {
        let text = "11484/11485 11883.090581729: \n\
                    \tffffffff816b92b8 vfs_write ([kernel.kallsyms])\n\
                    \t           f8350 __GI___libc_write (/usr/lib/libc.so.6)\n\
                    \t            72ff [unknown] (/usr/bin/dash)\n\
                    \t               0 [unknown] ([unknown])\n\
                    \n\
                    7/7 1.000000002: \n\
                    \t 12 <core::fmt::Write as std::io (x)>::write (/a program)\n\n";
        let samples = parse(text);
        assert_eq!(samples.len(), 2);
        assert_eq!(
            (samples[0].of, samples[0].time_ns),
            ((11484, 11485), 11_883_090_581_729)
        );
        let names: Vec<&str> = samples[0]
            .frames
            .iter()
            .map(|frame| frame.name.as_str())
            .collect();
        assert_eq!(names, ["0x72ff (dash)", "__GI___libc_write", "vfs_write"]);
        assert!(samples[0].frames[2].in_kernel && !samples[0].frames[1].in_kernel);
        assert_eq!(
            samples[1].frames[0].name,
            "<core::fmt::Write as std::io (x)>::write"
        );
    }

    #[test]
    fn what_is_no_sample_is_none() {
        assert_eq!(parse(""), []);
        assert_eq!(parse("failed to open perf.data\n"), []);
    }
}
