//! `env_logger` through outpace.
//!
//! ```text
//! cargo run --release -p outpace --example env_logger [-- RECORDS]
//! ```

use env_logger::Target;
use outpace::{Buffering, Unflushed};

fn main() {
    // env_logger flushes after each record, which would wait for the terminal each time.
    let log = Unflushed(outpace::stdout());
    env_logger::Builder::new()
        .filter_level(log::LevelFilter::Info)
        .parse_default_env()
        .target(Target::Pipe(Box::new(log)))
        .init();
    outpace::stdout().set_default_buffering(Buffering::background(16 << 20));

    let records: u64 = std::env::args().nth(1).map_or(5, |text| {
        text.parse().expect("the argument is a number of records")
    });
    for record in 0..records {
        log::info!("handled request {record}");
    }
    log::warn!("{:?}", outpace::stdout().stats());
}
