//! The client with Stockfish.
#![cfg(target_os = "linux")] // reads /proc

use std::path::Path;

use shakmaty::{Color, Position as _};
use tabia_uci::{
    client::{Client, EngineConfig, EngineErrorKind},
    message::{GameHistory, Go, OptionError, OptionKind},
};

fn weakest(stockfish: &str) -> Client {
    let client = Client::start(EngineConfig::new(stockfish).option("Threads", "1").option("Hash", "1"))
        .expect("it starts");
    let elo = client.info().options.iter().find(|spec| spec.name == "UCI_Elo").expect("it has an Elo");
    let OptionKind::Spin { min, .. } = elo.kind else { panic!("{elo}") };
    client.set_option("UCI_LimitStrength", Some("true")).expect("it is offered");
    client.set_option("UCI_Elo", Some(&min.to_string())).expect("it is offered");
    client
}

#[test]
fn ten_games_against_itself() {
    let Some(stockfish) = tabia_requires::stockfish() else { return };
    let players = [weakest(stockfish), weakest(stockfish)];
    assert!(players[0].info().name.starts_with("Stockfish"));
    let mut moves = 0;
    for number in 0..10 {
        players.iter().for_each(|player| player.new_game().unwrap());
        let mut game = GameHistory::default();
        while !game.current().is_game_over() && game.moves().len() < 120 {
            let player = usize::from((game.current().turn() == Color::Black) != (number % 2 == 1));
            let result = players[player].search(&game, &Go::nodes(1000)).unwrap();
            assert!(game.push(result.best));
            assert!(result.lines.iter().all(|line| !line.pv.is_empty() || line.score.is_some()));
        }
        moves += game.moves().len();
    }
    assert!(moves > 200, "{moves}");
    let processes: Vec<u32> = players.iter().map(|player| player.process_id().unwrap()).collect();
    assert!(players.iter().all(|player| player.restarts() == 0));
    drop(players);
    assert!(processes.iter().all(|id| !Path::new("/proc").join(id.to_string()).exists()));
}

#[test]
fn multipv_with_wdl_until_stopped() {
    let Some(stockfish) = tabia_requires::stockfish() else { return };
    let config = EngineConfig::new(stockfish).option("MultiPV", "3").option("UCI_ShowWDL", "true");
    let client = Client::start(config).unwrap();
    let (sender, infos) = std::sync::mpsc::channel();
    let search = client.start_search(&GameHistory::default(), &Go::infinite(), move |info| {
        let _ = sender.send(info.multipv);
    });
    while infos.recv().unwrap() != Some(3) {}
    search.handle().stop();
    let result = search.wait().unwrap();
    assert_eq!(result.lines.len(), 3);
    assert!(
        result.lines.iter().all(|line| line.wdl.is_some_and(|wdl| wdl.win + wdl.draw + wdl.loss == 1000))
    );
}

#[test]
fn option_out_of_range_is_an_error() {
    let Some(stockfish) = tabia_requires::stockfish() else { return };
    let error = Client::start(EngineConfig::new(stockfish).option("UCI_Elo", "100")).err().unwrap();
    assert!(error.engine.starts_with("Stockfish"));
    assert!(matches!(error.kind, EngineErrorKind::Option(OptionError::InvalidValue { .. })), "{error}");
}
