//! What holds for every architecture.

use tabia_encoding::PolicyIndex;

use super::*;

fn maia3(boards: usize, bias_square: usize) -> Maia3Config {
    Maia3Config {
        boards,
        width: 12,
        heads: 3,
        layers: 2,
        inner: 20,
        rating: 5,
        head: 7,
        bias_square,
        bias_hidden: 6,
        bias_width: 4,
        layer_norm: boards == 1,
    }
}

fn detectable() -> Vec<NetConfig> {
    let hidden = vec![16, 8];
    let cnn = |head| PolicyCnnConfig {
        view: PolicyView::Mover,
        channels: 8,
        blocks: 2,
        kernel: 3,
        head,
        vocabulary: None,
        moves: 1968,
    };
    let some = Some(MoveSubset::of(&[5, 900, 1500].map(PolicyIndex)).unwrap());
    vec![
        NetConfig::Human(HumanConfig {
            width: 32,
            heads: 2,
            layers: 3,
            inner: 48,
            pair: 16,
            hidden: 8,
            sites: true,
        }),
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
        NetConfig::PolicyCnn(PolicyCnnConfig { vocabulary: some, ..cnn(PolicyCnnHead::Flatten) }),
        NetConfig::PolicyCnn(PolicyCnnConfig { vocabulary: some, ..cnn(PolicyCnnHead::Bilinear(4)) }),
        NetConfig::PolicyCnn(PolicyCnnConfig { view: PolicyView::White13, ..cnn(PolicyCnnHead::Joined) }),
        NetConfig::Nnue(NnueConfig { width: 16, buckets: 8, activation: NnueActivation::SquaredClipped }),
        NetConfig::Maia3(maia3(8, 0)),
        NetConfig::Maia3(maia3(1, 3)),
        NetConfig::Maia2(Maia2Config {
            channels: 4,
            blocks: 2,
            tokens: 3,
            width: 8,
            heads: 2,
            layers: 2,
            inner: 12,
            rating: 5,
            hidden: 6,
        }),
        NetConfig::PolicyMlp(PolicyMlpConfig { hidden: hidden.clone(), vocabulary: None }),
        NetConfig::PolicyMlp(PolicyMlpConfig { hidden: hidden.clone(), vocabulary: some }),
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
        progress: false,
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
    let table = NetConfig::PolicyMlp(PolicyMlpConfig { hidden: vec![4], vocabulary: None }).table();
    let layer = LayerNames::of_module("net.0", &table);
    let error = Mlp::detect(&table, vec![layer.clone(), layer]).unwrap_err();
    assert_eq!(error, detect::DetectError::Missing { tensor: "net.0.weight".to_owned() });
}
