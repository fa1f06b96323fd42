//! The built-in machines, overrides, the reference pages and the JSON form.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use flitway_engine::{Clock, Picos};
use flitway_fabric::arbiter::ArbiterKind;
use flitway_fabric::packet::PacketFormat;
use flitway_fabric::{LaneChoice, ReplyLanes};
use flitway_machine::code::PAGES;
use flitway_machine::schema::{self, Presence, Setting};
use flitway_machine::{
    Code, Colour, Machine, Options, Origin, RoutingKind, architectures, builtin, codes_reference, explain,
    settings_reference,
};
use flitway_switch::SwitchSettings;
use flitway_switch::hpp::settings::{
    AdvertSettings, BarrierSettings, HppSettings, MulticastSettings, Pipeline,
};
use flitway_wiring::dependency::{Dependencies, Verdict};
use flitway_wiring::routing::Selection;
use flitway_wiring::topology::{End, Topology, TopologySettings};
use flitway_wiring::{NodeId, PortId, SwitchId};
use std::path::Path;

fn load(name: &str, set: &[&str]) -> Machine {
    let set: Vec<String> = set.iter().map(|&text| text.to_owned()).collect();
    Machine::load(name, &set).unwrap_or_else(|problems| panic!("{problems}"))
}

fn codes(name: &str, set: &[&str]) -> Vec<Code> {
    let set: Vec<String> = set.iter().map(|&text| text.to_owned()).collect();
    match Machine::load(name, &set) {
        Ok(machine) => machine.warnings.iter().map(|problem| problem.code).collect(),
        Err(problems) => problems.iter().map(|problem| problem.code).collect(),
    }
}

fn hpp(machine: &Machine) -> &HppSettings {
    let SwitchSettings::Hpp(settings) = &machine.switch else { panic!("it is one of HPP Switches") };
    settings
}

#[test]
fn every_built_in_machine_loads_without_a_warning_and_builds() {
    let expected = [
        ("elite4", 1, 8, 1),
        ("hpp-switch", 1, 16, 1),
        ("sp-switch-16", 1, 16, 8),
        ("sp-switch-16-input", 1, 16, 8),
        ("sp-switch-64", 1, 64, 48),
        ("sp-switch-64-input", 1, 64, 48),
        ("sp-omega-64", 1, 64, 16),
        ("nrc", 1, 24, 1),
        ("th-frame", 1, 32, 6),
        ("yarc", 1, 64, 1),
        ("qsnet2-64", 1, 64, 48),
        ("mesh-8x8", 1, 64, 64),
        ("torus-8x8", 1, 64, 64),
        ("fattree-128", 1, 128, 80),
        ("th-group", 1, 384, 108),
        ("qsnet2-512", 1, 512, 640),
        ("qsnet2-1024", 1, 1_024, 1_280),
        ("dawning5000", 4, 1_024, 320),
        ("dawning5000-single", 1, 16, 1),
        ("dawning5000-asic", 4, 1_024, 320),
        ("dawning5000-hpp", 4, 1_024, 320),
        ("qsnet2-4096", 1, 4_096, 6_144),
        ("tianhe2", 1, 18_432, 7_776),
    ];
    assert_eq!(builtin().len(), expected.len());
    for (name, rails, nodes, switches) in expected {
        let machine = load(name, &[]);
        assert!(machine.warnings.is_empty(), "{}", machine.warnings);
        let fabric = machine.fabric();
        let sizes = (machine.rails, fabric.nodes(), fabric.topology().switches());
        assert_eq!((machine.name.as_str(), sizes), (name, (rails, nodes, switches)));
    }
}

/// One that stands before would be passed over, with whatever a file says of it.
#[test]
fn a_setting_stands_after_the_one_that_decides_whether_it_applies() {
    let all: Vec<&Setting> = schema::settings().collect();
    let place = |of: &Setting| all.iter().position(|it| std::ptr::eq(*it, of));
    for setting in &all {
        if let Some((selector, _)) = setting.only_for() {
            assert!(place(selector) < place(setting), "{} stands before {}", setting.path, selector.path);
        }
    }
    let of = load("qsnet2-64", &[]).effective;
    let is_there = |path: &str| of.iter().any(|it| it.path == path);
    assert!(is_there("packet.block") && is_there("packet.block_header"));
}

