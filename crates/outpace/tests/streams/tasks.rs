//! The output of asynchronous writers at the end of a program.

use crate::support::{Program, To, assert_same, list};
use tokio::io::AsyncWriteExt;
use tokio::runtime::{Builder, Runtime};

list! {
    portable: [what_a_task_has_written_arrives_however_the_program_ends],
    native: [a_forked_child_goes_on_without_the_parents_tasks],
    programs: [ends_at_once, ends_the_runtime, exits_in_a_task, on_stderr, forks],
}

const LINES: usize = 200_000;

fn lines() -> String {
    (0..LINES).map(|n| format!("line {n}\n")).collect()
}

fn runtimes() -> [Runtime; 2] {
    [
        Builder::new_current_thread().build().unwrap(),
        Builder::new_multi_thread()
            .worker_threads(2)
            .build()
            .unwrap(),
    ]
}

/// The one with the index in the program's argument.
fn runtime() -> Runtime {
    let which: usize = std::env::args().nth(1).unwrap().parse().unwrap();
    runtimes().into_iter().nth(which).unwrap()
}

async fn write_all() {
    let mut out = outpace::tokio::stdout();
    out.write_all(lines().as_bytes()).await.unwrap();
}

fn ends_at_once() {
    runtime().block_on(write_all());
    std::process::exit(0);
}

fn ends_the_runtime() {
    let runtime = runtime();
    let task = runtime.spawn(write_all());
    runtime.block_on(task).unwrap();
    drop(runtime);
}

fn exits_in_a_task() {
    let runtime = runtime();
    let task = runtime.spawn(async {
        write_all().await;
        std::process::exit(0);
    });
    runtime.block_on(task).unwrap();
}

fn on_stderr() {
    runtime().block_on(async {
        let mut err = outpace::tokio::stderr();
        err.write_all(b"on standard error\n").await.unwrap();
        write_all().await;
    });
}

fn what_a_task_has_written_arrives_however_the_program_ends() {
    let expected = lines();
    for which in 0..runtimes().len() {
        for to in [To::Pipe, To::Terminal, To::File] {
            for program in [
                Program::new(ends_at_once),
                Program::new(ends_the_runtime),
                Program::new(exits_in_a_task),
            ] {
                let finished = program.argument(which).run(to).succeeded();
                assert_same(&finished.stdout, expected.as_bytes());
            }
        }
        let finished = Program::new(on_stderr).argument(which).run(To::Pipe);
        assert_eq!(finished.stderr, "on standard error\n");
        assert_same(&finished.stdout, expected.as_bytes());
        // The reader does not read until the program only waits for it.
        let (running, reader) = Program::new(ends_at_once).argument(which).start_unread();
        running.wait_until_asleep();
        reader.resume();
        let finished = running.finish().succeeded();
        assert_same(&finished.stdout, expected.as_bytes());
    }
}

#[allow(unsafe_code)]
fn forks() {
    let runtime = runtime();
    runtime.block_on(async {
        let mut out = outpace::tokio::stdout();
        out.write_all(b"parent\n").await.unwrap();
        out.flush().await.unwrap();
        // SAFETY: what the child does is to print and to end.
        let child = unsafe { libc::fork() };
        if child == 0 {
            out.write_all(b"child\n").await.unwrap();
            std::process::exit(0);
        }
        // SAFETY: plain call.
        unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
        out.write_all(b"parent again\n").await.unwrap();
    });
}

fn a_forked_child_goes_on_without_the_parents_tasks() {
    let finished = Program::new(forks).argument(0).run(To::Pipe).succeeded();
    assert_same(&finished.stdout, b"parent\nchild\nparent again\n");
}
