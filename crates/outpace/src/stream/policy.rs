//! Decides which policy is in force, and what to do with messages just published.

use super::buffering::{Buffering, MAX_CAPACITY, capacity_for};
use super::engine::{Engine, STDOUT};
use super::gap::GapMarker;
use super::overflow;
use super::patience::Patience;
use super::settings;
use super::state::{BrokenPipe, Mode, Role, State};
use super::state_guard::StateGuard;
use crate::sync::barrier;
use crate::sync::lock::Entry;
use crate::sync::thread::thread_id;
use crate::sys::{Destination, Moment};
use std::mem;
use std::time::Duration;

/// Callers write this many messages of a stream at once, before any are buffered or a helper is started: a small
/// program pays for neither.
pub(crate) const EARLY_MESSAGES: u64 = 12;

/// Longer delays are capped, so that a deadline always exists.
const LONGEST_DELAY: Duration = Duration::from_secs(24 * 3600);

/// The default of standard error.
static UNBUFFERED: Buffering = Buffering::Unbuffered;

/// The policy's decision about messages just published.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Act {
    /// They stay: until the helper looks, a newline comes, or the buffer is full.
    Wait,
    Drain,
    /// Up to a stream offset.
    DrainTo(u64),
    /// Then, if an unfinished line is left, begins a burst.
    DrainLines,
    BeginBurst,
}

/// The policy. `is_first`: the first message of its guard, if the stream is [shared](crate::share()). `isolated`: under
/// `Prompt`, outside of a burst. `newline`: the offset of the last new one, under `Line`.
fn policy(state: &State, is_first: bool, isolated: bool, newline: Option<u64>) -> Act {
    match state.mode {
        _ if state.exiting => Act::Drain,
        Mode::Unbuffered => Act::Drain,
        Mode::Line => newline.map_or(Act::Wait, |newline| Act::DrainTo(newline + 1)),
        Mode::Block => Act::Wait,
        _ if state.helper.active => Act::Wait,
        Mode::Background => Act::BeginBurst,
        Mode::Prompt { .. } if state.drainer != 0 => Act::BeginBurst,
        Mode::Prompt { .. } if is_first => Act::Drain,
        Mode::Prompt { .. } if !isolated => Act::BeginBurst,
        // On a terminal or socket an unfinished line may be a question, or the end of an answer.
        Mode::Prompt { .. } => match state.destination {
            Some((Destination::Terminal | Destination::Socket, _)) => Act::Drain,
            _ => Act::DrainLines,
        },
    }
}

