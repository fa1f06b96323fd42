//! What a page says in words: verdicts, units, commands.

use crate::measure::Unsettled;
use crate::shown;
use serde_json::Value;

/// A time with the unit that suits it.
#[must_use]
pub fn time(nanos: f64) -> String {
    match nanos {
        nanos if nanos < 1e3 => format!("{nanos:.0} ns"),
        nanos if nanos < 1e4 => format!("{:.2} µs", nanos / 1e3),
        nanos if nanos < 1e6 => format!("{:.1} µs", nanos / 1e3),
        nanos => format!("{:.2} ms", nanos / 1e6),
    }
}

/// A value on an axis of time.
pub(super) fn tick_time(nanos: f64) -> String {
    let short = |value: f64| format!("{value:.2}").trim_end_matches('0').trim_end_matches('.').to_owned();
    match nanos {
        nanos if nanos < 1e3 => format!("{} ns", short(nanos)),
        nanos if nanos < 1e6 => format!("{} µs", short(nanos / 1e3)),
        nanos => format!("{} ms", short(nanos / 1e6)),
    }
}

/// A value on an axis of loads.
pub(super) fn tick_load(load: f64) -> String {
    // Two significant digits: marks of small loads differ in them.
    let digits = if load > 0.0 { (1.0 - load.log10().floor()).clamp(2.0, 9.0) as usize } else { 2 };
    format!("{load:.digits$}").trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A value on an axis of fractions that fall by decades.
pub(super) fn tick_share(share: f64) -> String {
    let percent = share * 100.0;
    let digits = if percent < 1.0 { (-percent.log10()).ceil() as usize } else { 0 };
    format!("{percent:.digits$} %")
}

/// A number that people read: thousands apart.
pub(super) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// The offered load of a point, if it has one: of its multicast operations, if it has some.
pub(super) fn offered_load(point: &Value) -> Option<f64> {
    point.pointer("/multicast/offered_load").unwrap_or(&point["offered_load"]).as_f64()
}

/// The same; none is a load of 0.
pub(super) fn offered(point: &Value) -> f64 {
    offered_load(point).unwrap_or(0.0)
}

/// The offered load as it is shown.
pub(super) fn load(point: &Value) -> String {
    shown::load(offered(point), 3)
}

/// The accepted load of a point, likewise.
pub(super) fn accepted(point: &Value) -> f64 {
    let of = point.pointer("/multicast/accepted_load").unwrap_or(&point["accepted_load"]);
    of.as_f64().unwrap_or(0.0)
}

/// From the least of `values` to the greatest, as they are `shown`.
pub(super) fn span(values: impl Iterator<Item = f64>, shown: impl Fn(f64) -> String) -> String {
    let (least, most) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), it| (a.min(it), b.max(it)));
    let (least, most) = (shown(least), shown(most));
    if least == most { least } else { format!("{least} to {most}") }
}

/// What the loads of a point are fractions of.
pub(super) fn rate(point: &Value) -> &'static str {
    if point.get("multicast").is_some() {
        "what the nodes can receive"
    } else {
        "the injection rate of all nodes"
    }
}

/// Whether the latency of a point means something: that of a barrier does in a saturated network, too.
pub(super) fn has_latency(point: &Value) -> bool {
    let is_of_barriers = point.get("barrier").is_some() && point.get("multicast").is_none();
    point["verdict"] == "steady" || (point["verdict"] == "saturated" && is_of_barriers)
}

/// Whether there are packets besides those of operations.
pub(super) fn has_packets(points: &[Value]) -> bool {
    points.iter().any(|point| point["offered_load"].as_f64() != Some(0.0))
}

/// Whether packets of a point are lost for good.
fn loses(point: &Value) -> bool {
    let lost = point["faults"]["lost"].as_object();
    lost.is_some_and(|lost| lost.values().any(|count| count.as_u64() > Some(0)))
}

