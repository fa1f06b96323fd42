//! From a file to points, results, plots and findings: what varies, what a key depends on, and what an interruption costs.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use flitway_experiment::workload::{Kind, WorkloadOptions};
use flitway_experiment::{Experiment, Overrides, Point, Progress, Runner, RunnerError, Store, builtin};
use flitway_report::faults::FaultsResult;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

const QUICK: &str = r#"
name = "quick"
[run]
machine = "hpp-switch"
packet = "64B"
warm_up = "2 us"
duration = "5 us"
[[vary]]
over = "switch.vcs"
values = [1, 2]
[[vary]]
over = "load"
values = "0.2..0.6:0.2"
[[plot]]
name = "accepted"
x = "load"
y = "accepted_load"
[[finding]]
text = "{max accepted_load at switch.vcs=1} {packet_latency_ns.mean at switch.vcs=2, load=0.2}"
"#;

fn load(text: &str) -> Experiment {
    load_with(text, &Overrides::default())
}

fn load_with(text: &str, overrides: &Overrides) -> Experiment {
    Experiment::from_text("test.toml", text.to_owned(), Path::new(""), overrides)
        .unwrap_or_else(|problems| panic!("{problems}"))
}

/// An experiment on one switch with the rest of its file in `text`.
fn on_a_switch(text: &str) -> Experiment {
    load(&format!("name = \"test\"\n[run]\nmachine = \"hpp-switch\"\nduration = \"20 us\"\n{text}"))
}

fn values(experiment: &Experiment) -> Vec<String> {
    let line = |index| {
        let values: Vec<String> =
            experiment.values(index).map(|(name, value)| format!("{name}={value}")).collect();
        values.join(" ")
    };
    (0..experiment.points().len()).map(line).collect()
}

fn keys(experiment: &Experiment) -> Vec<String> {
    experiment.points().iter().map(|point| point.key().to_owned()).collect()
}

/// A new folder of this test run.
fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Without what may differ between equal runs.
fn reproducible(mut result: Value) -> Value {
    match &mut result {
        Value::Object(object) => {
            object.remove("wall_s");
            object.remove("peak_rss_bytes");
            object.values_mut().for_each(|value| *value = reproducible(value.take()));
        }
        Value::Array(list) => list.iter_mut().for_each(|value| *value = reproducible(value.take())),
        _ => {}
    }
    result
}

fn run(experiment: &Experiment, store: Option<&Store>, threads: u32) -> Vec<Option<Value>> {
    let stop = AtomicBool::new(false);
    Runner { experiment, store, threads, stop: &stop }.run(|_| {}).unwrap()
}

fn report(experiment: &Experiment, results: Vec<Option<Value>>) -> String {
    let report = experiment.gather(results);
    reproducible(experiment.to_json(&report, &[])).to_string()
}

#[test]
fn a_list_a_grid_and_a_zip_are_the_points_they_say() {
    let list = on_a_switch("load = 0.1\n[[vary]]\nover = \"packet\"\nvalues = [\"8B\", \"64B\"]");
    assert_eq!(values(&list), ["packet=8B", "packet=64B"]);
    let grid = on_a_switch(
        "[[vary]]\nover = \"switch.vcs\"\nvalues = [1, 2]\n[[vary]]\nover = \"load\"\nvalues = [\"0.1..0.3:0.1\", \"max\"]",
    );
    let loads = ["0.1", "0.2", "0.3", "max"];
    let expected: Vec<String> =
        ["1", "2"].iter().flat_map(|vcs| loads.map(|load| format!("switch.vcs={vcs} load={load}"))).collect();
    assert_eq!(values(&grid), expected);
    let zip = on_a_switch(
        "load = 0.1\n[[vary]]\nover = [\"packet\", \"packet.mtu\"]\nvalues = [[\"8B\", \"8 B\"], [\"64B\", \"64 B\"]]",
    );
    assert_eq!(values(&zip), ["packet=8B packet.mtu=8 B", "packet=64B packet.mtu=64 B"]);
    let none = on_a_switch("load = 0.1");
    assert_eq!(values(&none), [""]);
}

