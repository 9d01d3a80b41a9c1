//! Where parameters lie in the device's arena: those multiplied together side by side, matrices of the body first, then
//! the others that decay.

use crate::optimiser::muon;
use crate::{Decay, Parameter, ParameterTable};

/// Part of an index: it counts to `size`, each time `stride` elements on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Factor {
    pub(crate) size: usize,
    pub(crate) stride: usize,
}

/// A parameter within a group.
#[derive(Clone, Debug)]
struct Member {
    name: String,
    /// Where each of its elements is: its row-major index in parts, the slowest first, each with the stride it has on
    /// the device. As it is in the table where this is empty.
    order: Vec<Factor>,
}

/// Parameters that the device sees as one tensor, one after the other, zeros behind them.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    name: String,
    members: Vec<Member>,
    /// Elements, padding included.
    len: usize,
}

impl Group {
    /// One parameter on its own.
    pub(crate) fn single(name: impl Into<String>, len: usize) -> Self {
        Group::ordered(name, Vec::new(), len)
    }

    /// One parameter in an order of the device's own, with gaps of zeros perhaps.
    pub(crate) fn ordered(name: impl Into<String>, order: Vec<Factor>, len: usize) -> Self {
        let name = name.into();
        Group { members: vec![Member { name: name.clone(), order }], name, len }
    }

    /// Several parameters as one.
    pub(crate) fn merged(name: impl Into<String>, members: &[String], len: usize) -> Self {
        let member = |name: &String| Member { name: name.clone(), order: Vec::new() };
        Group { name: name.into(), members: members.iter().map(member).collect(), len }
    }
}

/// Elements at equal distances in both orders.
struct Copy {
    table: usize,
    device: usize,
    len: usize,
    table_step: usize,
    device_step: usize,
}

/// The copies that bring a parameter of the table at `table` to `device`, each along the longest part of its index.
fn copies(table: usize, device: usize, order: &[Factor], copies: &mut Vec<Copy>) {
    let mut parts: Vec<(Factor, usize)> = Vec::new();
    let mut step = 1;
    for factor in order.iter().rev() {
        parts.push((*factor, step));
        step *= factor.size;
    }
    let Some(longest) = (0..parts.len()).max_by_key(|&at| parts[at].0.size) else { return };
    let (along, table_step) = parts.remove(longest);
    let mut starts = vec![(table, device)];
    for (factor, step) in parts {
        starts = starts
            .iter()
            .flat_map(|&(t, d)| (0..factor.size).map(move |i| (t + i * step, d + i * factor.stride)))
            .collect();
    }
    copies.extend(starts.into_iter().map(|(table, device)| Copy {
        table,
        device,
        len: along.size,
        table_step,
        device_step: along.stride,
    }));
}

/// A matrix of the network's body on the device. The order of its columns is the device's own, and zeros may lie between
/// them: neither changes what an orthogonal matrix is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BodyMatrix {
    /// The element it starts at.
    pub(crate) at: usize,
    pub(crate) rows: usize,
    /// Without the zeros between them.
    pub(crate) columns: usize,
    /// Elements from one row to the next: the columns, and the zeros between them.
    pub(crate) stride: usize,
}

/// The matrices of a parameter that lies at `at` in this order.
fn matrices(parameter: &Parameter, at: usize, order: &[Factor]) -> Result<Vec<BodyMatrix>, String> {
    if parameter.matrices == 0 {
        return Ok(Vec::new());
    }
    let (rows, columns) = muon::sizes(parameter);
    let stride = match order {
        [] => columns,
        [first, rest @ ..] => {
            let width = 1 + rest.iter().map(|factor| (factor.size - 1) * factor.stride).sum::<usize>();
            if first.size != rows * parameter.matrices || first.stride < width {
                return Err(format!("the order of {} is not one of rows", parameter.name));
            }
            first.stride
        }
    };
    let matrix = |index: usize| BodyMatrix { at: at + index * rows * stride, rows, columns, stride };
    Ok((0..parameter.matrices).map(matrix).collect())
}

/// How the optimiser treats a parameter, in the order of the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Treatment {
    Body,
    Decayed,
    Exempt,
}

