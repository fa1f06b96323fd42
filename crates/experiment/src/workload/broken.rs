//! What breaks in a run, as its options say it.

use super::{Problem, WorkloadOptions};
use crate::faults::{self, Written};
use flitway_report::faults::FaultPlan;
use flitway_report::session::Session;
use serde_json::{Value, json};
use std::borrow::Cow;

/// The option that says it.
pub(super) const OPTION: &str = "faults";

/// What breaks, as written and read.
#[derive(Clone, Debug)]
pub(super) struct Broken {
    text: String,
    rules: Vec<Written>,
}

impl Broken {
    /// What `options` say of it.
    pub(super) fn check(options: &WorkloadOptions) -> Result<Option<Broken>, Vec<Problem>> {
        let Some(text) = options.get(OPTION) else { return Ok(None) };
        let rules = faults::parse(text).map_err(problems)?;
        Ok(Some(Broken { text: text.to_owned(), rules }))
    }

    /// As written.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// What tells it from others: the rules, since the text may only name their file.
    pub(super) fn identity(&self) -> String {
        format!("{:?}", self.rules.iter().map(|written| &written.rule).collect::<Vec<_>>())
    }

    /// `identity` of a workload, with what breaks in it.
    pub(super) fn identified(mut identity: Value, this: Option<&Broken>) -> Value {
        if let Some(broken) = this {
            identity["faults"] = json!(broken.identity());
        }
        identity
    }

    /// In the fabric of `session`, if something breaks.
    pub(super) fn fit(this: Option<&Broken>, session: &Session) -> Result<Option<FaultPlan>, Vec<Problem>> {
        let fitted = this.map(|broken| faults::fit(&broken.rules, session)).transpose();
        fitted.map_err(problems)
    }
}

/// What is wrong with the option.
fn problems(messages: Vec<String>) -> Vec<Problem> {
    messages.into_iter().map(|message| Problem::new(OPTION, message)).collect()
}

/// `session`, in which breaks what `plan` says.
pub(super) fn with_faults<'a>(session: &'a Session, plan: Option<&FaultPlan>) -> Cow<'a, Session> {
    match plan {
        Some(plan) => Cow::Owned(session.clone().with_faults(plan.clone())),
        None => Cow::Borrowed(session),
    }
}
