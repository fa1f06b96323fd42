//! What came of operations of NICs, as an object.

use super::{
    GroupChoice, LockChoice, Manner, MatchChoice, NicChoice, NicResult, Noise, Taking, Waits, stage_names,
};
use flitway_engine::Picos;
use serde_json::{Value, json};

impl NicResult {
    /// The object that `--json` has in `points`.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut nic = self.choice_json();
        nic["operations"] = json!(self.latencies.len());
        nic["complete"] = json!(self.is_complete);
        if let Some(mean) = self.mean_ns() {
            nic["latency_ns"] = json!({
                "mean": mean,
                "min": self.percentile_ns(0),
                "p50": self.percentile_ns(500),
                "p99": self.percentile_ns(990),
                "p999": self.percentile_ns(999),
                "max": self.percentile_ns(1_000),
            });
            if let Some([sender, receiver]) = self.processor_ns() {
                nic["processor_ns"] = json!({ "sender": sender, "receiver": receiver });
            }
            let stages = self.stages();
            let stages = stages.iter().map(|&(stage, ns)| {
                let [place, unit] = stage_names(stage);
                json!({ "place": place, "unit": unit, "ns": ns })
            });
            nic["stages"] = stages.collect();
        }
        let mut put = |key: &str, value: Option<f64>| {
            if let Some(value) = value {
                nic[key] = json!(value);
            }
        };
        put("zero_load_ns", self.zero_load.map(Picos::as_nanos));
        put("bandwidth_mb_per_s", self.bandwidth_mb_per_s());
        put("rate_per_s", self.rate_per_s());
        put("hand_over_ns", self.hand_over_ns());
        let busy = self.busy();
        let busy = busy
            .iter()
            .map(|it| json!({ "node": self.choice.nodes[it.side], "part": it.part, "share": it.share }));
        nic["busy"] = busy.collect();
        let counters = |side: usize| -> serde_json::Map<String, Value> {
            self.hosts[side].nic.iter().map(|&(name, count)| (name.to_owned(), json!(count))).collect()
        };
        nic["counters"] = json!([counters(0), counters(1)]);
        let mut point = json!({
            "packets": self.counters.packets_created,
            "nic": nic,
            "events": self.counters.events,
            "packet_hops": self.counters.packet_hops,
            "flit_hops": self.counters.flit_hops,
            "wall_s": self.wall.as_secs_f64(),
        });
        if let Some(bytes) = self.peak_rss_bytes {
            point["peak_rss_bytes"] = json!(bytes);
        }
        self.add_network(&mut point);
        point
    }

    /// What was asked for.
    fn choice_json(&self) -> Value {
        let NicChoice { nodes, by, bytes, outstanding, processes, .. } = self.choice;
        let mut nic = json!({
            "operation": self.choice.name(),
            "from": nodes[0],
            "to": nodes[1],
            by.parameter(): by.name(),
            "processes": processes,
            "size_bytes": bytes,
        });
        if self.choice.is_reliable {
            nic["reliable"] = json!(true);
        }
        let Manner { waits, is_physical, is_on_demand, buffers } = self.choice.manner;
        if waits == Waits::Sleeping {
            nic["wait"] = json!("interrupt");
        }
        if is_physical {
            nic["addresses"] = json!("physical");
        }
        if is_on_demand {
            nic["translations"] = json!("on-demand");
        }
        if buffers > 1 {
            nic["buffers"] = json!(buffers);
        }
        if self.choice.chain > 1 {
            nic["chain"] = json!(self.choice.chain);
        }
        if let Some(GroupChoice { is_offloaded, arity, by_messages, .. }) = self.choice.group {
            nic["by"] = json!(match is_offloaded {
                _ if by_messages => "messages",
                true => "nic",
                false => "hosts",
            });
            nic["arity"] = json!(arity);
        }
        if let Some(LockChoice { taking, hold }) = self.choice.lock {
            nic["by"] = json!(if taking == Taking::Turn { "nic" } else { "retry" });
            nic["hold_ns"] = json!(hold.as_nanos());
            if let Taking::Again(back_off) = taking {
                nic["back_off_ns"] = json!(back_off.as_nanos());
            }
        }
        if let Some(MatchChoice { place, unexpected, late }) = self.choice.matching {
            nic["match"] = json!(place);
            nic["unexpected"] = json!(unexpected.name());
            nic["late_ns"] = json!(late.as_nanos());
        }
        if let Some(Noise { length, period }) = self.choice.noise {
            nic["noise"] = json!({ "length_ns": length.as_nanos(), "period_ns": period.as_nanos() });
        }
        if let Some(program) = &self.program {
            nic["program"] = json!(program);
        }
        if let Some((node, fault)) = &self.fault {
            nic["fault"] = json!({ "node": node, "line": fault.line, "text": fault.to_string() });
        }
        if let Some(outstanding) = outstanding {
            nic["outstanding"] = json!(outstanding);
        }
        nic
    }

    /// Adds to `point` what the network came to, as load points have it.
    fn add_network(&self, point: &mut Value) {
        let of_traffic = [
            "offered_load",
            "accepted_load",
            "packet_latency_ns",
            "network_latency_ns",
            "channel_load",
            "duration_ns",
        ];
        let of_all = ["deadlock", "link_errors", "links", "faults"];
        let network = self.point.to_json();
        for key in of_traffic.iter().filter(|_| self.has_traffic).chain(&of_all) {
            if let Some(value) = network.get(*key) {
                point[*key] = value.clone();
            }
        }
    }
}
