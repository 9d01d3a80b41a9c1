//! A pickle interpreter that calls nothing.
//!
//! A pickle is a program for a stack machine that may call any Python function. Here the calls that build dictionaries and
//! tensors are recognised by name; the result of any other call is [`Value::Opaque`], without data. Values are in a flat arena
//! and refer to each other by [`Id`], so values may contain themselves and nesting needs no recursion. Work and memory are
//! linear in the number of steps, which is bounded.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;

use tabia_onnx::tensors::ElementType;

use crate::{Format, LoadError, LoadErrorKind};

/// Far more than the checkpoint of a chess network with its optimiser needs.
const MAX_STEPS: usize = 4_000_000;

/// Maximum rank of a tensor.
const MAX_RANK: usize = 8;

/// A value of a [`Pickle`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Id(u32);

/// The shared [`Value::Plain`].
const PLAIN: Id = Id(0);

/// A Python value, as far as checkpoints use them.
#[derive(Debug)]
pub(super) enum Value<'a> {
    /// None, a boolean, a float, bytes or a set: irrelevant for tensors.
    Plain,
    Int(i64),
    Text(&'a str),
    /// A tuple or a list.
    Sequence(Vec<Id>),
    Dict(Vec<(Id, Id)>),
    /// A class or function, by name.
    Global(Name<'a>),
    /// The result of calling this.
    Opaque(Name<'a>),
    Storage(Storage<'a>),
    Tensor(Box<TensorView<'a>>),
}

/// The name of a Python class or function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name<'a> {
    pub(super) module: &'a str,
    pub(super) name: &'a str,
}

impl std::fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.module, self.name)
    }
}

/// A storage outside the pickle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Storage<'a> {
    /// Its class, such as `FloatStorage`.
    pub(super) class: &'a str,
    /// Its key.
    pub(super) key: &'a str,
}

impl Storage<'_> {
    /// Its element type; `None` if unsupported.
    pub(super) fn element(&self) -> Option<ElementType> {
        Some(match self.class {
            "DoubleStorage" => ElementType::F64,
            "FloatStorage" => ElementType::F32,
            "HalfStorage" => ElementType::F16,
            "BFloat16Storage" => ElementType::Bf16,
            "LongStorage" => ElementType::I64,
            "IntStorage" => ElementType::I32,
            "ShortStorage" => ElementType::I16,
            "CharStorage" => ElementType::I8,
            "ByteStorage" => ElementType::U8,
            "BoolStorage" => ElementType::Bool,
            _ => return None,
        })
    }
}

/// A strided view of a [`Storage`], not yet checked against its size. `shape` and `strides` have the same length.
#[derive(Clone, Debug)]
pub(super) struct TensorView<'a> {
    pub(super) storage: Storage<'a>,
    pub(super) offset: usize,
    pub(super) shape: Vec<usize>,
    pub(super) strides: Vec<usize>,
}

/// The values of a pickle.
#[derive(Debug)]
pub(super) struct Pickle<'a> {
    values: Vec<Value<'a>>,
    root: Id,
}

impl<'a> Pickle<'a> {
    /// Runs `bytes`.
    ///
    /// # Errors
    /// Names the byte of the invalid or unsupported opcode.
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, LoadError> {
        let mut machine = Machine {
            bytes,
            at: 0,
            opcode_at: 0,
            values: vec![Value::Plain],
            stack: Vec::new(),
            marks: Vec::new(),
            memo: BTreeMap::new(),
        };
        for _ in 0..MAX_STEPS {
            if let Some(root) = machine.step()? {
                return Ok(Pickle { values: machine.values, root });
            }
        }
        let message = format!("the pickle has more than {MAX_STEPS} steps");
        Err(LoadError::new(LoadErrorKind::TooLarge, Format::Torch, message).at_byte(machine.at))
    }

    pub(super) fn root(&self) -> Id {
        self.root
    }

