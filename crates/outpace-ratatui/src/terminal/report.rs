//! A report of the terminal's capabilities and of the drawing, for developers.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use crate::model::{Capabilities, Stats};
use crate::sys;

/// Writes capabilities and counters to the place that `OUTPACE_DRAW_REPORT` names: `-` for standard error, else a file.
#[derive(Debug)]
pub(crate) struct Report {
    path: PathBuf,
}

impl Report {
    pub(crate) fn wanted() -> Option<Self> {
        sys::variable("OUTPACE_DRAW_REPORT").map(|path| Self { path: path.into() })
    }

    /// Writes the report. An error is ignored: the program goes on without it.
    pub(crate) fn write(&self, capabilities: Capabilities, stats: Stats) {
        let text = format!("outpace-ratatui: {capabilities:#?}\n{stats:#?}\n");
        let text = text.replace('\n', "\r\n");
        let _ = if self.path.as_os_str() == "-" {
            io::stderr().write_all(text.as_bytes())
        } else {
            File::options()
                .create(true)
                .append(true)
                .open(&self.path)
                .and_then(|mut file| file.write_all(text.as_bytes()))
        };
    }
}
