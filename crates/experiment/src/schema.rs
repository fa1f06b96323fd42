//! The schemas of our own JSON, applied: to what is written in builds with assertions, and to what is read in all of them.

use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator};
use serde_json::{Value, json};
use std::sync::OnceLock;

/// The text of the schema `flitway/result/1`.
pub const RESULT: &str = include_str!("../../../docs/result.schema.json");
/// The text of the schema `flitway/experiment/1`.
pub const EXPERIMENT: &str = include_str!("../../../docs/experiment.schema.json");
/// The text of the schema `flitway/check/1`.
pub const CHECK: &str = include_str!("../../../docs/check.schema.json");
/// The text of the schema `flitway/compare/1`.
pub const COMPARE: &str = include_str!("../../../docs/compare.schema.json");

/// The most characters of a problem that are told: a value may be large.
const PROBLEM_MAX: usize = 160;

/// What is wrong with `value` by the schema that it names: each problem with its place. Nothing if it is right.
///
/// ```
/// use flitway_experiment::schema::problems;
/// use serde_json::json;
/// let result = json!({ "schema": "flitway/result/1" });
/// assert!(problems(&result)[0].contains("\"flitway\" is a required property"));
/// assert!(problems(&json!({ "schema": "mine" }))[0].contains("`schema`: \"mine\" is none of"));
/// ```
#[must_use]
pub fn problems(value: &Value) -> Vec<String> {
    match value.get("schema").and_then(Value::as_str) {
        Some("flitway/result/1") => problems_of_a_result(value, ""),
        Some("flitway/experiment/1") => problems_of_an_experiment(value),
        Some("flitway/check/1") => told(&schemas().check, value, ""),
        Some("flitway/compare/1") => told(&schemas().compare, value, ""),
        Some(other) => {
            let names =
                "`flitway/result/1`, `flitway/experiment/1`, `flitway/check/1` and `flitway/compare/1`";
            vec![format!("`schema`: {:?} is none of {names}", shortened(other))]
        }
        None => vec!["there is no `schema`, which names what it is".to_owned()],
    }
}

/// `value`, which is about to be written.
///
/// # Panics
/// In builds with assertions: if it does not pass the schema that it names.
#[must_use]
pub fn written(value: Value) -> Value {
    if cfg!(debug_assertions) {
        let problems = problems(&value);
        assert!(problems.is_empty(), "what is written passes its schema: {problems:#?}");
    }
    value
}

/// The schemas, ready to be applied.
struct Schemas {
    /// A result but for its points, of which each kind has a schema of its own: so a problem has its place.
    result: Validator,
    /// By the object that only such points have, in the order in which it is asked for; points without any are the last.
    points: Vec<(String, Validator)>,
    experiment: Validator,
    check: Validator,
    compare: Validator,
}

fn schemas() -> &'static Schemas {
    static SCHEMAS: OnceLock<Schemas> = OnceLock::new();
    SCHEMAS.get_or_init(|| {
        let read = |text: &str| -> Value { serde_json::from_str(text).expect("the schema is JSON") };
        let ready =
            |schema: &Value| jsonschema::validator_for(schema).expect("the schema is one of JSON Schema");
        let mut result = read(RESULT);
        let definitions = result["$defs"].clone();
        let items =
            std::mem::replace(&mut result["properties"]["points"]["items"], json!({ "type": "object" }));
        let kinds = items["oneOf"].as_array().map_or(&[][..], Vec::as_slice);
        let point = |kind: &Value| {
            let place = kind["$ref"].as_str().unwrap_or_default();
            let name = place.trim_start_matches("#/$defs/").trim_end_matches("_point");
            (name.to_owned(), ready(&json!({ "$ref": place, "$defs": definitions.clone() })))
        };
        let points = kinds.iter().map(point).collect();
        let [experiment, check, compare] = [EXPERIMENT, CHECK, COMPARE].map(|text| ready(&read(text)));
        Schemas { result: ready(&result), points, experiment, check, compare }
    })
}

fn problems_of_a_result(value: &Value, place: &str) -> Vec<String> {
    let schemas = schemas();
    let mut problems = told(&schemas.result, value, place);
    let points = value["points"].as_array().map_or(&[][..], Vec::as_slice);
    for (index, point) in points.iter().enumerate().filter(|(_, point)| point.is_object()) {
        let known = schemas.points.iter().find(|(name, _)| point.get(name).is_some());
        if let Some((_, schema)) = known.or(schemas.points.last()) {
            problems.extend(told(schema, point, &format!("{place}/points/{index}")));
        }
    }
    problems
}

fn problems_of_an_experiment(value: &Value) -> Vec<String> {
    let mut problems = told(&schemas().experiment, value, "");
    let points = value["points"].as_array().map_or(&[][..], Vec::as_slice);
    for (index, point) in points.iter().enumerate() {
        if let Some(result) = point.get("result") {
            problems.extend(problems_of_a_result(result, &format!("/points/{index}/result")));
        }
    }
    problems
}

fn told(schema: &Validator, value: &Value, place: &str) -> Vec<String> {
    schema.iter_errors(value).map(|error| problem(&error, place)).collect()
}

fn problem(error: &ValidationError<'_>, place: &str) -> String {
    let at = format!("{place}{}", error.instance_path());
    let what = match error.kind() {
        ValidationErrorKind::OneOfNotValid { .. } | ValidationErrorKind::AnyOf { .. } => {
            "this fits none of the forms that are described for it".to_owned()
        }
        _ => shortened(&error.to_string()),
    };
    if at.is_empty() { what } else { format!("`{at}`: {what}") }
}

/// `text` without control characters, and not too much of it.
fn shortened(text: &str) -> String {
    let mut shown: String =
        text.chars().take(PROBLEM_MAX).map(|it| if it.is_control() { '\u{fffd}' } else { it }).collect();
    if text.chars().nth(PROBLEM_MAX).is_some() {
        shown.push_str(" ...");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(point: Value) -> Value {
        json!({
            "schema": "flitway/result/1", "flitway": "1", "machine": { "name": "m", "description": {} },
            "command": [], "seed": 1,
            "workload": { "train": "0-1", "count": "1", "packet": "1B" }, "points": [point],
        })
    }

    #[test]
    fn a_problem_has_its_place_and_says_what_is_expected() {
        let problems = problems(&result(json!({ "offered_load": Value::Null, "verdict": 7 })));
        let all = problems.join("\n");
        for part in [
            "`/points/0/offered_load`: null is not of type \"number\"",
            "`/points/0/verdict`: 7 is not one of",
            "`/points/0`: \"packets\" is a required property",
        ] {
            assert!(all.contains(part), "{part}: {all}");
        }
    }

    #[test]
    fn what_is_no_point_or_far_too_much_is_told_in_a_line() {
        let text = problems(&result(json!("<b>"))).join("\n");
        assert_eq!(text, "`/points/0`: \"<b>\" is not of type \"object\"");
        let mut long = result(json!({}));
        long["seed"] = json!("\u{1b}[31m".repeat(1_000));
        let text = problems(&long).join("\n");
        assert!(text.contains("`/seed`: ") && text.len() < 2_000 && !text.contains('\u{1b}'), "{text}");
    }

    #[test]
    #[should_panic(expected = "what is written passes its schema")]
    #[cfg(debug_assertions)]
    fn what_does_not_pass_is_not_written() {
        let _ = written(result(json!({ "offered_load": f64::NAN })));
    }
}
