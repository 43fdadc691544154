//! What a frame would make the decoder allocate, found out before it does.
//!
//! A frame says itself how many elements a slice has and what is nested in what, and
//! `defmt-decoder` takes its word: four bytes of a damaged frame ask for hundreds of gigabytes, and
//! a page of `Some(Some(Some(…` for more stack than there is. So a frame is walked first, along the
//! same format strings and without keeping anything, and only one that ends where it should, in
//! parts it has the bytes for, is decoded.

use std::collections::BTreeMap;

use defmt_parser::{Fragment, ParserMode, Type, parse};
use object::{Object, ObjectSection, ObjectSymbol};
use serde::Deserialize;

/// How deep values may lie within values. Those of firmware are a handful deep.
const DEEPEST: usize = 32;
/// Values of a frame beyond one a byte: there are some that take none, such as the elements of
/// `[(); 3]`.
const WEIGHTLESS: usize = 64;

/// The format strings of a firmware, as far as they say how long a frame is.
#[derive(Debug)]
pub struct FrameLayouts {
    time: Option<Layout>,
    strings: BTreeMap<u16, Layout>,
}

/// What one string takes from a frame. `None` where it is no format string: no frame can be decoded
/// with it.
#[derive(Debug)]
struct Layout {
    whole: Option<Vec<Type>>,
    /// As part of another, a string with bars is an `enum`: a number says which piece it is.
    variants: Vec<Option<Vec<Type>>>,
}

/// The name of a symbol in section `.defmt`.
#[derive(Deserialize)]
struct Symbol {
    tag: String,
    data: String,
}

impl FrameLayouts {
    /// Reads them from an ELF file, where their addresses are what frames call them by.
    pub fn read(elf: &object::File<'_>) -> Self {
        let is_ours = |name: &str| name == ".defmt" || name.starts_with(".defmt.");
        let sections: Vec<_> = elf
            .sections()
            .filter(|section| section.name().is_ok_and(is_ours))
            .map(|section| section.index())
            .collect();
        let mut layouts = Self {
            time: None,
            strings: BTreeMap::new(),
        };
        for symbol in elf.symbols() {
            let ours = symbol
                .section_index()
                .is_some_and(|index| sections.contains(&index));
            let name = symbol.name().ok().filter(|_| ours);
            let Some(Symbol { tag, data }) = name.and_then(|name| serde_json::from_str(name).ok())
            else {
                continue;
            };
            match u16::try_from(symbol.address()) {
                _ if tag == "defmt_timestamp" => layouts.time = Some(Layout::of(&data)),
                Ok(index) => drop(layouts.strings.insert(index, Layout::of(&data))),
                Err(_) => {}
            }
        }
        layouts
    }

    /// Walks a frame; returns what lies behind it, which is padding. `None` for one that is cut,
    /// nonsense, or that is made of more parts than it has bytes for. Takes time linear in the
    /// frame, and no memory.
    pub fn walk<'f>(&self, frame: &'f [u8]) -> Option<&'f [u8]> {
        let mut walk = Walk {
            layouts: self,
            rest: frame,
            parts: frame.len() + WEIGHTLESS,
        };
        let index = walk.index()?;
        if let Some(time) = &self.time {
            walk.take_all(time.whole.as_ref()?, 0)?;
        }
        walk.take_all(self.strings.get(&index)?.whole.as_ref()?, 0)?;
        Some(walk.rest)
    }
}

impl Layout {
    fn of(text: &str) -> Self {
        Self {
            whole: arguments(text),
            variants: text.split('|').map(arguments).collect(),
        }
    }
}

/// The arguments of a format string in the order they are sent: each once, however often it is
/// shown, and the bits that are shown of one number together.
fn arguments(text: &str) -> Option<Vec<Type>> {
    let mut types = BTreeMap::new();
    for fragment in parse(text, ParserMode::ForwardsCompatible).ok()? {
        let Fragment::Parameter(parameter) = fragment else {
            continue;
        };
        let known = types.remove(&parameter.index);
        let merged = match (known, parameter.ty) {
            (Some(Type::BitField(a)), Type::BitField(b)) => {
                Type::BitField(a.start.min(b.start)..a.end.max(b.end))
            }
            (_, other) => other,
        };
        types.insert(parameter.index, merged);
    }
    Some(types.into_values().collect())
}

