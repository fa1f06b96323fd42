//! Builds a task graph rank by rank.

use super::{Dependent, Event, Kind, RankId, Task, TaskGraph, TaskId, Work};
use std::fmt;

/// The tasks of one rank, while they are being put together.
///
/// ```
/// use flitway_workload::graph::{Event, RankTasks, Task, TaskGraph, Work};
/// let mut tasks = RankTasks::default();
/// let first = tasks.add(Task { work: Work::Calc { nanos: 5 }, cpu: 0, nic: None }, "a").expect("room");
/// let second = tasks.add(Task { work: Work::Calc { nanos: 7 }, cpu: 0, nic: None }, "b").expect("room");
/// tasks.depend(second, first, Event::Completed);
/// let graph = TaskGraph::new(vec![tasks]).expect("no cycle");
/// assert_eq!(graph.tasks(), 2);
/// ```
#[derive(Debug, Default)]
pub struct RankTasks {
    tasks: Vec<Task>,
    labels: String,
    labels_end: Vec<usize>,
    /// Dependent, and what it waits for.
    dependencies: Vec<(TaskId, TaskId, Event)>,
}

/// Why tasks do not make a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GraphError {
    /// Tasks wait for each other in a circle: each for the next, the last for the first.
    Cycle {
        /// The rank.
        rank: RankId,
        /// The tasks of the circle.
        tasks: Vec<TaskId>,
    },
    /// A message goes to or comes from a rank that does not exist.
    NoSuchRank {
        /// The rank whose task it is.
        rank: RankId,
        /// The task.
        task: TaskId,
        /// The rank that does not exist.
        peer: RankId,
    },
}

impl fmt::Display for GraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GraphError::Cycle { rank, tasks } => {
                write!(f, "{} tasks of rank {rank} wait for each other in a circle", tasks.len())
            }
            GraphError::NoSuchRank { rank, task, peer } => {
                write!(f, "task {task} of rank {rank} names rank {peer}, which does not exist")
            }
        }
    }
}

impl std::error::Error for GraphError {}

impl RankTasks {
    /// Most tasks of one rank.
    pub const MOST: usize = 1 << 31;

    /// Adds a task; `None` if the rank is full. An empty label is no label.
    pub fn add(&mut self, task: Task, label: &str) -> Option<TaskId> {
        if self.tasks.len() == Self::MOST {
            return None;
        }
        let id = TaskId::new(self.tasks.len());
        self.tasks.push(task);
        self.labels.push_str(label);
        self.labels_end.push(self.labels.len());
        Some(id)
    }

    /// Lets `dependent` start only after `event` of `prerequisite`.
    ///
    /// # Panics
    /// If one of the tasks has not been added.
    pub fn depend(&mut self, dependent: TaskId, prerequisite: TaskId, event: Event) {
        assert!(dependent.index().max(prerequisite.index()) < self.tasks.len(), "both tasks have been added");
        self.dependencies.push((dependent, prerequisite, event));
    }

    /// Tasks added so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// True before the first task.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// The label of a task; empty if it has none.
    #[must_use]
    pub fn label(&self, task: TaskId) -> &str {
        let start = if task.0 == 0 { 0 } else { self.labels_end[task.index() - 1] };
        &self.labels[start..self.labels_end[task.index()]]
    }

    /// A circle of tasks that wait for each other, if there is one: each waits for the next, the last for the first.
    #[must_use]
    pub fn find_cycle(&self) -> Option<Vec<TaskId>> {
        // Take away tasks that wait for nothing until none is left or only circles and what hangs on them are.
        let edges = self.edges();
        let mut waits = self.waits();
        let mut free: Vec<usize> = (0..waits.len()).filter(|&task| waits[task] == 0).collect();
        let mut taken = 0;
        while let Some(task) = free.pop() {
            taken += 1;
            for dependent in &edges.dependents[edges.first[task]..edges.first[task + 1]] {
                let dependent = dependent.task().index();
                waits[dependent] -= 1;
                if waits[dependent] == 0 {
                    free.push(dependent);
                }
            }
        }
        if taken == self.tasks.len() {
            return None;
        }
        Some(self.walk_to_cycle(&waits))
    }

