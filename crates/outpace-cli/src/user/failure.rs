//! Errors, in the one form that every error of the program has.

use super::inert::inert;
use crate::platform::{self, descriptors, procfs};
use std::ffi::OsStr;
use std::fmt;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::ExitCode;

/// The end of a subcommand: its exit status, or the reason it could not do its work.
pub(crate) type Outcome = Result<ExitCode, Failure>;

/// The rule for the exit status, for help and manual.
pub(crate) const STATUSES: &str = "0 if all went well; 1 if something failed, or a thing that was asked for \
    is not there; 2 if the command line is wrong. run and trace end as their program ended (trace with 1 if that is 0 and its report \
    could not be written): 127 if there is none of that name, 126 if it cannot be started.";

/// An error, shown as `outpace: <object>: <cause>` with one remedy on the line below.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    status: u8,
    object: String,
    cause: String,
    remedy: Option<String>,
}

impl Failure {
    /// The command line alone shows the mistake (status 2). The cause is a text, so that no error of the system's
    /// counts as bad usage.
    pub(crate) fn usage(object: impl fmt::Display, cause: impl Into<String>) -> Self {
        Self::new(2, object, cause.into())
    }

    /// Something failed, or a thing that the command line names is not there (status 1).
    pub(crate) fn failed(object: impl fmt::Display, cause: impl fmt::Display) -> Self {
        Self::new(1, object, cause)
    }

    /// A user's command did not start. The status is that of shells: 127 if the command is not there, else 126.
    pub(crate) fn cannot_start(command: &OsStr, error: &io::Error) -> Self {
        let (status, remedy) = match error.kind() {
            io::ErrorKind::NotFound
                if command.as_bytes().contains(&b'/') && Path::new(command).exists() =>
            {
                (
                    127,
                    "the file is there, but not what its first line or its head names: an interpreter (perhaps \
                 with a carriage return at its end), or the loader of another C library",
                )
            }
            io::ErrorKind::NotFound if command.to_string_lossy().contains(char::is_whitespace) => (
                127,
                "leave out the quotes around the whole command, or give it to a shell: sh -c '…'",
            ),
            io::ErrorKind::NotFound => (127, "check the name, or give the program's path"),
            io::ErrorKind::PermissionDenied if Path::new(command).is_dir() => {
                (126, "that is a directory: name a program in it")
            }
            _ => match error.raw_os_error() {
                Some(libc::EACCES) => (126, "make it executable"),
                Some(libc::EPERM) => (
                    126,
                    "a security policy or a filter of system calls (seccomp) forbids it here",
                ),
                // The limits are those of this process.
                Some(libc::EMFILE) => (126, "allow more open files (ulimit -n)"),
                Some(libc::EAGAIN) => (
                    126,
                    "allow more processes and threads (ulimit -u, or pids.max of the control group)",
                ),
                Some(libc::ENOMEM) => (126, "allow more memory (ulimit -v)"),
                _ => (126, "run the command by itself to see whether it starts"),
            },
        };
        Self::new(status, command.display(), error).remedy(remedy)
    }

    /// A process of this number cannot be watched.
    pub(crate) fn cannot_watch(process: i32, error: &io::Error) -> Self {
        let object = format!("process {process}");
        if procfs::name(process).is_none() {
            Self::failed(object, "no such process")
                .remedy("give the number of a running process, as ps shows it")
        } else if procfs::running_threads(process).is_empty() {
            Self::failed(
                object,
                "has ended, and its parent has not waited for it yet",
            )
            .remedy("give the number of a running process, such as its parent's")
        } else if rustix::process::geteuid().is_root() {
            Self::failed(object, error).remedy(
                "a security policy or another tracer (TracerPid in /proc/PID/status) forbids it: only one may be attached",
            )
        } else {
            Self::failed(object, error).remedy(
                "trace it as the user it belongs to, or as root; only one tracer may be attached",
            )
        }
    }

    fn new(status: u8, object: impl fmt::Display, cause: impl fmt::Display) -> Self {
        Self {
            status,
            object: inert(&object.to_string()).into_owned(),
            // A compiler's lines stay lines.
            cause: cause
                .to_string()
                .lines()
                .map(inert)
                .collect::<Vec<_>>()
                .join("\n"),
            remedy: None,
        }
    }

    /// Adds the one thing the user can do about it.
    #[must_use]
    pub(crate) fn remedy(mut self, remedy: impl fmt::Display) -> Self {
        self.remedy = Some(remedy.to_string());
        self
    }

    /// Writes the error to stderr, which may be a raw terminal: there a newline does not return to the first column.
    pub(crate) fn report_on_terminal(&self) {
        let text = format!("{self}\n").replace('\n', "\r\n");
        let _ = std::io::stderr().write_all(text.as_bytes());
    }

    /// Writes the error to stderr and gives the status to exit with.
    pub(crate) fn report(&self) -> ExitCode {
        // With stderr closed there is no place for the message; the status still says that it failed.
        let _ = writeln!(std::io::stderr(), "{self}");
        ExitCode::from(self.status)
    }
}

/// Fails where `/proc` is missing or another namespace's: most commands would find no process, or wait for one.
pub(crate) fn require_proc() -> Result<(), Failure> {
    if platform::has_proc() {
        return Ok(());
    }
    Err(Failure::failed(
        "/proc",
        "not mounted here for this process namespace, and all that is known of processes comes from there",
    )
    .remedy("mount it (mount -t proc proc /proc, or unshare --mount-proc), or work where it is"))
}

/// Lets this process open as many files as it may, and fails where these are so few that the files of one thread may be too many.
pub(crate) fn require_files() -> Result<(), Failure> {
    const FEWEST: u64 = 32;
    match descriptors::allow_most() {
        Some(few) if few < FEWEST => {
            let cause = format!("{few} may be open, which is too few to watch a program");
            Err(Failure::failed("files", cause)
                .remedy(format!("allow {FEWEST} or more (ulimit -n)")))
        }
        _ => Ok(()),
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let object = Some(self.object.as_str()).filter(|object| !object.is_empty());
        write!(f, "outpace: {}: {}", object.unwrap_or("''"), self.cause)?;
        match &self.remedy {
            Some(remedy) => write!(f, "\n  {remedy}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_object_the_cause_and_the_remedy() {
        let failure = Failure::failed("pty", "out of terminals").remedy("close some and try again");
        assert_eq!(
            failure.to_string(),
            "outpace: pty: out of terminals\n  close some and try again"
        );
        let forbidden = io::Error::from_raw_os_error(libc::EPERM);
        let ours = Failure::cannot_watch(std::process::id() as i32, &forbidden).to_string();
        let is_root = rustix::process::geteuid().is_root();
        assert_eq!(ours.contains("or as root"), !is_root, "{ours}");
        assert_eq!(
            Failure::usage("", "no such rung").to_string(),
            "outpace: '': no such rung"
        );
    }
}
