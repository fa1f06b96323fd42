const result = JSON.parse(byId("result").textContent);
const details = JSON.parse(byId("details").textContent);
const points = result.points;
let chosen = points.length - 1;
let rail = "all";

// Words.
const percent = (load) => (100 * load).toFixed(1) + " %";
const time = (ns) => ns < 1e3 ? ns.toFixed(0) + " ns" : ns < 1e4 ? (ns / 1e3).toFixed(2) + " µs"
  : ns < 1e6 ? (ns / 1e3).toFixed(1) + " µs" : (ns / 1e6).toFixed(2) + " ms";
// The load of a channel is the share of what it could carry. Colours reach to the busiest channel of all points, so that points can be compared, and a quiet network shows.
const most = Math.max(0, ...details.points.flatMap((it) => (it.quantiles || []).map((part) => part[part.length - 1] || 0)));
const scale = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5].find((it) => it >= most) || 1;
if (byId("scale")) byId("scale").textContent = String(scale);
const heat = (load) => "h" + Math.max(0, Math.min(10, Math.round(load / scale * 10)));
// With the names that the user gave, where there are some.
const given = result.machine.description.graph || {};
const named = (kind, number) => kind + " " + number + (given[kind + "s"] ? " (" + given[kind + "s"][number] + ")"
  : given[kind + "es"] ? " (" + given[kind + "es"][number] + ")" : "");
const end = (it) => it.node !== undefined ? named("node", it.node) : named("switch", it.switch) + " port " + it.port;
const loadOf = (point) => point.multicast ? point.multicast.offered_load : point.offered_load;

// Channels: those of the switches of rail 0, of rail 1, ..., then the rails of each node.
const ofSwitches = details.channels ? details.channels.length : 0;
const unpacked = new Map();
const words = (text) => {
  if (!unpacked.has(text)) {
    const bytes = text ? Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)) : new Uint8Array();
    unpacked.set(text, Array.from({ length: bytes.length / 2 }, (_, i) => (bytes[2 * i] + 256 * bytes[2 * i + 1]) / 1e4));
  }
  return unpacked.get(text);
};
const loads = (place) => words((details.points[place] || {}).loads);
const inRail = (number, of) => number < ofSwitches ? of * ofSwitches + number
  : details.rails * ofSwitches + (number - ofSwitches) * details.rails + of;
const load = (number) => {
  const all = loads(chosen);
  if (rail !== "all") return all[inRail(number, Number(rail))] || 0;
  let sum = 0;
  for (let of = 0; of < details.rails; of += 1) sum += all[inRail(number, of)] || 0;
  return sum / details.rails;
};
const ends = (number) => {
  if (number >= ofSwitches) {
    const home = details.homes[number - ofSwitches];
    return [named("node", number - ofSwitches), named("switch", home[0]) + " port " + home[1]];
  }
  const [a, b, c, d] = details.channels[number];
  return [named("switch", a) + " port " + b, d === undefined ? named("node", c) : named("switch", c) + " port " + d];
};
const numbers = (element) => element.dataset.c.split(" ").map(Number);
const busiest = (all) => all.reduce((best, number) => load(number) > load(best) ? number : best, all[0]);
const channelTip = (element) => {
  const all = numbers(element);
  const number = busiest(all);
  const of = all.length > 1 ? " (busiest of " + all.length + ")" : "";
  return ends(number).join(" → ") + ": " + percent(load(number)) + of;
};
const paintChannels = () => {
  for (const element of document.querySelectorAll(".ch[data-c]")) {
    element.setAttribute("class", "ch " + heat(load(busiest(numbers(element)))));
  }
};