    pub(super) fn value(&self, id: Id) -> &Value<'a> {
        value_of(&self.values, id)
    }

    /// The entries of `id` with text keys, if it is a dictionary; of equal keys the last one.
    pub(super) fn dict(&self, id: Id) -> Option<BTreeMap<&'a str, Id>> {
        let Value::Dict(entries) = self.value(id) else { return None };
        let with_text = entries.iter().filter_map(|&(key, value)| match self.value(key) {
            Value::Text(text) => Some((*text, value)),
            _ => None,
        });
        Some(with_text.collect())
    }
}

fn value_of<'v, 'a>(values: &'v [Value<'a>], id: Id) -> &'v Value<'a> {
    values.get(id.0 as usize).unwrap_or(&Value::Plain)
}

/// The opcodes of protocols 2 to 5 without text arguments.
macro_rules! opcodes {
    ($($name:ident = $byte:literal),*) => { mod op { $(pub(super) const $name: u8 = $byte;)* } };
}
opcodes! {
    MARK = b'(', STOP = b'.', POP = b'0', POP_MARK = b'1', DUP = b'2', BINBYTES = b'B',
    SHORT_BINBYTES = b'C', BINFLOAT = b'G', BININT = b'J', BININT1 = b'K', BININT2 = b'M', NONE = b'N',
    BINPERSID = b'Q', REDUCE = b'R', BINSTRING = b'T', SHORT_BINSTRING = b'U', BINUNICODE = b'X',
    EMPTY_LIST = b']', APPEND = b'a', BUILD = b'b', GLOBAL = b'c', DICT = b'd', APPENDS = b'e',
    BINGET = b'h', LONG_BINGET = b'j', LIST = b'l', BINPUT = b'q', LONG_BINPUT = b'r', SETITEM = b's',
    TUPLE = b't', SETITEMS = b'u', EMPTY_DICT = b'}', EMPTY_TUPLE = b')', PROTO = 0x80, NEWOBJ = 0x81,
    TUPLE1 = 0x85, TUPLE2 = 0x86, TUPLE3 = 0x87, NEWTRUE = 0x88, NEWFALSE = 0x89, LONG1 = 0x8a, LONG4 = 0x8b,
    SHORT_BINUNICODE = 0x8c, BINUNICODE8 = 0x8d, BINBYTES8 = 0x8e, EMPTY_SET = 0x8f, ADDITEMS = 0x90,
    FROZENSET = 0x91, NEWOBJ_EX = 0x92, STACK_GLOBAL = 0x93, MEMOIZE = 0x94, FRAME = 0x95, BYTEARRAY8 = 0x96
}

struct Machine<'a> {
    bytes: &'a [u8],
    at: usize,
    opcode_at: usize,
    values: Vec<Value<'a>>,
    stack: Vec<Id>,
    /// Heights of the stack where a mark was set.
    marks: Vec<usize>,
    memo: BTreeMap<u32, Id>,
}

