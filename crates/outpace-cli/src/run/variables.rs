//! Environment variables that name what the program has in the place of ours: a terminal, a pipe, a process.
#![allow(unsafe_code)]

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Variables that name the user's terminal (GPG_TTY, SSH_TTY) name the program's: programs open it by that name, and would read the
/// keys beside `outpace`.
///
/// # Safety
///
/// This process has one thread.
pub(super) unsafe fn name_terminal(users: BorrowedFd<'_>, programs: &OwnedFd) {
    let variables = std::env::vars_os();
    let mut named = variables.filter(|(_, value)| value.as_bytes().starts_with(b"/dev/"));
    let Some(first) = named.next() else {
        return;
    };
    let name = |terminal| rustix::termios::ttyname(terminal, Vec::new()).ok();
    let (Some(before), Some(now)) = (name(users), name(programs.as_fd())) else {
        return;
    };
    let is_before = |(_, value): &(OsString, OsString)| value.as_bytes() == before.to_bytes();
    for (variable, _) in std::iter::once(first).chain(named).filter(is_before) {
        // SAFETY: the caller's.
        unsafe { std::env::set_var(variable, OsStr::from_bytes(now.to_bytes())) };
    }
}

/// By JOURNAL_STREAM a service knows the descriptor that leads to systemd's journal (systemd.exec(5)): the variable tells of the pipe in
/// that one's place.
///
/// # Safety
///
/// This process has one thread.
pub(super) unsafe fn name_journal(ours: BorrowedFd<'_>, pipe: &Option<OwnedFd>) {
    const NAME: &str = "JOURNAL_STREAM";
    let (Some(pipe), Some(journal)) = (pipe, std::env::var_os(NAME)) else {
        return;
    };
    let name = |descriptor: BorrowedFd<'_>| {
        let stat = rustix::fs::fstat(descriptor).ok()?;
        Some(format!("{}:{}", stat.st_dev, stat.st_ino))
    };
    if let (Some(before), Some(now)) = (name(ours), name(pipe.as_fd()))
        && journal == *before
    {
        // SAFETY: the caller's.
        unsafe { std::env::set_var(NAME, now) };
    }
}

/// Variables by which a service knows that what systemd has passed on is for it: sockets (sd_listen_fds(3)) and the watchdog
/// (sd_watchdog_enabled(3)). Where they name the process `outpace`, they name the program's.
///
/// # Safety
///
/// This process has one thread.
pub(super) unsafe fn name_process(outpace: i32, command: &mut Command) {
    let outpace = outpace.to_string();
    for name in ["LISTEN_PID", "WATCHDOG_PID", "SYSTEMD_EXEC_PID"] {
        if std::env::var_os(name).is_none_or(|process| process != *outpace) {
            continue;
        }
        let mut variable = format!("{name}={}\0", i32::MAX).into_bytes();
        let enter = move || {
            // SAFETY: no memory is involved.
            let process = unsafe { libc::getpid() };
            write!(&mut variable[name.len() + 1..], "{process}\0")?;
            // SAFETY: text with a zero at its end, which this process keeps until it becomes the program.
            unsafe { libc::putenv(variable.as_mut_ptr().cast()) };
            Ok(())
        };
        // SAFETY: the process has one thread, so its copy may allocate.
        unsafe { command.pre_exec(enter) };
    }
}
