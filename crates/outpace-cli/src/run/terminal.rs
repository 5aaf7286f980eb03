//! The user's terminal while a program runs on a pseudoterminal: raw, so that every key goes through,
//! and restored whenever the program is stopped or has ended.

#![allow(unsafe_code)]

use crate::platform::doing::Doing;
use crate::platform::has_proc;
use crate::platform::procfs::{self, Stat};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer};
use rustix::termios::{self, OutputModes};
use std::cell::OnceCell;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// The time that a waiting write is given to use new room, and the number of times.
const LAST_WRITE: Duration = Duration::from_millis(5);
const DISCARDS: u32 = 200;

/// A terminal's settings, in a form that can be sent to another process.
#[derive(Clone)]
pub(super) struct Settings(libc::termios);

impl Settings {
    /// Four words of flags, the line discipline, the special characters, two speeds.
    pub(super) const SIZE: usize = 4 * 4 + 1 + libc::NCCS + 2 * 4;

    pub(super) fn of(descriptor: impl AsFd) -> io::Result<Self> {
        // SAFETY: zeroes are valid for its numbers; the call fills it in, or fails, which is checked.
        unsafe {
            let mut settings: libc::termios = std::mem::zeroed();
            match libc::tcgetattr(descriptor.as_fd().as_raw_fd(), &raw mut settings) {
                0 => Ok(Self(settings)),
                _ => Err(io::Error::last_os_error()),
            }
        }
    }

