//! The system calls behind `--exact` that have no safe wrapper: `ptrace`, the seccomp filter,
//! `perf_event_open` and its ring buffer.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

fn check(result: libc::c_long) -> io::Result<libc::c_long> {
    if result == -1 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

// ---- ptrace -----------------------------------------------------------------------------------

/// Waits for any child or tracee: its thread id and raw status. It first asks in a loop for `spin`:
/// the next stop is often a few microseconds away, and waking a sleeping processor takes longer.
pub(in crate::trace) fn wait_any(spin: Duration) -> io::Result<(i32, i32)> {
    let until = Instant::now() + spin;
    loop {
        let patience = if Instant::now() < until {
            libc::WNOHANG
        } else {
            0
        };
        let mut status = 0;
        // SAFETY: `status` is a valid place for the result.
        let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::__WALL | patience) };
        if check(pid.into())? != 0 {
            return Ok((pid, status));
        }
    }
}

/// What a traced thread has stopped for, if it has: the signal, and above it the event. Its end is left to others.
pub(in crate::trace) fn stop_of(thread: i32) -> io::Result<Option<i32>> {
    // SAFETY: the structure is plain numbers, for which zeroes are valid, and the call fills it in.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let events = libc::WSTOPPED | libc::WNOHANG | libc::__WALL;
        check(libc::waitid(libc::P_PID, thread as libc::id_t, &raw mut info, events).into())?;
        Ok(
            (info.si_code == libc::CLD_TRAPPED || info.si_code == libc::CLD_STOPPED)
                .then(|| info.si_status()),
        )
    }
}

/// Waits until a thread has something to report; whether that is its end, which is left to others.
pub(in crate::trace) fn has_ended(thread: i32) -> io::Result<bool> {
    // SAFETY: the structure is plain numbers, for which zeroes are valid, and the call fills it in.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let events = libc::WEXITED | libc::WSTOPPED | libc::WNOWAIT | libc::__WALL;
        check(libc::waitid(libc::P_PID, thread as libc::id_t, &raw mut info, events).into())?;
        Ok(matches!(
            info.si_code,
            libc::CLD_EXITED | libc::CLD_KILLED | libc::CLD_DUMPED
        ))
    }
}

/// A request's type differs between C libraries.
fn ptrace(
    request: impl Into<i64>,
    thread: i32,
    address: usize,
    data: usize,
) -> io::Result<libc::c_long> {
    // SAFETY: only requests whose `address` and `data` are numbers, or buffers the callers below
    // keep alive for the call, are made; the kernel checks that `thread` is our tracee.
    check(unsafe { libc::ptrace(request.into() as _, thread, address, data) })
}

/// Starts tracing a thread without stopping it.
pub(in crate::trace) fn seize(thread: i32, options: libc::c_int) -> io::Result<()> {
    ptrace(libc::PTRACE_SEIZE, thread, 0, options as usize).map(drop)
}

/// Stops a traced thread.
pub(in crate::trace) fn interrupt(thread: i32) -> io::Result<()> {
    ptrace(libc::PTRACE_INTERRUPT, thread, 0, 0).map(drop)
}

/// How a stopped thread goes on.
#[derive(Clone, Copy)]
pub(in crate::trace) enum Resume {
    /// To the next event.
    Run,
    /// To the next event, or the entry or exit of a system call.
    ToCall,
    /// It stays stopped (job control), but may be continued by others.
    Listen,
}

/// Lets a stopped thread go on, delivering `signal` unless it is 0.
pub(in crate::trace) fn resume(thread: i32, how: Resume, signal: i32) -> io::Result<()> {
    let request = match how {
        Resume::Run => libc::PTRACE_CONT,
        Resume::ToCall => libc::PTRACE_SYSCALL,
        Resume::Listen => libc::PTRACE_LISTEN,
    };
    ptrace(request, thread, 0, signal as usize).map(drop)
}

/// The number that came with the event a thread is stopped at (a new thread's id, a former id).
pub(in crate::trace) fn event_message(thread: i32) -> io::Result<u64> {
    let mut message: libc::c_ulong = 0;
    ptrace(
        libc::PTRACE_GETEVENTMSG,
        thread,
        0,
        (&raw mut message) as usize,
    )?;
    Ok(message)
}

/// Where a thread is stopped with respect to a system call.
pub(in crate::trace) enum AtCall {
    /// At its entry, by the filter or by itself.
    Entry { number: i64, arguments: [u64; 6] },
    /// At its exit.
    Exit { result: i64 },
    /// Elsewhere.
    No,
}

