//! `outpace man`.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Args, Command};
use clap_mangen::Man as Page;

use super::command_line;
use crate::user::action::Action;
use crate::user::failure::{Failure, Outcome, STATUSES};
use crate::user::output::print;

/// Print a manual page, such as: outpace man | man -l -
#[derive(Args)]
pub(crate) struct Man {
    /// The page of this command alone
    #[arg(value_name = "COMMAND")]
    command: Option<String>,
}

impl Action for Man {
    const NAME: &'static str = "man";

    fn run(self) -> Outcome {
        let page = match &self.command {
            None => page(),
            Some(name) if name == "outpace" => page(),
            Some(name) => page_of(name).ok_or_else(|| {
                Failure::usage(name, "no such command").remedy("see: outpace --help")
            })?,
        };
        let page = page.map_err(|error| Failure::failed("manual", error))?;
        print(&String::from_utf8_lossy(&page))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The program's page, with one section for each subcommand.
fn page() -> io::Result<Vec<u8>> {
    let program = program();
    let mut page = Vec::new();
    Page::new(program.clone()).render(&mut page)?;
    exit_status(&mut page)?;
    for subcommand in program.get_subcommands() {
        let full_name = format!("outpace {}", subcommand.get_name());
        writeln!(page, ".SH {}", full_name.to_uppercase())?;
        let mut section = Vec::new();
        let pages = Page::new(subcommand.clone().bin_name(full_name));
        pages.render_synopsis_section(&mut section)?;
        pages.render_description_section(&mut section)?;
        pages.render_options_section(&mut section)?;
        // Below the subcommand's own heading, and without roff's preamble a second time.
        for line in String::from_utf8_lossy(&section).lines() {
            match line.strip_prefix(".SH ") {
                Some(heading) => writeln!(page, ".SS {heading}")?,
                None if line.starts_with(".ie ") || line.starts_with(".el ") => {}
                None => writeln!(page, "{line}")?,
            }
        }
    }
    Ok(page)
}

/// The page of one subcommand, such as outpace-run(1).
fn page_of(name: &str) -> Option<io::Result<Vec<u8>>> {
    let subcommand = program().find_subcommand(name)?.clone();
    let mut page = Vec::new();
    let named = subcommand
        // clap takes only names that live as long as the program.
        .name(&*format!("outpace-{name}").leak())
        .bin_name(format!("outpace {name}"));
    let rendered = Page::new(named).render(&mut page);
    let rendered = rendered.and_then(|()| exit_status(&mut page));
    Some(rendered.map(|()| page))
}

fn program() -> Command {
    let program = command_line().disable_help_subcommand(true);
    // A manual has a section for it.
    let mut program = program.after_help(None::<&str>);
    program.build();
    program
}

fn exit_status(page: &mut Vec<u8>) -> io::Result<()> {
    writeln!(page, ".SH \"EXIT STATUS\"\n{STATUSES}")
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_subcommand_has_a_page_of_its_own() {
        for subcommand in super::command_line().get_subcommands() {
            let name = subcommand.get_name();
            let page = super::page_of(name).expect("it is one").unwrap();
            let page = String::from_utf8(page).unwrap();
            assert!(page.contains(&format!("outpace\\-{name} ")), "{page}");
            assert!(page.contains(".SH SYNOPSIS"), "{page}");
            assert!(page.contains(".SH \"EXIT STATUS\""), "{page}");
        }
        assert!(super::page_of("nothing").is_none());
    }

    #[test]
    fn the_manual_has_a_section_for_every_subcommand() {
        let page = String::from_utf8(super::page().unwrap()).unwrap();
        for subcommand in super::command_line().get_subcommands() {
            let heading = format!(".SH OUTPACE {}", subcommand.get_name().to_uppercase());
            assert!(page.contains(&heading), "no {heading} in the manual");
        }
        assert_eq!(page.matches("something failed").count(), 1, "{page}");
    }
}
