//! Report pages as a browser shows them: headless Chromium opens each, a script in it looks around, and what it found is
//! held against the result.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Long enough for something to happen.
const SHORT: [&str; 4] = ["--warm-up", "30us", "--duration", "60us"];

/// Runs before anything else in the page: remembers what goes wrong.
const BEFORE: &str = "<script>window.problems = [];
addEventListener('error', (event) => problems.push('error: ' + (event.message || event.target.outerHTML)), true);
addEventListener('unhandledrejection', (event) => problems.push('rejected: ' + event.reason));
addEventListener('securitypolicyviolation', (event) => problems.push('request: ' + event.blockedURI));
console.error = (...text) => problems.push('console: ' + text.join(' '));
console.warn = console.error;</script>
<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\">";

/// Runs when the page is there: looks around.
const AFTER: &str = "<script>addEventListener('load', () => {
const all = (what) => [...document.querySelectorAll(what)];
const text = (what) => all(what).map((element) => element.textContent);
const wide = all('body *').filter((element) => !element.closest('.scroll, nav, svg') && element.getClientRects().length
  && element.getBoundingClientRect().right > innerWidth + 0.5).map((element) => element.outerHTML.slice(0, 120));
const theme = [document.documentElement.dataset.theme];
document.getElementById('theme').click();
theme.push(document.documentElement.dataset.theme);
const chosen = () => all('.of-point').filter((element) => !element.hidden).map((element) => element.dataset.of);
const first = chosen();
const busy = text('#busy-bars .value');
const stages = text('#stage-bars .value');
const heat = all('.ch').map((element) => element.getAttribute('class').replace('ch ', ''));
all('details').forEach((element) => { element.open = true; });
setTimeout(() => {
  const tables = Object.fromEntries(all('figure').map((figure) => [figure.id, figure.querySelectorAll('details.data tr').length]));
  if (flitway.choose) flitway.choose(0);
  const marks = all('.mark');
  const dashed = all('#fig-accepted .theory').map((line) => line.getAttribute('d').match(/[0-9.]+/g).map(Number));
  const [x1, y1, x2, y2] = dashed.find(([from, , to]) => from !== to) || [];
  const below = all('#fig-accepted .m0').map((mark) => mark.cy.baseVal.value - y1
    - (mark.cx.baseVal.value - x1) * (y2 - y1) / (x2 - x1));
  if (marks.length) marks[0].focus();
  const facts = { problems, wide, theme, first, busy, stages, tables, second: chosen(), width: innerWidth,
    heat: [...new Set(heat)], shapes: heat.length, ids: all('[id]').map((element) => element.id),
    sections: text('h2'), verdicts: text('.verdict'), cells: text('table.points td'), stories: all('.story').length,
    links: all('a[href]').map((link) => link.getAttribute('href')).filter((href) => !href.startsWith('#')),
    broken: all('a[href^=\"#\"]').filter((link) => !document.querySelector(link.getAttribute('href'))).length,
    requests: performance.getEntriesByType('resource').map((entry) => entry.name),
    tip: document.getElementById('tip').textContent, ring: all('#ring li').length, silent: text('#silent').join(), below,
    drawn: all('#curves figure').filter((figure) => figure.querySelector('svg')).map((figure) => figure.id), lines: all('path.line').length,
    operations: Object.fromEntries(all('table.operations tr[data-path]').map((row) => [row.dataset.path,
      [...row.querySelectorAll('td')].slice(1).map((cell) => Number(cell.dataset.value))])),
    csv: Object.fromEntries(all('figure').map((figure) => [figure.id, flitway.csv(figure.id)])),
    loads: flitway.loads ? flitway.loads(0).length : 0, result: flitway.result };
  parent.postMessage(JSON.stringify(facts), '*');
}, 50);
});</script></body>";

/// What stands around the page: a frame as wide as asked for, since windows are not narrower than 500 pixels.
const FRAME: &str = "<!doctype html><script>addEventListener('message', (event) => {
const element = document.createElement('pre');
element.id = 'facts';
element.textContent = event.data;
document.body.append(element);
});</script><body><iframe style=\"border:0;height:900px;width:WIDTHpx\" src=\"SOURCE\"></iframe></body>";

fn flitway(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_flitway")).args(arguments).output().unwrap()
}