    /// Sets a terminal at once: unread output must not hold up the first key.
    pub(super) fn apply(&self, descriptor: impl AsFd) -> io::Result<()> {
        let number = descriptor.as_fd().as_raw_fd();
        // SAFETY: the structure is valid for the call.
        match unsafe { libc::tcsetattr(number, libc::TCSANOW, &raw const self.0) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// The same, but every key goes through, and output is not processed.
    fn raw(&self) -> Self {
        let mut raw = self.clone();
        // SAFETY: the structure is valid for the call.
        unsafe { libc::cfmakeraw(&raw mut raw.0) };
        raw
    }

    /// The same, but each key except LF stands for itself. A terminal that reads lines goes on reading lines; those typed before
    /// stay lines.
    fn literal(&self) -> Self {
        let mut literal = self.raw();
        literal.0.c_lflag |= self.0.c_lflag & libc::ICANON;
        literal.0.c_cc = [libc::_POSIX_VDISABLE; libc::NCCS];
        literal.0.c_cc[libc::VMIN] = 1;
        literal.0.c_cc[libc::VTIME] = 0;
        literal
    }

    /// The same, but each key can be read at once. Keys are echoed, as before it: it cannot be told which ones are typed now.
    fn without_lines(&self) -> Self {
        let mut settings = self.clone();
        settings.0.c_lflag &= !libc::ICANON;
        settings.0.c_cc[libc::VMIN] = 1;
        settings.0.c_cc[libc::VTIME] = 0;
        settings
    }

    /// The same, but one key is an end of input.
    fn literal_but_for(&self, end_of_input: u8) -> Self {
        let mut literal = self.literal();
        literal.0.c_cc[libc::VEOF] = end_of_input;
        literal
    }

    /// [Literal](Self::literal), and reading lines.
    fn literal_lines(&self) -> Self {
        let mut settings = self.literal();
        settings.0.c_lflag |= libc::ICANON;
        settings
    }

    /// The same, while the rest of the output is shown: output is not processed, keys may be signals, and no key is echoed into
    /// the output. Line editors show such keys later.
    fn while_the_rest_is_shown(&self) -> Self {
        let mut settings = self.clone();
        settings.0.c_oflag = self.raw().0.c_oflag;
        settings.0.c_lflag |= libc::ISIG;
        settings.0.c_lflag &= !(libc::ECHO | libc::ECHONL);
        settings
    }

    /// The same, but with another terminal's treatment of keys and output, which programs set. The line's own settings
    /// (speed, size of a character) stay.
    fn with_modes_of(&self, other: &Self) -> Self {
        let mut it = other.clone();
        it.0.c_cflag = self.0.c_cflag;
        it.0.c_line = self.0.c_line;
        // SAFETY: the structures are valid for the calls.
        unsafe {
            libc::cfsetispeed(&raw mut it.0, libc::cfgetispeed(&raw const self.0));
            libc::cfsetospeed(&raw mut it.0, libc::cfgetospeed(&raw const self.0));
        }
        it
    }

    /// Gives the program's terminal these, as far as programs set them.
    pub(super) fn lend(&self, pty: impl AsFd) {
        if let Ok(theirs) = Self::of(&pty) {
            let _ = theirs.with_modes_of(self).apply(&pty);
        }
    }

    fn is_canonical(&self) -> bool {
        self.0.c_lflag & libc::ICANON != 0
    }

    fn has_same_modes(&self, other: &Self) -> bool {
        self.0.c_lflag == other.0.c_lflag
            && self.0.c_oflag == other.0.c_oflag
            && self.0.c_iflag == other.0.c_iflag
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let it = &self.0;
        let flags = [it.c_iflag, it.c_oflag, it.c_cflag, it.c_lflag];
        // SAFETY: the structure is valid for both calls.
        let speeds = unsafe { [libc::cfgetispeed(it), libc::cfgetospeed(it)] };
        let words = |words: &[u32]| words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let (flags, speeds): (Vec<u8>, Vec<u8>) = (words(&flags), words(&speeds));
        [&flags[..], &[it.c_line], &it.c_cc, &speeds].concat()
    }

    pub(super) fn from_bytes(bytes: [u8; Self::SIZE]) -> Self {
        let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four"));
        // SAFETY: zeroes are valid for its numbers, and the structure is valid for both calls.
        unsafe {
            let mut it: libc::termios = std::mem::zeroed();
            (it.c_iflag, it.c_oflag) = (word(0), word(4));
            (it.c_cflag, it.c_lflag) = (word(8), word(12));
            it.c_line = bytes[16];
            it.c_cc.copy_from_slice(&bytes[17..17 + libc::NCCS]);
            libc::cfsetispeed(&raw mut it, word(Self::SIZE - 8));
            libc::cfsetospeed(&raw mut it, word(Self::SIZE - 4));
            Self(it)
        }
    }
}

/// Restores a terminal if its settings are ours: one of `made`, or a step towards that. Not for a terminal that was restored:
/// another program may have chosen the same settings.
pub(super) fn undo(descriptor: impl AsFd, before: &Settings, made: &[Settings]) {
    let Ok(now) = Settings::of(&descriptor) else {
        return;
    };
    let on_the_way = [
        before.without_lines(),
        before.literal_lines(),
        before.literal_but_for(now.0.c_cc[libc::VEOF]),
    ];
    let is_step = |step: &Settings| now.has_same_modes(step) && now.0.c_cc == step.0.c_cc;
    if made.iter().any(|made| now.has_same_modes(made)) || on_the_way.iter().any(is_step) {
        // A terminal that has gone needs no restoring. A key may have stopped its output.
        let _ = termios::tcflow(&descriptor, termios::Action::OOn);
        let _ = before.apply(&descriptor);
    }
}

/// A key as the terminal's line discipline has seen it: a byte, or `None` for an end of input (Ctrl-D).
pub(super) type SeenKey = Option<u8>;

/// The program's side of a pseudo-terminal, and its settings. Opened anew, so that only this descriptor is non-blocking: another
/// reader may take the bytes that poll(2) has seen.
fn program_side(pty: &OwnedFd) -> io::Result<(OwnedFd, Settings)> {
    let does_not_wait = OpenptFlags::from_bits_retain(OFlags::NONBLOCK.bits());
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC | does_not_wait;
    Ok((ioctl_tiocgptpeer(pty, flags)?, Settings::of(pty)?))
}

/// The longest that a pseudo-terminal takes to see keys, which a thread of the kernel delivers.
const LAST_KEY: Duration = Duration::from_millis(500);

/// Types keys on a pseudo-terminal that another terminal has seen and echoed: here they are not echoed, and stand for themselves.
/// No process may change the settings meanwhile. Returns the keys that are left, because the terminal is full, or all of them where this
/// is impossible.
pub(super) fn type_seen<'a>(pty: &OwnedFd, seen: &'a [SeenKey]) -> &'a [SeenKey] {
    if seen.is_empty() {
        return seen;
    }
    let all = seen;
    let Ok((theirs, settings)) = program_side(pty) else {
        return all;
    };
    let (seen, left) = seen.split_at(seen.len().min(LONGEST_LINE - 1));
    let takes_output = || {
        let mut ready = [PollFd::new(&theirs, PollFlags::OUT)];
        poll(&mut ready, Some(&Timespec::default())).is_ok()
            && ready[0].revents().contains(PollFlags::OUT)
    };
    let mut unused = (1..=u8::MAX).filter(|key| *key != b'\n' && !seen.contains(&Some(*key)));
    let (Some(end_of_input), Some(stop)) = (unused.next(), unused.next()) else {
        return all;
    };
    let mut literal = settings.literal_but_for(end_of_input);
    // The program may be writing.
    literal.0.c_oflag = settings.0.c_oflag;
    // Keys are seen some time after they are written. The last one stops output, so the others have been seen when output stops. A
    // terminal that is full of lines looks at no further key; there the lines can be read when all keys have been seen.
    let last_end = seen
        .iter()
        .rposition(|key| key.is_none_or(|key| key == b'\n'));
    let lines = &seen[..last_end.map_or(0, |last| last + 1)];
    let is_full = seen.len() == LONGEST_LINE - 1 && !lines.is_empty();
    let readable = lines.iter().flatten().count() as u64;
    let are_seen = || {
        if is_full {
            rustix::io::ioctl_fionread(&theirs).is_ok_and(|count| count >= readable)
        } else {
            !takes_output()
        }
    };
    let mut stopping = literal.clone();
    stopping.0.c_iflag |= libc::IXON;
    stopping.0.c_cc[libc::VSTOP] = stop;
    if !takes_output() || stopping.apply(&theirs).is_err() {
        return all;
    }
    let keys = seen.iter().map(|key| key.unwrap_or(end_of_input));
    let keys: Vec<u8> = keys.chain((!is_full).then_some(stop)).collect();
    let is_typed = rustix::io::write(pty, &keys) == Ok(keys.len());
    let began = Instant::now();
    while is_typed && !are_seen() && began.elapsed() < LAST_KEY {
        std::thread::yield_now();
    }
    // Without IXON output goes on.
    let _ = literal.apply(&theirs);
    let _ = settings.apply(&theirs);
    left
}

