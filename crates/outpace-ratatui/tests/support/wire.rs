//! A writer whose bytes a test takes.
#![allow(unreachable_pub, reason = "shared by tests")]

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

/// The bytes that were written and not taken yet.
#[derive(Clone, Default)]
pub struct Wire(Arc<Mutex<Vec<u8>>>);

impl Wire {
    /// All that was written since the last call.
    pub fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