impl<'a> Machine<'a> {
    /// Executes one opcode; returns the root value at the end.
    fn step(&mut self) -> Result<Option<Id>, LoadError> {
        self.opcode_at = self.at;
        let opcode = self.byte()?;
        match opcode {
            op::STOP => return self.pop().map(Some),
            op::PROTO => self.protocol()?,
            op::FRAME => self.skip(8)?,

            op::NONE | op::NEWTRUE | op::NEWFALSE | op::EMPTY_SET => self.stack.push(PLAIN),
            op::BINFLOAT => {
                self.skip(8)?;
                self.stack.push(PLAIN);
            }
            op::BININT => self.int_from(i32::from_le_bytes)?,
            op::BININT1 => self.int_from(u8::from_le_bytes)?,
            op::BININT2 => self.int_from(u16::from_le_bytes)?,
            op::LONG1 | op::LONG4 => self.long(opcode)?,
            op::BINBYTES | op::SHORT_BINBYTES | op::BINBYTES8 | op::BYTEARRAY8 => {
                self.counted(opcode)?;
                self.stack.push(PLAIN);
            }
            op::BINUNICODE | op::SHORT_BINUNICODE | op::BINUNICODE8 | op::BINSTRING | op::SHORT_BINSTRING => {
                self.text(opcode)?;
            }

            op::MARK => self.marks.push(self.stack.len()),
            op::POP => self.discard()?,
            op::POP_MARK => {
                self.pop_to_mark()?;
            }
            op::DUP => {
                let top = self.top()?;
                self.stack.push(top);
            }
            op::BINGET | op::LONG_BINGET => self.recall(opcode)?,
            op::BINPUT | op::LONG_BINPUT | op::MEMOIZE => self.memorise(opcode)?,

            op::EMPTY_TUPLE | op::EMPTY_LIST => self.push(Value::Sequence(Vec::new())),
            op::TUPLE1 => self.sequence_of(1)?,
            op::TUPLE2 => self.sequence_of(2)?,
            op::TUPLE3 => self.sequence_of(3)?,
            op::TUPLE | op::LIST => {
                let items = self.pop_to_mark()?;
                self.push(Value::Sequence(items));
            }
            op::EMPTY_DICT => self.push(Value::Dict(Vec::new())),
            op::DICT => {
                let entries = self.entries_to_mark()?;
                self.push(Value::Dict(entries));
            }
            op::FROZENSET => {
                self.pop_to_mark()?;
                self.stack.push(PLAIN);
            }
            op::APPEND => {
                let item = self.pop()?;
                self.append(vec![item])?;
            }
            op::APPENDS | op::ADDITEMS => {
                let items = self.pop_to_mark()?;
                self.append(items)?;
            }
            op::SETITEM => {
                let (value, key) = (self.pop()?, self.pop()?);
                self.set_items(vec![(key, value)])?;
            }
            op::SETITEMS => {
                let entries = self.entries_to_mark()?;
                self.set_items(entries)?;
            }

            op::GLOBAL => self.global_by_line()?,
            op::STACK_GLOBAL => self.global_by_stack()?,
            op::REDUCE | op::NEWOBJ => {
                let (arguments, callee) = (self.pop()?, self.pop()?);
                self.call(callee, arguments)?;
            }
            op::NEWOBJ_EX => {
                let (_, _, class) = (self.pop()?, self.pop()?, self.pop()?);
                let made = self.opaque(class);
                self.push(made);
            }
            // Dictionaries and tensors need no state.
            op::BUILD => {
                self.pop()?;
                self.top()?;
            }
            op::BINPERSID => self.storage()?,
            _ => return Err(self.unsupported(format!("opcode {opcode:#04x}"))),
        }
        Ok(None)
    }

    fn protocol(&mut self) -> Result<(), LoadError> {
        match self.byte()? {
            2..=5 => Ok(()),
            other => Err(self.unsupported(format!("pickle protocol {other}"))),
        }
    }

    /// An integer of up to eight bytes; larger ones become [`Value::Plain`].
    fn long(&mut self, opcode: u8) -> Result<(), LoadError> {
        let digits = self.counted(opcode)?;
        if digits.len() > 8 {
            self.stack.push(PLAIN);
            return Ok(());
        }
        let fill = if digits.last().is_some_and(|&high| high >= 0x80) { 0xff } else { 0 };
        let mut number = [fill; 8];
        for (to, from) in number.iter_mut().zip(digits) {
            *to = *from;
        }
        self.push(Value::Int(i64::from_le_bytes(number)));
        Ok(())
    }

    fn text(&mut self, opcode: u8) -> Result<(), LoadError> {
        let bytes = self.counted(opcode)?;
        // Text with lone surrogates is not a tensor name.
        match std::str::from_utf8(bytes) {
            Ok(text) => self.push(Value::Text(text)),
            Err(_) => self.stack.push(PLAIN),
        }
        Ok(())
    }

    fn recall(&mut self, opcode: u8) -> Result<(), LoadError> {
        let slot = if opcode == op::BINGET { u32::from(self.byte()?) } else { self.u32()? };
        let id = self.memo.get(&slot).copied();
        let id = id.ok_or_else(|| self.malformed(format!("undefined memo {slot}")))?;
        self.stack.push(id);
        Ok(())
    }