impl Treatment {
    fn of(parameter: &Parameter) -> Self {
        match parameter.decay {
            _ if parameter.matrices > 0 => Treatment::Body,
            Decay::Decayed => Treatment::Decayed,
            Decay::Exempt => Treatment::Exempt,
        }
    }
}

/// The order of the device's arena, and its relation to that of a [`ParameterTable`].
pub(crate) struct Layout {
    groups: Vec<(String, usize)>,
    copies: Vec<Copy>,
    matrices: Vec<BodyMatrix>,
    len: usize,
    body: usize,
    decayed: usize,
    table_len: usize,
    parameters: usize,
}

/// Every group starts at a multiple of this many elements: 256 bytes of bfloat16.
const ALIGNMENT: usize = 128;

impl Layout {
    /// Lays out the groups, which together name every parameter of the table once.
    ///
    /// # Errors
    /// A sentence, if the table and the groups disagree.
    pub(crate) fn new(table: &ParameterTable, groups: &[Group]) -> Result<Self, String> {
        let treatment_of = |group: &Group| -> Result<Treatment, String> {
            let treatments = group.members.iter().map(|member| {
                table
                    .get(&member.name)
                    .map(Treatment::of)
                    .ok_or_else(|| format!("the network has no parameter {}", member.name))
            });
            let treatments: Vec<Treatment> = treatments.collect::<Result<_, _>>()?;
            match treatments.split_first() {
                Some((first, rest)) if rest.iter().all(|t| t == first) => Ok(*first),
                _ => Err(format!("the optimiser must treat all parameters of {} alike", group.name)),
            }
        };
        let mut layout = Layout {
            groups: vec![],
            copies: vec![],
            matrices: vec![],
            len: 0,
            body: 0,
            decayed: 0,
            table_len: table.arena_len(),
            parameters: 0,
        };
        for wanted in [Treatment::Body, Treatment::Decayed, Treatment::Exempt] {
            for group in groups {
                if treatment_of(group)? == wanted {
                    layout.place(table, group)?;
                }
            }
            match wanted {
                Treatment::Body => layout.body = layout.len,
                Treatment::Decayed => layout.decayed = layout.len,
                Treatment::Exempt => {}
            }
        }
        if layout.parameters != table.entries().len() {
            return Err(format!(
                "the network has {} parameters, the device knows {}",
                table.entries().len(),
                layout.parameters
            ));
        }
        Ok(layout)
    }

    fn place(&mut self, table: &ParameterTable, group: &Group) -> Result<(), String> {
        let start = self.len;
        let mut at = start;
        for member in &group.members {
            let name = &member.name;
            let parameter = table.get(name).ok_or_else(|| format!("the network has no parameter {name}"))?;
            let plain = [Factor { size: parameter.len(), stride: 1 }];
            let order = if member.order.is_empty() { &plain[..] } else { &member.order };
            if order.iter().map(|factor| factor.size).product::<usize>() != parameter.len() {
                return Err(format!("the order of {name} is one of another length"));
            }
            copies(parameter.offset, at, order, &mut self.copies);
            self.matrices.extend(matrices(parameter, at, &member.order)?);
            self.parameters += 1;
            at += 1 + order.iter().map(|factor| (factor.size - 1) * factor.stride).sum::<usize>();
        }
        if at > start + group.len {
            return Err(format!(
                "{} has {} elements, expected at most {}",
                group.name,
                at - start,
                group.len
            ));
        }
        self.groups.push((group.name.clone(), start));
        self.len = (start + group.len).next_multiple_of(ALIGNMENT);
        Ok(())
    }

    /// Elements of the device's arena.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Elements before this one are matrices of the body, and the gaps after them.
    pub(crate) fn body(&self) -> usize {
        self.body
    }

    /// The matrices of the body.
    pub(crate) fn matrices(&self) -> &[BodyMatrix] {
        &self.matrices
    }

    /// Elements before this one decay.
    pub(crate) fn decayed(&self) -> usize {
        self.decayed
    }

    /// Where a group starts.
    pub(crate) fn offset(&self, group: &str) -> usize {
        self.groups
            .iter()
            .find(|(name, _)| name == group)
            .map(|&(_, at)| at)
            .expect("every group the network asks for was laid out by it")
    }