/// `struct ptrace_syscall_info` of `<linux/ptrace.h>`, which not every C library has.
#[repr(C)]
#[derive(Default)]
struct CallInfo {
    op: u8,
    arch: u32,
    instruction_pointer: u64,
    stack_pointer: u64,
    /// The call's number, or at its exit its result.
    number: u64,
    arguments: [u64; 6],
    filter_data: u32,
}

const PTRACE_GET_SYSCALL_INFO: u32 = 0x420e;
const PTRACE_SYSCALL_INFO_ENTRY: u8 = 1;
const PTRACE_SYSCALL_INFO_EXIT: u8 = 2;
const PTRACE_SYSCALL_INFO_SECCOMP: u8 = 3;

/// What `PTRACE_GET_SYSCALL_INFO` says about a stopped thread.
pub(in crate::trace) fn at_call(thread: i32) -> io::Result<AtCall> {
    let mut info = CallInfo::default();
    ptrace(
        PTRACE_GET_SYSCALL_INFO,
        thread,
        size_of_val(&info),
        (&raw mut info) as usize,
    )?;
    Ok(match info.op {
        PTRACE_SYSCALL_INFO_ENTRY | PTRACE_SYSCALL_INFO_SECCOMP => AtCall::Entry {
            number: info.number as i64,
            arguments: info.arguments,
        },
        PTRACE_SYSCALL_INFO_EXIT => AtCall::Exit {
            result: info.number as i64,
        },
        _ => AtCall::No,
    })
}

// ---- starting the child ------------------------------------------------------------------------

/// Makes the child announce itself on `ready` and wait for a byte on `go` before it becomes the
/// program; then, with a filter, install that.
pub(in crate::trace) fn hold_at_gate(
    command: &mut Command,
    ready: OwnedFd,
    go: OwnedFd,
    filter: Option<Vec<libc::sock_filter>>,
) {
    let announce_and_wait = move || {
        let process = std::process::id().to_ne_bytes();
        let mut byte = 0_u8;
        // SAFETY: both descriptors are open (owned by this closure) and the buffers are valid;
        // `read` and `write` may be called between fork and exec.
        let waited = unsafe {
            libc::write(ready.as_raw_fd(), process.as_ptr().cast(), process.len()) == 4
                && libc::read(go.as_raw_fd(), (&raw mut byte).cast(), 1) == 1
        };
        if !waited {
            return Err(io::Error::from_raw_os_error(libc::ECANCELED));
        }
        filter.as_deref().map_or(Ok(()), install_filter)
    };
    // SAFETY: the closure allocates nothing and calls async-signal-safe functions only.
    unsafe { command.pre_exec(announce_and_wait) };
}

/// Installs a seccomp filter in this process.
fn install_filter(filter: &[libc::sock_filter]) -> io::Result<()> {
    let program = libc::sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_ptr().cast_mut(),
    };
    // SAFETY: the program outlives the call, and the kernel copies and checks it.
    let install = || unsafe {
        check(
            libc::prctl(
                libc::PR_SET_SECCOMP,
                libc::SECCOMP_MODE_FILTER,
                &raw const program,
            )
            .into(),
        )
    };
    if install().is_err() {
        // Without privileges a filter demands that no later exec gains any.
        // SAFETY: no memory is involved.
        check(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }.into())?;
        install()?;
    }
    Ok(())
}

// ---- perf events -------------------------------------------------------------------------------

/// `struct perf_event_attr` as of Linux 4.1 (`PERF_ATTR_SIZE_VER5`).
#[repr(C)]
#[derive(Clone, Default)]
pub(in crate::trace) struct Attributes {
    pub(in crate::trace) kind: u32,
    pub(in crate::trace) size: u32,
    pub(in crate::trace) config: u64,
    pub(in crate::trace) sample_period: u64,
    pub(in crate::trace) sample_type: u64,
    pub(in crate::trace) read_format: u64,
    pub(in crate::trace) flags: u64,
    pub(in crate::trace) wakeup: u32,
    pub(in crate::trace) breakpoint_type: u32,
    pub(in crate::trace) config1: u64,
    pub(in crate::trace) config2: u64,
    pub(in crate::trace) branch_sample_type: u64,
    pub(in crate::trace) sample_regs_user: u64,
    pub(in crate::trace) sample_stack_user: u32,
    pub(in crate::trace) clock: i32,
    pub(in crate::trace) sample_regs_intr: u64,
    pub(in crate::trace) aux_watermark: u32,
    pub(in crate::trace) sample_max_stack: u16,
    pub(in crate::trace) reserved: u16,
}