#[test]
fn a_built_in_machine_gives_every_setting_a_value_and_a_source() {
    for (name, text) in builtin() {
        // The settings of a NIC on a bus, and of its host, are not in the file: so that another NIC can be set.
        for effective in load(name, &[]).effective.iter().filter(|it| !schema::is_of_host(&it.path)) {
            assert_eq!(effective.origin, Origin::File, "{name}: {} is left to its default", effective.path);
        }
        let sourced = |line: &&str| line.contains('#') || !line.contains('=');
        let without: Vec<&str> = text.lines().filter(|line| !sourced(line)).collect();
        assert!(
            without.iter().all(|line| ["name", "description", "kind", "algorithm", "architecture"]
                .iter()
                .any(|key| line.starts_with(key))),
            "{name}: no source for {without:?}"
        );
    }
}

/// What messages say of a kind of switch is what its chip says of itself.
#[test]
fn rates_of_links_are_refused_where_the_chip_offers_none() {
    for (name, _) in builtin() {
        let machine = load(name, &[]);
        let bits = machine.clock.hertz() * f64::from(machine.packet.flit_bytes) * 4.0;
        let set = format!("link.rate.node={} bit/s", bits as u64);
        let refused = codes(name, &[&set]).contains(&Code::NoRates);
        assert_eq!(refused, !machine.switch.chip().offers().rates, "{name}");
    }
}

#[test]
fn a_graph_file_gives_each_direction_its_rate() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rates.graph");
    let text = "switch a b\nnode n0 n1\nlink a:0 - n0 3 m 600 Mbit/s\nlink b:0 - n1\nlink a:1 - b:1 900Mbit/s back 300 Mb/s\n";
    std::fs::write(&path, text).unwrap();
    let file = format!("topology={{kind=\"graph\", file=\"{}\"}}", path.display());
    let machine = load("sp-switch-16", &[&file, "routing.algorithm=up-down", "link.rate.switch=1 Gbit/s"]);
    let rates = machine.fabric().rates.clone();
    let port = |switch, port| End::Switch(SwitchId(switch), PortId(port));
    let of = |end| rates.of(end).ratio();
    assert_eq!([of(port(0, 0)), of(End::Node(NodeId(0))), of(port(1, 0))], [(1, 2), (1, 2), (1, 1)]);
    assert_eq!([of(port(0, 1)), of(port(1, 1))], [(3, 4), (1, 4)]);
    let links = machine.to_json()["graph"]["links"].to_string();
    assert!(links.contains("3 m 600 Mbit/s") && links.contains("900 Mbit/s back 300 Mbit/s"), "{links}");
}

#[test]
fn the_prototype_is_one_switch_of_dawning_5000() {
    let [one, all] = ["dawning5000-single", "dawning5000"].map(|name| load(name, &[]));
    assert_eq!((one.clock, hpp(&one), &one.nic, &one.packet), (all.clock, hpp(&all), &all.nic, &all.packet));
    assert_eq!(one.link_cycles("node", None), all.link_cycles("node", None));
}

#[test]
fn dawning_5000_has_the_timing_of_the_prototype() {
    let machine = load("dawning5000", &[]);
    assert_eq!(machine.clock, Clock::new(100_000_000).unwrap());
    assert_eq!(machine.topology, TopologySettings::FatTree { ports: 16, levels: 3 });
    assert_eq!(machine.routing, RoutingKind::DModK);
    // P-DN-072: 0.13 us are 13 cycles. OQ-D8: 0.1 us per link are 10.
    assert_eq!(hpp(&machine).pipeline.depth(), 13);
    assert_eq!(["node", "level-1", "level-2"].map(|class| machine.link_cycles(class, None)), [10; 3]);
    assert_eq!(machine.fabric().latencies, vec![10; 3_072]);
    assert_eq!(
        (machine.nic.send_overhead, machine.nic.receive_overhead, machine.nic.stripe_threshold_bytes),
        // OQ-H17: 1.4 us together, less the 0.07 us that the simulator counts itself of the smallest packet.
        (Picos(630_000), Picos(700_000), 1_024)
    );
}