// The pictures by parts: what their cells stand for, in the order of their numbers.
let shows = "busiest";
const places = new Map();
const cells = [...document.querySelectorAll("g.cells")].flatMap((group) => {
  const { part, units, ways, row } = group.dataset;
  const split = (text) => text === undefined ? [] : text.split("|");
  const [names, halves] = [split(units), split(ways)];
  const rows = row === undefined ? [] : split(group.ownerSVGElement.dataset.rows);
  return [...group.children].map((element, at) => row === undefined
    ? { element, part, unit: names[Math.floor(at / halves.length)], way: halves[at % halves.length] }
    : { element, from: rows[row], to: rows[element.getAttribute("x")] });
});
cells.forEach((cell, place) => places.set(cell.element, place));
const partLoad = (cell, of) => {
  const parts = (details.points[chosen] || {}).parts;
  return parts ? words(parts[of])[cell] : 0;
};
const cellTip = (place) => {
  const { part, unit, way, from, to } = cells[place];
  const count = details.in_parts[place];
  const what = from === undefined ? [part, unit, way].join(", ") : from === to ? "within " + from : from + " → " + to;
  if (!count) return what + ": no channel";
  return what + ": " + (count > 1 ? "busiest " + percent(partLoad(place, "busiest")) + ", mean "
    + percent(partLoad(place, "mean")) + " of " + count + " channels" : percent(partLoad(place, "busiest")));
};
tipOf = (element) => element.dataset.c ? channelTip(element) : places.has(element) ? cellTip(places.get(element)) : "";
const paintCells = () => cells.forEach(({ element }, place) =>
  element.setAttribute("class", details.in_parts[place] ? "ch " + heat(partLoad(place, shows)) : "nothing"));
const cellRows = (isWanted, names) => cells.flatMap((cell, place) => isWanted(cell) && details.in_parts[place]
  ? [[...names.map((name) => cell[name]), details.in_parts[place], partLoad(place, "busiest"), partLoad(place, "mean")]] : []);

const bar = (name, parts, value, tick, theory) => {
  const row = make("div");
  row.append(make("span", "", name));
  const track = make("span", "track");
  for (const [className, share, colour, text] of parts) {
    const fill = make("i", "fill " + className);
    fill.style.width = 100 * Math.min(1, share) + "%";
    if (colour) fill.style.background = colour;
    if (text) fill.dataset.tip = text;
    track.append(fill);
  }
  if (tick !== undefined) {
    const line = make("i", "tick");
    line.style.left = "calc(" + 100 * Math.min(1, tick) + "% - 1px)";
    track.append(line);
  }
  if (theory !== undefined) {
    const line = make("i", "tick expected");
    line.style.left = "calc(" + 100 * theory + "% - 1px)";
    line.dataset.tip = "theory: " + percent(theory) + " expected of the busiest channel";
    track.append(line);
  }
  row.append(track, make("span", "value", value));
  return row;
};
const bars = (id, rows) => {
  const box = byId(id);
  if (!box) return;
  box.className = "bars";
  box.replaceChildren(...rows);
};
const none = () => make("p", "note", "Not measured.");

const stageRows = () => {
  const point = points[chosen];
  const of = point.channel_load;
  const rows = [];
  if (point.created_load !== undefined) {
    const offered = point.offered_load * details.sending_part;
    rows.push(["Source queue: created of offered", offered, point.created_load, point.created_load]);
  }
  if (of) {
    // Theory: fixed routes give the load that is expected of the busiest channel of each stage, as far as it is possible.
    // Null between switches that select.
    const fullest = (stage) => details.theory?.fullest[stage] ?? undefined;
    const expected = (stage) => fullest(stage) === undefined ? undefined : Math.min(1, fullest(stage) * point.offered_load);
    rows.push(["Injection: out of nodes", 1, of.injection.mean_share, of.injection.max_share, expected(0)]);
    if (of.network) rows.push(["Network: between switches", 1, of.network.mean_share, of.network.max_share, expected(1)]);
    rows.push(["Ejection: into nodes", 1, of.ejection.mean_share, of.ejection.max_share, expected(2)]);
  }
  return rows;
};
const paintStages = () => {
  if (!byId("stage-bars")) return;
  const rows = stageRows().map(([name, configured, mean, most, theory], place) => place === 0 && name.startsWith("Source")
    ? bar(name, [["", mean, "var(--s0)", percent(mean) + " created"]], percent(mean) + " of " + percent(configured), configured)
    : bar(name, [[heat(mean), mean, "", "mean " + percent(mean)]], "max " + percent(most), most, theory));
  bars("stage-bars", rows.length ? rows : [none()]);
  const of = points[chosen].channel_load;
  bars("busy-bars", of ? of.busiest.map((it) => bar(end(it.from) + " → " + (it.to.node !== undefined ? end(it.to) : named("switch", it.to.switch)) + (details.rails > 1 ? ", rail " + it.rail : ""),
    [[heat(it.share), it.share, "", percent(it.share)]], percent(it.share))) : [none()]);
};
const paintRibbons = () => {
  const all = (details.points[chosen] || {}).quantiles;
  bars("ribbons", all ? details.groups.map((name, place) => {
    const row = make("div");
    const ribbon = make("span", "ribbon");
    for (const value of all[place]) {
      const cell = make("i", heat(value));
      cell.dataset.tip = percent(value);
      ribbon.append(cell);
    }
    const last = all[place][all[place].length - 1] || 0;
    row.append(make("span", "", name), ribbon, make("span", "value", percent(all[place][0] || 0) + " – " + percent(last)));
    return row;
  }) : [none()]);
};

