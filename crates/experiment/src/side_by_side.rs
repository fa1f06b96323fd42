//! Points of a run, measured side by side and shown in their order.

use flitway_report::measure::Progress;
use std::collections::{BTreeMap, VecDeque};
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// What comes from a task.
enum News<R> {
    Progress(Progress),
    Over(R),
}

/// Measures `tasks`, `beside` at a time. `progress` hears of all that have begun, by place; `over` is given the results, in the
/// order of the tasks. Once `stop` is raised none begins any more; those that have begun are over soon.
///
/// They begin in their order, so that there is soon something to show; but of several threads one takes them from the end.
/// Loads are given from low to high as a rule, and a point near saturation takes a hundred times as long as one far from it:
/// begun last it would be measured with nothing beside it.
///
/// # Errors
/// The first that `over` returns. If others are being measured then, `stop` is raised.
///
/// # Panics
/// If one of the functions does.
pub fn side_by_side<T: Sync, R: Send, E>(
    tasks: &[T],
    beside: usize,
    stop: &AtomicBool,
    measure: impl Fn(&T, &mut dyn FnMut(Progress)) -> R + Sync,
    mut progress: impl FnMut(usize, Progress),
    mut over: impl FnMut(usize, R) -> Result<(), E>,
) -> Result<(), E> {
    if beside <= 1 {
        for (place, task) in tasks.iter().enumerate() {
            over(place, measure(task, &mut |news| progress(place, news)))?;
            if stop.load(Ordering::Relaxed) {
                break;
            }
        }
        return Ok(());
    }
    let (sender, receiver) = channel();
    let open: Mutex<VecDeque<usize>> = Mutex::new((0..tasks.len()).collect());
    let next = |thread: usize| {
        let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
        if thread == 0 { open.pop_back() } else { open.pop_front() }
    };
    let work = |thread: usize, sender: &Sender<(usize, News<R>)>| {
        let _guard = StopOnPanic(stop);
        while let Some(place) = next(thread) {
            if place > 0 && stop.load(Ordering::Relaxed) {
                return;
            }
            // Nobody listens any more where `over` has failed.
            let tell = |news| drop(sender.send((place, news)));
            tell(News::Over(measure(&tasks[place], &mut |news| tell(News::Progress(news)))));
        }
    };
    let show = || {
        let _guard = StopOnPanic(stop);
        let mut over =
            |place, result| over(place, result).inspect_err(|_| stop.store(true, Ordering::Relaxed));
        let (mut early, mut first) = (BTreeMap::new(), 0);
        for (place, news) in receiver {
            match news {
                News::Progress(news) => progress(place, news),
                News::Over(result) => drop(early.insert(place, result)),
            }
            while let Some(result) = early.remove(&first) {
                over(first, result)?;
                first += 1;
            }
        }
        // Those behind one that has not begun.
        early.into_iter().try_for_each(|(place, result)| over(place, result))
    };
    thread::scope(|scope| {
        let spawn = |thread| {
            let (sender, work) = (sender.clone(), &work);
            scope.spawn(move || work(thread, &sender))
        };
        let threads: Vec<_> = (0..beside.min(tasks.len())).map(spawn).collect();
        drop(sender);
        let shown = show();
        for thread in threads {
            thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
        shown
    })
}

/// Keeps the other threads from measuring what will never be shown.
struct StopOnPanic<'a>(&'a AtomicBool);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flitway_engine::Cycle;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::AtomicUsize;
    use std::time::Duration;

    const STEP: Progress = Progress { batches: 1, now: Cycle(7), precision: None, is_filling: false };

    /// The results of `tasks`, each the milliseconds that it takes, in the order in which they are shown.
    fn shown(tasks: &[u64], beside: usize, stop: &AtomicBool) -> Vec<(usize, u64)> {
        let measure = |millis: &u64, tell: &mut dyn FnMut(Progress)| {
            tell(STEP);
            thread::sleep(Duration::from_millis(*millis));
            if *millis == 1 {
                stop.store(true, Ordering::Relaxed);
            }
            *millis
        };
        let (mut heard, mut shown) = (Vec::new(), Vec::new());
        let over = |place, millis| {
            shown.push((place, millis));
            Ok::<(), ()>(())
        };
        side_by_side(tasks, beside, stop, measure, |place, _| heard.push(place), over).unwrap();
        heard.sort_unstable();
        let places = shown.iter().map(|&(place, _)| place);
        assert!(places.eq(heard), "each tells once how far it is");
        shown
    }

    #[test]
    fn results_come_in_the_order_of_the_tasks() {
        for beside in [0, 1, 2, 3, 9] {
            let tasks = [20, 2, 8, 0, 4];
            let shown = shown(&tasks, beside, &AtomicBool::new(false));
            assert_eq!(shown, tasks.into_iter().enumerate().collect::<Vec<_>>(), "{beside} side by side");
        }
    }

    #[test]
    fn what_has_begun_when_it_is_stopped_is_shown() {
        assert_eq!(shown(&[3, 1, 5, 5], 1, &AtomicBool::new(false)), [(0, 3), (1, 1)]);
        let two = shown(&[300, 5, 1, 5], 2, &AtomicBool::new(false));
        assert_eq!(
            two,
            [(0, 300), (2, 1), (3, 5)],
            "the first was still on its way, the second had not begun"
        );
        assert_eq!(shown(&[2, 2], 1, &AtomicBool::new(true)), [(0, 2)], "one is always measured");
    }

    #[test]
    fn a_panic_ends_all_and_says_why() {
        for (bad_task, bad_place) in [(1, usize::MAX), (usize::MAX, 1)] {
            let (stop, begun) = (AtomicBool::new(false), AtomicUsize::new(0));
            let measure = |task: &usize, _: &mut dyn FnMut(Progress)| {
                begun.fetch_add(1, Ordering::Relaxed);
                assert_ne!(*task, bad_task, "as it should");
                thread::sleep(Duration::from_millis(1));
            };
            let over = |place, ()| {
                assert_ne!(place, bad_place, "as it should");
                Ok::<(), ()>(())
            };
            let tasks: Vec<usize> = (0..20_000).collect();
            let run = || side_by_side(&tasks, 2, &stop, measure, |_, _| {}, over);
            let panic = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
            assert!(panic.downcast_ref::<String>().unwrap().contains("as it should"));
            assert!(begun.load(Ordering::Relaxed) < 20_000, "the others are not waited for");
        }
    }

    #[test]
    fn a_failure_to_show_ends_all() {
        for beside in [1, 2] {
            let stop = AtomicBool::new(false);
            let measure = |_: &(), _: &mut dyn FnMut(Progress)| thread::sleep(Duration::from_millis(2));
            let over = |place, ()| if place == 1 { Err("nobody reads") } else { Ok(()) };
            assert_eq!(side_by_side(&[(); 50], beside, &stop, measure, |_, _| {}, over), Err("nobody reads"));
        }
    }
}
