//! `outpace completions SHELL`.

use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use clap::{Args, Command};
use clap_complete::Shell;

use super::command_line;
use crate::bench::catalogue::ALL;
use crate::bench::destination;
use crate::user::action::Action;
use crate::user::failure::Outcome;
use crate::user::output::print;

/// Print a completion script for a shell
#[derive(Args)]
pub(crate) struct Completions {
    /// The shell to complete in, such as: outpace completions bash >>~/.bashrc
    shell: Shell,
}

impl Action for Completions {
    const NAME: &'static str = "completions";

    fn run(self) -> Outcome {
        print(&script(self.shell))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// A placeholder in clap's scripts for a call of a function. It completes experiments and, behind a slash, their hundreds of
/// rungs.
const RUNGS: &str = "OUTPACE_RUNGS";

/// The arguments that name experiments or rungs.
const NAMING: [(&str, &str); 2] = [("bench", "experiments"), ("rung", "rung")];

fn script(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut with_names(), "outpace", &mut script);
    let script = String::from_utf8_lossy(&script);
    match shell {
        Shell::Bash => {
            let call = "$(_outpace_rungs \"${COMP_WORDS[COMP_CWORD]}\")";
            script.replace(RUNGS, call) + &in_bash()
        }
        Shell::Zsh => {
            let script = script.replace(&format!("({RUNGS})"), "_outpace_rungs");
            // The first line names the command for zsh, and the last lines call the functions above.
            let (first, rest) = script.split_once('\n').unwrap_or((&script, ""));
            format!("{first}\n{}{rest}", in_zsh())
        }
        Shell::Fish => script.into_owned() + &in_fish(),
        _ => script.into_owned(),
    }
}

/// The command line with the names that its arguments take.
fn with_names() -> Command {
    let commands = super::ALL.iter().map(|known| known.name).collect();
    let naming = NAMING.map(|(command, argument)| (command, argument, vec![RUNGS]));
    let others = [
        ("bench", "to", destination::examples().collect()),
        ("man", "command", commands),
    ];
    let all = naming.into_iter().chain(others);
    all.fold(command_line(), |program, (command, argument, values)| {
        program.mut_subcommand(command, |command| {
            command.mut_arg(argument, |it| {
                it.value_parser(PossibleValuesParser::new(values))
            })
        })
    })
}

/// The rungs of an experiment, each behind the experiment's name.
fn rungs() -> Vec<(&'static str, String)> {
    let rungs = ALL.iter().map(|experiment| {
        let names = experiment.rungs.iter();
        let names = names.map(|rung| format!("{}/{}", experiment.name, rung.name));
        (experiment.name, names.collect::<Vec<_>>().join(" "))
    });
    rungs.collect()
}

/// Experiments without and with a slash. Behind the slash their rungs are completed.
fn experiments() -> String {
    let names = ALL
        .iter()
        .map(|experiment| format!("{0} {0}/", experiment.name));
    names.collect::<Vec<_>>().join(" ")
}

/// Bash takes a colon for the end of a word, and destinations have colons, and commas between them.
const DESTINATIONS_IN_BASH: &str = r#"
_outpace_destinations() {
    local line=${COMP_LINE:0:COMP_POINT}
    local word=${line##*[[:space:]]}
    local head=
    [[ $word == *,* ]] && head=${word%,*},
    COMPREPLY=($(compgen -P "$head" -W 'DESTINATIONS' -- "${word##*,}"))
    [[ $word == *:* ]] && COMPREPLY=("${COMPREPLY[@]#"${word%:*}:"}")
}
_outpace_words() {
    if [[ ${COMP_LINE:0:COMP_POINT} =~ [[:space:]]--to[[:space:]]+[^[:space:]]*[:,][^[:space:]]*$ ]]; then
        _outpace_destinations
    else
        _outpace "$@"
    fi
}
complete -F _outpace_words -o bashdefault -o default outpace
"#;

fn in_bash() -> String {
    let cases = rungs().into_iter();
    let cases = cases.map(|(name, rungs)| format!("        {name}/*) echo '{rungs}' ;;\n"));
    let destinations: Vec<&str> = destination::examples().collect();
    format!(
        "\n_outpace_rungs() {{\n    case \"$1\" in\n{}        *) echo '{}' ;;\n    esac\n}}\n{}",
        cases.collect::<String>(),
        experiments(),
        DESTINATIONS_IN_BASH.replace("DESTINATIONS", &destinations.join(" "))
    )
}

fn in_zsh() -> String {
    let names = ALL.iter().map(|experiment| experiment.name);
    let rungs = rungs().into_iter().map(|(_, rungs)| rungs);
    format!(
        "\n_outpace_rungs() {{\n    _multi_parts / '({} {})'\n}}\n",
        names.collect::<Vec<_>>().join(" "),
        rungs.collect::<Vec<_>>().join(" ")
    )
}

fn in_fish() -> String {
    let cases = rungs().into_iter();
    let cases = cases.map(|(name, rungs)| {
        format!("        case '{name}/*'\n            string split ' ' -- '{rungs}'\n")
    });
    let naming = NAMING.map(|(command, _)| {
        format!("complete -c outpace -n '__fish_seen_subcommand_from {command}' -f -a '(__outpace_rungs)'\n")
    });
    format!(
        "\nfunction __outpace_rungs\n    switch (commandline -ct)\n{}        case '*'\n            string split ' ' -- '{}'\n    end\nend\n{}",
        cases.collect::<String>(),
        experiments(),
        naming.concat()
    )
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn scripts_know_what_the_list_knows() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let script = script(shell);
            for experiment in ALL {
                for rung in experiment.rungs {
                    let name = format!("{}/{}", experiment.name, rung.name);
                    assert!(script.contains(&name), "{shell}: {name}");
                }
            }
            for destination in destination::examples() {
                let escaped = destination.replace(':', "\\:");
                let known = script.contains(destination) || script.contains(&escaped);
                assert!(known, "{shell}: {destination}");
            }
        }
        for shell in Shell::value_variants() {
            assert!(!script(*shell).contains(RUNGS), "{shell}");
        }
    }
}
