//! The subcommands. To add one: a module with a type that implements [`Action`], and a line in
//! [`ALL`]. Help, completions and the manual follow.

mod bench;
mod completions;
mod contest;
mod look;
mod man;
mod report;
mod rung;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgMatches, ColorChoice, Command};

use crate::bench::toolchain::{find_program, is_executable};
use crate::user::action::Action;
use crate::user::failure::{Failure, Outcome, STATUSES};
use crate::user::inert;
use crate::user::names::closest;
use crate::user::output::not_printed;
use crate::user::screen::Screen;

/// Every subcommand, in the order `--help` shows them.
const ALL: &[Subcommand] = &[
    Subcommand::of::<bench::Bench>(),
    Subcommand::of::<report::Report>(),
    Subcommand::of::<rung::WriteRung>(),
    Subcommand::of::<crate::fps::Fps>(),
    Subcommand::of::<crate::run::Run>(),
    Subcommand::of::<crate::trace::Trace>(),
    Subcommand::of::<contest::Contest>(),
    Subcommand::of::<completions::Completions>(),
    Subcommand::of::<man::Man>(),
];

struct Subcommand {
    name: &'static str,
    define: fn(Command) -> Command,
    run: fn(&ArgMatches) -> Outcome,
}

impl Subcommand {
    const fn of<A: Action>() -> Self {
        Self {
            name: A::NAME,
            define: A::augment_args,
            run: |matches| match A::from_arg_matches(matches) {
                Ok(action) => action.run(),
                Err(error) => Err(usage(error, A::NAME)),
            },
        }
    }
}

/// The whole command line, for parsing, completions and the manual.
pub(crate) fn command_line() -> Command {
    let subcommands = ALL
        .iter()
        .map(|subcommand| (subcommand.define)(Command::new(subcommand.name)))
        .map(|subcommand| subcommand.mut_args(negative_values));
    // By default clap colours even a terminal that takes no escape sequence, if the variable `CI` is set.
    let colour = if Screen::of_stdout().colour {
        ColorChoice::Always
    } else {
        ColorChoice::Never
    };
    Command::new("outpace")
        .color(colour)
        .version(env!("CARGO_PKG_VERSION"))
        .about(env!("CARGO_PKG_DESCRIPTION"))
        .max_term_width(100)
        .infer_long_args(true)
        .before_help("Without a command: a quick look at what a line of output costs here.")
        .after_help(format!("Exit status: {STATUSES}"))
        .subcommands(subcommands)
}

/// Lets a negative number be an option's value: then the option's own parser names the error.
fn negative_values(argument: Arg) -> Arg {
    let has_value = !argument.is_positional() && argument.get_action().takes_values();
    argument.allow_negative_numbers(has_value)
}

/// Parses the arguments and runs the subcommand.
pub(crate) fn run(arguments: impl IntoIterator<Item = OsString>) -> Outcome {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if let Some(outcome) = rung::directly(&arguments) {
        return outcome;
    }
    let typed = arguments.get(1).and_then(|word| word.to_str());
    let subcommand = ALL
        .iter()
        .map(|known| known.name)
        .find(|&name| typed == Some(name));
    let matches = command_line()
        .try_get_matches_from(&arguments)
        .map_err(|error| {
            program(&error, &arguments).unwrap_or_else(|| usage(error, subcommand.unwrap_or("")))
        })?;
    let Some((name, matches)) = matches.subcommand() else {
        return look::look();
    };
    let chosen = ALL.iter().find(|subcommand| subcommand.name == name);
    (chosen.expect("clap knows only the subcommands in ALL").run)(matches)
}

/// The error of a command line that begins with a program, such as `outpace seq 3`.
fn program(error: &clap::Error, arguments: &[OsString]) -> Option<Failure> {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let words = arguments.get(1..)?.iter().map(|word| word.to_str());
    let words: Vec<&str> = words.collect::<Option<_>>()?;
    let name = words.first().filter(|name| is_program(name))?;
    let command = inert::command(words.iter().copied())?;
    let remedy =
        format!("to run it: outpace run {command}; to look at it: outpace trace {command}");
    Some(Failure::usage(*name, "a program, not a command of outpace").remedy(remedy))
}

