//! Load for a server: wrk where it is installed and the time is long enough for it, else a generator
//! of our own, in one thread as `wrk -t1`.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::bench::toolchain::find_program;
use crate::platform::histogram::Histogram;

/// How long the first answer may take beyond the time of the load.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where the load comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoadSource {
    Wrk,
    BuiltIn,
}

/// The answers to a load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answers {
    pub(crate) per_second: f64,
    pub(crate) median_ns: u64,
    pub(crate) p99_ns: u64,
    pub(crate) max_ns: u64,
}

impl LoadSource {
    /// wrk counts in whole seconds.
    pub(crate) fn for_loads_of(time: Duration) -> Self {
        if time >= Duration::from_secs(1) && find_program("wrk").is_some() {
            Self::Wrk
        } else {
            Self::BuiltIn
        }
    }

    /// Puts a server under load from `connections` connections.
    pub(crate) fn run(
        self,
        address: SocketAddr,
        connections: usize,
        time: Duration,
    ) -> Result<Answers, String> {
        match self {
            Self::Wrk => wrk(address, connections, time),
            Self::BuiltIn => generate(address, connections, time)
                .map_err(|error| format!("the load met with an error: {error}")),
        }
    }
}

/// Asks a server for one path on a connection of its own and waits for the answer.
pub(crate) fn ask(address: SocketAddr, path: &str) -> io::Result<()> {
    let mut client = Client::connect(address)?;
    client.stream.set_nonblocking(false)?;
    client.ask(path)?;
    while !client.receive()? {}
    Ok(())
}

/// A keep-alive connection with at most one request under way.
struct Client {
    stream: TcpStream,
    received: Vec<u8>,
    asked_at: Instant,
}

impl Client {
    fn connect(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        Ok(Self {
            stream,
            received: Vec::new(),
            asked_at: Instant::now(),
        })
    }

    /// A request is so short that it fits into the socket's buffer, which is empty.
    fn ask(&mut self, path: &str) -> io::Result<()> {
        self.asked_at = Instant::now();
        let request = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
        self.stream.write_all(request.as_bytes())
    }

    /// Receives bytes; returns whether the answer is complete.
    fn receive(&mut self) -> io::Result<bool> {
        let mut buffer = [0; 4096];
        match self.stream.read(&mut buffer) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(length) => self.received.extend_from_slice(&buffer[..length]),
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) =>
            {
                return Ok(false);
            }
            Err(error) => return Err(error),
        }
        let complete =
            answer_length(&self.received)?.is_some_and(|length| self.received.len() >= length);
        if complete {
            self.received.clear();
        }
        Ok(complete)
    }
}

/// The length of an answer with its body, once its head is there.
fn answer_length(received: &[u8]) -> io::Result<Option<usize>> {
    let Some(head) = memchr::memmem::find(received, b"\r\n\r\n") else {
        return Ok(None);
    };
    let wrong = || {
        io::Error::new(
            ErrorKind::InvalidData,
            "an answer that is not a 200 of known length",
        )
    };
    let text = std::str::from_utf8(&received[..head]).map_err(|_| wrong())?;
    let length = text
        .lines()
        .find_map(|line| line.strip_prefix("Content-Length: "))
        .filter(|_| text.starts_with("HTTP/1.1 200 "))
        .and_then(|length| length.parse::<usize>().ok())
        .ok_or_else(wrong)?;
    Ok(Some(head + 4 + length))
}

