//! `--parquet`: the points of a run and of an experiment, read back.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use common::{assert_refused, flitway, scratch, stderr, stdout};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

const QUICK: [&str; 8] = ["--load", "0.2,1.5", "--packet", "64B", "--warm-up", "2us", "--duration", "5us"];

/// A Parquet file: each row as path and value, nulls left out, and the metadata.
fn read(path: &Path) -> (Vec<BTreeMap<String, Value>>, BTreeMap<String, String>) {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let value = |field: &Field| match field {
        Field::Bool(value) => json!(value),
        Field::Long(value) => json!(value),
        Field::Double(value) => json!(value),
        Field::Str(value) => json!(value),
        Field::Null => Value::Null,
        other => panic!("{other} is of another type"),
    };
    let row = |row: parquet::record::Row| {
        let cells = row.get_column_iter().map(|(name, field)| (name.clone(), value(field)));
        cells.filter(|(_, value)| !value.is_null()).collect()
    };
    let rows = reader.get_row_iter(None).unwrap().map(|one| row(one.unwrap())).collect();
    let pairs = reader.metadata().file_metadata().key_value_metadata().unwrap();
    (rows, pairs.iter().map(|pair| (pair.key.clone(), pair.value.clone().unwrap())).collect())
}

/// What is no list in a point, by path.
fn flat(prefix: &str, object: &Value, into: &mut BTreeMap<String, Value>) {
    for (name, value) in object.as_object().unwrap() {
        match value {
            Value::Object(_) => flat(&format!("{prefix}{name}."), value, into),
            Value::Array(_) => {}
            // A column has one type: what is whole in one row may stand as a real number.
            _ => drop(into.insert(format!("{prefix}{name}"), value.clone())),
        }
    }
}

