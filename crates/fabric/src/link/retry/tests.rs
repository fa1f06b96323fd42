//! Both ends on a link with time: what a loss costs.

use super::*;
use std::collections::VecDeque;

/// When a NACK goes out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nacks {
    /// Once for each gap, as the protocol has it.
    Once,
    /// For each packet that is discarded.
    ForEach,
    /// Never.
    None,
}

/// How long a packet is on the way, in the time that it takes to send one.
const LATENCY: u64 = 10;
const TIME_OUT: u64 = 200;
const PACKETS: u32 = 100;

/// What comes out of a channel now.
fn due<T>(channel: &mut VecDeque<(u64, T)>, now: u64) -> Option<T> {
    let is_due = channel.front().is_some_and(|(at, _)| *at == now);
    if is_due { channel.pop_front().map(|(_, it)| it) } else { None }
}

/// Sends packets over a link that loses those sends whose place is listed. Says how many go out, and when the last of them is
/// acknowledged.
fn send(nacks: Nacks, lost: &[u32]) -> (u32, u64) {
    let settings = RetrySettings { window: 64, sequence_bits: 7, count_bits: 1, flits_max: 1 };
    let numbers = settings.numbers().expect("they are right");
    let (mut sender, mut receiver) = (Sender::<0>::default(), Receiver::<0>::default());
    let (mut packets, mut answers) = (VecDeque::new(), VecDeque::new());
    let (mut begun, mut acknowledged, mut sent, mut accepted) = (0, 0, 0, 0);
    let mut timer = 0;
    for now in 0.. {
        if let Some(answer) = due(&mut answers, now) {
            let heard = sender.hear(&numbers, &answer);
            acknowledged += heard.released;
            timer = if heard.released > 0 { now } else { timer };
        }
        if acknowledged == PACKETS {
            assert_eq!(accepted, PACKETS);
            return (sent, now);
        }
        if now - timer == TIME_OUT {
            sender.go_back();
            timer = now;
        }
        let sequence = match sender.replay(&numbers) {
            None if begun < PACKETS && sender.may_send(&numbers) => {
                begun += 1;
                Some(sender.send(&numbers))
            }
            replay => replay.map(|replay| replay.sequence),
        };
        if let Some(sequence) = sequence {
            if !lost.contains(&sent) {
                packets.push_back((now + LATENCY, sequence));
            }
            sent += 1;
        }
        if let Some(sequence) = due(&mut packets, now) {
            let reception = receiver.hear(&numbers, Some(sequence));
            accepted += u32::from(reception == Reception::Accept);
            if reception == Reception::Discard && nacks != Nacks::Once {
                receiver.gap = if nacks == Nacks::None { Gap::Told } else { Gap::Found };
            }
        }
        if receiver.has_news() {
            answers.push_back((now + LATENCY, receiver.tell()));
        }
    }
    unreachable!("the last packet is acknowledged");
}

#[test]
fn both_ends_of_a_channel_with_four_vcs_are_a_few_words() {
    assert_eq!((size_of::<Sender<4>>(), size_of::<Receiver<4>>()), (14, 20));
}

#[test]
fn a_loss_costs_a_round_trip() {
    assert_eq!(send(Nacks::Once, &[]), (100, 119));
    // What has gone out in the round trip goes out again, with the packet itself.
    assert_eq!(send(Nacks::Once, &[30]), (121, 140));
    assert_eq!(send(Nacks::Once, &[30, 60]), (142, 161));
    assert_eq!(send(Nacks::Once, &[30, 40]), (121, 140), "what is behind a gap is discarded anyway");
}

#[test]
fn a_last_packet_and_one_that_is_lost_again_wait_for_the_timer() {
    assert_eq!(send(Nacks::Once, &[99]), (101, 338));
    assert_eq!(send(Nacks::Once, &[30, 51]), (185, 338), "the second loss is of the same packet");
}

#[test]
fn without_nacks_each_loss_waits_for_the_timer() {
    assert_eq!(send(Nacks::None, &[30]), (164, 338));
}

#[test]
fn with_a_nack_for_each_packet_behind_a_gap_the_sender_goes_back_as_often() {
    // The packet itself goes out 20 times, and then all that follows.
    assert_eq!(send(Nacks::ForEach, &[30]), (140, 159));
}