#[test]
fn what_is_left_out_is_not_run() {
    let axes = "[[vary]]\nover = \"switch.vcs\"\nvalues = [1, 2]\n[[vary]]\nover = \"load\"\nvalues = [0.1, 0.2, 0.3]\n";
    let some = on_a_switch(&format!("{axes}[[omit]]\nload = [\"10 %\", 0.3]\n\"switch.vcs\" = 2"));
    assert_eq!(
        values(&some),
        ["switch.vcs=1 load=0.1", "switch.vcs=1 load=0.2", "switch.vcs=1 load=0.3", "switch.vcs=2 load=0.2"]
    );
}

#[test]
fn a_varied_value_reaches_the_machine_the_workload_and_the_seed() {
    let experiment = load(
        "name = \"a\"\n[run]\nduration = \"5 us\"\n[run.set]\nswitch.buffer = \"2 KiB\"\n\
         [[vary]]\nover = [\"machine\", \"switch.arbiter\", \"load\", \"seed\"]\n\
         values = [[\"hpp-switch\", \"lrg\", 0.1, 7], [\"mesh-8x8\", \"matrix\", \"max\", 8]]",
    );
    let [first, second] = experiment.points() else { panic!("two points") };
    assert_eq!((first.machine().name.as_str(), second.machine().name.as_str()), ("hpp-switch", "mesh-8x8"));
    assert_eq!((first.seed(), second.seed()), (7, 8));
    assert_eq!(first.machine().to_json()["switch"]["arbiter"], "lrg");
    assert_eq!(first.machine().to_json()["switch"]["buffer"], "2 KiB");
    assert_eq!(second.workload().as_run().to_json()["arrival"], "saturating");
    assert_eq!(
        first.command().join(" "),
        "flitway run hpp-switch --set switch.buffer=2 KiB --set switch.arbiter=lrg --load 0.1 --duration 5 us --seed 7"
    );
}

#[test]
fn a_key_changes_with_all_that_matters_and_with_nothing_else() {
    let base = "name = \"a\"\n[run]\nmachine = \"hpp-switch\"\nload = 0.5\npacket = \"64B\"\n[run.set]\nswitch.vcs = 3\n";
    let key = |text: &str| keys(&load(text))[0].clone();
    let first = key(base);
    assert_eq!(first, key(base));
    for same in [
        base.replace("\"a\"", "\"b\""),
        base.replace("0.5", "\"50 %\""),
        base.replace("switch.vcs = 3", "\"switch.vcs\" = 3\nname = \"another\""),
        base.replace("switch.vcs = 3", "switch.buffer = \"4096 B\""),
        base.replace("load = 0.5", "load = 0.5\nseed = 1\ntraffic = \"uniform\""),
    ] {
        assert_eq!(key(&same), first, "{same}");
    }
    let mut others = BTreeSet::from([first]);
    for (from, to) in [
        ("0.5", "0.51"),
        ("64B", "65B"),
        ("switch.vcs = 3", "switch.vcs = 2"),
        ("switch.vcs = 3", "switch.arbiter = \"lrg\""),
        ("switch.vcs = 3", "link.fixed = \"10 ns\""),
        ("switch.vcs = 3", "nic.send_overhead = \"1 us\""),
        ("hpp-switch", "mesh-8x8"),
        ("load = 0.5", "load = \"max\""),
        ("load = 0.5", "load = 0.5\nseed = 2"),
        ("load = 0.5", "load = 0.5\ntraffic = \"tornado\""),
        ("load = 0.5", "load = 0.5\narrival = \"periodic\""),
        ("load = 0.5", "load = 0.5\nprecision = \"1%\""),
        ("load = 0.5", "load = 0.5\nwarm_up = \"1 us\""),
        ("load = 0.5", "load = 0.5\nduration = \"1 us\""),
    ] {
        let text = base.replace(from, to);
        assert!(others.insert(key(&text)), "{text}");
    }
}

