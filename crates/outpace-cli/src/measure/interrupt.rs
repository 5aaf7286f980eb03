//! Ctrl-C: the bench stops where it is, leaves the terminal as it was and prints what there is.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

fn flag() -> &'static Arc<AtomicBool> {
    static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    FLAG.get_or_init(Arc::default)
}

/// From now on a signal that would end the program is noted instead.
pub(crate) fn watch() -> std::io::Result<()> {
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(flag()))?;
    }
    Ok(())
}

/// Notes that one has come, when a child was quicker to notice.
pub(crate) fn note() {
    flag().store(true, Ordering::Relaxed);
}

/// Whether such a signal has come.
pub(crate) fn came() -> bool {
    flag().load(Ordering::Relaxed)
}