const waits = { source_queue: "source queue", input_queue: "input queue", output: "output taken by others",
  credits: "credits (room behind the link)", link: "link taken by others", ...details.waits };
const piece = (name, from, until, total, text) => {
  const part = make("i");
  part.style.background = "var(--w-" + name + ")";
  part.style.width = 100 * (until - from) / total + "%";
  part.dataset.tip = text;
  return part;
};
const hop = (story, stay) => {
  const row = make("div");
  const where = stay.node !== undefined ? named("node", stay.node) : named("switch", stay.switch) + ", " + stay.input + " → " + stay.output;
  row.append(make("span", "", where + (details.has_vcs ? ", VC " + stay.vc : "")));
  const life = make("span", "life");
  const total = story.packet_latency_ns;
  const whole = make("i");
  whole.style.cssText = "background:var(--move);left:" + 100 * stay.arrived_ns / total + "%;width:"
    + 100 * (stay.left_ns - stay.arrived_ns) / total + "%";
  whole.dataset.tip = "here from " + time(stay.arrived_ns) + " to " + time(stay.left_ns) + ", with the link that follows";
  life.append(whole);
  for (const wait of stay.waits) {
    const part = piece(wait.for, wait.from_ns, wait.until_ns, total, waits[wait.for] + ": " + time(wait.until_ns - wait.from_ns));
    part.style.left = 100 * wait.from_ns / total + "%";
    life.append(part);
  }
  row.append(life, make("span", "value", time(stay.left_ns - stay.arrived_ns)));
  const longest = stay.waits.slice().sort((a, b) => (b.until_ns - b.from_ns) - (a.until_ns - a.from_ns))[0];
  row.title = longest ? "waited longest for: " + waits[longest.for] : "did not wait";
  return row;
};
const paintStories = () => {
  const box = byId("stories");
  if (!box) return;
  const stories = (details.points[chosen] || {}).slowest || [];
  const keys = make("div", "keys");
  for (const [name, text] of Object.entries({ ...waits, moving: "moving" })) {
    const key = make("span");
    const colour = make("i");
    colour.style.background = name === "moving" ? "var(--move)" : "var(--w-" + name + ")";
    key.append(colour, text);
    keys.append(key);
  }
  const rows = stories.map((story, place) => {
    const row = make("details", "story");
    row.open = place === 0;
    const head = make("summary");
    head.append(make("span", "", named("node", story.source) + " → " + named("node", story.destination) + (details.rails > 1 ? ", rail " + story.rail : "")));
    const life = make("span", "life");
    for (const [name, text] of Object.entries(waits)) {
      const ns = story.waited_ns[name];
      if (ns > 0) life.append(piece(name, 0, ns, story.packet_latency_ns, text + ": " + time(ns)));
    }
    head.append(life, make("strong", "value", time(story.packet_latency_ns)));
    const way = make("div", "way");
    way.append(...story.stays.map((stay) => hop(story, stay)));
    const longest = Object.keys(waits).reduce((a, b) => story.waited_ns[b] > story.waited_ns[a] ? b : a);
    way.append(make("p", "said", story.payload_bytes + " B, created " + time(story.created_ns) + " after the start; "
      + (story.waited_ns[longest] > 0 ? "waited longest for " + waits[longest] + ": " + time(story.waited_ns[longest])
        : "never waited") + "; moved for " + time(story.moving_ns) + "."));
    row.append(head, way);
    return row;
  });
  box.replaceChildren(keys, ...(rows.length ? rows : [make("p", "note", "No packet was delivered.")]));
};