#[test]
fn the_hpp_switch_is_the_chip_of_the_paper() {
    let format =
        PacketFormat { flit_bytes: 2, header_flits: 4, trailer_flits: 1, mtu_bytes: 1_024, block: None };
    let chip = HppSettings {
        ports: 16,
        vcs: 3,
        buffer_units: 64,
        unit_flits: 32,
        arbiter: ArbiterKind::Matrix,
        selection: Selection::First,
        show_ahead: true,
        pipeline: Pipeline { receive: 2, queue: 3, route: 4, transmit_buffer: 2, transmit: 1 },
        tx_fifo: 16,
        format,
        // OQ-H3: 1 us at 312.5 MHz is 312.5 cycles, rounded up.
        advert: AdvertSettings { flits: 2, refresh: Some(313), position_bits: 16 },
        multicast: MulticastSettings::published(2),
        barrier: BarrierSettings::published(),
        lanes: LaneChoice::ByPacket,
        reply_lanes: ReplyLanes::Shared,
    };
    for name in ["hpp-switch", "dawning5000-hpp", "mesh-8x8"] {
        assert_eq!(hpp(&load(name, &[])), &chip, "{name}");
    }
    // hpp-switch.txt abstract and section 3.3: a combine and a distribute pass in 128 ns, 40 cycles of 312.5 MHz.
    assert_eq!(2 * chip.barrier_pass_cycles(), 40);
    // hpp-switch.txt section 3.4: 8 m at 5 ns/m are 40 ns, 12.5 cycles.
    assert_eq!(load("dawning5000-hpp", &[]).link_cycles("level-2", None), 13);
    assert_eq!(load("hpp-switch", &[]).link_cycles("node", None), 1);
}

#[test]
fn links_of_a_tiled_switch_need_not_retry() {
    for (set, retries) in [("switch.link.retry=true", true), ("switch.link.retry=false", false)] {
        let SwitchSettings::Tiled(settings) = load("nrc", &[set]).switch else {
            panic!("it is a tiled switch")
        };
        assert_eq!(settings.retry.is_some(), retries);
    }
}

/// Leaf and spine switches of 128 ports, and one of 512.
#[test]
fn tiled_chips_have_up_to_512_ports() {
    let tree = ["switch.rows=16", "switch.columns=8", "routing.algorithm=d-mod-k", "link.length.switch=5 m"];
    let machine = load("nrc", &[&tree[..], &["topology={kind=\"fat-tree\", ports=128, levels=2}"]].concat());
    let topology = Topology::build(&machine.topology).unwrap();
    assert_eq!([topology.nodes(), topology.switches(), topology.ports_max()], [8_192, 192, 128]);
    let one = load("nrc", &["switch.rows=512", "switch.columns=1", "topology.nodes=512"]);
    assert_eq!(one.switch.chip().ports(), 512);
}

#[test]
fn a_setting_left_out_has_its_documented_default() {
    let text = "name = \"small\"\nclock = \"1 GHz\"\ntopology = { kind = \"single\", nodes = 4 }\n\
                routing.algorithm = \"up-down\"\nswitch = { architecture = \"hpp\", ports = 4 }\n\
                packet = { flit = \"2 B\", header = \"4 flits\", trailer = \"1 flit\", mtu = \"1 KiB\" }\n\
                link.length.node = \"1 m\"\n";
    let machine = Options::from_text("small.toml", text.to_owned(), Path::new("")).check().unwrap();
    let chip = load("hpp-switch", &["clock=1 GHz", "switch.ports=4", "topology.nodes=4"]);
    assert_eq!(hpp(&machine), hpp(&chip), "the defaults are those of the chip");
    assert_eq!(
        (machine.rails, machine.nic.send_overhead, machine.link_cycles("node", None)),
        (1, Picos(0), 5)
    );
    for effective in machine.effective.iter().filter(|effective| effective.origin == Origin::Default) {
        let Presence::Default(text) = effective.setting.presence else {
            panic!("{} has a default", effective.path)
        };
        assert!(
            explain(&effective.path).unwrap().contains(&format!("default   {text}")),
            "{}",
            effective.path
        );
    }
}

