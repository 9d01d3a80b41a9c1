//! What holds for every architecture.

use super::*;

fn detectable() -> Vec<NetConfig> {
    let hidden = vec![16, 8];
    let cnn = |head| PolicyCnnConfig {
        view: PolicyView::Mover,
        channels: 8,
        blocks: 2,
        kernel: 3,
        head,
        moves: 1968,
    };
    vec![
        NetConfig::Human(HumanConfig { width: 32, heads: 2, layers: 3, inner: 48, pair: 16, hidden: 8 }),
        NetConfig::Humchess(HumChessConfig {
            width: 32,
            heads: 4,
            layers: 2,
            inner: 64,
            ..HumChessConfig::default()
        }),
        NetConfig::Humchess(HumChessConfig {
            tokens: HumChessTokens::History,
            moves: HumChessMoves::SquarePairs,
            layers: 2,
            ..HumChessConfig::default()
        }),
        NetConfig::PolicyCnn(cnn(PolicyCnnHead::Flatten)),
        NetConfig::PolicyCnn(cnn(PolicyCnnHead::Bilinear(4))),
        NetConfig::Nnue(NnueConfig { width: 16, buckets: 8, activation: NnueActivation::SquaredClipped }),
        NetConfig::PolicyMlp(PolicyMlpConfig { hidden: hidden.clone() }),
        NetConfig::ValueMlp(ValueMlpConfig { encoding: "rusty-774".to_owned(), hidden }),
    ]
}

#[test]
fn config_is_detected_from_its_own_table() {
    for net in detectable() {
        net.check().unwrap();
        let table = net.table();
        let (found, _) = detect::detect(&table, &Hints::default()).unwrap();
        if !matches!(net, NetConfig::PolicyMlp(_) | NetConfig::ValueMlp(_)) {
            assert_eq!(found.net, net);
        }
        assert!(found.table == table, "{net:?}");
        assert_eq!(found.encoding, Some(net.encoding()));
        assert_eq!(found.vocabulary, net.vocabulary());
        assert!(net.is_detectable());
    }
}

#[test]
fn networks_without_their_own_names_are_not_detectable() {
    let conv = ChallengeConfig::Conv { channels: 8, blocks: 1, squeeze: 2, hidden: 8 };
    let attention = ValueAttentionConfig {
        width: 16,
        heads: 2,
        layers: 1,
        distinct: None,
        inner: 16,
        hidden: 8,
        bias: AttentionBias::EachLayer,
    };
    for net in [
        NetConfig::Pair(PairConfig::default()),
        NetConfig::Challenge(conv),
        NetConfig::Challenge(ChallengeConfig::Attention(attention)),
    ] {
        assert!(!net.is_detectable(), "{net:?}");
    }
    assert!(NetConfig::Challenge(ChallengeConfig::Dense { hidden: vec![8] }).is_detectable());
}

#[test]
fn layer_listed_twice_is_rejected() {
    let table = NetConfig::PolicyMlp(PolicyMlpConfig { hidden: vec![4] }).table();
    let layer = LayerNames::of_module("net.0", &table);
    let error = Mlp::detect(&table, vec![layer.clone(), layer]).unwrap_err();
    assert_eq!(error, detect::DetectError::Missing { tensor: "net.0.weight".to_owned() });
}