/// Takes the keys that were typed on a pseudo-terminal and not read.
pub(super) fn take_unread(pty: &OwnedFd) -> Vec<SeenKey> {
    let mut unread = Vec::new();
    let Ok((theirs, settings)) = program_side(pty) else {
        return unread;
    };
    if settings.is_canonical() {
        unread = take_lines(&theirs, &settings);
    }
    // The beginning of a line can be read where characters are read.
    let mut by_character = settings.clone();
    by_character.0.c_lflag &= !libc::ICANON;
    by_character.0.c_cc[libc::VMIN] = 1;
    by_character.0.c_cc[libc::VTIME] = 0;
    if by_character.apply(&theirs).is_ok() {
        read_while_ready(&theirs, |keys| {
            unread.extend(keys.iter().copied().map(Some))
        });
        let _ = settings.apply(&theirs);
    }
    unread
}

/// Reads the finished lines from a terminal that reads lines, or did so with these settings when they were typed. (Later an end of
/// input would be read as a NUL.)
fn take_lines(from: impl AsFd, settings: &Settings) -> Vec<SeenKey> {
    let ends = [libc::VEOL, libc::VEOL2].map(|index| settings.0.c_cc[index]);
    let is_end = |last: &u8| *last == b'\n' || ends.contains(last) && *last != 0;
    let mut typed = Vec::new();
    read_while_ready(from, |line| {
        typed.extend(line.iter().copied().map(Some));
        if !line.last().is_some_and(is_end) {
            typed.push(None);
        }
    });
    typed
}

