//! Results in short: the last lines of a quick bench, with the best rung of each experiment, ten at most; and the cards at
//! the top of a page, which compare.

use crate::bench::experiment::{Experiment, Method};
use crate::bench::results::figures::{Compared, Figures, base_name, into, leaders};
use crate::bench::results::rows::Row;
use crate::user::quantity::{duration, significant, times, times_in_words};

const MOST: usize = 10;

/// If there are more experiments than lines, these are left out first.
const GIVE_WAY: [&str; 8] = [
    "raw", "mapped", "contest", "chunks", "calls", "startup", "threads", "endl",
];

/// A summary at the top of a page, which leads to the section of that name.
pub(crate) struct Card {
    pub(crate) section: String,
    pub(crate) what: String,
    pub(crate) figure: String,
    pub(crate) rest: String,
    pub(crate) question: String,
}

/// Two rungs of an experiment that a reader wants to see compared: most often the usual way and outpace's.
const COMPARED: [(&str, &str, &str); 12] = [
    ("lines", "println", "outpace"),
    ("fps", "stdout-line", "outpace"),
    ("calls", "stderr", "stdout"),
    ("ladder", "turbo-c", "outpace"),
    ("endl", "endl", "outpace-endl"),
    ("draw", "animation-crossterm", "animation-outpace"),
    ("threads", "println-4", "outpace-4"),
    ("log", "println", "outpace-background"),
    ("server", "println", "background-drop-oldest"),
    ("startup", "std", "outpace"),
    ("input", "read-line", "outpace"),
    ("contest", "std", "outpace-contest"),
];

/// The best rungs of an experiment.
struct Headline {
    experiment: &'static Experiment,
    to: String,
    /// The best rung, or the subject of the answer.
    best: String,
    /// Its figure with the unit, such as `20.0 ns a line`; empty where the answer has none.
    figure: String,
    /// The number of others to which the noise hides the difference.
    equals: usize,
    /// How many times faster it is than another.
    faster: Option<(f64, String)>,
}

impl Headline {
    /// Against the others.
    fn against(&self) -> Vec<String> {
        let equals = (self.equals > 0).then(|| format!("{} more within the noise", self.equals));
        let faster = self.faster.as_ref();
        let faster =
            faster.map(|(factor, other)| format!("{} faster than {other}", times(*factor)));
        equals.into_iter().chain(faster).collect()
    }

    /// In one line of at most `columns` columns. The comparison is shortened first; the number of equals always stays.
    fn line(&self, columns: usize) -> String {
        let start = format!("{} to {}: {}", self.experiment.name, self.to, self.best);
        let figure = match &self.figure[..] {
            "" => String::new(),
            figure => format!(" {figure}"),
        };
        let equals = match self.equals {
            0 => String::new(),
            equals => format!(" (and {equals} more)"),
        };
        let short = format!("{start}{equals}{figure}");
        let whole = [vec![format!("{start}{figure}")], self.against()].concat();
        let mut forms = vec![whole.join(", ")];
        if let Some((factor, other)) = &self.faster {
            let faster = format!("{short}, {} faster", times(*factor));
            forms.extend([format!("{faster} than {other}"), faster]);
        }
        let cut = short
            .chars()
            .take(columns.saturating_sub(1))
            .chain(['…'])
            .collect();
        forms.push(short);
        let mut forms = forms.into_iter();
        let fits = |form: &String| form.chars().count() <= columns;
        forms.find(fits).unwrap_or(cut)
    }
}

