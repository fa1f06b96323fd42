//! The codes of diagnostics, each with its page.

/// The page of a code: what it means, and an example of it.
#[derive(Debug)]
pub struct Page {
    /// The code.
    pub code: Code,
    /// As it is printed: `FW-M013`.
    pub id: &'static str,
    /// In a few words.
    pub title: &'static str,
    /// What it means and what to do, in a few sentences.
    pub text: &'static str,
    /// An input that has the problem.
    pub wrong: &'static str,
    /// The same input without it.
    pub right: &'static str,
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident $id:literal: $text:literal; $wrong:literal => $right:literal)*) => {
        /// The kind of a diagnostic. Its id never changes its meaning; a dropped one is not used again.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $($(#[doc = $doc])+ $name,)*
        }

        /// The page of every code, in the order of their ids.
        pub static PAGES: &[Page] = &[
            $(Page {
                code: Code::$name,
                id: $id,
                title: concat!($($doc),+).trim_ascii(),
                text: $text,
                wrong: $wrong,
                right: $right,
            },)*
        ];
    };
}

codes! {
    /// A description of a fabric is not understood
    ForeignLine "FW-I001": "`flitway import` reads what others have written: the output of ibnetdiscover, net files of ibsim, tables \
        of OpenSM, anynet files of BookSim, lists of edges, topologies of Slurm, GraphML. A line that it does not understand may \
        be a cable, so it guesses nothing. `--format NAME` says which format a file is in.";
        "[1] \"S-1\"" => "[1] \"S-1\"[4]"
    /// A fabric cannot be a machine
    ForeignFabric "FW-I002": "A machine has switches of at most 512 ports, nodes, and a cable of each node to a switch. What is \
        described has not, or it does not say which of its names are nodes: `--nodes-per-switch N` gives each switch N of them.";
        "flitway import ring.edges --out ring" => "flitway import ring.edges --nodes-per-switch 2 --out ring"
    /// The text is not valid TOML
    Syntax "FW-M001": "A machine or experiment file is TOML (toml.io): lines `key = value` under headers `[table]`. Text is \
        written in quotes, comments begin with `#`. What is on a line with such an error is not checked further.";
        "ports = = 16" => "ports = 16"
    /// A setting is given twice
    Duplicate "FW-M002": "Each setting is written once in a file, and named in one `--set` at most. Neither of two \
        values silently wins; delete one. (A `--set` may replace what the file says: that is its purpose.)";
        "vcs = 2\nvcs = 3" => "vcs = 3"
    /// A file cannot be read
    Unreadable "FW-M003": "A path on the command line is relative to the current directory; a path in a machine or \
        experiment file is relative to that file.";
        "flitway check machines" => "flitway check machines/dawning5000.toml"
    /// A file is not UTF-8 text
    NotUtf8 "FW-M004": "Machine, experiment and graph files are UTF-8 text. Save the file as UTF-8, or remove the character \
        at the place shown.";
        "description = \"caf\\xe9\"" => "description = \"café\""
    /// A file is empty
    Empty "FW-M005": "There is nothing to check in the file. Copy a built-in machine or experiment (`flitway list` names \
        them) and change it.";
        "(nothing)" => "name = \"my-machine\" ..."
    /// There is no such machine
    UnknownMachine "FW-M006": "A machine is a built-in name (`flitway list`) or the path of a TOML file. What ends \
        in `.toml` or contains a `/` is a path; everything else is a name.";
        "flitway run dawning500" => "flitway run dawning5000"
    /// There is no such setting
    UnknownSetting "FW-M010": "A misspelt setting would otherwise be ignored and its default used. The message names \
        the setting that is spelt most like it. `docs/settings.md` lists all.";
        "switch.vc = 3" => "switch.vcs = 3"
    /// A required setting is missing
    Missing "FW-M011": "The setting has no default because no value is right for most machines. `flitway explain \
        PATH` says what it means and shows an example.";
        "[switch]\narchitecture = \"hpp\"" => "[switch]\narchitecture = \"hpp\"\nports = 16"
    /// A value is of the wrong type
    WrongType "FW-M012": "A count is a bare whole number, a quantity is text with a unit, a name is text in quotes, \
        a yes or no is `true` or `false`, a list stands in brackets.";
        "switch.show_ahead = \"yes\"" => "switch.show_ahead = true"
    /// A quantity has no unit
    NoUnit "FW-M013": "A number alone does not say whether it is bytes or flits, nanoseconds or cycles. Write the \
        unit inside the quotes: \"4 KiB\", \"5 ns/m\", \"3 cycles\".";
        "switch.buffer = 4096" => "switch.buffer = \"4096 B\""
    /// A unit is not one of this quantity
    WrongUnit "FW-M014": "The unit is unknown, ambiguous, or one of something else. Units are written exactly as \
        listed: MHz is not mhz. 1 KiB is 1024 B and 1 kB is 1000 B; KB is refused because it is used for both.";
        "packet.mtu = \"1 KB\"" => "packet.mtu = \"1 KiB\""
    /// A text is not a quantity
    NotAQuantity "FW-M015": "A quantity is a decimal number without sign, exponent or thousands separator, and a \
        unit. It must be a whole number of the base unit: picoseconds, hertz, bytes, millimetres, flits or cycles.";
        "link.fixed = \"some ns\"" => "link.fixed = \"60 ns\""
    /// A value is out of range
    OutOfRange "FW-M016": "The message gives the smallest and the largest value. The limits are those of the \
        hardware that is modelled or of the simulator; `flitway explain PATH` says more.";
        "switch.vcs = 17" => "switch.vcs = 16"
    /// There is no such choice
    UnknownChoice "FW-M017": "The setting is one of a few names. The message lists them.";
        "switch.arbiter = \"roundrobin2\"" => "switch.arbiter = \"round-robin\""
    /// A setting does not apply here
    NotApplicable "FW-M018": "The setting exists, but not for the kind of topology or switch that is chosen, so it \
        would have no effect. Delete it, or choose the kind that it belongs to.";
        "topology.arity = 4" => "topology.levels = 3"
    /// A count has a unit
    CountWithUnit "FW-M019": "Ports, levels, virtual channels, rails and nodes are counted: a bare whole number, \
        without unit and without quotes.";
        "switch.ports = \"16 ports\"" => "switch.ports = 16"
    /// A --set is not of the form path=value
    BadSet "FW-M020": "Write `--set path=value`, with the path as in `flitway explain`: `--set switch.vcs=2`, `--set \
        switch.arbiter=round-robin`, `--set topology.dimensions=[4,4]`. A table replaces the whole table of the \
        file: `--set 'topology={kind=\"single\", nodes=8}'`.";
        "switch.vcs" => "switch.vcs = 2"
    /// The routing does not fit the topology
    RoutingMisfit "FW-M030": "d-mod-k climbs a tree (fat-tree, k-ary-n-tree, xgft); dimension-order crosses the dimensions \
        of a mesh, a torus or a HyperX; rtb has tables for a th-tree, and items in them for all of its nodes; valiant goes by intermediates of a \
        dragonfly, a HyperX, a mesh or a torus; up-down and minimal work on every topology whose links lead both ways. ugal, ugal-g, par and adaptive choose by load, with tiled \
        switches, ugal and par with HPP Switches too: `switch.selection = \"least-loaded\"`.";
        "routing.algorithm = \"dimension-order\"" => "routing.algorithm = \"up-down\""
    /// The virtual channels do not suffice for the routing
    TooFewVcs "FW-M031": "In a torus, dimension-order routing moves a packet to a second class of virtual channels \
        when it crosses the dateline of a ring; without it the ring can deadlock; valiant does so on either half of a way, \
        in four classes. Minimal routing has two classes in a dragonfly (valiant three), and \
        elsewhere as many as its paths need. The virtual channels are split in classes of the same size, so their number is a \
        multiple; packets of HPP Switches tell four classes apart, and links of SP Switches are one virtual channel.";
        "topology = { kind = \"torus\", dimensions = [4, 4] }\nrouting.algorithm = \"dimension-order\"\nswitch.vcs = 3"
        => "topology = { kind = \"torus\", dimensions = [4, 4] }\nrouting.algorithm = \"dimension-order\"\nswitch.vcs = 4"
    /// A switch has too few ports
    TooFewPorts "FW-M032": "The topology connects more links to a switch than the switch has ports. FT(p, n) needs \
        p; a k-ary n-tree 2k; a mesh or torus two for each dimension and one for each node on the switch.";
        "switch.ports = 8" => "switch.ports = 16"
    /// A buffer is too small for a packet
    BufferTooSmall "FW-M033": "Under virtual cut-through a packet is sent only when the receiver has room for all of \
        it, so that a buffer smaller than the largest packet would never accept it. An SP Switch replicates worms out of \
        a buffer that holds the largest of them, or they could wait for each other for ever.";
        "switch.buffer = \"512 B\"" => "switch.buffer = \"4 KiB\""
    /// Credit positions are too narrow
    PositionTooNarrow "FW-M034": "Credit positions are compared modulo 2^position_bits. To tell full from empty, \
        2^position_bits must exceed twice the units of a buffer.";
        "switch.credit.position_bits = 7" => "switch.credit.position_bits = 8"
    /// A size is not a multiple of another
    NotAMultiple "FW-M035": "A credit unit holds whole flits, and a buffer holds whole credit units.";
        "switch.credit.unit = \"63 B\"" => "switch.credit.unit = \"64 B\""
    /// A packet has too many flits
    PacketTooLong "FW-M036": "A packet of the largest size, with header and trailer, has at most 65535 flits. Use a \
        smaller MTU or a larger flit.";
        "packet.flit = \"1 B\"\npacket.mtu = \"65535 B\"\nswitch.buffer = \"256 KiB\""
        => "packet.flit = \"2 B\"\npacket.mtu = \"65535 B\"\nswitch.buffer = \"256 KiB\""
    /// The machine is too large
    TooLarge "FW-M037": "A machine has at most 16777216 nodes and 16777216 switches in a rail. A larger number \
        is most often a slip in the number of levels or dimensions. up-down routing has tables of two bytes for \
        every pair of a switch and a node, and 2 GiB of them at most; minimal routing lays paths for at most 67108864 such pairs; the \
        routings of trees, grids, HyperX and dragonflies have no tables.";
        "topology.levels = 16" => "topology.levels = 3"
    /// A pipeline is too short
    PipelineTooShort "FW-M038": "Show-ahead takes its cycle from the transmitting buffer, which therefore needs two \
        stages.";
        "switch.show_ahead = true\nswitch.pipeline.transmit_buffer = \"1 cycle\""
        => "switch.show_ahead = false\nswitch.pipeline.transmit_buffer = \"1 cycle\""
    /// A link is too long
    LinkTooLong "FW-M039": "A link takes ceil((fixed + length x propagation) / cycle) cycles, at most 1000000. Look \
        for a wrong unit: m for cm, or us for ns.";
        "link.fixed = \"60 ms\"" => "link.fixed = \"60 ns\""
    /// The topology has no such links
    NoSuchClass "FW-M040": "Length overrides are named after the links of the topology. A tree of n levels of \
        switches has level-1 (between the first and the second level of switches) to level-(n-1); an omega network or a \
        butterfly of n stages has stage-1 to stage-(n-1); a mesh or torus of d dimensions has dimension-0 to \
        dimension-(d-1).";
        "link.length.level-7 = \"3 m\"" => "link.length.level-2 = \"3 m\""
    /// A link can carry only one packet at a time
    StopAndWait "FW-M041": "The buffer holds one packet of the largest size but not two, so that after each such \
        packet the sender waits for a credit. It is a warning: the run is exact, and large packets get about half \
        of the bandwidth or less.";
        "switch.buffer = \"1 KiB\"" => "switch.buffer = \"2 KiB\""
    /// Packets can wait for each other for ever
    CyclicDependence "FW-M042": "Each packet of a ring holds a buffer and waits for the next one, which another packet \
        of the ring holds: a deadlock, from which nothing but a reset leads out. It is a warning: the run is exact, and \
        stops for good where the ring closes. A dateline breaks the ring with a second class of virtual channels. \
        `flitway check` shows the smallest ring, and a route for each of its dependencies.";
        "topology = { kind = \"torus\", dimensions = [8, 8] }\nrouting.dateline = false"
        => "topology = { kind = \"torus\", dimensions = [8, 8] }\nrouting.dateline = true\nswitch.vcs = 4"
    /// A buffer is too small for the longest link
    ShortOfCredits "FW-M043": "A sender may send what the receiver's buffer has room for, and learns of room a round trip \
        later: link there, pipeline of the switch, advert, link back. A buffer that holds less than the link carries \
        in that time leaves the link idle, however much waits for it. The message counts for one virtual channel that \
        has the link to itself and packets of the MTU; adverts that wait behind packets on the reverse channel need up \
        to a packet more. Links that retry have a window too: a sender keeps so many packets until it hears that they have \
        come (`switch.link.window`), and waits when it is full. It is a warning: the run is exact.";
        "link.length.switch = \"800 m\"\nswitch.buffer = \"2 KiB\""
        => "link.length.switch = \"800 m\"\nswitch.buffer = \"4 KiB\""
    /// Patience needs the bulletin
    NoBulletin "FW-M044": "Outputs are kept free for an overdue packet by taking them off the resource bulletin. A switch \
        that gathers the outputs of a packet one by one has none, and keeps every output that it has granted anyway.";
        "switch.multicast.gathering = \"one-by-one\"\nswitch.multicast.patience = \"10 us\""
        => "switch.multicast.gathering = \"one-by-one\"\nswitch.multicast.patience = \"off\""
    /// The bit string of worms is shorter than there are nodes
    BitStringTooShort "FW-M045": "The header of a packet for a set of nodes has one bit for each node of the machine. Its \
        flits are sent with every worm, so write as many as there are nodes, or 0 for a machine without worms.";
        "switch.multicast.bit_string = 15" => "switch.multicast.bit_string = 16"
    /// The links of the topology lead one way, and the switches need them to lead both ways
    OneWayLinks "FW-M046": "A port of an omega network or a butterfly receives from one switch and sends to another. Adverts of \
        an HPP Switch share the channel back to the sender of the packets that they are about, and there is none. The \
        credits of an SP Switch have wires of their own.";
        "topology = { kind = \"omega\", arity = 4, stages = 2 }\nrouting.algorithm = \"destination-tag\""
        => "topology = { kind = \"k-ary-n-tree\", arity = 4, levels = 2 }\nrouting.algorithm = \"d-mod-k\""
    /// A timer of barriers expires before what it waits for can be there
    TimerTooShort "FW-M047": "A combine that has not been acknowledged is sent again when the retransmission timer expires. \
        If that is before the combine-ACK can have come over the longest link, each combine is sent twice or more often, \
        though nothing is lost. It is a warning: barriers are slower then, and right. So it is with the timer of links that \
        retry (`switch.link.timeout`), which then send packets again, and with the times of their training: a test of lanes \
        (`switch.link.training`) has to outlast what is on the way, and `switch.link.give_up` the test.";
        "switch.barrier.retransmit = \"100 ns\"" => "switch.barrier.retransmit = \"10 us\""
    /// Repeated adverts take all of a channel
    RefreshTooShort "FW-M048": "An advert is repeated when none has been sent for `switch.credit.refresh`, and goes before \
        packets. If each virtual channel's advert is due again before all of them have been sent once, the link sends \
        nothing else. A period of 100 times that long costs 1 % of the bandwidth.";
        "switch.credit.refresh = \"6 cycles\"" => "switch.credit.refresh = \"1 us\""
    /// Adverts take a large part of the channels
    AdvertsCostBandwidth "FW-M049": "A receiver tells the sender of each credit unit that leaves its buffer, and the advert takes \
        flits of the channel back, between packets. If a unit is hardly longer than an advert, links that are busy in both \
        directions spend much of their time on adverts. 64 B were made for flits of 2 B; with wider flits a credit has to \
        stand for more. It is a warning: the run is exact.";
        "packet.flit = \"32 B\"\nswitch.credit.unit = \"64 B\"\nswitch.credit.advert = \"2 flits\""
        => "packet.flit = \"32 B\"\nswitch.credit.unit = \"512 B\"\nswitch.credit.advert = \"2 flits\""
    /// A line of a graph file is not understood
    GraphLine "FW-M050": "Each line of a graph file is empty, or begins with `switch`, `node`, `server`, `link` or `at`; `#` \
        begins a comment. `switch NAME ...` and `node NAME ...` declare names, `s0..s7` declares s0 to s7; \
        `link END - END [LENGTH]` joins two of them, where the end at a switch is NAME:PORT; `at SWITCH X Y` says where a \
        switch is drawn, of all switches or of none.";
        "link a:0 n0" => "link a:0 - n0"
    /// A name in a graph file is declared twice
    GraphDuplicate "FW-M051": "Switches and nodes share one set of names, and each is declared once.";
        "switch a\nnode a" => "switch a\nnode n0"
    /// A name in a graph file is not declared
    GraphUnknown "FW-M052": "A link joins switches and nodes that a line `switch` or `node` above or below declares.";
        "switch a\nlink a:0 - b:0" => "switch a b\nlink a:0 - b:0"
    /// A port in a graph file is wrong
    GraphPort "FW-M053": "The end of a link at a switch is NAME:PORT with a port from 0 to switch.ports - 1; a node \
        has one NIC port in each rail and needs no number.";
        "link a:99 - n0" => "link a:0 - n0"
    /// An end in a graph file is used twice
    GraphEndTaken "FW-M054": "A port of a switch carries one link, and a node is linked once in each rail. All rails \
        are alike; set `rails` for more.";
        "link a:0 - n0\nlink a:0 - n1" => "link a:0 - n0\nlink a:1 - n1"
    /// A link in a graph file joins the wrong ends
    GraphEnds "FW-M055": "A link joins two switches, or a switch and a node.";
        "link n0 - n1" => "link a:0 - n0\nlink a:1 - n1"
    /// A node in a graph file has no link
    GraphUnlinked "FW-M056": "A node that nothing is wired to could neither send nor receive. Link it to a switch, \
        or remove it.";
        "node n0 n1\nlink a:0 - n0" => "node n0 n1\nlink a:0 - n0\nlink a:1 - n1"
    /// A graph falls apart
    GraphDisconnected "FW-M057": "Every switch must be reachable from every other, or some nodes could not talk to \
        each other.";
        "switch a b" => "switch a b\nlink a:1 - b:1"
    /// A line of forwarding tables is not understood
    TableLine "FW-M058": "Each line of a file of forwarding tables is empty, or begins with `switch`, `to`, `begin`, `from` or \
        `levels`; `#` begins a comment. `switch NAME ...` names the switches that the lines below it are of, `to NODE ... port \
        NUMBER` says by which port packets for these nodes leave, `begin NODE ... class NUMBER` in which class of virtual \
        channels those of its own nodes begin; or `from NODE ... to NODE ... level NUMBER` says a service level, and `levels \
        [in PORT ... out PORT ...] classes CLASS ...` the class that each level takes.";
        "switch a\nto n0 7" => "switch a\nto n0 port 7"
    /// A name in forwarding tables is not one of the topology
    TableName "FW-M059": "Forwarding tables call switches and nodes as the graph file does, or by number, counted from 0; a \
        topology that is built in has numbers only.";
        "switch a\nto n9 port 0" => "switch a\nto n1 port 0"
    /// Forwarding tables say something twice
    TableTwice "FW-M060": "A switch has one port for each node, and one class in which packets of its nodes to it begin. Neither \
        of two silently wins; delete one.";
        "switch a\nto n0 port 0\nto n0 port 1" => "switch a\nto n0 port 0"
    /// Forwarding tables do not lead to a node
    TableLeads "FW-M061": "Every packet has to reach its node, from every other: each switch that it comes to has a port for that \
        node, with a link, and no switch is passed twice, and its service level has a class there. `flitway check` then says whether packets can wait for each other.";
        "switch a\nto n1 port 9" => "switch a\nto n1 port 7"
    /// A link is too long for copper
    LinkUncoded "FW-M065": "Links of QsNetII longer than 13 m are optical, and optical receivers need data without a direct \
        current: 4b5b, with 4/5 of the raw rate. It is a warning: the run is exact.";
        "link.length.node = \"50 m\"\nswitch.link.coding = \"raw\""
        => "link.length.node = \"50 m\"\nswitch.link.coding = \"4b5b\""
    /// A route is longer than the header
    RouteTooLong "FW-M066": "Elite4s are told the way by tags of 16 bits at the front of a packet, one for each switch, which takes it \
        off. It is a warning: the run counts the flits that are written.";
        "topology.levels = 6\npacket.header = \"2 flits\"" => "topology.levels = 6\npacket.header = \"8 flits\""
    /// Links cannot have a rate of their own
    NoRates "FW-M067": "An HPP Switch sends a flit in every cycle on each of its links, so that all links of a machine have one \
        rate, clock x flit. SP Switches, tiled switches and Elite4s have links of any rate up to that: `link.rate` says it by \
        class, and a graph file link by link.";
        "link.rate.node = \"800 Mbit/s\"" => "link.rate.node = \"1.6 Gbit/s\""
    /// Lanes of a link are not as they can be
    LaneStates "FW-M068": "`switch.link.lane_states` says of links how many lanes are good, each by one of its ends, `node 3` or \
        `switch 5 port 7`, once. A link that could do with no rate of its lanes is down, and not said so: \
        `switch.link.discarded_lanes` of them can be bad at the highest rate that the others have.";
        "switch.link.lane_states = \"node 3: 9\"" => "switch.link.lane_states = \"node 3: 5\""
    /// The parts of a host or its NIC do not fit each other
    Host "FW-M069": "A latency of `[host]` is that of an idle machine, and the bus and the processor are part of it: it cannot be \
        shorter than they take. What a NIC reads at a time, its packets and its pages begin and end at powers of two, and its \
        buffers hold the longest of what goes through them.";
        "host.read_latency = \"5 ns\"" => "host.read_latency = \"300 ns\""
    /// Global ports of a dragonfly have no link
    UnevenGroups "FW-M070": "Every two groups of a dragonfly, or of a dragonfly+, are joined by as many links: the a h global ports \
        of a group are shared out over the g - 1 others, and what is left over has no link. It is a warning. With g - 1 a divisor \
        of a h no port is left.";
        "topology = { kind = \"dragonfly\", groups = 4, switches_per_group = 4, global_ports = 2 }\n\
         routing.algorithm = \"minimal\"\nswitch.vcs = 2"
        => "topology = { kind = \"dragonfly\", groups = 5, switches_per_group = 4, global_ports = 2 }\n\
         routing.algorithm = \"minimal\"\nswitch.vcs = 2"
    /// NIC ports refuse nothing
    NothingRefused "FW-M071": "With `nic.when_full = \"refuse\"` a NIC port that has no room for a packet answers with a NACK. That takes \
        answers (`switch.answer.hold`) and NIC ports that can be full: with the ideal NIC they empty by themselves.";
        "nic = { model = \"ideal\", when_full = \"refuse\" }" => "nic = { model = \"bounded\", when_full = \"refuse\" }"
    /// A line of a program of threads is not understood
    ThreadLine "FW-M075": "A program that a thread of a NIC runs (`--nic 'thread(0-63, program=FILE)'`) has a label, an instruction \
        or a directive on each line. `docs/elan4-threads.md` lists them with their operands: registers `r0` to `r63` or their \
        names, numbers, labels.";
        "loop: wait\n      ad r20, r20, r2\n      jump loop" => "loop: wait\n      add r20, r20, r2\n      jump loop"
    /// A program of threads goes on where there is nothing
    ThreadLabel "FW-M076": "A branch or a jump names a label: a word with a colon at the beginning of a line.";
        "loop: wait\n      jump lop" => "loop: wait\n      jump loop"
    /// There is no such experiment
    UnknownExperiment "FW-X001": "An experiment is a built-in name (`flitway list`) or the path of a TOML file. What ends \
        in `.toml` or contains a `/` is a path; everything else is a name.";
        "flitway run --experiment hpp-vc" => "flitway run --experiment hpp-vcs"
    /// There is no such key in an experiment file
    UnknownKey "FW-X002": "A misspelt key would otherwise be ignored. `docs/experiments.md` lists the keys of each table; \
        what is varied or written in `[run]` is `machine`, `seed`, an option of the workload or a setting of the machine.";
        "[[plot]]\nz = \"load\"" => "[[plot]]\nx = \"load\""
    /// A key of an experiment file is missing
    MissingKey "FW-X003": "The key has no default. Every point needs a machine, and synthetic traffic a load, either in \
        `[run]` or varied.";
        "[run]\nmachine = \"hpp-switch\"" => "[run]\nmachine = \"hpp-switch\"\nload = \"max\""
    /// A value of an experiment file cannot be used
    WrongValue "FW-X004": "The value has another type than the key, or is empty. Options of the workload are text or numbers, \
        as after the option of the command line.";
        "[[vary]]\nover = \"load\"\nvalues = 3" => "[[vary]]\nover = \"load\"\nvalues = [0.1, 0.2]"
    /// What is varied does not go together
    BadVary "FW-X005": "Each name is varied once; each `[[vary]]` has at least one value and none twice; where it varies \
        several names at once, each of its values is a list with one value for each name. What is varied is not written in \
        `[run]` as well, nor given on the command line. An `[[omit]]` leaves out at least one point, and not all.";
        "[[vary]]\nover = [\"load\", \"packet\"]\nvalues = [[0.1, \"8B\"], [0.2]]"
        => "[[vary]]\nover = [\"load\", \"packet\"]\nvalues = [[0.1, \"8B\"], [0.2, \"8B\"]]"
    /// An option of the workload is wrong
    BadWorkload "FW-X006": "The option means the same as on the command line: `flitway run --help`, `flitway explain NAME`. \
        Every point of an experiment is checked and fitted to its machine before anything runs.";
        "[run]\npacket = \"256\"" => "[run]\npacket = \"256B\""
    /// There is nothing of this name to show
    UnknownField "FW-X007": "A plot and a finding show what is varied, or a number of the result of a point: \
        `accepted_load`, `packet_latency_ns.p99`; `docs/experiments.md` lists them.";
        "[[plot]]\ny = \"latency\"" => "[[plot]]\ny = \"packet_latency_ns.mean\""
    /// Points cannot be told apart
    Ambiguous "FW-X008": "A mark in a plot, and a value in a finding, is that of one point. In a plot all that is varied \
        is `x` or in `by`; in a finding `at` says which point, or `max`, `min` or `mean` says which of several.";
        "[[finding]]\ntext = \"{accepted_load}\"" => "[[finding]]\ntext = \"{max accepted_load}\""
    /// A finding is not understood
    BadFinding "FW-X009": "What stands in braces is computed: `{accepted_load at load=0.6}`, `{max accepted_load}`, \
        `{load of max accepted_load}`, `{A / B}`, `{A as %}`. A brace that is meant is written twice. \
        A sentence without any would be a claim that nobody has computed.";
        "[[finding]]\ntext = \"It rises.\"" => "[[finding]]\ntext = \"It rises to {max accepted_load}.\""
    /// An experiment has too many points
    TooManyPoints "FW-X010": "Several `[[vary]]` multiply. A larger number than the one in the message is most often a slip; \
        split the experiment if it is not.";
        "[[vary]]\nover = \"load\"\nvalues = \"0.001..1:0.001\"\n[[vary]]\nover = \"seed\"\nvalues = [1, ...]"
        => "[[vary]]\nover = \"load\"\nvalues = \"0.1..1:0.1\""
}

impl Code {
    /// Its page.
    ///
    /// # Panics
    /// Never: the table and the enum are one text.
    #[must_use]
    pub fn page(self) -> &'static Page {
        PAGES.iter().find(|page| page.code == self).expect("the macro lists every code in the table")
    }

    /// As it is printed: `FW-M013`.
    #[must_use]
    pub fn id(self) -> &'static str {
        self.page().id
    }

    /// The code that is printed as `id`, in any case.
    #[must_use]
    pub fn from_id(id: &str) -> Option<Code> {
        PAGES.iter().find(|page| page.id.eq_ignore_ascii_case(id)).map(|page| page.code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_in_order() {
        assert!(PAGES.windows(2).all(|pair| pair[0].id < pair[1].id));
        assert!(
            PAGES.iter().all(|page| page.code.id() == page.id && Code::from_id(page.id) == Some(page.code))
        );
    }

    #[test]
    fn every_page_says_something() {
        for page in PAGES {
            assert!(page.text.ends_with(['.', '`', ')']), "{}", page.id);
            assert!(page.title.starts_with(char::is_uppercase), "{}", page.id);
            assert_ne!(page.wrong, page.right, "{}", page.id);
        }
    }
}
