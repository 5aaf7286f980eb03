//! The experiments, as data: a question, the rungs that compete, the publications, and a conclusion
//! computed from the figures.
//!
//! To add a rung: a function and a line in its experiment's list (in another language: a source
//! file under `bench/` and a line). To add an experiment: a module here and a line in [`ALL`].

/// Source files of rungs, below `bench`: a line each.
macro_rules! sources {
    ($folder:literal; $($name:ident: $language:ident, $file:literal;)*) => {
        $(const $name: Source = Source {
            language: SourceLanguage::$language,
            file: $file,
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/bench/", $folder, "/", $file)),
        };)*
    };
}

/// One source in C++ for several rungs, each of which defines a macro as its own name.
macro_rules! programs_of {
    ($file:literal by $macro:literal: $($name:ident)*) => {
        $(const $name: Source = Source {
            language: SourceLanguage::Cpp,
            file: concat!(stringify!($name), ".cpp"),
            text: concat!(
                "#define ", $macro, " ", stringify!($name), "\n",
                include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/bench/", $file))
            ),
        };)*
    };
}

/// The first word of a rung's line: where it comes from.
macro_rules! origin {
    (published $seconds:literal) => {
        Origin::Published(Some($seconds))
    };
    (described) => {
        Origin::Published(None)
    };
    (outpace) => {
        Origin::Outpace
    };
    (added) => {
        Origin::Added
    };
}

/// Rungs, a line each: the origin, the name, the published seconds, the code, how it writes, and further facts by methods of
/// `Rung`.
macro_rules! rungs {
    ($($origin:ident $name:tt $($seconds:literal s)?: $runs:ident($work:expr), $about:tt $(.$more:ident($($with:expr),*))*;)*) => {{
        use crate::bench::experiment::{Origin, Rung, Work};
        const RUNGS: &[Rung] = &[$(
            Rung::new($name, $about, origin!($origin $($seconds)?), Work::$runs($work))$(.$more($($with),*))*
        ),*];
        RUNGS
    }};
}

mod calls;
mod chunks;
#[cfg(test)]
mod conclusions;
mod contest;
mod draw;
#[allow(unreachable_pub, unsafe_code, unused, missing_docs)]
mod edition;
mod endl;
mod fps;
mod input;
mod ladder;
mod languages;
mod lines;
mod log;
mod mapped;
mod pictures;
mod raw;
mod server;
mod sources;
mod startup;
mod terminal;
mod threads;
mod transcripts;
mod when;

use crate::bench::experiment::{Experiment, Rung, Work};
use crate::bench::results::figures::base_name;
use crate::user::failure::Failure;
use crate::user::names::closest;

/// Every experiment, in the order in which they run.
pub(crate) const ALL: &[&Experiment] = &[
    &lines::LINES,
    &fps::FPS,
    &when::WHEN,
    &calls::CALLS,
    &ladder::LADDER,
    &chunks::CHUNKS,
    &raw::RAW,
    &endl::ENDL,
    &mapped::MAPPED,
    &draw::DRAW,
    &threads::THREADS,
    &log::LOG,
    &server::SERVER,
    &startup::STARTUP,
    &languages::LANGUAGES,
    &input::INPUT,
    &contest::CONTEST,
    &terminal::TERMINAL,
];

/// The experiment of that name; the error has the nearest name.
pub(crate) fn find(name: &str) -> Result<&'static Experiment, Failure> {
    let known = ALL.iter().copied();
    known
        .clone()
        .find(|experiment| experiment.name == name)
        .ok_or_else(|| {
            let near = closest(name, known.map(|experiment| experiment.name));
            Failure::usage(name, "no such experiment").remedy(match near {
                Some(near) => format!("did you mean {near}?"),
                None => "see: outpace bench --list".to_owned(),
            })
        })
}

/// The experiment and the rung of `EXPERIMENT/RUNG`, where the rung may name its compiler too.
pub(crate) fn find_rung(name: &str) -> Result<(&'static Experiment, &'static Rung), Failure> {
    let both = name.split_once('/').filter(|(named, _)| !named.is_empty());
    let (experiment, rung) = both.ok_or_else(|| {
        Failure::usage(name, "not of the form EXPERIMENT/RUNG").remedy("see: outpace bench --list")
    })?;
    let experiment = find(experiment)?;
    // Only a rung that is compiled has a compiler's name behind it.
    let is_meant = |found: &&Rung| base_name(rung) == rung || matches!(found.work, Work::Source(_));
    let found = experiment.rung(base_name(rung)).filter(is_meant);
    let found = found.ok_or_else(|| {
        let near = closest(
            base_name(rung),
            experiment.rungs.iter().map(|rung| rung.name),
        );
        Failure::usage(name, "no such rung").remedy(match near {
            Some(near) => format!("did you mean {}/{near}?", experiment.name),
            None => format!("see: outpace bench {} --list", experiment.name),
        })
    })?;
    Ok((experiment, found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::experiment::Origin;

    #[test]
    fn published_figures_name_their_source() {
        for experiment in ALL {
            let rungs = experiment.rungs.iter();
            let mut published = rungs.filter(|rung| matches!(rung.origin, Origin::Published(_)));
            let is_ours = experiment.published.starts_with("Ours");
            assert!(
                !experiment.sources.is_empty() || (is_ours && published.next().is_none()),
                "{}",
                experiment.name
            );
            for source in experiment.sources {
                assert!(!source.author.is_empty() && !source.title.is_empty());
                assert!(source.link.is_none_or(|link| link.starts_with("http")));
            }
        }
    }
}
