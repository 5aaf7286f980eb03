//! The experiments and rungs that a user has chosen.

use crate::bench::catalogue::{self, ALL};
use crate::bench::experiment::{Experiment, Rung};
use crate::user::failure::Failure;

/// An experiment, and the rungs that are chosen from it.
pub(super) struct Choice {
    pub(super) experiment: &'static Experiment,
    pub(super) rungs: Vec<&'static str>,
    /// Those of them that the user has named.
    pub(super) named: Vec<&'static str>,
}

impl Choice {
    /// The choices by these names, each experiment once; without names all experiments.
    pub(super) fn of(names: &[String]) -> Result<Vec<Self>, Failure> {
        if names.is_empty() {
            return Ok(ALL.iter().map(|all| Self::all_of(all)).collect());
        }
        let mut chosen: Vec<Self> = Vec::new();
        for name in names {
            let choice = if name.contains('/') {
                let (experiment, rung) = catalogue::find_rung(name)?;
                let rungs = vec![rung.name];
                Self {
                    experiment,
                    named: rungs.clone(),
                    rungs,
                }
            } else {
                Self::all_of(catalogue::find(name)?)
            };
            let mut others = chosen.iter_mut();
            match others.find(|other| other.experiment.name == choice.experiment.name) {
                Some(other) => {
                    other.rungs.extend(choice.rungs);
                    other.named.extend(choice.named);
                }
                None => chosen.push(choice),
            }
        }
        Ok(chosen)
    }

    fn all_of(experiment: &'static Experiment) -> Self {
        Self {
            experiment,
            rungs: experiment.rungs.iter().map(|rung| rung.name).collect(),
            named: Vec::new(),
        }
    }

    /// Whether any of the chosen rungs is compared with this one.
    pub(super) fn is_baseline(&self, rung: &Rung) -> bool {
        self.rungs()
            .any(|chosen| self.experiment.baseline_of(chosen) == rung.name)
    }

    pub(super) fn rungs(&self) -> impl Iterator<Item = &'static Rung> {
        self.experiment
            .rungs
            .iter()
            .filter(|rung| self.rungs.contains(&rung.name))
    }
}