/// The most that a terminal holds, and one more (n_tty(4)).
const LONGEST_LINE: usize = 4096;

/// Whether there are bytes to read, or the other side has gone.
fn readiness(from: impl AsFd) -> PollFlags {
    let mut ready = [PollFd::new(&from, PollFlags::IN)];
    match poll(&mut ready, Some(&Timespec::default())) {
        Ok(count) if count > 0 => ready[0].revents(),
        _ => PollFlags::empty(),
    }
}

/// Reads all available bytes without waiting.
fn read_while_ready(from: impl AsFd, mut take: impl FnMut(&[u8])) {
    let mut buffer = [0; LONGEST_LINE];
    loop {
        let ready = readiness(&from);
        if !ready.contains(PollFlags::IN) {
            return;
        }
        match rustix::io::read(&from, &mut buffer) {
            // Ctrl-D reads as an empty read once, a terminal that has gone for ever.
            Ok(0) if ready.contains(PollFlags::HUP) => return,
            Ok(read) => take(&buffer[..read]),
            Err(_) => return,
        }
    }
}

/// Whether a terminal begins a new line with a carriage return of its own.
pub(super) fn adds_returns(descriptor: impl AsFd) -> bool {
    termios::tcgetattr(descriptor).is_ok_and(|settings| {
        settings
            .output_modes
            .contains(OutputModes::OPOST | OutputModes::ONLCR)
    })
}

/// How a terminal processes output: not at all (`Some(false)`), by making CR LF of LF (`Some(true)`), or in another way, which may
/// depend on the cursor's column (`None`).
pub(super) fn only_adds_returns(descriptor: impl AsFd) -> Option<bool> {
    let modes = termios::tcgetattr(descriptor).ok()?.output_modes;
    if !modes.contains(OutputModes::OPOST) {
        return Some(false);
    }
    let others = OutputModes::OLCUC
        | OutputModes::OCRNL
        | OutputModes::ONOCR
        | OutputModes::ONLRET
        | OutputModes::TABDLY;
    let adds_returns = modes.contains(OutputModes::ONLCR) && !modes.intersects(others);
    adds_returns.then_some(true)
}

/// Whether one of these keys sends SIGTSTP (Ctrl-Z), by the settings of a pseudo-terminal.
pub(super) fn suspends(pty: impl AsFd, typed: &[u8]) -> bool {
    use termios::{LocalModes, SpecialCodeIndex};
    termios::tcgetattr(pty).is_ok_and(|settings| {
        let key = settings.special_codes[SpecialCodeIndex::VSUSP];
        settings.local_modes.contains(LocalModes::ISIG) && key != 0 && typed.contains(&key)
    })
}

/// Passes on the keys that stop output and let it go on; returns the other ones.
pub(super) fn type_flow_control(pty: impl AsFd, typed: &[u8]) -> Vec<u8> {
    use termios::{InputModes, SpecialCodeIndex};
    let pty = pty.as_fd();
    let codes = match termios::tcgetattr(pty) {
        Ok(settings) if settings.input_modes.contains(InputModes::IXON) => {
            let codes = [SpecialCodeIndex::VSTART, SpecialCodeIndex::VSTOP];
            codes.map(|index| settings.special_codes[index]).to_vec()
        }
        _ => Vec::new(),
    };
    let (flow, others): (Vec<u8>, Vec<u8>) = typed.iter().partition(|key| codes.contains(*key));
    if !flow.is_empty() {
        // A pseudo-terminal that takes no keys has not stopped output.
        let _ = rustix::io::write(pty, &flow);
    }
    others
}

/// The terminal that keys are read from.
pub(super) struct Terminal {
    descriptor: OwnedFd,
    /// The settings to restore, while it is raw.
    before: Option<Settings>,
    /// A key has stopped its output.
    is_stopped: bool,
    /// Keys are for the program. Without them the terminal's settings are another program's.
    has_reader: bool,
    /// No process had it as its controlling terminal when that was asked.
    is_unowned: OnceCell<bool>,
    /// The terminal, opened anew, so that another `outpace run` has not the same lock (flock(2)). `None` where that is not permitted.
    /// The leader of the session has this descriptor, too: if we are killed, the lock is held until it has restored the terminal.
    lock: Option<OwnedFd>,
}

