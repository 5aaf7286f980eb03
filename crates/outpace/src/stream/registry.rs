//! All streams of the process.
//!
//! The standard ones always exist. The code for others is called by pointers to functions, which [`register`] sets: a
//! program without other streams does not contain it.
#![allow(unsafe_code)]
#![cfg_attr(
    any(not(unix), outpace_portable),
    expect(dead_code, reason = "there is no fork")
)]

use super::engine::{Engine, STDERR, STDOUT};
use super::state::Role;
use crate::sync::linked::Linked;
use crate::sync::mutex::Mutex;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

/// Streams other than the standard ones.
struct Registry {
    streams: Vec<Weak<Engine>>,
    /// All of them, while a thread forks.
    held: Vec<Arc<Engine>>,
}

impl Registry {
    fn living(&self) -> Vec<Arc<Engine>> {
        self.streams.iter().filter_map(Weak::upgrade).collect()
    }
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry {
    streams: Vec::new(),
    held: Vec::new(),
});

/// Calls back with each stream.
type Visit = fn(&mut dyn FnMut(&Engine));

/// The functions for streams other than the standard ones. The first such stream links them.
struct Others {
    visit: Visit,
    hold: Visit,
    release: Visit,
    drop: fn(Arc<Engine>),
}

static OTHERS: Linked<Others> = Linked::new();

/// Adds a stream to the streams of the process.
pub(super) fn register(engine: &Arc<Engine>) {
    OTHERS.link(Others {
        visit,
        hold,
        release,
        drop,
    });
    REGISTRY.lock();
    // SAFETY: locked.
    let streams = unsafe { &mut (*REGISTRY.value()).streams };
    if streams.len() == streams.capacity() {
        streams.retain(|stream| stream.strong_count() > 0);
    }
    streams.push(Arc::downgrade(engine));
    REGISTRY.unlock();
}

fn visit(each: &mut dyn FnMut(&Engine)) {
    REGISTRY.lock();
    // SAFETY: locked.
    let streams = unsafe { (*REGISTRY.value()).living() };
    REGISTRY.unlock();
    streams.iter().for_each(|engine| each(engine));
}

fn hold(each: &mut dyn FnMut(&Engine)) {
    REGISTRY.lock();
    // SAFETY: locked, until `release`.
    let registry = unsafe { &mut *REGISTRY.value() };
    registry.held = registry.living();
    registry.held.iter().for_each(|engine| each(engine));
}

fn release(each: &mut dyn FnMut(&Engine)) {
    // SAFETY: locked since `hold`.
    let held = unsafe { std::mem::take(&mut (*REGISTRY.value()).held) };
    held.iter().for_each(|engine| each(engine));
    REGISTRY.unlock();
}

/// In lock order.
pub(crate) fn standard_streams() -> [&'static Engine; 2] {
    [&STDOUT, &STDERR]
}

/// Calls back with each stream of the process.
pub(crate) fn for_each_stream(each: &mut dyn FnMut(&Engine)) {
    standard_streams().into_iter().for_each(&mut *each);
    if let Some(others) = OTHERS.get() {
        (others.visit)(each);
    }
}

/// Whether the other streams are held, too. Written with the standard ones locked.
static OTHERS_HELD: AtomicBool = AtomicBool::new(false);

/// Calls back with each stream of the process, to have it locked. Streams neither come nor go until [`release_each`].
pub(crate) fn hold_each(lock: &mut dyn FnMut(&Engine)) {
    standard_streams().into_iter().for_each(&mut *lock);
    let others = OTHERS.get();
    OTHERS_HELD.store(others.is_some(), Ordering::Relaxed);
    if let Some(others) = others {
        (others.hold)(lock);
    }
}

/// Calls back with each of these streams, to have it unlocked.
pub(crate) fn release_each(unlock: &mut dyn FnMut(&Engine)) {
    if OTHERS_HELD.load(Ordering::Relaxed)
        && let Some(others) = OTHERS.get()
    {
        (others.release)(unlock);
    }
    standard_streams().into_iter().for_each(unlock);
}

/// Keeps a stream alive for one of its threads.
pub(super) enum EngineRef {
    Standard(&'static Engine),
    Other(ManuallyDrop<Arc<Engine>>),
}

impl Engine {
    /// A reference that keeps the stream alive for one of its threads.
    pub(super) fn keep_alive(&self) -> EngineRef {
        if let Some(this) = &self.this {
            let this = this.upgrade().expect("the caller uses it");
            return EngineRef::Other(ManuallyDrop::new(this));
        }
        EngineRef::Standard(match self.role {
            Role::Stderr => &STDERR,
            _ => &STDOUT,
        })
    }
}

impl Deref for EngineRef {
    type Target = Engine;

    fn deref(&self) -> &Engine {
        match self {
            EngineRef::Standard(engine) => engine,
            EngineRef::Other(engine) => engine,
        }
    }
}

impl Drop for EngineRef {
    fn drop(&mut self) {
        if let EngineRef::Other(engine) = self
            && let Some(others) = OTHERS.get()
        {
            // SAFETY: taken once, by `drop`.
            (others.drop)(unsafe { ManuallyDrop::take(engine) });
        }
    }
}