    /// Walks from a task that still waits to one that it waits for, until it comes back.
    fn walk_to_cycle(&self, waits: &[u32]) -> Vec<TaskId> {
        let mut prerequisite = vec![None; self.tasks.len()];
        for &(dependent, on, _) in &self.dependencies {
            if waits[on.index()] > 0 {
                prerequisite[dependent.index()].get_or_insert(on);
            }
        }
        let start = waits.iter().position(|&left| left > 0).map(TaskId::new);
        let mut step = vec![None; self.tasks.len()];
        let mut path = Vec::new();
        let mut here = start;
        while let Some(task) = here {
            if let Some(begin) = step[task.index()].replace(path.len()) {
                path.drain(..begin);
                break;
            }
            path.push(task);
            here = prerequisite[task.index()];
        }
        path
    }

    fn waits(&self) -> Vec<u32> {
        let mut waits = vec![0; self.tasks.len()];
        for (dependent, _, _) in &self.dependencies {
            waits[dependent.index()] += 1;
        }
        waits
    }

    /// The dependents of each task, in the order in which they were given.
    fn edges(&self) -> Edges {
        let mut first = vec![0; self.tasks.len() + 1];
        for (_, prerequisite, _) in &self.dependencies {
            first[prerequisite.index() + 1] += 1;
        }
        for task in 0..self.tasks.len() {
            first[task + 1] += first[task];
        }
        let mut next = first.clone();
        let mut dependents = vec![Dependent(0); self.dependencies.len()];
        for &(dependent, prerequisite, event) in &self.dependencies {
            dependents[next[prerequisite.index()]] = Dependent::new(dependent, event);
            next[prerequisite.index()] += 1;
        }
        Edges { first, dependents }
    }
}

struct Edges {
    first: Vec<usize>,
    dependents: Vec<Dependent>,
}

impl TaskGraph {
    /// Joins the tasks of all ranks.
    ///
    /// # Errors
    /// If tasks wait for each other in a circle, or a message names a rank that does not exist.
    pub fn new(ranks: Vec<RankTasks>) -> Result<Self, GraphError> {
        let count = ranks.len();
        for (rank, tasks) in ranks.iter().enumerate() {
            let rank = RankId::new(rank);
            if let Some(tasks) = tasks.find_cycle() {
                return Err(GraphError::Cycle { rank, tasks });
            }
            for (task, peer) in
                tasks.tasks.iter().enumerate().filter_map(|(at, task)| Some((at, task.peer()?)))
            {
                if peer.index() >= count {
                    return Err(GraphError::NoSuchRank { rank, task: TaskId::new(task), peer });
                }
            }
        }
        Ok(join(ranks))
    }
}

impl Task {
    fn peer(&self) -> Option<RankId> {
        match self.work {
            Work::Calc { .. } => None,
            Work::Send { to, .. } => Some(to),
            Work::Recv { from, .. } => from,
        }
    }
}

fn join(ranks: Vec<RankTasks>) -> TaskGraph {
    let total: usize = ranks.iter().map(RankTasks::len).sum();
    let (mut first, mut kinds) = (vec![0], Vec::with_capacity(total));
    let (mut amounts, mut waits) = (Vec::with_capacity(total), Vec::with_capacity(total));
    let (mut peers, mut tags) = (Vec::with_capacity(total), Vec::with_capacity(total));
    let (mut cpus, mut nics) = (Vec::with_capacity(total), Vec::with_capacity(total));
    let (mut dependents_first, mut dependents) = (vec![0], Vec::new());
    let (mut labels, mut labels_end) = (String::new(), Vec::with_capacity(total));
    for rank in ranks {
        let edges = rank.edges();
        let start = dependents.len();
        dependents.extend_from_slice(&edges.dependents);
        dependents_first.extend(edges.first[1..].iter().map(|end| start + end));
        waits.extend(rank.waits());
        let start = labels.len();
        labels.push_str(&rank.labels);
        labels_end.extend(rank.labels_end.iter().map(|end| start + end));
        for task in &rank.tasks {
            let (kind, amount, peer, tag) = parts(task.work);
            kinds.push(kind);
            amounts.push(amount);
            peers.push(peer);
            tags.push(tag);
            cpus.push(task.cpu);
            nics.push(task.nic);
        }
        first.push(kinds.len());
    }
    TaskGraph {
        first: first.into(),
        kinds: kinds.into(),
        amounts: amounts.into(),
        peers: peers.into(),
        tags: tags.into(),
        cpus: cpus.into(),
        nics: nics.into(),
        waits: waits.into(),
        dependents_first: dependents_first.into(),
        dependents: dependents.into(),
        labels: labels.into(),
        labels_end: labels_end.into(),
    }
}

