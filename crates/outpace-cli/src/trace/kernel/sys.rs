//! The system calls behind `--exact` that have no safe wrapper: `ptrace`, `bpf`, and ioctls of perf events.
#![allow(unsafe_code)]

use perf_event::Counter;
use perf_event_open_sys::ioctls;
use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

fn check(result: libc::c_long) -> io::Result<libc::c_long> {
    (result != -1)
        .then_some(result)
        .ok_or_else(io::Error::last_os_error)
}

// ---- ptrace -----------------------------------------------------------------------------------

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

/// Lets a stopped thread go on by one of `PTRACE_SYSCALL` (to the next event, or entry or exit of a call), `PTRACE_CONT` (to the next
/// event), `PTRACE_DETACH` (untraced) and `PTRACE_LISTEN` (it stays stopped, but may be continued by others), delivering `signal` unless it is 0.
pub(in crate::trace) fn resume(thread: i32, how: impl Into<i64>, signal: i32) -> io::Result<()> {
    ptrace(how, thread, 0, signal as usize).map(drop)
}

/// The number that came with the event a thread is stopped at (a new thread's id, a former id).
pub(in crate::trace) fn event_message(thread: i32) -> io::Result<u64> {
    let mut message: libc::c_ulong = 0;
    let message_at = (&raw mut message) as usize;
    ptrace(libc::PTRACE_GETEVENTMSG, thread, 0, message_at)?;
    Ok(message)
}

/// The signal of a stop at a system call, with PTRACE_O_TRACESYSGOOD.
pub(in crate::trace) const AT_CALL: i32 = libc::SIGTRAP | 0x80;

/// Where a thread is stopped with respect to a system call.
pub(in crate::trace) enum AtCall {
    /// At its entry, with its number, its arguments and the top of the stack.
    Entry(i64, [u64; 6], u64),
    /// At its exit, with its result.
    Exit(i64),
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
}

const PTRACE_GET_SYSCALL_INFO: u32 = 0x420e;
const PTRACE_SYSCALL_INFO_ENTRY: u8 = 1;
const PTRACE_SYSCALL_INFO_EXIT: u8 = 2;
/// Of `<linux/audit.h>`: calls of 32-bit programs, which have other numbers, come without it.
const AUDIT_ARCH_64BIT: u32 = 0x8000_0000;

/// Where a thread is stopped, by `PTRACE_GET_SYSCALL_INFO`.
pub(in crate::trace) fn at_call(thread: i32) -> io::Result<AtCall> {
    let mut info = CallInfo::default();
    let info_at = (&raw mut info) as usize;
    ptrace(PTRACE_GET_SYSCALL_INFO, thread, size_of_val(&info), info_at)?;
    let (number, arguments) = (info.number as i64, info.arguments);
    let is_ours = info.arch & AUDIT_ARCH_64BIT != 0;
    Ok(match info.op {
        PTRACE_SYSCALL_INFO_ENTRY if is_ours => {
            AtCall::Entry(number, arguments, info.stack_pointer)
        }
        PTRACE_SYSCALL_INFO_EXIT => AtCall::Exit(number),
        _ => AtCall::No,
    })
}

// ---- perf events -------------------------------------------------------------------------------

/// A descriptor of an owner that has an older interface.
pub(in crate::trace) fn borrowed(owner: &impl AsRawFd) -> BorrowedFd<'_> {
    // SAFETY: the owner keeps it open for as long as it is borrowed.
    unsafe { BorrowedFd::borrow_raw(owner.as_raw_fd()) }
}

/// Lets an event pass only the records that match a tracepoint filter.
pub(in crate::trace) fn set_filter(event: &Counter, filter: &CStr) -> io::Result<()> {
    // SAFETY: the text is terminated; the kernel copies it and does not write to it.
    let set = unsafe { ioctls::SET_FILTER(event.as_raw_fd(), filter.as_ptr().cast_mut()) };
    check(set.into()).map(drop)
}

/// Sends an event's records to the ring of another event on the same processor.
pub(in crate::trace) fn send_to(event: &Counter, ring: &Counter) -> io::Result<()> {
    // SAFETY: no memory is involved.
    check(unsafe { ioctls::SET_OUTPUT(event.as_raw_fd(), ring.as_raw_fd()) }.into()).map(drop)
}

/// Enables an event until it has left so many records.
pub(in crate::trace) fn enable_for(event: &Counter, records: u16) -> io::Result<()> {
    // SAFETY: no memory is involved.
    check(unsafe { ioctls::REFRESH(event.as_raw_fd(), records.into()) }.into()).map(drop)
}

// ---- bpf ---------------------------------------------------------------------------------------

const BPF_MAP_CREATE: libc::c_int = 0;
const BPF_MAP_LOOKUP_ELEM: libc::c_int = 1;
const BPF_PROG_LOAD: libc::c_int = 5;
const BPF_MAP_TYPE_LRU_HASH: u32 = 9;
const BPF_PROG_TYPE_TRACEPOINT: u32 = 5;

fn bpf<T>(command: libc::c_int, attributes: &T) -> io::Result<libc::c_long> {
    let (at, size) = (std::ptr::from_ref(attributes), size_of::<T>());
    // SAFETY: the attributes are valid, as long as the size says, and what they point to lives in
    // the callers below for the duration of the call.
    check(unsafe { libc::syscall(libc::SYS_bpf, command, at, size) })
}

/// Makes a hash map in the kernel that forgets its oldest entries when it is full.
pub(in crate::trace) fn bpf_map(key: u32, value: u32, entries: u32) -> io::Result<OwnedFd> {
    let map = [BPF_MAP_TYPE_LRU_HASH, key, value, entries];
    let fd = bpf(BPF_MAP_CREATE, &map)?;
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

/// Looks a key up; the map's keys and values are of these types.
pub(in crate::trace) fn bpf_lookup(map: &OwnedFd, key: [i32; 2]) -> Option<[u64; 2]> {
    let mut value = [0; 2];
    let (key_at, value_at) = (key.as_ptr() as u64, value.as_mut_ptr() as u64);
    let lookup = [map.as_raw_fd() as u64, key_at, value_at, 0];
    bpf(BPF_MAP_LOOKUP_ELEM, &lookup).ok().map(|_| value)
}
