//! Programs on processors that system software takes now and then.

use super::NicResult;
use flitway_engine::Picos;
use flitway_nic::host::Noise;
use flitway_nic::host::program::{Completion, CountedEvent, Operation, Program, Setup};
use flitway_nic::host::thread::Thread;
use std::any::Any;

/// A program on such a processor.
#[derive(Debug)]
struct Noisy {
    program: Box<dyn Program>,
    noise: Noise,
}

/// `programs` on such processors, if there is noise.
pub(super) fn all(noise: Option<Noise>, programs: Vec<Box<dyn Program>>) -> Vec<Box<dyn Program>> {
    let Some(noise) = noise else { return programs };
    let noisy = |program| Box::new(Noisy { program, noise }) as Box<dyn Program>;
    programs.into_iter().map(noisy).collect()
}

impl NicResult {
    /// When it was over, in a run with noise that is shorter than a period of that: some processors had none.
    #[must_use]
    pub fn shorter_than_noise(&self) -> Option<Picos> {
        self.choice.noise.filter(|noise| self.end < noise.period).map(|_| self.end)
    }
}

impl Program for Noisy {
    fn act(&mut self, at: Picos, completion: Option<&Completion>, todo: &mut Vec<Operation>) {
        self.program.act(at, completion, todo);
    }

    fn events(&self) -> Vec<CountedEvent> {
        self.program.events()
    }

    fn setup(&self) -> Setup {
        Setup { noise: Some(self.noise), ..self.program.setup() }
    }

    fn thread(&self) -> Option<Thread> {
        self.program.thread()
    }

    fn as_any(&self) -> &dyn Any {
        self.program.as_any()
    }
}