fn parts(work: Work) -> (Kind, u64, u32, u64) {
    match work {
        Work::Calc { nanos } => (Kind::Calc, nanos, 0, 0),
        Work::Send { to, bytes, tag } => (Kind::Send, bytes, to.0, tag),
        Work::Recv { from, bytes, tag } => {
            let kind = Kind::Recv { any_source: from.is_none(), any_tag: tag.is_none() };
            (kind, bytes, from.map_or(0, |from| from.0), tag.unwrap_or(0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calc() -> Task {
        Task { work: Work::Calc { nanos: 1 }, cpu: 0, nic: None }
    }

    fn tasks(count: usize, dependencies: &[(u32, u32)]) -> RankTasks {
        let mut tasks = RankTasks::default();
        for _ in 0..count {
            tasks.add(calc(), "").unwrap();
        }
        for &(dependent, on) in dependencies {
            tasks.depend(TaskId(dependent), TaskId(on), Event::Started);
        }
        tasks
    }

    #[test]
    fn a_circle_is_found_and_only_the_circle() {
        assert_eq!(tasks(3, &[(1, 0), (2, 1), (2, 0)]).find_cycle(), None);
        assert_eq!(tasks(1, &[(0, 0)]).find_cycle(), Some(vec![TaskId(0)]));
        // 0 waits for 1, 1 for 2, 2 for 3, 3 for 1; 4 hangs on 3.
        let cycle = tasks(5, &[(0, 1), (1, 2), (2, 3), (3, 1), (4, 3)]).find_cycle();
        assert_eq!(cycle, Some(vec![TaskId(1), TaskId(2), TaskId(3)]));
    }

    #[test]
    fn what_goes_in_comes_out() {
        let works = [
            Work::Calc { nanos: 7 },
            Work::Send { to: RankId(1), bytes: 9, tag: 3 },
            Work::Recv { from: None, bytes: 4, tag: Some(0) },
            Work::Recv { from: Some(RankId(1)), bytes: 4, tag: None },
        ];
        let mut second = RankTasks::default();
        for (work, label) in works.into_iter().zip(["", "x", "yy", "z"]) {
            second.add(Task { work, cpu: 2, nic: Some(1) }, label).unwrap();
        }
        second.depend(TaskId(3), TaskId(1), Event::Completed);
        second.depend(TaskId(2), TaskId(1), Event::Started);
        let graph = TaskGraph::new(vec![tasks(2, &[(1, 0)]), second]).unwrap();
        assert_eq!((graph.ranks(), graph.tasks(), graph.dependencies()), (2, 6, 3));
        for (task, work) in works.into_iter().enumerate() {
            let expected = Task { work, cpu: 2, nic: Some(1) };
            assert_eq!(graph.task(RankId(1), TaskId::new(task)), expected);
        }
        let labels: Vec<String> = (0..4).map(|task| graph.label(RankId(1), TaskId(task))).collect();
        assert_eq!(labels, ["#0", "x", "yy", "z"]);
        let dependents: Vec<_> = graph.dependents(RankId(1), TaskId(1)).collect();
        assert_eq!(dependents, [(TaskId(3), Event::Completed), (TaskId(2), Event::Started)]);
        assert_eq!(graph.waits(RankId(1), TaskId(3)), 1);
        assert_eq!(graph.dependents(RankId(0), TaskId(0)).count(), 1);
        assert_eq!(graph.dependents(RankId(0), TaskId(1)).count(), 0);
    }

    #[test]
    fn a_message_to_nobody_is_refused() {
        let mut rank = RankTasks::default();
        let work = Work::Send { to: RankId(1), bytes: 9, tag: 3 };
        rank.add(Task { work, cpu: 0, nic: None }, "").unwrap();
        let error = TaskGraph::new(vec![rank]).unwrap_err();
        assert_eq!(error, GraphError::NoSuchRank { rank: RankId(0), task: TaskId(0), peer: RankId(1) });
    }
}
