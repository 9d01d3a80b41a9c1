//! Where parameters lie in the device's arena: those multiplied together side by side, decayed ones first.

use crate::{Decay, ParameterTable};

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

/// The order of the device's arena, and its relation to that of a [`ParameterTable`].
pub(crate) struct Layout {
    groups: Vec<(String, usize)>,
    copies: Vec<Copy>,
    len: usize,
    decayed: usize,
    table_len: usize,
    parameters: usize,
}

/// Every group starts at a multiple of this many elements: 256 bytes of brain floats.
const ALIGNMENT: usize = 128;

impl Layout {
    /// Lays out the groups, which together name every parameter of the table once.
    ///
    /// # Errors
    /// A sentence, if the table and the groups disagree.
    pub(crate) fn new(table: &ParameterTable, groups: &[Group]) -> Result<Self, String> {
        let decay_of = |group: &Group| -> Result<Decay, String> {
            let decays = group.members.iter().map(|member| {
                table
                    .get(&member.name)
                    .map(|p| p.decay)
                    .ok_or_else(|| format!("the network has no parameter {}", member.name))
            });
            let decays: Vec<Decay> = decays.collect::<Result<_, _>>()?;
            match decays.split_first() {
                Some((first, rest)) if rest.iter().all(|d| d == first) => Ok(*first),
                _ => Err(format!("the parameters of {} must all decay, or none", group.name)),
            }
        };
        let mut layout = Layout {
            groups: vec![],
            copies: vec![],
            len: 0,
            decayed: 0,
            table_len: table.arena_len(),
            parameters: 0,
        };
        for wanted in [Decay::Decayed, Decay::Exempt] {
            for group in groups {
                if decay_of(group)? == wanted {
                    layout.place(table, group)?;
                }
            }
            if wanted == Decay::Decayed {
                layout.decayed = layout.len;
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
    fn merged_parameters_are_neighbours_and_come_back() {
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
    fn an_order_of_the_devices_own_spreads_a_parameter_and_gathers_it_again() {
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