#[test]
fn overrides_are_as_good_as_the_file() {
    let machine = load(
        "dawning5000",
        &[
            "switch.vcs=2",
            "switch.arbiter=round-robin",
            "switch.show_ahead = true",
            "clock=312.5MHz",
            "switch.credit.refresh=off",
            "link.length={ node = \"2 m\", switch = \"4 m\", level-2 = \"20 m\" }",
            "link.fixed='0 ns'",
            "description=two words",
        ],
    );
    let chip = hpp(&machine);
    assert_eq!((chip.vcs, chip.arbiter, chip.show_ahead), (2, ArbiterKind::RoundRobin, true));
    assert_eq!((chip.advert.refresh, machine.description.as_str()), (None, "two words"));
    // 2 m, 4 m and 20 m at 5 ns/m and 3.2 ns: 3.1, 6.3 and 31.3 cycles.
    assert_eq!(["node", "level-1", "level-2"].map(|class| machine.link_cycles(class, None)), [4, 7, 32]);
    let torus = load(
        "mesh-8x8",
        &["topology={kind=\"torus\", dimensions=[4,4]}", "switch.vcs=4", "link.length.dimension-1=3 m"],
    );
    assert_eq!(
        torus.topology,
        TopologySettings::Torus { dimensions: vec![4, 4], nodes_per_switch: 1 },
        "a table replaces the whole table"
    );
    assert_eq!(["dimension-0", "dimension-1"].map(|class| torus.link_cycles(class, None)), [2, 5]);
    let cycles = load("hpp-switch", &["switch.credit.refresh=100 cycles"]);
    assert_eq!(hpp(&cycles).advert.refresh, Some(100));
    assert_eq!(load("mesh-8x8", &["topology.dimensions=[2,3,4]"]).fabric().nodes(), 24);
}

#[test]
fn a_graph_file_is_found_next_to_the_machine_file() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("graph-machine");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(
        folder.join("pair.graph"),
        "switch a b\nnode n0 n1\nlink a:0 - n0\nlink b:0 - n1\nlink a:1 - b:1 30 m\n",
    )
    .unwrap();
    let (_, base) = builtin().iter().find(|(name, _)| *name == "hpp-switch").unwrap();
    let text = base
        .replace("kind = \"single\"\n", "kind = \"graph\"\nfile = \"pair.graph\"\n")
        .replace("nodes = 16", "# nodes")
        .replace("[link.length]\n", "[link.length]\nswitch = \"5 m\"\n");
    std::fs::write(folder.join("pair.toml"), text).unwrap();
    let path = folder.join("pair.toml").display().to_string();
    let machine = load(&path, &[]);
    // No length, and 30 m at 5 ns/m and 3.2 ns: 46.9 cycles.
    assert_eq!(machine.fabric().latencies, [1, 1, 47]);
    let graph = machine.graph.as_ref().unwrap();
    assert_eq!(graph.names.switches(), ["a", "b"]);
    assert_eq!(machine.fabric().topology().names(), &graph.names);
    assert_eq!(
        machine.to_json()["graph"],
        serde_json::json!({
            "switches": ["a", "b"],
            "nodes": ["n0", "n1"],
            "links": ["a:0 - n0", "b:0 - n1", "a:1 - b:1 30 m"],
        })
    );
    let missing = Machine::load(&path, &["topology.file=pair.graph".to_owned()]).unwrap_err();
    assert_eq!(
        missing.iter().next().unwrap().code,
        Code::Unreadable,
        "a --set is relative to the current directory"
    );
}

/// The JSON of a machine as the text of a machine file.
fn toml_of(table: &serde_json::Map<String, serde_json::Value>, prefix: &str) -> String {
    let mut text = String::new();
    for (key, value) in table {
        let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match value.as_object() {
            Some(inner) => text += &toml_of(inner, &path),
            None => text += &format!("{path} = {value}\n"),
        }
    }
    text
}

#[test]
fn the_json_of_a_machine_describes_it_completely() {
    for (name, _) in builtin() {
        let machine = load(name, &["link.fixed=12 ns"]);
        let mut json = machine.to_json();
        // The settings of a NIC on a bus, and of its host, are defaults.
        let origin = json["origin"].as_object().unwrap();
        let set: Vec<&String> =
            origin.iter().filter(|(_, of)| **of == "--set").map(|(path, _)| path).collect();
        assert_eq!(set, ["link.fixed"]);
        assert!(origin.keys().all(|path| ["link.", "nic.", "host."].iter().any(|it| path.starts_with(it))));
        assert_eq!(json["link"]["fixed"], "12 ns");
        let table = json.as_object_mut().unwrap();
        table.remove("origin");
        let again = Options::from_text("again.toml", toml_of(table, ""), Path::new("")).check().unwrap();
        assert_eq!(format!("{:?}", again.fabric().latencies), format!("{:?}", machine.fabric().latencies));
        assert_eq!((&again.switch, &again.link, &again.nic), (&machine.switch, &machine.link, &machine.nic));
        assert_eq!(
            (&again.topology, again.routing, again.clock),
            (&machine.topology, machine.routing, machine.clock)
        );
    }
    let json = load("dawning5000", &[]).to_json();
    assert_eq!(
        [&json["clock"], &json["switch"]["buffer"], &json["link"]["propagation"], &json["packet"]["header"]],
        ["100 MHz", "4 KiB", "5 ns/m", "4 flits"]
    );
    let keys: Vec<&String> = json.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "name",
            "description",
            "rails",
            "clock",
            "topology",
            "routing",
            "packet",
            "switch",
            "link",
            "nic",
            "host",
            "origin"
        ]
    );
}

