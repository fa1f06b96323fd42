//! Both ends with each other.

use super::*;
use flitway_wiring::NodeId;

const FROM: NodeId = NodeId(3);
const TO: NodeId = NodeId(5);

fn ends(sender: u32, receiver: u32) -> Ends {
    let of = |generation| ContextUse { context: 0, generation };
    Ends { sender: of(sender), receiver: of(receiver) }
}

/// Both ends of an open transfer of so many packets, all of which have gone out.
fn opened(packets: u32) -> (Senders, Receivers, Ends) {
    let (mut senders, mut receivers) = (Senders::new(1, 2), Receivers::new(1, 2));
    let sender = senders.open(TO, packets);
    let ack = receivers.setup(FROM, sender, packets);
    assert_eq!(senders.hear(&ack), Heard::Opened(sender));
    let numbers: Vec<u32> = std::iter::from_fn(|| senders.send(sender)).map(|tag| tag.sequence).collect();
    assert_eq!(numbers, (0..packets).collect::<Vec<_>>());
    (senders, receivers, ends(0, 0))
}

fn tag(ends: Ends, sequence: u32) -> DataTag {
    DataTag { receiver: ends.receiver, sequence }
}

#[test]
fn a_transfer_is_set_up_sent_done_and_released() {
    let (mut senders, mut receivers, ends) = opened(2);
    assert!(!senders.has_free() && senders.used() == 1 && receivers.used() == 1);
    for (sequence, is_last) in [(1, false), (0, true)] {
        assert_eq!(receivers.data(tag(ends, sequence), true), Reception::Accept);
        assert_eq!(receivers.written(ends.receiver), Some(is_last));
    }
    let done = receivers.finish(ends.receiver).map(|answer| answer.message);
    assert_eq!(done, Some(Message::Done(ends)));
    assert_eq!(senders.hear(&Message::Done(ends)), Heard::Done(ends));
    assert!(senders.has_free() && receivers.used() == 1, "it may be asked again");
    assert!(receivers.release(ends.receiver) && receivers.used() == 0);
    assert_eq!(senders.open(TO, 1).generation, 1);
}

#[test]
fn what_is_missing_goes_out_again_and_duplicates_are_dropped() {
    let (mut senders, mut receivers, ends) = opened(70);
    for sequence in (0..70).filter(|sequence| ![3, 66, 67].contains(sequence)) {
        assert_eq!(receivers.data(tag(ends, sequence), true), Reception::Accept);
    }
    assert_eq!(receivers.data(tag(ends, 69), true), Reception::Duplicate);
    assert_eq!(senders.time_out(ends.sender), TimedOut::Ask(ends.receiver));
    let answer = receivers.ask(ends.receiver).expect("it is held");
    assert_eq!(answer.to, FROM);
    assert_eq!(senders.hear(&answer.message), Heard::Again(ends.sender, 2), "the next 64 from 3 on");
    assert_eq!(senders.hear(&answer.message), Heard::Nothing, "they are to go out already");
    let again: Vec<u32> =
        std::iter::from_fn(|| senders.send_again(ends.sender)).map(|tag| tag.sequence).collect();
    assert_eq!(again, [3, 66]);
    let Reception::Corrupt(answer) = receivers.data(tag(ends, 67), false) else { panic!("its CRC is wrong") };
    assert_eq!(senders.hear(&answer.message), Heard::Again(ends.sender, 1));
    assert_eq!(receivers.data(tag(ends, 3), false), receivers.data(tag(ends, 3), false));
    assert_eq!(receivers.data(tag(ends, 0), false), Reception::Duplicate, "its CRC does not matter");
}

#[test]
fn a_lost_done_is_said_again_and_a_lost_release_too() {
    let (mut senders, mut receivers, ends) = opened(1);
    receivers.data(tag(ends, 0), true);
    receivers.written(ends.receiver);
    receivers.finish(ends.receiver);
    // That DONE is lost.
    assert_eq!(senders.time_out(ends.sender), TimedOut::Ask(ends.receiver));
    let done = receivers.ask(ends.receiver).expect("it is kept").message;
    assert_eq!(senders.hear(&done), Heard::Done(ends));
    // That RELEASE is lost, and the next transfer has the context of the sender.
    let next = senders.open(TO, 1);
    assert_eq!(receivers.setup(FROM, next, 1), Message::SetupNack { sender: next });
    let done = receivers.time_out(ends.receiver).expect("it says so again").message;
    assert_eq!(senders.hear(&done), Heard::Late(ends.receiver));
    assert!(receivers.release(ends.receiver) && !receivers.release(ends.receiver));
    assert_eq!(senders.hear(&Message::SetupNack { sender: next }), Heard::BacksOff(next, 1));
    assert_eq!(senders.time_out(next), TimedOut::Nothing);
    assert!(senders.set_up_again(next) && !senders.set_up_again(next));
    let Message::SetupAck(again) = receivers.setup(FROM, next, 1) else { panic!("a context is free") };
    assert_eq!(again, self::ends(1, 1));
    assert_eq!(receivers.data(tag(ends, 0), true), Reception::Stale, "data of before");
}

#[test]
fn a_second_context_for_the_same_use_is_released() {
    let (mut senders, _, ends) = opened(1);
    let late = Ends { receiver: ContextUse { context: 7, generation: 4 }, ..ends };
    assert_eq!(senders.hear(&Message::SetupAck(late)), Heard::Late(late.receiver));
    assert_eq!(senders.hear(&Message::Done(late)), Heard::Late(late.receiver));
    assert_eq!(senders.hear(&Message::SetupAck(ends)), Heard::Nothing);
}

#[test]
fn a_packet_that_is_refused_comes_again_until_the_sender_gives_up() {
    let (mut senders, mut receivers, ends) = opened(1);
    for _ in 0..2 {
        assert_eq!(receivers.data(tag(ends, 0), true), Reception::Accept);
        let answer = receivers.refuse(tag(ends, 0)).expect("it is held");
        assert_eq!(senders.hear(&answer.message), Heard::Again(ends.sender, 1));
        assert!(senders.send_again(ends.sender).is_some());
    }
    // The event of all data.
    assert_eq!(receivers.data(tag(ends, 0), true), Reception::Accept);
    assert_eq!(receivers.written(ends.receiver), Some(true));
    let answer = receivers.refuse(tag(ends, 0)).expect("it is held");
    assert_eq!(senders.hear(&answer.message), Heard::GivesUp(ends));
    assert!(senders.has_free());
    assert_eq!(
        (receivers.data(tag(ends, 0), true), receivers.written(ends.receiver)),
        (Reception::Accept, Some(true))
    );
}

#[test]
fn both_ends_give_up_when_they_hear_nothing() {
    let (mut senders, mut receivers, ends) = opened(1);
    let expired = [0, 1, 2].map(|_| senders.time_out(ends.sender));
    let ask = TimedOut::Ask(ends.receiver);
    assert_eq!(expired, [ask, ask, TimedOut::GivesUp(Some(ends.receiver))]);
    let said = [0, 1, 2].map(|_| receivers.time_out(ends.receiver).is_some());
    assert_eq!((said, receivers.used()), ([true, true, false], 0));
    let next = senders.open(TO, 1);
    let expired = [0, 1, 2, 3].map(|_| senders.time_out(next));
    let setup = TimedOut::Setup;
    assert_eq!(expired, [setup, setup, TimedOut::GivesUp(None), TimedOut::Nothing]);
}
