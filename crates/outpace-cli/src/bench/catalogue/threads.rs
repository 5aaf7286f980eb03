//! `threads`: one stream, several threads.

use std::io::{self, Write};

use super::lines::message;
use crate::bench::experiment::clock::{Span, thread_delay_ns};
use crate::bench::experiment::{Experiment, Method};
use crate::bench::results::figures::{Compared, Figures};
use crate::user::quantity::times;

pub(crate) const THREADS: Experiment = Experiment {
    name: "threads",
    question: "What does a line cost when several threads print?",
    published: "Ours. No line may be torn, and each thread's lines stay in order: verified.",
    sources: &[],
    published_to: &[],
    unit: "line",
    message,
    messages: 10_000_000,
    to: &["null", "pipe"],
    baseline: "println-1",
    method: Method::Work,
    rungs: rungs! {
        added "println-1": Here(println::<1>), "println! in 1 thread" .threads(1);
        added "println-2": Here(println::<2>), "println! in 2 threads" .threads(2);
        added "println-4": Here(println::<4>), "println! in 4 threads" .threads(4);
        added "println-8": Here(println::<8>), "println! in 8 threads" .threads(8);
        outpace "outpace-1": Here(outpace::<1>), "outpace::println! in 1 thread" .threads(1);
        outpace "outpace-2": Here(outpace::<2>), "outpace::println! in 2 threads" .threads(2);
        outpace "outpace-4": Here(outpace::<4>), "outpace::println! in 4 threads" .threads(4);
        outpace "outpace-8": Here(outpace::<8>), "outpace::println! in 8 threads" .threads(8);
    },
    conclusion,
};

fn println<const THREADS: u64>(span: &mut Span) -> io::Result<()> {
    in_threads(span, THREADS, |index| println!("{index}"))?;
    io::stdout().flush()
}

fn outpace<const THREADS: u64>(span: &mut Span) -> io::Result<()> {
    in_threads(span, THREADS, |index| outpace::println!("{index}"))?;
    outpace::stdout().flush()
}

/// Thread `t` of `n` prints lines `t`, `t + n`, `t + 2n`, …
fn in_threads(span: &mut Span, threads: u64, print: impl Fn(u64) + Sync) -> io::Result<()> {
    let messages = span.messages;
    let delays: io::Result<Vec<Option<u64>>> = std::thread::scope(|scope| {
        let print = &print;
        let begin = |thread| {
            std::thread::Builder::new().spawn_scoped(scope, move || {
                let mut index = thread;
                while index < messages {
                    print(index);
                    index += threads;
                }
                thread_delay_ns()
            })
        };
        let threads: Vec<_> = (0..threads).map(begin).collect::<io::Result<_>>()?;
        let ended = threads
            .into_iter()
            .map(|thread| thread.join().ok().flatten());
        Ok(ended.collect())
    });
    span.done_calling();
    span.worked_in(&delays?);
    Ok(())
}

fn conclusion(figures: &Figures<'_>) -> Vec<String> {
    let mut sentences = Vec::new();
    for to in figures.destinations() {
        let compared: Vec<(u32, Compared)> = [1, 2, 4, 8]
            .into_iter()
            .filter_map(|threads| {
                let name = |of: &str| format!("{of}-{threads}");
                let compared = figures.compare(&name("outpace"), &name("println"), to)?;
                Some((threads, compared))
            })
            .collect();
        let open = compared.iter().find_map(|(threads, compared)| {
            let name = |of: &str| format!("{of}-{threads}");
            compared.unsettled(&name("outpace"), &name("println"), to)
        });
        let factor = |compared: &Compared| compared.factor().unwrap_or(1.0);
        let worst = compared
            .iter()
            .filter(|(_, compared)| !matches!(compared, Compared::Open(_)))
            .max_by(|(_, one), (_, other)| factor(one).total_cmp(&factor(other)));
        sentences.extend(worst.map(|(threads, worst)| match worst {
            Compared::Less(ratio) if open.is_none() => format!(
                "To {to} outpace is cheaper than println! with any number of threads, at worst {} \
                 of it, with {threads}.",
                times(*ratio)
            ),
            Compared::Same => format!("To {to} both cost the same with {threads} threads."),
            worst => format!(
                "To {to} outpace takes {} of println! with {threads} {}.",
                times(factor(worst)),
                if *threads == 1 { "thread" } else { "threads" }
            ),
        }));
        sentences.extend(open);
    }
    sentences
}
