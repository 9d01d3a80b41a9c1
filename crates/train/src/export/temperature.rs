//! Temperature scaling: the certainty of a policy, without a change of its order of moves.

use crate::NetConfig;

/// Divides the logits of moves by `temperature`: above 1 the policy is less certain. Promotion pieces stay as they are.
///
/// # Errors
/// If the logits are not the products of a network's vectors of squares.
pub fn divide_move_logits(net: &NetConfig, arena: &mut [f32], temperature: f32) -> Result<(), String> {
    let NetConfig::Human(_) = net else {
        return Err("a temperature is for networks of kind `human`".to_owned());
    };
    // Logits are linear in the vectors of the squares moved from.
    let table = net.table();
    let vectors = table.get("from_head.weight").ok_or("the network scores no pairs of squares")?;
    vectors.of_mut(arena).iter_mut().for_each(|weight| *weight /= temperature);
    Ok(())
}
