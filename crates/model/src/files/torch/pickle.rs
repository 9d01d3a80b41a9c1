//! An interpreter of pickles that builds plain values and calls nothing.
//!
//! A pickle is a program for a stack machine, and in Python it may call any function. Here the few calls that make
//! dictionaries and tensors are recognised by name; whatever any other call would have made becomes
//! [`Value::Opaque`], which holds no data. Values live in one flat arena and refer to each other by [`Id`], so a
//! value may contain itself and nesting costs no recursion. Work and memory are linear in the steps taken, and the
//! steps are bounded.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;

use crate::tensors::ElementType;
use crate::{Format, LoadError, LoadErrorKind};

/// Far more than the checkpoint of a chess network with its optimiser takes.
const MAX_STEPS: usize = 4_000_000;

/// Sizes a tensor may have; torch's own networks stay below six.
const MAX_RANK: usize = 8;

/// A value of a [`Pickle`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Id(u32);

/// The one [`Value::Plain`] everything without content shares.
const PLAIN: Id = Id(0);

/// A Python value, as far as checkpoints need it.
#[derive(Debug)]
pub(super) enum Value<'a> {
    /// None, a truth value, a float, bytes or a set: nothing a tensor or its name is made of.
    Plain,
    Int(i64),
    Text(&'a str),
    /// A tuple or a list.
    Sequence(Vec<Id>),
    Dict(Vec<(Id, Id)>),
    /// A class or function, by name.
    Global(Name<'a>),
    /// What calling this would have made.
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

/// A run of numbers kept outside the pickle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Storage<'a> {
    /// Its class, such as `FloatStorage`.
    pub(super) class: &'a str,
    /// What it is filed under.
    pub(super) key: &'a str,
}

impl Storage<'_> {
    /// How its numbers are written, or `None` where we cannot read them.
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

/// A tensor over a [`Storage`]; nothing says yet that it stays inside. `shape` and `strides` are equally long, in
/// elements.
#[derive(Clone, Debug)]
pub(super) struct TensorView<'a> {
    pub(super) storage: Storage<'a>,
    pub(super) offset: usize,
    pub(super) shape: Vec<usize>,
    pub(super) strides: Vec<usize>,
}

/// The values a pickle builds.
#[derive(Debug)]
pub(super) struct Pickle<'a> {
    values: Vec<Value<'a>>,
    root: Id,
}

impl<'a> Pickle<'a> {
    /// Runs `bytes`.
    ///
    /// # Errors
    /// Name the byte of the opcode that is wrong, unknown, or one too many.
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

    /// The entries of `id` that have text keys, if it is a dictionary; of equal keys the last one counts.
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

/// The opcodes of protocols 2 to 5 that have no text arguments.
mod op {
    pub(super) const MARK: u8 = b'(';
    pub(super) const STOP: u8 = b'.';
    pub(super) const POP: u8 = b'0';
    pub(super) const POP_MARK: u8 = b'1';
    pub(super) const DUP: u8 = b'2';
    pub(super) const BINBYTES: u8 = b'B';
    pub(super) const SHORT_BINBYTES: u8 = b'C';
    pub(super) const BINFLOAT: u8 = b'G';
    pub(super) const BININT: u8 = b'J';
    pub(super) const BININT1: u8 = b'K';
    pub(super) const BININT2: u8 = b'M';
    pub(super) const NONE: u8 = b'N';
    pub(super) const BINPERSID: u8 = b'Q';
    pub(super) const REDUCE: u8 = b'R';
    pub(super) const BINSTRING: u8 = b'T';
    pub(super) const SHORT_BINSTRING: u8 = b'U';
    pub(super) const BINUNICODE: u8 = b'X';
    pub(super) const EMPTY_LIST: u8 = b']';
    pub(super) const APPEND: u8 = b'a';
    pub(super) const BUILD: u8 = b'b';
    pub(super) const GLOBAL: u8 = b'c';
    pub(super) const DICT: u8 = b'd';
    pub(super) const APPENDS: u8 = b'e';
    pub(super) const BINGET: u8 = b'h';
    pub(super) const LONG_BINGET: u8 = b'j';
    pub(super) const LIST: u8 = b'l';
    pub(super) const BINPUT: u8 = b'q';
    pub(super) const LONG_BINPUT: u8 = b'r';
    pub(super) const SETITEM: u8 = b's';
    pub(super) const TUPLE: u8 = b't';
    pub(super) const SETITEMS: u8 = b'u';
    pub(super) const EMPTY_DICT: u8 = b'}';
    pub(super) const EMPTY_TUPLE: u8 = b')';
    pub(super) const PROTO: u8 = 0x80;
    pub(super) const NEWOBJ: u8 = 0x81;
    pub(super) const TUPLE1: u8 = 0x85;
    pub(super) const TUPLE2: u8 = 0x86;
    pub(super) const TUPLE3: u8 = 0x87;
    pub(super) const NEWTRUE: u8 = 0x88;
    pub(super) const NEWFALSE: u8 = 0x89;
    pub(super) const LONG1: u8 = 0x8a;
    pub(super) const LONG4: u8 = 0x8b;
    pub(super) const SHORT_BINUNICODE: u8 = 0x8c;
    pub(super) const BINUNICODE8: u8 = 0x8d;
    pub(super) const BINBYTES8: u8 = 0x8e;
    pub(super) const EMPTY_SET: u8 = 0x8f;
    pub(super) const ADDITEMS: u8 = 0x90;
    pub(super) const FROZENSET: u8 = 0x91;
    pub(super) const NEWOBJ_EX: u8 = 0x92;
    pub(super) const STACK_GLOBAL: u8 = 0x93;
    pub(super) const MEMOIZE: u8 = 0x94;
    pub(super) const FRAME: u8 = 0x95;
    pub(super) const BYTEARRAY8: u8 = 0x96;
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
    /// Executes one opcode; the root value at the end.
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
            // The state of an object we do not build: dictionaries and tensors need none of theirs.
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