impl Terminal {
    /// Opens the terminal of our output: through stdin when that is one, else by its name.
    pub(super) fn open() -> io::Result<Self> {
        let stdin = rustix::stdio::stdin();
        let descriptor = if termios::isatty(stdin) {
            stdin.try_clone_to_owned()?
        } else {
            std::fs::OpenOptions::new()
                .read(true)
                .write(true)
                .open("/dev/tty")?
                .into()
        };
        Ok(Self {
            descriptor,
            before: None,
            is_stopped: false,
            has_reader: termios::isatty(stdin),
            is_unowned: OnceCell::new(),
            lock: open_anew(rustix::stdio::stdout()).ok(),
        })
    }

    /// Whether another `outpace run` has made the terminal raw: its settings are not those to copy or to restore. If none has, none
    /// will until this one has [restored](Self::restore) it.
    pub(super) fn is_held_by_another(&self) -> bool {
        const LOOKS: u32 = 10;
        let Some(lock) = &self.lock else {
            return false;
        };
        for _ in 0..LOOKS {
            if flock(lock, FlockOperation::NonBlockingLockExclusive) != Err(Errno::WOULDBLOCK) {
                return false;
            }
            if Settings::of(lock).is_ok_and(|now| !now.is_canonical()) {
                return true;
            }
            // It makes the terminal raw, or was stopped (SIGSTOP), and a shell has restored the terminal.
            std::thread::sleep(Duration::from_millis(2));
        }
        false
    }

    /// Whether it is for us to make the terminal raw.
    pub(super) fn may_be_made_raw(&self) -> bool {
        self.before.is_none() && self.has_reader && self.is_ours() && !self.is_held_by_another()
    }