/// A bad command line in the form of every other error. Help and the version, which clap also
/// calls errors, are printed here and end the program.
fn usage(error: clap::Error, subcommand: &str) -> Failure {
    if !error.use_stderr() && error.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return match error.print().and_then(|()| io::stdout().flush()) {
            Ok(()) => std::process::exit(0),
            Err(error) => not_printed(error),
        };
    }
    let text = |kind| text(&error, kind);
    let option = |argument: &str| argument.split(" <").next().unwrap_or_default().to_owned();
    // clap gives `--runs <N>` and the value apart. The object of the error is the text that was typed.
    let argument = text(ContextKind::InvalidArg).or_else(|| text(ContextKind::InvalidSubcommand));
    let value = text(ContextKind::InvalidValue);
    let rendered = error.to_string();
    let first_line = rendered.lines().next().unwrap_or_default();
    if error.kind() == ErrorKind::MissingRequiredArgument
        && let Some(argument) = &argument
        && let Some((what, example)) = missing(subcommand, argument)
    {
        return Failure::usage(subcommand, format!("needs {what}"))
            .remedy(format!("such as: {example}"));
    }
    let (object, cause) = match (error.kind(), argument, value) {
        (ErrorKind::MissingRequiredArgument, Some(argument), _) => (argument, "is missing"),
        (ErrorKind::ValueValidation | ErrorKind::InvalidValue, Some(argument), Some(value)) => {
            let object = if argument.starts_with('-') {
                format!("{} {value}", option(&argument))
            } else {
                value.clone()
            };
            let cause = first_line
                .split_once(&format!("'{argument}'"))
                .map_or("", |(_, rest)| rest);
            let cause = cause.strip_prefix(": ");
            let cause = cause.unwrap_or("not one of the possible values");
            let remedy = remedy(&error, subcommand, &value);
            return Failure::usage(object, cause).remedy(remedy);
        }
        (ErrorKind::InvalidValue | ErrorKind::ValueValidation, Some(argument), None) => {
            (option(&argument), "needs a value")
        }
        (ErrorKind::ArgumentConflict, Some(argument), _) => {
            let other = match text(ContextKind::PriorArg) {
                Some(same) if same == argument => {
                    return Failure::usage(option(&argument), "given more than once")
                        .remedy("leave one of them out");
                }
                Some(other) if other.starts_with('-') => option(&other),
                _ => "a command".to_owned(),
            };
            return Failure::usage(option(&argument), format!("cannot be used with {other}"))
                .remedy("leave one of them out");
        }
        // clap's own sentences repeat the object.
        (ErrorKind::TooManyValues, Some(argument), _) => (argument, "takes no value"),
        (ErrorKind::InvalidSubcommand, Some(argument), _) => (argument, "no such command"),
        (ErrorKind::UnknownArgument, Some(argument), _) if argument.starts_with('-') => {
            (argument, "no such option")
        }
        (ErrorKind::UnknownArgument, Some(argument), _) => (argument, "one argument too many"),
        (ErrorKind::InvalidSubcommand, None, _) => (String::new(), "no such command"),
        (_, argument, _) => {
            let object = argument.unwrap_or_else(|| "command line".to_owned());
            (object, first_line.trim_start_matches("error: "))
        }
    };
    let remedy = remedy(&error, subcommand, &object);
    Failure::usage(object, cause).remedy(remedy)
}

/// A near match, the values there are, or where to read more.
fn remedy(error: &clap::Error, subcommand: &str, typed: &str) -> String {
    let values = text(error, ContextKind::ValidValue);
    match (near(error, subcommand, typed), values) {
        (Some(near), Some(values)) => format!("did you mean {near}? one of: {values}"),
        (Some(near), None) => format!("did you mean {near}?"),
        (None, Some(values)) => format!("one of: {values}"),
        (None, None) if subcommand.is_empty() => "see: outpace --help".to_owned(),
        (None, None) => format!("see: outpace {subcommand} --help"),
    }
}

/// The name nearest to an unknown word: of a command, of an option, or of a value.
fn near(error: &clap::Error, subcommand: &str, typed: &str) -> Option<String> {
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let commands = ALL.iter().map(|known| known.name).chain(["help"]);
            let command = closest(typed, commands).map(str::to_owned);
            // Without a command, the words that remain are `version` and its like.
            command.or_else(|| near_option(subcommand, typed))
        }
        ErrorKind::UnknownArgument => near_option(subcommand, typed),
        ErrorKind::InvalidValue => {
            let values = text(error, ContextKind::ValidValue)?;
            closest(typed, values.split(", ")).map(str::to_owned)
        }
        _ => None,
    }
}

/// The option of a command, or without one of the program, that was meant by a word with or without dashes.
fn near_option(subcommand: &str, typed: &str) -> Option<String> {
    let mut command_line = command_line();
    // It adds --help and --version.
    command_line.build();
    let of = command_line
        .find_subcommand(subcommand)
        .unwrap_or(&command_line);
    let options = of.get_arguments().filter_map(Arg::get_long);
    closest(typed.trim_start_matches('-'), options).map(|name| format!("--{name}"))
}