fn assert_same(row: &BTreeMap<String, Value>, expected: &BTreeMap<String, Value>) {
    assert_eq!(row.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    for (name, value) in expected {
        let same = row[name] == *value || value.is_number() && row[name].as_f64() == value.as_f64();
        assert!(same, "{name}: {value} became {}", row[name]);
    }
}

#[test]
fn every_kind_of_workload_has_its_points_as_rows() {
    let graph = scratch(
        "parquet.goal",
        "num_ranks 2\nrank 0 {\na: send 8b to 1\n}\nrank 1 {\nb: recv 8b from 0\n}\n",
    );
    let time = ["--warm-up", "2us", "--duration", "20us"];
    let cases: [(&[&str], &str); 5] = [
        (&QUICK, "packet_latency_ns.p99"),
        (&["--graph", graph.to_str().unwrap()], "graph.completion_ns"),
        (&[&["--multicast", "broadcast"], &time[..]].concat(), "multicast.last_copy_latency_ns.mean"),
        (&[&["--barrier", "all", "--interval", "2us"], &time[..]].concat(), "barrier.latency_ns.mean"),
        (&["--train", "0-5", "--packet", "64B", "--count", "100"], "train.time_ns"),
    ];
    for (number, (arguments, name)) in cases.into_iter().enumerate() {
        let paths = ["json", "parquet"].map(|kind| scratch(&format!("rows{number}.{kind}"), ""));
        let [text, table] = paths.each_ref().map(|path| path.to_str().unwrap());
        let run = flitway(&[&["run", "hpp-switch", "--json", text, "--parquet", table], arguments].concat());
        assert!(run.status.success(), "{arguments:?}: {}", stderr(&run));
        let result: Value = serde_json::from_str(&std::fs::read_to_string(text).unwrap()).unwrap();
        let (rows, metadata) = read(&paths[1]);
        let points = result["points"].as_array().unwrap();
        assert_eq!(rows.len(), points.len());
        for (row, point) in rows.iter().zip(points) {
            let mut expected = BTreeMap::new();
            flat("", point, &mut expected);
            assert_same(row, &expected);
        }
        assert!(rows[0].contains_key(name), "{name} is not in {:?}", rows[0].keys());
        for field in ["machine", "command", "seed", "workload"] {
            assert_eq!(metadata[field], result[field].to_string());
        }
        assert_eq!(
            [&metadata["schema"], &metadata["flitway"]],
            ["flitway/result/1", env!("CARGO_PKG_VERSION")]
        );
    }
}

#[test]
fn an_experiment_has_what_it_varies_as_columns() {
    let text = "name = \"table\"\n[run]\nmachine = \"hpp-switch\"\nload = 0.3\nwarm_up = \"2 us\"\nduration = \"5 us\"
[[vary]]\nover = \"switch.vcs\"\nvalues = [1, 2]\n[[vary]]\nover = \"packet\"\nvalues = [\"8B\", \"64B\"]
[[finding]]\ntext = \"{max accepted_load}\"\n";
    let (experiment, table) = (scratch("table.toml", text), scratch("table.parquet", ""));
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("table");
    let [experiment, out] = [&experiment, &out].map(|path| path.to_str().unwrap());
    let arguments = ["run", "--experiment", experiment, "--out", out, "--parquet", table.to_str().unwrap()];
    let run = flitway(&arguments);
    assert!(run.status.success(), "{}", stderr(&run));
    let (rows, metadata) = read(&table);
    let varied: Vec<String> =
        rows.iter().map(|row| format!("{} {}", row["switch.vcs"], row["packet"])).collect();
    assert_eq!(varied, ["1 \"8B\"", "1 \"64B\"", "2 \"8B\"", "2 \"64B\""]);
    assert!(rows.iter().all(|row| row["packet_latency_ns.mean"].as_f64().unwrap() > 0.0));
    assert_eq!(metadata["schema"], "flitway/experiment/1");
    assert!(!metadata.contains_key("points") && metadata["experiment"].contains("table"));
}

#[test]
fn it_goes_to_standard_output_alone_and_is_whole_or_not_there() {
    let piped = flitway(&[&["run", "hpp-switch", "--parquet", "-"], &QUICK[..]].concat());
    assert!(piped.status.success(), "{}", stderr(&piped));
    let path = scratch("piped.parquet", "");
    std::fs::write(&path, &piped.stdout).unwrap();
    assert_eq!(read(&path).0.len(), 2);
    let path = path.to_str().unwrap();
    let full = flitway(&[&["run", "hpp-switch", "--parquet", "/dev/full"], &QUICK[..]].concat());
    assert_eq!(full.status.code(), Some(2));
    assert!(stderr(&full).contains("--parquet /dev/full: cannot write"), "{}", stderr(&full));
    assert!(stdout(&full).contains("offered"), "the table is shown all the same");
    assert_refused(&[
        (&["run", "hpp-switch", "--parquet", "no/such/folder/x"], &["--parquet", "cannot write there"]),
        (&["run", "hpp-switch", "--parquet", ""], &["the name is empty", "--parquet -"]),
        (&["run", "hpp-switch", "--parquet", "-", "--json", "-"], &["--json writes to the same place"]),
        (&["run", "hpp-switch", "--parquet", path, "--json", path], &["--json writes to the same place"]),
        (&["run", "hpp-switch", "--parquet", path, "--report", path], &["--parquet writes to the same file"]),
        (
            &["run", "hpp-switch", "--parquet", path, "--trace", path],
            &["another result goes to the same file"],
        ),
        (&["run", "hpp-switch", "--parquet", path, "--load", "often"], &["`often` is no load"]),
    ]);
    assert_eq!(read(Path::new(path)).0.len(), 2, "wrong input overwrites nothing");
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_writes_what_it_has() {
    let path = scratch("interrupted.parquet", "");
    let mut command = Command::new(env!("CARGO_BIN_EXE_flitway"));
    command.args(["run", "dawning5000", "--load", "0.1,0.8", "--precision", "0.001%", "--parquet"]);
    let mut child = command.arg(&path).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("offered") {
        line.clear();
        assert!(std::io::BufRead::read_line(&mut lines, &mut line).unwrap() > 0);
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    std::io::copy(&mut lines, &mut std::io::sink()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert_eq!(read(&path).0[0]["verdict"], "stopped");
}