#[test]
fn a_key_changes_with_the_contents_of_files_and_not_with_their_places() {
    let folder = scratch("keys");
    let goal = |size: u32| {
        format!("num_ranks 2\nrank 0 {{\na: send {size}b to 1\n}}\nrank 1 {{\na: recv {size}b from 0\n}}\n")
    };
    let key = |folder: &Path, run: &str| {
        let text = format!("name = \"a\"\n[run]\nmachine = \"hpp-switch\"\n{run}");
        keys(&Experiment::from_text("a.toml", text, folder, &Overrides::default()).unwrap())[0].clone()
    };
    let write = |folder: &Path, size: u32| {
        std::fs::create_dir_all(folder).unwrap();
        std::fs::write(folder.join("a.goal"), goal(size)).unwrap();
        std::fs::write(folder.join("sizes.txt"), format!("{size} 1\n")).unwrap();
        std::fs::write(folder.join("places.txt"), format!("0 {}\n", size % 16)).unwrap();
        let row = |s| (0..16).map(move |d| if d == s { "0 ".to_owned() } else { format!("{} ", d * size) });
        let rows = (0..16).map(|s| row(s).chain(["\n".to_owned()]).collect::<String>());
        std::fs::write(folder.join("matrix.txt"), rows.collect::<String>()).unwrap();
    };
    for run in ["graph = \"a.goal\"", "graph = \"a.goal\"\nplacement = \"places.txt\""] {
        write(&folder, 8);
        let first = key(&folder, run);
        write(&folder.join("moved"), 8);
        assert_eq!(key(&folder.join("moved"), run), first);
        write(&folder, 9);
        assert_ne!(key(&folder, run), first);
    }
    let sizes = "load = 0.1\npacket = \"file(sizes.txt)\"";
    let matrix = "load = 0.1\ntraffic = \"matrix(file=matrix.txt)\"";
    let first = [sizes, matrix].map(|run| key(&folder, run));
    write(&folder, 10);
    let second = [sizes, matrix].map(|run| key(&folder, run));
    assert_ne!(second[0], first[0]);
    assert_eq!(second[1], first[1], "ten times the weights are the same pattern");
    let other = std::fs::read_to_string(folder.join("matrix.txt")).unwrap().replacen(" 10 ", " 11 ", 1);
    std::fs::write(folder.join("matrix.txt"), other).unwrap();
    assert_ne!(key(&folder, matrix), first[1]);
}

#[test]
fn a_command_changes_every_point_for_a_quick_look() {
    let plain = load(QUICK);
    let overrides = Overrides {
        set: vec!["switch.arbiter=lrg".to_owned()],
        seed: Some(5),
        precision: Some("10%".to_owned()),
        duration: Some("1 us".to_owned()),
    };
    let changed = load_with(QUICK, &overrides);
    assert_eq!(values(&plain), values(&changed));
    for (before, after) in plain.points().iter().zip(changed.points()) {
        assert_ne!(before.key(), after.key());
        assert_eq!(after.seed(), 5);
        assert_eq!(after.machine().to_json()["switch"]["arbiter"], "lrg");
        let workload = after.workload().as_run().to_json();
        assert_eq!((&workload["precision"], &workload["duration"]), (&json!("10%"), &json!("1 us")));
    }
}

#[test]
fn results_depend_neither_on_threads_nor_on_order() {
    let experiment = load(QUICK);
    let one = report(&experiment, run(&experiment, None, 1));
    assert_eq!(one, report(&experiment, run(&experiment, None, 4)));
    // Elsewhere, backwards, from nothing but its description.
    let mut results: Vec<Option<Value>> = experiment
        .points()
        .iter()
        .rev()
        .map(|point| {
            let described: Value = serde_json::from_str(&point.description().to_string()).unwrap();
            Point::from_description(&described).unwrap().run(&AtomicBool::new(false)).unwrap()
        })
        .collect();
    results.reverse();
    assert_eq!(one, report(&experiment, results));
}