/// A detail that clap keeps with an error.
fn text(error: &clap::Error, kind: ContextKind) -> Option<String> {
    match error.get(kind)? {
        ContextValue::String(text) if !text.is_empty() => Some(text.clone()),
        ContextValue::Strings(texts) if !texts.is_empty() => Some(texts.join(", ")),
        ContextValue::StyledStrs(texts) if !texts.is_empty() => Some(texts[0].to_string()),
        _ => None,
    }
}

/// The argument that a subcommand needs, with an example.
fn missing(subcommand: &str, argument: &str) -> Option<(&'static str, &'static str)> {
    Some(match (subcommand, argument) {
        ("trace", "<CMD>...") => (
            "a command to run, or -p PID",
            "outpace trace ./program --its-option",
        ),
        ("run", "<CMD>...") => ("a command to run", "outpace run ./program --its-option"),
        ("report", "<FILE>...") => (
            "a file that `outpace bench --export-json` wrote",
            "outpace report before.json after.json",
        ),
        ("rung", _) => (
            "the name of a rung",
            "outpace rung lines/println (outpace bench --list names them)",
        ),
        ("completions", _) => ("the name of a shell", "outpace completions bash"),
        _ => return None,
    })
}

/// Whether a shell would find a program by this name.
fn is_program(name: &str) -> bool {
    if name.contains('/') {
        return is_executable(Path::new(name));
    }
    find_program(name).is_some()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_misspelt_subcommand_gets_its_near_match() {
        let arguments = ["outpace", "completion"].map(Into::into);
        let failure = super::run(arguments).expect_err("there is no such subcommand");
        assert!(
            failure.to_string().contains("did you mean completions?"),
            "{failure}"
        );
    }

    #[test]
    fn a_bad_value_is_named_with_its_option_and_what_is_wrong_with_it() {
        let said = |arguments: &[&str]| {
            let arguments = arguments.iter().map(Into::into);
            super::run(arguments).expect_err("it is bad").to_string()
        };
        assert_eq!(
            said(&["outpace", "bench", "--size", "80"]),
            "outpace: --size 80: a size is columns and rows, such as 80x24\n  \
             see: outpace bench --help"
        );
        assert_eq!(
            said(&["outpace", "run", "--pipe", "--terminal", "--", "true"]),
            "outpace: --pipe: cannot be used with --terminal\n  leave one of them out"
        );
        assert_eq!(
            said(&["outpace", "bench", "--runs", "1", "--runs", "2"]),
            "outpace: --runs: given more than once\n  leave one of them out"
        );
        assert_eq!(
            said(&["outpace", "run", "--timestamps=5", "true"]),
            "outpace: --timestamps: takes no value\n  see: outpace run --help"
        );
        assert_eq!(
            said(&["outpace", "trace", "--json", "-", "true"]),
            "outpace: --json -: for standard output name /dev/stdout\n  see: outpace trace --help"
        );
        assert_eq!(
            said(&["outpace", "run", "--tee", "a", "--stats", "a", "true"]),
            "outpace: --stats: the same file as --tee\n  name another file"
        );
        assert_eq!(
            said(&["outpace", "bench", "fps", "--hyperfine"]),
            "outpace: --hyperfine: none of these experiments can be compared in that way\n  \
             such as: outpace bench lines --hyperfine"
        );
        assert_eq!(
            said(&["outpace", "bench", "--to", "/dev/null"]),
            "outpace: --to /dev/null: no such destination; did you mean null?\n  see: outpace bench --help"
        );
        assert_eq!(
            said(&["outpace", "trace", "-p", "1", "--", "true"]),
            "outpace: --pid: cannot be used with a command\n  leave one of them out"
        );
        assert_eq!(
            said(&["outpace", ""]),
            "outpace: '': no such command\n  see: outpace --help"
        );
        assert_eq!(
            said(&["outpace", "fps", "--delay", "-1"]),
            "outpace: --delay -1: not a number of milliseconds\n  see: outpace fps --help"
        );
        assert_eq!(
            said(&["outpace", "fps", "--seconds", "-1"]),
            "outpace: --seconds -1: not a number of seconds\n  see: outpace fps --help"
        );
        assert_eq!(
            said(&["outpace", "fps", "--buffering", "blok"]),
            "outpace: --buffering blok: not unbuffered, line, block[:SIZE], outpace or outpace:direct\n  \
             see: outpace fps --help"
        );
        assert_eq!(
            said(&["outpace", "bench", "--runs", "0"]),
            "outpace: --runs 0: not a whole number from 1 to 65535\n  see: outpace bench --help"
        );
        assert_eq!(
            said(&["outpace", "bench", "--messages", "1e6"]),
            "outpace: --messages 1e6: not a whole number from 1 to 1000000000000, in digits\n  see: outpace bench --help"
        );
        for (option, value, bounds) in [
            ("--messages", "-1", "1 to 1000000000000"),
            (
                "--messages",
                "99999999999999999999999",
                "1 to 1000000000000",
            ),
            ("--runs", "-1", "1 to 65535"),
            ("--warmup", "-3", "0 to 65535"),
            ("--connections", "1001", "1 to 1000"),
        ] {
            assert_eq!(
                said(&["outpace", "bench", option, value]),
                format!(
                    "outpace: {option} {value}: not a whole number from {bounds}\n  see: outpace bench --help"
                )
            );
        }
        assert_eq!(
            said(&["outpace", "report"]),
            "outpace: report: needs a file that `outpace bench --export-json` wrote\n  \
             such as: outpace report before.json after.json"
        );
        assert_eq!(
            said(&["outpace", "trace"]),
            "outpace: trace: needs a command to run, or -p PID\n  \
             such as: outpace trace ./program --its-option"
        );
        assert_eq!(
            said(&["outpace", "bench", "--export-json", ""]),
            "outpace: --export-json: needs a value\n  see: outpace bench --help"
        );
        assert_eq!(
            said(&["outpace", "/bin/sh", "-c"]),
            "outpace: /bin/sh: a program, not a command of outpace\n  \
             to run it: outpace run /bin/sh -c; to look at it: outpace trace /bin/sh -c"
        );
        let shell = said(&["outpace", "completions", "tcsh"]);
        assert!(
            shell.starts_with("outpace: tcsh: not one of the possible values\n  one of: bash, "),
            "{shell}"
        );
        // Also beside a near match, which may be wrong.
        let shell = said(&["outpace", "completions", "bahs"]);
        assert!(
            shell.contains("did you mean bash? one of: bash, "),
            "{shell}"
        );
    }

    #[test]
    fn an_unknown_word_is_named_once() {
        let said = |arguments: &[&str]| {
            let arguments = arguments.iter().map(Into::into);
            super::run(arguments).expect_err("it is bad").to_string()
        };
        assert_eq!(
            said(&["outpace", "frobnicate"]),
            "outpace: frobnicate: no such command\n  see: outpace --help"
        );
        // Half of its letters are those of another.
        assert_eq!(
            said(&["outpace", "nosuch"]),
            "outpace: nosuch: no such command\n  see: outpace --help"
        );
        assert_eq!(
            said(&["outpace", "bench", "--quikc"]),
            "outpace: --quikc: no such option\n  did you mean --quick?"
        );
        for (typed, what, meant) in [
            ("--versoin", "option", "--version"),
            ("--hepl", "option", "--help"),
            ("versoin", "command", "--version"),
            ("hlep", "command", "help"),
            ("benhc", "command", "bench"),
        ] {
            assert_eq!(
                said(&["outpace", typed]),
                format!("outpace: {typed}: no such {what}\n  did you mean {meant}?")
            );
        }
        assert_eq!(
            said(&["outpace", "contest", "--frobnicate"]),
            "outpace: --frobnicate: no such option\n  see: outpace contest --help"
        );
        assert_eq!(
            said(&["outpace", "contest", "frobnicate"]),
            "outpace: frobnicate: one argument too many\n  see: outpace contest --help"
        );
    }

    #[test]
    fn a_missing_argument_is_named_with_an_example() {
        let mut tried = Vec::new();
        for known in super::ALL {
            let definition = (known.define)(clap::Command::new(known.name));
            let needs_more = definition.get_arguments().any(|it| it.is_required_set())
                || ["run", "trace"].contains(&known.name);
            if needs_more {
                let arguments = ["outpace", known.name].map(Into::into);
                let failure = super::run(arguments).expect_err("it was called alone");
                let said = failure.to_string();
                let start = format!("outpace: {}: needs ", known.name);
                assert!(said.starts_with(&start), "{said}");
                assert!(said.contains("\n  such as: outpace "), "{said}");
                tried.push(known.name);
            }
        }
        assert_eq!(tried, ["report", "rung", "run", "trace", "completions"]);
    }

    #[test]
    fn the_command_line_is_well_formed() {
        super::command_line().debug_assert();
    }
}