    fn memorise(&mut self, opcode: u8) -> Result<(), LoadError> {
        let slot = match opcode {
            op::BINPUT => u32::from(self.byte()?),
            op::LONG_BINPUT => self.u32()?,
            _ => self.memo.len() as u32,
        };
        let top = self.top()?;
        self.memo.insert(slot, top);
        Ok(())
    }

    fn sequence_of(&mut self, count: usize) -> Result<(), LoadError> {
        let mut items = (0..count).map(|_| self.pop()).collect::<Result<Vec<_>, _>>()?;
        items.reverse();
        self.push(Value::Sequence(items));
        Ok(())
    }

    fn append(&mut self, items: Vec<Id>) -> Result<(), LoadError> {
        let list = self.top()?;
        if let Some(Value::Sequence(present)) = self.values.get_mut(list.0 as usize) {
            present.extend(items);
        }
        Ok(())
    }

    fn set_items(&mut self, entries: Vec<(Id, Id)>) -> Result<(), LoadError> {
        let dict = self.top()?;
        if let Some(Value::Dict(present)) = self.values.get_mut(dict.0 as usize) {
            present.extend(entries);
        }
        Ok(())
    }

    fn global_by_line(&mut self) -> Result<(), LoadError> {
        let (module, name) = (self.line()?, self.line()?);
        self.push(Value::Global(Name { module, name }));
        Ok(())
    }

    fn global_by_stack(&mut self) -> Result<(), LoadError> {
        let (name, module) = (self.pop()?, self.pop()?);
        let (&Value::Text(module), &Value::Text(name)) = (self.value(module), self.value(name)) else {
            return Err(self.malformed("class name is not text"));
        };
        self.push(Value::Global(Name { module, name }));
        Ok(())
    }

    /// A call; only these have a result.
    fn call(&mut self, callee: Id, arguments: Id) -> Result<(), LoadError> {
        let &Value::Global(Name { module, name }) = self.value(callee) else {
            let made = self.opaque(callee);
            self.push(made);
            return Ok(());
        };
        let Value::Sequence(arguments) = self.value(arguments) else {
            return Err(self.malformed(format!("{module}.{name} is called without arguments")));
        };
        match (module, name) {
            ("collections", "OrderedDict" | "defaultdict") => self.push(Value::Dict(Vec::new())),
            ("torch._utils", "_rebuild_tensor" | "_rebuild_tensor_v2") => {
                let tensor = self.tensor(arguments)?;
                self.push(tensor);
            }
            ("torch._utils", "_rebuild_parameter" | "_rebuild_parameter_with_state") => {
                let data = arguments.first().copied();
                let data = data.ok_or_else(|| self.malformed("parameter without a tensor"))?;
                self.stack.push(data);
            }
            _ => self.push(Value::Opaque(Name { module, name })),
        }
        Ok(())
    }