/// The flag of an event that waits to be [enabled](enable).
pub(in crate::trace) const DISABLED: u64 = 1;
/// The kind of a record that is a sample.
pub(in crate::trace) const RECORD_SAMPLE: u32 = 9;

/// Opens an event for one process or thread on one processor.
pub(in crate::trace) fn open_event(
    attributes: &Attributes,
    process: i32,
    processor: i32,
) -> io::Result<OwnedFd> {
    let attributes = Attributes {
        size: size_of::<Attributes>() as u32,
        ..attributes.clone()
    };
    // SAFETY: the structure is valid, and as long as it says.
    let fd = check(unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            process,
            processor,
            -1,
            PERF_FLAG_FD_CLOEXEC,
        )
    })?;
    // SAFETY: the kernel has just given us this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

const PERF_FLAG_FD_CLOEXEC: libc::c_ulong = 8;
const PERF_EVENT_IOC_ENABLE: libc::Ioctl = 0x2400;
const PERF_EVENT_IOC_SET_OUTPUT: libc::Ioctl = 0x2405;
const PERF_EVENT_IOC_SET_FILTER: libc::Ioctl = 0x4008_2406_u32 as libc::Ioctl;

/// Asks something of an event; `argument` is a number, or the address of what outlives the call.
fn ask_event(event: &OwnedFd, request: libc::Ioctl, argument: usize) -> io::Result<()> {
    // SAFETY: the callers below pass what the request is documented to take.
    check(unsafe { libc::ioctl(event.as_raw_fd(), request, argument) }.into()).map(drop)
}

/// Lets an event pass only the records that match a tracepoint filter.
pub(in crate::trace) fn set_filter(event: &OwnedFd, filter: &std::ffi::CStr) -> io::Result<()> {
    ask_event(event, PERF_EVENT_IOC_SET_FILTER, filter.as_ptr() as usize)
}

/// Sends an event's records to the ring of another event on the same processor.
pub(in crate::trace) fn send_to(event: &OwnedFd, ring: &OwnedFd) -> io::Result<()> {
    ask_event(event, PERF_EVENT_IOC_SET_OUTPUT, ring.as_raw_fd() as usize)
}

/// Starts an event that was opened disabled.
pub(in crate::trace) fn enable(event: &OwnedFd) -> io::Result<()> {
    ask_event(event, PERF_EVENT_IOC_ENABLE, 0)
}

/// The ring buffer of an event, mapped: a page of positions, then the data.
pub(in crate::trace) struct Ring {
    base: *mut u8,
    page: usize,
    size: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread, and whoever has the ring is its only
// reader.
unsafe impl Send for Ring {}

/// Byte offsets of the positions in `struct perf_event_mmap_page`.
const DATA_HEAD: usize = 1024;
const DATA_TAIL: usize = 1032;

impl Ring {
    /// Maps the ring of `event`; `size` is a power of two of at least a page.
    pub(in crate::trace) fn map(event: &OwnedFd, size: usize) -> io::Result<Self> {
        // SAFETY: no memory is involved.
        let page = usize::try_from(check(unsafe { libc::sysconf(libc::_SC_PAGESIZE) })?)
            .map_err(io::Error::other)?;
        debug_assert!(size.is_power_of_two() && size >= page);
        // SAFETY: a fresh shared mapping of the event, unmapped when this is dropped.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                page + size,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                event.as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            base: base.cast(),
            page,
            size,
        })
    }

    fn position(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: the first page is mapped and writable for as long as `self` lives, the offset is
        // aligned, and the kernel accesses the position as one 64-bit word.
        unsafe { &*self.base.add(offset).cast::<AtomicU64>() }
    }

    /// Appends everything that has arrived to `into` and gives the space back.
    pub(in crate::trace) fn take(&self, into: &mut Vec<u8>) {
        let head = self.position(DATA_HEAD).load(Ordering::Acquire);
        let tail = self.position(DATA_TAIL).load(Ordering::Relaxed);
        let available = (head - tail) as usize;
        debug_assert!(available <= self.size);
        let from = tail as usize & (self.size - 1);
        let first = available.min(self.size - from);
        // SAFETY: both parts lie inside the mapped data, and the kernel does not write between
        // tail and head until the tail moves.
        unsafe {
            let data = self.base.add(self.page);
            into.extend_from_slice(std::slice::from_raw_parts(data.add(from), first));
            into.extend_from_slice(std::slice::from_raw_parts(data, available - first));
        }
        self.position(DATA_TAIL).store(head, Ordering::Release);
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: this is the mapping made in `map`, and nothing borrows from it any more.
        unsafe { libc::munmap(self.base.cast(), self.page + self.size) };
    }
}