/// The load lasts as long as asked; until the first answer, for which a busy machine may be the cause, up to
/// [`PATIENCE`] longer.
fn generate(address: SocketAddr, connections: usize, time: Duration) -> io::Result<Answers> {
    let mut clients = (0..connections)
        .map(|_| Client::connect(address))
        .collect::<io::Result<Vec<_>>>()?;
    let mut times = Histogram::<6>::default();
    let begun = Instant::now();
    let mut end = begun + time + PATIENCE;
    for client in &mut clients {
        client.ask("/")?;
    }
    let mut ready = vec![false; connections];
    while let Some(left) = end.checked_duration_since(Instant::now()) {
        let timeout = Timespec::try_from(left).unwrap_or_default();
        let mut awaited: Vec<PollFd<'_>> = clients
            .iter()
            .map(|client| PollFd::new(&client.stream, PollFlags::IN))
            .collect();
        match poll(&mut awaited, Some(&timeout)) {
            Err(rustix::io::Errno::INTR) => continue,
            result => result?,
        };
        for (ready, polled) in ready.iter_mut().zip(&awaited) {
            *ready = !polled.revents().is_empty();
        }
        drop(awaited);
        for (client, _) in clients.iter_mut().zip(&ready).filter(|(_, ready)| **ready) {
            if client.receive()? {
                times.add(client.asked_at.elapsed().as_nanos() as u64);
                end = begun + time;
                client.ask("/")?;
            }
        }
    }
    let answered = times.count();
    let elapsed = begun.elapsed();
    // A request that still waits takes at least this long.
    for client in &clients {
        times.add(client.asked_at.elapsed().as_nanos() as u64);
    }
    Ok(Answers {
        per_second: answered as f64 / elapsed.as_secs_f64(),
        median_ns: times.quantile(0.5),
        p99_ns: times.quantile(0.99),
        max_ns: times.max(),
    })
}

/// The published load is of 1 connection and 10 s.
fn wrk(address: SocketAddr, connections: usize, time: Duration) -> Result<Answers, String> {
    let output = Command::new("wrk")
        .args(["-t1", "--latency"])
        .arg(format!("-c{connections}"))
        .arg(format!("-d{}s", time.as_secs().max(1)))
        .arg(format!("http://{address}/"))
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("wrk: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(format!(
            "wrk: {}",
            stderr.lines().last().unwrap_or("it failed")
        ));
    }
    read_wrk(&text).ok_or_else(|| format!("wrk wrote something else than expected: {text:?}"))
}

/// Reads the output of wrk 4.
fn read_wrk(text: &str) -> Option<Answers> {
    let words_after = |first: &str| {
        text.lines().find_map(|line| {
            let mut words = line.split_whitespace();
            (words.next() == Some(first)).then(|| words.collect::<Vec<_>>())
        })
    };
    let time = |word: &str| {
        let digits = word.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, unit) = word.split_at(digits);
        let unit = match unit {
            "us" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "m" => 60e9,
            "h" => 3600e9,
            _ => return None,
        };
        Some((number.parse::<f64>().ok()? * unit) as u64)
    };
    Some(Answers {
        per_second: words_after("Requests/sec:")?.first()?.parse().ok()?,
        median_ns: time(words_after("50%")?.first()?)?,
        p99_ns: time(words_after("99%")?.first()?)?,
        max_ns: time(words_after("Latency")?.get(2)?)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_wrk_is_read() {
        let text = "Running 10s test @ http://127.0.0.1:7096/
  1 threads and 1 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency    16.50us   10.11us 418.00ms   98.95%
    Req/Sec    57.10k     1.20k   58.90k    80.20%
  Latency Distribution
     50%   15.00us
     75%   17.00us
     90%   19.00us
     99%    1.25ms
  568012 requests in 10.10s, 44.42MB read
Requests/sec:  56813.91
Transfer/sec:      4.40MB
";
        let answers = read_wrk(text).unwrap();
        assert!((answers.per_second - 56_813.91).abs() < 0.01);
        assert_eq!(
            (answers.median_ns, answers.p99_ns, answers.max_ns),
            (15_000, 1_250_000, 418_000_000)
        );
        assert!(read_wrk("unable to connect").is_none());
    }

    #[test]
    fn an_answer_ends_with_its_body() {
        let whole = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
        assert_eq!(answer_length(whole).unwrap(), Some(whole.len()));
        assert_eq!(answer_length(&whole[..20]).unwrap(), None);
        assert!(answer_length(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n").is_err());
    }
}
