//! `outpace report`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::bench::catalogue;
use crate::bench::results::rows::Results;
use crate::bench::view::block::Block;
use crate::bench::view::columns;
use crate::bench::view::comparison::{self, Named, Yardstick};
use crate::bench::view::html;
use crate::bench::view::summary;
use crate::user::action::Action;
use crate::user::failure::Outcome;
use crate::user::output::{file, print, write};
use crate::user::screen::Screen;

/// Show the rows of a bench again, or compare those of several
#[derive(Args)]
pub(crate) struct Report {
    /// Files that `outpace bench --export-json` wrote; the others are compared with the first
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Write the same as a page for a browser
    #[arg(long, value_name = "FILE", value_parser = file())]
    export_html: Option<PathBuf>,
}

impl Action for Report {
    const NAME: &'static str = "report";

    fn run(self) -> Outcome {
        let files = self
            .files
            .iter()
            .map(|path| Ok(Named::new(path, Results::read(path)?)))
            .collect::<Result<Vec<_>, _>>()?;
        let blocks = match &files[..] {
            [only] => again(only),
            _ => compared(&files),
        };
        // Before the tables, which would hide an error above them.
        if let Some(path) = &self.export_html {
            let cards = match &files[..] {
                [only] => summary::cards(catalogue::ALL, &only.results.rows),
                _ => comparison::cards(&files, Yardstick::of(&files)),
            };
            write(path, &html::document("outpace report", &cards, &blocks))?;
        }
        let screen = Screen::of_stdout();
        print(
            &blocks
                .iter()
                .map(|block| block.to_screen(screen))
                .collect::<String>(),
        )?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The blocks that the bench itself showed.
fn again(file: &Named) -> Vec<Block> {
    let rows = &file.results.rows;
    let mut blocks = vec![Block::Origin(file.results.origin())];
    let all = comparison::series_of(rows);
    for series in all.chunk_by(|(one, _), (other, _)| one == other) {
        let name = series[0].0;
        let Ok(experiment) = catalogue::find(name) else {
            let reason = format!("{name}: an experiment of another version of outpace");
            blocks.push(Block::Warning(reason));
            continue;
        };
        blocks.push(Block::Heading(experiment));
        let table = |&(_, to): &(&str, &str)| Block::Table(columns::table(experiment, to, rows));
        blocks.extend(series.iter().map(table));
        blocks.extend(columns::together(experiment, rows).map(Block::Table));
        blocks.push(Block::Conclusion(experiment.conclude(rows)));
    }
    blocks
}

fn compared(files: &[Named]) -> Vec<Block> {
    let origin = |file: &Named| Block::Origin(format!("{}: {}", file.name, file.results.origin()));
    let mut blocks: Vec<Block> = files.iter().map(origin).collect();
    let yardstick = Yardstick::of(files);
    if yardstick == Yardstick::Ratios {
        blocks.push(Block::Conclusion(
            "The machines differ: compared are the ratios to the baseline of the same run."
                .to_owned(),
        ));
    }
    let mut last = None;
    for series in comparison::series_of(&files[0].results.rows) {
        let Some(table) = comparison::table_of(files, series, yardstick) else {
            continue;
        };
        if last != Some(series.0)
            && let Ok(experiment) = catalogue::find(series.0)
        {
            blocks.push(Block::Heading(experiment));
        }
        last = Some(series.0);
        blocks.push(Block::Table(table));
    }
    let mut closing = comparison::conclusion(files, yardstick);
    let alone = comparison::alone(files, yardstick);
    if !alone.is_empty() {
        closing += &format!(" In {} alone: {}.", files[0].name, alone.join(", "));
    }
    blocks.push(Block::Closing(closing));
    blocks
}
