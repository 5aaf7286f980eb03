//! An HTTP server in one thread that logs a line for each request.
//!
//! ```text
//! cargo run --release -p outpace-cli --example http_server [-- ADDRESS]
//! wrk -t1 -c1 -d10s http://127.0.0.1:7096/
//! ```
//!
//! `outpace bench server` measures the cost of the log for such a server, by ways to log and by terminals.

#[path = "../src/bench/catalogue/server/http.rs"]
mod http;

use outpace::{Buffering, Overflow};
use std::net::TcpListener;
use std::ops::ControlFlow;

fn main() -> std::io::Result<()> {
    // A slow reader of the log does not slow the server down: bytes that do not fit into the queue wait in a
    // file, up to 1 GiB of it. `OUTPACE_STDOUT=prompt` and its like choose another way from outside.
    outpace::stdout().set_default_buffering(Buffering::Background {
        capacity: 16 << 20,
        overflow: Overflow::Spill {
            directory: std::env::temp_dir(),
            limit: 1 << 30,
        },
    });
    let address = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "127.0.0.1:7096".to_owned());
    let listener = TcpListener::bind(&address).map_err(|error| {
        let text = format!("{address}: {error}; give another address as the argument");
        std::io::Error::new(error.kind(), text)
    })?;
    outpace::eprintln!("listening on http://{}/", listener.local_addr()?);
    let mut requests: u64 = 0;
    http::serve(&listener, |path| {
        requests += 1;
        outpace::println!("{requests} GET {path} 200");
        ControlFlow::Continue(())
    })
}
