//! `tracing-subscriber` through outpace: a record never waits, however slow the terminal is.
//!
//! ```text
//! cargo run --release -p outpace --example tracing [-- RECORDS]
//! ```

use outpace::{Buffering, Overflow};

fn main() {
    // The one line that it takes; the rest is optional.
    tracing_subscriber::fmt()
        .with_writer(outpace::stdout)
        .init();

    // A stalled terminal costs the oldest of more than 16 MiB of records, and no time. Without this line no record is
    // lost, and `OUTPACE_STDOUT=background:64MiB` chooses from outside.
    outpace::stdout().set_default_buffering(Buffering::Background {
        capacity: 16 << 20,
        overflow: Overflow::DropOldest,
    });

    let records = std::env::args().nth(1).map_or(5, |text| {
        text.parse().expect("the argument is a number of records")
    });
    for record in 0..records {
        tracing::info!(record, "handled a request");
    }

    let stats = outpace::stdout().stats();
    tracing::warn!(
        records = stats.messages_accepted,
        dropped = stats.messages_dropped,
        longest_wait = ?stats.longest_wait,
        "the cost of the log"
    );
}
