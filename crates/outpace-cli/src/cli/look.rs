//! Bare `outpace`: the cost of a line of output on this machine, on one screen of 80x24.

use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::bench::catalogue;
use crate::bench::destination::{Destination, ReadPace};
use crate::bench::results::figures::{Compared, Figures};
use crate::bench::results::machine::Machine;
use crate::bench::results::rows::Row;
use crate::bench::runner::contestant::Contestant;
use crate::bench::runner::{self, Plan};
use crate::platform::interrupts;
use crate::user::failure::{Outcome, require_proc};
use crate::user::output::print;
use crate::user::progress::Progress;
use crate::user::quantity::{duration, times, times_in_words};
use crate::user::screen::{Screen, takes_escapes};

const EXPERIMENT: &str = "lines";

/// The rungs that a newcomer knows or may want, with their names in the table.
const COLUMNS: [(&str, &str); 3] = [
    ("println", "println!"),
    ("bufwriter", "BufWriter"),
    ("outpace", "outpace"),
];

/// The destinations, their names in the table, and the milliseconds for each.
const DESTINATIONS: [(Destination, &str, u64); 4] = [
    (Destination::Null, "the null device", 600),
    (Destination::Pipe { capacity: None }, "a pipe", 1_200),
    (
        Destination::Pty(ReadPace::AtOnce),
        "a terminal that reads at once",
        1_800,
    ),
    (Destination::Tty, "this terminal", 1_800),
];

const NEXT: [(&str, &str); 3] = [
    (
        "outpace trace -- COMMAND",
        "is it slowed by its output, and why?",
    ),
    (
        "outpace bench lines --to xterm,tty",
        "the same in real terminals, with details",
    ),
    ("outpace bench --quick", "most experiments, in a minute"),
];

const LABEL: usize = 31;
const CELL: usize = 12;

/// The limit of a first look, also on a slow terminal.
const LIMIT: Duration = Duration::from_secs(9);

