//! A rung made ready to run: of a rung in C or C++ one for each compiler.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::bench::destination::check::Generator;
use crate::bench::experiment::{Experiment, Method, Reads, Rung, Work};
use crate::bench::toolchain::{Source, Toolchain, toolchains};
use crate::platform::interrupts;

/// One competitor in a series of runs.
pub(crate) struct Contestant {
    pub(crate) rung: &'static Rung,
    /// The rung's name, with the compiler's after a dot when there is more than one.
    pub(crate) name: String,
    executable: Executable,
}

enum Executable {
    /// This program as `outpace rung EXPERIMENT/RUNG`.
    Here { experiment: &'static str },
    Source {
        toolchain: Toolchain,
        source: &'static Source,
    },
    /// It cannot run here, for this reason.
    Not(String),
}

impl Contestant {
    /// The contestants of some of an experiment's rungs, not compiled yet. `quick`: one compiler of each language.
    pub(crate) fn all(
        experiment: &'static Experiment,
        quick: bool,
        wanted: impl Fn(&Rung) -> bool,
    ) -> Vec<Self> {
        let rungs = experiment.rungs.iter().filter(|rung| wanted(rung));
        let contestants = rungs.flat_map(|rung| Self::of(experiment, rung, quick));
        contestants.collect()
    }

    /// Compiles the sources, until a time if one is given. A contestant that cannot run gets the reason. `progress` gets
    /// the number of those that are ready.
    pub(crate) fn make_ready(
        contestants: Vec<&mut Self>,
        until: Option<Instant>,
        progress: impl Fn(usize) + Sync,
    ) {
        // Compilers are slow and independent: as many at once as there are processors.
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let queue = Mutex::new(contestants.into_iter().enumerate());
        let work = || {
            loop {
                let next = queue.lock().ok().and_then(|mut queue| queue.next());
                let Some((index, contestant)) = next.filter(|_| !interrupts::came()) else {
                    break;
                };
                progress(index);
                contestant.compile(until);
            }
        };
        std::thread::scope(|scope| {
            // This one is a worker, too: there may be no other.
            for _ in 1..workers {
                let _ = std::thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
    }

    /// The contestants of a rung: one, or one for each toolchain.
    fn of(experiment: &'static Experiment, rung: &'static Rung, quick: bool) -> Vec<Self> {
        let one = |executable| Self {
            rung,
            name: rung.name.to_owned(),
            executable,
        };
        match rung.work {
            Work::Here(_) => vec![one(Executable::Here {
                experiment: experiment.name,
            })],
            Work::Source(source) => match toolchains(source.language) {
                Err(reason) => vec![one(Executable::Not(reason))],
                Ok(mut found) => {
                    // A program stands for its language: one compiler suffices.
                    if quick || matches!(experiment.method, Method::Programs) {
                        found.truncate(1);
                    }
                    let several = found.len() > 1;
                    let contestants = found.into_iter().map(|toolchain| {
                        let compiler = several.then(|| format!(".{}", toolchain.name));
                        Self {
                            rung,
                            name: rung.name.to_owned() + &compiler.unwrap_or_default(),
                            executable: Executable::Source { toolchain, source },
                        }
                    });
                    contestants.collect()
                }
            },
        }
    }

    /// One contestant of a rung, ready to run: the one of that name, or the first for the rung's
    /// own name. The error names the alternatives.
    pub(crate) fn named(
        experiment: &'static Experiment,
        rung: &'static Rung,
        name: &str,
    ) -> Result<Self, String> {
        let contestants = Self::of(experiment, rung, false);
        let names: Vec<&str> = contestants
            .iter()
            .map(|contestant| contestant.name.as_str())
            .collect();
        let index = match names.iter().position(|&other| other == name) {
            Some(index) => index,
            None if name == rung.name => 0,
            None => return Err(format!("there is only {}", names.join(", "))),
        };
        let mut contestant = contestants.into_iter().nth(index).expect("found above");
        contestant.compile(None);
        Ok(contestant)
    }

    fn compile(&mut self, until: Option<Instant>) {
        if let Executable::Source { toolchain, source } = &self.executable
            && let Err(reason) = toolchain.command(source, until)
        {
            self.executable = Executable::Not(reason);
        }
    }

    /// Why it cannot run here.
    pub(crate) fn obstacle(&self) -> Option<&str> {
        match &self.executable {
            Executable::Not(reason) => Some(reason),
            _ => None,
        }
    }

    /// The command that writes `messages` messages to its stdout.
    pub(crate) fn command(&self, messages: u64, pause: Duration) -> Result<Command, String> {
        let mut command = match &self.executable {
            Executable::Here { experiment } => {
                let mut command = Command::new(this_program()?);
                command
                    .arg("rung")
                    .arg(format!("{experiment}/{}", self.rung.name));
                command.arg("--messages").arg(messages.to_string());
                if !pause.is_zero() {
                    command.arg("--pause").arg(pause.as_millis().to_string());
                }
                command
            }
            Executable::Source { toolchain, source } => {
                let mut command = toolchain.command(source, None)?;
                if self.rung.is_relayed {
                    command = relayed(&command)?;
                }
                command.arg(messages.to_string());
                // Only rungs set it.
                command.env_remove("PYTHONUNBUFFERED");
                command.envs(self.rung.environment.iter().copied());
                command
            }
            Executable::Not(reason) => return Err(reason.clone()),
        };
        match self.rung.reads {
            Some(reads) => command
                .stdin(input(reads, messages).map_err(|error| format!("its input: {error}"))?),
            None => command.stdin(Stdio::null()),
        };
        Ok(command)
    }
}

/// The input for `messages` messages, from a file or through a pipe.
fn input(reads: Reads, messages: u64) -> io::Result<Stdio> {
    /// The last file, with its generator and length: a series reads the same again and again.
    static LAST: Mutex<Option<(Generator, u64, File)>> = Mutex::new(None);
    let mut last = LAST
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    if !matches!(&*last, Some((text, count, _)) if *count == messages && std::ptr::fn_addr_eq(*text, reads.text))
    {
        let mut file = tempfile::tempfile()?;
        let mut bytes = Vec::new();
        for index in 0..messages {
            (reads.text)(index, &mut bytes);
            if bytes.len() > 1 << 20 || index + 1 == messages {
                file.write_all(&bytes)?;
                bytes.clear();
            }
        }
        *last = Some((reads.text, messages, file));
    }
    let (_, _, file) = last.as_ref().expect("made above");
    // Opened once more, for an offset of its own.
    let mut file = File::open(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    if !reads.pipe {
        return Ok(file.into());
    }
    let (reader, mut writer) = io::pipe()?;
    // The thread ends when all is written, or when the reader is gone.
    std::thread::Builder::new().spawn(move || {
        let mut portion = vec![0; 64 << 10];
        while let Ok(length @ 1..) = file.read(&mut portion) {
            if writer.write_all(&portion[..length]).is_err() {
                return;
            }
        }
    })?;
    Ok(reader.into())
}

/// The command under `outpace run`.
fn relayed(command: &Command) -> Result<Command, String> {
    let mut relay = Command::new(this_program()?);
    relay.args(["run", "--"]).arg(command.get_program());
    relay.args(command.get_args());
    Ok(relay)
}

fn this_program() -> Result<PathBuf, String> {
    std::env::current_exe().map_err(|error| format!("outpace cannot find itself: {error}"))
}
