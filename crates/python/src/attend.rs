//! Long work, attended: it runs on a thread of its own without Python's lock, while the calling thread looks after Ctrl-C
//! and tells Python how far it is.

use crate::errors::Exception;
use flitway_experiment::workload::{Step, Tell};
use pyo3::prelude::*;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Between two looks at signals.
const BEAT: Duration = Duration::from_millis(50);

/// What `work` returns. It is given the flag that ends it early, and whom to tell how far it is; that reaches `tell`, a
/// Python function of (points done, points in all, cycles, precision or `None`), if it is not `None`.
///
/// # Errors
/// What a signal handler (`KeyboardInterrupt`) or `tell` has raised; `InternalError` if `work` panics.
pub(crate) fn attended<T: Send>(
    py: Python<'_>,
    tell: &Bound<'_, PyAny>,
    work: impl FnOnce(&AtomicBool, &mut Tell<'_>) -> T + Send,
) -> PyResult<T> {
    let (stop, latest) = (AtomicBool::new(false), Mutex::new(None::<Step>));
    let (over, listener) = channel::<()>();
    // Shared with nobody; the lock makes it one that a closure without Python's lock may hold.
    let listener = Mutex::new(listener);
    let look = || -> PyResult<()> {
        py.check_signals()?;
        let step = latest.lock().unwrap_or_else(PoisonError::into_inner).take();
        match step {
            Some(step) if !tell.is_none() => {
                tell.call1((step.done, step.all, step.now.0, step.precision)).map(drop)
            }
            _ => Ok(()),
        }
    };
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            // Dropped at the end, however that comes.
            let _over = over;
            work(&stop, &mut |step| {
                *latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(step);
            })
        });
        let mut failure = None;
        let wait = || listener.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(BEAT);
        while py.detach(wait) == Err(RecvTimeoutError::Timeout) {
            if failure.is_none() {
                failure = look().err();
                // Who works may have raised it too.
                stop.fetch_or(failure.is_some(), Ordering::Relaxed);
            }
        }
        let done = py.detach(|| worker.join()).map_err(|panic| bug(py, &*panic))?;
        failure.or_else(|| py.check_signals().err()).map_or(Ok(done), Err)
    })
}

/// Short work, from which no panic reaches Python either.
pub(crate) fn guarded<T>(py: Python<'_>, work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(bug(py, &*panic)))
}

fn bug(py: Python<'_>, panic: &(dyn Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("a panic without words");
    Exception::Internal.says(py, format!("this is a bug of Flitway, please report it: {text}"))
}
