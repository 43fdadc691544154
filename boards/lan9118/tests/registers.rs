//! The LAN9118 driver's register layer against a small model of the chip: frames in and out, runts,
//! errors, a full FIFO, the link, and a chip that is not there.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use lan9118::{Bus, Chip, FRAMES, LINK, MTU, NotThere, ROOM, register as r};
use proptest::prelude::*;

/// As much of the chip as the driver can see (data sheet §5, and what QEMU makes of it).
#[derive(Default)]
struct Model {
    there: bool,
    statuses: VecDeque<u32>,
    data: VecDeque<u32>,
    interrupt_status: u32,
    interrupt_enable: u32,
    transmitted: Vec<Vec<u8>>,
    sending: Vec<u32>,
    unread_results: u32,
    room: u32,
    fifo_interrupts: u32,
    mac: [u32; 16],
    mac_data: u32,
    phy_status: u32,
    phy_mask: u32,
    /// Words of data FIFO left (2,640 in all).
    free_words: usize,
}

impl Model {
    fn new() -> Rc<RefCell<Self>> {
        let model = Self {
            there: true,
            room: 4_608,
            phy_status: 0x7809,
            free_words: 2_640,
            ..Self::default()
        };
        Rc::new(RefCell::new(model))
    }

    /// A frame arrives, or is lost because it does not fit.
    fn arrive(&mut self, frame: &[u8], error: bool) -> bool {
        let mut bytes = frame.to_vec();
        bytes.extend([0xfc; 4]);
        let words = bytes.len().div_ceil(4);
        if words > self.free_words || self.statuses.len() == 176 {
            return false;
        }
        self.free_words -= words;
        self.statuses
            .push_back((bytes.len() as u32) << 16 | u32::from(error) << 15);
        for chunk in bytes.chunks(4) {
            let mut word = [0; 4];
            word[..chunk.len()].copy_from_slice(chunk);
            self.data.push_back(u32::from_le_bytes(word));
        }
        self.interrupt_status |= FRAMES;
        true
    }

    fn set_link(&mut self, up: bool) {
        self.phy_status = if up { 0x780d } else { 0x7809 };
        self.interrupt_status |= if self.phy_mask == 0 { 0 } else { LINK };
    }

    /// The wire takes what waits to be sent.
    fn make_room(&mut self, room: u32) {
        self.room = room;
        // Blocks of 64 bytes (FIFO_INT, data sheet §5.3).
        self.interrupt_status |= if room > (self.fifo_interrupts >> 24) * 64 {
            ROOM
        } else {
            0
        };
    }

    fn interrupts(&self) -> bool {
        self.interrupt_status & self.interrupt_enable != 0
    }

    fn mac_command(&mut self, command: u32) {
        let register = (command & 0xf) as usize;
        if command & 1 << 30 != 0 {
            self.mac_data = self.mac[register];
            return;
        }
        self.mac[register] = self.mac_data;
        if register == 6 {
            let phy = self.mac_data >> 6 & 0x1f;
            let write = self.mac_data & 2 != 0;
            match (phy, write) {
                (30, true) => self.phy_mask = self.mac[7],
                (1, false) => self.mac[7] = self.phy_status,
                _ => {}
            }
        }
    }

    fn transmit(&mut self, word: u32) {
        self.sending.push(word);
        let [command, _, words @ ..] = &self.sending[..] else {
            return;
        };
        let length = (command & 0x7ff) as usize;
        if words.len() == length.div_ceil(4) {
            let bytes: Vec<u8> = words
                .iter()
                .flat_map(|word| word.to_le_bytes())
                .take(length)
                .collect();
            self.transmitted.push(bytes);
            self.sending.clear();
            self.unread_results += 1;
        }
    }
}

#[derive(Clone)]
struct ModelBus(Rc<RefCell<Model>>);

impl Bus for ModelBus {
    fn read(&mut self, offset: usize) -> u32 {
        let mut model = self.0.borrow_mut();
        match offset {
            r::BYTE_TEST if model.there => 0x8765_4321,
            r::RX_FIFO_INF => ((model.statuses.len() as u32) << 16) | (4 * model.data.len() as u32),
            r::RX_STATUS => model.statuses.pop_front().unwrap_or(0),
            r::RX_DATA => {
                model.free_words += 1;
                model
                    .data
                    .pop_front()
                    .expect("the driver read more than the FIFO held")
            }
            r::TX_FIFO_INF => model.unread_results << 16 | model.room,
            r::TX_STATUS => {
                model.unread_results -= 1;
                0
            }
            r::INT_STS => model.interrupt_status,
            r::MAC_CSR_DATA => model.mac_data,
            _ => 0,
        }
    }

    fn write(&mut self, offset: usize, value: u32) {
        let mut model = self.0.borrow_mut();
        match offset {
            r::TX_DATA => model.transmit(value),
            r::INT_STS => model.interrupt_status &= !value,
            r::INT_EN => model.interrupt_enable = value,
            r::FIFO_INT => model.fifo_interrupts = value,
            r::MAC_CSR_DATA => model.mac_data = value,
            r::MAC_CSR_CMD => model.mac_command(value),
            _ => {}
        }
    }
}

