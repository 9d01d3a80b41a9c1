//! Where parameters lie in the device's arena: those multiplied together side by side, decayed ones first.

use crate::{Decay, ParameterTable};

/// Parameters that the device sees as one tensor, one after the other, zeros behind them.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) members: Vec<String>,
    /// Elements, padding included.
    pub(crate) len: usize,
}

impl Group {
    /// One parameter on its own.
    pub(crate) fn single(name: impl Into<String>, len: usize) -> Self {
        let name = name.into();
        Group { members: vec![name.clone()], name, len }
    }

    /// Several parameters as one.
    pub(crate) fn merged(name: impl Into<String>, members: &[String], len: usize) -> Self {
        Group { name: name.into(), members: members.to_vec(), len }
    }
}

struct Copy {
    table: usize,
    device: usize,
    len: usize,
}

/// The order of the device's arena, and its relation to that of a [`ParameterTable`].
pub(crate) struct Layout {
    groups: Vec<(String, usize)>,
    copies: Vec<Copy>,
    len: usize,
    decayed: usize,
    table_len: usize,
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
                    .get(member)
                    .map(|p| p.decay)
                    .ok_or_else(|| format!("the network has no parameter {member}"))
            });
            let decays: Vec<Decay> = decays.collect::<Result<_, _>>()?;
            match decays.split_first() {
                Some((first, rest)) if rest.iter().all(|d| d == first) => Ok(*first),
                _ => Err(format!("the parameters of {} must all decay, or none", group.name)),
            }
        };
        let mut layout =
            Layout { groups: vec![], copies: vec![], len: 0, decayed: 0, table_len: table.arena_len() };
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
        if layout.copies.len() != table.entries().len() {
            return Err(format!(
                "the network has {} parameters, the device knows {}",
                table.entries().len(),
                layout.copies.len()
            ));
        }
        Ok(layout)
    }

    fn place(&mut self, table: &ParameterTable, group: &Group) -> Result<(), String> {
        let start = self.len;
        let mut at = start;
        for member in &group.members {
            let parameter =
                table.get(member).ok_or_else(|| format!("the network has no parameter {member}"))?;
            self.copies.push(Copy { table: parameter.offset, device: at, len: parameter.len() });
            at += parameter.len();
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
            out[copy.device..copy.device + copy.len]
                .copy_from_slice(&arena[copy.table..copy.table + copy.len]);
        }
        out
    }

    /// The device's arena in the table's order.
    pub(crate) fn to_table(&self, arena: &[f32]) -> Vec<f32> {
        let mut out = vec![0.0; self.table_len];
        for copy in &self.copies {
            out[copy.table..copy.table + copy.len]
                .copy_from_slice(&arena[copy.device..copy.device + copy.len]);
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