const rankParts = [["computing_ns", "var(--s1)", "computing"], ["overhead_ns", "var(--s2)", "overhead"], ["waiting_ns", "var(--s3)", "waiting"]];
const paintRanks = () => {
  if (!byId("rank-bars")) return;
  const graph = points[chosen].graph;
  const most = Math.max(1, ...graph.ranks.map((it) => rankParts.reduce((sum, [key]) => sum + it[key], 0)));
  const shown = graph.ranks.slice(0, 256);
  bars("rank-bars", shown.map((it) => bar("rank " + it.rank, rankParts.map(([key, colour, name]) =>
    ["", it[key] / most, colour, name + " " + time(it[key])]), it.completion_ns === undefined ? "not done" : time(it.completion_ns))));
  const keys = make("div", "keys");
  for (const [, colour, name] of rankParts) {
    const key = make("span");
    const box = make("i");
    box.style.background = colour;
    key.append(box, name);
    keys.append(key);
  }
  byId("rank-bars").prepend(keys);
};

// The data of every figure: what its table shows and its CSV holds.
const latencyOf = (point) => (point.multicast ? point.multicast.last_copy_latency_ns
  : point.barrier ? point.barrier.latency_ns : point.packet_latency_ns) || {};
// Lines of bins of the run that is shown in which something could break.
const faultBins = (keys) => {
  const series = (points[chosen].faults || {}).series || { bin_ns: 0 };
  return [["from_ns", ...keys], ...(series[keys[0]] || []).map((_, bin) => [bin * series.bin_ns, ...keys.map((key) => series[key][bin])])];
};
const figures = {
  "fig-latency": () => [["offered_load", "verdict", "mean_ns", "ci95_ns", "p50_ns", "p99_ns", "p999_ns", "max_ns"], ...points.map((it) => {
    const of = latencyOf(it);
    return [loadOf(it), it.verdict, of.mean, of.ci95, of.p50, of.p99, of.p999, of.max];
  })],
  "fig-accepted": () => [["offered_load", "verdict", "accepted_load", "accepted_load_ci95", "accepted_min_sender", "accepted_max_node"],
    ...points.map((it, place) => [loadOf(it), it.verdict, it.multicast ? it.multicast.accepted_load : it.accepted_load,
      it.accepted_load_ci95, details.points[place].accepted_min_sender, it.accepted_max_node])],
  "fig-stages": () => [["stage", "configured", "mean", "max", "theory_max"], ...stageRows()],
  "fig-busiest": () => [["rail", "class", "from", "to", "load", "share"],
    ...((points[chosen].channel_load || {}).busiest || []).map((it) => [it.rail, it.class, end(it.from), end(it.to), it.load, it.share])],
  "fig-fabric": () => {
    const rows = [["from", "to", ...Array.from({ length: details.rails }, (_, of) => "share_rail_" + of)]];
    for (let number = 0; number < ofSwitches + details.nodes; number += 1) {
      const all = loads(chosen);
      rows.push([...ends(number), ...Array.from({ length: details.rails }, (_, of) => all[inRail(number, of)])]);
    }
    return rows;
  },
  "fig-parts": () => [["part", "of", "way", "channels", "busiest", "mean"],
    ...cellRows((it) => it.from === undefined, ["part", "unit", "way"])],
  "fig-between": () => [["from", "to", "channels", "busiest", "mean"], ...cellRows((it) => it.from !== undefined, ["from", "to"])],
  "fig-classes": () => [["class", "share_of_channels", "share"], ...((details.points[chosen] || {}).quantiles || []).flatMap((part, place) =>
    part.map((value, at) => [details.groups[place], ((at + 1) / part.length).toFixed(2), value]))],
  "fig-distribution": () => [["of", "latency_ns", "share_slower"], ...((details.points[chosen] || {}).distributions || []).flatMap((it) =>
    it.marks.map(([ns, share]) => [it.name, ns, share]))],
  "fig-fairness": () => [["node", "accepted_load"], ...((details.points[chosen] || {}).accepted_of || []).map((value, node) => [node, value])],
  "fig-received": () => [["node", "load"], ...((details.points[chosen] || {}).received_of || []).map((value, node) => [node, value])],
  "fig-slowest": () => [["packet", "source", "destination", "rail", "where", "vc", "arrived_ns", "left_ns", ...Object.keys(waits).map((it) => it + "_ns")],
    ...((details.points[chosen] || {}).slowest || []).flatMap((story, place) => story.stays.map((stay) => [place, story.source,
      story.destination, story.rail, stay.node !== undefined ? "node " + stay.node : "switch " + stay.switch, stay.vc, stay.arrived_ns,
      stay.left_ns, ...Object.keys(waits).map((name) => stay.waits.filter((it) => it.for === name)
        .reduce((sum, it) => sum + it.until_ns - it.from_ns, 0))]))],
  "fig-faults-load": () => faultBins(["created", "accepted"]),
  "fig-faults-lost": () => faultBins(["lost"]),
  "fig-faults-links": () => [["channel", "crc_errors", "repeated", "timeouts"],
    ...((points[chosen].faults || points[chosen]).links || []).map((it) => [it.link, it.crc_errors, it.repeated, it.timeouts])],
  "fig-faults-log": () => [["at_ns", "place", "text", "since_ns"],
    ...(points[chosen].faults || { log: [] }).log.map((it) => [it.at_ns, it.place, it.text, it.since_ns])],
  "fig-nic-latency": () => [["size_bytes", "mean_ns", "p50_ns", "p99_ns", "p999_ns", "max_ns"],
    ...points.map(({ nic: it }) => [it.size_bytes, ...["mean", "p50", "p99", "p999", "max"].map((key) => (it.latency_ns || {})[key])])],
  "fig-nic-bandwidth": () => [["size_bytes", "bandwidth_mb_per_s", "rate_per_s"],
    ...points.map(({ nic: it }) => [it.size_bytes, it.bandwidth_mb_per_s, it.rate_per_s])],
  "fig-nic-stages": () => [["size_bytes", "place", "unit", "ns"],
    ...points.flatMap(({ nic: it }) => (it.stages || []).map((stage) => [it.size_bytes, stage.place, stage.unit, stage.ns]))],
  "fig-ranks": () => [["rank", "computing_ns", "overhead_ns", "waiting_ns", "completion_ns"],
    ...points[chosen].graph.ranks.map((it) => [it.rank, it.computing_ns, it.overhead_ns, it.waiting_ns, it.completion_ns])],
};
const shown = (value) => value === undefined || value === null ? "" : typeof value === "number" && !Number.isInteger(value)
  ? String(Number(value.toPrecision(6))) : String(value);