// ---- bpf ---------------------------------------------------------------------------------------

const BPF_MAP_CREATE: libc::c_int = 0;
const BPF_MAP_LOOKUP_ELEM: libc::c_int = 1;
const BPF_PROG_LOAD: libc::c_int = 5;
const BPF_MAP_TYPE_LRU_HASH: u32 = 9;
const BPF_PROG_TYPE_TRACEPOINT: u32 = 5;
const PERF_EVENT_IOC_SET_BPF: libc::Ioctl = 0x4004_2408_u32 as libc::Ioctl;

fn bpf<T>(command: libc::c_int, attributes: &T) -> io::Result<libc::c_long> {
    // SAFETY: the attributes are valid, as long as the size says, and what they point to lives in
    // the callers below for the duration of the call.
    check(unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command,
            std::ptr::from_ref(attributes),
            size_of::<T>(),
        )
    })
}

/// Makes a hash map in the kernel that forgets its oldest entries when it is full.
pub(in crate::trace) fn bpf_map(key: u32, value: u32, entries: u32) -> io::Result<OwnedFd> {
    let fd = bpf(
        BPF_MAP_CREATE,
        &[BPF_MAP_TYPE_LRU_HASH, key, value, entries],
    )?;
    // SAFETY: the kernel has just given us this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// Loads a tracepoint program after the kernel has proved it harmless.
pub(in crate::trace) fn bpf_load(program: &[u64]) -> io::Result<OwnedFd> {
    // Two numbers of 32 bits, the first of them the type, in a word: every machine of ours is little-endian.
    let kind_and_steps = u64::from(BPF_PROG_TYPE_TRACEPOINT) | (program.len() as u64) << 32;
    // The helper that reads a program's memory is for programs with a GPL-compatible licence.
    let license = c"Dual MIT/GPL".as_ptr() as u64;
    let load = [kind_and_steps, program.as_ptr() as u64, license];
    let fd = bpf(BPF_PROG_LOAD, &load)?;
    // SAFETY: the kernel has just given us this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// Runs a program at the tracepoint of an event.
pub(in crate::trace) fn bpf_attach(event: &OwnedFd, program: &OwnedFd) -> io::Result<()> {
    ask_event(event, PERF_EVENT_IOC_SET_BPF, program.as_raw_fd() as usize)
}

/// Looks a key up; the map's keys and values are of these types.
pub(in crate::trace) fn bpf_lookup(map: &OwnedFd, key: [i32; 2]) -> Option<[u64; 2]> {
    let mut value = [0; 2];
    let (key_at, value_at) = (key.as_ptr() as u64, value.as_mut_ptr() as u64);
    let lookup = [map.as_raw_fd() as u64, key_at, value_at, 0];
    bpf(BPF_MAP_LOOKUP_ELEM, &lookup).ok().map(|_| value)
}

// ---- tracefs -----------------------------------------------------------------------------------

const FSOPEN_CLOEXEC: libc::c_uint = 1;
const FSMOUNT_CLOEXEC: libc::c_uint = 1;
const FSCONFIG_CMD_CREATE: libc::c_uint = 6;

/// Opens the tracing file system without mounting it anywhere (Linux 5.2, privileges).
pub(in crate::trace) fn open_tracefs() -> io::Result<File> {
    // SAFETY: the name is terminated; the calls take no other memory, and each descriptor is owned
    // as soon as it is there.
    unsafe {
        let context = check(libc::syscall(
            libc::SYS_fsopen,
            c"tracefs".as_ptr(),
            FSOPEN_CLOEXEC,
        ))?;
        let context = OwnedFd::from_raw_fd(context as RawFd);
        let nothing = std::ptr::null::<u8>();
        check(libc::syscall(
            libc::SYS_fsconfig,
            context.as_raw_fd(),
            FSCONFIG_CMD_CREATE,
            nothing,
            nothing,
            0,
        ))?;
        let mount = check(libc::syscall(
            libc::SYS_fsmount,
            context.as_raw_fd(),
            FSMOUNT_CLOEXEC,
            0,
        ))?;
        Ok(File::from_raw_fd(mount as RawFd))
    }
}
