//! `--tee`: the complete output in a file, even where the terminal falls behind.

use crate::user::failure::Failure;
use crate::user::output;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The file, until writing to it has failed.
pub(super) struct Tee {
    path: PathBuf,
    file: Mutex<Option<File>>,
    /// Counts the bytes that it was given.
    bytes: AtomicU64,
}

impl Tee {
    pub(super) fn create(path: &Path) -> Result<Self, Failure> {
        Ok(Self {
            path: path.to_owned(),
            file: Mutex::new(Some(output::create(path)?)),
            bytes: AtomicU64::new(0),
        })
    }

    /// Appends bytes. The first failure is reported, and ends the file; the program's output goes on.
    pub(super) fn write(&self, bytes: &[u8]) {
        self.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(open) = file.as_mut() else { return };
        if let Err(error) = open.write_all(bytes) {
            *file = None;
            let path = self.path.display();
            let failure = Failure::failed(path, error)
                .remedy("the file ends here; the output itself goes on");
            failure.report_on_terminal();
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The file's number, unless writing to it has failed.
    pub(super) fn descriptor(&self) -> Option<i32> {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.as_ref().map(File::as_raw_fd)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}