/// Loads a machine in which `setting` has its example, with what else a machine of that kind needs.
fn load_with_example(setting: &Setting) {
    let own = format!("{}={}", setting.path.replace("-N", "-1"), setting.example);
    let Some((selector, names)) = setting.only_for() else {
        let base = if setting.table() == "link.rate" { "sp-switch-16" } else { "dawning5000" };
        load(base, &[&own]);
        return;
    };
    let chosen = format!("{}={}", selector.path, names[0]);
    match selector.path {
        // Whatever else it may say, a graph needs a file.
        "topology.kind" if setting.table() == "link.rate" => match names[0] {
            "th-tree" => _ = load("th-group", &[&own]),
            kind => load_of_kind(setting, &own, kind),
        },
        "topology.kind" => {
            names.iter().filter(|name| **name != "graph").for_each(|kind| load_of_kind(setting, &own, kind));
        }
        // Tables need a file, too.
        "routing.algorithm" if names[0] == "tables" => {}
        "routing.algorithm" if names[0] == "rtb" => {
            let tree = "topology={kind=\"th-tree\", groups=2}";
            load("hpp-switch", &[tree, "switch.ports=24", "link.length.switch=8 m", &chosen, &own]);
        }
        "routing.algorithm" => _ = load("mesh-8x8", &[&chosen, &own]),
        "nic.model" => _ = load("hpp-switch", &[&chosen, &own]),
        "host.platform" if names[0] == "dawning" => _ = load("hpp-switch", &[&chosen, &own]),
        "host.platform" => _ = load("elite4", &[&chosen, &own]),
        _ => {
            let is_of_it = |machine: &Machine| machine.to_json()["switch"]["architecture"] == names[0];
            let (name, _) = builtin().iter().find(|(name, _)| is_of_it(&load(name, &[]))).unwrap();
            load(name, &[&own]);
        }
    }
}

/// The same for a setting of topologies of `kind`, on a machine of some switch and routing.
fn load_of_kind(setting: &Setting, own: &str, kind: &str) {
    let selector = schema::named("topology.kind").next().unwrap();
    let is_needed = |other: &&Setting| {
        let is_own = std::ptr::eq(*other, setting) || matches!(other.presence, Presence::Required);
        other.table() == "topology" && other.belongs_to(selector, kind) && is_own
    };
    let needed = schema::settings().filter(is_needed).map(|it| format!(", {}={}", it.key(), it.example));
    let table = format!("topology={{kind=\"{kind}\"{}}}", needed.collect::<String>());
    let own = if setting.table() == "topology" { "name=x" } else { own };
    let routings = schema::named("routing.algorithm").next().unwrap().choices();
    let loads = |(base, more): &(&str, &str)| {
        let sets = |routing| {
            ["switch.ports=64", &table, &format!("routing.algorithm={routing}"), own, more].map(str::to_owned)
        };
        routings.iter().any(|routing| Machine::load(base, &sets(routing.name)).is_ok())
    };
    let bases = [("fattree-128", "rails=1"), ("hpp-switch", "rails=1"), ("sp-omega-64", "rails=1")];
    let of_rates = [("sp-omega-64", "rails=1"), ("sp-switch-16", "switch.multicast.bit_string=0")];
    let bases = if setting.table() == "link.rate" { &of_rates[..] } else { &bases };
    assert!(bases.iter().any(loads), "{table} with {own} goes with no switch and routing");
}

#[test]
fn every_setting_can_be_explained_and_its_example_is_accepted() {
    for setting in schema::settings() {
        let path = setting.path.replace("-N", "-1");
        let page = explain(&path).unwrap();
        for part in [setting.path, setting.source, setting.example] {
            assert!(page.contains(part), "{path}: {part}");
        }
        assert!(settings_reference().contains(&format!("### `{}`", setting.path)));
        assert!(setting.doc.ends_with('.'), "{path}");
        load_with_example(setting);
    }
    load("dawning5000", &["topology={kind=\"k-ary-n-tree\", arity=4, levels=2}"]);
    load("sp-omega-64", &["topology.kind=butterfly"]);
}