    /// A table's arena in the device's order.
    pub(crate) fn to_device(&self, arena: &[f32]) -> Vec<f32> {
        let mut out = vec![0.0; self.len];
        for copy in &self.copies {
            for i in 0..copy.len {
                out[copy.device + i * copy.device_step] = arena[copy.table + i * copy.table_step];
            }
        }
        out
    }

    /// The device's arena in the table's order.
    pub(crate) fn to_table(&self, arena: &[f32]) -> Vec<f32> {
        let mut out = vec![0.0; self.table_len];
        for copy in &self.copies {
            for i in 0..copy.len {
                out[copy.table + i * copy.table_step] = arena[copy.device + i * copy.device_step];
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Initial;

    fn table() -> ParameterTable {
        let mut table = ParameterTable::new();
        table.push("gain", &[3], Initial::Ones, Decay::Exempt);
        table.push("w1", &[4, 8], Initial::Normal(1.0), Decay::Decayed);
        table.push("w2", &[2, 8], Initial::Normal(1.0), Decay::Decayed);
        table
    }

    #[test]
    fn merged_parameters_are_adjacent_and_round_trip() {
        let table = table();
        let groups =
            [Group::single("gain", 3), Group::merged("w", &["w1".to_string(), "w2".to_string()], 8 * 8)];
        let layout = Layout::new(&table, &groups).unwrap();
        assert_eq!((layout.offset("w"), layout.decayed()), (0, 128));
        let arena = table.initial(1);
        let device = layout.to_device(&arena);
        assert_eq!(device[..32], *table.get("w1").unwrap().of(&arena));
        assert_eq!(device[32..48], *table.get("w2").unwrap().of(&arena));
        assert_eq!(layout.to_table(&device), arena);
    }

    #[test]
    fn device_order_round_trips() {
        let table = table();
        // w1 [4, 8] as 4 rows of 16, where the index 2a + b of a row is at 4b + a.
        let order = [(4, 16), (4, 1), (2, 4)].map(|(size, stride)| Factor { size, stride }).to_vec();
        let groups = [Group::single("gain", 3), Group::ordered("w1", order, 64), Group::single("w2", 16)];
        let layout = Layout::new(&table, &groups).unwrap();
        let arena = table.initial(1);
        let device = layout.to_device(&arena);
        let w1 = table.get("w1").unwrap().of(&arena);
        assert_eq!([device[0], device[4], device[1], device[16 + 2]], [w1[0], w1[1], w1[2], w1[8 + 4]]);
        assert_eq!(layout.to_table(&device), arena);
    }

    #[test]
    fn matrices_of_the_body_come_first_and_know_their_rows() {
        let mut table = table();
        table.push_body("qkv", [6, 4], Initial::Normal(1.0), 3);
        let singles = || [("gain", 3), ("w1", 32), ("w2", 16)].map(|(name, len)| Group::single(name, len));
        let laid = |qkv: Group| Layout::new(&table, &singles().into_iter().chain([qkv]).collect::<Vec<_>>());
        let matrix = |at, stride| BodyMatrix { at, rows: 2, columns: 4, stride };
        let plain = laid(Group::single("qkv", 24)).unwrap();
        assert_eq!(plain.matrices(), [matrix(0, 4), matrix(8, 4), matrix(16, 4)]);
        assert_eq!((plain.offset("qkv"), plain.body(), plain.decayed()), (0, 128, 3 * 128));
        let factors = |of: &[(usize, usize)]| -> Vec<Factor> {
            of.iter().map(|&(size, stride)| Factor { size, stride }).collect()
        };
        let spread = laid(Group::ordered("qkv", factors(&[(6, 16), (2, 8), (2, 1)]), 6 * 16)).unwrap();
        assert_eq!(spread.matrices(), [matrix(0, 16), matrix(32, 16), matrix(64, 16)]);
        assert!(laid(Group::ordered("qkv", factors(&[(6, 1), (4, 6)]), 24)).is_err());
    }

    #[test]
    fn a_forgotten_parameter_is_an_error() {
        let groups = [Group::single("gain", 3), Group::single("w1", 32)];
        assert!(Layout::new(&table(), &groups).is_err());
    }

    #[test]
    fn a_group_does_not_mix_decays() {
        let members = ["gain".to_string(), "w1".to_string(), "w2".to_string()];
        assert!(Layout::new(&table(), &[Group::merged("all", &members, 64)]).is_err());
    }
}