fn scratch(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// The page and the result of a run.
fn run(name: &str, arguments: &[&str]) -> (PathBuf, Value) {
    let (page, json) = (scratch(&format!("{name}.html")), scratch(&format!("{name}.json")));
    let files = ["--report", page.to_str().unwrap(), "--json", json.to_str().unwrap()];
    let output = flitway(&[&["run"], arguments, &files].concat());
    assert!(page.exists(), "{}", String::from_utf8_lossy(&output.stderr));
    (page, serde_json::from_str(&std::fs::read_to_string(json).unwrap()).unwrap())
}

/// What the browser finds in `page`, in a frame of `width`.
fn look(page: &Path, width: u32) -> Value {
    let text = std::fs::read_to_string(page).unwrap();
    let stem = page.file_stem().unwrap().to_str().unwrap();
    let name = format!("{stem}-{width}-{}", std::process::id());
    let watched = scratch(&format!("{name}.watched.html"));
    let text = text.replacen("<head>", &format!("<head>{BEFORE}"), 1).replace("</body>", AFTER);
    std::fs::write(&watched, text).unwrap();
    let frame = scratch(&format!("{name}.frame.html"));
    let source = watched.file_name().unwrap().to_str().unwrap();
    std::fs::write(&frame, FRAME.replace("WIDTH", &width.to_string()).replace("SOURCE", source)).unwrap();
    let profile = scratch(&format!("{name}.profile"));
    let browser = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|browser| {
        Command::new(browser).arg("--version").output().is_ok_and(|output| output.status.success())
    });
    let browser = browser.expect("Chromium looks at report pages: sudo apt-get install -y chromium");
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--hide-scrollbars", "--virtual-time-budget=4000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg("--window-size=1400,1000")
        .arg(format!("file://{}", frame.display()))
        .output()
        .unwrap();
    let dom = String::from_utf8_lossy(&output.stdout);
    let facts = dom.split("<pre id=\"facts\">").nth(1).and_then(|rest| rest.split("</pre>").next());
    let facts = facts.unwrap_or_else(|| panic!("no facts: {}", String::from_utf8_lossy(&output.stderr)));
    let facts = facts.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    let _ = std::fs::remove_dir_all(profile);
    serde_json::from_str(&facts).unwrap()
}

/// Whether two values are equal for a browser, which knows one kind of number.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        _ => a == b,
    }
}

/// What holds of every page.
fn assert_sound(facts: &Value, result: &Value) {
    for nothing in ["problems", "wide", "links", "requests"] {
        assert_eq!(facts[nothing], Value::Array(Vec::new()), "{nothing}");
    }
    assert_eq!(facts["broken"], 0, "links within the page lead somewhere");
    assert!(same(&facts["result"], result), "the page holds the result as it is");
    assert_ne!(facts["theme"][0], facts["theme"][1], "light and dark");
    for (figure, rows) in facts["tables"].as_object().unwrap() {
        assert!(rows.as_u64() > Some(1), "{figure} has data");
        assert!(facts["csv"][figure].as_str().unwrap().lines().count() > 1, "{figure} has CSV");
    }
    assert!(facts["shapes"].as_u64() > Some(10) && facts["stories"] == 10, "{}", facts["stories"]);
}