/// A kind that is set alone leaves the settings of the other behind; the table that the message suggests does not.
#[test]
fn the_table_that_is_suggested_for_another_kind_fits_it() {
    for kind in ["k-ary-n-tree", "mesh", "torus"] {
        let sets = [format!("topology.kind={kind}"), "routing.algorithm=up-down".to_owned()];
        let problems = Machine::load("dawning5000", &sets).unwrap_err().to_string();
        let (_, rest) = problems.split_once("for example --set '").unwrap();
        let (table, _) = rest.split_once('\'').unwrap();
        load("dawning5000", &[table, "routing.algorithm=up-down"]);
    }
    let problems = Machine::load("dawning5000", &["topology.kind=k-ary-n-tree".to_owned()]).unwrap_err();
    let table = "--set 'topology={kind=\"k-ary-n-tree\", arity=4, levels=3}'";
    assert!(problems.to_string().contains(table), "{problems}");
}

#[test]
fn tables_can_be_explained_and_what_is_not_there_says_so() {
    let page = explain("switch").unwrap();
    assert!(page.contains("switch.pipeline.route") && page.contains("switch.vcs"));
    let problem = explain("switch.vc").unwrap_err().to_string();
    assert!(problem.contains("did you mean `switch.vcs`?"), "{problem}");
    assert!(explain("buffer").unwrap_err().to_string().contains("did you mean `switch.buffer`?"));
    assert!(explain("").is_err());
    for (slip, help) in [
        (
            "FW-M999",
            "= expected: a code from FW-M001 to FW-M076 (machines), FW-X001 to FW-X010 (experiments) or FW-I001 to FW-I002 (imports)",
        ),
        ("fw-", "= expected: a code from FW-M001 "),
        ("FW-X1", "= help: did you mean `FW-X001`?"),
        ("FW-M-013", "= help: did you mean `FW-M013`?"),
        ("FW-13", "= help: did you mean `FW-M013`?"),
    ] {
        let problem = explain(slip).unwrap_err().to_string();
        assert!(problem.contains(&format!("there is no code `{slip}`")), "{problem}");
        assert!(problem.contains(help), "{problem}");
        assert_eq!(problem.contains("did you mean"), help.contains("did you mean"), "{problem}");
    }
    assert_eq!(
        architectures().iter().map(|(name, _)| *name).collect::<Vec<_>>(),
        ["hpp", "central-buffer", "input-buffer", "tiled", "elite"]
    );
}

#[test]
fn the_page_of_a_setting_can_be_read_by_a_person() {
    let page = explain("switch.arbiter").unwrap();
    let of_hpp = "switch.arbiter\n\n  Policy of the arbiter of each output of each crossbar.\n\n\
         value     \"matrix\", \"round-robin\" or \"lrg\"\n\
         default   \"matrix\"\n\
         only for  switch.architecture \"hpp\"\n\
         example   switch.arbiter = \"matrix\"\n\
         source    hpp-switch.txt section 2.2 (P-HP-030)\n\n\
         \x20 \"matrix\"\n    The hardware matrix of bits: least recently served first.\n\n\
         \x20 \"round-robin\"\n    The first requester after the last one served.\n\n\
         \x20 \"lrg\"\n    Least recently granted, kept as a list.";
    // Another kind of switch has a setting of that name, too.
    let (first, others) = page.split_at(of_hpp.len());
    assert_eq!(first, of_hpp);
    assert!(others.contains("only for  switch.architecture \"tiled\""), "{others}");
}

#[test]
fn an_architecture_has_a_page_with_its_cycles_and_sources() {
    for name in ["central-buffer", "input-buffer"] {
        let page = explain(name).unwrap();
        for part in [
            "How it works.",
            "Worms.",
            "Cycles.",
            "7 more",
            "section",
            "OQ-S",
            "flitway check",
            "switch.fifo",
        ] {
            assert!(page.contains(part), "{name}: {part}");
        }
    }
}