impl Engine {
    /// Puts a switch of the policy into force. Called by the guard's holder, at a message boundary.
    pub(crate) extern "C" fn apply_policy<'a>(
        &'a self,
        mut state: StateGuard<'a>,
    ) -> StateGuard<'a> {
        if !state.stale {
            return state;
        }
        state = self.know_settings(state);
        state.stale = false;
        let by_destination = capacity_for(state.known_destination());
        let sized = |capacity| match capacity {
            Buffering::BY_DESTINATION => by_destination,
            capacity => capacity,
        };
        let (mode, capacity) = match *self.buffering_in_force(&state) {
            Buffering::Unbuffered => (Mode::Unbuffered, by_destination),
            Buffering::Line => (Mode::Line, by_destination),
            Buffering::Block { capacity } => (Mode::Block, sized(capacity)),
            Buffering::Prompt {
                capacity,
                max_delay,
            } => {
                let max_delay = max_delay.min(LONGEST_DELAY);
                (Mode::Prompt { max_delay }, sized(capacity))
            }
            Buffering::Background { capacity, .. } => (Mode::Background, capacity),
        };
        (state.mode, state.capacity) = (mode, capacity);
        if mode == Mode::Background {
            self.adopt_overflow(&mut state);
        }
        let all = self.accepted(&state);
        if state.helper.active {
            // The helper keeps what it promised; the new policy decides about the rest.
            state.helper.promised = all;
            state.hurry_helper();
        }
        if state.drained < all && state.failure.is_none() {
            match state.mode {
                Mode::Block => {}
                Mode::Unbuffered => state = self.drain(state, all, Patience::Forever),
                Mode::Line => state = self.drain_lines(state),
                Mode::Prompt { .. } | Mode::Background => state = self.begin_burst(state),
            }
        }
        let unfinished = state.drained < all && state.mode != Mode::Background;
        if !(unfinished && self.carry_over(&mut state, 0)) {
            self.begin_tail(&mut state, 0);
        }
        state
    }

    /// Finds out the destination, unless it is known. With the state unlocked, because a file server may be slow.
    #[inline(never)]
    pub(crate) extern "C" fn know_destination<'a>(
        &'a self,
        mut state: StateGuard<'a>,
    ) -> StateGuard<'a> {
        while state.destination.is_none() {
            let redetections = state.redetections;
            drop(state);
            let found = self.output.destination();
            state = self.lock_state();
            // Otherwise it may be the former destination.
            if state.redetections == redetections {
                state.destination = Some(found);
            }
        }
        state
    }

    /// Finds out destination and environment, unless they are known. With the state unlocked, because the calls may be
    /// slow.
    extern "C" fn know_settings<'a>(&'a self, state: StateGuard<'a>) -> StateGuard<'a> {
        let mut state = self.know_destination(state);
        if state.chosen.is_none() && state.environment.is_none() {
            drop(state);
            let environment = settings::from_environment(self.role);
            state = self.know_destination(self.lock_state());
            state.environment = Some(environment);
        }
        state
    }

    /// Called once the [settings are known](Self::know_settings).
    pub(crate) fn buffering_in_force<'s>(&self, state: &'s State) -> &'s Buffering {
        if let Some(chosen) = &state.chosen {
            return chosen;
        }
        let default = || match self.role {
            Role::Stderr => &UNBUFFERED,
            _ => Buffering::for_destination(state.known_destination()),
        };
        let environment = state.environment.as_ref().and_then(Option::as_ref);
        let asked_for = environment.or(state.preferred.as_ref());
        asked_for.unwrap_or_else(default)
    }

    pub(crate) fn buffering(&self) -> Buffering {
        let state = self.know_settings(self.lock_state());
        let by_destination = capacity_for(state.known_destination());
        let mut buffering = self.buffering_in_force(&state).clone();
        if let Buffering::Block { capacity } | Buffering::Prompt { capacity, .. } = &mut buffering
            && *capacity == Buffering::BY_DESTINATION
        {
            *capacity = by_destination;
        }
        buffering
    }

    /// Does what the policy decides about the messages just published. Called by the guard's holder.
    pub(crate) extern "C" fn after_publish<'a>(
        &'a self,
        mut state: StateGuard<'a>,
    ) -> StateGuard<'a> {
        let all = self.accepted(&state);
        if state.failure.is_some() {
            // Its author gets the error, so the message must not appear after `clear_error`.
            self.give_up(&mut state);
            return state;
        }
        if state.drained >= all && !state.has_gap() {
            return state;
        }
        if state.mode != Mode::Background {
            state = self.stdout_first(state);
        }
        let newline = match state.mode {
            Mode::Line => self.last_new_newline(&mut state),
            _ => None,
        };
        let is_first = state.sharing.is_first(self.messages(&state));
        let isolated = !is_first && self.is_isolated(&mut state);
        match policy(&state, is_first, isolated, newline) {
            Act::Wait => state,
            Act::Drain => self.drain(state, all, Patience::Forever),
            Act::DrainTo(end) => self.drain(state, end, Patience::Forever),
            Act::DrainLines => {
                state = self.drain_lines(state);
                if state.drained >= all || state.failure.is_some() {
                    return state;
                }
                self.begin_burst(state)
            }
            Act::BeginBurst => self.begin_burst(state),
        }
    }

    /// Whether a message under `Prompt`, outside of a burst, is an early one, or comes after a pause. Notes its time if it is.
    fn is_isolated(&self, state: &mut State) -> bool {
        let Mode::Prompt { max_delay } = state.mode else {
            return false;
        };
        if state.helper.active || state.drainer != 0 {
            return false;
        }
        let messages = self.messages(state);
        let now = (messages >= EARLY_MESSAGES).then(Moment::now);
        let isolated = match (now, state.last) {
            (Some(now), Some(last)) => now.since(last) >= max_delay,
            _ => true,
        };
        if isolated || messages == EARLY_MESSAGES {
            state.last = now;
            return true;
        }
        false
    }

    /// Drains stdout before a message to stderr, if both are the same terminal, pipe or file. Waits for the reader,
    /// which the message to stderr needs, too, unless stdout is in the background.
    pub(crate) extern "C" fn stdout_first<'a>(&'a self, state: StateGuard<'a>) -> StateGuard<'a> {
        if self.role != Role::Stderr {
            return state;
        }
        // Usually known since the first message.
        let state = self.know_destination(state);
        let own_file = state.destination.and_then(|(_, identity)| identity);
        drop(state);
        let stdout = &STDOUT;
        let mut state = stdout.lock_state();
        if stdout.accepted(&state) > state.drained {
            state = stdout.know_destination(state);
            let all = stdout.accepted(&state);
            let file = state.destination.and_then(|(_, identity)| identity);
            if file.is_some() && file == own_file {
                let patience = match state.mode {
                    Mode::Background => Patience::SameFile,
                    _ => Patience::Forever,
                };
                state = stdout.drain(state, all, patience);
            }
        }
        drop(state);
        self.lock_state()
    }

    /// Leaves pending bytes to the helper. Without a helper, drains at once.
    fn begin_burst<'a>(&'a self, mut state: StateGuard<'a>) -> StateGuard<'a> {
        if self.wake_helper(&mut state) {
            return state;
        }
        let all = self.accepted(&state);
        self.drain(state, all, Patience::Forever)
    }

    /// Lets the guard's holder append without asking, if the policy is the same for each message that fits.
    pub(crate) fn enable_fast_path(&self, state: &State) {
        let asks = state.stale || state.exiting || state.failure.is_some();
        let free = match state.mode {
            Mode::Unbuffered | Mode::Line => false,
            Mode::Block => self.messages(state) >= EARLY_MESSAGES,
            Mode::Prompt { .. } | Mode::Background => state.helper.active,
        };
        if free && !asks && barrier::prepare() {
            let room = self.tail_room(state);
            self.cursor.open(self.cursor.published().wrapping_add(room));
        } else {
            self.cursor.close();
        }
    }

    /// Chooses the buffering, or the default where no other choice was made, and puts it into force at the
    /// next message boundary: now, if no thread is in a message.
    pub(crate) fn set_buffering(&self, buffering: Buffering, chosen: bool) {
        assert_valid(&buffering);
        let mut state = self.lock_state();
        overflow::link();
        *(if chosen {
            &mut state.chosen
        } else {
            &mut state.preferred
        }) = Some(buffering);
        self.apply_policy_soon(state);
    }

    /// Asks for the destination again, at the next message boundary.
    pub(crate) fn redetect(&self) {
        let mut state = self.lock_state();
        state.destination = None;
        state.redetections = state.redetections.wrapping_add(1);
        self.apply_policy_soon(state);
    }

    pub(crate) fn set_gap_marker(&self, marker: GapMarker) {
        let before = mem::replace(&mut self.lock_state().gap_marker, marker);
        // With the state unlocked, because the drop may run users' code.
        drop(before);
    }

    pub(crate) fn set_broken_pipe(&self, choice: BrokenPipe) {
        self.lock_state().on_broken_pipe = choice;
    }

    pub(crate) fn set_exit_timeout(&self, timeout: Duration) {
        self.lock_state().exit_timeout = timeout;
    }

    fn apply_policy_soon<'a>(&'a self, mut state: StateGuard<'a>) {
        state.stale = true;
        self.cursor.close_at_once();
        drop(state);
        let me = thread_id();
        match self.lock.try_enter(me) {
            Some(Entry::Outermost) => {
                let state = self.apply_policy(self.lock_state());
                self.enable_fast_path(&state);
                drop(state);
                self.lock.leave(me);
            }
            // Takes effect at the next message, whose author has to ask.
            Some(Entry::Nested) => self.lock.leave(me),
            None => {}
        }
        // A guard may be held for long without a message; published bytes do not wait for it.
        let mut state = self.lock_state();
        if state.stale && state.mode == Mode::Block {
            let all = self.accepted(&state);
            state = self.drain(state, all, Patience::None);
        }
        drop(state);
    }
}