    /// An integer of up to eight bytes; larger ones are no size or offset and are kept as [`Value::Plain`].
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
        // Python writes lone surrogates too; such text is no name of ours.
        match std::str::from_utf8(bytes) {
            Ok(text) => self.push(Value::Text(text)),
            Err(_) => self.stack.push(PLAIN),
        }
        Ok(())
    }

    fn recall(&mut self, opcode: u8) -> Result<(), LoadError> {
        let slot = if opcode == op::BINGET { u32::from(self.byte()?) } else { self.u32()? };
        let id = self.memo.get(&slot).copied();
        let id = id.ok_or_else(|| self.malformed(format!("memo {slot} is read before it is written")))?;
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
            return Err(self.malformed("a class is named by something other than text"));
        };
        self.push(Value::Global(Name { module, name }));
        Ok(())
    }

    /// The one place where the pickle asks for a call. Only these make anything.
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
                let data = data.ok_or_else(|| self.malformed("a parameter without its tensor"))?;
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

    /// The tensor that `_rebuild_tensor_v2(storage, offset, size, stride, ...)` makes.
    fn tensor(&self, arguments: &[Id]) -> Result<Value<'a>, LoadError> {
        let &[storage, offset, shape, strides, ..] = arguments else {
            return Err(self.malformed("a tensor with fewer than four arguments"));
        };
        let &Value::Storage(storage) = self.value(storage) else {
            return Ok(self.opaque(storage));
        };
        let offset = self.size(offset)?;
        let (shape, strides) = (self.sizes(shape)?, self.sizes(strides)?);
        if shape.len() != strides.len() {
            return Err(self.malformed("a tensor with as many strides as sizes is needed"));
        }
        Ok(Value::Tensor(Box::new(TensorView { storage, offset, shape, strides })))
    }

    fn sizes(&self, id: Id) -> Result<Vec<usize>, LoadError> {
        match self.value(id) {
            Value::Sequence(items) if items.len() <= MAX_RANK => {
                items.iter().map(|&item| self.size(item)).collect()
            }
            _ => Err(self.malformed(format!("the sizes of a tensor are not at most {MAX_RANK} numbers"))),
        }
    }

    fn size(&self, id: Id) -> Result<usize, LoadError> {
        match self.value(id) {
            // What passes the address space passes every storage too.
            Value::Int(number) => {
                u64::try_from(*number).ok().map(|n| usize::try_from(n).unwrap_or(usize::MAX))
            }
            _ => None,
        }
        .ok_or_else(|| self.malformed("a size, stride or offset of a tensor is not a natural number"))
    }

    /// A persistent id: `("storage", class, key, device, elements)`.
    fn storage(&mut self) -> Result<(), LoadError> {
        let id = self.pop()?;
        let Value::Sequence(parts) = self.value(id) else {
            return Err(self.malformed("a persistent id that is no tuple"));
        };
        let &[kind, class, key, ..] = parts.as_slice() else {
            return Err(self.malformed("a persistent id with fewer than three parts"));
        };
        let storage = match (self.value(kind), self.value(class), self.value(key)) {
            (Value::Text("storage"), &Value::Global(class), &Value::Text(key)) => {
                Value::Storage(Storage { class: class.name, key })
            }
            _ => return Err(self.malformed("a persistent id that is no storage")),
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
        self.stack.last().copied().ok_or_else(|| self.malformed("the stack is empty"))
    }

    fn pop(&mut self) -> Result<Id, LoadError> {
        if self.marks.last().is_some_and(|&mark| self.stack.len() <= mark) {
            return Err(self.malformed("a mark is where a value should be"));
        }
        self.stack.pop().ok_or_else(|| self.malformed("the stack is empty"))
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
        let mark = self.marks.pop().ok_or_else(|| self.malformed("no mark is set"))?;
        Ok(self.stack.split_off(mark.min(self.stack.len())))
    }

    fn entries_to_mark(&mut self) -> Result<Vec<(Id, Id)>, LoadError> {
        let items = self.pop_to_mark()?;
        let (pairs, rest) = items.as_chunks::<2>();
        if !rest.is_empty() {
            return Err(self.malformed("a key without a value"));
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

    /// The bytes after a count whose width the opcode decides.
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
        let counted = counted
            .ok_or_else(|| self.malformed(format!("{count} bytes are announced, {} are left", rest.len())))?;
        self.at += counted.len();
        Ok(counted)
    }

    fn line(&mut self) -> Result<&'a str, LoadError> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let end = rest.iter().position(|&b| b == b'\n');
        let line = end.and_then(|end| rest.get(..end));
        let line = line.ok_or_else(|| self.malformed("the pickle ends inside a line"))?;
        self.at += line.len() + 1;
        std::str::from_utf8(line).map_err(|_| self.malformed("a name that is not UTF-8"))
    }

    fn skip(&mut self, count: usize) -> Result<(), LoadError> {
        if self.bytes.len() - self.at < count {
            return Err(self.malformed("the pickle ends inside an opcode"));
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
        let array = array.ok_or_else(|| self.malformed("the pickle ends without its stop opcode"))?;
        self.at += N;
        Ok(array)
    }

    fn malformed(&self, message: impl std::fmt::Display) -> LoadError {
        LoadError::new(LoadErrorKind::Malformed, Format::Torch, format!("in data.pkl: {message}"))
            .at_byte(self.opcode_at)
    }

    fn unsupported(&self, message: impl std::fmt::Display) -> LoadError {
        let message = format!("in data.pkl: {message} is not read");
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
    fn dictionaries_keep_their_last_entry() {
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
    fn calls_of_unknown_functions_make_nothing() {
        let pickle = Pickle::parse(b"\x80\x02cos\nsystem\nX\x02\0\0\0ls\x85R}b.").unwrap();
        assert!(matches!(pickle.value(pickle.root()), Value::Opaque(Name { module: "os", name: "system" })));
        // Called by what it made, built, appended to: still nothing.
        let pickle = Pickle::parse(b"\x80\x02cos\nsystem\n)R)RK\x01a}K\x01K\x02s0.").unwrap();
        assert!(matches!(pickle.value(pickle.root()), Value::Opaque(_)));
    }

    #[test]
    fn a_value_may_contain_itself() {
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
    fn announced_counts_are_not_believed() {
        refused(b"\x80\x02\x8a\xff\x01.", LoadErrorKind::Malformed, 2);
        refused(b"\x80\x02\x8b\xff\xff\xff\xff.", LoadErrorKind::Malformed, 2);
        refused(b"N\x8d\xff\xff\xff\xff\xff\xff\xff\xffx.", LoadErrorKind::Malformed, 1);
        refused(b"X\x05\0\0\0abc", LoadErrorKind::Malformed, 0);
    }

    #[test]
    fn broken_programs_are_located() {
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
    fn tensors_with_odd_arguments_are_located() {
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