/// What became of points that ended alike, for the same reason, for somebody who has never heard of it.
pub(super) fn verdict(points: &[Value]) -> String {
    let Some(point) = points.first() else { return String::new() };
    match point["verdict"].as_str().unwrap_or("") {
        "steady" if points.iter().any(loses) => {
            "Steady, but packets are lost for good; what is left of them arrives.".to_owned()
        }
        "steady" => "Steady: what is sent arrives, and the mean latency is known.".to_owned(),
        "saturated" => {
            let limit = match point["limit_link"].as_str() {
                Some(slow) => format!("Limited by {slow}: it is the fullest, and below the full rate."),
                None => point["limit"].as_str().map_or("", limit).to_owned(),
            };
            let doubt = point["unsettled"]
                .as_str()
                .map_or(String::new(), |why| format!(" But {}.", unsettled(point, why)));
            format!(
                "Saturated: packets are created faster than they are delivered; {} of {} gets \
                 through. {limit} Latencies of packets would grow for ever and mean nothing.{doubt}",
                span(points.iter().map(accepted), |load| format!("{:.1} %", load * 100.0)),
                rate(point)
            )
        }
        "deadlock" => "Deadlock: packets wait for each other for ever. The ring of packets below proves it; \
                       nothing that hangs on it will move again."
            .to_owned(),
        "unsettled" => format!(
            "Unsettled: {}.",
            point["unsettled"].as_str().map_or(String::new(), |why| unsettled(point, why))
        ),
        "stopped" => "Stopped: somebody interrupted the run before the precision was reached.".to_owned(),
        _ => String::new(),
    }
}

/// Why an unsettled `point` is.
fn unsettled(point: &Value, why: &str) -> String {
    let lost = point.pointer("/faults/lost").and_then(Value::as_object);
    let is_lossy = lost.is_some_and(|lost| lost.values().any(|count| count.as_u64() > Some(0)));
    let known = Unsettled::ALL.iter().find(|known| known.name() == why);
    known.map_or(String::new(), |known| known.told(is_lossy))
}

/// What limits a saturated point.
fn limit(limit: &str) -> &'static str {
    match limit {
        "injection" => {
            "Limited by the endpoints: the NIC ports that send do so at all that their channels can carry, so a better \
             fabric would not help."
        }
        "ejection" => {
            "Limited by the endpoints: a node receives all that its channel can carry, and what else is for it has to \
             wait. A better fabric would not help."
        }
        "network" => "Limited by the network: a channel between two switches is full.",
        "arbitration" => {
            "Limited by arbitration: no class of channels is full in the mean, and no single channel stands out; packets wait for outputs that others have, behind packets \
             that wait (head of line), or for room in the next buffer."
        }
        "window" => {
            "Limited by windows: a link sends no more before it has heard that packets of its window have come, and no class \
             of channels is full."
        }
        "faults" => {
            "Limited by what broke: many packets are lost for good or sent again on links, and no class of channels is full."
        }
        _ => "",
    }
}

/// The command, as it can be typed.
pub(super) fn command(result: &Value) -> String {
    let words = result["command"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./=:,%+".contains(letter);
    let quoted = words.enumerate().map(|(place, word)| {
        if place == 0 {
            "flitway".to_owned()
        } else if !word.is_empty() && word.chars().all(is_plain) {
            word.to_owned()
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_have_the_unit_that_suits_them() {
        assert_eq!(
            [time(467.4), time(1_330.0), time(23_456.0), time(2.5e6)],
            ["467 ns", "1.33 µs", "23.5 µs", "2.50 ms"]
        );
        assert_eq!([tick_time(500.0), tick_time(2_500.0), tick_time(1e6)], ["500 ns", "2.5 µs", "1 ms"]);
        assert_eq!([tick_share(1.0), tick_share(0.01), tick_share(0.0001)], ["100 %", "1 %", "0.01 %"]);
        assert_eq!(count(1_234_567), "1\u{202f}234\u{202f}567");
    }

    #[test]
    fn every_reason_is_told() {
        for why in Unsettled::ALL {
            let of = |word: &str| verdict(&[json!({ "verdict": word, "unsettled": why.name() })]);
            let said = [of("unsettled"), of("saturated")];
            assert!(said.iter().all(|said| said.contains(why.meaning())), "{said:?}");
        }
    }

    #[test]
    fn a_range_is_from_the_least_to_the_greatest() {
        let of = |loads: &[f64]| {
            let point = |load: &f64| json!({ "verdict": "saturated", "accepted_load": load });
            verdict(&loads.iter().map(point).collect::<Vec<_>>())
        };
        assert!(of(&[0.0951, 0.0788, 0.0835]).contains("; 7.9 % to 9.5 % of"));
        assert!(of(&[0.0788, 0.0789]).contains("; 7.9 % of"));
    }

    #[test]
    fn a_command_can_be_typed_again() {
        let result = json!({ "command": ["target/release/flitway", "run", "a b", "--traffic", "hotspot(nodes=0)", "it's"] });
        assert_eq!(command(&result), "flitway run 'a b' --traffic 'hotspot(nodes=0)' 'it'\\''s'");
    }
}