/// Measures, and prints each line as soon as its figures are there.
pub(crate) fn look() -> Outcome {
    require_proc()?;
    let until = Instant::now() + LIMIT;
    interrupts::watch();
    let experiment = catalogue::find(EXPERIMENT)?;
    // They are part of this program: none has to be compiled.
    let contestants = Contestant::all(experiment, true, |rung| {
        COLUMNS.iter().any(|&(name, _)| name == rung.name)
    });
    let screen = Screen::of_stdout();
    let machine = screen.paragraph(&Machine::this().summary(), 0);
    let title = screen.strong("What a line of output costs the program that writes it");
    let names = COLUMNS.map(|(_, name)| format!("{name:>CELL$}")).concat();
    let shown = std::io::stdout().is_terminal();
    let announced = screen.paragraph(
        if shown && takes_escapes() {
            "Prints lines for up to 10 s, on this terminal to another page of it."
        } else {
            "Prints lines for up to 10 s."
        },
        0,
    );
    print(&format!(
        "{title}\n{}{}\n{:LABEL$}{names}\n",
        screen.faint(&machine),
        screen.faint(&announced),
        ""
    ))?;

    let mut rows: Vec<Row> = Vec::new();
    let progress = Progress::new();
    for (to, label, milliseconds) in &DESTINATIONS {
        if *to == Destination::Tty && !shown {
            continue;
        }
        let plan = Plan {
            runs: 10,
            budget: Duration::from_millis(*milliseconds),
            brief: true,
            until: Some(until),
            ..Plan::default()
        };
        let outcome = runner::run(experiment, &contestants, to, &plan, &mut |text, done| {
            if *to != Destination::Tty {
                progress.show(&format!("{label}: {text}"), done);
            }
        });
        progress.erase();
        if interrupts::came() {
            print("\ninterrupted\n")?;
            return Ok(interrupts::status());
        }
        print(&line(label, &to.to_string(), &outcome.rows, screen))?;
        rows.extend(outcome.rows);
    }
    print(&ending(&rows, screen))?;
    let failed = rows.iter().any(|row| row.failed.is_some());
    Ok(if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// One destination's line of the table.
fn line(label: &str, to: &str, rows: &[Row], screen: Screen) -> String {
    let figures = Figures::new(EXPERIMENT, rows);
    let cells = COLUMNS.map(|(rung, _)| {
        let cell = figures
            .wall(rung, to)
            .map_or_else(|| "-".to_owned(), duration);
        let cell = format!("{cell:>CELL$}");
        if rung == "outpace" {
            screen.ours(&cell)
        } else {
            cell
        }
    });
    let troubles = rows
        .iter()
        .filter_map(|row| row.failed.as_ref().or(row.skipped.as_ref()));
    let trouble = troubles
        .take(1)
        .map(|why| screen.paragraph(why, 2))
        .collect::<String>();
    format!(
        "{label:LABEL$}{}\n{}",
        cells.concat(),
        screen.wrong(&trouble)
    )
}

/// The meaning of the figures, and commands to try next.
fn ending(rows: &[Row], screen: Screen) -> String {
    let mut text = format!("\n{}\n", screen.paragraph(&conclusion(rows), 0));
    for (command, about) in NEXT {
        text += &format!("  {}{}\n", screen.strong(&format!("{command:36}")), about);
    }
    text
}

/// Whether output costs this machine's programs anything worth saving.
fn conclusion(rows: &[Row]) -> String {
    let figures = Figures::new(EXPERIMENT, rows);
    let (terminal, called) = if figures.wall("println", "tty").is_some() {
        ("tty", "to this terminal")
    } else {
        ("pty", "to a terminal")
    };
    let mut sentences = Vec::new();
    for (to, called) in [("pipe", "into a pipe"), (terminal, called)] {
        let Some(println) = figures.wall("println", to) else {
            continue;
        };
        let best = COLUMNS
            .iter()
            .filter_map(|&(rung, name)| Some((figures.wall(rung, to)?, rung, name)))
            .min_by(|(one, ..), (other, ..)| one.total_cmp(other));
        let Some((best, rung, name)) = best else {
            continue;
        };
        let slowest = figures.compare("println", rung, to);
        sentences.push(
            if let Some(unsettled) = slowest
                .and_then(|slowest| slowest.unsettled("println!", name, destination_in_words(to)))
            {
                unsettled
            } else if println > best * 1.25 {
                format!(
                    "A line of println! {called} costs {} what it costs with {name}.",
                    times_in_words(println / best)
                )
            } else {
                format!(
                    "{}, println! is as cheap as the best of them.",
                    capitalised(called)
                )
            },
        );
    }
    if let Some(compared) = figures.compare("outpace", "bufwriter", terminal) {
        sentences.extend(match compared {
            Compared::Less(_) => Some("There outpace beats even a BufWriter.".to_owned()),
            Compared::Same => Some(
                "outpace is as fast there as a BufWriter, and unlike it shows every line within milliseconds."
                    .to_owned(),
            ),
            Compared::More(ratio) => Some(format!(
                "outpace takes {} of a BufWriter there, which shows nothing before it is full.",
                times(ratio)
            )),
            Compared::Open(_) => compared.unsettled("outpace", "a BufWriter", destination_in_words(terminal)),
        });
    }
    sentences.join(" ")
}

/// A destination in a sentence.
fn destination_in_words(to: &str) -> &'static str {
    match to {
        "pipe" => "a pipe",
        "tty" => "this terminal",
        _ => "a terminal",
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().collect::<String>() + letters.as_str()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::results::figures::rows_of;

    fn say(println: u64, bufwriter: u64, outpace: u64) -> String {
        conclusion(&rows_of(
            EXPERIMENT,
            &[
                ("println", "pty", println),
                ("bufwriter", "pty", bufwriter),
                ("outpace", "pty", outpace),
            ],
        ))
    }

    #[test]
    fn reversed_figures_give_the_opposite_conclusion() {
        let usual = say(1566, 366, 300);
        assert!(
            usual.contains("costs 5.22 times what it costs with outpace"),
            "{usual}"
        );
        assert!(usual.contains("outpace beats even a BufWriter"), "{usual}");
        let reversed = say(300, 366, 1566);
        assert!(
            reversed.contains("println! is as cheap as the best"),
            "{reversed}"
        );
        assert!(
            reversed.contains("outpace takes 4.28x of a BufWriter"),
            "{reversed}"
        );
    }

    #[test]
    fn the_whole_screen_fits_80_columns_and_24_lines() {
        let screen = Screen {
            columns: 80,
            colour: false,
        };
        let figures: Vec<(&str, &str, u64)> = ["null", "pipe", "pty", "tty"]
            .into_iter()
            .flat_map(|to| COLUMNS.map(|(rung, _)| (rung, to, 12_345)))
            .collect();
        let rows = rows_of(EXPERIMENT, &figures);
        let mut text = "title\nmachine\nsecond line of it\n\nnames\n".to_owned();
        for (to, label, _) in &DESTINATIONS {
            text += &line(label, &to.to_string(), &rows, screen);
        }
        text += &ending(&rows, screen);
        assert!(text.lines().all(|line| line.chars().count() < 80), "{text}");
        assert!(text.lines().count() <= 22, "{text}");
    }
}