#[test]
fn a_description_that_is_none_or_has_changed_is_refused() {
    let description = load(QUICK).points()[0].description();
    for (key, value) in [
        ("machine", json!("hpp-switc")),
        ("machine", json!(3)),
        ("set", json!(["switch.vcs=2"])),
        ("set", json!([1])),
        ("seed", json!(2)),
        ("seed", json!(-2)),
        ("workload", json!({ "load": "0.2", "sped": "3" })),
        ("workload", json!({ "load": "often" })),
        ("key", json!("0")),
    ] {
        let mut wrong = description.clone();
        wrong[key] = value;
        assert!(Point::from_description(&wrong).is_err(), "{wrong}");
    }
    assert!(Point::from_description(&json!(null)).is_err());
}

#[test]
fn an_interrupted_experiment_goes_on_where_it_was() {
    let experiment = load(QUICK);
    let (whole, parts) = (Store::open(&scratch("whole")).unwrap(), Store::open(&scratch("parts")).unwrap());
    let expected = report(&experiment, run(&experiment, Some(&whole), 1));
    let stop = AtomicBool::new(false);
    let runner = Runner { experiment: &experiment, store: Some(&parts), threads: 2, stop: &stop };
    let some = runner.run(|progress| stop.store(progress.done >= 2, Ordering::Relaxed)).unwrap();
    let finished = some.iter().flatten().count();
    assert!((2..experiment.points().len()).contains(&finished), "{finished} points");
    assert!(
        experiment.gather(some).findings[0].is_none(),
        "nothing is stated of points that have not been run"
    );
    stop.store(false, Ordering::Relaxed);
    let kept = std::sync::Mutex::new(Vec::new());
    let rest =
        runner.run(|progress: Progress| kept.lock().unwrap().push((progress.kept, progress.done))).unwrap();
    let steps: Vec<(usize, usize)> =
        (0..=experiment.points().len() - finished).map(|done| (finished, done)).collect();
    assert_eq!(*kept.lock().unwrap(), steps);
    assert_eq!(report(&experiment, rest), expected);
    // And a third time there is nothing to do: not even a wall-clock time differs.
    let again = runner.run(|progress| assert_eq!(progress.done, 0)).unwrap();
    assert_eq!(
        experiment.gather(again.clone()).plots[0].to_csv(),
        experiment.gather(run(&experiment, Some(&parts), 1)).plots[0].to_csv()
    );
    assert_eq!(again, run(&experiment, Some(&parts), 1));
}

#[test]
fn a_point_that_is_damaged_or_foreign_is_an_error_and_never_a_result() {
    let experiment = load(QUICK);
    let folder = scratch("damaged");
    let store = Store::open(&folder).unwrap();
    run(&experiment, Some(&store), 1);
    let keys = keys(&experiment);
    let path = folder.join("points").join(format!("{}.json", keys[0]));
    let right = std::fs::read_to_string(&path).unwrap();
    let other = std::fs::read_to_string(folder.join("points").join(format!("{}.json", keys[1]))).unwrap();
    let load = right.find("\"accepted_load\": 0.").unwrap() + "\"accepted_load\": 0.".len();
    let mut changed = right.clone();
    changed.replace_range(load..load + 1, if &right[load..=load] == "1" { "2" } else { "1" });
    for (text, message) in [
        ("", "it is no JSON"),
        (&right[..right.len() / 2], "it is no JSON"),
        ("[]", "another `schema`"),
        ("{\"schema\": \"flitway/result/1\"}", "another `schema`"),
        (&other, "its `key` is not its name"),
        (&right.replace("\"result\"", "\"results\""), "its digest is another"),
        (&changed, "its digest is another"),
    ] {
        std::fs::write(&path, text).unwrap();
        let stop = AtomicBool::new(false);
        let runner = Runner { experiment: &experiment, store: Some(&store), threads: 1, stop: &stop };
        let Err(RunnerError::Store(error)) = runner.run(|_| panic!("nothing runs")) else { panic!("{text}") };
        assert!(error.to_string().contains(message), "{error}");
        assert!(error.to_string().contains(&keys[0]) && error.help.is_some(), "{error}");
    }
    std::fs::write(&path, right).unwrap();
    run(&experiment, Some(&store), 1);
    let drafts = std::fs::read_dir(folder.join("points")).unwrap().flatten();
    assert_eq!(drafts.count(), keys.len(), "no drafts are left behind");
}

