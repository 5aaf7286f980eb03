//! The hook for panics: the terminal is given back before the panic is reported. Drawing is an error from then on, and many programs
//! end with that error. So drawing, giving the terminal back, and the end of `run` wait until the panic has been reported.

use std::cell::Cell;
use std::sync::{Condvar, Mutex, Once, PoisonError};
use std::time::Duration;

use super::session;

/// How long a report is awaited. The first backtrace of a process reads its debug information.
const PATIENCE: Duration = Duration::from_secs(3);

/// The number of panics that are being reported.
static REPORTS: Mutex<usize> = Mutex::new(0);
static REPORTED: Condvar = Condvar::new();

thread_local! {
    /// This thread is reporting.
    static REPORTING: Cell<bool> = const { Cell::new(false) };
}

/// A panic that is being reported.
struct PanicReport;

impl PanicReport {
    fn begin() -> Self {
        REPORTING.set(true);
        *REPORTS.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        Self
    }
}

impl Drop for PanicReport {
    fn drop(&mut self) {
        REPORTING.set(false);
        *REPORTS.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        REPORTED.notify_all();
    }
}

/// Gives the terminal back when a thread panics, before the present hook runs.
pub(super) fn give_back_first() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let _report = PanicReport::begin();
            let thread = std::thread::current();
            let name = thread.name().unwrap_or("without a name");
            // The panic is reported, not an error of giving the terminal back.
            let _ = session::end(&format!(
                "the terminal was given back because the thread `{name}` panicked"
            ));
            previous(info);
        }));
    });
}

/// Waits until the panics of other threads have been reported, for a while.
pub(super) fn wait_for_reports() {
    // A hook may give the terminal back itself.
    if REPORTING.get() {
        return;
    }
    let reports = REPORTS.lock().unwrap_or_else(PoisonError::into_inner);
    let _ = REPORTED.wait_timeout_while(reports, PATIENCE, |reports| *reports > 0);
}
