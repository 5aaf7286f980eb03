//! `outpace run` with what a machine may not allow or have: a full disk, a secure shell, gigabytes.

mod scripted;

use scripted::{Terminal, installed, outpace, scratch, text, wait_until};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A shell in which a small file system is mounted for itself; `None`, aloud, where that is not allowed.
fn with_small_disk(directory: &Path, script: &str) -> Option<Command> {
    let mount = format!("mount -t tmpfs -o size=2m none {}", directory.display());
    let try_it = ["-m", "sh", "-c", &mount];
    let mounts = Command::new("unshare").args(try_it).output();
    if !mounts.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: mounting is not allowed");
        return None;
    }
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", &format!("{mount} && {script}")]);
    Some(command)
}

#[test]
fn a_full_spill_disk_makes_the_program_wait_says_so_once_and_loses_nothing() {
    let directory = scratch("disk");
    fs::create_dir_all(&directory).unwrap();
    let script = format!(
        "exec {} run --memory 1MiB --spill-dir {} -- seq 2000000",
        env!("CARGO_BIN_EXE_outpace"),
        directory.display()
    );
    let Some(mut command) = with_small_disk(&directory, &script) else {
        return;
    };
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Nothing is read before it has had to say so.
    let mut said = [0; 1];
    child
        .stderr
        .as_mut()
        .unwrap()
        .read_exact(&mut said)
        .unwrap();
    let mut numbers = String::new();
    let mut reader = child.stdout.take().unwrap();
    reader.read_to_string(&mut numbers).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = text(&said) + &text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let expected: String = (1..=2_000_000).map(|n| format!("{n}\n")).collect();
    assert!(numbers == expected, "other lines arrived");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("No space left on device"), "{said}");
}

/// A server of the secure shell, on a port of its own, for a key of its own.
struct SecureShell {
    server: Child,
    port: u16,
}

impl SecureShell {
    fn start() -> Option<Self> {
        let sshd = ["/usr/sbin/sshd", "/usr/local/sbin/sshd"]
            .into_iter()
            .find(|path| Path::new(path).exists());
        let (Some(sshd), true) = (sshd, installed("ssh") && installed("ssh-keygen")) else {
            eprintln!("skipped: sshd is not installed");
            return None;
        };
        // It separates its privileges in there, and says so when it cannot.
        let _ = fs::create_dir_all("/run/sshd");
        for name in ["host_key", "user_key"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(scratch(name))
                .status()
                .unwrap();
            assert!(made.success());
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let directory = scratch("sshd_config").parent().unwrap().to_owned();
        let settings = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {0}/host_key\nAuthorizedKeysFile {0}/user_key.pub\n\
             StrictModes no\nUsePAM no\nPidFile none\nPermitRootLogin yes\nPasswordAuthentication no\n",
            directory.display()
        );
        fs::write(directory.join("sshd_config"), settings).unwrap();
        let mut server = Command::new(sshd)
            .args(["-D", "-e", "-f"])
            .arg(directory.join("sshd_config"))
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_until("the server", || {
            server.try_wait().unwrap().is_some()
                || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        if server.try_wait().unwrap().is_some() {
            eprintln!("skipped: sshd does not start here");
            return None;
        }
        Some(Self { server, port })
    }
}

impl Drop for SecureShell {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

#[test]
fn a_secure_shell_works_with_its_terminal_and_its_status() {
    let Some(shell) = SecureShell::start() else {
        return;
    };
    let key = scratch("x").with_file_name("user_key");
    let port = shell.port.to_string();
    let arguments = [
        "--",
        "ssh",
        "-t",
        "-q",
        "-p",
        &port,
        "-i",
        key.to_str().unwrap(),
        "-o",
        "StrictHostKeyChecking=no",
        "-o",
        "UserKnownHostsFile=/dev/null",
        "127.0.0.1",
        "stty size; read x; echo \"<$x>\"; exit 6",
    ];
    let mut terminal = Terminal::run(&arguments);
    terminal.wait_for("24 80");
    terminal.type_keys("through the wire\r");
    terminal.wait_for("<through the wire>");
    assert_eq!(terminal.wait().code(), Some(6));
}

/// Random bytes through `run` into a reader that stalls now and then; whether both ends have the same sum.
fn random_bytes_arrive(bytes: u64, options: &[&str]) {
    let sent = scratch("sent");
    let script = format!(
        "head -c {bytes} /dev/urandom | tee >(sha256sum > {})",
        sent.display()
    );
    let mut child = outpace("run")
        .args(options)
        .args(["--", "bash", "-c", &script])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut summing = Command::new("sha256sum")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut reader = child.stdout.take().unwrap();
    let mut sum = summing.stdin.take().unwrap();
    let (mut buffer, mut received) = (vec![0; 1 << 20], 0_u64);
    loop {
        let read = reader.read(&mut buffer).unwrap();
        if read == 0 {
            break;
        }
        sum.write_all(&buffer[..read]).unwrap();
        // Every 50 MB it stalls for longer than the program needs to fill pipe and memory.
        if received / 50_000_000 != (received + read as u64) / 50_000_000 {
            std::thread::sleep(std::time::Duration::from_millis(40));
        }
        received += read as u64;
    }
    drop(sum);
    assert_eq!(received, bytes);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let received = text(&summing.wait_with_output().unwrap().stdout);
    // bash does not wait for the process that sums.
    wait_until("the sum of what was sent", || {
        fs::read_to_string(&sent).is_ok_and(|sent| sent.ends_with('\n'))
    });
    assert_eq!(received, fs::read_to_string(&sent).unwrap());
}

/// Every way to queue, with a memory that is soon full.
const WAYS: [&[&str]; 3] = [
    &["--memory", "1MiB"],
    &["--memory", "1MiB", "--overflow", "block"],
    &["--memory", "1MiB", "--spill-limit", "8MiB"],
];

#[test]
fn random_bytes_arrive_as_they_were_sent() {
    if !installed("bash") || !installed("sha256sum") {
        return;
    }
    for options in WAYS {
        random_bytes_arrive(120_000_000, options);
    }
}

/// The same with gigabytes: `OUTPACE_GIGABYTES` says how many (4).
/// `cargo test --release -p outpace-cli --test run_outside -- --ignored`
#[test]
#[ignore = "takes minutes"]
fn gigabytes_arrive_as_they_were_sent() {
    let gigabytes: u64 = std::env::var("OUTPACE_GIGABYTES").map_or(4, |text| text.parse().unwrap());
    for options in WAYS {
        random_bytes_arrive(gigabytes * 1_000_000_000, options);
    }
}