#[test]
fn adverts_of_built_in_machines_cost_little_and_those_of_wide_flits_do_not() {
    let warned = |set: &[&str]| {
        let set: Vec<String> = set.iter().map(|set| (*set).to_owned()).collect();
        let machine = Machine::load("hpp-switch", &set).unwrap();
        machine.warnings.iter().any(|warning| warning.code == Code::AdvertsCostBandwidth)
    };
    // A unit of 64 B, and an advert of two flits.
    for (flit, expected) in [("2 B", false), ("4 B", false), ("8 B", true), ("32 B", true)] {
        assert_eq!(warned(&[&format!("packet.flit={flit}")]), expected, "{flit}");
    }
    assert!(!warned(&["packet.flit=32 B", "switch.credit.unit=512 B"]));
    assert!(!warned(&["packet.flit=32 B", "switch.credit.advert=0 flits"]), "they have wires of their own");
}

#[test]
fn every_code_can_be_explained() {
    for page in PAGES {
        let text = explain(page.id).unwrap();
        assert!(
            text.contains(page.title) && text.contains(page.wrong.lines().next().unwrap()),
            "{}",
            page.id
        );
        assert!(codes_reference().contains(&format!("## {}: {}", page.id, page.title)));
    }
}

/// The examples that are settings must do what their page says, given as overrides of a built-in machine.
#[test]
fn the_example_of_a_code_has_the_problem_and_its_correction_has_not() {
    let mut tried = 0;
    for page in PAGES.iter().filter(|page| page.id.starts_with("FW-M")) {
        let is_setting = |line: &str| {
            line.split_once('=').is_some_and(|(path, _)| path.contains('.') || path.trim() == "topology")
        };
        if !page.right.lines().all(is_setting) {
            continue;
        }
        let base = match page.wrong {
            wrong if wrong.contains("topology = {") => "mesh-8x8",
            wrong if wrong.contains("bit_string") => "sp-switch-16",
            wrong if wrong.contains("lane_states") || wrong.contains("host.") => "nrc",
            wrong if ["coding", "levels = 6"].iter().any(|part| wrong.contains(part)) => "qsnet2-64",
            _ => "dawning5000",
        };
        let wrong: Vec<&str> = page.wrong.lines().collect();
        let right: Vec<&str> = page.right.lines().collect();
        assert!(codes(base, &wrong).contains(&page.code), "{}: {:?}", page.id, codes(base, &wrong));
        assert_eq!(codes(base, &right), [], "{}", page.id);
        tried += 1;
    }
    assert!(tried >= 20, "{tried} examples are settings");
}

#[test]
fn the_coloured_picture_is_the_plain_one_with_escapes() {
    let problems = Machine::load("dawning5000", &["switch.vcs=17".to_owned()]).unwrap_err();
    let coloured = problems.render(Colour::Ansi);
    assert!(coloured.contains('\x1b'));
    let mut plain = String::new();
    for (index, part) in coloured.split('\x1b').enumerate() {
        plain += if index == 0 { part } else { part.split_once('m').unwrap().1 };
    }
    assert_eq!(plain, problems.render(Colour::Plain));
}

/// The reader knows by the rings what the walk over all routes finds.
#[test]
fn a_machine_is_warned_of_cyclic_dependence_where_there_is_one() {
    for dimensions in ["[4]", "[5]", "[3,4]", "[2,6]", "[7,3]", "[4,4,4]", "[8,8]"] {
        for dateline in ["true", "false"] {
            let sets =
                [&format!("topology.dimensions={dimensions}"), &format!("routing.dateline={dateline}")];
            let machine = load("torus-8x8", &sets.map(String::as_str));
            let is_warned = machine.warnings.iter().any(|warning| warning.code == Code::CyclicDependence);
            let verdict = Dependencies::of(&machine.fabric().routing).verdict();
            assert_eq!(is_warned, matches!(verdict, Verdict::Cyclic(_)), "{dimensions} {dateline}");
        }
    }
}

/// 14/33 GHz is the clock of the NRC of TH Express-2; a cycle of it is no whole number of picoseconds.
#[test]
fn only_links_that_there_are_are_rounded() {
    let rounded = |topology: &str| {
        let set = [topology, "routing.algorithm=minimal", "switch.vcs=2", "link.length.switch=8 m"];
        let of_class =
            |what: &str| Some(what.strip_prefix("links of class `")?.trim_end_matches('`').to_owned());
        let roundings = load("hpp-switch", &set).roundings();
        roundings.iter().filter_map(|rounding| of_class(&rounding.what)).collect::<Vec<_>>()
    };
    let group = "topology={kind=\"dragonfly\", switches_per_group=4, global_ports=2, groups=1}";
    assert_eq!(rounded(group), ["node", "local"]);
    assert_eq!(rounded("topology={kind=\"mesh\", dimensions=[4, 1]}"), ["node", "dimension-0"]);
}

