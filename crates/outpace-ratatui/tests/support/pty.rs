//! Pseudo-terminals.
#![allow(unreachable_pub, reason = "shared by tests")]

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// The emulator's end of a terminal of this size, and the program's.
pub fn open(columns: u16, rows: u16) -> (File, File) {
    let emulator = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    rustix::io::fcntl_setfd(&emulator, rustix::io::FdFlags::CLOEXEC).unwrap();
    grantpt(&emulator).unwrap();
    unlockpt(&emulator).unwrap();
    let name = ptsname(&emulator, Vec::new()).unwrap();
    let no_control = rustix::fs::OFlags::NOCTTY.bits();
    let program = File::options()
        .read(true)
        .write(true)
        .custom_flags(no_control.try_into().unwrap())
        .open(name.to_str().unwrap())
        .unwrap();
    resize(&program, columns, rows);
    (emulator.into(), program)
}

pub fn resize(program: &File, columns: u16, rows: u16) {
    let size = Winsize {
        ws_col: columns,
        ws_row: rows,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(program, size).unwrap();
}