fn started() -> (Rc<RefCell<Model>>, Chip<ModelBus>) {
    let model = Model::new();
    let chip =
        Chip::start(ModelBus(Rc::clone(&model)), [2, 1, 2, 3, 4, 5]).expect("the model is there");
    (model, chip)
}

#[test]
fn starts_with_its_address_and_both_directions_on() {
    let (model, _) = started();
    let model = model.borrow();
    assert_eq!((model.mac[3], model.mac[2]), (0x0302_0102, 0x0504));
    assert_eq!(model.mac[1] & 0b1100, 0b1100);
    assert_eq!(
        model.interrupt_enable, 0,
        "silent until it is asked to listen"
    );
}

#[test]
fn says_when_nothing_is_there() {
    let model = Model::new();
    model.borrow_mut().there = false;
    assert_eq!(
        Chip::start(ModelBus(model), [0; 6]).err(),
        Some(NotThere { found: 0 })
    );
}

#[test]
fn a_full_fifo_loses_frames_and_recovers() {
    let (model, mut chip) = started();
    let frame = [7; MTU];
    let arrived = (0..20)
        .filter(|_| model.borrow_mut().arrive(&frame, false))
        .count();
    assert_eq!(arrived, 6, "2,640 words hold six frames");
    let mut buffer = [0; MTU];
    for _ in 0..arrived {
        assert_eq!(chip.receive(&mut buffer), Some(MTU));
    }
    assert_eq!(chip.receive(&mut buffer), None);
    assert!(model.borrow_mut().arrive(&frame, false));
    assert_eq!(chip.receive(&mut buffer), Some(MTU));
}

#[test]
fn no_frame_is_slept_through() {
    let (model, mut chip) = started();
    assert!(chip.listen() && !model.borrow().interrupts());
    model.borrow_mut().arrive(&[1; 60], false);
    assert!(model.borrow().interrupts());
    assert!(!chip.listen(), "a frame is there: drain first");
    assert_eq!(chip.receive(&mut [0; MTU]), Some(60));
    assert!(chip.listen() && !model.borrow().interrupts());
}

#[test]
fn the_link_comes_and_goes() {
    let (model, mut chip) = started();
    assert!(!chip.link_is_up() && !chip.link_changed());
    model.borrow_mut().set_link(true);
    assert!(chip.link_changed() && chip.link_is_up() && !chip.link_changed());
    chip.listen();
    model.borrow_mut().set_link(false);
    assert!(model.borrow().interrupts() && !chip.link_is_up());
}

#[test]
fn a_transmitter_without_room_is_not_used_and_results_are_collected() {
    let (model, mut chip) = started();
    (0..3).for_each(|_| chip.send(&[9; 60]));
    assert_eq!(model.borrow().unread_results, 3);
    assert!(chip.can_send());
    assert_eq!(model.borrow().unread_results, 0);
    model.borrow_mut().room = 100;
    assert!(!chip.can_send());
}

#[test]
fn a_driver_without_room_sleeps_until_there_is_some() {
    let (model, mut chip) = started();
    model.borrow_mut().make_room(100);
    assert!(!chip.can_send() && chip.await_room() && !model.borrow().interrupts());
    model.borrow_mut().arrive(&[1; 60], false);
    assert!(
        !model.borrow().interrupts(),
        "a frame that cannot be answered wakes nobody"
    );
    model.borrow_mut().make_room(MTU as u32);
    assert!(!model.borrow().interrupts(), "not enough for a frame yet");
    model.borrow_mut().make_room(4_608);
    assert!(model.borrow().interrupts() && chip.can_send());
    assert!(!chip.await_room(), "there is room: no need to wait");
}

proptest! {
    /// Frames of any length, some damaged: the good ones come out whole and in order, the others
    /// not at all, and the FIFO is empty at the end.
    #[test]
    fn good_frames_come_out_whole(frames in prop::collection::vec((0..1_700_usize, any::<bool>(), any::<u8>()), 0..6)) {
        let (model, mut chip) = started();
        let mut expected = Vec::new();
        for (length, error, fill) in frames {
            let frame = vec![fill; length];
            let fits = model.borrow_mut().arrive(&frame, error);
            if fits && !error && (14..=MTU).contains(&length) {
                expected.push(frame);
            }
        }
        let mut buffer = [0; MTU];
        let mut received = Vec::new();
        while let Some(length) = chip.receive(&mut buffer) {
            received.push(buffer[..length].to_vec());
        }
        prop_assert_eq!(received, expected);
        prop_assert_eq!((model.borrow().data.len(), model.borrow().free_words), (0, 2_640));
    }

    #[test]
    fn what_is_sent_is_what_the_wire_sees(frame in prop::collection::vec(any::<u8>(), 14..=MTU)) {
        let (model, mut chip) = started();
        chip.send(&frame);
        prop_assert_eq!(&model.borrow().transmitted, &vec![frame]);
    }
}