/// Who cannot select is refused, with what it does instead; and tiled switches are told to.
#[test]
fn routings_that_switches_select_for_need_switches_that_do() {
    let refused = |machine: &str, set: &[&str]| {
        let set: Vec<String> = set.iter().map(|set| (*set).to_owned()).collect();
        Machine::load(machine, &set).unwrap_err().to_string()
    };
    let dragonfly = "topology={kind=\"dragonfly\", switches_per_group=4, global_ports=2}";
    let of_hpp = |routing: &str, vcs: &str, selection: &str| {
        let set = [routing, vcs, selection].map(str::to_owned);
        let [routing, vcs, selection] = set;
        [dragonfly.to_owned(), "link.length.switch=5 m".to_owned(), routing, vcs, selection]
    };
    let by_load = "switch.selection=least-loaded";
    for (routing, why) in [
        ("routing.algorithm=ugal-g", "do not tell each other their loads"),
        ("routing.algorithm=adaptive", "names whole ways"),
    ] {
        let set = of_hpp(routing, "switch.vcs=12", by_load);
        let problem = refused("hpp-switch", &set.each_ref().map(String::as_str));
        for part in ["routing takes switches that select", why, "minimal"] {
            assert!(problem.contains(part), "{problem}");
        }
    }
    for (routing, vcs) in
        [("routing.algorithm=ugal", "switch.vcs=3"), ("routing.algorithm=par", "switch.vcs=4")]
    {
        let set = of_hpp(routing, vcs, "switch.selection=first");
        let problem = refused("hpp-switch", &set.each_ref().map(String::as_str));
        assert!(problem.contains(by_load), "{problem}");
        let machine = load("hpp-switch", &of_hpp(routing, vcs, by_load).each_ref().map(String::as_str));
        assert!(machine.warnings.iter().all(|it| it.code != Code::RoutingMisfit), "{:?}", machine.warnings);
        let routing = &machine.fabric().routing;
        assert!(routing.chooses_ways());
        assert!(matches!(Dependencies::of(routing).verdict(), Verdict::Free(_)), "all ways that they choose");
    }
    // Other routings have one way.
    let machine = load("hpp-switch", &[by_load]);
    assert!(machine.warnings.iter().any(|it| it.code == Code::RoutingMisfit), "{:?}", machine.warnings);
    assert_eq!(machine.fabric().routing.selection(), Selection::First);
    let problem = refused("sp-switch-16", &["routing.algorithm=adaptive"]);
    assert!(problem.contains("routes by destination alone"), "{problem}");
    let tiled =
        ["topology={kind=\"torus\", dimensions=[4, 4]}", "link.length={node=\"1 m\", switch=\"1 m\"}"];
    let adaptive = [&tiled[..], &["routing={algorithm=\"adaptive\"}"]].concat();
    let problem = refused("th-frame", &adaptive);
    assert!(problem.contains("switch.selection=least-loaded"), "{problem}");
    load("th-frame", &[&adaptive[..], &["switch.selection=least-loaded"]].concat());
    let problem = refused("mesh-8x8", &["routing.algorithm=s-mod-k"]);
    assert!(problem.contains("a fat-tree, a k-ary-n-tree or an xgft"), "{problem}");
    let problem = refused("th-frame", &[&tiled[..], &["routing={algorithm=\"par\"}"]].concat());
    assert!(problem.contains("dragonfly"), "{problem}");
}

#[test]
fn a_clock_may_be_an_exact_fraction() {
    let machine = Machine::load("hpp-switch", &["clock=14/33 GHz".to_owned()]).unwrap();
    assert_eq!(machine.clock.as_ratio(), (14_000_000_000, 33));
    let json = machine.to_json();
    assert_eq!(json["clock"], "14/33 GHz");
    let rounded = machine.roundings();
    let refresh = rounded.iter().find(|it| it.what == "`switch.credit.refresh`").unwrap();
    assert_eq!((refresh.cycles, refresh.exact.round()), (425, 424.0));
    let whole = Machine::load("hpp-switch", &["clock=1 GHz".to_owned()]).unwrap();
    assert!(whole.roundings().iter().all(|it| it.what.starts_with("links")), "{:?}", whole.roundings());
}