/// A card for each experiment that has figures; of one alone, for each of its destinations.
pub(crate) fn cards(experiments: &[&'static Experiment], rows: &[Row]) -> Vec<Card> {
    let experiments = experiments.iter().copied();
    let shown: Vec<_> = experiments
        .filter_map(|experiment| {
            let figures = Figures::new(experiment.name, rows);
            let to = destination(&figures)?;
            Some((experiment, figures, to))
        })
        .collect();
    match &shown[..] {
        [(experiment, figures, _)] => {
            let all = figures.destinations().into_iter();
            all.filter_map(|to| card(experiment, figures, to)).collect()
        }
        several => several
            .iter()
            .filter_map(|(experiment, figures, to)| {
                let question = experiment.question.to_owned();
                let card = card(experiment, figures, to)?;
                Some(Card { question, ..card })
            })
            .collect(),
    }
}

/// The usual way beside outpace's, or where one of them was not measured, the best rung.
fn card(experiment: &'static Experiment, figures: &Figures<'_>, to: &str) -> Option<Card> {
    let pair = COMPARED.iter().find(|(name, ..)| *name == experiment.name);
    let pair =
        pair.and_then(|(_, usual, ours)| Some((figures.row(usual, to)?, figures.row(ours, to)?)));
    let (figure, rest) = match pair {
        Some((usual, ours)) => {
            let said = |row| format!("{}: {}", base_name(name(row)), figure(experiment, row));
            let rest = format!("{}\n{}", said(usual), said(ours));
            (difference(experiment, ours, usual), rest)
        }
        None => {
            let headline = headline(experiment, figures, to)?;
            let against = headline.against();
            let rest: Vec<String> = [headline.best].into_iter().chain(against).collect();
            (headline.figure, rest.join(", "))
        }
    };
    Some(Card {
        section: experiment.name.to_owned(),
        what: format!("{} {}", experiment.name, into(to)),
        figure,
        rest,
        question: String::new(),
    })
}

/// How much better a rung is than the usual one.
fn difference(experiment: &Experiment, ours: &Row, usual: &Row) -> String {
    let rate = match (ours.fps(), ours.server()) {
        (Some(_), _) => Some("frames/s"),
        (_, Some(_)) => Some("requests/s"),
        _ => None,
    };
    match (Compared::of(ours, usual), rate) {
        (Compared::Less(share) | Compared::More(share), Some(rate)) => {
            format!("{} the {rate}", times_in_words(1.0 / share))
        }
        (Compared::Less(share), None) => format!("{} cheaper", times_in_words(1.0 / share)),
        (Compared::More(factor), None) => {
            format!(
                "{} the time of a {}",
                times_in_words(factor),
                experiment.unit
            )
        }
        (Compared::Same, _) => "no difference".to_owned(),
        (Compared::Open(Some(_)), _) => "the noise hides the difference".to_owned(),
        (Compared::Open(None), _) => "one run: no comparison".to_owned(),
    }
}

/// The figure of a row with its unit.
fn figure(experiment: &Experiment, row: &Row) -> String {
    let time = row.wall_per_message().unwrap_or_default();
    match (row.fps(), row.server()) {
        (Some(fps), _) => format!("{} frames/s", significant(fps)),
        (_, Some(_)) => format!("{} requests/s", significant(1e9 / time)),
        _ => format!("{} a {}", duration(time), experiment.unit),
    }
}

/// A headline for each experiment that has figures.
fn headlines(experiments: &[&'static Experiment], rows: &[Row]) -> Vec<Headline> {
    let experiments = experiments.iter().copied();
    experiments
        .filter_map(|experiment| {
            let figures = Figures::new(experiment.name, rows);
            headline(experiment, &figures, destination(&figures)?)
        })
        .collect()
}

/// The destination that tells most: a pipe, a pseudo-terminal, or else the first.
fn destination<'a>(figures: &Figures<'a>) -> Option<&'a str> {
    let destinations = figures.destinations();
    ["pipe", "pty"]
        .into_iter()
        .find(|to| destinations.contains(to))
        .or(destinations.first().copied())
}