    fn opaque(&self, callee: Id) -> Value<'a> {
        match self.value(callee) {
            &Value::Global(name) | &Value::Opaque(name) => Value::Opaque(name),
            _ => Value::Plain,
        }
    }

    /// The result of `_rebuild_tensor_v2(storage, offset, size, stride, ...)`.
    fn tensor(&self, arguments: &[Id]) -> Result<Value<'a>, LoadError> {
        let &[storage, offset, shape, strides, ..] = arguments else {
            return Err(self.malformed("tensor with fewer than four arguments"));
        };
        let &Value::Storage(storage) = self.value(storage) else {
            return Ok(self.opaque(storage));
        };
        let offset = self.size(offset)?;
        let (shape, strides) = (self.sizes(shape)?, self.sizes(strides)?);
        if shape.len() != strides.len() {
            return Err(self.malformed("strides and sizes of a tensor differ in length"));
        }
        Ok(Value::Tensor(Box::new(TensorView { storage, offset, shape, strides })))
    }

    fn sizes(&self, id: Id) -> Result<Vec<usize>, LoadError> {
        match self.value(id) {
            Value::Sequence(items) if items.len() <= MAX_RANK => {
                items.iter().map(|&item| self.size(item)).collect()
            }
            _ => Err(self.malformed(format!("invalid tensor sizes (expected at most {MAX_RANK} integers)"))),
        }
    }

    fn size(&self, id: Id) -> Result<usize, LoadError> {
        match self.value(id) {
            // Larger than any storage.
            Value::Int(number) => {
                u64::try_from(*number).ok().map(|n| usize::try_from(n).unwrap_or(usize::MAX))
            }
            _ => None,
        }
        .ok_or_else(|| self.malformed("invalid size, stride or offset of a tensor"))
    }

    /// A persistent id: `("storage", class, key, device, elements)`.
    fn storage(&mut self) -> Result<(), LoadError> {
        let id = self.pop()?;
        let Value::Sequence(parts) = self.value(id) else {
            return Err(self.malformed("persistent id is not a tuple"));
        };
        let &[kind, class, key, ..] = parts.as_slice() else {
            return Err(self.malformed("persistent id with fewer than three parts"));
        };
        let storage = match (self.value(kind), self.value(class), self.value(key)) {
            (Value::Text("storage"), &Value::Global(class), &Value::Text(key)) => {
                Value::Storage(Storage { class: class.name, key })
            }
            _ => return Err(self.malformed("persistent id is not a storage")),
        };
        self.push(storage);
        Ok(())
    }

    fn value(&self, id: Id) -> &Value<'a> {
        value_of(&self.values, id)
    }

    fn push(&mut self, value: Value<'a>) {
        // A step makes at most one value, so the count stays far below 2^32.
        self.stack.push(Id(self.values.len() as u32));
        self.values.push(value);
    }

    fn top(&self) -> Result<Id, LoadError> {
        self.stack.last().copied().ok_or_else(|| self.malformed("empty stack"))
    }

    fn pop(&mut self) -> Result<Id, LoadError> {
        if self.marks.last().is_some_and(|&mark| self.stack.len() <= mark) {
            return Err(self.malformed("mark instead of a value"));
        }
        self.stack.pop().ok_or_else(|| self.malformed("empty stack"))
    }

    /// Drops the top value, or the mark if that is on top.
    fn discard(&mut self) -> Result<(), LoadError> {
        if self.marks.last() == Some(&self.stack.len()) {
            self.marks.pop();
            return Ok(());
        }
        self.pop().map(drop)
    }

    fn pop_to_mark(&mut self) -> Result<Vec<Id>, LoadError> {
        let mark = self.marks.pop().ok_or_else(|| self.malformed("missing mark"))?;
        Ok(self.stack.split_off(mark.min(self.stack.len())))
    }

    fn entries_to_mark(&mut self) -> Result<Vec<(Id, Id)>, LoadError> {
        let items = self.pop_to_mark()?;
        let (pairs, rest) = items.as_chunks::<2>();
        if !rest.is_empty() {
            return Err(self.malformed("key without a value"));
        }
        Ok(pairs.iter().map(|&[key, value]| (key, value)).collect())
    }

    fn int_from<const N: usize, I: Into<i64>>(
        &mut self,
        read: impl Fn([u8; N]) -> I,
    ) -> Result<(), LoadError> {
        let number = read(self.array()?).into();
        self.push(Value::Int(number));
        Ok(())
    }

    /// The bytes after a length, whose width depends on the opcode.
    fn counted(&mut self, opcode: u8) -> Result<&'a [u8], LoadError> {
        let count = match opcode {
            op::SHORT_BINBYTES | op::SHORT_BINSTRING | op::SHORT_BINUNICODE | op::LONG1 => {
                u64::from(self.byte()?)
            }
            op::BINBYTES8 | op::BINUNICODE8 | op::BYTEARRAY8 => u64::from_le_bytes(self.array()?),
            _ => u64::from(self.u32()?),
        };
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let counted = usize::try_from(count).ok().and_then(|count| rest.get(..count));
        let counted = counted.ok_or_else(|| {
            self.malformed(format!("length {count}, but only {} bytes are left", rest.len()))
        })?;
        self.at += counted.len();
        Ok(counted)
    }

    fn line(&mut self) -> Result<&'a str, LoadError> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let end = rest.iter().position(|&b| b == b'\n');
        let line = end.and_then(|end| rest.get(..end));
        let line = line.ok_or_else(|| self.malformed("cut off inside a line"))?;
        self.at += line.len() + 1;
        std::str::from_utf8(line).map_err(|_| self.malformed("name is not UTF-8"))
    }

    fn skip(&mut self, count: usize) -> Result<(), LoadError> {
        if self.bytes.len() - self.at < count {
            return Err(self.malformed("cut off inside an opcode"));
        }
        self.at += count;
        Ok(())
    }

    fn byte(&mut self) -> Result<u8, LoadError> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn u32(&mut self) -> Result<u32, LoadError> {
        self.array().map(u32::from_le_bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], LoadError> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let array = rest.first_chunk::<N>().copied();
        let array = array.ok_or_else(|| self.malformed("missing stop opcode"))?;
        self.at += N;
        Ok(array)
    }

    fn malformed(&self, message: impl std::fmt::Display) -> LoadError {
        LoadError::new(LoadErrorKind::Malformed, Format::Torch, format!("in data.pkl: {message}"))
            .at_byte(self.opcode_at)
    }

    fn unsupported(&self, message: impl std::fmt::Display) -> LoadError {
        let message = format!("in data.pkl: unsupported {message}");
        LoadError::new(LoadErrorKind::Unsupported, Format::Torch, message).at_byte(self.opcode_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Place;

    fn refused(bytes: &[u8], kind: LoadErrorKind, byte: u64) {
        let error = Pickle::parse(bytes).unwrap_err();
        assert_eq!((error.kind(), error.place()), (kind, &Place::Byte(byte)), "{error}");
    }

    #[test]
    fn duplicate_keys_keep_the_last_entry() {
        let pickle = Pickle::parse(b"\x80\x02}(X\x01\0\0\0aK\x01X\x01\0\0\0aM\0\x01K\x07Nu.").unwrap();
        let dict = pickle.dict(pickle.root()).unwrap();
        assert_eq!(dict.len(), 1);
        assert!(matches!(pickle.value(dict["a"]), Value::Int(256)));
    }

    #[test]
    fn integers_of_every_width() {
        for (bytes, expected) in [
            (b"J\xff\xff\xff\xff.".as_slice(), -1),
            (b"\x8a\x00.", 0),
            (b"\x8a\x01\xff.", -1),
            (b"\x8a\x02\xff\x00.", 255),
            (b"\x8b\x01\0\0\0\x05.", 5),
        ] {
            let pickle = Pickle::parse(bytes).unwrap();
            assert!(matches!(pickle.value(pickle.root()), Value::Int(i) if *i == expected), "{bytes:?}");
        }
        let large = Pickle::parse(b"\x8a\x09\0\0\0\0\0\0\0\0\x01.").unwrap();
        assert!(matches!(large.value(large.root()), Value::Plain));
    }

    #[test]
    fn unknown_calls_are_opaque() {
        let pickle = Pickle::parse(b"\x80\x02cos\nsystem\nX\x02\0\0\0ls\x85R}b.").unwrap();
        assert!(matches!(pickle.value(pickle.root()), Value::Opaque(Name { module: "os", name: "system" })));
        // Called by what it made, built, appended to: still nothing.
        let pickle = Pickle::parse(b"\x80\x02cos\nsystem\n)R)RK\x01a}K\x01K\x02s0.").unwrap();
        assert!(matches!(pickle.value(pickle.root()), Value::Opaque(_)));
    }

    #[test]
    fn values_may_contain_themselves() {
        let pickle = Pickle::parse(b"\x80\x02}q\0X\x01\0\0\0ah\0s.").unwrap();
        let inner = pickle.dict(pickle.root()).unwrap()["a"];
        assert_eq!(inner, pickle.root());
        Pickle::parse(b"\x80\x02]q\0(h\0h\0h\0e.").unwrap();
    }

    #[test]
    fn deep_nesting_needs_no_recursion() {
        let mut bytes = vec![op::EMPTY_TUPLE];
        bytes.extend(std::iter::repeat_n(op::TUPLE1, 1_000_000));
        bytes.push(op::STOP);
        Pickle::parse(&bytes).unwrap();
        let mut marks = vec![op::MARK; 1_000_000];
        marks.push(op::STOP);
        refused(&marks, LoadErrorKind::Malformed, 1_000_000);
    }

    #[test]
    fn steps_are_bounded() {
        let endless = vec![op::NONE; MAX_STEPS + 1];
        refused(&endless, LoadErrorKind::TooLarge, MAX_STEPS as u64);
    }

    #[test]
    fn declared_lengths_are_checked() {
        refused(b"\x80\x02\x8a\xff\x01.", LoadErrorKind::Malformed, 2);
        refused(b"\x80\x02\x8b\xff\xff\xff\xff.", LoadErrorKind::Malformed, 2);
        refused(b"N\x8d\xff\xff\xff\xff\xff\xff\xff\xffx.", LoadErrorKind::Malformed, 1);
        refused(b"X\x05\0\0\0abc", LoadErrorKind::Malformed, 0);
    }

    #[test]
    fn invalid_programs_name_the_byte() {
        refused(b"", LoadErrorKind::Malformed, 0);
        refused(b"\x80\x02", LoadErrorKind::Malformed, 2);
        refused(b"\x80\x02.", LoadErrorKind::Malformed, 2);
        refused(b"h\x07.", LoadErrorKind::Malformed, 0);
        refused(b"}(Nu.", LoadErrorKind::Malformed, 3);
        refused(b"N(0R.", LoadErrorKind::Malformed, 3);
        refused(b"}(Rt.", LoadErrorKind::Malformed, 2);
        refused(b"cos\nsys", LoadErrorKind::Malformed, 0);
        refused(b"NNNQ.", LoadErrorKind::Malformed, 3);
        refused(b"NN\x93.", LoadErrorKind::Malformed, 2);
        refused(b"NI5\n.", LoadErrorKind::Unsupported, 1);
        refused(b"\x80\x01N.", LoadErrorKind::Unsupported, 0);
    }

    #[test]
    fn invalid_tensor_arguments_name_the_byte() {
        let rebuild = |arguments: &[u8]| {
            let mut bytes = b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(".to_vec();
            bytes.extend_from_slice(
                b"(X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\x000X\x03\0\0\0cpuK\x04tQ",
            );
            bytes.extend_from_slice(arguments);
            let call = bytes.len() as u64 + 1;
            bytes.extend_from_slice(b"tR.");
            (bytes, call)
        };
        let (good, _) = rebuild(b"K\x00K\x02K\x02\x86K\x02K\x01\x86");
        let pickle = Pickle::parse(&good).unwrap();
        let Value::Tensor(tensor) = pickle.value(pickle.root()) else { panic!("no tensor") };
        assert_eq!(
            (tensor.shape.as_slice(), tensor.strides.as_slice()),
            ([2, 2].as_slice(), [2, 1].as_slice())
        );
        assert_eq!(tensor.storage.element(), Some(ElementType::F32));
        for arguments in [
            b"K\x00K\x02K\x02\x86K\x02\x85".as_slice(),
            b"K\x00K\x02\x85",
            b"J\xff\xff\xff\xffK\x02\x85K\x01\x85",
            b"K\x00NK\x01\x85",
            b"K\x00(K\x01K\x01K\x01K\x01K\x01K\x01K\x01K\x01K\x01tq\x01h\x01",
        ] {
            let (bytes, call) = rebuild(arguments);
            refused(&bytes, LoadErrorKind::Malformed, call);
        }
    }
}