/// A point of synthetic traffic that has come to this.
fn made_up(accepted: f64, latency: f64, verdict: &str) -> Option<Value> {
    Some(json!({ "points": [{
        "accepted_load": accepted, "accepted_load_ci95": accepted / 100.0, "verdict": verdict,
        "packet_latency_ns": { "mean": latency, "ci95": 1.5 },
    }] }))
}

const SENTENCES: &str = r#"
[[vary]]
over = "traffic"
values = ["uniform", "hotspot(nodes=0+5, fraction=10%)"]
[[vary]]
over = "load"
values = [0.2, 0.4]
[[plot]]
name = "load"
x = "load"
y = "accepted_load"
[[plot]]
name = "latency"
x = "accepted_load"
y = "packet_latency_ns.mean"
by = "traffic"
y_title = "latency, in ns"
[[finding]]
text = "{accepted_load at traffic=uniform, load=40 %} and {accepted_load at load=.2, traffic=hotspot(nodes=0+5, fraction=10%)}"
[[finding]]
text = "{max accepted_load} at {load of max accepted_load} of {traffic of max accepted_load}; {{min}} {min accepted_load}"
[[finding]]
text = "{mean accepted_load at traffic=uniform} {max accepted_load / min accepted_load} {load of max accepted_load / load of min accepted_load as %}"
[[finding]]
text = "{packet_latency_ns.mean at load=0.4, traffic=uniform} {max packet_latency_ns.mean} {traffic of min packet_latency_ns.mean at load=0.2}"
[[finding]]
text = "{accepted_load of max packet_latency_ns.mean at traffic=uniform as %} {packet_latency_ns.p99 at load=0.2, traffic=uniform}"
"#;

#[test]
fn a_finding_states_what_its_points_say() {
    let experiment = on_a_switch(SENTENCES);
    let results = vec![
        made_up(0.2, 500.0, "steady"),
        made_up(0.39, 9_000.0, "saturated"),
        made_up(0.1987, 700.0, "steady"),
        made_up(0.25, 8_000.0, "unsettled"),
    ];
    let found = experiment.gather(results.clone()).findings;
    let stated: Vec<&str> = found.iter().map(|finding| finding.as_deref().unwrap_or("nothing")).collect();
    assert_eq!(
        stated,
        [
            "0.390 and 0.199",
            "0.390 at 0.4 of uniform; {min} 0.199",
            "0.295 1.96 200 %",
            "9000 (saturated) 700 uniform",
            "nothing",
        ]
    );
    let some = vec![results[0].clone(), None, results[2].clone(), None];
    let found = experiment.gather(some).findings;
    assert_eq!(found.iter().flatten().count(), 0, "{found:?}");
}