const LIMIT = 500;
const fill = (figure) => {
  const open = figure.querySelector("details.data");
  if (!open.open) return;
  const rows = figures[figure.dataset.figure]();
  const table = make("table");
  rows.slice(0, LIMIT + 1).forEach((cells, place) => {
    const row = make("tr");
    row.append(...cells.map((cell) => make(place ? "td" : "th", "", place ? shown(cell) : cell)));
    table.append(row);
  });
  const box = open.querySelector(".scroll");
  box.replaceChildren(table);
  if (rows.length > LIMIT + 1) box.append(make("p", "note", "The first " + LIMIT + " of " + (rows.length - 1) + " rows; the CSV has all."));
};
const csv = (name) => figures[name]().map((cells) => cells.map(quoted).join(",")).join("\n") + "\n";
for (const figure of document.querySelectorAll("figure[data-figure]")) {
  figure.querySelector("details.data").addEventListener("toggle", () => fill(figure));
  figure.querySelector("button.csv").addEventListener("click", () => {
    save(result.machine.name + "-" + figure.dataset.figure.slice(4), csv(figure.dataset.figure));
  });
}

const choose = (place) => {
  chosen = Math.max(0, Math.min(points.length - 1, place));
  for (const drawing of document.querySelectorAll(".of-point")) drawing.hidden = Number(drawing.dataset.of) !== chosen;
  for (const row of document.querySelectorAll("tr[data-row]")) row.classList.toggle("chosen", Number(row.dataset.row) === chosen);
  if (byId("point")) byId("point").value = String(chosen);
  paintRanks();
  paintStages();
  paintChannels();
  paintCells();
  paintRibbons();
  paintStories();
  document.querySelectorAll("figure[data-figure]").forEach(fill);
};
const listen = (id, event, act) => byId(id) && byId(id).addEventListener(event, act);
listen("point", "change", () => choose(Number(byId("point").value)));
listen("earlier", "click", () => choose(chosen - 1));
listen("later", "click", () => choose(chosen + 1));
listen("rail", "change", () => { rail = byId("rail").value; paintChannels(); });
listen("shows", "change", () => { shows = byId("shows").value; paintCells(); });
for (const button of document.querySelectorAll("button[data-point]")) {
  button.addEventListener("click", () => choose(Number(button.dataset.point)));
}
// The highest load that is steady says most of a network; what is beyond it is told in words.
const steady = points.map((it, place) => [it.verdict, place]).filter(([verdict]) => verdict === "steady");
choose(steady.length ? steady[steady.length - 1][1] : points.length - 1);
window.flitway = { result, details, csv, choose, load, loads };