/// Panics if a capacity or a delay is out of range.
pub(crate) fn assert_valid(buffering: &Buffering) {
    let (capacity, zero_allowed) = match buffering {
        Buffering::Unbuffered | Buffering::Line => return,
        Buffering::Block { capacity } | Buffering::Prompt { capacity, .. } => (*capacity, true),
        Buffering::Background { capacity, .. } => (*capacity, false),
    };
    assert!(
        (zero_allowed || capacity > 0) && capacity <= MAX_CAPACITY,
        "a capacity of {capacity} bytes; it must be 1 byte to 1 GiB"
    );
    if let Buffering::Prompt { max_delay, .. } = buffering {
        assert!(
            !max_delay.is_zero(),
            "a max_delay of 0; use Buffering::Unbuffered for that"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROMPT: Mode = Mode::Prompt {
        max_delay: LONGEST_DELAY,
    };

    fn state(mode: Mode, destination: Destination) -> State {
        let mut state = State::new(Role::Other, None);
        state.mode = mode;
        state.destination = Some((destination, None));
        state
    }

    #[test]
    fn callers_drain_what_their_buffering_says() {
        let act = |mode, newline| policy(&state(mode, Destination::File), false, true, newline);
        assert_eq!(act(Mode::Unbuffered, None), Act::Drain);
        assert_eq!(act(Mode::Line, None), Act::Wait);
        assert_eq!(act(Mode::Line, Some(7)), Act::DrainTo(8));
        assert_eq!(act(Mode::Block, None), Act::Wait);
        assert_eq!(act(Mode::Background, None), Act::BeginBurst);
        assert_eq!(act(PROMPT, None), Act::DrainLines);
    }

    #[test]
    fn an_isolated_message_goes_at_once_and_the_next_begins_a_burst() {
        for (destination, at_once) in [
            (Destination::Terminal, Act::Drain),
            (Destination::Socket, Act::Drain),
            (Destination::Pipe(Some(65_536)), Act::DrainLines),
        ] {
            let mut state = state(PROMPT, destination);
            assert_eq!(policy(&state, false, true, None), at_once);
            assert_eq!(policy(&state, false, false, None), Act::BeginBurst);
            assert_eq!(policy(&state, true, false, None), Act::Drain);
            state.drainer = 1;
            assert_eq!(policy(&state, true, true, None), Act::BeginBurst);
            state.helper.active = true;
            assert_eq!(policy(&state, true, true, None), Act::Wait);
        }
    }

    #[test]
    fn after_the_exit_drain_every_message_goes_at_once() {
        for mode in [Mode::Line, Mode::Block, PROMPT, Mode::Background] {
            let mut state = state(mode, Destination::File);
            state.exiting = true;
            assert_eq!(policy(&state, false, false, None), Act::Drain);
        }
    }
}
