//! A Tokio server whose tasks keep answering while standard output is stalled.
//!
//! ```text
//! cargo run --release -p outpace --example tokio_server [-- ADDRESS] | less
//! ```
//!
//! It echoes lines, and logs one line for each. With std's `println!` a pager that does not read parks one worker after
//! the other inside a log call, until none is left to answer. Here the log keeps its latest 8 MiB, with a mark where
//! messages are missing, and the tasks never wait.

use outpace::{Buffering, Overflow};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

fn main() -> std::io::Result<()> {
    outpace::stdout().set_default_buffering(Buffering::Background {
        capacity: 8 << 20,
        overflow: Overflow::DropOldest,
    });
    let address = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "127.0.0.1:7097".to_owned());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_io()
        .build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(address).await?;
        outpace::eprintln!("listening on {}", listener.local_addr()?);
        loop {
            let (connection, peer) = listener.accept().await?;
            tokio::spawn(async move {
                if let Err(error) = echo(connection).await {
                    outpace::println!("{peer}: {error}");
                }
            });
        }
    })
}

/// Sends each line back.
async fn echo(mut connection: TcpStream) -> std::io::Result<()> {
    let peer = connection.peer_addr()?;
    let (reader, mut writer) = connection.split();
    let mut reader = BufReader::new(reader);
    let mut line = String::new();
    while reader.read_line(&mut line).await? > 0 {
        writer.write_all(line.as_bytes()).await?;
        outpace::println!("{peer}: {}", line.trim_end());
        line.clear();
    }
    Ok(())
}
