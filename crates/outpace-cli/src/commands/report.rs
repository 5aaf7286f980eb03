//! `outpace report`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::{Action, print};
use crate::experiments;
use crate::failure::Outcome;
use crate::measure::figures::Figures;
use crate::measure::rows::Results;
use crate::present::comparison::{self, Named, Yardstick};
use crate::present::screen::Screen;
use crate::present::table;

/// Shows the results of a bench again, or compares those of several
#[derive(Args)]
pub(crate) struct Report {
    /// Files that `outpace bench --export-json` wrote; the others are compared with the first
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

impl Action for Report {
    const NAME: &'static str = "report";

    fn run(self) -> Outcome {
        let files = self
            .files
            .iter()
            .map(|path| Ok(Named::new(path, Results::read(path)?)))
            .collect::<Result<Vec<_>, _>>()?;
        let screen = Screen::of_stdout();
        let text = match &files[..] {
            [only] => again(only, screen),
            _ => compared(&files, screen),
        };
        print(&text)?;
        Ok(ExitCode::SUCCESS)
    }
}

fn again(file: &Named, screen: Screen) -> String {
    let Results {
        command,
        machine,
        rows,
    } = &file.results;
    let origin = format!("{}, {}, {command}", machine.summary(), machine.date);
    let mut text = screen.faint(&screen.paragraph(&origin, 0));
    let mut places: Vec<(&str, &str)> = Vec::new();
    for row in rows {
        if !places.contains(&(&row.experiment, &row.to)) {
            places.push((&row.experiment, &row.to));
        }
    }
    for (index, &(name, to)) in places.iter().enumerate() {
        let Ok(experiment) = experiments::find(name) else {
            text += &format!("\n{name} to {to}: an experiment of another version of outpace\n");
            continue;
        };
        text += &format!("\n{}", table::table(experiment, to, rows).to_screen(screen));
        let last = places.get(index + 1).is_none_or(|(next, _)| *next != name);
        if last {
            let verdict = (experiment.verdict)(&Figures::new(name, rows));
            text += &format!("\n{}", screen.paragraph(&verdict, 0));
        }
    }
    text
}

fn compared(files: &[Named], screen: Screen) -> String {
    let mut text = String::new();
    for file in files {
        let machine = &file.results.machine;
        let line = format!(
            "{}: {}, {}, outpace {}",
            file.name,
            machine.summary(),
            machine.date,
            machine.outpace
        );
        text += &screen.faint(&screen.paragraph(&line, 0));
    }
    let yardstick = Yardstick::of(files);
    if yardstick == Yardstick::Ratios {
        text += &screen.paragraph(
            "The machines differ: compared are the ratios to the baseline of the same run.",
            0,
        );
    }
    for table in comparison::tables(files, yardstick) {
        text += &format!("\n{}", table.to_screen(screen));
    }
    text += &format!(
        "\n{}",
        screen.paragraph(&comparison::verdict(files, yardstick), 0)
    );
    text
}
