//! A thread that answers one question after another. One for each question would cost other programs much: where threads start and end,
//! the kernel needs all processors to take note (RCU), and on virtual machines an idle one answers a wakeup later for tens of milliseconds. A
//! program that worked 3 µs between writes into a pipe took 346 ms with a thread for each, 283 with one, and 260 alone.

use super::procfs;
use super::scheduling::{Manners, Scheduling};
use std::io;
use std::num::NonZeroU64;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{Builder, JoinHandle};

/// A thread that has answered all that it was asked so far.
pub(crate) struct Worker<Q, A> {
    questions: Sender<Q>,
    answers: Receiver<(i32, A)>,
    thread: JoinHandle<()>,
}

impl<Q: Send + 'static, A: Send + 'static> Worker<Q, A> {
    pub(crate) fn start(mut answer: impl FnMut(Q) -> A + Send + 'static) -> io::Result<Self> {
        let (questions, asked) = mpsc::channel();
        let (answered, answers) = mpsc::channel();
        let thread = Builder::new().spawn(move || {
            let id = rustix::thread::gettid().as_raw_pid();
            // The program may have all processors.
            Scheduling::current().change(Manners::ComeFirst);
            // The kernel adds 50 µs to each pause, unless it is told not to.
            let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
            for question in asked {
                // Nobody waits for it any more if this fails, and there are no more questions.
                let _ = answered.send((id, answer(question)));
            }
        })?;
        Ok(Self {
            questions,
            answers,
            thread,
        })
    }

    /// The answer to a question. Gives the thread back if it is to be `kept`; else the kernel has let go of it, and of all that it traced.
    pub(crate) fn ask(
        self,
        question: Q,
        kept: impl FnOnce(&A) -> bool,
    ) -> io::Result<(A, Option<Self>)> {
        // If the thread has panicked, it takes no question, and there is no answer.
        let _ = self.questions.send(question);
        let panicked = |_| io::Error::other("a thread of outpace's panicked");
        let (id, answer) = self.answers.recv().map_err(panicked)?;
        if kept(&answer) {
            return Ok((answer, Some(self)));
        }
        drop(self.questions);
        let _ = self.thread.join();
        // `join` returns before that.
        while procfs::name(id).is_some() {
            std::thread::yield_now();
        }
        Ok((answer, None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_answers_until_it_is_not_kept() {
        let doubled = |n: i32| (2 * n, rustix::thread::gettid().as_raw_pid());
        let worker = Worker::start(doubled).unwrap();
        let ((two, first), worker) = worker.ask(1, |_| true).unwrap();
        let ((four, second), worker) = worker.unwrap().ask(2, |_| false).unwrap();
        assert_eq!([two, four], [2, 4]);
        assert_eq!(first, second);
        assert!(worker.is_none() && procfs::name(first).is_none());
    }

    #[test]
    fn a_thread_that_panics_is_an_error() {
        let worker = Worker::start(|_: ()| panic!("expected")).unwrap();
        assert!(worker.ask((), |()| true).is_err());
    }
}