/// A line of at most `columns` columns for each experiment that has figures.
pub(crate) fn summary(
    experiments: &[&'static Experiment],
    rows: &[Row],
    columns: usize,
) -> Vec<String> {
    let mut lines = headlines(experiments, rows);
    for name in GIVE_WAY {
        if lines.len() > MOST {
            lines.retain(|line| line.experiment.name != name);
        }
    }
    lines.truncate(MOST);
    lines.iter().map(|line| line.line(columns)).collect()
}

fn headline(experiment: &'static Experiment, figures: &Figures<'_>, to: &str) -> Option<Headline> {
    let headline = |best: String, figure: String| Headline {
        experiment,
        to: to.to_owned(),
        best,
        figure,
        equals: 0,
        faster: None,
    };
    if let Method::Arrival(texts) = experiment.method {
        let at_once = |row: &&Row| {
            let arrivals = row.arrivals();
            arrivals.len() == texts.len()
                && arrivals.iter().all(|one| one.arrived_at == one.written_at)
        };
        let rows: Vec<&Row> = figures.rows().filter(|row| row.to == to).collect();
        let names: Vec<&str> = rows.iter().copied().filter(at_once).map(name).collect();
        let best = match &names[..] {
            [] => "none shows each text by itself".to_owned(),
            names => format!("each text by itself with {}", names.join(", ")),
        };
        return (!rows.is_empty()).then(|| headline(best, String::new()));
    }
    if let Method::Terminal = experiment.method {
        let rates = figures.row(experiment.baseline, to)?.terminal_figures()?;
        let rate = significant(rates.consumed_per_second? / 1e6);
        let best = experiment.baseline.to_owned();
        return Some(headline(best, format!("{rate} MB/s")));
    }
    // A server without a log is a control, no answer.
    let is_control = |row: &Row| match experiment.method {
        Method::Requests(server) => row.rung == experiment.baseline || row.rung == server.fed,
        _ => false,
    };
    // Rungs with a baseline of their own belong to another question.
    let ranked = figures.ranked(to, |row| {
        !is_control(row)
            && experiment
                .rung(base_name(&row.rung))
                .is_none_or(|rung| experiment.baseline_of(rung) == experiment.baseline)
            && row.server().is_none_or(|server| server.connections == 8)
    });
    let &(_, best) = ranked.first()?;
    let leaders = leaders(&ranked);
    let baseline = best.baseline.as_deref();
    let baseline = baseline.filter(|baseline| !leaders.contains(baseline));
    let other = ranked
        .iter()
        .find(|(_, row)| Some(row.rung.as_str()) == baseline);
    let faster = other.and_then(|(_, other)| match Compared::of(best, other) {
        Compared::Less(factor) => Some((1.0 / factor, other.rung.clone())),
        _ => None,
    });
    Some(Headline {
        equals: leaders.len().saturating_sub(1),
        faster,
        ..headline(name(best).to_owned(), figure(experiment, best))
    })
}

fn name(row: &Row) -> &str {
    &row.rung
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::catalogue::{ALL, find};
    use crate::bench::results::figures::rows_of;

    #[test]
    fn a_server_that_logs_nothing_is_no_answer() {
        let rungs = [
            ("silent", "pty", 10),
            ("fed", "pty", 10),
            ("prompt", "pty", 20),
        ];
        let server = find("server").unwrap();
        let headlines = headlines(&[server], &rows_of("server", &rungs));
        assert_eq!(headlines[0].best, "prompt");
    }

    #[test]
    fn a_card_compares_with_the_usual_way_and_one_experiment_has_a_card_for_each_destination() {
        let lines = find("lines").unwrap();
        let places = [("pipe", 1190, 12), ("pty", 1000, 1000)];
        let rungs = places.map(|(to, println, outpace)| {
            [
                ("println", to, println),
                ("outpace", to, outpace),
                ("outpace-block", to, 1),
            ]
        });
        let rows = rows_of("lines", rungs.as_flattened());
        let told = |rows: &[Row]| {
            let cards = cards(&[lines, find("fps").unwrap()], rows).into_iter();
            cards
                .map(|card| [card.what, card.figure, card.rest].join("|"))
                .collect::<Vec<_>>()
        };
        let expected = [
            "lines into a pipe|99.2 times cheaper|println: 1,190 ns a line\noutpace: 12.0 ns a line",
            "lines to a terminal that reads at once|no difference|println: 1,000 ns a line\noutpace: 1,000 ns a line",
        ];
        assert_eq!(told(&rows), expected);
        // Without the usual way, the best.
        assert_eq!(
            told(&rows[1..3]),
            ["lines into a pipe|1.00 ns a line|outpace-block"]
        );
        // Beside others, an experiment has one card.
        let mut several = rows.clone();
        several.extend(rows_of(
            "fps",
            &[("stdout-line", "pty", 10), ("outpace", "pty", 5)],
        ));
        assert_eq!(told(&several).len(), 2);
        assert_eq!(told(&several)[0], expected[0]);
    }

    #[test]
    fn the_rungs_that_cards_compare_are_there() {
        for (name, usual, ours) in COMPARED {
            let experiment = find(name).unwrap();
            assert!(experiment.rung(usual).is_some(), "{usual}");
            assert!(experiment.rung(ours).is_some(), "{ours}");
        }
    }

    #[test]
    fn all_experiments_make_ten_lines_that_fit_80_columns() {
        let rows: Vec<Row> = ALL
            .iter()
            .flat_map(|experiment| {
                let rungs: Vec<(&str, &str, u64)> = experiment
                    .rungs
                    .iter()
                    .enumerate()
                    .map(|(index, rung)| (rung.name, "pty", 1_000 + 500 * index as u64))
                    .collect();
                rows_of(experiment.name, &rungs)
            })
            .collect();
        let lines = summary(ALL, &rows, 80);
        assert_eq!(lines.len(), MOST, "{lines:#?}");
        assert!(
            lines.iter().all(|line| line.chars().count() <= 80),
            "{lines:#?}"
        );
    }

    #[test]
    fn a_line_says_what_was_best_and_never_out_of_noise() {
        let lines = find("lines").unwrap();
        let mut rows = rows_of(
            "lines",
            &[
                ("println", "pipe", 400),
                ("outpace", "pipe", 20),
                ("bufwriter", "pipe", 40),
            ],
        );
        rows[1].baseline = Some("bufwriter".to_owned());
        assert_eq!(
            summary(&[lines], &rows, 80),
            ["lines to pipe: outpace 20.0 ns a line, 2.00x faster than bufwriter"]
        );
        rows[1].samples = vec![5_000, 90_000, 20_000, 70_000, 20_000, 60_000];
        let said = summary(&[lines], &rows, 100).join("");
        assert_eq!(
            said,
            "lines to pipe: outpace 20.0 ns a line, 1 more within the noise"
        );
        assert_eq!(
            summary(&[lines], &rows, 60),
            ["lines to pipe: outpace (and 1 more) 20.0 ns a line"]
        );
        assert_eq!(summary(&[lines], &[], 80), [""; 0]);
    }

    #[test]
    fn a_line_that_is_too_long_loses_the_comparison_and_no_word_is_cut() {
        let lines = find("lines").unwrap();
        let mut headline = Headline {
            experiment: lines,
            to: "pipe".to_owned(),
            best: "outpace-block".to_owned(),
            figure: "5.06 ns a line".to_owned(),
            equals: 2,
            faster: Some((4.79, "bufwriter".to_owned())),
        };
        let short = "lines to pipe: outpace-block (and 2 more) 5.06 ns a line";
        assert_eq!(
            headline.line(90),
            format!("{short}, 4.79x faster than bufwriter")
        );
        assert_eq!(headline.line(80), format!("{short}, 4.79x faster"));
        assert_eq!(headline.line(60), short);
        headline.equals = 0;
        assert_eq!(
            headline.line(80),
            "lines to pipe: outpace-block 5.06 ns a line, 4.79x faster than bufwriter"
        );
    }
}