    /// Looks whether the program reads keys by another way than stdin, as `less` in a pipeline does. Other programs have none to read, and a
    /// script that has started one in the background, to which the shell has given the null device, goes on reading keys itself.
    /// Returns whether it does so since the last look.
    pub(super) fn look_for_reader(&mut self, pty: impl AsFd, program: i32) -> bool {
        const USUAL: libc::tcflag_t = libc::ICANON | libc::ECHO;
        let has_set = || {
            let settings = Settings::of(&pty);
            settings.is_ok_and(|now| now.0.c_lflag & USUAL != USUAL)
        };
        let reads = || {
            let name = rustix::pty::ptsname(&pty, Vec::new());
            name.is_ok_and(|name| reads_terminal(program, &name.to_string_lossy()))
        };
        let is_new = !self.has_reader && (has_set() || reads());
        self.has_reader |= is_new;
        is_new
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    /// Another descriptor of the terminal.
    pub(super) fn share(&self) -> io::Result<OwnedFd> {
        self.descriptor.try_clone()
    }

    /// Whether our process group is the terminal's foreground group, or stands for that.
    pub(super) fn is_ours(&self) -> bool {
        match termios::tcgetpgrp(&self.descriptor) {
            Ok(group) => group == rustix::process::getpgrp(),
            Err(Errno::NOTTY) => self.stands_for_foreground(),
            Err(_) => false,
        }
    }

    /// Whether the keys of a terminal that is not our controlling one are meant for us: the process that has put us into another
    /// session, and waits for us (`su -c`, `setsid --wait`), is in the terminal's foreground; or no session has the terminal (a
    /// container's, that of a system without a login).
    fn stands_for_foreground(&self) -> bool {
        let Ok(stat) = rustix::fs::fstat(&self.descriptor) else {
            return false;
        };
        let mut ancestor = std::os::unix::process::parent_id() as i32;
        while let Some(process) = Stat::of(ancestor) {
            if process.has_terminal(stat.st_rdev) {
                return process.group == process.foreground;
            }
            ancestor = process.parent;
        }
        let has_it =
            |process: i32| Stat::of(process).is_some_and(|it| it.has_terminal(stat.st_rdev));
        let is_unowned = || has_proc() && !procfs::processes().into_iter().any(has_it);
        *self.is_unowned.get_or_init(is_unowned)
    }

    /// Whether keys go through.
    pub(super) fn is_raw(&self) -> bool {
        self.before.is_some()
    }

    /// Whether the terminal has another foreground group than ours.
    pub(super) fn is_for_others(&self) -> bool {
        termios::tcgetpgrp(&self.descriptor).is_ok_and(|group| group != rustix::process::getpgrp())
    }

    /// Makes the terminal raw if we are in its foreground; returns the keys typed before, as the terminal has seen and echoed them.
    /// Just before that, `tell` gets the settings to restore, and the new ones.
    pub(super) fn make_raw(
        &mut self,
        tell: impl FnOnce(&Settings, &Settings),
    ) -> io::Result<Vec<SeenKey>> {
        let (mut seen, mut finished) = (Vec::new(), 0);
        if !self.may_be_made_raw() {
            if self.before.is_none() {
                self.unlock();
            }
            return Ok(seen);
        }
        let before = Settings::of(&self.descriptor)?;
        tell(&before, &before.raw());
        if before.is_canonical() {
            // This also waits for keys on their way, which the terminal sees with its own settings.
            seen = take_lines(&self.descriptor, &before);
            finished = seen.len();
            // Reads the beginning of a line as well.
            let _ = before.without_lines().apply(&self.descriptor);
        }
        // Keys that a terminal holds when it begins to read lines become one line (n_tty(4)): keys typed from here on come after it.
        let is_line = before.literal_lines().apply(&self.descriptor).is_ok();
        if is_line && readiness(&self.descriptor).contains(PollFlags::IN) {
            let mut buffer = [0; LONGEST_LINE];
            let read = rustix::io::read(&self.descriptor, &mut buffer).unwrap_or(0);
            seen.extend(buffer[..read].iter().copied().map(Some));
        }
        // Ends of input: those typed before, which are NUL when the terminal no longer reads lines, and those typed after. In a line
        // that was finished before, the key stands for itself (Ctrl-V Ctrl-D).
        let end_of_input = before.0.c_cc[libc::VEOF];
        if before.is_canonical() && end_of_input != libc::_POSIX_VDISABLE {
            let later = seen[finished..].iter_mut();
            let ends = later.filter(|key| [Some(end_of_input), Some(0)].contains(key));
            ends.for_each(|key| *key = None);
        }
        match before.raw().apply(&self.descriptor) {
            Ok(()) => self.before = Some(before),
            // The keys that were read are the caller's all the same.
            Err(_) => drop(before.apply(&self.descriptor)),
        }
        Ok(seen)
    }

    /// Takes the settings of the program's terminal as those to restore: without `run`, the program would have set this one.
    pub(super) fn adopt_settings(&mut self, pty: impl AsFd) {
        if let (Some(before), Ok(left)) = (&mut self.before, Settings::of(pty)) {
            *before = before.with_modes_of(&left);
        }
    }

    /// Leaves keys in the terminal from now on, for its next reader, behind those that the program has not read or was not given.
    /// Output is not processed yet; Ctrl-C is a signal. `tell` is as in [`make_raw`](Self::make_raw).
    ///
    /// Linux may refuse to take keys (`TIOCSTI`, by dev.tty.legacy_tiocsti). Then the keys that the program has not read are
    /// returned, and the other ones are lost.
    pub(super) fn give_keys_back<'a>(
        &self,
        unread: &'a [SeenKey],
        mut typed: Vec<u8>,
        tell: impl FnOnce(&Settings, &Settings),
    ) -> &'a [SeenKey] {
        let Some(before) = &self.before else {
            return unread;
        };
        tell(before, &before.while_the_rest_is_shown());
        let mut take = |keys: &[u8]| typed.extend_from_slice(keys);
        read_while_ready(&self.descriptor, &mut take);
        let mut unused = (1..=u8::MAX).filter(|key| *key != b'\n' && !unread.contains(&Some(*key)));
        let end_of_input = unused.next().unwrap_or_default();
        // Keys that a terminal has seen must stand for themselves here.
        let mut left = unread;
        if before
            .literal_but_for(end_of_input)
            .apply(&self.descriptor)
            .is_ok()
        {
            // Keys typed in between.
            read_while_ready(&self.descriptor, &mut take);
            let keys = unread.iter().map(|key| key.unwrap_or(end_of_input));
            left = &unread[self.type_again(keys)..];
        }
        // A terminal that has gone needs no restoring.
        let _ = before.while_the_rest_is_shown().apply(&self.descriptor);
        self.type_again(typed.into_iter());
        left
    }

    /// Types keys as far as the system allows; returns how many.
    fn type_again(&self, keys: impl Iterator<Item = u8>) -> usize {
        // SAFETY: the call reads one byte, which is there.
        let is_taken = |key: &u8| unsafe {
            libc::ioctl(self.descriptor.as_raw_fd(), libc::TIOCSTI, &raw const *key) == 0
        };
        keys.take_while(is_taken).count()
    }

    /// Discards output that the terminal has not shown, until no more is on its way, and ends a sequence that may have been cut
    /// in the middle.
    pub(super) fn discard_output(&self, is_over: impl Fn() -> bool) {
        for _ in 0..DISCARDS {
            // A write that waits for room is woken when stopped output goes on, not when room is made.
            let _ = termios::tcflush(&self.descriptor, termios::QueueSelector::OFlush);
            let _ = termios::tcflow(&self.descriptor, termios::Action::OOff);
            let _ = termios::tcflow(&self.descriptor, termios::Action::OOn);
            std::thread::sleep(LAST_WRITE);
            if is_over() {
                break;
            }
        }
        let _ = termios::tcflush(&self.descriptor, termios::QueueSelector::OFlush);
        // CAN ends an escape sequence, SGR 0 resets colours, DECSET 25 shows the cursor.
        let _ = rustix::io::write(&self.descriptor, b"\x18\x1b[0m\x1b[?25h");
    }

    /// Stops this terminal's output, and lets it go on, as the keys just typed do on the program's (termios(3): IXON, IXANY; a key that
    /// sends a signal lets output go on). Otherwise queued output would be shown after Ctrl-S.
    pub(super) fn follow_flow_control(&mut self, pty: impl AsFd, typed: &[u8]) {
        use termios::{InputModes, LocalModes, SpecialCodeIndex};
        let Ok(settings) = termios::tcgetattr(pty) else {
            return;
        };
        let has_flow_control = settings.input_modes.contains(InputModes::IXON);
        let is = |key: u8, index| key != 0 && settings.special_codes[index] == key;
        for key in typed.iter().copied() {
            let sends_signal = settings.local_modes.contains(LocalModes::ISIG)
                && (is(key, SpecialCodeIndex::VINTR)
                    || is(key, SpecialCodeIndex::VQUIT)
                    || is(key, SpecialCodeIndex::VSUSP));
            if has_flow_control && is(key, SpecialCodeIndex::VSTOP) {
                self.is_stopped |= termios::tcflow(&self.descriptor, termios::Action::OOff).is_ok();
            } else if !has_flow_control
                || sends_signal
                || is(key, SpecialCodeIndex::VSTART)
                || settings.input_modes.contains(InputModes::IXANY)
            {
                self.let_output_go_on();
            }
        }
    }

    fn let_output_go_on(&mut self) {
        if std::mem::take(&mut self.is_stopped) {
            let _ = termios::tcflow(&self.descriptor, termios::Action::OOn);
        }
    }

    /// Restores the settings.
    pub(super) fn restore(&mut self) {
        self.let_output_go_on();
        if let Some(before) = self.before.take() {
            // A terminal that has gone needs no restoring.
            let _ = before.apply(&self.descriptor);
        }
        self.unlock();
    }

    fn unlock(&self) {
        if let Some(lock) = &self.lock {
            // Fails only for a descriptor that is none.
            let _ = flock(lock, FlockOperation::Unlock);
        }
    }
}