#[test]
fn a_plot_has_a_line_for_each_value_of_what_tells_them_apart() {
    let experiment = on_a_switch(SENTENCES);
    let results = vec![
        made_up(0.2, 500.0, "steady"),
        None,
        made_up(0.1987, 700.0, "steady"),
        made_up(0.25, 8e3, "saturated"),
    ];
    let report = experiment.gather(results);
    let csv: Vec<String> = report.plots.iter().map(|data| data.to_csv()).collect();
    assert_eq!(
        csv[0],
        "traffic,load,accepted_load,accepted_load ci95,verdict\n\
         uniform,0.2,0.2,0.002,steady\nuniform,0.4,,,\n\
         \"hotspot(nodes=0+5, fraction=10%)\",0.2,0.1987,0.001987,steady\n\
         \"hotspot(nodes=0+5, fraction=10%)\",0.4,0.25,0.0025,saturated\n"
    );
    assert!(csv[1].starts_with("traffic,accepted_load,packet_latency_ns.mean,packet_latency_ns.mean ci95,verdict\nuniform,0.2,500,1.5,steady\n"));
    let json = report.plots[1].to_json();
    assert_eq!(
        json["x"],
        json!({ "name": "accepted_load", "title": "accepted_load (fraction of the injection rate)" })
    );
    assert_eq!(json["y"]["title"], "latency, in ns");
    assert_eq!(
        json["series"][0]["marks"],
        json!([{ "x": 0.2, "y": 500.0, "ci95": 1.5, "verdict": "steady" }])
    );
}

#[test]
fn every_built_in_experiment_is_right_and_named_as_it_is_called() {
    assert!(builtin().len() >= 3);
    for (name, text) in builtin() {
        let experiment =
            Experiment::load(name, &Overrides::default()).unwrap_or_else(|problems| panic!("{problems}"));
        assert_eq!((experiment.name.as_str(), experiment.text.as_str()), (*name, *text));
        assert!(!experiment.title.is_empty() && !experiment.plots().is_empty(), "{name}");
        assert!(experiment.sentences().count() > 0, "{name}");
        let source =
            text.lines().take_while(|line| line.starts_with('#')).any(|line| line.contains(".txt section"));
        assert!(source, "{name} does not say which section it follows");
        let keys: BTreeSet<&str> = experiment.points().iter().map(Point::key).collect();
        assert_eq!(keys.len(), experiment.points().len(), "{name} runs a point twice");
    }
}

#[test]
fn a_task_graph_is_a_workload_like_any_other() {
    let folder = scratch("graph");
    std::fs::write(
        folder.join("a.goal"),
        "num_ranks 2\nrank 0 {\na: send 500b to 1\n}\nrank 1 {\na: recv 500b from 0\n}\n",
    )
    .unwrap();
    let text = "name = \"a\"\n[run]\nmachine = \"hpp-switch\"\ngraph = \"a.goal\"\n[[vary]]\nover = \"placement\"\n\
                values = [\"linear\", \"random\"]\n[[finding]]\ntext = \"{max graph.completion_ns} ns\"\n";
    let experiment =
        Experiment::from_text("a.toml", text.to_owned(), &folder, &Overrides::default()).unwrap();
    let results = run(&experiment, None, 1);
    let finding = experiment.gather(results).findings[0].clone().unwrap();
    let nanos: f64 = finding.strip_suffix(" ns").unwrap().parse().unwrap();
    // o_s and o_r are 700 ns each.
    assert!((1_400.0..10_000.0).contains(&nanos), "{finding}");
}

#[test]
fn the_numbers_that_plots_may_name_are_those_that_points_have() {
    // With one VC there is a head-of-line limit, too.
    let one_vc = "load = 0.3\nwarm_up = \"2 us\"\nprecision = \"20%\"\n[run.set]\n\"switch.vcs\" = 1";
    let result = run(&on_a_switch(one_vc), None, 1)[0].clone().unwrap();
    let fields = Kind::of(&WorkloadOptions::default()).fields.concat();
    let mut found = Vec::new();
    leaves("", &result["points"][0], &mut found);
    let known: Vec<&str> = fields.iter().map(|(path, _)| *path).collect();
    // A single switch has no network between switches, its links corrupt nothing, nothing breaks and nothing is answered; how
    // many channels there are is no
    // measurement.
    let own =
        ["wall_s", "peak_rss_bytes", "channel_load.injection.channels", "channel_load.ejection.channels"];
    let unknown: Vec<&String> = found
        .iter()
        .filter(|path| !known.contains(&path.as_str()) && !own.contains(&path.as_str()))
        .collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    let others = ["link_errors.", "reply.", "faults."];
    let is_other = |path: &str| {
        path == "reordered" || path.contains(".network.") || others.iter().any(|it| path.starts_with(it))
    };
    let known = known.iter().filter(|path| !is_other(path));
    let absent: Vec<&&str> = known.filter(|path| !found.iter().any(|other| other == **path)).collect();
    assert!(absent.is_empty(), "{absent:?}");
}

