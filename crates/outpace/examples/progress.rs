//! Lines above a progress bar, by several ways to print.
//!
//! ```text
//! cargo run -p outpace --example progress           # as it should be: `outpace::share()` first
//! cargo run -p outpace --example progress alone     # without: stale bars between the lines
//! ```
//!
//! `suspend` takes the bar away, calls back, and draws it again. Lines printed meanwhile must have reached the terminal
//! when the callback returns: std's have, and after `outpace::share()` those of outpace have, too.

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use outpace::{eprintln, println};
use std::time::Duration;

fn main() {
    if std::env::args().nth(1).is_none_or(|way| way != "alone") {
        outpace::share();
    }
    let style = ProgressStyle::with_template("[{bar:30}] {pos}/{len}").expect("a template");

    // One bar, on standard error; the lines on standard output.
    let bar = ProgressBar::new(30).with_style(style.clone());
    bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(255));
    for i in 0..30 {
        bar.suspend(|| {
            for part in ["first", "second"] {
                println!("{part} line of step {i}");
            }
        });
        // A dependency's.
        bar.suspend(|| std::println!("std's line of step {i}"));
        bar.suspend(|| eprintln!("a remark about step {i}"));
        bar.inc(1);
    }
    bar.finish();

    // Several, drawn by threads of their own.
    let bars = MultiProgress::with_draw_target(ProgressDrawTarget::stdout_with_hz(255));
    let bars_of_threads: Vec<ProgressBar> = (0..3)
        .map(|_| bars.add(ProgressBar::new(100).with_style(style.clone())))
        .collect();
    std::thread::scope(|scope| {
        for bar in &bars_of_threads {
            bar.enable_steady_tick(Duration::from_millis(1));
            scope.spawn(|| {
                for i in 0..100 {
                    if i % 10 == 0 {
                        bars.suspend(|| println!("a thread has done {i}"));
                    }
                    bar.inc(1);
                }
                bar.finish();
            });
        }
    });
    println!("done");
}