/// Whether a process, or one of those that it has started, has opened its controlling terminal by that name, or reads a descriptor of
/// the terminal of this name.
fn reads_terminal(process: i32, name: &str) -> bool {
    let link = |descriptor: i32| procfs::link(process, descriptor);
    let is_opened = |descriptor: &i32| link(*descriptor).is_some_and(|path| path == "/dev/tty");
    let mut children = procfs::children(process, process).into_iter();
    procfs::descriptors(process).iter().any(is_opened)
        || Doing::of(process, process)
            .read()
            .and_then(link)
            .is_some_and(|path| path == name)
        || children.any(|child| reads_terminal(child, name))
}

fn open_anew(terminal: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let name = termios::ttyname(terminal, Vec::new())?;
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(name, flags, Mode::empty())?)
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.restore();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_more_is_read_from_a_terminal_that_has_gone() {
        let (ours, theirs) = crate::platform::pty::open().unwrap();
        drop(ours);
        // Not at once: another test's child holds the other side, too, until it starts its program.
        let mut terminal = [PollFd::new(&theirs, PollFlags::IN)];
        while rustix::event::poll(&mut terminal, None) != Ok(1) {}
        assert!(readiness(&theirs).contains(PollFlags::IN));
        // An endless loop here would mean that the end is not seen.
        read_while_ready(&theirs, |keys| panic!("read {keys:?}"));
    }

    #[test]
    fn keys_that_another_process_takes_first_are_not_waited_for() {
        let (ours, theirs) = crate::platform::pty::open().unwrap();
        let (side, _) = program_side(&ours).unwrap();
        assert_eq!(rustix::io::read(&side, &mut [0]), Err(Errno::AGAIN));
        // The program's own descriptor still blocks.
        let flags = rustix::fs::fcntl_getfl(&theirs).unwrap();
        assert!(!flags.contains(OFlags::NONBLOCK));
    }

    /// They are given to the program as seen, and it does not echo them again.
    #[test]
    fn a_key_that_comes_while_the_beginning_of_a_line_is_taken_is_echoed() {
        let (ours, theirs) = crate::platform::pty::open().unwrap();
        let before = Settings::of(&theirs).unwrap();
        let read = |from: &OwnedFd| {
            let mut read = Vec::new();
            read_while_ready(from, |bytes| read.extend_from_slice(bytes));
            read
        };
        rustix::io::write(&ours, b"begin").unwrap();
        assert_eq!(read(&theirs), b"");
        before.without_lines().apply(&theirs).unwrap();
        rustix::io::write(&ours, b"ning\r").unwrap();
        assert_eq!(read(&theirs), b"beginning\n");
        assert_eq!(read(&ours), b"beginning\r\n");
    }

    /// At whichever step the process that sets them is killed.
    #[test]
    fn all_that_a_terminal_is_on_the_way_is_undone() {
        let (_ours, theirs) = crate::platform::pty::open().unwrap();
        let same = |one: &Settings, other: &Settings| one.to_bytes() == other.to_bytes();
        let lines = Settings::of(&theirs).unwrap();
        let mut characters = lines.clone();
        characters.0.c_lflag &= !(libc::ICANON | libc::ECHO);
        for before in [lines, characters] {
            let rest = before.while_the_rest_is_shown();
            let end_of_input = before.literal_but_for(1);
            for step in [
                before.without_lines(),
                before.literal_lines(),
                before.raw(),
                end_of_input,
                rest.clone(),
            ] {
                step.apply(&theirs).unwrap();
                undo(&theirs, &before, &[before.raw(), rest.clone()]);
                assert!(same(&Settings::of(&theirs).unwrap(), &before));
            }
            let mut of_another_program = before.clone();
            of_another_program.0.c_oflag ^= libc::ONLCR;
            of_another_program.apply(&theirs).unwrap();
            undo(&theirs, &before, &[before.raw(), rest]);
            assert!(same(&Settings::of(&theirs).unwrap(), &of_another_program));
        }
    }
}
