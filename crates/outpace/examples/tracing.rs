//! `tracing-subscriber` through outpace: a record never waits, however slow the terminal is.
//!
//! ```text
//! cargo run --release -p outpace --example tracing [-- RECORDS]
//! ```

use outpace::{Buffering, Overflow};

fn main() {
    // The one line that it takes; what follows it is a choice.
    tracing_subscriber::fmt()
        .with_writer(outpace::stdout)
        .init();

    // A terminal that stands still costs the oldest records of the last 16 MiB, and no time. Without
    // this line nothing is ever lost, and `OUTPACE_STDOUT=background:64MiB` chooses from outside.
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
        "what the log cost"
    );
}
