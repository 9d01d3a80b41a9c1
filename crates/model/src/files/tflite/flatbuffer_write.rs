//! A flatbuffer writer: objects in the order of a walk, parents before children.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

/// Data of tensors is aligned to this many bytes, as TensorFlow Lite requires.
const DATA_ALIGNMENT: usize = 16;

/// A thing that offsets point to.
#[derive(Clone, Debug)]
pub(super) enum Object {
    /// Fields by number, ascending.
    Table(Vec<(usize, Field)>),
    Tables(Vec<Object>),
    Ints(Vec<i32>),
    /// Bytes of a tensor.
    Data(Vec<u8>),
    Text(String),
}

/// A field of a table.
#[derive(Clone, Debug)]
pub(super) enum Field {
    Byte(u8),
    Int(i32),
    Object(Object),
}

/// A file with this root and identifier.
pub(super) fn file(root: Object, identifier: &[u8; 4]) -> Vec<u8> {
    let mut out = Writer { bytes: vec![0; 4] };
    out.bytes.extend_from_slice(identifier);
    out.place(0, root);
    out.bytes
}

struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    fn pad(&mut self, alignment: usize, offset: usize) {
        while !(self.bytes.len() + offset).is_multiple_of(alignment) {
            self.bytes.push(0);
        }
    }

    fn int(&mut self, value: i32) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// Writes an object and the offset to it at `from`, where four bytes are kept for that.
    fn place(&mut self, from: usize, object: Object) {
        let at = self.object(object);
        let offset = (at - from) as u32;
        if let Some(place) = self.bytes.get_mut(from..from + 4) {
            place.copy_from_slice(&offset.to_le_bytes());
        }
    }

    /// Writes an object; returns where it is.
    fn object(&mut self, object: Object) -> usize {
        match object {
            Object::Table(fields) => self.table(fields),
            Object::Tables(tables) => {
                self.pad(4, 0);
                let at = self.bytes.len();
                self.int(tables.len() as i32);
                self.bytes.resize(at + 4 + 4 * tables.len(), 0);
                for (number, table) in tables.into_iter().enumerate() {
                    self.place(at + 4 + 4 * number, table);
                }
                at
            }
            Object::Ints(ints) => {
                self.pad(4, 0);
                let at = self.bytes.len();
                self.int(ints.len() as i32);
                ints.into_iter().for_each(|value| self.int(value));
                at
            }
            Object::Data(data) => {
                self.pad(DATA_ALIGNMENT, 4);
                let at = self.bytes.len();
                self.int(data.len() as i32);
                self.bytes.extend_from_slice(&data);
                at
            }
            Object::Text(text) => {
                self.pad(4, 0);
                let at = self.bytes.len();
                self.int(text.len() as i32);
                self.bytes.extend_from_slice(text.as_bytes());
                self.bytes.push(0);
                at
            }
        }
    }

    fn table(&mut self, fields: Vec<(usize, Field)>) -> usize {
        let slots = fields.last().map_or(0, |(slot, _)| slot + 1);
        let vtable_len = 4 + 2 * slots;
        self.pad(4, vtable_len);
        let vtable_at = self.bytes.len();
        let at = vtable_at + vtable_len;
        // Fields of four bytes first, so that all are aligned.
        let wide = |field: &Field| !matches!(field, Field::Byte(_));
        let wides = fields.iter().filter(|(_, field)| wide(field)).count();
        let (mut next_wide, mut next_byte) = (4, 4 + 4 * wides);
        let mut offsets = vec![0_u16; slots];
        for (slot, field) in &fields {
            let (place, size) = if wide(field) { (&mut next_wide, 4) } else { (&mut next_byte, 1) };
            if let Some(offset) = offsets.get_mut(*slot) {
                *offset = *place as u16;
            }
            *place += size;
        }
        self.bytes.extend_from_slice(&(vtable_len as u16).to_le_bytes());
        self.bytes.extend_from_slice(&(next_byte as u16).to_le_bytes());
        offsets.iter().for_each(|offset| self.bytes.extend_from_slice(&offset.to_le_bytes()));
        self.int(vtable_len as i32);
        self.bytes.resize(at + next_byte, 0);
        for (slot, field) in fields {
            let place = at + usize::from(offsets.get(slot).copied().unwrap_or_default());
            match field {
                Field::Byte(value) => self.patch(place, &[value]),
                Field::Int(value) => self.patch(place, &value.to_le_bytes()),
                Field::Object(object) => self.place(place, object),
            }
        }
        at
    }

    fn patch(&mut self, at: usize, value: &[u8]) {
        if let Some(place) = self.bytes.get_mut(at..at + value.len()) {
            place.copy_from_slice(value);
        }
    }
}