/// The rows of a CSV text.
fn rows(csv: &Value) -> Vec<Vec<String>> {
    csv.as_str().unwrap().lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

#[test]
fn a_page_of_load_points_shows_what_the_result_says() {
    let arguments = ["hpp-switch", "--set", "switch.vcs=1", "--load", "0.2,0.3,0.9"];
    let arguments = [&arguments[..], &SHORT].concat();
    let (page, result) = run("page-sweep", &arguments);
    for width in [1_280, 400] {
        let facts = look(&page, width);
        assert_sound(&facts, &result);
        let points = result["points"].as_array().unwrap();
        let numbers: Vec<[Option<f64>; 2]> = rows(&facts["csv"]["fig-latency"])[1..]
            .iter()
            .map(|row| [row[0].parse().ok(), row[2].parse().ok()])
            .collect();
        let expected: Vec<[Option<f64>; 2]> = points
            .iter()
            .map(|point| [point["offered_load"].as_f64(), point["packet_latency_ns"]["mean"].as_f64()])
            .collect();
        assert_eq!(numbers, expected);
        let busiest = &points[1]["channel_load"]["busiest"];
        let shown = format!("{:.1} %", busiest[0]["share"].as_f64().unwrap() * 100.0);
        assert_eq!(facts["busy"][0], shown, "of the highest load that is steady");
        assert_eq!((&facts["first"][0], &facts["second"][0]), (&Value::from("1"), &Value::from("0")));
        assert_eq!(facts["loads"], 32, "two channels for each node");
        assert_eq!(facts["cells"].as_array().unwrap().len(), 3 * 8);
        let verdicts = facts["verdicts"].to_string();
        assert!(verdicts.contains("Steady") && verdicts.contains("Limited by arbitration"), "{verdicts}");
        assert!(facts["tip"].as_str().unwrap().starts_with("load 0.200: mean"), "{}", facts["tip"]);
        assert!(facts["lines"].as_u64() >= Some(7), "four percentiles, three loads");
        assert_eq!(facts["width"], width);
    }
}

#[test]
fn a_page_of_a_pattern_that_leaves_nodes_silent_says_what_loads_mean() {
    let arguments = ["hpp-switch", "--traffic", "transpose", "--load", "0.3,0.6", "--arrival", "periodic"];
    let (page, result) = run("page-silent", &[&arguments[..], &SHORT].concat());
    let facts = look(&page, 700);
    assert_sound(&facts, &result);
    let silent = facts["silent"].as_str().unwrap();
    assert!(
        silent.starts_with("4 of 16 nodes are silent") && silent.contains("up to 0.750 of it"),
        "{silent}"
    );
    // Everything gets through, also what the worst of the senders has.
    let number = |text: &String| text.parse::<f64>().unwrap();
    for row in &rows(&facts["csv"]["fig-accepted"])[1..] {
        assert!(number(&row[4]) > 0.9 * number(&row[0]) && row[1] == "steady", "{row:?}");
    }
    let bars = rows(&facts["csv"]["fig-stages"]);
    assert!((number(&bars[1][1]) - number(&bars[1][2])).abs() < 0.02, "created as offered: {:?}", bars[1]);
    let below = facts["below"].as_array().unwrap();
    assert!(below.len() == 2 && below.iter().all(|off| off.as_f64().unwrap().abs() < 5.0), "{below:?}");
}

#[test]
fn a_page_of_a_deadlock_shows_its_ring() {
    let arguments = ["torus-8x8", "--set", "routing.dateline=false", "--load", "0.9"];
    let arguments = [&arguments[..], &["--precision", "10%"]].concat();
    let (page, result) = run("page-deadlock", &arguments);
    let facts = look(&page, 1_280);
    assert_sound(&facts, &result);
    let ring = result["points"][0]["deadlock"].as_array().unwrap();
    assert_eq!(facts["ring"].as_u64(), Some(ring.len() as u64));
    assert!(facts["verdicts"].to_string().contains("wait for each other for ever"));
    assert_eq!(facts["drawn"], serde_json::json!(["fig-accepted"]), "no point is steady");
}

#[test]
fn a_page_of_multicasts_and_one_of_a_task_graph_show_what_applies() {
    let multicast = ["--multicast", "random(members=9)", "--multicast-load", "0.1", "--load", "0.2"];
    let arguments = [&["fattree-128"], &multicast[..], &SHORT].concat();
    let (page, result) = run("page-multicast", &arguments);
    let facts = look(&page, 400);
    assert_sound(&facts, &result);
    let mean = result["points"][0]["multicast"]["last_copy_latency_ns"]["mean"].as_f64();
    assert_eq!(rows(&facts["csv"]["fig-latency"])[1][2].parse().ok(), mean);
    assert_operations(
        &facts,
        &result,
        "multicast",
        &["operations", "copies", "mean_copy_latency_ns/mean", "missed"],
    );

    assert!(facts["csv"]["fig-fairness"].is_string(), "packets beside them");

    // Worms have no tables, and there are no other packets.
    let alone = ["sp-omega-64", "--multicast", "fresh(receivers=4)", "--multicast-load", "0.1"];
    let (page, result) = run("page-worms", &[&alone[..], &SHORT].concat());
    let facts = look(&page, 700);
    assert_sound(&facts, &result);
    let multicast = &result["points"][0]["multicast"];
    assert_eq!(facts["cells"][6], multicast["copies"].to_string(), "copies are counted, not packets");
    assert_eq!(rows(&facts["csv"]["fig-received"]).len(), 64 + 1);
    assert!(facts["csv"]["fig-fairness"].is_null(), "no unicast packets");
    assert!(facts["operations"]["/multicast/missed"].is_null() && facts["operations"]["/packets"].is_null());

    let graph = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/halo-8.goal");
    let (page, result) = run("page-graph", &["hpp-switch", "--graph", graph.to_str().unwrap()]);
    let facts = look(&page, 1_280);
    assert_sound(&facts, &result);
    let ranks = result["points"][0]["graph"]["ranks"].as_array().unwrap();
    assert_eq!(rows(&facts["csv"]["fig-ranks"]).len(), ranks.len() + 1);
    assert!(facts["verdicts"].to_string().contains("Completed"));
}

#[test]
fn a_page_of_barriers_shows_their_parts_and_what_was_lost() {
    let barrier = [
        "--barrier",
        "all",
        "--interval",
        "5us",
        "--lose",
        "distribute(at=node 3, nth=2)",
        "--load",
        "0.1,0.3",
    ];
    // A distribute that is lost is missed after 100 us.
    let time = ["--warm-up", "5us", "--duration", "300us"];
    let (page, result) = run("page-barrier", &[&["fattree-128"], &barrier[..], &time].concat());
    let facts = look(&page, 1_280);
    assert_sound(&facts, &result);
    let shown =
        ["latency_ns/mean", "combine_ns/mean", "distribute_ns/max", "packets/sent", "packets/lost_by_fault"];
    assert_operations(&facts, &result, "barrier", &shown);
    assert_eq!(facts["operations"]["/barrier/packets/lost_by_fault"][0], 1.0);
}

#[test]
fn a_page_of_a_run_in_which_something_breaks_shows_what_came_of_it() {
    let faults = "down(switch=5, at=20us); manager(every=5us, latency=10us)";
    let run_of =
        ["th-frame", "--load", "0.2,0.4", "--faults", faults, "--warm-up", "5us", "--duration", "95us"];
    let (page, result) = run("page-faults", &run_of);
    for width in [1_280, 400] {
        let facts = look(&page, width);
        assert_sound(&facts, &result);
        assert_operations(
            &facts,
            &result,
            "faults",
            &["created", "lost/link_down", "broken_ns", "accepted_during"],
        );
        let faults = &result["points"][0]["faults"];
        let series = |key: &str| -> Vec<f64> {
            faults["series"][key].as_array().unwrap().iter().filter_map(Value::as_f64).collect()
        };
        let csv = rows(&facts["csv"]["fig-faults-load"]);
        let shown: Vec<f64> = csv[1..].iter().map(|row| row[2].parse().unwrap()).collect();
        assert_eq!(shown.len(), series("accepted").len());
        assert!(
            shown.iter().zip(series("accepted")).all(|(shown, is)| (shown - is).abs() < 1e-5 && is > 0.0)
        );
        let lost: f64 = rows(&facts["csv"]["fig-faults-lost"])[1..]
            .iter()
            .map(|row| row[1].parse::<f64>().unwrap())
            .sum();
        assert!(
            lost > 0.0
                && lost
                    == faults["lost"].as_object().unwrap().values().filter_map(Value::as_f64).sum::<f64>()
        );
        let log = faults["log"].as_array().unwrap().len();
        assert!(log > 0 && rows(&facts["csv"]["fig-faults-log"]).len() == log + 1);
    }
}

/// 320 switches with six links each, and a node: too many to be pulled into shape.
#[test]
fn a_page_of_a_large_graph_has_its_switches_in_cells_and_a_map() {
    let machine = [
        "hpp-switch",
        "--set",
        "topology={kind=\"random-regular\", switches=320, degree=6, nodes_per_switch=1}",
        "--set",
        "routing={algorithm=\"up-down\"}",
        "--set",
        "link.length={node=\"1 m\", switch=\"1 m\"}",
    ];
    let time = ["--load", "0.05", "--warm-up", "5us", "--duration", "20us"];
    let (page, result) = run("page-parts", &[&machine[..], &time].concat());
    let most = &result["points"][0]["channel_load"]["network"]["max_share"];
    for width in [1_280, 480] {
        let facts = look(&page, width);
        assert_sound(&facts, &result);
        let (parts, between) = (rows(&facts["csv"]["fig-parts"]), rows(&facts["csv"]["fig-between"]));
        // A cell for the channels of each switch, and two for those of its node.
        assert_eq!(parts.len(), 1 + 3 * 320);
        let sum = |rows: &[Vec<String>], at: usize| {
            rows[1..].iter().map(|row| row[at].parse::<u64>().unwrap()).sum::<u64>()
        };
        assert_eq!([sum(&parts, 3), sum(&between, 2)], [320 * 8, 320 * 6]);
        let busiest = |rows: &[Vec<String>], at: usize, is_wanted: &dyn Fn(&str) -> bool| {
            let rows = rows[1..].iter().filter(|row| is_wanted(&row[0]));
            rows.map(|row| row[at].parse::<f64>().unwrap()).fold(0.0, f64::max)
        };
        for shown in [busiest(&parts, 4, &|part| part == "switches"), busiest(&between, 3, &|_| true)] {
            assert!((shown - most.as_f64().unwrap()).abs() < 1e-4, "{shown} and {most}");
        }
        assert!(facts["heat"].as_array().unwrap().len() > 3, "{}", facts["heat"]);
        assert_eq!(facts["shapes"].as_u64(), Some((parts.len() + between.len() - 2) as u64));
    }
}

/// The page has what the result says of these `quantities` of operations.
fn assert_operations(facts: &Value, result: &Value, kind: &str, quantities: &[&str]) {
    for quantity in quantities {
        let path = format!("/{kind}/{quantity}");
        let shown = facts["operations"][&path].as_array().unwrap_or_else(|| panic!("{path} is not shown"));
        let points = result["points"].as_array().unwrap();
        let of = |value: &Value| value.as_f64().unwrap();
        let expected: Vec<f64> = points.iter().map(|point| of(point.pointer(&path).unwrap())).collect();
        assert_eq!(shown.iter().map(of).collect::<Vec<_>>(), expected, "{path}");
    }
}

const EXPERIMENT: &str = "name = \"small\"\ntitle = \"A < B\"\n[run]\nmachine = \"hpp-switch\"\nwarm_up = \"2 us\"\nduration = \"5 us\"
[[vary]]\nover = \"load\"\nvalues = [0.1, 0.3, 0.5]\n[[vary]]\nover = \"switch.buffer\"\nvalues = [\"2 KiB\", \"4 KiB\"]
[[plot]]\nname = \"load\"\nx = \"load\"\ny = \"accepted_load\"\n[[plot]]\nname = \"buffer\"\nx = \"switch.buffer\"\ny = \"accepted_load\"
[[finding]]\ntext = \"At most {max accepted_load}.\"\n";

#[test]
fn the_page_of_an_experiment_shows_its_findings_and_plots() {
    let (file, page) = (scratch("small.toml"), scratch("page-experiment.html"));
    std::fs::write(&file, EXPERIMENT).unwrap();
    let out = scratch("page-experiment");
    let _ = std::fs::remove_dir_all(&out);
    let output = flitway(&[
        "run",
        "--experiment",
        file.to_str().unwrap(),
        "--out",
        out.to_str().unwrap(),
        "--report",
        page.to_str().unwrap(),
    ]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let facts = look(&page, 400);
    for nothing in ["problems", "wide", "links", "requests"] {
        assert_eq!(facts[nothing], Value::Array(Vec::new()), "{nothing}");
    }
    assert_eq!((&facts["lines"], &facts["tables"]["fig-load"]), (&5.into(), &7.into()));
    let finding = facts["result"]["findings"][0]["text"].as_str().unwrap();
    assert_eq!(facts["verdicts"][0], finding);
    let shown = rows(&facts["csv"]["fig-load"]);
    let mark = &facts["result"]["plots"][0]["series"][1]["marks"][2];
    assert_eq!((shown[6][0].as_str(), shown[6][2].parse().ok()), ("4 KiB", mark["y"].as_f64()));
}

#[test]
fn a_page_changes_no_result_and_wrong_files_are_told() {
    let arguments = ["fattree-128", "--load", "0.3", "--warm-up", "5us", "--duration", "10us"];
    let (page, with) = run("page-same", &arguments);
    let plain = flitway(&[&["run"], &arguments[..], &["--json", "-"]].concat());
    let plain: Value = serde_json::from_slice(&plain.stdout).unwrap();
    let measured = |result: &Value| {
        let mut point = result["points"][0].as_object().unwrap().clone();
        point.retain(|key, _| key != "wall_s" && key != "peak_rss_bytes");
        point
    };
    assert_eq!(measured(&with), measured(&plain));
    let before = std::fs::read_to_string(&page).unwrap();
    let name = page.to_str().unwrap();
    let folder = env!("CARGO_TARGET_TMPDIR");
    for (wrong, message) in [
        (&["--report", name, "--load", "often"][..], "--load"),
        (&["--report", folder], "this is a folder, expected a file"),
        (&["--report", "-"], "a page goes to a file"),
        (&["--report", "same.x", "--json", "same.x"], "--json writes to the same file"),
        (&["--report", "no/such/folder/x.html"], "cannot write there"),
    ] {
        let output = flitway(&[&["run", "hpp-switch"], wrong].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains(message), "{said}");
    }
    assert_eq!(std::fs::read_to_string(&page).unwrap(), before, "wrong input overwrites nothing");
}