/// A link that is to be cut after the end, and a packet that is never sent.
#[test]
fn faults_that_do_not_come_are_told() {
    let text = "name = \"a\"\n[run]\nmachine = \"nrc\"\nload = 0.3\nwarm_up = \"1 us\"\nduration = \"5 us\"\n\
                faults = 'down(link=\"node 3\", at=20us); corrupt(link=\"node 5\", nth=100000)'\n";
    let experiment =
        Experiment::from_text("a.toml", text.to_owned(), ".".as_ref(), &Overrides::default()).unwrap();
    let result = run(&experiment, None, 1)[0].clone().unwrap();
    let faults = &result["points"][0]["faults"];
    assert!((faults["next_ns"].as_f64().unwrap() - 20_000.0).abs() < 3.0, "{faults}");
    assert!(faults["unmatched"] == 1 && faults.get("broken_ns").is_none(), "{faults}");
}

/// A node whose link is cut loses packets, and the numbers of that are those that plots may name.
#[test]
fn what_breaks_is_measured() {
    let text = "name = \"a\"\n[run]\nmachine = \"nrc\"\nload = 0.3\nwarm_up = \"5 us\"\nduration = \"200 us\"\n\
                faults = 'down(link=\"node 3\", at=20us); lanes(link=\"node 5\", good=6, at=30us)'\n";
    let experiment =
        Experiment::from_text("a.toml", text.to_owned(), ".".as_ref(), &Overrides::default()).unwrap();
    let result = run(&experiment, None, 1)[0].clone().unwrap();
    let faults = &result["points"][0]["faults"];
    let mut found = Vec::new();
    leaves("faults", faults, &mut found);
    let known: Vec<&str> = FaultsResult::FIELDS.iter().map(|(path, _)| *path).collect();
    found.retain(|path| !["log", "series", "longest_pair"].iter().any(|it| path.contains(it)));
    let unknown: Vec<&String> = found.iter().filter(|path| !known.contains(&path.as_str())).collect();
    // The node loses packets up to the end, and everything has broken by then.
    let elsewhere = ["faults.settled_ns", "faults.recovery_ns", "faults.next_ns", "faults.unmatched"];
    let known = known.iter().filter(|path| !elsewhere.contains(path));
    let absent: Vec<&&str> = known.filter(|path| !found.iter().any(|it| it == **path)).collect();
    assert!(unknown.is_empty() && absent.is_empty(), "{unknown:?} {absent:?}");
    assert!(faults["lost"]["link_down"].as_u64() > Some(0) && faults.get("settled_ns").is_none(), "{faults}");
    let log: Vec<&str> =
        faults["log"].as_array().unwrap().iter().filter_map(|it| it["text"].as_str()).collect();
    assert!(log.contains(&"active on 6 lanes, 3/4 of the full rate") && log.contains(&"down"), "{log:?}");
    assert!(log.contains(&"the tables of this routing are fixed: nothing is written"), "{log:?}");
    let wrong = text.replace("node 3", "node 33");
    let mistakes = Experiment::from_text("a.toml", wrong, ".".as_ref(), &Overrides::default()).unwrap_err();
    assert!(mistakes.to_string().contains("there is no node 33"), "{mistakes}");
}

/// The paths of all numbers in `value`.
fn leaves(path: &str, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                leaves(&if path.is_empty() { key.clone() } else { format!("{path}.{key}") }, value, found);
            }
        }
        Value::Number(_) => found.push(path.to_owned()),
        _ => {}
    }
}