struct Walk<'w, 'f> {
    layouts: &'w FrameLayouts,
    rest: &'f [u8],
    /// How many values may still come.
    parts: usize,
}

impl<'w> Walk<'w, '_> {
    fn take_all(&mut self, types: &[Type], depth: usize) -> Option<()> {
        self.parts = self.parts.checked_sub(1)?;
        types.iter().try_for_each(|part| self.take(part, depth))
    }

    fn take(&mut self, part: &Type, depth: usize) -> Option<()> {
        match part {
            Type::Bool | Type::I8 | Type::U8 => self.skip(1),
            Type::I16 | Type::U16 | Type::IStr => self.skip(2),
            Type::I32 | Type::U32 | Type::Isize | Type::Usize | Type::F32 | Type::Char => {
                self.skip(4)
            }
            Type::I64 | Type::U64 | Type::F64 => self.skip(8),
            Type::I128 | Type::U128 => self.skip(16),
            Type::BitField(bits) => {
                // Whole bytes, as few as hold the bits, in a number of usual size.
                let bytes = (bits.end - 1) / 8 - bits.start / 8 + 1;
                self.skip(usize::from(bytes).next_power_of_two())
            }
            Type::Str | Type::U8Slice => {
                let length = self.length()?;
                self.skip(length)
            }
            Type::U8Array(length) => self.skip(*length),
            Type::Debug | Type::Display => {
                let end = self.rest.iter().position(|byte| *byte == 0xff)?;
                self.skip(end + 1)
            }
            Type::Format => self.nested(depth),
            Type::FormatSlice => {
                let length = self.length()?;
                self.elements(length, depth)
            }
            Type::FormatArray(length) => self.elements(*length, depth),
            Type::FormatSequence => loop {
                match self.index()? {
                    0 => return Some(()),
                    index => {
                        let inner = self.deeper(depth)?;
                        let layout = self.layouts.strings.get(&index)?;
                        self.take_all(layout.whole.as_ref()?, inner)?;
                    }
                }
            },
        }
    }

    fn nested(&mut self, depth: usize) -> Option<()> {
        let layout = self.string()?;
        self.variant(layout, depth)
    }

    fn elements(&mut self, length: usize, depth: usize) -> Option<()> {
        let layout = self.string()?;
        (0..length).try_for_each(|_| self.variant(layout, depth))
    }

    fn variant(&mut self, layout: &'w Layout, depth: usize) -> Option<()> {
        let inner = self.deeper(depth)?;
        let place = match layout.variants.len() - 1 {
            0 => 0,
            1..=0xff => self.number::<1>()?,
            0x100..=0xffff => self.number::<2>()?,
            _ => self.number::<4>()?,
        };
        self.take_all(layout.variants.get(place)?.as_ref()?, inner)
    }

    fn deeper(&self, depth: usize) -> Option<usize> {
        (depth < DEEPEST).then_some(depth + 1)
    }

    fn string(&mut self) -> Option<&'w Layout> {
        let index = self.index()?;
        self.layouts.strings.get(&index)
    }

    fn index(&mut self) -> Option<u16> {
        self.number::<2>().map(|index| index as u16)
    }

    fn length(&mut self) -> Option<usize> {
        self.number::<4>()
    }

    /// Takes a little-endian number of one, two or four bytes.
    fn number<const BYTES: usize>(&mut self) -> Option<usize> {
        let (bytes, rest) = self.rest.split_first_chunk::<BYTES>()?;
        self.rest = rest;
        Some(
            bytes
                .iter()
                .rev()
                .fold(0, |number, byte| number << 8 | usize::from(*byte)),
        )
    }

    fn skip(&mut self, bytes: usize) -> Option<()> {
        self.rest = self.rest.get(bytes..)?;
        Some(())
    }
}
